/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding.h"

#include "engine/bind/binding_end.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/internal.h"
#include "engine/reload.h"

/* --- PreBind and Bind ------------------------------------------------------------------------- */

static enum berth_code call_plugin(struct berth_binding_op *op, const struct berth_handle *h,
                                   struct berth_status *status)
{
    const struct berth_plugin *p = h->plugin;
    struct berth_str node = abi_str(op->node_name);
    return op->point == POINT_PRE_BIND ? p->pre_bind(h->self, op->cycle, op->pod, node, op, status)
                                       : p->bind(h->self, op->cycle, op->pod, node, op, status);
}

/* The next plugin to ask; NULL where the point, or all, is done. */
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

/* Something broke, as far as the pod is concerned: it is tried again after a backoff. */
static void failed_preempted(struct berth_binding_op *op)
{
    struct cycle_failure failure = {0};
    cycle_failure_error(&failure, "%s", op->preempted);
    binding_failed(op, &failure);
    cycle_failure_release(&failure);
}

/* What the plugin asked last said, reasons in engine.status. True: go on with the next one. */
static bool take_code(struct berth_binding_op *op, const struct berth_handle *h,
                      enum berth_code code)
{
    enum metric_point point = op->point == POINT_BIND ? METRIC_BIND : METRIC_PRE_BIND;
    binding_op_forget_answers(op);
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
        binding_bound(op);
    else
        binding_failed_at(op, op->point, h, code);
    return false;
}

/* Extenders that bind do so instead of the plugins. True: one has been asked. */
static bool ask_extender(struct berth_binding_op *op)
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
        engine_call_extender(s, x, &call);
        return true;
    }
    return false;
}

/* What the extender said. True: go on with the next one. */
static bool take_extender(struct berth_binding_op *op)
{
    const struct engine_extender *x =
        &op->cycle->profile->setup->extenders.v[op->next_extender - 1];
    op->at_extender = false;
    binding_op_forget_answers(op);
    cycle_mark(op->cycle);
    if (op->code == BERTH_SUCCESS) {
        binding_bound(op);
        return false;
    }
    if (x->spec.ignorable) {
        engine_log(&op->engine->log, 0,
                   "Skipping extender in bind as it returned error and has ignorable flag set",
                   KV_STR("extender", x->spec.name), KV_STR("err", buf_str(&op->reason)));
        return true;
    }
    struct cycle_failure failure = {0};
    cycle_failure_error(&failure, "%s", buf_cstr(&op->reason));
    binding_failed(op, &failure);
    cycle_failure_release(&failure);
    return false;
}

static void failed_unbound(struct berth_binding_op *op)
{
    struct cycle_failure failure = {0};
    cycle_timed(op->cycle, METRIC_BIND, BERTH_SKIP, true);
    cycle_failure_error(&failure, "every Bind plugin skipped the pod");
    binding_failed(op, &failure);
    cycle_failure_release(&failure);
}

/* Asks plugin after plugin until one needs time or the binding has ended. */
static void advance(struct berth_binding_op *op)
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

void binding_write(struct berth_binding_op *op, const struct berth_pod *pod, struct str node_name)
{
    struct engine *e = op->engine;
    struct write write = {.kind = WRITE_BINDING,
                          .id = binding_op_expect_answer(op),
                          .object = pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .node_name = node_name};
    engine_log_as(&e->log, 3, "Bind.DefaultBinder", "Attempting to bind pod to node", KV_POD(pod),
                  KV_REF("node", STR(""), node_name));
    e->ports.submit(e->ports.ctx, &write);
}

/* --- answers ---------------------------------------------------------------------------------- */

void binding_extender_done(struct engine *e, uint64_t id, const struct extender_result *result)
{
    struct berth_binding_op *op = map_get(&e->ops_by_write, write_key(&id));
    if (!op || !op->at_extender)
        return;
    map_del(&e->ops_by_write, write_key(&id));
    op->write_id = 0;
    binding_op_answer(op, NULL, str_empty(result->error) ? BERTH_SUCCESS : BERTH_ERROR,
                      result->error);
}

