/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - Filter: are the pod's claims available on a node, or can they be allocated there?
 * Score: how far down its alternatives the pod had to go.
 *
 * Filter builds no allocation unless the score needs it; Reserve does for the chosen node.
 */
#include "plugins/dynamic_resources/allocation_run.h"

/* Points of the first alternative (upstream: FirstAvailableDeviceRequestMaxSize). */
#define MAX_ALTERNATIVES 8

/* --- extended resources ----------------------------------------------------------------------- */

enum extended_need {
    EXTENDED_NONE,    /* the node provides them itself */
    EXTENDED_DEVICES, /* devices must be allocated */
    EXTENDED_STALE,   /* the claim is of an earlier attempt: PostFilter deletes it */
    EXTENDED_MISSING, /* one of them is not provided */
};

/* Upstream: filterExtendedResources. */
static enum extended_need extended_need(const struct claims_state *s, const struct berth_node *node)
{
    const struct used_claim *claim = dra_extended_claim(s);
    bool devices = false;
    if (claim->claim->spec.devices.requests.n)
        return EXTENDED_STALE;
    for (size_t i = 0; i < s->n_extended; i++) {
        bool exists;
        int64_t has = node_scalar(node, s->extended[i].name, &exists);
        if (s->extended[i].devices && has == 0)
            devices = true;
        else if (!exists)
            return EXTENDED_MISSING;
    }
    return devices ? EXTENDED_DEVICES : EXTENDED_NONE;
}

/* --- claims that are allocated ---------------------------------------------------------------- */

static bool reaches(const struct used_claim *c, const struct berth_node *node)
{
    return !c->limited || node_terms_match(&c->available_on, &node->node->metadata.labels,
                                           node->node->metadata.name);
}

/* Upstream: a claim whose binding has failed may be deallocated in PostFilter. */
static bool is_available(const struct claims_state *s, const struct used_claim *c,
                         const struct berth_node *node)
{
    if (!c->claim->status.allocation)
        return true;
    if (!reaches(c, node))
        return false;
    if (!s->plugin->gates.binding_conditions)
        return true;
    enum claim_readiness ready = claim_readiness(c->claim, NULL);
    return ready == CLAIM_READY ||
           (ready == CLAIM_NOT_READY && !claim_binding_timed_out(s->plugin, c->claim));
}

/* --- score ------------------------------------------------------------------------------------ */

/* Was a device allocated for this alternative? Results are in the order of requests. */
static bool is_allocated(const struct allocation_result *a, struct str request, struct str sub)
{
    for (size_t i = 0; i < a->devices.results.n; i++) {
        struct str name = a->devices.results.v[i].request;
        if (name.n == request.n + 1 + sub.n && str_starts(name, request) &&
            name.p[request.n] == '/' && str_ends(name, sub))
            return true;
    }
    return false;
}

static int64_t score_claim(const struct resource_claim *claim, const struct allocation_result *a)
{
    int64_t score = 0;
    for (size_t i = 0; i < claim->spec.devices.requests.n; i++) {
        const struct device_request *r = &claim->spec.devices.requests.v[i];
        for (size_t k = 0; !r->exactly && k < r->first_available.n; k++)
            if (is_allocated(a, r->name, r->first_available.v[k].name))
                score += MAX_ALTERNATIVES - (int64_t)k;
    }
    return score;
}

/* Upstream: computeScore. results: of the claims that were allocated now. */
static int64_t score_all(const struct claims_state *s, const struct allocation_result *results)
{
    int64_t score = 0;
    size_t next = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct used_claim *c = &s->v[i];
        const struct allocation_result *a = c->claim->status.allocation
                                                ? c->claim->status.allocation
                                            : c->allocation ? c->allocation
                                                            : &results[next++];
        score += score_claim(c->claim, a);
    }
    return score;
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code refuse(const struct dynamic_resources *self, struct berth_status *status,
                              enum dra_reason reason)
{
    self->host->status_reason(status, self->reasons[reason]);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code refuse_text(const struct dynamic_resources *self,
                                   struct berth_status *status, struct str why,
                                   enum berth_code code)
{
    self->host->status_text(status, abi_str(why));
    return code;
}

static enum berth_code allocate(const struct claims_state *s, const struct berth_pod *pod,
                                const struct berth_node *node, struct berth_status *status,
                                int64_t *ret_score)
{
    const struct dynamic_resources *self = s->plugin;
    struct allocation_run run = {.state = s, .pod = pod->pod, .node = node};
    enum berth_code code = BERTH_SUCCESS;
    *ret_score = 0;
    switch (allocation_run(&run, s->scores || s->takes_of_node)) {
    case ALLOCATION_FOUND:
        if (s->takes_of_node)
            code = node_claims_check(s, pod->pod, node, run.allocation.results,
                                     allocation_run_arena(&run), status);
        if (s->scores)
            *ret_score = score_all(s, run.allocation.results);
        break;
    case ALLOCATION_NONE:
        code = refuse(self, status, DRA_NO_DEVICES);
        break;
    case ALLOCATION_FAILED_ON_NODE:
        code =
            refuse_text(self, status, run.allocation.error, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
        break;
    case ALLOCATION_ERROR:
        code = refuse_text(self, status, run.allocation.error, BERTH_ERROR);
        break;
    case ALLOCATION_CANCELLED:
        status_printf(self->host, status, "node %s: timed out trying to allocate devices",
                      node->name);
        code = BERTH_ERROR;
        break;
    }
    allocation_run_release(&run);
    return code;
}

/* Marks the claims that are not available on the node. */
static bool find_unavailable(const struct claims_state *s, const struct berth_node *node)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        if (is_available(s, &s->v[i], node))
            continue;
        atomic_store_explicit(&s->v[i].unavailable, true, memory_order_relaxed);
        any = true;
    }
    return any;
}

