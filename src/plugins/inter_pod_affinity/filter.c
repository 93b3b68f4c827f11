/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - PreFilter and Filter of InterPodAffinity.
 *
 * PreFilter computes three sets of nodes, those that each rule rejects, from the pods that match
 * and the domains they run in; Filter reads the sets. Upstream counts pods by topology value in
 * PreFilter and looks the counts up in Filter; the verdicts are the same (what_if.c keeps its way).
 */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

static const enum berth_code codes[REFUSALS] = {
    [REFUSAL_AFFINITY] = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
    [REFUSAL_ANTI_AFFINITY] = BERTH_UNSCHEDULABLE,
    [REFUSAL_EXISTING] = BERTH_UNSCHEDULABLE,
};

/* --- PreFilter -------------------------------------------------------------------------------- */

static void begin_plan(struct inter_pod_affinity *self)
{
    struct filter_plan *plan = &self->filter;
    arena_reset(&plan->arena);
    plan->attempt = ++self->attempts;
    plan->n_slots = self->cluster->cache->columns.n;
    for (int i = 0; i < REFUSALS; i++)
        plan->refused[i] = arena_array(&plan->arena, uint64_t, BITSET_WORDS(plan->n_slots));
    plan->counted = false;
}

static bool paint(struct inter_pod_affinity *self, struct topology *t,
                  const struct slot_counts *pods, uint64_t *out)
{
    return topologies_paint(&self->cluster->topologies, t, self->filter.n_slots, pods->slots,
                            pods->n, out);
}

/*
 * Nodes in the domains of pods whose required anti-affinity selects this pod (upstream:
 * getExistingAntiAffinityCounts). True if there are any.
 */
static bool plan_existing(struct inter_pod_affinity *self, const struct berth_pod *pod)
{
    bool any = false;
    vec_clear(&self->found);
    affinity_terms_find(&self->cluster->affinity_terms, AFFINITY_MUST, &pod->pod->metadata,
                        namespace_labels(self, pod->pod), &self->found);
    for (size_t i = 0; i < self->found.n; i++) {
        const struct running_term *running = self->found.v[i];
        any |= paint(self, topology_of(self, running->term.topology_key), &running->pods,
                     self->filter.refused[REFUSAL_EXISTING]);
    }
    return any;
}

/* Upstream: satisfyPodAntiAffinity. Each term alone selects pods. */
static void plan_anti_affinity(struct inter_pod_affinity *self)
{
    const struct own_terms *own = &self->filter.anti;
    for (size_t i = 0; i < own->terms.n; i++) {
        struct pod_selection selection = {.terms = {&own->terms.v[i], 1}};
        const struct pod_count *count = pod_counts_get(&self->cluster->pod_counts, &selection);
        paint(self, own->topologies[i], &count->slots, self->filter.refused[REFUSAL_ANTI_AFFINITY]);
    }
}

/*
 * Upstream: satisfyPodAffinity. A node passes if, for every term, a pod that all terms select runs
 * in its domain. If there is none in any domain, a pod that matches its own terms may be the first
 * of its kind: then every node with all topology keys passes.
 */
static void plan_affinity(struct inter_pod_affinity *self)
{
    struct filter_plan *plan = &self->filter;
    const struct own_terms *own = &plan->required;
    struct pod_selection selection = {.terms = {own->terms.v, own->terms.n}};
    const struct pod_count *count = pod_counts_get(&self->cluster->pod_counts, &selection);
    size_t words = BITSET_WORDS(plan->n_slots);
    uint64_t *refused = plan->refused[REFUSAL_AFFINITY];
    uint64_t *missing = arena_array(&plan->arena, uint64_t, words); /* without a topology key */
    uint64_t *reached = arena_array(&plan->arena, uint64_t, words);
    bool any = false;
    for (size_t i = 0; i < own->terms.n; i++) {
        memset(reached, 0, words * sizeof(*reached));
        any |= paint(self, own->topologies[i], &count->slots, reached);
        topologies_paint_others(&self->cluster->topologies, own->topologies[i], plan->n_slots,
                                missing);
        for (size_t w = 0; w < words; w++)
            refused[w] |= ~reached[w];
    }
    if (!any && plan->may_be_first)
        plan->refused[REFUSAL_AFFINITY] = missing;
}

