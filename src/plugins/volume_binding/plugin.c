/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VolumeBinding: nodes must reach the pod's bound volumes, and offer or be able to provision a
 * volume for each claim that waits for its first consumer. Reserve assumes these, PreBind writes
 * them and waits until they are bound.
 *
 * Upstream keeps what Filter finds on each node. Here only the verdict is found for all nodes;
 * Reserve and Score search once more on the nodes that are left.
 */
#include "engine/cycle/cycle.h"
#include "engine/metrics/scheduler_metrics.h"
#include "plugins/common/claims.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/volume_binding/args.h"
#include "plugins/volume_binding/claim_binding.h"
#include "plugins/volume_binding/hints.h"

#include <math.h>

#define MAX_UTILIZATION 100

struct volume_binding {
    struct hint_context hints; /* first: see hints.h */
    struct berth_handle *handle;
    struct volumes *volumes;
    berth_state_key state;
    berth_reason waits;                     /* an immediate claim is not bound */
    berth_reason reasons[CONFLICT_ALL + 1]; /* by set of enum volume_conflict */
    int64_t timeout_ns;
    struct arena arena; /* of the shape */
    bool scores;        /* StorageCapacityScoring */
    shape_list shape;
};

/* --- lifecycle -------------------------------------------------------------------------------- */

static void make_reasons(struct volume_binding *self, const struct berth_host *host,
                         struct berth_handle *h)
{
    berth_reason single[] = {
        host->reason(h, BERTH_STR("node(s) didn't match PersistentVolume's node affinity")),
        host->reason(h, BERTH_STR("node(s) didn't find available persistent volumes to bind")),
        host->reason(h, BERTH_STR("node(s) did not have enough free storage")),
        host->reason(h, BERTH_STR("node(s) unavailable due to one or more pvc(s) bound to "
                                  "non-existent pv(s)")),
    };
    for (unsigned set = 1; set <= CONFLICT_ALL; set++) {
        berth_reason list[ARRAY_LEN(single)];
        size_t n = 0;
        for (size_t i = 0; i < ARRAY_LEN(single); i++)
            if (set >> i & 1)
                list[n++] = single[i];
        self->reasons[set] = n == 1 ? list[0] : host->reason_list(h, list, n);
    }
    self->waits = host->reason(h, BERTH_STR("pod has unbound immediate PersistentVolumeClaims"));
}

static void destroy(void *ctx)
{
    struct volume_binding *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct volume_binding *self = xnew(struct volume_binding);
    struct volume_binding_args args;
    arena_init(&self->arena, 0);
    self->scores = handle_feature(h, FEATURE_STORAGE_CAPACITY_SCORING);
    if (volume_binding_args_read(text, self->scores, &self->arena, &args, error) < 0) {
        destroy(self);
        return -EINVAL;
    }
    self->hints = (struct hint_context){host, handle_log(h)};
    self->handle = h;
    self->volumes = host->shared(h, &volumes_type);
    self->state = host->state_key(h, BERTH_STR("VolumeBinding"));
    self->timeout_ns = go_mul(*args.bind_timeout_seconds, 1000000000);
    self->shape = args.shape;
    make_reasons(self, host, h);
    *ret_self = self;
    return 0;
}

static const struct berth_host *host_of(const struct volume_binding *self)
{
    return self->hints.host;
}

/* --- PreFilter -------------------------------------------------------------------------------- */

static enum berth_code give(const struct volume_binding *self, struct berth_status *status,
                            enum berth_code code, char *text)
{
    host_of(self)->status_text(status, abi_str(str_of(text)));
    free(text);
    return code;
}

static void free_state(void *state)
{
    pod_volumes_free(state);
}

static void keep(const struct volume_binding *self, struct berth_cycle *cycle,
                 struct pod_volumes *p)
{
    host_of(self)->state_write(cycle, self->state, p, NULL, free_state);
}

