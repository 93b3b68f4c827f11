/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding.h"

#include "api/scheduling.h"
#include "engine/bind/permit.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/framework/call_mark.h"

/* --- bound ------------------------------------------------------------------------------------ */

static void run_post_bind(struct binding_cycle *bc)
{
    const handle_list *list = &bc->cycle->profile->at[POINT_POST_BIND];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        int64_t began = plugin_begin(bc->cycle);
        struct call_mark outer = call_begin(h, "PostBind", bc->pod);
        h->plugin->post_bind(h->self, bc->cycle, bc->pod, abi_str(bc->node_name));
        call_end(outer);
        plugin_end(bc->cycle, h, METRIC_POST_BIND, BERTH_SUCCESS, began);
    }
    cycle_timed(bc->cycle, METRIC_POST_BIND, BERTH_SUCCESS, list->n > 0);
}

/* The API server has the binding: reports it and frees the bc. */
static void bound(struct binding_cycle *bc)
{
    struct bindings *b = bc->bindings;
    INVARIANT(!bc->holds && !bc->ready);
    report_bound(b->report, bc->queued, bc->pod, bc->cycle, bc->started);
    run_post_bind(bc);
    binding_cycle_activate_pods(bc);
    /* The pod was deleted meanwhile and the watch has said so: no event will confirm it. */
    if (bc->queued->deleted)
        cache_forget(b->framework->cache, pod_info_key(bc->pod));
    queue_done(b->queue, bc->queued);
    binding_cycle_free(bc);
}

/* --- failed ----------------------------------------------------------------------------------- */

/*
 * Undoes Reserve and assume, puts the pod back and frees the bc. Upstream treats the freed room as
 * the deletion of an assigned pod: after an error the pod itself is woken by that event as well, a
 * rejected pod is not (handleBindingCycleError).
 */
static void failed(struct binding_cycle *bc, const struct cycle_failure *failure)
{
    struct bindings *b = bc->bindings;
    struct framework *fw = b->framework;
    struct cluster_event event = {.resource = BERTH_RESOURCE_ASSIGNED_POD,
                                  .action = BERTH_ACTION_DELETE,
                                  .before = bc->pod->object};
    reserve_undo(bc->cycle, bc->pod);
    /* Within the scheduling cycle no other pod has seen it on its node. */
    bool forgotten = cache_forget(fw->cache, pod_info_key(bc->pod)) && bc->after_cycle;
    if (forgotten && failure->error)
        queue_event(b->queue, &event, framework_now(fw));
    if (!failure->error)
        event.except = pod_info_key(bc->pod);
    report_failed(b->report, bc->queued, failure, bc->started, bc->cycle);
    if (forgotten && !failure->error)
        queue_event(b->queue, &event, framework_now(fw));
    if (!str_empty(pod_group_of(bc->pod->pod)))
        vec_push(&b->lost, pod_info_ref(bc->pod));
    binding_cycle_free(bc);
}

static void failed_with(struct binding_cycle *bc, const char *text)
{
    struct cycle_failure failure = {0};
    cycle_failure_error(&failure, "%s", text);
    failed(bc, &failure);
    cycle_failure_release(&failure);
}

static void log_refused(const struct binding_cycle *bc, enum point point,
                        const struct berth_handle *by, enum berth_code code,
                        const struct berth_status *status)
{
    static const char *const rejected[POINT_COUNT] = {
        [POINT_RESERVE] = "Pod rejected by plugin",
        [POINT_PERMIT] = "Pod rejected by plugin",
        [POINT_PRE_BIND] = "Pod rejected by PreBind plugin",
        [POINT_BIND] = "Pod rejected by Bind plugin",
    };
    const struct framework *fw = bc->bindings->framework;
    if (!engine_log_on(&fw->log, code_rejects(code) ? 4 : 0))
        return;
    struct buf text = BUF_INIT;
    status_write(status, &fw->reasons, &text);
    if (bc->holds && code_rejects(code))
        engine_log(&fw->log, 4, "Pod rejected while waiting on permit", KV_POD(bc->pod),
                   KV_STR("status", buf_str(&text)));
    else if (by && code_rejects(code))
        engine_log(&fw->log, 4, rejected[point], KV_POD(bc->pod),
                   KV_CSTR("plugin", by->plugin->name), KV_STR("status", buf_str(&text)));
    else if (by)
        engine_log_error(&fw->log, "Plugin failed", KV_STR("err", buf_str(&text)),
                         KV_CSTR("plugin", by->plugin->name), KV_POD(bc->pod),
                         KV_STR("node", bc->node_name));
    if (point == POINT_BIND)
        engine_log(&fw->log, 1, "Failed to bind pod", KV_POD(bc->pod));
    buf_release(&text);
}

