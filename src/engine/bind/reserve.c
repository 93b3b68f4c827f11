/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/reserve.h"

#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/fit_error.h"
#include "engine/framework/call_mark.h"

enum berth_code reserve_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_status *status, const struct berth_handle **ret_plugin)
{
    const handle_list *list = &cycle->profile->at[POINT_RESERVE];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (!h->plugin->reserve)
            continue;
        status_clear(status);
        int64_t began = plugin_begin(cycle);
        struct call_mark outer = call_begin(h, "Reserve", pod);
        enum berth_code code =
            h->plugin->reserve(h->self, cycle, pod, abi_str(pod->node_name), status);
        call_end(outer);
        plugin_end(cycle, h, METRIC_RESERVE, code, began);
        if (code == BERTH_SUCCESS)
            continue;
        cycle_timed(cycle, METRIC_RESERVE, stage_code(code), true);
        *ret_plugin = h;
        return code;
    }
    cycle_timed(cycle, METRIC_RESERVE, BERTH_SUCCESS, list->n > 0);
    return BERTH_SUCCESS;
}

void reserve_undo(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    const handle_list *list = &cycle->profile->at[POINT_RESERVE];
    cycle_mark(cycle);
    for (size_t i = list->n; i-- > 0;) {
        const struct berth_handle *h = list->v[i];
        if (!h->plugin->unreserve)
            continue;
        int64_t began = plugin_begin(cycle);
        struct call_mark outer = call_begin(h, "Unreserve", pod);
        h->plugin->unreserve(h->self, cycle, pod, abi_str(pod->node_name));
        call_end(outer);
        plugin_end(cycle, h, METRIC_UNRESERVE, BERTH_SUCCESS, began);
    }
    cycle_timed(cycle, METRIC_UNRESERVE, BERTH_SUCCESS, list->n > 0);
}

static enum berth_code call_permit(struct berth_cycle *cycle, const struct berth_pod *pod,
                                   const struct berth_handle *h, int64_t *ret_timeout,
                                   struct berth_status *status)
{
    *ret_timeout = 0;
    status_clear(status);
    int64_t began = plugin_begin(cycle);
    struct call_mark outer = call_begin(h, "Permit", pod);
    enum berth_code code =
        h->plugin->permit(h->self, cycle, pod, abi_str(pod->node_name), ret_timeout, status);
    call_end(outer);
    plugin_end(cycle, h, METRIC_PERMIT, code, began);
    return code;
}

enum berth_code permit_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                           struct berth_status *status, permit_waits *waits, struct buf *message,
                           const struct berth_handle **ret_plugin)
{
    const struct framework *fw = cycle->framework;
    const handle_list *list = &cycle->profile->at[POINT_PERMIT];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        int64_t timeout;
        enum berth_code code = call_permit(cycle, pod, h, &timeout, status);
        if (code == BERTH_SUCCESS)
            continue;
        if (code != BERTH_WAIT) {
            cycle_timed(cycle, METRIC_PERMIT, stage_code(code), true);
            *ret_plugin = h;
            return code;
        }
        timeout = MAX((int64_t)0, MIN(timeout, PERMIT_MAX_WAIT));
        vec_push(waits, (struct permit_wait){h, timeout, framework_now(fw) + timeout});
        if (message) {
            buf_clear(message);
            status_write(status, &fw->reasons, message);
        }
    }
    cycle_timed(cycle, METRIC_PERMIT, waits->n ? BERTH_WAIT : BERTH_SUCCESS, list->n > 0);
    if (!waits->n)
        return BERTH_SUCCESS;
    engine_log(&fw->log, 4, "One or more plugins asked to wait and no plugin rejected pod",
               KV_POD(pod));
    return BERTH_WAIT;
}

void reserve_failure(struct cycle_failure *failure, struct framework *fw, enum point point,
                     const struct berth_handle *by, enum berth_code code,
                     const struct berth_status *status)
{
    if (!code_rejects(code)) {
        cycle_failure_status(failure, &fw->reasons, status, code, "running %s plugin \"%s\"",
                             point_table[point].name, by->plugin->name);
        return;
    }
    if (by)
        cycle_failure_blame(failure, by, code);
    fit_error_one_node(status, &fw->reasons, &failure->text);
}
