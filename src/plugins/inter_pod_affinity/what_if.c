/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if pods came to a node, or left it? The sets that PreFilter painted cannot say when the last
 * pod of a domain is gone: here pods are counted by topology key and value, as upstream does from
 * the start. What has come and gone is a short list beside the counts, which all clones share.
 * The first question is asked on the engine's thread and makes the counts; those that follow, about
 * pods that run, look nothing up that would have to be made.
 */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

struct key_counts {
    const struct topology *topology;
    size_t n_domains;
    int64_t *by_domain;
};

struct count_change {
    enum refusal which;
    const struct topology *topology;
    uint32_t domain;
    int64_t by;
};

/* --- the cycle state -------------------------------------------------------------------------- */

struct filter_state *filter_state_new(struct inter_pod_affinity *self, uint64_t attempt)
{
    struct filter_state *state = xnew(struct filter_state);
    state->self = self;
    state->attempt = attempt;
    return state;
}

void *filter_state_clone(const void *data)
{
    const struct filter_state *from = data;
    struct filter_state *state = filter_state_new(from->self, from->attempt);
    for (size_t i = 0; i < from->changes.n; i++)
        vec_push(&state->changes, from->changes.v[i]);
    return state;
}

void filter_state_free(void *data)
{
    struct filter_state *state = data;
    vec_release(&state->changes);
    free(state);
}

struct filter_state *filter_state_read(const struct inter_pod_affinity *self,
                                       const struct berth_cycle *cycle, struct berth_status *status)
{
    struct filter_state *state = self->host->state_read(cycle, self->filter_state);
    if (state && state->attempt == self->filter.attempt)
        return state;
    self->host->status_text(
        status,
        BERTH_STR("error reading \"PreFilterInterPodAffinity\" from cycleState: not found"));
    return NULL;
}

/* --- counting --------------------------------------------------------------------------------- */

static struct key_counts *find_key(const struct pair_counts *p, const struct topology *t)
{
    for (size_t i = 0; i < p->keys.n; i++)
        if (p->keys.v[i].topology == t)
            return &p->keys.v[i];
    return NULL;
}

static void count_pods(struct filter_plan *plan, enum refusal which, const struct topology *t,
                       const struct slot_counts *pods)
{
    struct pair_counts *p = &plan->counts[which];
    if (!find_key(p, t))
        vec_push(&p->keys, (struct key_counts){t, t->n_domains,
                                               arena_array(&plan->arena, int64_t, t->n_domains)});
    int64_t *by_domain = find_key(p, t)->by_domain;
    for (size_t i = 0; i < pods->n; i++)
        by_domain[topology_domain(t, pods->slots[i])] += pods->counts[i];
    by_domain[0] = 0; /* no domain at all */
}

static void count_pairs(struct pair_counts *p)
{
    for (size_t i = 0; i < p->keys.n; i++)
        for (size_t d = 0; d < p->keys.v[i].n_domains; d++)
            p->n_pairs += p->keys.v[i].by_domain[d] != 0;
}

static void count_existing(struct inter_pod_affinity *self, const struct berth_pod *pod)
{
    vec_clear(&self->found);
    affinity_terms_find(&self->cluster->affinity_terms, AFFINITY_MUST, &pod->pod->metadata,
                        namespace_labels(self, pod->pod), &self->found);
    for (size_t i = 0; i < self->found.n; i++)
        count_pods(&self->filter, REFUSAL_EXISTING,
                   topology_of(self, self->found.v[i]->term.topology_key), &self->found.v[i]->pods);
}

/* terms: of one selection that means pods by all of them. */
static void count_own(struct inter_pod_affinity *self, enum refusal which,
                      const struct own_terms *own, size_t from, size_t to)
{
    struct pod_selection selection = {.terms = {own->terms.v + from, to - from}};
    const struct pod_count *count = pod_counts_get(&self->cluster->pod_counts, &selection);
    for (size_t i = from; i < to; i++)
        count_pods(&self->filter, which, own->topologies[i], &count->slots);
}

