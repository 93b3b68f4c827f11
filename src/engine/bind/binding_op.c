/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding_op.h"

#include "engine/internal.h"

struct berth_binding_op *binding_op_new(struct engine *e, struct berth_queued_pod *queued,
                                        struct berth_cycle *cycle, const struct berth_node *node,
                                        int64_t started)
{
    struct berth_binding_op *op = xnew(struct berth_binding_op);
    *op = (struct berth_binding_op){.engine = e,
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

void binding_op_free(struct berth_binding_op *op)
{
    struct engine *e = op->engine;
    binding_op_forget_answers(op);
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

void binding_op_abandon(struct berth_binding_op *op)
{
    queue_done(&op->engine->queue, op->queued);
    binding_op_free(op);
}

struct berth_binding_op *binding_op_of(const struct engine *e, struct str uid)
{
    return map_get(&e->ops_by_pod, uid);
}

void binding_op_activate_pods(struct berth_binding_op *op)
{
    struct engine *e = op->engine;
    for (size_t i = 0; i < op->cycle->to_activate.n; i++) {
        struct berth_pod *pod = op->cycle->to_activate.v[i];
        queue_activate(&e->queue, pod_info_key(pod), engine_now(e));
        pod_info_unref(pod);
    }
    vec_clear(&op->cycle->to_activate);
}

/* --- answers ---------------------------------------------------------------------------------- */

uint64_t binding_op_expect_answer(struct berth_binding_op *op)
{
    struct engine *e = op->engine;
    /* Only the last write of a plugin that writes twice is waited for. */
    if (op->write_id)
        map_del(&e->ops_by_write, write_key(&op->write_id));
    op->write_id = ++e->next_write_id;
    map_put(&e->ops_by_write, write_key(&op->write_id), op);
    return op->write_id;
}

void binding_op_answer(struct berth_binding_op *op, const struct berth_handle *by,
                       enum berth_code code, struct str reason)
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

void binding_op_forget_answers(struct berth_binding_op *op)
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
