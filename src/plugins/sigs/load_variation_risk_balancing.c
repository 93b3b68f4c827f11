/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LoadVariationRiskBalancing of sigs.k8s.io/scheduler-plugins: prefers nodes whose measured load is
 * low and varies little. The risk of a resource is the mean of its average and of its standard
 * deviation, the latter to the power 1/sensitivity and times the margin.
 */
#include <math.h>

#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/load_source.h"
#include "plugins/sigs/load_stats.h"

/* --- arguments -------------------------------------------------------------------------------- */

struct variation_args {
    struct args_meta meta;
    struct load_spec spec;
    double *safe_variance_margin, *safe_variance_sensitivity;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct variation_args),
    LOAD_SPEC_FIELDS(struct variation_args),
    F_PTR(struct variation_args, safe_variance_margin, "safeVarianceMargin", 0, DOUBLE),
    F_PTR(struct variation_args, safe_variance_sensitivity, "safeVarianceSensitivity", 0, DOUBLE),
};
static const struct type args_type =
    TYPE("LoadVariationRiskBalancingArgs", struct variation_args, args_fields);

static double *or_one(double *value, struct arena *a)
{
    if (value && *value >= 0)
        return value;
    double *one = arena_new(a, double);
    *one = 1;
    return one;
}

static void fill(void *ctx, struct arena *a)
{
    struct variation_args *args = ctx;
    load_spec_fill(&args->spec, a);
    args->safe_variance_margin = or_one(args->safe_variance_margin, a);
    args->safe_variance_sensitivity = or_one(args->safe_variance_sensitivity, a);
}

static void check(const void *ctx, struct error_list *c)
{
    const struct variation_args *args = ctx;
    load_spec_check(&args->spec, c);
}

const struct args_kind load_variation_risk_balancing_args_kind = {
    .plugin = "LoadVariationRiskBalancing",
    .name = "LoadVariationRiskBalancingArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct variation {
    struct load_source *source;
    double margin, sensitivity;
};

static void destroy(void *ctx)
{
    struct variation *self = ctx;
    load_source_close(self->source);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct variation_args args;
    struct arena a;
    arena_init(&a, 0);
    int r = plugin_args_read(&load_variation_risk_balancing_args_kind, text, &a, &args, error);
    if (r == 0) {
        struct variation *self = xnew(struct variation);
        self->margin = *args.safe_variance_margin;
        self->sensitivity = *args.safe_variance_sensitivity;
        self->source = load_source_open(host, h, &args.spec);
        *ret_self = self;
    }
    arena_release(&a);
    return r;
}

/* 0 … 100; 0 for a node without the resource. */
static double score_resource(const struct variation *self, const struct load_stats *stats)
{
    if (stats->capacity <= 0)
        return 0;
    struct load_moments m = load_moments_of(stats);
    double sigma = pow(m.sigma, 1 / self->sensitivity) * self->margin;
    sigma = fmax(fmin(sigma, 1), 0);
    return (1 - (m.mu + sigma) / 2) * MAX_NODE_SCORE;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct variation *self = ctx;
    const struct node_load *load = load_source_node(self->source, str_of(node->name));
    *ret_score = 0;
    if (!load || !load->any)
        return BERTH_SUCCESS;
    struct amounts requests = pod_amounts_requests(pod->pod);
    double scores[LOAD_RESOURCES] = {0};
    for (int k = 0; k < LOAD_RESOURCES; k++) {
        struct load_stats stats;
        if (load_stats_of(load, node->node, requests.v[k], (enum load_resource)k, &stats)) {
            /* More than the node has is all of it. */
            stats.used = fmin(stats.used, stats.capacity);
            scores[k] = score_resource(self, &stats);
        }
    }
    bool both = load->usage[LOAD_CPU].found && load->usage[LOAD_MEMORY].found;
    double total = both ? fmin(scores[LOAD_CPU], scores[LOAD_MEMORY])
                        : fmax(scores[LOAD_CPU], scores[LOAD_MEMORY]);
    *ret_score = go_int64(round(total));
    return BERTH_SUCCESS;
}

const struct berth_plugin load_variation_risk_balancing_plugin = {
    PLUGIN_HEAD("LoadVariationRiskBalancing"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .score = score,
};
