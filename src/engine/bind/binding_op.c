/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding_op.h"

#include "engine/bind/permit.h"

void bindings_init(struct bindings *b, struct framework *fw, struct queue *queue,
                   const struct report *report)
{
    *b = (struct bindings){.framework = fw, .queue = queue, .report = report};
    heap_init(&b->held, permit_less, NULL);
    status_init(&b->status);
}

void bindings_release(struct bindings *b)
{
    while (b->ops.n) {
        struct berth_binding_op *op = vec_last(&b->ops);
        queue_done(b->queue, op->queued);
        binding_op_free(op);
    }
    for (size_t i = 0; i < b->lost.n; i++)
        pod_info_unref(b->lost.v[i]);
    vec_release(&b->lost);
    vec_release(&b->ops);
    vec_release(&b->ready);
    vec_release(&b->newly_held);
    heap_release(&b->held);
    map_release(&b->by_write);
    map_release(&b->by_pod);
    status_release(&b->status);
}

struct berth_binding_op *binding_op_new(struct bindings *b, struct berth_queued_pod *queued,
                                        struct berth_cycle *cycle, const struct berth_node *node,
                                        int64_t started)
{
    struct berth_binding_op *op = xnew(struct berth_binding_op);
    *op = (struct berth_binding_op){.bindings = b,
                                    .queued = queued,
                                    .cycle = cycle,
                                    .point = POINT_PERMIT,
                                    .index = b->ops.n,
                                    .started = started};
    op->waiting.op = op;
    vec_push(&b->ops, op);
    op->pod = pod_info_assume(queued->pod, str_of(node->name));
    op->node_name = op->pod->node_name;
    map_put(&b->by_pod, pod_info_key(op->pod), op);
    return op;
}

void binding_op_free(struct berth_binding_op *op)
{
    struct bindings *b = op->bindings;
    binding_op_forget_answers(op);
    permit_release(op);
    INVARIANT(binding_op_of(b, pod_info_key(op->pod)) == op && b->ops.v[op->index] == op);
    map_del(&b->by_pod, pod_info_key(op->pod));
    vec_swap_remove(&b->ops, op->index);
    if (op->index < b->ops.n)
        b->ops.v[op->index]->index = op->index;
    cycle_free(op->cycle);
    pod_info_unref(op->pod);
    vec_release(&op->waiting.waits);
    buf_release(&op->reason);
    free(op->preempted);
    free(op);
}

struct berth_binding_op *binding_op_of(const struct bindings *b, struct str uid)
{
    return map_get(&b->by_pod, uid);
}

void binding_op_activate_pods(struct berth_binding_op *op)
{
    struct bindings *b = op->bindings;
    for (size_t i = 0; i < op->cycle->to_activate.n; i++) {
        struct berth_pod *pod = op->cycle->to_activate.v[i];
        queue_activate(b->queue, pod_info_key(pod), framework_now(b->framework));
        pod_info_unref(pod);
    }
    vec_clear(&op->cycle->to_activate);
}

/* --- answers ---------------------------------------------------------------------------------- */

uint64_t binding_op_expect_answer(struct berth_binding_op *op)
{
    struct bindings *b = op->bindings;
    /* If a plugin writes twice, only the outcome of the last write counts. */
    if (op->write_id)
        map_del(&b->by_write, write_key(&op->write_id));
    op->write_id = framework_next_id(b->framework);
    map_put(&b->by_write, write_key(&op->write_id), op);
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
    INVARIANT(!op->ready);
    op->ready = true;
    vec_push(&op->bindings->ready, op);
}

void binding_op_forget_answers(struct berth_binding_op *op)
{
    struct bindings *b = op->bindings;
    for (size_t i = 0; op->ready && i < b->ready.n; i++)
        if (b->ready.v[i] == op)
            b->ready.v[i] = NULL;
    if (op->newly_held)
        b->newly_held.v[op->newly_held - 1] = NULL;
    op->newly_held = 0;
    op->ready = op->answered = false;
    if (op->write_id)
        map_del(&b->by_write, write_key(&op->write_id));
    op->write_id = 0;
}
