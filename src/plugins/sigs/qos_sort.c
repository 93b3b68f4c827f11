/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QOSSort of sigs.k8s.io/scheduler-plugins: by descending priority, then Guaranteed before
 * Burstable before BestEffort, then by ascending timestamp.
 */
#include "api/pod_qos.h"
#include "engine/queue/queued_pod.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

static bool less(void *self, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    (void)self;
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    enum pod_qos mine = pod_qos_of(a->pod->pod), other = pod_qos_of(b->pod->pod);
    return mine != other ? mine > other : a->timestamp < b->timestamp;
}

const struct berth_plugin qos_sort_plugin = {
    PLUGIN_HEAD("QOSSort"),
    .events = no_events,
    .less = less,
};