/*
 * A plugin rejected the pod, or failed. Permit is the last point that makes a pod unschedulable in
 * upstream's terms: a plugin that rejects it later is not among the rejectors, so its hints are not
 * asked when the pod may be tried again.
 */
static void failed_at(struct binding_cycle *bc, enum point point, const struct berth_handle *by,
                      enum berth_code code, const struct berth_status *status)
{
    struct framework *fw = bc->bindings->framework;
    struct cycle_failure failure = {0};
    log_refused(bc, point, by, code, status);
    if (code_rejects(code) && (point == POINT_PRE_BIND || point == POINT_BIND))
        status_write(status, &fw->reasons, &failure.text);
    else
        reserve_failure(&failure, fw, point, by, code, status);
    failed(bc, &failure);
    cycle_failure_release(&failure);
}

/* --- PreBind and Bind ------------------------------------------------------------------------- */

/* An answer that came later, as if it were a plugin's status. */
static const struct berth_status *status_of(const struct binding_call *op)
{
    struct berth_status *status = &op->binding->bindings->status;
    status_clear(status);
    if (op->reason.n)
        status_add_text(status, buf_str(&op->reason));
    return status;
}

static enum berth_code run_plugin(const struct binding_call *call, struct berth_status *status)
{
    const struct binding_cycle *bc = call->binding;
    const struct berth_handle *h = call->handle;
    const struct berth_plugin *p = h->plugin;
    struct berth_str node = abi_str(bc->node_name);
    struct call_mark outer = call_begin(h, point_table[bc->point].name, bc->pod);
    enum berth_code code = bc->point == POINT_PRE_BIND
                               ? p->pre_bind(h->self, bc->cycle, bc->pod, node, call->op, status)
                               : p->bind(h->self, bc->cycle, bc->pod, node, call->op, status);
    call_end(outer);
    return code;
}

/* The plugin's status becomes the answer, or the answer comes later and makes the binding ready. */
static void take_status(struct binding_call *call, enum berth_code code,
                        const struct berth_status *status)
{
    if (code == BERTH_ASYNC)
        return;
    call->answered = true;
    call->code = code;
    buf_clear(&call->reason);
    if (code != BERTH_SUCCESS)
        status_write(status, &call->binding->bindings->framework->reasons, &call->reason);
}

/* A plugin that may block, on a worker. */
struct bind_work {
    struct engine_work work;
    struct binding_call *call;
    struct berth_status status;
    enum berth_code code;
};

static void run_work(struct engine_work *work)
{
    struct bind_work *w = CONTAINER_OF(work, struct bind_work, work);
    w->code = run_plugin(w->call, &w->status);
}

/* It was to be cancelled while the worker had it. */
static void cancel_late(struct binding_call *call)
{
    const struct binding_cycle *bc = call->binding;
    struct call_mark outer = call_begin(call->handle, "PreBindCancel", bc->pod);
    call->handle->plugin->pre_bind_cancel(call->handle->self, bc->cycle, bc->pod, call->op);
    call_end(outer);
    binding_call_close(call);
}

static void work_done(struct engine_work *work, bool dropped)
{
    struct bind_work *w = CONTAINER_OF(work, struct bind_work, work);
    struct binding_call *call = w->call;
    call->running = false;
    if (!dropped) {
        take_status(call, w->code, &w->status);
        if (!call->answered && call->cancelled)
            cancel_late(call);
        if (call->answered || !call->binding->n_open)
            binding_make_ready(call->binding);
    }
    status_release(&w->status);
    free(w);
}

