/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/reserve.h"

#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/fit_error.h"

enum berth_code reserve_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                            const struct berth_handle **ret_plugin)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_RESERVE];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (!h->plugin->reserve)
            continue;
        status_clear(&e->status);
        int64_t began = plugin_begin(cycle);
        enum berth_code code =
            h->plugin->reserve(h->self, cycle, pod, abi_str(pod->node_name), &e->status);
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
        h->plugin->unreserve(h->self, cycle, pod, abi_str(pod->node_name));
        plugin_end(cycle, h, METRIC_UNRESERVE, BERTH_SUCCESS, began);
    }
    cycle_timed(cycle, METRIC_UNRESERVE, BERTH_SUCCESS, list->n > 0);
}

/* Asks one plugin. */
static enum berth_code ask_permit(struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_handle *h, int64_t *ret_timeout)
{
    struct engine *e = cycle->engine;
    *ret_timeout = 0;
    status_clear(&e->status);
    int64_t began = plugin_begin(cycle);
    enum berth_code code =
        h->plugin->permit(h->self, cycle, pod, abi_str(pod->node_name), ret_timeout, &e->status);
    plugin_end(cycle, h, METRIC_PERMIT, code, began);
    return code;
}

enum berth_code permit_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                           permit_waits *waits, struct buf *words,
                           const struct berth_handle **ret_plugin)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_PERMIT];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        int64_t timeout;
        enum berth_code code = ask_permit(cycle, pod, h, &timeout);
        if (code == BERTH_SUCCESS)
            continue;
        if (code != BERTH_WAIT) {
            cycle_timed(cycle, METRIC_PERMIT, stage_code(code), true);
            *ret_plugin = h;
            return code;
        }
        timeout = MAX((int64_t)0, MIN(timeout, PERMIT_MAX_WAIT));
        vec_push(waits, (struct permit_wait){h, timeout, engine_now(e) + timeout});
        if (words) {
            buf_clear(words);
            status_write(&e->status, &e->reasons, words);
        }
    }
    cycle_timed(cycle, METRIC_PERMIT, waits->n ? BERTH_WAIT : BERTH_SUCCESS, list->n > 0);
    if (!waits->n)
        return BERTH_SUCCESS;
    engine_log(&e->log, 4, "One or more plugins asked to wait and no plugin rejected pod",
               KV_POD(pod));
    return BERTH_WAIT;
}

void reserve_failure(struct cycle_failure *failure, const struct berth_cycle *cycle,
                     enum point point, const struct berth_handle *by, enum berth_code code)
{
    struct engine *e = cycle->engine;
    if (!code_rejects(code)) {
        cycle_failure_status(failure, cycle, &e->status, code, "running %s plugin \"%s\"",
                             point_table[point].name, by->plugin->name);
        return;
    }
    if (by)
        cycle_failure_blame(failure, by, code);
    fit_error_one_node(&e->status, &e->reasons, &failure->text);
}
