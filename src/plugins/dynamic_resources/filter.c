/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - Filter: are the pod's claims available on a node, or can they be allocated there?
 * Score: how far down its alternatives the pod had to go.
 *
 * Filter builds no allocation; Reserve does for the chosen node. The batch form asks the allocator
 * what it remembers and searches only on the nodes that have changed.
 */
#include "engine/cycle/cycle.h"
#include "plugins/dynamic_resources/allocation_run.h"

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

/* --- points ----------------------------------------------------------------------------------- */

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
                score += allocation_points(k);
    }
    return score;
}

/* Upstream: computeScore. The allocator adds the points of those that it allocates. */
int64_t dra_fixed_score(const struct claims_state *s)
{
    int64_t score = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct used_claim *c = &s->v[i];
        const struct allocation_result *a =
            c->claim->status.allocation ? c->claim->status.allocation : c->allocation;
        if (a)
            score += score_claim(c->claim, a);
    }
    return score;
}

/* --- one node --------------------------------------------------------------------------------- */

/* Those before FAILS have the reason of the same number. */
enum outcome {
    UNAVAILABLE = DRA_UNAVAILABLE,
    NO_DEVICES = DRA_NO_DEVICES,
    STALE_EXTENDED_CLAIM = DRA_STALE_EXTENDED_CLAIM,
    CANNOT_FIT = DRA_CANNOT_FIT,
    INVALID_POOLS = DRA_INVALID_POOLS,
    FAILS, /* the allocation has the text */
    TIMED_OUT,
    REFUSED, /* the status has the reason: one node, DRANodeAllocatableResources */
    PASSES,
};

/* One node in question. Any thread. */
struct question {
    struct allocation_run run;
    struct berth_status *status; /* REFUSED: its reason; NULL in batches, which never get there */
    enum berth_code code;        /* REFUSED */
};

