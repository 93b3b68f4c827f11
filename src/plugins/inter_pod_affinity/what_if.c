/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.c - AddPod and RemovePod of InterPodAffinity, and Filter after them.
 *
 * The sets that PreFilter computes do not tell when the last pod of a domain is removed: here pods
 * are counted by topology key and value, as upstream does from the start (preFilterState). Pods
 * added and removed are a short list beside the counts, which all clones share. The first call is
 * on the engine's thread and computes the counts; later calls, about running pods, create nothing
 * and may be on any thread.
 */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

struct key_counts {
    size_t n_domains;
    int64_t *by_domain;
};

/* The count that changes. Without padding: its bytes are a map key. */
struct change_key {
    uint64_t topology; /* its id */
    uint32_t which;    /* enum refusal */
    uint32_t domain;
};

struct count_change {
    struct change_key key;
    const struct topology *topology;
    int64_t by;
};

#define FEW_CHANGES 8 /* up to this many, a search is faster than a lookup */

/* --- cycle state ------------------------------------------------------------------------------ */

struct filter_state *filter_state_new(struct inter_pod_affinity *self, uint64_t attempt)
{
    struct filter_state *state = xnew(struct filter_state);
    state->self = self;
    state->attempt = attempt;
    arena_init(&state->arena, 0);
    return state;
}

/* --- changes ---------------------------------------------------------------------------------- */

static struct str key_bytes(const struct change_key *key)
{
    return (struct str){(const char *)key, sizeof(*key)};
}

static struct count_change *find_change(const struct filter_state *state, struct change_key key)
{
    if (state->by_key.n)
        return map_get(&state->by_key, key_bytes(&key));
    for (size_t i = 0; i < state->changes.n; i++)
        if (memcmp(&state->changes.v[i]->key, &key, sizeof(key)) == 0)
            return state->changes.v[i];
    return NULL;
}

static void index_change(struct filter_state *state, struct count_change *c)
{
    map_put(&state->by_key, key_bytes(&c->key), c);
}

static void add_change(struct filter_state *state, struct count_change change)
{
    struct count_change *c = arena_new(&state->arena, struct count_change);
    *c = change;
    vec_push(&state->changes, c);
    if (state->by_key.n)
        index_change(state, c);
    else if (state->changes.n > FEW_CHANGES)
        for (size_t i = 0; i < state->changes.n; i++)
            index_change(state, state->changes.v[i]);
}

void *filter_state_clone(const void *data)
{
    const struct filter_state *from = data;
    struct filter_state *state = filter_state_new(from->self, from->attempt);
    for (size_t i = 0; i < from->changes.n; i++)
        add_change(state, *from->changes.v[i]);
    return state;
}

void filter_state_free(void *data)
{
    struct filter_state *state = data;
    vec_release(&state->changes);
    map_release(&state->by_key);
    arena_release(&state->arena);
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

static const struct key_counts *find_key(const struct pair_counts *p, const struct topology *t)
{
    size_t place = topology_places_find(&p->keys, t);
    return place == TOPOLOGY_PLACE_NONE ? NULL : &p->counts.v[place];
}

static void count_pods(struct filter_plan *plan, enum refusal which, const struct topology *t,
                       const struct slot_counts *pods)
{
    struct pair_counts *p = &plan->counts[which];
    if (!find_key(p, t)) {
        topology_places_add(&p->keys, t);
        vec_push(&p->counts, (struct key_counts){t->n_domains,
                                                 arena_array(&plan->arena, int64_t, t->n_domains)});
    }
    int64_t *by_domain = find_key(p, t)->by_domain;
    for (size_t i = 0; i < pods->n; i++)
        by_domain[topology_domain(t, pods->slots[i])] += pods->counts[i];
    by_domain[0] = 0; /* domain 0: none */
}

static void count_pairs(struct pair_counts *p)
{
    for (size_t i = 0; i < p->counts.n; i++)
        for (size_t d = 0; d < p->counts.v[i].n_domains; d++)
            p->n_pairs += p->counts.v[i].by_domain[d] != 0;
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

/* Pods that all of these terms select count for each of them. */
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
        topology_places_clear(&plan->counts[i].keys);
        vec_clear(&plan->counts[i].counts);
        plan->counts[i].n_pairs = 0;
    }
    plan->namespace_labels = namespace_labels(self, pod->pod);
    count_existing(self, pod);
    if (plan->required.terms.n && !plan->unreachable)
        count_own(self, REFUSAL_AFFINITY, &plan->required, 0, plan->required.terms.n);
    for (size_t i = 0; i < plan->anti.terms.n; i++)
        count_own(self, REFUSAL_ANTI_AFFINITY, &plan->anti, i, i + 1);
    for (int i = 0; i < REFUSALS; i++)
        count_pairs(&plan->counts[i]);
    plan->counted = true;
}

