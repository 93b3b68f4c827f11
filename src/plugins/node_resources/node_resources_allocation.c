/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_resources_allocation.c - score plugins of releases up to 1.22, before the scoring strategies
 * of NodeResourcesFit: NodeResourcesLeastAllocated, NodeResourcesMostAllocated and
 * RequestedToCapacityRatio.
 *
 * They differ in their arguments and formula only. Configurations of these releases enable them at
 * the score point only.
 */
#include "engine/config/features.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_resources/resource_scorer.h"

struct allocation_plugin {
    const struct berth_host *host;
    struct arena arena; /* of the arguments */
    struct resource_scorer scorer;
};

static void destroy(void *ctx)
{
    struct allocation_plugin *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create_as(enum scoring_type type, const struct berth_host *host, struct berth_handle *h,
                     struct berth_str text, void **ret_self, struct berth_error *error)
{
    struct allocation_plugin *self = xnew(struct allocation_plugin);
    struct allocation_args args;
    self->host = host;
    arena_init(&self->arena, 0);
    int r = allocation_args_read(text, type, &self->arena, &args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    resource_scorer_init(&self->scorer, type, args.resources, args.shape,
                         handle_feature(h, FEATURE_BERTH_SANE_SCORES));
    *ret_self = self;
    return 0;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct allocation_plugin *self = ctx;
    struct score_terms *terms = score_terms_new(&self->scorer.resources, pod);
    *ret_score = resource_scorer_score(&self->scorer, terms, node);
    free(terms);
    return BERTH_SUCCESS;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct allocation_plugin *self = ctx;
    struct score_terms *terms = score_terms_new(&self->scorer.resources, pod);
    resource_scorer_score_many(&self->scorer, terms, batch);
    free(terms);
    return BERTH_SUCCESS;
}

/* --- plugins ---------------------------------------------------------------------------------- */

#define POINTS .destroy = destroy, .events = no_events, .score = score, .score_many = score_many

/* Prefers nodes with the most free resources. */
static int create_least(const struct berth_host *host, struct berth_handle *h,
                        struct berth_str args, void **ret_self, struct berth_error *error)
{
    return create_as(SCORING_LEAST_ALLOCATED, host, h, args, ret_self, error);
}

const struct berth_plugin node_resources_least_allocated_plugin = {
    PLUGIN_HEAD("NodeResourcesLeastAllocated"),
    .create = create_least,
    POINTS,
};

/* Prefers nodes with the least free resources. */
static int create_most(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                       void **ret_self, struct berth_error *error)
{
    return create_as(SCORING_MOST_ALLOCATED, host, h, args, ret_self, error);
}

const struct berth_plugin node_resources_most_allocated_plugin = {
    PLUGIN_HEAD("NodeResourcesMostAllocated"),
    .create = create_most,
    POINTS,
};

/* Scores utilization by a configured function. */
static int create_ratio(const struct berth_host *host, struct berth_handle *h,
                        struct berth_str args, void **ret_self, struct berth_error *error)
{
    return create_as(SCORING_REQUESTED_TO_CAPACITY_RATIO, host, h, args, ret_self, error);
}

const struct berth_plugin requested_to_capacity_ratio_plugin = {
    PLUGIN_HEAD("RequestedToCapacityRatio"),
    .create = create_ratio,
    POINTS,
};
