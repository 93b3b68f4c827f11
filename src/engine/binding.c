/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/binding.h"

#include "engine/internal.h"

static const char *plugin_name(const struct berth_op *op)
{
    return op->cycle->profile->at[op->point].v[op->plugin]->plugin->name;
}

static void run_unreserve(struct berth_op *op)
{
    const handle_list *list = &op->cycle->profile->at[POINT_RESERVE];
    for (size_t i = list->n; i-- > 0;)
        if (list->v[i]->plugin->unreserve)
            list->v[i]->plugin->unreserve(list->v[i]->self, op->cycle, op->pod,
                                          abi_str(op->node_name));
}

static void free_op(struct berth_op *op)
{
    struct engine *e = op->engine;
    if (op->write_id)
        map_del(&e->ops_by_write, write_key(&op->write_id));
    vec_swap_remove(&e->ops, op->index);
    if (op->index < e->ops.n)
        e->ops.v[op->index]->index = op->index;
    cycle_free(op->cycle);
    pod_info_unref(op->pod);
    buf_release(&op->reason);
    free(op);
}

void binding_abandon(struct berth_op *op)
{
    queue_done(&op->engine->queue, op->queued);
    free_op(op);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void bound(struct berth_op *op)
{
    struct engine *e = op->engine;
    const struct berth_pod *pod = op->pod;
    const struct object_meta *meta = &pod->pod->metadata;
    struct str note =
        arena_printf(&op->cycle->arena, "Successfully assigned %.*s/%.*s to %.*s",
                     STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(op->node_name));
    engine_submit_event(e, pod, op->cycle->profile, false, "Scheduled", "Binding", note);
    engine_tell_decision(e, &(struct decision){
                                .pod = pod->object,
                                .profile = op->cycle->profile->scheduler_name,
                                .node_name = op->node_name,
                                .bound = true,
                                .evaluated_nodes = op->cycle->n_slots + op->cycle->n_failed,
                                .feasible_nodes = op->cycle->n_slots,
                                .attempt = op->queued->attempts,
                                .duration = engine_now(e) - op->started,
                            });
    const handle_list *list = &op->cycle->profile->at[POINT_POST_BIND];
    for (size_t i = 0; i < list->n; i++)
        list->v[i]->plugin->post_bind(list->v[i]->self, op->cycle, pod, abi_str(op->node_name));
    /* Deleted while it was being bound, and the watch has said so: nobody will confirm it. */
    if (op->queued->deleted)
        cache_forget(&e->cache, pod_info_key(pod));
    queue_done(&e->queue, op->queued);
    free_op(op);
}

static void failed(struct berth_op *op, const struct cycle_failure *failure)
{
    struct engine *e = op->engine;
    run_unreserve(op);
    if (cache_forget(&e->cache, pod_info_key(op->pod))) {
        struct cluster_event event = {BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_DELETE,
                                      "AssignedPodDelete"};
        queue_event(&e->queue, &event, op->pod->object, NULL, engine_now(e));
    }
    engine_attempt_failed(e, op->queued, failure, op->started, op->cycle);
    free_op(op);
}

/* The plugin said no, or broke: both end the binding, with upstream's words. */
static void failed_at_plugin(struct berth_op *op, enum point point, const char *plugin,
                             enum berth_code code, struct str reason, uint16_t id)
{
    struct cycle_failure failure = {0};
    if (code_rejects(code)) {
        plugin_set_add(&failure.rejectors, id);
        buf_add_printf(&failure.text, "0/1 nodes are available: 1 %.*s.", STR_ARG(reason));
    } else {
        cycle_failure_error(&failure, "running %s plugin \"%s\": %.*s", point_table[point].name,
                            plugin, STR_ARG(reason));
    }
    failed(op, &failure);
    cycle_failure_release(&failure);
}

/* --- steps ------------------------------------------------------------------------------------ */

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
    if (op->point == POINT_PRE_BIND && op->plugin >= p->at[POINT_PRE_BIND].n) {
        op->point = POINT_BIND;
        op->plugin = 0;
    }
    return op->plugin < p->at[op->point].n ? p->at[op->point].v[op->plugin] : NULL;
}

