/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/binding.h"

#include "engine/cycle_timing.h"
#include "engine/internal.h"
#include "engine/reload.h"

/* No answer to what was asked before counts from now on. */
static void forget_answers(struct berth_op *op)
{
    struct engine *e = op->engine;
    for (size_t i = 0; op->ready && i < e->ready_ops.n; i++)
        if (e->ready_ops.v[i] == op)
            e->ready_ops.v[i] = NULL;
    if (op->newly_held)
        e->newly_held.v[op->newly_held - 1] = NULL;
    op->newly_held = 0;
    op->ready = op->answered = false;
    if (op->write_id)
        map_del(&e->ops_by_write, write_key(&op->write_id));
    op->write_id = 0;
}

static void free_op(struct berth_op *op)
{
    struct engine *e = op->engine;
    forget_answers(op);
    permit_release(op);
    map_del(&e->ops_by_pod, pod_info_key(op->pod));
    vec_swap_remove(&e->ops, op->index);
    if (op->index < e->ops.n)
        e->ops.v[op->index]->index = op->index;
    cycle_free(op->cycle);
    pod_info_unref(op->pod);
    vec_release(&op->waiting.waits);
    buf_release(&op->reason);
    free(op->preempted);
    free(op);
}

void binding_abandon(struct berth_op *op)
{
    queue_done(&op->engine->queue, op->queued);
    free_op(op);
}

struct berth_op *binding_of(const struct engine *e, struct str uid)
{
    return map_get(&e->ops_by_pod, uid);
}

static void activate_pods(struct berth_op *op)
{
    struct engine *e = op->engine;
    for (size_t i = 0; i < op->cycle->to_activate.n; i++) {
        struct berth_pod *pod = op->cycle->to_activate.v[i];
        queue_activate(&e->queue, pod_info_key(pod), engine_now(e));
        pod_info_unref(pod);
    }
    vec_clear(&op->cycle->to_activate);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void say_bound(const struct berth_op *op)
{
    const struct voice *voice = &op->engine->voice;
    const struct berth_queued_pod *queued = op->queued;
    say(voice, 2, "Successfully bound pod to node", KV_POD(op->pod), KV_STR("node", op->node_name),
        KV_INT("evaluatedNodes", op->cycle->n_slots + op->cycle->n_failed),
        KV_INT("feasibleNodes", op->cycle->n_slots));
    if (!queued->was_flushed || !voice_on(voice, 4))
        return;
    static const struct plugin_set none;
    struct buf rejectors = BUF_INIT, pending = BUF_INIT;
    queue_write_plugins(queued->profile, &queued->rejectors, &none, &rejectors);
    queue_write_plugins(queued->profile, &queued->pending, &none, &pending);
    say(voice, 4, "Pod scheduled after flush from unschedulablePods", KV_POD(op->pod),
        KV_JSON("unschedulablePlugins", buf_str(&rejectors)),
        KV_JSON("pendingPlugins", buf_str(&pending)));
    buf_release(&rejectors);
    buf_release(&pending);
}

/* Metrics: the point that ended last ended with the binding. */
static void count_bound(const struct berth_op *op)
{
    const struct berth_queued_pod *queued = op->queued;
    if (op->engine->metrics)
        scheduler_metrics_bound(op->engine->metrics, queued->attempts,
                                queued->first_attempt ? op->cycle->mark - queued->first_attempt
                                                      : -1,
                                queued->was_flushed);
}

static void run_post_bind(struct berth_op *op)
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

static void bound(struct berth_op *op)
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
    say_bound(op);
    count_bound(op);
    run_post_bind(op);
    activate_pods(op);
    /* Deleted while it was being bound, and the watch has said so: nobody will confirm it. */
    if (op->queued->deleted)
        cache_forget(&e->cache, pod_info_key(pod));
    queue_done(&e->queue, op->queued);
    free_op(op);
}

/* Gives the room back; waiting pods learn of it, the pod itself only where something broke. */
static void failed(struct berth_op *op, const struct cycle_failure *failure)
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
    free_op(op);
}

