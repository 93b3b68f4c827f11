/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/binding_cycle.h"

#include "engine/bind/permit.h"
#include "engine/framework/call_mark.h"

void bindings_init(struct bindings *b, struct framework *fw, struct queue *queue,
                   const struct report *report)
{
    *b = (struct bindings){.framework = fw, .queue = queue, .report = report};
    heap_init(&b->held, permit_less, NULL);
    status_init(&b->status);
}

void bindings_release(struct bindings *b)
{
    while (b->cycles.n) {
        struct binding_cycle *bc = vec_last(&b->cycles);
        queue_done(b->queue, bc->queued);
        binding_cycle_free(bc);
    }
    for (size_t i = 0; i < b->lost.n; i++)
        pod_info_unref(b->lost.v[i]);
    vec_release(&b->lost);
    vec_release(&b->cycles);
    vec_release(&b->ready);
    vec_release(&b->newly_held);
    heap_release(&b->held);
    map_release(&b->by_write);
    map_release(&b->by_op);
    map_release(&b->by_pod);
    status_release(&b->status);
}

struct binding_cycle *binding_cycle_new(struct bindings *b, struct berth_queued_pod *queued,
                                        struct berth_cycle *cycle, const struct berth_node *node,
                                        int64_t started)
{
    struct binding_cycle *bc = xnew(struct binding_cycle);
    *bc = (struct binding_cycle){.bindings = b,
                                 .queued = queued,
                                 .cycle = cycle,
                                 .point = POINT_PERMIT,
                                 .index = b->cycles.n,
                                 .started = started};
    bc->waiting.binding = bc;
    vec_push(&b->cycles, bc);
    bc->pod = pod_info_assume(queued->pod, str_of(node->name));
    bc->node_name = bc->pod->node_name;
    map_put(&b->by_pod, pod_info_key(bc->pod), bc);
    return bc;
}

static void release_calls(struct binding_cycle *bc)
{
    for (size_t i = 0; i < bc->n_calls; i++) {
        binding_call_close(binding_call(bc, i));
        buf_release(&binding_call(bc, i)->reason);
    }
    bc->n_calls = 0;
    free(TAKE(bc->others));
}

/* Removes it from the lists of its room. */
static void unlist(struct binding_cycle *bc)
{
    struct bindings *b = bc->bindings;
    for (size_t i = 0; bc->ready && i < b->ready.n; i++)
        if (b->ready.v[i] == bc)
            b->ready.v[i] = NULL;
    if (bc->newly_held)
        b->newly_held.v[bc->newly_held - 1] = NULL;
    permit_release(bc);
    INVARIANT(binding_cycle_of(b, pod_info_key(bc->pod)) == bc && b->cycles.v[bc->index] == bc);
    map_del(&b->by_pod, pod_info_key(bc->pod));
    vec_swap_remove(&b->cycles, bc->index);
    if (bc->index < b->cycles.n)
        b->cycles.v[bc->index]->index = bc->index;
}

void binding_cycle_free(struct binding_cycle *bc)
{
    release_calls(bc);
    unlist(bc);
    cycle_free(bc->cycle);
    pod_info_unref(bc->pod);
    vec_release(&bc->waiting.waits);
    buf_release(&bc->failed.reason);
    free(bc->preempted);
    free(bc);
}

struct binding_cycle *binding_cycle_of(const struct bindings *b, struct str uid)
{
    return map_get(&b->by_pod, uid);
}

void binding_cycle_activate_pods(struct binding_cycle *bc)
{
    struct bindings *b = bc->bindings;
    for (size_t i = 0; i < bc->cycle->to_activate.n; i++) {
        struct berth_pod *pod = bc->cycle->to_activate.v[i];
        queue_activate(b->queue, pod_info_key(pod), framework_now(b->framework));
        pod_info_unref(pod);
    }
    vec_clear(&bc->cycle->to_activate);
}

/* --- calls ------------------------------------------------------------------------------------ */

struct binding_call *binding_call(struct binding_cycle *bc, size_t i)
{
    return i == 0 ? &bc->first : &bc->others[i - 1];
}

void binding_calls_open(struct binding_cycle *bc, struct berth_handle *const *handles, size_t n)
{
    INVARIANT(!bc->n_open && !bc->ready && n > 0);
    release_calls(bc);
    bc->others = n > 1 ? xcalloc(n - 1, sizeof(*bc->others)) : NULL;
    bc->n_calls = bc->n_open = n;
    for (size_t i = 0; i < n; i++) {
        struct binding_call *call = binding_call(bc, i);
        *call = (struct binding_call){.binding = bc, .open = true};
        if (!handles)
            continue;
        call->handle = handles[i];
        call->op = framework_next_id(bc->bindings->framework);
        map_put(&bc->bindings->by_op, map_number_key(&call->op), call);
    }
}

void binding_call_close(struct binding_call *op)
{
    if (op->write_id)
        map_del(&op->binding->bindings->by_write, map_number_key(&op->write_id));
    op->write_id = 0;
    if (op->op)
        map_del(&op->binding->bindings->by_op, map_number_key(&op->op));
    op->op = 0;
    op->binding->n_open -= op->open;
    op->open = false;
}

void binding_make_ready(struct binding_cycle *bc)
{
    if (bc->ready)
        return;
    bc->ready = true;
    vec_push(&bc->bindings->ready, bc);
}

void binding_calls_cancel(struct binding_cycle *bc)
{
    for (size_t i = 0; i < bc->n_calls; i++) {
        struct binding_call *op = binding_call(bc, i);
        const struct berth_handle *h = op->handle;
        if (!op->open || op->answered || !h || !h->plugin->pre_bind_cancel)
            continue;
        if (op->running) {
            op->cancelled = true;
            continue;
        }
        struct call_mark outer = call_begin(h, "PreBindCancel", bc->pod);
        h->plugin->pre_bind_cancel(h->self, bc->cycle, bc->pod, op->op);
        call_end(outer);
        binding_call_close(op);
    }
}

uint64_t binding_op_expect_answer(struct binding_call *op)
{
    struct bindings *b = op->binding->bindings;
    /* If a plugin writes twice, only the outcome of the last write counts. */
    if (op->write_id)
        map_del(&b->by_write, map_number_key(&op->write_id));
    op->write_id = framework_next_id(b->framework);
    map_put(&b->by_write, map_number_key(&op->write_id), op);
    return op->write_id;
}

void binding_op_answer(struct binding_call *op, const struct berth_handle *by, enum berth_code code,
                       struct str reason)
{
    if (op->answered || !op->open)
        return;
    permit_release(op->binding);
    op->answered = true;
    op->code = code;
    op->answered_by = by;
    buf_clear(&op->reason);
    buf_add_str(&op->reason, reason);
    if (!op->running)
        binding_make_ready(op->binding);
}

/* An id that was given out and is not in use any more belongs to a binding that has ended. */
void bindings_op_done(struct bindings *b, const struct berth_handle *by, berth_op op,
                      enum berth_code code, struct str reason)
{
    struct binding_call *call = map_get(&b->by_op, map_number_key(&op));
    const struct engine_log *log = &b->framework->log;
    if (call && !call->answered)
        binding_op_answer(call, NULL, code, reason);
    else if (call)
        engine_log_error(log, "op_done was called twice", KV_CSTR("plugin", by->plugin->name),
                         KV_POD(call->binding->pod));
    else if (!op || op > b->framework->last_id)
        engine_log_error(log, "op_done was called for an operation that does not exist",
                         KV_CSTR("plugin", by->plugin->name));
}