static bool is_own(const struct own_terms *own, const struct berth_pod *pod)
{
    struct pod_selection selection = {.terms = {own->terms.v, own->terms.n}};
    return own->terms.n && pod_selection_matches(&selection, pod);
}

enum berth_code ipa_pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_status *status)
{
    struct inter_pod_affinity *self = ctx;
    struct filter_plan *plan = &self->filter;
    const struct affinity_set *set = pod->affinity;
    if (set && set->error.n) {
        struct buf text = BUF_INIT;
        buf_add_printf(&text, "parsing pod: %.*s", STR_ARG(set->error));
        self->host->status_text(status, abi_str(buf_str(&text)));
        buf_release(&text);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    bool has_own = set && (set->of[AFFINITY_REQUIRED].n || set->of[AFFINITY_REQUIRED_ANTI].n);
    if (!has_own && !self->cluster->affinity_terms.n[AFFINITY_MUST])
        return BERTH_SKIP;
    begin_plan(self);
    if (!plan_existing(self, pod) && !has_own)
        return BERTH_SKIP;
    plan->unreachable =
        !own_terms_make(self, set, AFFINITY_REQUIRED, &plan->arena, &plan->required);
    (void)own_terms_make(self, set, AFFINITY_REQUIRED_ANTI, &plan->arena, &plan->anti);
    plan->may_be_first = is_own(&plan->required, pod);
    if (plan->unreachable)
        memset(plan->refused[REFUSAL_AFFINITY], 0xff,
               BITSET_WORDS(plan->n_slots) * sizeof(uint64_t));
    else if (plan->required.terms.n)
        plan_affinity(self);
    plan_anti_affinity(self);
    self->host->state_write(cycle, self->filter_state, filter_state_new(self, plan->attempt),
                            filter_state_clone, filter_state_free);
    return BERTH_SUCCESS;
}

/* --- Filter ----------------------------------------------------------------------------------- */

static enum refusal planned_refusal(const struct filter_plan *plan, uint32_t slot)
{
    int i = 0;
    if (slot >= plan->n_slots)
        return REFUSALS; /* the node was added during the attempt */
    while (i < REFUSALS && !(plan->refused[i][slot / 64] >> (slot % 64) & 1))
        i++;
    return (enum refusal)i;
}

enum berth_code ipa_filter(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node, struct berth_status *status)
{
    (void)pod;
    struct inter_pod_affinity *self = ctx;
    const struct filter_state *state = filter_state_read(self, cycle, status);
    if (!state)
        return BERTH_ERROR;
    enum refusal refusal = state->changes.n ? what_if_refusal(state, node)
                                            : planned_refusal(&self->filter, node->slot);
    if (refusal == REFUSALS)
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->reasons[refusal]);
    return codes[refusal];
}

enum berth_code ipa_filter_many(void *ctx, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, struct berth_filter_batch *batch,
                                struct berth_status *status)
{
    (void)pod;
    const struct inter_pod_affinity *self = ctx;
    if (!filter_state_read(self, cycle, status))
        return BERTH_ERROR;
    size_t words = BITSET_WORDS(MIN(batch->columns->n, self->filter.n_slots));
    for (size_t w = 0; w < words; w++)
        for (int i = 0; i < REFUSALS; i++) {
            uint64_t bits = self->filter.refused[i][w];
            if (batch->feasible[w] & bits)
                batch_refuse(batch, w, bits, codes[i], self->reasons[i]);
        }
    return BERTH_SUCCESS;
}