static struct pod_volumes *state_of(const struct volume_binding *self,
                                    const struct berth_cycle *cycle)
{
    return host_of(self)->state_read(cycle, self->state);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    struct volume_binding *self = ctx;
    char *fault;
    if (!pod_has_claims(self->volumes, pod, &fault)) {
        keep(self, cycle, xnew(struct pod_volumes));
        return BERTH_SKIP;
    }
    if (fault)
        return give(self, status, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, fault);
    volumes_update(self->volumes);
    struct pod_volumes *p = pod_volumes_new(self->volumes, cycle, pod);
    if (!p) {
        host_of(self)->status_reason(status, self->waits);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    keep(self, cycle, p);
    return BERTH_SUCCESS;
}

/* --- Filter ----------------------------------------------------------------------------------- */

static void count_error(const struct volume_binding *self, struct str stage)
{
    struct scheduler_metrics *m = handle_metrics(self->handle);
    if (m)
        scheduler_metrics_add(m, FAMILY_VOLUME_STAGE_ERRORS, &stage, 1);
}

/* The text of a state that a profile without PreFilter does not have. */
static enum berth_code not_prepared(const struct volume_binding *self, struct berth_status *status)
{
    host_of(self)->status_text(status, BERTH_STR("not found"));
    return BERTH_ERROR;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)pod;
    const struct volume_binding *self = ctx;
    const struct pod_volumes *p = state_of(self, cycle);
    struct str fault;
    if (!p)
        return not_prepared(self, status);
    int conflict = volumes_find(p, node, NULL, &fault);
    if (conflict == 0)
        return BERTH_SUCCESS;
    if (conflict < 0) {
        host_of(self)->status_text(status, abi_str(fault));
        return BERTH_ERROR;
    }
    for (size_t i = 0; i < 4; i++)
        if (conflict >> i & 1)
            host_of(self)->status_reason(status, self->reasons[1U << i]);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* The conflicts of one node of the sets. */
static unsigned conflict_at(const struct pod_volumes *p, size_t word, unsigned bit)
{
    unsigned conflict = 0;
    for (unsigned c = 1; c <= CONFLICT_LOST; c <<= 1)
        if (p->sets[c][word] >> bit & 1)
            conflict |= c;
    return conflict;
}

/* Asks the undecided nodes of a word one by one. */
static void decide(const struct volume_binding *self, const struct pod_volumes *p,
                   struct berth_filter_batch *batch, size_t word)
{
    struct str fault;
    for (uint64_t left = batch->feasible[word] & p->undecided[word]; left; left &= left - 1) {
        size_t slot = word * 64 + (size_t)__builtin_ctzll(left);
        int conflict = volumes_find(p, batch->columns->nodes[slot], NULL, &fault);
        INVARIANT(conflict >= 0); /* faults do not depend on volumes: the sets have them */
        if (conflict > 0)
            batch_refuse(batch, word, left & -left, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                         self->reasons[conflict]);
    }
}

static void refuse(const struct volume_binding *self, const struct pod_volumes *p,
                   struct berth_filter_batch *batch, size_t word)
{
    uint64_t bad = 0;
    for (unsigned c = 1; c <= CONFLICT_LOST; c <<= 1)
        bad |= p->sets[c][word];
    for (uint64_t left = batch->feasible[word] & bad; left; left &= left - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(left);
        batch_refuse(batch, word, left & -left, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                     self->reasons[conflict_at(p, word, bit)]);
    }
}

/* Faults may differ by node: the first node in the order of the attempt decides. */
static struct str first_fault(const struct berth_cycle *cycle, const struct pod_volumes *p,
                              const struct berth_filter_batch *batch)
{
    struct str fault;
    for (size_t i = 0; cycle->candidates && i < cycle->n_nodes; i++) {
        uint32_t slot = cycle_slot(cycle, i);
        if (batch->codes[slot] == BERTH_ERROR && (p->broken[slot / 64] >> (slot % 64) & 1) &&
            volumes_find(p, batch->columns->nodes[slot], NULL, &fault) < 0)
            return fault;
    }
    return p->fault;
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)pod;
    const struct volume_binding *self = ctx;
    struct pod_volumes *p = state_of(self, cycle);
    if (!p)
        return not_prepared(self, status);
    /* One attempt filters in several windows: the sets serve all of them. */
    if (p->n_slots != batch->columns->n)
        volumes_find_sets(p, (struct berth_cycle *)cycle, batch->columns->n);
    bool fails = false;
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++) {
        if (!batch->feasible[w])
            continue;
        fails |= (batch->feasible[w] & p->broken[w]) != 0;
        batch_refuse(batch, w, p->broken[w], BERTH_ERROR, 0);
        if (p->undecided)
            decide(self, p, batch, w);
        refuse(self, p, batch, w);
    }
    if (fails) {
        host_of(self)->status_text(status, abi_str(first_fault(cycle, p, batch)));
        count_error(self, STR("predicate"));
    }
    return BERTH_SUCCESS;
}