/* The answer that came by itself, as if it had been a plugin's status. */
static void take_reason(struct berth_binding_op *op)
{
    struct berth_status *status = &op->engine->status;
    status_clear(status);
    if (op->reason.n)
        status_add_text(status, buf_str(&op->reason));
}

/* Out of Permit, one way or the other. */
static void end_permit(struct berth_binding_op *op)
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
        binding_failed_at(op, POINT_PERMIT, op->answered_by, op->code);
        return;
    }
    op->holds = false;
    op->answered = false;
    queue_begin_binding(&op->engine->queue, op->queued);
    op->point = POINT_PRE_BIND;
    op->plugin = 0;
    advance(op);
}

static void go_on(struct berth_binding_op *op)
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
static void tell_nomination(struct berth_binding_op *op)
{
    struct engine *e = op->engine;
    struct write write = {.kind = WRITE_POD_STATUS,
                          .object = op->queued->pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .sets_nomination = true,
                          .node_name = op->node_name};
    engine_log(&e->log, 3, "Updating pod condition and nominated node name", KV_POD(op->pod),
               KV_STR("nominatedNodeName", op->node_name), KV_INT("nominatingMode", 1));
    e->ports.submit(e->ports.ctx, &write);
}

/* Who was let go at once, as the last of a gang lets the others go, has nothing to tell. */
static void tell_held(struct engine *e)
{
    for (size_t i = 0; i < e->newly_held.n; i++) {
        struct berth_binding_op *op = e->newly_held.v[i];
        if (op)
            op->newly_held = 0;
        if (op && op->holds)
            tell_nomination(op);
    }
    vec_clear(&e->newly_held);
}

void binding_run_ready(struct engine *e)
{
    /* What goes on may make others ready, and may end some that are: see binding_op_free. */
    for (size_t i = 0; i < e->ready_ops.n; i++)
        if (e->ready_ops.v[i])
            go_on(e->ready_ops.v[i]);
    vec_clear(&e->ready_ops);
    tell_held(e);
    if (e->replaced)
        reload_reap(e);
}

/* --- before PreBind --------------------------------------------------------------------------- */

static void failed_pre_flight(struct berth_binding_op *op, const struct berth_handle *h,
                              enum berth_code code)
{
    struct cycle_failure failure = {0};
    if (code == BERTH_ERROR)
        cycle_failure_status(&failure, op->cycle, &op->engine->status, code,
                             "running PreBindPreFlight \"%s\"", h->plugin->name);
    else
        cycle_failure_error(&failure, "PreBindPreFlight %s returned \"%s\", which is unsupported",
                            h->plugin->name, code_name(code));
    binding_failed(op, &failure);
    cycle_failure_release(&failure);
}

/* Will any PreBind plugin have work to do? False: the binding has ended. */
static bool run_pre_flight(struct berth_binding_op *op, bool *ret_work)
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
static bool reserve_and_permit(struct berth_binding_op *op)
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
    binding_failed_at(op, point, by, code);
    return false;
}

void binding_start(struct engine *e, struct berth_queued_pod *queued, struct berth_cycle *cycle,
                   struct berth_node *node, int64_t started)
{
    struct berth_binding_op *op = binding_op_new(e, queued, cycle, node, started);
    bool work = false;
    cache_assume(&e->cache, op->pod);
    /* The room is taken for real: the promise has been kept. */
    nominator_remove(&e->queue.nominator, pod_info_key(op->pod));
    if (!reserve_and_permit(op))
        return;
    binding_op_activate_pods(op);
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
        engine_log(&e->log, 4, "Pod waiting on permit", KV_POD(op->pod));
        return;
    }
    op->code = BERTH_SUCCESS;
    end_permit(op);
}
