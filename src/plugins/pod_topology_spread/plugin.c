/* SPDX-License-Identifier: Apache-2.0 */
/* PodTopologySpread: spreads matching pods over zones, hosts and other topology domains. */
#include "plugins/pod_topology_spread/spread.h"

#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"

#define MISMATCH "node(s) didn't match pod topology spread constraints"

/* Upstream: systemDefaultConstraints. */
static struct topology_spread_constraint system_defaults[] = {
    {
        .topology_key = STR_INIT(LABEL_HOSTNAME),
        .when_unsatisfiable = STR_INIT("ScheduleAnyway"),
        .max_skew = 3,
    },
    {
        .topology_key = STR_INIT(LABEL_TOPOLOGY_ZONE),
        .when_unsatisfiable = STR_INIT("ScheduleAnyway"),
        .max_skew = 5,
    },
};

static void destroy(void *ctx)
{
    struct spread *self = ctx;
    arena_release(&self->arena);
    buf_release(&self->key);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct spread *self = xnew(struct spread);
    struct spread_args args;
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&spread_args_kind, text, &self->arena, &args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->host = host;
    self->log = handle_log(h);
    self->cluster = handle_cluster(h);
    self->system_defaults = str_is(args.defaulting_type, "System");
    self->defaults = args.default_constraints;
    if (self->system_defaults) {
        self->defaults.v = system_defaults;
        self->defaults.n = ARRAY_LEN(system_defaults);
    }
    self->match_label_keys = handle_feature(h, FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD);
    self->comparison_operators = handle_feature(h, FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS);
    self->mismatch = host->reason(h, BERTH_STR(MISMATCH));
    self->missing_label = host->reason(h, BERTH_STR(MISMATCH " (missing required label)"));
    self->filter_key = host->state_key(h, BERTH_STR("PreFilterPodTopologySpread"));
    self->score_key = host->state_key(h, BERTH_STR("PreScorePodTopologySpread"));
    *ret_self = self;
    return 0;
}

const struct berth_plugin pod_topology_spread_plugin = {
    PLUGIN_HEAD("PodTopologySpread"),
    .create = create,
    .destroy = destroy,
    .events = spread_events,
    .pre_filter = spread_pre_filter,
    .add_pod = spread_add_pod,
    .remove_pod = spread_remove_pod,
    .filter = spread_filter,
    .filter_many = spread_filter_many,
    .pre_score = spread_pre_score,
    .score = spread_score,
    .score_many = spread_score_many,
    .normalize = spread_normalize,
};