static void start_work(struct binding_call *call)
{
    const struct ports *ports = &call->binding->bindings->framework->ports;
    struct bind_work *w = xnew(struct bind_work);
    *w = (struct bind_work){.work = {.run = run_work, .done = work_done}, .call = call};
    status_init(&w->status);
    call->running = true;
    ports->work(ports->ctx, &w->work);
}

static bool may_block(const struct berth_handle *h)
{
    return !(h->plugin->flags & BERTH_PLUGIN_NONBLOCKING);
}

static void call_plugin(struct binding_call *call)
{
    struct binding_cycle *bc = call->binding;
    struct berth_status *status = &bc->bindings->status;
    call->began = plugin_begin(bc->cycle);
    if (may_block(call->handle) && bc->bindings->framework->ports.work) {
        start_work(call);
        return;
    }
    status_clear(status);
    enum berth_code code = run_plugin(call, status);
    take_status(call, code, status);
}

/* Upstream's first status of a group that is not Success; the other plugins are cancelled. */
static void keep_failure(struct binding_call *op)
{
    struct binding_cycle *bc = op->binding;
    if (bc->failed.handle)
        return;
    bc->failed = *op;
    bc->failed.reason = (struct buf)BUF_INIT;
    buf_add_str(&bc->failed.reason, buf_str(&op->reason));
    binding_calls_cancel(bc);
}

/* Takes the answers that have come. Returns whether all have. */
static bool take_answers(struct binding_cycle *bc)
{
    for (size_t i = 0; i < bc->n_calls; i++) {
        struct binding_call *op = binding_call(bc, i);
        if (!op->open || !binding_call_has_answer(op))
            continue;
        binding_call_close(op);
        plugin_end(bc->cycle, op->handle, METRIC_PRE_BIND, op->code, op->began);
        if (op->code != BERTH_SUCCESS)
            keep_failure(op);
    }
    return !bc->n_open;
}

/*
 * Returns whether the plugins of this group have agreed, and the next may run. Otherwise the
 * binding waits for them, or has ended.
 */
static bool end_group(struct binding_cycle *bc)
{
    const struct binding_call *failure = &bc->failed;
    if (bc->ready || !take_answers(bc))
        return false;
    if (failure->handle) {
        cycle_timed(bc->cycle, METRIC_PRE_BIND, stage_code(failure->code), true);
        failed_at(bc, POINT_PRE_BIND, failure->handle, failure->code, status_of(failure));
    } else if (bc->preempted) {
        failed_with(bc, bc->preempted);
    } else {
        return true;
    }
    return false;
}

static bool may_run_beside_others(const struct berth_handle *h)
{
    return (h->plugin->flags & BERTH_PLUGIN_PARALLEL_PRE_BIND) && !may_block(h);
}

/*
 * Opens the calls of the next PreBind plugins: those in a row that may run at the same time, or one
 * (upstream: getPreBindPluginGroups). Returns false if every plugin has run.
 */
static bool open_group(struct binding_cycle *bc)
{
    const handle_list *list = &bc->cycle->profile->at[POINT_PRE_BIND];
    struct berth_handle *group[FRAMEWORK_MAX_PLUGINS];
    size_t n = 0;
    for (; bc->plugin < list->n; bc->plugin++) {
        struct berth_handle *h = list->v[bc->plugin];
        if (n && !(may_run_beside_others(group[0]) && may_run_beside_others(h)))
            break;
        if (!plugin_set_has(&bc->skip_pre_bind, h->id))
            group[n++] = h;
    }
    if (n)
        binding_calls_open(bc, group, n);
    return n > 0;
}

/* Runs group after group. Returns whether PreBind is over and the pod may be bound. */
static bool run_pre_bind(struct binding_cycle *bc)
{
    while (open_group(bc)) {
        for (size_t i = 0; i < bc->n_calls; i++)
            call_plugin(binding_call(bc, i));
        if (!end_group(bc))
            return false;
    }
    cycle_timed(bc->cycle, METRIC_PRE_BIND, BERTH_SUCCESS,
                bc->cycle->profile->at[POINT_PRE_BIND].n > 0);
    bc->point = POINT_BIND;
    bc->plugin = 0;
    return true;
}

