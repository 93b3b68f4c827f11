/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - PreFilter and Filter of PodTopologySpread (upstream: filtering.go).
 *
 * A node passes if, for each DoNotSchedule constraint, it has the topology key and
 * pods in its domain + 1 if the pod matches itself - minimum of all domains <= maxSkew.
 */
#include "plugins/pod_topology_spread/spread.h"

#define LOGGER LOGGER_FILTER("PodTopologySpread")

#define UNSET INT32_MAX /* pods in a domain that does not exist */

/* A domain with few pods (upstream: criticalPaths). */
struct path {
    uint32_t domain;
    int64_t pods;
};

/* Pods that a "what if" added to a domain or removed from it. */
struct delta {
    uint32_t domain;
    int64_t pods;
};

/* The numbers of one constraint that a "what if" may change. */
struct axis {
    /*
     * The two domains with the fewest pods, the lower one first. A "what if" changes the pods of
     * one node only, so at least one of the two keeps its count, and the lower of them is the
     * minimum of all domains.
     */
    struct path paths[2];
    size_t n_domains;
    VEC(struct delta) deltas;
};

/* Shared by the attempt and all its "what if" clones. */
struct base {
    struct arena arena;
    struct spread_constraints constraints;
    struct spread_domains *domains;
    bool *self_match;
};

struct state {
    struct base *base;
    bool owns_base;
    size_t n;
    struct axis axes[];
};

static void free_state(void *data)
{
    struct state *s = data;
    for (size_t i = 0; i < s->n; i++)
        vec_release(&s->axes[i].deltas);
    if (s->owns_base) {
        struct arena arena = s->base->arena; /* contains the base */
        arena_release(&arena);
    }
    free(s);
}

static void *clone_state(const void *data)
{
    const struct state *from = data;
    size_t size = sizeof(*from) + from->n * sizeof(struct axis);
    struct state *s = xmalloc(size);
    memcpy(s, from, size);
    s->owns_base = false;
    for (size_t i = 0; i < s->n; i++) {
        s->axes[i].deltas.v = NULL;
        s->axes[i].deltas.n = s->axes[i].deltas.cap = 0;
        for (size_t k = 0; k < from->axes[i].deltas.n; k++)
            vec_push(&s->axes[i].deltas, from->axes[i].deltas.v[k]);
    }
    return s;
}

/* --- domains with the fewest pods ------------------------------------------------------------- */

static void swap_paths(struct path paths[2])
{
    struct path first = paths[0];
    paths[0] = paths[1];
    paths[1] = first;
}

/* Upstream: criticalPaths.update. Keeps paths[0].pods <= paths[1].pods. */
static void update_paths(struct path paths[2], uint32_t domain, int64_t pods)
{
    int i = domain == paths[0].domain ? 0 : domain == paths[1].domain ? 1 : -1;
    if (i >= 0) {
        paths[i].pods = pods;
        if (paths[0].pods > paths[1].pods)
            swap_paths(paths);
    } else if (pods < paths[0].pods) {
        paths[1] = paths[0];
        paths[0] = (struct path){domain, pods};
    } else if (pods < paths[1].pods) {
        paths[1] = (struct path){domain, pods};
    }
    INVARIANT(paths[0].pods <= paths[1].pods);
}

static void find_paths(const struct spread_domains *d, struct path paths[2])
{
    const uint32_t *counts = d->counts;
    uint32_t bound = UNSET;
    paths[0] = paths[1] = (struct path){0, UNSET};
    /* A count above paths[1] changes nothing; two domains with 0 pods end the search. */
    for (uint32_t domain = 1; domain < d->n && bound > 0; domain++)
        if (counts[domain] < bound && d->nodes[domain]) {
            update_paths(paths, domain, counts[domain]);
            bound = (uint32_t)paths[1].pods;
        }
}

/* Upstream: minMatchNum. With fewer domains than minDomains the minimum is 0. */
static int64_t lowest(const struct axis *axis, const struct spread_constraint *c)
{
    return (int64_t)axis->n_domains < c->min_domains ? 0 : axis->paths[0].pods;
}

/* --- pre_filter ------------------------------------------------------------------------------- */

