/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicResources: allocates and reserves the ResourceClaims of pods. */
#include "plugins/common/in_tree.h"
#include "plugins/dynamic_resources/args.h"
#include "plugins/dynamic_resources/dynamic_resources.h"

static void read_gates(struct dynamic_resources *self)
{
    const struct berth_handle *h = self->handle;
    self->gates = (struct dra_gates){
        .prioritized_list = handle_feature(h, FEATURE_DRA_PRIORITIZED_LIST),
        .binding_conditions = handle_feature(h, FEATURE_DRA_DEVICE_BINDING_CONDITIONS) &&
                              handle_feature(h, FEATURE_DRA_RESOURCE_CLAIM_DEVICE_STATUS),
        .of_groups = handle_feature(h, FEATURE_DRA_WORKLOAD_RESOURCE_CLAIMS),
        .node_allocatable = handle_feature(h, FEATURE_DRA_NODE_ALLOCATABLE_RESOURCES),
        .pod_level_resources = handle_feature(h, FEATURE_POD_LEVEL_RESOURCES),
    };
}

static void make_reasons(struct dynamic_resources *self)
{
    static const struct str texts[DRA_REASONS] = {
        [DRA_UNAVAILABLE] = STR_INIT("resourceclaim not available on the node"),
        [DRA_NO_DEVICES] = STR_INIT("cannot allocate all claims"),
        [DRA_STALE_EXTENDED_CLAIM] = STR_INIT("cannot schedule extended resource claim"),
        [DRA_CANNOT_FIT] = STR_INIT("cannot fit resource"),
        [DRA_INVALID_POOLS] = STR_INIT("invalid resource pools were encountered"),
    };
    for (size_t i = 0; i < DRA_REASONS; i++)
        self->reasons[i] = self->host->reason(self->handle, abi_str(texts[i]));
}

static void destroy(void *ctx)
{
    struct dynamic_resources *self = ctx;
    dra_drop_bindings(self);
    free(self);
}

/* Timeouts that a gate disables are absent. */
static int read_args(struct dynamic_resources *self, struct berth_str text,
                     struct berth_error *error)
{
    struct arena arena;
    struct dynamic_resources_args args;
    arena_init(&arena, 0);
    int r = plugin_args_read_gated(&dynamic_resources_args_kind, &self->handle->framework->features,
                                   text, &arena, &args, error);
    if (r == 0) {
        self->filter_timeout = args.filter_timeout ? *args.filter_timeout : 0;
        self->binding_timeout =
            args.binding_timeout ? *args.binding_timeout : BINDING_TIMEOUT_DEFAULT;
    }
    arena_release(&arena);
    return r;
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct dynamic_resources *self = xnew(struct dynamic_resources);
    self->host = host;
    self->handle = h;
    self->log = handle_log(h);
    int r = read_args(self, text, error);
    if (r < 0) {
        free(self);
        return r;
    }
    self->key = host->state_key(h, BERTH_STR("DynamicResources"));
    self->shared = dra_shared(host, h);
    self->classes = extended_classes_shared(host, h);
    read_gates(self);
    make_reasons(self);
    *ret_self = self;
    return 0;
}

static enum berth_code pre_enqueue(void *ctx, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    const struct dynamic_resources *self = ctx;
    if (!self->shared || !pod->pod->spec.resource_claims.n)
        return BERTH_SUCCESS;
    const struct pod_claim_rules rules = dra_rules(self);
    struct buf why = BUF_INIT;
    bool ok = pod_claims_each(&rules, pod->pod, NULL, NULL, &why);
    if (!ok)
        self->host->status_text(status, abi_str(buf_str(&why)));
    buf_release(&why);
    return ok ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code pre_bind_preflight(void *ctx, struct berth_cycle *cycle,
                                          const struct berth_pod *pod, struct berth_str node_name,
                                          struct berth_status *status)
{
    (void)pod, (void)node_name;
    const struct dynamic_resources *self = ctx;
    const struct claims_state *s = self->shared ? dra_state(self, cycle) : NULL;
    if (self->shared && !s) {
        self->host->status_text(status, BERTH_STR("not found"));
        return BERTH_ERROR;
    }
    return s && s->n ? BERTH_SUCCESS : BERTH_SKIP;
}

const struct berth_plugin dynamic_resources_plugin = {
    PLUGIN_HEAD("DynamicResources"),
    .flags = BERTH_PLUGIN_NONBLOCKING | BERTH_PLUGIN_PARALLEL_PRE_BIND,
    .create = create,
    .destroy = destroy,
    .events = dra_events,
    .pre_enqueue = pre_enqueue,
    .pre_filter = dra_pre_filter,
    .filter = dra_filter,
    .filter_many = dra_filter_many,
    .post_filter = dra_post_filter,
    .score = dra_score,
    .score_many = dra_score_many,
    .normalize = normalize_highest_best,
    .reserve = dra_reserve,
    .unreserve = dra_unreserve,
    .pre_bind_preflight = pre_bind_preflight,
    .pre_bind = dra_pre_bind,
    .pre_bind_cancel = dra_pre_bind_cancel,
};