/* What the plugin asked last has answered. True: go on with the next one. */
static bool take_answer(struct berth_op *op)
{
    const struct berth_handle *h = op->cycle->profile->at[op->point].v[op->plugin];
    op->answered = false;
    if (op->code == BERTH_SKIP || (op->code == BERTH_SUCCESS && op->point == POINT_PRE_BIND)) {
        op->plugin++;
        return true;
    }
    if (op->code == BERTH_SUCCESS)
        bound(op);
    else
        failed_at_plugin(op, op->point, plugin_name(op), op->code, buf_str(&op->reason), h->id);
    return false;
}

/* Asks plugin after plugin until one needs time or the binding has ended. */
static void advance(struct berth_op *op)
{
    struct engine *e = op->engine;
    const struct berth_handle *h;
    while ((h = next_plugin(op))) {
        status_clear(&e->status);
        op->running = true;
        enum berth_code code = call_plugin(op, h, &e->status);
        op->running = false;
        if (code != BERTH_ASYNC) {
            op->answered = true;
            op->code = code;
            buf_clear(&op->reason);
            status_write(&e->status, &e->reasons, &op->reason);
        }
        if (!op->answered || !take_answer(op))
            return;
    }
    failed_at_plugin(op, POINT_BIND, "", BERTH_ERROR, STR("every Bind plugin skipped the pod"), 0);
}

void binding_answer(struct berth_op *op, enum berth_code code, struct str reason)
{
    op->answered = true;
    op->code = code;
    buf_clear(&op->reason);
    buf_add_str(&op->reason, reason);
    /* A plugin that answers before it returns is served when it has returned. */
    if (!op->running && take_answer(op))
        advance(op);
}

void binding_write(struct berth_op *op, const struct berth_pod *pod, struct str node_name)
{
    struct engine *e = op->engine;
    op->write_id = ++e->next_write_id;
    map_put(&e->ops_by_write, write_key(&op->write_id), op);
    struct write write = {.kind = WRITE_BINDING,
                          .id = op->write_id,
                          .pod = pod->object,
                          .scheduler_name = op->cycle->profile->scheduler_name,
                          .node_name = node_name};
    e->ports.submit(e->ports.ctx, &write);
}

/* True where all agreed; else the binding has ended. */
static bool run_reserve(struct berth_op *op)
{
    struct engine *e = op->engine;
    const handle_list *list = &op->cycle->profile->at[POINT_RESERVE];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (!h->plugin->reserve)
            continue;
        status_clear(&e->status);
        enum berth_code code =
            h->plugin->reserve(h->self, op->cycle, op->pod, abi_str(op->node_name), &e->status);
        if (code == BERTH_SUCCESS)
            continue;
        status_write(&e->status, &e->reasons, &op->reason);
        failed_at_plugin(op, POINT_RESERVE, h->plugin->name, code, buf_str(&op->reason), h->id);
        return false;
    }
    return true;
}

void binding_start(struct engine *engine, struct berth_queued_pod *queued,
                   struct berth_cycle *cycle, struct berth_node *node, int64_t started)
{
    struct berth_op *op = xnew(struct berth_op);
    *op = (struct berth_op){.engine = engine,
                            .queued = queued,
                            .cycle = cycle,
                            .point = POINT_PRE_BIND,
                            .index = engine->ops.n,
                            .started = started};
    vec_push(&engine->ops, op);
    op->pod = pod_info_assume(queued->pod, str_of(node->name));
    op->node_name = op->pod->node_name;
    cache_assume(&engine->cache, op->pod);
    if (run_reserve(op))
        advance(op);
}