/* An extender that binds does so instead of the plugins. Returns whether one was called. */
static bool call_extender(struct binding_cycle *bc)
{
    const struct setup *s = bc->cycle->profile->setup;
    while (bc->next_extender < s->extenders.n) {
        const struct engine_extender *x = &s->extenders.v[bc->next_extender++];
        if (!x->spec.binds || !extender_is_interested(&x->spec, bc->pod->pod))
            continue;
        binding_calls_open(bc, NULL, 1);
        struct extender_call call = {.id = binding_op_expect_answer(&bc->first),
                                     .verb = EXTENDER_BIND,
                                     .pod = bc->pod->object,
                                     .node_names = &bc->node_name,
                                     .n_nodes = 1};
        bc->at_extender = true;
        setup_call_extender(s, x, &call);
        return true;
    }
    return false;
}

/* Takes the extender's answer. Returns true if the next extender or plugin follows. */
static bool take_extender(struct binding_cycle *bc)
{
    const struct engine_extender *x =
        &bc->cycle->profile->setup->extenders.v[bc->next_extender - 1];
    const struct binding_call *op = &bc->first;
    bc->at_extender = false;
    binding_call_close(&bc->first);
    cycle_mark(bc->cycle);
    if (op->code == BERTH_SUCCESS) {
        bound(bc);
        return false;
    }
    if (x->spec.ignorable) {
        engine_log(&bc->bindings->framework->log, 0,
                   "Skipping extender in bind as it returned error and has ignorable flag set",
                   KV_STR("extender", x->spec.name), KV_STR("err", buf_str(&op->reason)));
        return true;
    }
    failed_with(bc, buf_cstr(&bc->first.reason));
    return false;
}

/* Returns whether the Bind plugin skipped the pod. Otherwise the binding waits, or has ended. */
static bool end_bind(struct binding_cycle *bc)
{
    struct binding_call *op = &bc->first;
    if (bc->ready || !binding_call_has_answer(op))
        return false;
    binding_call_close(op);
    plugin_end(bc->cycle, op->handle, METRIC_BIND, op->code, op->began);
    if (op->code == BERTH_SKIP) {
        bc->plugin++;
        return true;
    }
    cycle_timed(bc->cycle, METRIC_BIND, stage_code(op->code), true);
    if (op->code == BERTH_SUCCESS)
        bound(bc);
    else
        failed_at(bc, POINT_BIND, op->handle, op->code, status_of(op));
    return false;
}

/* Asks extender after extender, then plugin after plugin. */
static void run_bind(struct binding_cycle *bc)
{
    const handle_list *list = &bc->cycle->profile->at[POINT_BIND];
    if (call_extender(bc))
        return;
    while (bc->plugin < list->n) {
        binding_calls_open(bc, &list->v[bc->plugin], 1);
        call_plugin(&bc->first);
        if (!end_bind(bc))
            return;
    }
    cycle_timed(bc->cycle, METRIC_BIND, BERTH_SKIP, true);
    failed_with(bc, "every Bind plugin skipped the pod");
}

void bindings_write(struct bindings *b, const struct berth_handle *by, berth_op op,
                    struct str node_name)
{
    const struct framework *fw = b->framework;
    struct binding_call *call = map_get(&b->by_op, map_number_key(&op));
    if (!call) {
        engine_log_error(&fw->log, "write_binding was called for an operation that has ended",
                         KV_CSTR("plugin", by->plugin->name));
        return;
    }
    const struct binding_cycle *bc = call->binding;
    struct write write = {.kind = WRITE_BINDING,
                          .id = binding_op_expect_answer(call),
                          .object = bc->pod->object,
                          .scheduler_name = bc->cycle->profile->scheduler_name,
                          .node_name = node_name};
    engine_log_as(&fw->log, 3, "Bind.DefaultBinder", "Attempting to bind pod to node",
                  KV_POD(bc->pod), KV_REF("node", STR(""), write.node_name));
    framework_submit(fw, &write);
}

/* --- answers ---------------------------------------------------------------------------------- */

bool bindings_write_done(struct bindings *b, uint64_t id, const struct write_result *result)
{
    struct binding_call *op = map_del(&b->by_write, map_number_key(&id));
    if (!op)
        return false;
    op->write_id = 0;
    binding_op_answer(op, NULL, write_ok(result) ? BERTH_SUCCESS : BERTH_ERROR, result->message);
    return true;
}

