/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bind/permit.h"

#include "base/time.h"

static struct binding_cycle *of_node(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct binding_cycle, held);
}

bool permit_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    return of_node(a)->deadline < of_node(b)->deadline;
}

/* The wait with the earliest deadline. */
static const struct permit_wait *first_wait(const struct binding_cycle *bc)
{
    const struct permit_wait *first = &bc->waiting.waits.v[0];
    for (size_t i = 1; i < bc->waiting.waits.n; i++)
        if (bc->waiting.waits.v[i].deadline < first->deadline)
            first = &bc->waiting.waits.v[i];
    return first;
}

void permit_hold(struct binding_cycle *bc)
{
    INVARIANT(bc->point == POINT_PERMIT && bc->waiting.waits.n > 0);
    binding_calls_open(bc, NULL, 1);
    bc->holds = true;
    bc->deadline = first_wait(bc)->deadline;
    heap_push(&bc->bindings->held, &bc->held);
}

void permit_release(struct binding_cycle *bc)
{
    if (heap_contains(&bc->held))
        heap_remove(&bc->bindings->held, &bc->held);
}

static void allowed(struct binding_cycle *bc)
{
    if (bc->waiting.waits.n == 0) {
        binding_op_answer(&bc->first, NULL, BERTH_SUCCESS, STR(""));
        return;
    }
    bc->deadline = first_wait(bc)->deadline;
    heap_fix(&bc->bindings->held, &bc->held);
}

bool permit_allow(struct binding_cycle *bc, const struct berth_handle *by)
{
    for (size_t i = 0; bc->holds && !bc->first.answered && i < bc->waiting.waits.n; i++) {
        /* By name, as upstream: also of another profile or an earlier configuration. */
        if (bc->waiting.waits.v[i].handle->id != by->id)
            continue;
        vec_swap_remove(&bc->waiting.waits, i);
        allowed(bc);
        return true;
    }
    return false;
}

bool permit_reject(struct binding_cycle *bc, const struct berth_handle *by, struct str reason)
{
    if (!bc->holds || bc->first.answered)
        return false;
    binding_op_answer(&bc->first, by, BERTH_UNSCHEDULABLE, reason);
    return true;
}

bool permit_preempt(struct binding_cycle *bc, struct str plugin)
{
    if (bc->holds) {
        if (bc->first.answered)
            return false;
        bc->preempted = xstrdup("waiting on permit for pod: preempted");
        binding_op_answer(&bc->first, NULL, BERTH_ERROR, STR("preempted"));
        return true;
    }
    if (bc->point != POINT_PRE_BIND)
        return false;
    /* PreBind plugins that cannot be cancelled end first; no other runs after them. */
    if (!bc->preempted) {
        bc->preempted = xasprintf("preempted by %.*s", STR_ARG(plugin));
        binding_calls_cancel(bc);
        if (!bc->n_open)
            binding_make_ready(bc);
    }
    return true;
}

static void expire(struct binding_cycle *bc, const struct permit_wait *wait)
{
    struct buf reason = BUF_INIT;
    buf_add_cstr(&reason, "rejected due to timeout after waiting ");
    duration_format(wait->timeout, &reason);
    buf_add_printf(&reason, " at plugin %s", wait->handle->plugin->name);
    permit_reject(bc, wait->handle, buf_str(&reason));
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
        struct binding_cycle *bc = of_node(heap_peek(&b->held));
        expire(bc, first_wait(bc));
    }
}
