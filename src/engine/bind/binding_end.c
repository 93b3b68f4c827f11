/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding_end.h"

#include "engine/cycle/cycle_timing.h"
#include "engine/group/gang.h"

/* --- bound ------------------------------------------------------------------------------------ */

static void log_bound(const struct berth_binding_op *op)
{
    const struct engine_log *log = &op->engine->log;
    const struct berth_queued_pod *queued = op->queued;
    engine_log(log, 2, "Successfully bound pod to node", KV_POD(op->pod),
               KV_STR("node", op->node_name),
               KV_INT("evaluatedNodes", op->cycle->n_slots + op->cycle->n_failed),
               KV_INT("feasibleNodes", op->cycle->n_slots));
    if (!queued->was_flushed || !engine_log_on(log, 4))
        return;
    static const struct plugin_set none;
    struct buf rejectors = BUF_INIT, pending = BUF_INIT;
    queue_write_plugins(queued->profile, &queued->rejectors, &none, &rejectors);
    queue_write_plugins(queued->profile, &queued->pending, &none, &pending);
    engine_log(log, 4, "Pod scheduled after flush from unschedulablePods", KV_POD(op->pod),
               KV_JSON("unschedulablePlugins", buf_str(&rejectors)),
               KV_JSON("pendingPlugins", buf_str(&pending)));
    buf_release(&rejectors);
    buf_release(&pending);
}

/* Metrics: the point that ended last ended with the binding. */
static void count_bound(const struct berth_binding_op *op)
{
    const struct berth_queued_pod *queued = op->queued;
    if (op->engine->metrics)
        scheduler_metrics_bound(op->engine->metrics, queued->attempts,
                                queued->first_attempt ? op->cycle->mark - queued->first_attempt
                                                      : -1,
                                queued->was_flushed);
}

static void run_post_bind(struct berth_binding_op *op)
{
    const handle_list *list = &op->cycle->profile->at[POINT_POST_BIND];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        int64_t began = plugin_begin(op->cycle);
        h->plugin->post_bind(h->self, op->cycle, op->pod, abi_str(op->node_name));
        plugin_end(op->cycle, h, METRIC_POST_BIND, BERTH_SUCCESS, began);
    }
    cycle_timed(op->cycle, METRIC_POST_BIND, BERTH_SUCCESS, list->n > 0);
}

void binding_bound(struct berth_binding_op *op)
{
    struct engine *e = op->engine;
    const struct berth_pod *pod = op->pod;
    const struct object_meta *meta = &pod->pod->metadata;
    struct str note =
        arena_printf(&op->cycle->arena, "Successfully assigned %.*s/%.*s to %.*s",
                     STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(op->node_name));
    engine_submit_event(e, pod, op->cycle->profile, false, "Scheduled", "Binding", note);
    struct explain_result result = {op->queued, op->cycle, NULL, op->node_name, op->started};
    explain_add(&e->explain, &result);
    engine_tell_decision(e, op->queued, op->cycle, op->started, NULL, op->node_name);
    log_bound(op);
    count_bound(op);
    run_post_bind(op);
    binding_op_activate_pods(op);
    /* Deleted while it was being bound, and the watch has said so: nobody will confirm it. */
    if (op->queued->deleted)
        cache_forget(&e->cache, pod_info_key(pod));
    queue_done(&e->queue, op->queued);
    binding_op_free(op);
}

/* --- failed ----------------------------------------------------------------------------------- */

void binding_failed(struct berth_binding_op *op, const struct cycle_failure *failure)
{
    struct engine *e = op->engine;
    struct cluster_event event = {.resource = BERTH_RESOURCE_ASSIGNED_POD,
                                  .action = BERTH_ACTION_DELETE,
                                  .before = op->pod->object};
    reserve_undo(op->cycle, op->pod);
    /* What failed within the scheduling cycle itself was seen by nobody. */
    bool forgotten = cache_forget(&e->cache, pod_info_key(op->pod)) && op->after_cycle;
    if (forgotten && failure->error)
        queue_event(&e->queue, &event, engine_now(e));
    if (!failure->error)
        event.except = pod_info_key(op->pod);
    engine_attempt_failed(e, op->queued, failure, op->started, op->cycle);
    if (forgotten && !failure->error)
        queue_event(&e->queue, &event, engine_now(e));
    gang_lost_member(e, op->pod->pod);
    binding_op_free(op);
}

/* What a plugin said no with, or broke with, is in engine.status. */
static void log_refused(const struct berth_binding_op *op, enum point point,
                        const struct berth_handle *by, enum berth_code code)
{
    static const char *const rejected[POINT_COUNT] = {
        [POINT_RESERVE] = "Pod rejected by plugin",
        [POINT_PERMIT] = "Pod rejected by plugin",
        [POINT_PRE_BIND] = "Pod rejected by PreBind plugin",
        [POINT_BIND] = "Pod rejected by Bind plugin",
    };
    const struct engine *e = op->engine;
    if (!engine_log_on(&e->log, code_rejects(code) ? 4 : 0))
        return;
    struct buf text = BUF_INIT;
    status_write(&e->status, &e->reasons, &text);
    if (op->holds && code_rejects(code))
        engine_log(&e->log, 4, "Pod rejected while waiting on permit", KV_POD(op->pod),
                   KV_STR("status", buf_str(&text)));
    else if (by && code_rejects(code))
        engine_log(&e->log, 4, rejected[point], KV_POD(op->pod),
                   KV_CSTR("plugin", by->plugin->name), KV_STR("status", buf_str(&text)));
    else if (by)
        engine_log_error(&e->log, "Plugin failed", KV_STR("err", buf_str(&text)),
                         KV_CSTR("plugin", by->plugin->name), KV_POD(op->pod),
                         KV_STR("node", op->node_name));
    if (point == POINT_BIND)
        engine_log(&e->log, 1, "Failed to bind pod", KV_POD(op->pod));
    buf_release(&text);
}

void binding_failed_at(struct berth_binding_op *op, enum point point, const struct berth_handle *by,
                       enum berth_code code)
{
    struct engine *e = op->engine;
    struct cycle_failure failure = {0};
    log_refused(op, point, by, code);
    if (code_rejects(code) && (point == POINT_PRE_BIND || point == POINT_BIND))
        status_write(&e->status, &e->reasons, &failure.text);
    else
        reserve_failure(&failure, op->cycle, point, by, code);
    binding_failed(op, &failure);
    cycle_failure_release(&failure);
}