/* A claim of another pod on the node may not take resources of the node twice. */
static enum berth_code check_sharing(const struct claims_state *s, const struct pod *pod,
                                     const struct berth_node *node, struct berth_status *status)
{
    enum berth_code code = BERTH_SUCCESS;
    if (!s->plugin->gates.node_allocatable || !node->n_claiming)
        return BERTH_SUCCESS;
    for (size_t i = 0; code == BERTH_SUCCESS && i < s->n; i++)
        if (s->v[i].claim->status.allocation && reaches(&s->v[i], node))
            code = node_claims_check_sharing(s, pod, node, &s->v[i], status);
    return code;
}

enum berth_code dra_filter(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node, struct berth_status *status)
{
    const struct dynamic_resources *self = ctx;
    struct claims_state *s = self->shared ? dra_state(self, cycle) : NULL;
    int64_t score = 0;
    if (!self->shared)
        return BERTH_SUCCESS;
    if (!s)
        return refuse_text(self, status, STR("not found"), BERTH_ERROR);
    if (!s->n)
        return BERTH_SUCCESS;
    enum extended_need extended = s->has_extended ? extended_need(s, node) : EXTENDED_NONE;
    if (extended == EXTENDED_STALE)
        return refuse(self, status, DRA_STALE_EXTENDED_CLAIM);
    if (extended == EXTENDED_MISSING)
        return refuse(self, status, DRA_CANNOT_FIT);
    if (extended == EXTENDED_NONE && s->has_extended && s->n == 1)
        return BERTH_SUCCESS;

    enum berth_code shared = check_sharing(s, pod->pod, node, status);
    if (shared != BERTH_SUCCESS)
        return shared;
    /* Upstream allocates first, and then remembers no claims that are not available. */
    if (s->nodes) {
        enum berth_code code = allocate(s, pod, node, status, &score);
        if (code != BERTH_SUCCESS)
            return code;
    }
    if (find_unavailable(s, node))
        return refuse(self, status, DRA_UNAVAILABLE);
    if (s->nodes && node->slot < s->n_nodes)
        s->nodes[node->slot] = (struct claims_on_node){.score = score, .allocated = true};
    return BERTH_SUCCESS;
}

static int64_t score_at(const struct claims_state *s, size_t slot)
{
    return slot < s->n_nodes && s->nodes[slot].allocated ? s->nodes[slot].score : 0;
}

enum berth_code dra_score(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                          const struct berth_node *node, int64_t *ret_score,
                          struct berth_status *status)
{
    (void)pod;
    const struct dynamic_resources *self = ctx;
    *ret_score = 0;
    if (!self->shared || !self->gates.prioritized_list)
        return BERTH_SUCCESS;
    const struct claims_state *s = dra_state(self, cycle);
    if (!s)
        return refuse_text(self, status, STR("not found"), BERTH_ERROR);
    if (s->n && s->nodes)
        *ret_score = score_at(s, node->slot);
    return BERTH_SUCCESS;
}

/* Most pods have no claims: upstream scores them too, with 0. */
enum berth_code dra_score_many(void *ctx, const struct berth_cycle *cycle,
                               const struct berth_pod *pod, struct berth_score_batch *batch,
                               struct berth_status *status)
{
    (void)pod;
    const struct dynamic_resources *self = ctx;
    memset(batch->scores, 0, batch->n * sizeof(batch->scores[0]));
    if (!self->shared || !self->gates.prioritized_list)
        return BERTH_SUCCESS;
    const struct claims_state *s = dra_state(self, cycle);
    if (!s)
        return refuse_text(self, status, STR("not found"), BERTH_ERROR);
    for (size_t i = 0; s->n && s->nodes && i < batch->n; i++)
        batch->scores[i] = score_at(s, batch->slots[i]);
    return BERTH_SUCCESS;
}