void bindings_extender_done(struct bindings *b, uint64_t id, const struct extender_result *result)
{
    struct binding_call *op = map_get(&b->by_write, map_number_key(&id));
    if (!op || !op->binding->at_extender)
        return;
    map_del(&b->by_write, map_number_key(&id));
    op->write_id = 0;
    binding_op_answer(op, NULL, str_empty(result->error) ? BERTH_SUCCESS : BERTH_ERROR,
                      result->error);
}

/* Permit is over: allowed, rejected, timed out or preempted. */
static void end_permit(struct binding_cycle *bc, const struct binding_call *answer)
{
    struct bindings *b = bc->bindings;
    if (bc->holds && b->framework->metrics) {
        int64_t began = bc->cycle->mark;
        cycle_mark(bc->cycle);
        scheduler_metrics_permit_wait(b->framework->metrics, answer->code, bc->cycle->mark - began);
    }
    if (bc->preempted) {
        failed_with(bc, bc->preempted);
        return;
    }
    if (answer->code != BERTH_SUCCESS) {
        failed_at(bc, POINT_PERMIT, answer->answered_by, answer->code, status_of(answer));
        return;
    }
    bc->holds = false;
    queue_begin_binding(b->queue, bc->queued);
    bc->point = POINT_PRE_BIND;
    bc->plugin = 0;
    if (run_pre_bind(bc))
        run_bind(bc);
}

static void run_answered(struct binding_cycle *bc)
{
    INVARIANT(bc->ready && !heap_contains(&bc->held));
    bc->ready = false;
    if (bc->point == POINT_PERMIT) {
        binding_call_close(&bc->first);
        end_permit(bc, &bc->first);
    } else if (bc->point == POINT_PRE_BIND) {
        if (end_group(bc) && run_pre_bind(bc))
            run_bind(bc);
    } else if (bc->at_extender ? take_extender(bc) : end_bind(bc)) {
        run_bind(bc);
    }
}

/* NominatedNodeName for a pod that waits before its binding (upstream:
 * NominatedNodeNameForExpectation). */
static void submit_nomination(struct binding_cycle *bc)
{
    const struct framework *fw = bc->bindings->framework;
    struct write write = {.kind = WRITE_POD_STATUS,
                          .object = bc->queued->pod->object,
                          .scheduler_name = bc->cycle->profile->scheduler_name,
                          .sets_nomination = true,
                          .node_name = bc->node_name};
    engine_log(&fw->log, 3, "Updating pod condition and nominated node name", KV_POD(bc->pod),
               KV_STR("nominatedNodeName", bc->node_name), KV_INT("nominatingMode", 1));
    framework_submit(fw, &write);
}

/* A pod that was allowed at once, as the last of a gang allows the others, needs no write. */
static void nominate_held(struct bindings *b)
{
    for (size_t i = 0; i < b->newly_held.n; i++) {
        struct binding_cycle *bc = b->newly_held.v[i];
        if (bc)
            bc->newly_held = 0;
        if (bc && bc->holds)
            submit_nomination(bc);
    }
    vec_clear(&b->newly_held);
}

/* Whether each binding is held, ready, or waits for an answer: one of the three. */
static UNUSED bool cycles_agree(const struct bindings *b)
{
    size_t held = 0;
    for (size_t i = 0; i < b->cycles.n; i++) {
        const struct binding_cycle *bc = b->cycles.v[i];
        bool is_held = heap_contains(&bc->held);
        if (bc->index != i || bc->ready || is_held != (bc->holds && !bc->first.answered))
            return false;
        held += is_held;
    }
    return held == b->held.items.n && b->by_pod.n == b->cycles.n;
}

void bindings_run_ready(struct bindings *b)
{
    /* A binding may make others ready, and may end some that are. */
    for (size_t i = 0; i < b->ready.n; i++)
        if (b->ready.v[i])
            run_answered(b->ready.v[i]);
    vec_clear(&b->ready);
    INVARIANT(cycles_agree(b));
    nominate_held(b);
}

