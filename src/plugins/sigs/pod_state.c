/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PodState of sigs.k8s.io/scheduler-plugins: prefers nodes with pods that are terminating, and
 * avoids nodes that are nominated for other pods.
 */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/score_range.h"

static void count_pod(void *ctx, const struct berth_pod *pod)
{
    (void)pod;
    (*(int64_t *)ctx)++;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)pod, (void)status;
    const struct plain_plugin *self = ctx;
    int64_t terminating = 0, nominated = 0;
    struct berth_str name = {node->name, strlen(node->name)};
    self->host->nominated_pods(self->handle, name, count_pod, &nominated);
    for (size_t i = 0; i < node->pods.n; i++)
        terminating += node->pods.v[i]->pod->metadata.deletion_timestamp.set;
    *ret_score = terminating - nominated;
    return BERTH_SUCCESS;
}

const struct berth_plugin pod_state_plugin = {
    PLUGIN_HEAD("PodState"), .create = plain_plugin_create, .destroy = free, .events = no_events,
    .score = score,          .normalize = normalize_range,
};