/* --- Score ------------------------------------------------------------------------------------ */

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)pod, (void)slots, (void)n;
    const struct volume_binding *self = ctx;
    if (!self->scores)
        return BERTH_SKIP;
    return state_of(self, cycle) ? BERTH_SUCCESS : not_prepared(self, status);
}

/* How much of a class is requested on a node. */
struct class_use {
    int64_t requested, capacity;
};

static struct class_use *use_of(struct map *classes, struct str class, struct arena *a)
{
    struct class_use *use = map_get(classes, class);
    if (use)
        return use;
    use = arena_new(a, struct class_use);
    map_put(classes, class, use);
    return use;
}

/* Either static volumes count, or the storage of those to be provisioned. */
static void add_uses(struct map *classes, const struct pod_volumes *p, const struct offers *offers,
                     struct arena *a)
{
    bool is_static = false;
    for (size_t i = 0; i < p->n_to_match; i++) {
        const struct pv *pv = offers->volumes[i];
        if (!pv)
            continue;
        struct class_use *use = use_of(classes, pv->body->spec.storage_class_name, a);
        use->requested = go_add(use->requested, quantity_value(p->to_match[i]->request));
        use->capacity = go_add(use->capacity, quantity_value(pv_capacity(pv->body)));
        is_static = true;
    }
    for (size_t i = 0; !is_static && i < offers->n_to_provision; i++) {
        const struct pod_claim *c = offers->to_provision[i];
        if (!offers->storage[i])
            continue;
        const struct quantity *capacity = offers->storage[i]->body->capacity;
        struct class_use *use = use_of(classes, c->class->metadata.name, a);
        use->capacity = capacity ? quantity_value(capacity) : 0;
        use->requested = go_add(use->requested, quantity_value(c->request));
    }
}

static int64_t score_of(const struct volume_binding *self, const struct class_use *use)
{
    int64_t utilization = use->capacity == 0 || use->requested > use->capacity
                              ? MAX_UTILIZATION
                              : go_div(go_mul(use->requested, MAX_UTILIZATION), use->capacity);
    return shape_at(&self->shape, (int32_t)MAX(MIN(utilization, MAX_UTILIZATION + 1), -1));
}

static int64_t score_uses(const struct volume_binding *self, const struct map *classes)
{
    int64_t sum = 0;
    if (classes->n == 0)
        return 0;
    map_each (e, classes)
        sum += score_of(self, e->value);
    return (int64_t)round((double)sum / (double)classes->n);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)pod;
    const struct volume_binding *self = ctx;
    const struct pod_volumes *p = state_of(self, cycle);
    struct str fault;
    *ret_score = 0;
    if (!self->scores)
        return BERTH_SUCCESS;
    if (!p)
        return not_prepared(self, status);
    if (p->unbound.n == 0)
        return BERTH_SUCCESS;
    struct arena scratch;
    struct offers offers;
    struct map classes = MAP_INIT;
    arena_init(&scratch, 0);
    offers_init(&offers, p, &scratch);
    if (volumes_find(p, node, &offers, &fault) == 0)
        add_uses(&classes, p, &offers, &scratch);
    *ret_score = score_uses(self, &classes);
    map_release(&classes);
    arena_release(&scratch);
    return BERTH_SUCCESS;
}