/* What a plugin said no with, or broke with, is in engine.status. */
static void say_refused(const struct berth_op *op, enum point point, const struct berth_handle *by,
                        enum berth_code code)
{
    static const char *const rejected[POINT_COUNT] = {
        [POINT_RESERVE] = "Pod rejected by plugin",
        [POINT_PERMIT] = "Pod rejected by plugin",
        [POINT_PRE_BIND] = "Pod rejected by PreBind plugin",
        [POINT_BIND] = "Pod rejected by Bind plugin",
    };
    const struct engine *e = op->engine;
    if (!voice_on(&e->voice, code_rejects(code) ? 4 : 0))
        return;
    struct buf text = BUF_INIT;
    status_write(&e->status, &e->reasons, &text);
    if (op->holds && code_rejects(code))
        say(&e->voice, 4, "Pod rejected while waiting on permit", KV_POD(op->pod),
            KV_STR("status", buf_str(&text)));
    else if (by && code_rejects(code))
        say(&e->voice, 4, rejected[point], KV_POD(op->pod), KV_CSTR("plugin", by->plugin->name),
            KV_STR("status", buf_str(&text)));
    else if (by)
        say_error(&e->voice, "Plugin failed", KV_STR("err", buf_str(&text)),
                  KV_CSTR("plugin", by->plugin->name), KV_POD(op->pod),
                  KV_STR("node", op->node_name));
    if (point == POINT_BIND)
        say(&e->voice, 1, "Failed to bind pod", KV_POD(op->pod));
    buf_release(&text);
}

/*
 * A plugin said no, or broke, with engine.status for its reasons: both end the binding, with
 * upstream's words. Permit is the last point at which a pod may be called unschedulable; who says
 * no after it is not asked when the pod may be tried again.
 */
