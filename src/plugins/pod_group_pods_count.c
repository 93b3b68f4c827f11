/* SPDX-License-Identifier: Apache-2.0 */
/* PodGroupPodsCount: prefers placements for more pods of the group. */
#include "engine/group/placements.h"
#include "engine/index/pod_groups.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* Members that have a node count on every placement. */
static enum berth_code score_placement(void *ctx, const struct berth_cycle *cycle,
                                       const struct berth_pod_group *group,
                                       const struct berth_placement *placement, int64_t *ret_score,
                                       struct berth_status *status)
{
    (void)ctx, (void)cycle, (void)status;
    size_t there = group->state ? pod_group_scheduled(group->state) : 0;
    *ret_score = (int64_t)(there + placement->n_pods);
    return BERTH_SUCCESS;
}

static enum berth_code normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod_group *group, int64_t *scores, size_t n,
                                 struct berth_status *status)
{
    const struct plain_plugin *self = ctx;
    (void)cycle, (void)group;
    int64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = MAX(most, scores[i]);
    if (most == 0) {
        self->host->status_text(status, abi_str(STR("no pods from pod group are assigned to any of "
                                                    "the candidate placements")));
        return BERTH_ERROR;
    }
    for (size_t i = 0; i < n; i++)
        scores[i] = scores[i] * MAX_NODE_SCORE / most;
    return BERTH_SUCCESS;
}

const struct berth_plugin pod_group_pods_count_plugin = {
    PLUGIN_HEAD("PodGroupPodsCount"),
    .create = plain_plugin_create,
    .destroy = free,
    .events = no_events,
    .score_placement = score_placement,
    .normalize_placements = normalize,
};