/* --- Reserve ---------------------------------------------------------------------------------- */

/* Filter accepted the node; since then, only an extender's answer may have been waited for. */
static enum berth_code assume(struct volume_binding *self, struct berth_cycle *cycle,
                              struct pod_volumes *p, const struct berth_node *node,
                              struct berth_status *status)
{
    struct binding_options options = {host_of(self), self->handle, self->timeout_ns};
    struct offers offers;
    struct str fault = STR("the node's volumes are not available any more");
    char *text;
    volumes_update(self->volumes);
    offers_init(&offers, p, &cycle->arena);
    if (volumes_find(p, node, &offers, &fault) != 0) {
        host_of(self)->status_text(status, abi_str(fault));
        count_error(self, STR("assume"));
        return BERTH_ERROR;
    }
    p->binding = claim_binding_assume(&options, p, &offers, str_of(node->name), &text);
    return p->binding ? BERTH_SUCCESS : give(self, status, BERTH_ERROR, text);
}

static enum berth_code reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    struct volume_binding *self = ctx;
    struct pod_volumes *p = state_of(self, cycle);
    const struct berth_node *node = cache_node(self->volumes->cluster->cache, str_abi(node_name));
    if (!p)
        return not_prepared(self, status);
    p->all_bound =
        !p->volumes || !node || !node->object || pod_volumes_are_bound(self->volumes, pod);
    return p->all_bound ? BERTH_SUCCESS : assume(self, cycle, p, node, status);
}

static void unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)pod;
    const struct volume_binding *self = ctx;
    const struct pod_volumes *p = state_of(self, cycle);
    if (p && p->binding && claim_binding_is_for(p->binding, str_abi(node_name)))
        claim_binding_revert(p->binding);
}

/* --- PreBind ---------------------------------------------------------------------------------- */

static enum berth_code pre_bind_preflight(void *ctx, struct berth_cycle *cycle,
                                          const struct berth_pod *pod, struct berth_str node_name,
                                          struct berth_status *status)
{
    (void)pod;
    const struct volume_binding *self = ctx;
    const struct pod_volumes *p = state_of(self, cycle);
    if (!p)
        return not_prepared(self, status);
    if (p->all_bound)
        return BERTH_SKIP;
    if (p->binding && claim_binding_is_for(p->binding, str_abi(node_name)))
        return BERTH_SUCCESS;
    status_printf(host_of(self), status, "no pod volume found for node \"%.*s\"",
                  STR_ARG(str_abi(node_name)));
    return BERTH_ERROR;
}

static enum berth_code pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    enum berth_code code = pre_bind_preflight(ctx, cycle, pod, node_name, status);
    if (code != BERTH_SUCCESS)
        return code == BERTH_SKIP ? BERTH_SUCCESS : code;
    const struct volume_binding *self = ctx;
    engine_log(self->hints.log, 5, "Trying to bind volumes for pod", KV_POD(pod));
    claim_binding_start(state_of(self, cycle)->binding, pod, op);
    return BERTH_ASYNC;
}

/* A preemptor takes the room, or another PreBind plugin has failed. */
static void pre_bind_cancel(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                            berth_op op)
{
    (void)pod;
    (void)op;
    const struct volume_binding *self = ctx;
    claim_binding_cancel(state_of(self, cycle)->binding);
}

const struct berth_plugin volume_binding_plugin = {
    PLUGIN_HEAD("VolumeBinding"),
    .flags = BERTH_PLUGIN_NONBLOCKING | BERTH_PLUGIN_PARALLEL_PRE_BIND,
    .create = create,
    .destroy = destroy,
    .events = volume_binding_events,
    .pre_filter = pre_filter,
    .filter = filter,
    .filter_many = filter_many,
    .pre_score = pre_score,
    .score = score,
    .reserve = reserve,
    .unreserve = unreserve,
    .pre_bind_preflight = pre_bind_preflight,
    .pre_bind = pre_bind,
    .pre_bind_cancel = pre_bind_cancel,
};
