/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_filters.c - the filters on one node as it is (upstream: RunFilterPlugins). With nominated
 * pods: cycle_filter_node in filter.c.
 */
#include "engine/cycle/cycle.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/framework/call_mark.h"

/* The filter at index i refused a node; n: none did. Any thread. */
static void count_stop(const struct berth_cycle *cycle, size_t i)
{
    if (cycle->framework->metrics)
        scheduler_metrics_stop(cycle->framework->metrics, i);
}

enum berth_code cycle_run_filters(const struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin)
{
    const handle_list *list = &cycle->profile->at[POINT_FILTER];
    enum berth_code code = BERTH_SUCCESS;
    struct call_mark outer = call_begin(NULL, "Filter", pod);
    size_t i = 0;
    for (; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (plugin_set_has(&cycle->skip_filter, h->id))
            continue;
        status_clear(status);
        call_next(h);
        code = h->plugin->filter(h->self, cycle, pod, node, status);
        if (code != BERTH_SUCCESS) {
            *ret_plugin = h;
            break;
        }
    }
    call_end(outer);
    count_stop(cycle, i);
    return code;
}

void cycle_count_filters(const struct berth_cycle *cycle)
{
    const handle_list *list = &cycle->profile->at[POINT_FILTER];
    struct scheduler_metrics *m = cycle->framework->metrics;
    if (!m || !scheduler_metrics_stopped(m))
        return;
    /* A filter ran on all nodes that no filter before it refused. */
    size_t asked = scheduler_metrics_take_stop(m, list->n);
    for (size_t i = list->n; i-- > 0;) {
        asked += scheduler_metrics_take_stop(m, i);
        if (!plugin_set_has(&cycle->skip_filter, list->v[i]->id))
            plugin_evaluated(cycle, list->v[i], EVALUATION_FILTER, asked);
    }
}

void cycle_filter_timed(struct berth_cycle *cycle, bool ok)
{
    if (cycle->profile->at[POINT_FILTER].n)
        cycle_timed(cycle, METRIC_FILTER, ok ? BERTH_SUCCESS : BERTH_ERROR, true);
}