/* Upstream: calPreFilterState. */
static struct state *make_state(struct spread *self, const struct berth_pod *pod, struct base *base)
{
    size_t n = base->constraints.list.n;
    struct spread_scope scope = {
        .constraints = base->constraints,
        .pod = pod,
        .all_keys = true,
    };
    struct state *s = xcalloc(1, sizeof(*s) + n * sizeof(struct axis));
    base->domains = arena_array(&base->arena, struct spread_domains, n);
    base->self_match = arena_array(&base->arena, bool, n);
    (void)spread_domains_fill(self, &scope, &base->arena, base->domains);
    s->base = base;
    s->owns_base = true;
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct spread_constraint *c = &base->constraints.list.v[i];
        base->self_match[i] = selector_matches(&c->selector, &pod->pod->metadata.labels);
        s->axes[i].n_domains = base->domains[i].n_used;
        find_paths(&base->domains[i], s->axes[i].paths);
    }
    return s;
}

enum berth_code spread_pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    struct spread *self = ctx;
    struct arena arena;
    struct spread_constraints constraints;
    struct buf why = BUF_INIT;
    enum berth_code code = BERTH_SUCCESS;
    arena_init(&arena, 1024);
    if (spread_constraints_compile(self, pod->pod, SPREAD_DO_NOT_SCHEDULE, &arena, &constraints,
                                   &why) < 0)
        code = spread_fail(self, status, "get constraints from pod", &why);
    else if (constraints.list.n == 0)
        code = BERTH_SKIP;
    if (code == BERTH_SUCCESS) {
        struct base *base = arena_new(&arena, struct base);
        base->arena = arena;
        base->constraints = constraints;
        self->host->state_write(cycle, self->filter_key, make_state(self, pod, base), clone_state,
                                free_state);
    } else {
        arena_release(&arena);
    }
    buf_release(&why);
    return code;
}

/* --- what if ---------------------------------------------------------------------------------- */

static struct delta *find_delta(const struct axis *axis, uint32_t domain)
{
    for (size_t i = 0; i < axis->deltas.n; i++)
        if (axis->deltas.v[i].domain == domain)
            return &axis->deltas.v[i];
    return NULL;
}

static inline int64_t pods_in(const struct axis *axis, const struct spread_domains *d,
                              uint32_t domain)
{
    const struct delta *delta = axis->deltas.n ? find_delta(axis, domain) : NULL;
    return (domain < d->n ? d->counts[domain] : 0) + (delta ? delta->pods : 0);
}

/*
 * Upstream: updateWithPod. A domain without nodes that count becomes one, also by a pod that is
 * removed: upstream's map gets an entry for it.
 */
static void change(struct axis *axis, const struct spread_domains *d, uint32_t domain, int sign)
{
    struct delta *delta = find_delta(axis, domain);
    if (delta) {
        delta->pods += sign;
    } else {
        axis->n_domains += domain >= d->n || !d->nodes[domain];
        vec_push(&axis->deltas, (struct delta){domain, sign});
    }
    update_paths(axis->paths, domain, pods_in(axis, d, domain));
}

static bool has_all_keys(const struct state *s, const struct berth_node *node)
{
    for (size_t i = 0; i < s->n; i++)
        if (!topology_domain(s->base->domains[i].topology, node->slot))
            return false;
    return true;
}

/* As upstream's updateWithPod, this counts the other pod even if it is terminating. */
static enum berth_code what_if(const struct spread *self, struct berth_cycle *cycle,
                               const struct berth_pod *pod, const struct berth_pod *other,
                               const struct berth_node *node, int sign)
{
    struct state *s = self->host->state_read(cycle, self->filter_key);
    const struct object_meta *meta = &other->pod->metadata;
    struct spread_usable usable = {.pod = pod->pod, .node = node->node};
    if (!s || !node->object || !str_eq(meta->namespace, pod->pod->metadata.namespace) ||
        !has_all_keys(s, node))
        return BERTH_SUCCESS;
    for (size_t i = 0; i < s->n; i++) {
        const struct spread_constraint *c = &s->base->constraints.list.v[i];
        const struct spread_domains *d = &s->base->domains[i];
        if (selector_matches(&c->selector, &meta->labels) && spread_node_counts(self, c, &usable))
            change(&s->axes[i], d, topology_domain(d->topology, node->slot), sign);
    }
    return BERTH_SUCCESS;
}

enum berth_code spread_add_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    (void)status;
    return what_if(self, cycle, pod, other, node, 1);
}