/* --- the start -------------------------------------------------------------------------------- */

static void failed_pre_flight(struct binding_cycle *bc, const struct berth_handle *h,
                              enum berth_code code, const struct berth_status *status)
{
    struct cycle_failure failure = {0};
    if (code == BERTH_ERROR)
        cycle_failure_status(&failure, &bc->bindings->framework->reasons, status, code,
                             "running PreBindPreFlight \"%s\"", h->plugin->name);
    else
        cycle_failure_error(&failure, "PreBindPreFlight %s returned \"%s\", which is unsupported",
                            h->plugin->name, code_name(code));
    failed(bc, &failure);
    cycle_failure_release(&failure);
}

/* *ret_work: a PreBind plugin will have work. Returns false if the binding has ended. */
static bool run_pre_flight(struct binding_cycle *bc, bool *ret_work)
{
    struct berth_status *status = &bc->bindings->status;
    const handle_list *list = &bc->cycle->profile->at[POINT_PRE_BIND];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(status);
        int64_t began = plugin_begin(bc->cycle);
        struct call_mark outer = call_begin(h, "PreBindPreFlight", bc->pod);
        /* A plugin without the function is assumed to have work. */
        enum berth_code code = h->plugin->pre_bind_preflight
                                   ? h->plugin->pre_bind_preflight(h->self, bc->cycle, bc->pod,
                                                                   abi_str(bc->node_name), status)
                                   : BERTH_SUCCESS;
        call_end(outer);
        plugin_end(bc->cycle, h, METRIC_PRE_BIND_PRE_FLIGHT, code, began);
        if (code == BERTH_SUCCESS) {
            *ret_work = true;
        } else if (code == BERTH_SKIP) {
            plugin_set_add(&bc->skip_pre_bind, h->id);
        } else {
            cycle_timed(bc->cycle, METRIC_PRE_BIND_PRE_FLIGHT, BERTH_ERROR, true);
            failed_pre_flight(bc, h, code, status);
            return false;
        }
    }
    cycle_timed(bc->cycle, METRIC_PRE_BIND_PRE_FLIGHT, *ret_work ? BERTH_SUCCESS : BERTH_SKIP,
                list->n > 0);
    return true;
}

/* Returns true if Reserve and Permit agreed, or Permit waits; otherwise the binding has ended. */
static bool reserve_and_permit(struct binding_cycle *bc)
{
    struct berth_status *status = &bc->bindings->status;
    const struct berth_handle *by = NULL;
    enum point point = POINT_RESERVE;
    enum berth_code code = reserve_run(bc->cycle, bc->pod, status, &by);
    if (code == BERTH_SUCCESS) {
        point = POINT_PERMIT;
        code = permit_run(bc->cycle, bc->pod, status, &bc->waiting.waits, NULL, &by);
    }
    if (code == BERTH_SUCCESS || (code == BERTH_WAIT && point == POINT_PERMIT))
        return true;
    failed_at(bc, point, by, code, status);
    return false;
}

void binding_start(struct bindings *b, struct berth_queued_pod *queued, struct berth_cycle *cycle,
                   struct berth_node *node, int64_t started)
{
    struct binding_cycle *bc = binding_cycle_new(b, queued, cycle, node, started);
    bool work = false;
    cycle_claim(cycle, bc->pod);
    cache_assume(b->framework->cache, bc->pod);
    /* The assumed pod takes the room now: its nomination must not count it again. */
    nominator_remove(&b->queue->nominator, pod_info_key(bc->pod));
    if (!reserve_and_permit(bc))
        return;
    binding_cycle_activate_pods(bc);
    bc->after_cycle = true;
    if (!run_pre_flight(bc, &work))
        return;
    if (bc->waiting.waits.n)
        permit_hold(bc);
    if (work)
        submit_nomination(bc);
    if (bc->holds) {
        if (!work) {
            vec_push(&b->newly_held, bc);
            bc->newly_held = b->newly_held.n;
        }
        cycle_mark(bc->cycle);
        engine_log(&b->framework->log, 4, "Pod waiting on permit", KV_POD(bc->pod));
        return;
    }
    end_permit(bc, &(struct binding_call){.code = BERTH_SUCCESS});
}