static void make_counts(struct inter_pod_affinity *self, const struct berth_pod *pod)
{
    struct filter_plan *plan = &self->filter;
    if (plan->counted)
        return;
    for (int i = 0; i < REFUSALS; i++) {
        vec_clear(&plan->counts[i].keys);
        plan->counts[i].n_pairs = 0;
    }
    plan->namespace_labels = namespace_labels(self, pod->pod);
    count_existing(self, pod);
    if (plan->required.terms.n)
        count_own(self, REFUSAL_AFFINITY, &plan->required, 0, plan->required.terms.n);
    for (size_t i = 0; i < plan->anti.terms.n; i++)
        count_own(self, REFUSAL_ANTI_AFFINITY, &plan->anti, i, i + 1);
    for (int i = 0; i < REFUSALS; i++)
        count_pairs(&plan->counts[i]);
    plan->counted = true;
}

/* --- pods come and go ------------------------------------------------------------------------- */

/* A pod that comes to a node (by 1) or leaves it (by -1). */
struct move {
    struct filter_state *state;
    const struct berth_pod *other;
    const struct berth_node *node;
    int64_t by;
};

static void change_count(const struct move *m, enum refusal which, const struct topology *t)
{
    struct filter_state *state = m->state;
    uint32_t domain = topology_domain(t, m->node->slot);
    if (!domain)
        return;
    for (size_t i = 0; i < state->changes.n; i++) {
        struct count_change *c = &state->changes.v[i];
        if (c->which == which && c->topology == t && c->domain == domain) {
            c->by += m->by;
            return;
        }
    }
    vec_push(&state->changes, (struct count_change){which, t, domain, m->by});
}

/* Known from counting, unless the term is of a pod that does not run yet. */
static const struct topology *topology_counted(const struct inter_pod_affinity *self,
                                               struct str key)
{
    const struct pair_counts *p = &self->filter.counts[REFUSAL_EXISTING];
    for (size_t i = 0; i < p->keys.n; i++)
        if (str_eq(p->keys.v[i].topology->key, key))
            return p->keys.v[i].topology;
    return topology_of(self, key);
}

static void change_existing(const struct move *m, const struct berth_pod *pod)
{
    const struct inter_pod_affinity *self = m->state->self;
    const str_map *labels = self->filter.namespace_labels;
    const struct affinity_set *set = m->other->affinity;
    for (size_t i = 0; set && i < set->of[AFFINITY_REQUIRED_ANTI].n; i++) {
        const struct affinity_term *term = &set->of[AFFINITY_REQUIRED_ANTI].v[i];
        if (affinity_term_matches(term, &pod->pod->metadata, labels))
            change_count(m, REFUSAL_EXISTING, topology_counted(self, term->topology_key));
    }
}

/* As with counting: the pod counts for each of the terms if all of them mean it. */
static void change_own(const struct move *m, enum refusal which, const struct own_terms *own,
                       size_t from, size_t to)
{
    struct pod_selection selection = {.terms = {own->terms.v + from, to - from}};
    if (!pod_selection_matches(&selection, m->other))
        return;
    for (size_t i = from; i < to; i++)
        change_count(m, which, own->topologies[i]);
}

static void move(const struct move *m, const struct berth_pod *pod)
{
    struct inter_pod_affinity *self = m->state->self;
    const struct filter_plan *plan = &self->filter;
    make_counts(self, pod);
    change_existing(m, pod);
    change_own(m, REFUSAL_AFFINITY, &plan->required, 0, plan->required.terms.n);
    for (size_t i = 0; i < plan->anti.terms.n; i++)
        change_own(m, REFUSAL_ANTI_AFFINITY, &plan->anti, i, i + 1);
}