/* --- adding and removing pods ----------------------------------------------------------------- */

/* A pod added to a node (by 1) or removed from it (by -1). */
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
    struct change_key key = {t->id, which, domain};
    struct count_change *c = find_change(state, key);
    if (c)
        c->by += m->by;
    else
        add_change(state, (struct count_change){key, t, m->by});
}

/* Created by counting, unless the term belongs to a pod that does not run yet. */
static const struct topology *topology_counted(const struct inter_pod_affinity *self,
                                               struct str key)
{
    const struct topology *t = topologies_find(&self->cluster->topologies, key);
    return t ? t : topology_of(self, key);
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

/* Upstream: updateWithPod. The pod counts for each of the terms if all of them select it. */
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
    if (!plan->unreachable)
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

/* --- verdicts --------------------------------------------------------------------------------- */

/* Before any change. */
static int64_t count_before(const struct filter_state *state, enum refusal which,
                            const struct topology *t, uint32_t domain)
{
    const struct key_counts *key = find_key(&state->self->filter.counts[which], t);
    return key && domain < key->n_domains ? key->by_domain[domain] : 0;
}

static int64_t count_now(const struct filter_state *state, enum refusal which,
                         const struct topology *t, uint32_t domain)
{
    const struct count_change *c = find_change(state, (struct change_key){t->id, which, domain});
    return count_before(state, which, t, domain) + (c ? c->by : 0);
}

/* Does no pod in the cluster satisfy the required affinity (upstream: len(affinityCounts) == 0)? */
static bool would_be_first(const struct filter_state *state)
{
    int64_t n = (int64_t)state->self->filter.counts[REFUSAL_AFFINITY].n_pairs;
    for (size_t i = 0; i < state->changes.n; i++) {
        const struct count_change *c = state->changes.v[i];
        if (c->key.which != REFUSAL_AFFINITY)
            continue;
        int64_t before = count_before(state, REFUSAL_AFFINITY, c->topology, c->key.domain);
        n += (before + c->by != 0) - (before != 0);
    }
    return n == 0;
}

static bool satisfies_affinity(const struct filter_state *state, uint32_t slot)
{
    const struct filter_plan *plan = &state->self->filter;
    bool reached = true;
    if (plan->unreachable)
        return false;
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

static bool is_excluded(const struct filter_state *state, const struct topology *t, uint32_t slot)
{
    uint32_t domain = topology_domain(t, slot);
    return domain && count_now(state, REFUSAL_EXISTING, t, domain) > 0;
}

static bool satisfies_existing(const struct filter_state *state, uint32_t slot)
{
    const struct pair_counts *p = &state->self->filter.counts[REFUSAL_EXISTING];
    for (size_t i = 0; i < p->keys.all.n; i++)
        if (is_excluded(state, p->keys.all.v[i], slot))
            return false;
    for (size_t i = 0; i < state->changes.n; i++)
        if (state->changes.v[i]->key.which == REFUSAL_EXISTING &&
            is_excluded(state, state->changes.v[i]->topology, slot))
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
