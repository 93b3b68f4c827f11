/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/reserve.h"

#include "engine/fit_error.h"
#include "engine/internal.h"

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
        enum berth_code code =
            h->plugin->reserve(h->self, cycle, pod, abi_str(pod->node_name), &e->status);
        if (code == BERTH_SUCCESS)
            continue;
        *ret_plugin = h;
        return code;
    }
    return BERTH_SUCCESS;
}

void reserve_undo(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    const handle_list *list = &cycle->profile->at[POINT_RESERVE];
    for (size_t i = list->n; i-- > 0;)
        if (list->v[i]->plugin->unreserve)
            list->v[i]->plugin->unreserve(list->v[i]->self, cycle, pod, abi_str(pod->node_name));
}

enum berth_code permit_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                           permit_waits *waits, struct buf *words,
                           const struct berth_handle **ret_plugin)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_PERMIT];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        int64_t timeout = 0;
        status_clear(&e->status);
        enum berth_code code =
            h->plugin->permit(h->self, cycle, pod, abi_str(pod->node_name), &timeout, &e->status);
        if (code == BERTH_SUCCESS)
            continue;
        if (code != BERTH_WAIT) {
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
    return waits->n ? BERTH_WAIT : BERTH_SUCCESS;
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