enum berth_code spread_remove_pod(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status)
{
    (void)status;
    return what_if(self, cycle, pod, other, node, -1);
}

/* --- filter ----------------------------------------------------------------------------------- */

/* More pods in a domain than this, and the pod would make it stick out. */
static int64_t most(const struct state *s, size_t i)
{
    const struct spread_constraint *c = &s->base->constraints.list.v[i];
    return c->max_skew + lowest(&s->axes[i], c) - s->base->self_match[i];
}

/* A configuration has Filter without PreFilter. */
static enum berth_code unprepared(const struct spread *self, struct berth_status *status)
{
    self->host->status_text(
        status, BERTH_STR("reading \"PreFilterPodTopologySpread\" from cycleState: not found"));
    return BERTH_ERROR;
}

/* Logs why the node is refused, by constraint i. domain 0: it has none. */
static void log_refused(const struct spread *self, const struct state *s, size_t i,
                        const struct berth_pod *pod, const struct berth_node *node, uint32_t domain)
{
    const struct spread_constraint *c = &s->base->constraints.list.v[i];
    if (!domain) {
        engine_log_as(self->log, 5, LOGGER,
                      "Node doesn't have required topology label for spread constraint",
                      KV_POD(pod), KV_NODE(node->node), KV_STR("topologyKey", c->topology_key));
        return;
    }
    engine_log_as(self->log, 5, LOGGER,
                  "Node failed spreadConstraint: matchNum + selfMatchNum - minMatchNum > maxSkew",
                  KV_POD(pod), KV_NODE(node->node), KV_STR("topologyKey", c->topology_key),
                  KV_INT("matchNum", pods_in(&s->axes[i], &s->base->domains[i], domain)),
                  KV_INT("selfMatchNum", s->base->self_match[i]),
                  KV_INT("minMatchNum", lowest(&s->axes[i], c)), KV_INT("maxSkew", c->max_skew));
}

enum berth_code spread_filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct spread *self = ctx;
    const struct state *s = self->host->state_read(cycle, self->filter_key);
    if (!s)
        return unprepared(self, status);
    for (size_t i = 0; i < s->n; i++) {
        const struct spread_domains *d = &s->base->domains[i];
        uint32_t domain = topology_domain(d->topology, node->slot);
        if (domain && pods_in(&s->axes[i], d, domain) <= most(s, i))
            continue;
        if (engine_log_on(self->log, 5))
            log_refused(self, s, i, pod, node, domain);
        self->host->status_reason(status, domain ? self->mismatch : self->missing_label);
        return domain ? BERTH_UNSCHEDULABLE : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    return BERTH_SUCCESS;
}

/* Filters the feasible nodes by one constraint, with the verdicts of spread_filter. */
static void filter_axis(const struct spread *self, const struct state *s, size_t i,
                        const struct berth_pod *pod, struct berth_filter_batch *batch)
{
    const struct spread_domains *d = &s->base->domains[i];
    const struct axis *axis = &s->axes[i];
    int64_t limit = most(s, i);
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++) {
        uint64_t missing = 0, mismatch = 0;
        for (uint64_t bits = batch->feasible[w]; bits; bits &= bits - 1) {
            uint32_t slot = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);
            uint32_t domain = topology_domain(d->topology, slot);
            uint64_t bit = bits & -bits;
            missing |= domain ? 0 : bit;
            mismatch |= domain && pods_in(axis, d, domain) > limit ? bit : 0;
        }
        uint64_t logged = UNLIKELY(engine_log_on(self->log, 5)) ? missing | mismatch : 0;
        for (; logged; logged &= logged - 1) {
            uint32_t slot = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(logged);
            log_refused(self, s, i, pod, batch->columns->nodes[slot],
                        topology_domain(d->topology, slot));
        }
        if (missing)
            batch_refuse(batch, w, missing, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                         self->missing_label);
        if (mismatch)
            batch_refuse(batch, w, mismatch, BERTH_UNSCHEDULABLE, self->mismatch);
    }
}

enum berth_code spread_filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    const struct spread *self = ctx;
    const struct state *s = self->host->state_read(cycle, self->filter_key);
    if (!s)
        return unprepared(self, status);
    for (size_t i = 0; i < s->n; i++)
        filter_axis(self, s, i, pod, batch);
    return BERTH_SUCCESS;
}