static void failed_at(struct berth_op *op, enum point point, const struct berth_handle *by,
                      enum berth_code code)
{
    struct engine *e = op->engine;
    struct cycle_failure failure = {0};
    say_refused(op, point, by, code);
    if (code_rejects(code) && (point == POINT_PRE_BIND || point == POINT_BIND))
        status_write(&e->status, &e->reasons, &failure.text);
    else
        reserve_failure(&failure, op->cycle, point, by, code);
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* The answer that came by itself, as if it had been a plugin's status. */
static void take_reason(struct berth_op *op)
{
    struct berth_status *status = &op->engine->status;
    status_clear(status);
    if (op->reason.n)
        status_add_text(status, buf_str(&op->reason));
}

/* --- PreBind and Bind ------------------------------------------------------------------------- */

static enum berth_code call_plugin(struct berth_op *op, const struct berth_handle *h,
                                   struct berth_status *status)
{
    const struct berth_plugin *p = h->plugin;
    struct berth_str node = abi_str(op->node_name);
    return op->point == POINT_PRE_BIND ? p->pre_bind(h->self, op->cycle, op->pod, node, op, status)
                                       : p->bind(h->self, op->cycle, op->pod, node, op, status);
}

/* The next plugin to ask; NULL where the point, or all, is done. */
static const struct berth_handle *next_plugin(struct berth_op *op)
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

/* Something broke, as far as the pod is concerned: it is tried again after a backoff. */
static void failed_preempted(struct berth_op *op)
{
    struct cycle_failure failure = {0};
    cycle_failure_error(&failure, "%s", op->preempted);
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* What the plugin asked last said, reasons in engine.status. True: go on with the next one. */
static bool take_code(struct berth_op *op, const struct berth_handle *h, enum berth_code code)
{
    enum metric_point point = op->point == POINT_BIND ? METRIC_BIND : METRIC_PRE_BIND;
    forget_answers(op);
    plugin_end(op->cycle, h, point, code, op->plugin_began);
    if (op->preempted && code == BERTH_SUCCESS && op->point == POINT_PRE_BIND) {
        failed_preempted(op);
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
        failed_at(op, op->point, h, code);
    return false;
}

/* Waits for the outcome of what is about to be asked for; gives its id. */
static uint64_t expect_answer(struct berth_op *op)
{
    struct engine *e = op->engine;
    /* Only the last write of a plugin that writes twice is waited for. */
    if (op->write_id)
        map_del(&e->ops_by_write, write_key(&op->write_id));
    op->write_id = ++e->next_write_id;
    map_put(&e->ops_by_write, write_key(&op->write_id), op);
    return op->write_id;
}

/* Extenders that bind do so instead of the plugins. True: one has been asked. */
static bool ask_extender(struct berth_op *op)
{
    const struct setup *s = op->cycle->profile->setup;
    while (op->point == POINT_BIND && op->next_extender < s->extenders.n) {
        const struct engine_extender *x = &s->extenders.v[op->next_extender++];
        if (!x->spec.binds || !extender_is_interested(&x->spec, op->pod->pod))
            continue;
        struct extender_call call = {.id = expect_answer(op),
                                     .verb = EXTENDER_BIND,
                                     .pod = op->pod->object,
                                     .node_names = &op->node_name,
                                     .n_nodes = 1};
        op->at_extender = true;
        engine_call_extender(s, x, &call);
        return true;
    }
    return false;
}

/* What the extender said. True: go on with the next one. */
static bool take_extender(struct berth_op *op)
{
    const struct engine_extender *x =
        &op->cycle->profile->setup->extenders.v[op->next_extender - 1];
    op->at_extender = false;
    forget_answers(op);
    cycle_mark(op->cycle);
    if (op->code == BERTH_SUCCESS) {
        bound(op);
        return false;
    }
    if (x->spec.ignorable) {
        say(&op->engine->voice, 0,
            "Skipping extender in bind as it returned error and has ignorable flag set",
            KV_STR("extender", x->spec.name), KV_STR("err", buf_str(&op->reason)));
        return true;
    }
    struct cycle_failure failure = {0};
    cycle_failure_error(&failure, "%s", buf_cstr(&op->reason));
    failed(op, &failure);
    cycle_failure_release(&failure);
    return false;
}

static void failed_unbound(struct berth_op *op)
{
    struct cycle_failure failure = {0};
    cycle_timed(op->cycle, METRIC_BIND, BERTH_SKIP, true);
    cycle_failure_error(&failure, "every Bind plugin skipped the pod");
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* Asks plugin after plugin until one needs time or the binding has ended. */
static void advance(struct berth_op *op)
{
    struct engine *e = op->engine;
    const struct berth_handle *h;
    while ((h = next_plugin(op))) {
        if (ask_extender(op))
            return;
        status_clear(&e->status);
        op->plugin_began = plugin_begin(op->cycle);
        enum berth_code code = call_plugin(op, h, &e->status);
        if (code == BERTH_ASYNC)
            return; /* the answer puts it on the ready list */
        if (!take_code(op, h, code))
            return;
    }
    failed_unbound(op);
}

void binding_write(struct berth_op *op, const struct berth_pod *pod, struct str node_name)
{
    struct engine *e = op->engine;
    struct write write = {.kind = WRITE_BINDING,
                          .id = expect_answer(op),
                          .pod = pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .node_name = node_name};
    say_as(&e->voice, 3, "Bind.DefaultBinder", "Attempting to bind pod to node", KV_POD(pod),
           KV_REF("node", STR(""), node_name));
    e->ports.submit(e->ports.ctx, &write);
}

/* --- answers ---------------------------------------------------------------------------------- */

void binding_answer(struct berth_op *op, const struct berth_handle *by, enum berth_code code,
                    struct str reason)
{
    if (op->answered)
        return;
    permit_release(op);
    op->answered = true;
    op->code = code;
    op->answered_by = by;
    buf_clear(&op->reason);
    buf_add_str(&op->reason, reason);
    op->ready = true;
    vec_push(&op->engine->ready_ops, op);
}

void binding_extender_done(struct engine *e, uint64_t id, const struct extender_result *result)
{
    struct berth_op *op = map_get(&e->ops_by_write, write_key(&id));
    if (!op || !op->at_extender)
        return;
    map_del(&e->ops_by_write, write_key(&id));
    op->write_id = 0;
    binding_answer(op, NULL, str_empty(result->error) ? BERTH_SUCCESS : BERTH_ERROR, result->error);
}

/* Out of Permit, one way or the other. */
static void end_permit(struct berth_op *op)
{
    if (op->holds && op->engine->metrics) {
        int64_t began = op->cycle->mark;
        cycle_mark(op->cycle);
        scheduler_metrics_permit_wait(op->engine->metrics, op->code, op->cycle->mark - began);
    }
    if (op->preempted) {
        failed_preempted(op);
        return;
    }
    if (op->code != BERTH_SUCCESS) {
        take_reason(op);
        failed_at(op, POINT_PERMIT, op->answered_by, op->code);
        return;
    }
    op->holds = false;
    op->answered = false;
    queue_begin_binding(&op->engine->queue, op->queued);
    op->point = POINT_PRE_BIND;
    op->plugin = 0;
    advance(op);
}

static void go_on(struct berth_op *op)
{
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
    take_reason(op);
    if (take_code(op, op->cycle->profile->at[op->point].v[op->plugin], op->code))
        advance(op);
}

/* Others learn where the pod is going while it is not yet bound. */
static void tell_nomination(struct berth_op *op)
{
    struct engine *e = op->engine;
    struct write write = {.kind = WRITE_POD_STATUS,
                          .pod = op->queued->pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .sets_nomination = true,
                          .node_name = op->node_name};
    say(&e->voice, 3, "Updating pod condition and nominated node name", KV_POD(op->pod),
        KV_STR("nominatedNodeName", op->node_name), KV_INT("nominatingMode", 1));
    e->ports.submit(e->ports.ctx, &write);
}

/* Who was let go at once, as the last of a gang lets the others go, has nothing to tell. */
static void tell_held(struct engine *e)
{
    for (size_t i = 0; i < e->newly_held.n; i++) {
        struct berth_op *op = e->newly_held.v[i];
        if (op)
            op->newly_held = 0;
        if (op && op->holds)
            tell_nomination(op);
    }
    vec_clear(&e->newly_held);
}

void binding_run_ready(struct engine *e)
{
    /* What goes on may make others ready, and may end some that are: see free_op. */
    for (size_t i = 0; i < e->ready_ops.n; i++)
        if (e->ready_ops.v[i])
            go_on(e->ready_ops.v[i]);
    vec_clear(&e->ready_ops);
    tell_held(e);
    if (e->replaced)
        reload_reap(e);
}

/* --- before PreBind --------------------------------------------------------------------------- */

static void failed_pre_flight(struct berth_op *op, const struct berth_handle *h,
                              enum berth_code code)
{
    struct cycle_failure failure = {0};
    if (code == BERTH_ERROR)
        cycle_failure_status(&failure, op->cycle, &op->engine->status, code,
                             "running PreBindPreFlight \"%s\"", h->plugin->name);
    else
        cycle_failure_error(&failure, "PreBindPreFlight %s returned \"%s\", which is unsupported",
                            h->plugin->name, code_name(code));
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* Will any PreBind plugin have work to do? False: the binding has ended. */
static bool run_pre_flight(struct berth_op *op, bool *ret_work)
{
    struct engine *e = op->engine;
    const handle_list *list = &op->cycle->profile->at[POINT_PRE_BIND];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(&e->status);
        int64_t began = plugin_begin(op->cycle);
        /* Who cannot say will have. */
        enum berth_code code =
            h->plugin->pre_bind_preflight
                ? h->plugin->pre_bind_preflight(h->self, op->cycle, op->pod, abi_str(op->node_name),
                                                &e->status)
                : BERTH_SUCCESS;
        plugin_end(op->cycle, h, METRIC_PRE_BIND_PRE_FLIGHT, code, began);
        if (code == BERTH_SUCCESS) {
            *ret_work = true;
        } else if (code == BERTH_SKIP) {
            plugin_set_add(&op->skip_pre_bind, h->id);
        } else {
            cycle_timed(op->cycle, METRIC_PRE_BIND_PRE_FLIGHT, BERTH_ERROR, true);
            failed_pre_flight(op, h, code);
            return false;
        }
    }
    cycle_timed(op->cycle, METRIC_PRE_BIND_PRE_FLIGHT, *ret_work ? BERTH_SUCCESS : BERTH_SKIP,
                list->n > 0);
    return true;
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* True where Reserve and Permit agreed, be it with a wait; else the binding has ended. */
static bool reserve_and_permit(struct berth_op *op)
{
    const struct berth_handle *by = NULL;
    enum point point = POINT_RESERVE;
    enum berth_code code = reserve_run(op->cycle, op->pod, &by);
    if (code == BERTH_SUCCESS) {
        point = POINT_PERMIT;
        code = permit_run(op->cycle, op->pod, &op->waiting.waits, NULL, &by);
    }
    if (code == BERTH_SUCCESS || (code == BERTH_WAIT && point == POINT_PERMIT))
        return true;
    failed_at(op, point, by, code);
    return false;
}

static struct berth_op *new_op(struct engine *e, struct berth_queued_pod *queued,
                               struct berth_cycle *cycle, struct berth_node *node, int64_t started)
{
    struct berth_op *op = xnew(struct berth_op);
    *op = (struct berth_op){.engine = e,
                            .queued = queued,
                            .cycle = cycle,
                            .point = POINT_PERMIT,
                            .index = e->ops.n,
                            .started = started};
    op->waiting.op = op;
    vec_push(&e->ops, op);
    op->pod = pod_info_assume(queued->pod, str_of(node->name));
    op->node_name = op->pod->node_name;
    map_put(&e->ops_by_pod, pod_info_key(op->pod), op);
    return op;
}

void binding_start(struct engine *e, struct berth_queued_pod *queued, struct berth_cycle *cycle,
                   struct berth_node *node, int64_t started)
{
    struct berth_op *op = new_op(e, queued, cycle, node, started);
    bool work = false;
    cache_assume(&e->cache, op->pod);
    /* The room is taken for real: the promise has been kept. */
    nominator_remove(&e->queue.nominator, pod_info_key(op->pod));
    if (!reserve_and_permit(op))
        return;
    activate_pods(op);
    op->after_cycle = true;
    if (!run_pre_flight(op, &work))
        return;
    if (op->waiting.waits.n)
        permit_hold(op);
    if (work)
        tell_nomination(op);
    if (op->holds) {
        if (!work) {
            vec_push(&e->newly_held, op);
            op->newly_held = e->newly_held.n;
        }
        cycle_mark(op->cycle);
        say(&e->voice, 4, "Pod waiting on permit", KV_POD(op->pod));
        return;
    }
    op->code = BERTH_SUCCESS;
    end_permit(op);
}
