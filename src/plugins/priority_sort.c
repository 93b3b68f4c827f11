/* SPDX-License-Identifier: Apache-2.0 */
/* PrioritySort: by descending priority, then by ascending timestamp. */
#include "engine/queue/queued_pod.h"
#include "plugins/common/plugin_base.h"

static bool less(void *self, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    (void)self;
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    return a->timestamp < b->timestamp;
}

const struct berth_plugin priority_sort_plugin = {
    PLUGIN_HEAD("PrioritySort"),
    .events = no_events,
    .less = less,
};
