/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding.h"

#include "api/scheduling.h"
#include "engine/bind/permit.h"
#include "engine/cycle/cycle_timing.h"

/* --- bound ------------------------------------------------------------------------------------ */

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

/* The API server has the binding: reports it and frees the op. */
static void bound(struct berth_binding_op *op)
{
    struct bindings *b = op->bindings;
    INVARIANT(!op->holds && !op->ready);
    report_bound(b->report, op->queued, op->pod, op->cycle, op->started);
    run_post_bind(op);
    binding_op_activate_pods(op);
    /* The pod was deleted meanwhile and the watch has said so: no event will confirm it. */
    if (op->queued->deleted)
        cache_forget(b->framework->cache, pod_info_key(op->pod));
    queue_done(b->queue, op->queued);
    binding_op_free(op);
}

/* --- failed ----------------------------------------------------------------------------------- */

/*
 * Undoes Reserve and assume, puts the pod back and frees the op. Upstream treats the freed room as
 * the deletion of an assigned pod: after an error the pod itself is woken by that event as well, a
 * rejected pod is not (handleBindingCycleError).
 */
static void failed(struct berth_binding_op *op, const struct cycle_failure *failure)
{
    struct bindings *b = op->bindings;
    struct framework *fw = b->framework;
    struct cluster_event event = {.resource = BERTH_RESOURCE_ASSIGNED_POD,
                                  .action = BERTH_ACTION_DELETE,
                                  .before = op->pod->object};
    reserve_undo(op->cycle, op->pod);
    /* Within the scheduling cycle no other pod has seen it on its node. */
    bool forgotten = cache_forget(fw->cache, pod_info_key(op->pod)) && op->after_cycle;
    if (forgotten && failure->error)
        queue_event(b->queue, &event, framework_now(fw));
    if (!failure->error)
        event.except = pod_info_key(op->pod);
    report_failed(b->report, op->queued, failure, op->started, op->cycle);
    if (forgotten && !failure->error)
        queue_event(b->queue, &event, framework_now(fw));
    if (!str_empty(pod_group_of(op->pod->pod)))
        vec_push(&b->lost, pod_info_ref(op->pod));
    binding_op_free(op);
}

static void failed_with(struct berth_binding_op *op, const char *text)
{
    struct cycle_failure failure = {0};
    cycle_failure_error(&failure, "%s", text);
    failed(op, &failure);
    cycle_failure_release(&failure);
}

static void log_refused(const struct berth_binding_op *op, enum point point,
                        const struct berth_handle *by, enum berth_code code,
                        const struct berth_status *status)
{
    static const char *const rejected[POINT_COUNT] = {
        [POINT_RESERVE] = "Pod rejected by plugin",
        [POINT_PERMIT] = "Pod rejected by plugin",
        [POINT_PRE_BIND] = "Pod rejected by PreBind plugin",
        [POINT_BIND] = "Pod rejected by Bind plugin",
    };
    const struct framework *fw = op->bindings->framework;
    if (!engine_log_on(&fw->log, code_rejects(code) ? 4 : 0))
        return;
    struct buf text = BUF_INIT;
    status_write(status, &fw->reasons, &text);
    if (op->holds && code_rejects(code))
        engine_log(&fw->log, 4, "Pod rejected while waiting on permit", KV_POD(op->pod),
                   KV_STR("status", buf_str(&text)));
    else if (by && code_rejects(code))
        engine_log(&fw->log, 4, rejected[point], KV_POD(op->pod),
                   KV_CSTR("plugin", by->plugin->name), KV_STR("status", buf_str(&text)));
    else if (by)
        engine_log_error(&fw->log, "Plugin failed", KV_STR("err", buf_str(&text)),
                         KV_CSTR("plugin", by->plugin->name), KV_POD(op->pod),
                         KV_STR("node", op->node_name));
    if (point == POINT_BIND)
        engine_log(&fw->log, 1, "Failed to bind pod", KV_POD(op->pod));
    buf_release(&text);
}

/*
 * A plugin rejected the pod, or failed. Permit is the last point that makes a pod unschedulable in
 * upstream's terms: a plugin that rejects it later is not among the rejectors, so its hints are not
 * asked when the pod may be tried again.
 */
