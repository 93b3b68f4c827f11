/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/permit.h"

#include "base/time.h"

static struct berth_binding_op *of_node(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct berth_binding_op, held);
}

bool permit_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    return of_node(a)->deadline < of_node(b)->deadline;
}

/* The wait with the earliest deadline. */
static const struct permit_wait *first_wait(const struct berth_binding_op *op)
{
    const struct permit_wait *first = &op->waiting.waits.v[0];
    for (size_t i = 1; i < op->waiting.waits.n; i++)
        if (op->waiting.waits.v[i].deadline < first->deadline)
            first = &op->waiting.waits.v[i];
    return first;
}

void permit_hold(struct berth_binding_op *op)
{
    op->holds = true;
    op->deadline = first_wait(op)->deadline;
    heap_push(&op->bindings->held, &op->held);
}

void permit_release(struct berth_binding_op *op)
{
    if (heap_contains(&op->held))
        heap_remove(&op->bindings->held, &op->held);
}

static void allowed(struct berth_binding_op *op)
{
    if (op->waiting.waits.n == 0) {
        binding_op_answer(op, NULL, BERTH_SUCCESS, STR(""));
        return;
    }
    op->deadline = first_wait(op)->deadline;
    heap_fix(&op->bindings->held, &op->held);
}

bool permit_allow(struct berth_binding_op *op, const struct berth_handle *by)
{
    for (size_t i = 0; op->holds && !op->answered && i < op->waiting.waits.n; i++) {
        /* By name, as upstream: also of another profile or an earlier configuration. */
        if (op->waiting.waits.v[i].handle->id != by->id)
            continue;
        vec_swap_remove(&op->waiting.waits, i);
        allowed(op);
        return true;
    }
    return false;
}

bool permit_reject(struct berth_binding_op *op, const struct berth_handle *by, struct str reason)
{
    if (!op->holds || op->answered)
        return false;
    binding_op_answer(op, by, BERTH_UNSCHEDULABLE, reason);
    return true;
}

bool permit_preempt(struct berth_binding_op *op, struct str plugin)
{
    if (op->holds) {
        if (op->answered)
            return false;
        op->preempted = xstrdup("waiting on permit for pod: preempted");
        binding_op_answer(op, NULL, BERTH_ERROR, STR("preempted"));
        return true;
    }
    if (op->point != POINT_PRE_BIND)
        return false;
    /* The PreBind plugin that runs ends first; no other runs after it. */
    if (!op->preempted)
        op->preempted = xasprintf("preempted by %.*s", STR_ARG(plugin));
    return true;
}

static void expire(struct berth_binding_op *op, const struct permit_wait *wait)
{
    struct buf reason = BUF_INIT;
    buf_add_cstr(&reason, "rejected due to timeout after waiting ");
    duration_format(wait->timeout, &reason);
    buf_add_printf(&reason, " at plugin %s", wait->handle->plugin->name);
    permit_reject(op, wait->handle, buf_str(&reason));
    buf_release(&reason);
}

int64_t permit_next_deadline(const struct bindings *b)
{
    const struct heap_node *first = heap_peek(&b->held);
    return first ? of_node(first)->deadline : INT64_MAX;
}

void permit_expire(struct bindings *b, int64_t now)
{
    while (permit_next_deadline(b) <= now) {
        struct berth_binding_op *op = of_node(heap_peek(&b->held));
        expire(op, first_wait(op));
    }
}