static enum outcome outcome_of(enum allocation_verdict verdict)
{
    static const enum outcome outcomes[] = {
        [ALLOCATION_FOUND] = PASSES,
        [ALLOCATION_NONE] = NO_DEVICES,
        [ALLOCATION_FAILED_ON_NODE] = INVALID_POOLS,
        [ALLOCATION_ERROR] = FAILS,
        [ALLOCATION_CANCELLED] = TIMED_OUT,
    };
    return outcomes[verdict];
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

/* The rest of the filter: everything that must be allocated can be, with this score. */
static enum outcome conclude(const struct claims_state *s, const struct berth_node *node,
                             int64_t score)
{
    if (s->n_allocated && find_unavailable(s, node))
        return UNAVAILABLE;
    if (!s->allocatable || node->slot >= s->n_nodes)
        return PASSES;
    atomic_fetch_or_explicit(&s->allocatable[node->slot / 64], (uint64_t)1 << (node->slot % 64),
                             memory_order_relaxed);
    if (s->points)
        s->points[node->slot] = score;
    return PASSES;
}

/*
 * DRANodeAllocatableResources: what the devices take of the node's cpu and memory. Upstream asks
 * about claims of other pods before it allocates, and about its own afterwards.
 */
static bool may_share(struct question *q)
{
    q->code = check_sharing(q->run.state, q->run.pod, q->run.node, q->status);
    return q->code == BERTH_SUCCESS;
}

static bool may_take(struct question *q)
{
    const struct claims_state *s = q->run.state;
    if (s->takes_of_node)
        q->code = node_claims_check(s, q->run.pod, q->run.node, q->run.allocation.results,
                                    allocation_run_arena(&q->run), q->status);
    return q->code == BERTH_SUCCESS;
}

/* Upstream looks at claims that exist last. */
static enum outcome judge(struct question *q)
{
    struct allocation_run *run = &q->run;
    const struct claims_state *s = run->state;
    enum extended_need extended = s->has_extended ? extended_need(s, run->node) : EXTENDED_NONE;
    if (extended == EXTENDED_STALE)
        return STALE_EXTENDED_CLAIM;
    if (extended == EXTENDED_MISSING)
        return CANNOT_FIT;
    if (extended == EXTENDED_NONE && s->has_extended && s->n == 1)
        return PASSES;
    if (!may_share(q))
        return REFUSED;
    if (!s->allocatable)
        return conclude(s, run->node, 0);
    enum outcome outcome = outcome_of(allocation_run(run, s->takes_of_node));
    if (outcome != PASSES)
        return outcome;
    if (!may_take(q))
        return REFUSED;
    return conclude(s, run->node, s->fixed_score + run->allocation.score);
}

static enum berth_code code_of(enum outcome outcome)
{
    return outcome < FAILS    ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE
           : outcome < PASSES ? BERTH_ERROR
                              : BERTH_SUCCESS;
}

/* *ret_state NULL: there is nothing to check. */
static enum berth_code find_state(const struct dynamic_resources *self,
                                  const struct berth_cycle *cycle, struct claims_state **ret_state,
                                  struct berth_status *status)
{
    struct claims_state *s = self->shared ? dra_state(self, cycle) : NULL;
    *ret_state = s && s->n ? s : NULL;
    if (!self->shared || s)
        return BERTH_SUCCESS;
    self->host->status_text(status, BERTH_STR("not found"));
    return BERTH_ERROR;
}

enum berth_code dra_filter(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node, struct berth_status *status)
{
    const struct dynamic_resources *self = ctx;
    struct claims_state *s;
    enum berth_code code = find_state(self, cycle, &s, status);
    if (!s)
        return code;
    struct question q = {.run = {.state = s, .pod = pod->pod, .node = node}, .status = status};
    enum outcome outcome = judge(&q);
    if (outcome < FAILS)
        self->host->status_reason(status, self->reasons[outcome]);
    else if (outcome == FAILS)
        self->host->status_text(status, abi_str(q.run.allocation.error));
    else if (outcome == TIMED_OUT)
        status_printf(self->host, status, "node %s: timed out trying to allocate devices",
                      node->name);
    allocation_run_release(&q.run);
    return outcome == REFUSED ? q.code : code_of(outcome);
}

/* --- many nodes ------------------------------------------------------------------------------- */

struct searched {
    uint32_t slot;
    enum outcome outcome;
};

struct questions {
    const struct claims_state *state;
    const struct berth_pod *pod;
    struct berth_filter_batch *batch;
    VEC(struct searched) searched; /* nodes that need a search */
    bool fails;
};

/* Any thread. */
static void search_items(void *ctx, size_t worker, size_t from, size_t to)
{
    (void)worker;
    const struct questions *q = ctx;
    for (size_t i = from; i < to; i++) {
        struct searched *s = &q->searched.v[i];
        struct question one = {.run = {.state = q->state,
                                       .pod = q->pod->pod,
                                       .node = q->batch->columns->nodes[s->slot]}};
        s->outcome = judge(&one);
        allocation_run_release(&one.run);
    }
}

static void settle(struct questions *q, uint32_t slot, enum outcome outcome)
{
    if (outcome == PASSES)
        return;
    bool fails = outcome >= FAILS;
    berth_reason reason = fails ? 0 : q->state->plugin->reasons[outcome];
    q->fails |= fails;
    batch_refuse(q->batch, slot / 64, (uint64_t)1 << (slot % 64), code_of(outcome), reason);
}

/* Nodes of a word on which everything can be allocated. */
static void pass(struct questions *q, size_t word, const struct recalled *r)
{
    const struct claims_state *s = q->state;
    if (!s->n_allocated && !s->points && word < BITSET_WORDS(s->n_nodes)) {
        atomic_fetch_or_explicit(&s->allocatable[word], r->found, memory_order_relaxed);
        return;
    }
    for (uint64_t left = r->found; left; left &= left - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(left);
        const struct berth_node *node = q->batch->columns->nodes[word * 64 + bit];
        settle(q, node->slot, conclude(s, node, s->fixed_score + r->scores[bit]));
    }
}

/* Decides on nodes of a word whose verdict is known; the others are put on the list. */
static void recall(struct questions *q, size_t word)
{
    const struct claims_state *s = q->state;
    const struct berth_node *const *nodes = q->batch->columns->nodes + word * 64;
    uint64_t unknown = q->batch->feasible[word];
    if (s->allocator && !s->has_extended) {
        struct recalled r;
        r.asked = unknown;
        r.first = word * 64;
        for (uint64_t left = unknown; left; left &= left - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(left);
            r.nodes[bit] = nodes[bit]->node;
        }
        allocator_recall(s->allocator, &r);
        unknown &= ~(r.found | r.none | r.failed);
        batch_refuse(q->batch, word, r.none, code_of(NO_DEVICES), s->plugin->reasons[NO_DEVICES]);
        batch_refuse(q->batch, word, r.failed, code_of(INVALID_POOLS),
                     s->plugin->reasons[INVALID_POOLS]);
        pass(q, word, &r);
    }
    for (; unknown; unknown &= unknown - 1)
        vec_push(&q->searched, (struct searched){.slot = (uint32_t)(word * 64) +
                                                         (uint32_t)__builtin_ctzll(unknown)});
}

static void recall_all(struct questions *q)
{
    for (size_t w = 0; w < BITSET_WORDS(q->batch->columns->n); w++)
        if (q->batch->feasible[w])
            recall(q, w);
}

/* The text of the first node in the order of the attempt that failed. */
static void say_why(const struct dynamic_resources *self, const struct berth_cycle *cycle,
                    const struct questions *q, struct berth_status *status)
{
    const struct berth_node *node = NULL;
    for (size_t i = 0; cycle->candidates && i < cycle->n_nodes && !node; i++)
        if (q->batch->codes[cycle_slot(cycle, i)] == BERTH_ERROR)
            node = cycle_node(cycle, i);
    for (size_t i = 0; i < q->searched.n && !node; i++)
        if (q->searched.v[i].outcome == FAILS || q->searched.v[i].outcome == TIMED_OUT)
            node = q->batch->columns->nodes[q->searched.v[i].slot];
    (void)dra_filter((void *)self, cycle, q->pod, node, status);
}

/* With DRANodeAllocatableResources reasons depend on the node: one after the other. */
static void filter_each(const struct dynamic_resources *self, const struct berth_cycle *cycle,
                        struct questions *q, struct berth_status *status)
{
    struct berth_filter_batch *batch = q->batch;
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
        for (uint64_t left = batch->feasible[w]; left; left &= left - 1) {
            uint64_t bit = left & -left;
            size_t slot = w * 64 + (size_t)__builtin_ctzll(left);
            status_clear(status);
            enum berth_code code =
                dra_filter((void *)self, cycle, q->pod, batch->columns->nodes[slot], status);
            q->fails |= code == BERTH_ERROR;
            if (code != BERTH_SUCCESS)
                batch_refuse(
                    batch, w, bit, code,
                    code == BERTH_ERROR ? 0 : status_reason(status, &cycle->framework->reasons));
        }
    status_clear(status);
}

enum berth_code dra_filter_many(void *ctx, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, struct berth_filter_batch *batch,
                                struct berth_status *status)
{
    const struct dynamic_resources *self = ctx;
    struct claims_state *s;
    enum berth_code code = find_state(self, cycle, &s, status);
    if (!s)
        return code;
    struct questions q = {.state = s, .pod = pod, .batch = batch};
    if (self->gates.node_allocatable)
        filter_each(self, cycle, &q, status);
    else
        recall_all(&q);
    workers_run(&cycle->cycles->workers, q.searched.n, search_items, &q);
    for (size_t i = 0; i < q.searched.n; i++)
        settle(&q, q.searched.v[i].slot, q.searched.v[i].outcome);
    if (q.fails)
        say_why(self, cycle, &q, status);
    vec_release(&q.searched);
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static int64_t score_at(const struct claims_state *s, size_t slot)
{
    return dra_is_allocatable(s, slot) ? s->points[slot] : 0;
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
    struct claims_state *s;
    enum berth_code code = find_state(self, cycle, &s, status);
    if (!s)
        return code;
    if (s->points)
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
    struct claims_state *s;
    enum berth_code code = find_state(self, cycle, &s, status);
    if (!s)
        return code;
    for (size_t i = 0; s->points && i < batch->n; i++)
        batch->scores[i] = score_at(s, batch->slots[i]);
    return BERTH_SUCCESS;
}