static void failed_at(struct berth_binding_op *op, enum point point, const struct berth_handle *by,
                      enum berth_code code, const struct berth_status *status)
{
    struct framework *fw = op->bindings->framework;
    struct cycle_failure failure = {0};
    log_refused(op, point, by, code, status);
    if (code_rejects(code) && (point == POINT_PRE_BIND || point == POINT_BIND))
        status_write(status, &fw->reasons, &failure.text);
    else
        reserve_failure(&failure, fw, point, by, code, status);
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* --- PreBind and Bind ------------------------------------------------------------------------- */

static enum berth_code call_plugin(struct berth_binding_op *op, const struct berth_handle *h,
                                   struct berth_status *status)
{
    const struct berth_plugin *p = h->plugin;
    struct berth_str node = abi_str(op->node_name);
    return op->point == POINT_PRE_BIND ? p->pre_bind(h->self, op->cycle, op->pod, node, op, status)
                                       : p->bind(h->self, op->cycle, op->pod, node, op, status);
}

/* The next plugin to run, moving from PreBind to Bind; NULL if every Bind plugin has run. */
static const struct berth_handle *next_plugin(struct berth_binding_op *op)
{
    const struct profile *p = op->cycle->profile;
    const handle_list *pre_bind = &p->at[POINT_PRE_BIND];
    while (op->point == POINT_PRE_BIND && op->plugin < pre_bind->n &&
           plugin_set_has(&op->skip_pre_bind, pre_bind->v[op->plugin]->id))
        op->plugin++;
    if (op->point == POINT_PRE_BIND && op->plugin >= pre_bind->n) {
        cycle_timed(op->cycle, METRIC_PRE_BIND, BERTH_SUCCESS, pre_bind->n > 0);
        op->point = POINT_BIND;
        op->plugin = 0;
    }
    return op->plugin < p->at[op->point].n ? p->at[op->point].v[op->plugin] : NULL;
}

/* Takes the verdict of a plugin. Returns true if the next plugin runs; otherwise op has ended. */
static bool take_code(struct berth_binding_op *op, const struct berth_handle *h,
                      enum berth_code code, const struct berth_status *status)
{
    enum metric_point point = op->point == POINT_BIND ? METRIC_BIND : METRIC_PRE_BIND;
    binding_op_forget_answers(op);
    plugin_end(op->cycle, h, point, code, op->plugin_began);
    if (op->preempted && code == BERTH_SUCCESS && op->point == POINT_PRE_BIND) {
        failed_with(op, op->preempted);
        return false;
    }
    if (code == (op->point == POINT_BIND ? BERTH_SKIP : BERTH_SUCCESS)) {
        op->plugin++;
        return true;
    }
    cycle_timed(op->cycle, point, stage_code(code), true);
    if (code == BERTH_SUCCESS)
        bound(op);
    else
        failed_at(op, op->point, h, code, status);
    return false;
}

/* An extender that binds does so instead of the plugins. Returns whether one was called. */
static bool call_extender(struct berth_binding_op *op)
{
    const struct setup *s = op->cycle->profile->setup;
    while (op->point == POINT_BIND && op->next_extender < s->extenders.n) {
        const struct engine_extender *x = &s->extenders.v[op->next_extender++];
        if (!x->spec.binds || !extender_is_interested(&x->spec, op->pod->pod))
            continue;
        struct extender_call call = {.id = binding_op_expect_answer(op),
                                     .verb = EXTENDER_BIND,
                                     .pod = op->pod->object,
                                     .node_names = &op->node_name,
                                     .n_nodes = 1};
        op->at_extender = true;
        setup_call_extender(s, x, &call);
        return true;
    }
    return false;
}

/* Takes the extender's answer. Returns true if the next extender or plugin follows. */
static bool take_extender(struct berth_binding_op *op)
{
    const struct engine_extender *x =
        &op->cycle->profile->setup->extenders.v[op->next_extender - 1];
    op->at_extender = false;
    binding_op_forget_answers(op);
    cycle_mark(op->cycle);
    if (op->code == BERTH_SUCCESS) {
        bound(op);
        return false;
    }
    if (x->spec.ignorable) {
        engine_log(&op->bindings->framework->log, 0,
                   "Skipping extender in bind as it returned error and has ignorable flag set",
                   KV_STR("extender", x->spec.name), KV_STR("err", buf_str(&op->reason)));
        return true;
    }
    failed_with(op, buf_cstr(&op->reason));
    return false;
}

/* Runs plugin after plugin until one needs time or the binding has ended. */
static void advance(struct berth_binding_op *op)
{
    struct berth_status *status = &op->bindings->status;
    const struct berth_handle *h;
    while ((h = next_plugin(op))) {
        if (call_extender(op))
            return;
        status_clear(status);
        op->plugin_began = plugin_begin(op->cycle);
        enum berth_code code = call_plugin(op, h, status);
        if (code == BERTH_ASYNC)
            return; /* its answer makes the op ready */
        if (!take_code(op, h, code, status))
            return;
    }
    cycle_timed(op->cycle, METRIC_BIND, BERTH_SKIP, true);
    failed_with(op, "every Bind plugin skipped the pod");
}

void binding_write(struct berth_handle *h, const struct berth_pod *pod, struct berth_str node_name,
                   struct berth_binding_op *op)
{
    const struct framework *fw = h->framework;
    struct write write = {.kind = WRITE_BINDING,
                          .id = binding_op_expect_answer(op),
                          .object = pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .node_name = str_abi(node_name)};
    engine_log_as(&fw->log, 3, "Bind.DefaultBinder", "Attempting to bind pod to node", KV_POD(pod),
                  KV_REF("node", STR(""), write.node_name));
    framework_submit(fw, &write);
}

/* --- answers ---------------------------------------------------------------------------------- */

bool bindings_write_done(struct bindings *b, uint64_t id, const struct write_result *result)
{
    struct berth_binding_op *op = map_del(&b->by_write, write_key(&id));
    if (!op)
        return false;
    op->write_id = 0;
    binding_op_answer(op, NULL, write_ok(result) ? BERTH_SUCCESS : BERTH_ERROR, result->message);
    return true;
}

void bindings_extender_done(struct bindings *b, uint64_t id, const struct extender_result *result)
{
    struct berth_binding_op *op = map_get(&b->by_write, write_key(&id));
    if (!op || !op->at_extender)
        return;
    map_del(&b->by_write, write_key(&id));
    op->write_id = 0;
    binding_op_answer(op, NULL, str_empty(result->error) ? BERTH_SUCCESS : BERTH_ERROR,
                      result->error);
}

/* An answer that came later, as if it were a plugin's status. */
static const struct berth_status *status_of(const struct berth_binding_op *op)
{
    struct berth_status *status = &op->bindings->status;
    status_clear(status);
    if (op->reason.n)
        status_add_text(status, buf_str(&op->reason));
    return status;
}

/* Permit is over: allowed, rejected, timed out or preempted. */
static void end_permit(struct berth_binding_op *op)
{
    struct bindings *b = op->bindings;
    if (op->holds && b->framework->metrics) {
        int64_t began = op->cycle->mark;
        cycle_mark(op->cycle);
        scheduler_metrics_permit_wait(b->framework->metrics, op->code, op->cycle->mark - began);
    }
    if (op->preempted) {
        failed_with(op, op->preempted);
        return;
    }
    if (op->code != BERTH_SUCCESS) {
        failed_at(op, POINT_PERMIT, op->answered_by, op->code, status_of(op));
        return;
    }
    op->holds = false;
    op->answered = false;
    queue_begin_binding(b->queue, op->queued);
    op->point = POINT_PRE_BIND;
    op->plugin = 0;
    advance(op);
}

static void run_answered(struct berth_binding_op *op)
{
    INVARIANT(op->answered && op->ready && !heap_contains(&op->held));
    op->ready = false;
    if (op->point == POINT_PERMIT) {
        end_permit(op);
        return;
    }
    if (op->at_extender) {
        if (take_extender(op))
            advance(op);
        return;
    }
    const struct berth_handle *h = op->cycle->profile->at[op->point].v[op->plugin];
    if (take_code(op, h, op->code, status_of(op)))
        advance(op);
}

/* NominatedNodeName for a pod that waits before its binding (upstream:
 * NominatedNodeNameForExpectation). */
static void submit_nomination(struct berth_binding_op *op)
{
    const struct framework *fw = op->bindings->framework;
    struct write write = {.kind = WRITE_POD_STATUS,
                          .object = op->queued->pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .sets_nomination = true,
                          .node_name = op->node_name};
    engine_log(&fw->log, 3, "Updating pod condition and nominated node name", KV_POD(op->pod),
               KV_STR("nominatedNodeName", op->node_name), KV_INT("nominatingMode", 1));
    framework_submit(fw, &write);
}

/* A pod that was allowed at once, as the last of a gang allows the others, needs no write. */
static void nominate_held(struct bindings *b)
{
    for (size_t i = 0; i < b->newly_held.n; i++) {
        struct berth_binding_op *op = b->newly_held.v[i];
        if (op)
            op->newly_held = 0;
        if (op && op->holds)
            submit_nomination(op);
    }
    vec_clear(&b->newly_held);
}

/* Whether each op is held, ready, or waits for an answer: one of the three. */
static UNUSED bool ops_agree(const struct bindings *b)
{
    size_t held = 0;
    for (size_t i = 0; i < b->ops.n; i++) {
        const struct berth_binding_op *op = b->ops.v[i];
        bool is_held = heap_contains(&op->held);
        if (op->index != i || op->ready || is_held != (op->holds && !op->answered))
            return false;
        held += is_held;
    }
    return held == b->held.items.n && b->by_pod.n == b->ops.n;
}

void bindings_run_ready(struct bindings *b)
{
    /* An op may make others ready, and may end some that are: see binding_op_forget_answers. */
    for (size_t i = 0; i < b->ready.n; i++)
        if (b->ready.v[i])
            run_answered(b->ready.v[i]);
    vec_clear(&b->ready);
    INVARIANT(ops_agree(b));
    nominate_held(b);
}

/* --- the start -------------------------------------------------------------------------------- */

static void failed_pre_flight(struct berth_binding_op *op, const struct berth_handle *h,
                              enum berth_code code, const struct berth_status *status)
{
    struct cycle_failure failure = {0};
    if (code == BERTH_ERROR)
        cycle_failure_status(&failure, &op->bindings->framework->reasons, status, code,
                             "running PreBindPreFlight \"%s\"", h->plugin->name);
    else
        cycle_failure_error(&failure, "PreBindPreFlight %s returned \"%s\", which is unsupported",
                            h->plugin->name, code_name(code));
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* *ret_work: a PreBind plugin will have work. Returns false if the binding has ended. */
static bool run_pre_flight(struct berth_binding_op *op, bool *ret_work)
{
    struct berth_status *status = &op->bindings->status;
    const handle_list *list = &op->cycle->profile->at[POINT_PRE_BIND];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(status);
        int64_t began = plugin_begin(op->cycle);
        /* A plugin without the function is assumed to have work. */
        enum berth_code code = h->plugin->pre_bind_preflight
                                   ? h->plugin->pre_bind_preflight(h->self, op->cycle, op->pod,
                                                                   abi_str(op->node_name), status)
                                   : BERTH_SUCCESS;
        plugin_end(op->cycle, h, METRIC_PRE_BIND_PRE_FLIGHT, code, began);
        if (code == BERTH_SUCCESS) {
            *ret_work = true;
        } else if (code == BERTH_SKIP) {
            plugin_set_add(&op->skip_pre_bind, h->id);
        } else {
            cycle_timed(op->cycle, METRIC_PRE_BIND_PRE_FLIGHT, BERTH_ERROR, true);
            failed_pre_flight(op, h, code, status);
            return false;
        }
    }
    cycle_timed(op->cycle, METRIC_PRE_BIND_PRE_FLIGHT, *ret_work ? BERTH_SUCCESS : BERTH_SKIP,
                list->n > 0);
    return true;
}

/* Returns true if Reserve and Permit agreed, or Permit waits; otherwise the binding has ended. */
static bool reserve_and_permit(struct berth_binding_op *op)
{
    struct berth_status *status = &op->bindings->status;
    const struct berth_handle *by = NULL;
    enum point point = POINT_RESERVE;
    enum berth_code code = reserve_run(op->cycle, op->pod, status, &by);
    if (code == BERTH_SUCCESS) {
        point = POINT_PERMIT;
        code = permit_run(op->cycle, op->pod, status, &op->waiting.waits, NULL, &by);
    }
    if (code == BERTH_SUCCESS || (code == BERTH_WAIT && point == POINT_PERMIT))
        return true;
    failed_at(op, point, by, code, status);
    return false;
}

void binding_start(struct bindings *b, struct berth_queued_pod *queued, struct berth_cycle *cycle,
                   struct berth_node *node, int64_t started)
{
    struct berth_binding_op *op = binding_op_new(b, queued, cycle, node, started);
    bool work = false;
    cache_assume(b->framework->cache, op->pod);
    /* The assumed pod takes the room now: its nomination must not count it again. */
    nominator_remove(&b->queue->nominator, pod_info_key(op->pod));
    if (!reserve_and_permit(op))
        return;
    binding_op_activate_pods(op);
    op->after_cycle = true;
    if (!run_pre_flight(op, &work))
        return;
    if (op->waiting.waits.n)
        permit_hold(op);
    if (work)
        submit_nomination(op);
    if (op->holds) {
        if (!work) {
            vec_push(&b->newly_held, op);
            op->newly_held = b->newly_held.n;
        }
        cycle_mark(op->cycle);
        engine_log(&b->framework->log, 4, "Pod waiting on permit", KV_POD(op->pod));
        return;
    }
    op->code = BERTH_SUCCESS;
    end_permit(op);
}