enum berth_code ipa_add_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                            const struct berth_pod *other, const struct berth_node *node,
                            struct berth_status *status)
{
    struct filter_state *state = filter_state_read(ctx, cycle, status);
    if (!state)
        return BERTH_ERROR;
    move(&(struct move){state, other, node, 1}, pod);
    return BERTH_SUCCESS;
}

enum berth_code ipa_remove_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    struct filter_state *state = filter_state_read(ctx, cycle, status);
    if (!state)
        return BERTH_ERROR;
    move(&(struct move){state, other, node, -1}, pod);
    return BERTH_SUCCESS;
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* As PreFilter found it. */
static int64_t count_before(const struct filter_state *state, enum refusal which,
                            const struct topology *t, uint32_t domain)
{
    const struct key_counts *key = find_key(&state->self->filter.counts[which], t);
    return key && domain < key->n_domains ? key->by_domain[domain] : 0;
}

static int64_t count_now(const struct filter_state *state, enum refusal which,
                         const struct topology *t, uint32_t domain)
{
    int64_t count = count_before(state, which, t, domain);
    for (size_t i = 0; i < state->changes.n; i++) {
        const struct count_change *c = &state->changes.v[i];
        if (c->which == which && c->topology == t && c->domain == domain)
            count += c->by;
    }
    return count;
}

/* Does no pod anywhere satisfy the required affinity? */
static bool would_be_first(const struct filter_state *state)
{
    int64_t n = (int64_t)state->self->filter.counts[REFUSAL_AFFINITY].n_pairs;
    for (size_t i = 0; i < state->changes.n; i++) {
        const struct count_change *c = &state->changes.v[i];
        if (c->which != REFUSAL_AFFINITY)
            continue;
        int64_t before = count_before(state, c->which, c->topology, c->domain);
        n += (before + c->by != 0) - (before != 0);
    }
    return n == 0;
}

static bool satisfies_affinity(const struct filter_state *state, uint32_t slot)
{
    const struct filter_plan *plan = &state->self->filter;
    bool reached = true;
    for (size_t i = 0; i < plan->required.terms.n; i++) {
        const struct topology *t = plan->required.topologies[i];
        uint32_t domain = topology_domain(t, slot);
        if (!domain)
            return false;
        reached = reached && count_now(state, REFUSAL_AFFINITY, t, domain) > 0;
    }
    return reached || (plan->may_be_first && would_be_first(state));
}

static bool satisfies_anti_affinity(const struct filter_state *state, uint32_t slot)
{
    const struct own_terms *own = &state->self->filter.anti;
    for (size_t i = 0; i < own->terms.n; i++) {
        uint32_t domain = topology_domain(own->topologies[i], slot);
        if (domain && count_now(state, REFUSAL_ANTI_AFFINITY, own->topologies[i], domain) > 0)
            return false;
    }
    return true;
}

static bool is_hated(const struct filter_state *state, const struct topology *t, uint32_t slot)
{
    uint32_t domain = topology_domain(t, slot);
    return domain && count_now(state, REFUSAL_EXISTING, t, domain) > 0;
}

static bool satisfies_existing(const struct filter_state *state, uint32_t slot)
{
    const struct pair_counts *p = &state->self->filter.counts[REFUSAL_EXISTING];
    for (size_t i = 0; i < p->keys.n; i++)
        if (is_hated(state, p->keys.v[i].topology, slot))
            return false;
    for (size_t i = 0; i < state->changes.n; i++)
        if (state->changes.v[i].which == REFUSAL_EXISTING &&
            is_hated(state, state->changes.v[i].topology, slot))
            return false;
    return true;
}

enum refusal what_if_refusal(const struct filter_state *state, const struct berth_node *node)
{
    if (!satisfies_affinity(state, node->slot))
        return REFUSAL_AFFINITY;
    if (!satisfies_anti_affinity(state, node->slot))
        return REFUSAL_ANTI_AFFINITY;
    return satisfies_existing(state, node->slot) ? REFUSALS : REFUSAL_EXISTING;
}
