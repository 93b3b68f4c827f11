/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/permit.h"

#include "base/time.h"
#include "engine/internal.h"

bool permit_allow(struct berth_op *op, const struct berth_handle *by)
{
    for (size_t i = 0; op->holds && !op->answered && i < op->waiting.waits.n; i++) {
        /* By name, as upstream: of whichever profile, be it of another configuration. */
        if (op->waiting.waits.v[i].handle->id != by->id)
            continue;
        vec_swap_remove(&op->waiting.waits, i);
        if (op->waiting.waits.n == 0)
            binding_answer(op, NULL, BERTH_SUCCESS, STR(""));
        return true;
    }
    return false;
}

bool permit_reject(struct berth_op *op, const struct berth_handle *by, struct str reason)
{
    if (!op->holds || op->answered)
        return false;
    binding_answer(op, by, BERTH_UNSCHEDULABLE, reason);
    return true;
}

bool permit_preempt(struct berth_op *op, struct str plugin)
{
    if (op->holds) {
        if (op->answered)
            return false;
        op->preempted = xstrdup("waiting on permit for pod: preempted");
        binding_answer(op, NULL, BERTH_ERROR, STR("preempted"));
        return true;
    }
    if (op->point != POINT_PRE_BIND)
        return false;
    /* The plugin that is at work is waited for, and no other is asked. */
    if (!op->preempted)
        op->preempted = xasprintf("preempted by %.*s", STR_ARG(plugin));
    return true;
}

static void expire(struct berth_op *op, const struct permit_wait *wait)
{
    struct buf reason = BUF_INIT;
    buf_add_cstr(&reason, "rejected due to timeout after waiting ");
    duration_format(wait->timeout, &reason);
    buf_add_printf(&reason, " at plugin %s", wait->handle->plugin->name);
    permit_reject(op, wait->handle, buf_str(&reason));
    buf_release(&reason);
}

int64_t permit_next_deadline(const struct engine *e)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < e->ops.n; i++) {
        const struct berth_op *op = e->ops.v[i];
        for (size_t k = 0; op->holds && !op->answered && k < op->waiting.waits.n; k++)
            next = MIN(next, op->waiting.waits.v[k].deadline);
    }
    return next;
}

void permit_expire(struct engine *e, int64_t now)
{
    for (size_t i = 0; i < e->ops.n; i++) {
        struct berth_op *op = e->ops.v[i];
        const struct permit_wait *first = NULL;
        for (size_t k = 0; op->holds && !op->answered && k < op->waiting.waits.n; k++)
            if (!first || op->waiting.waits.v[k].deadline < first->deadline)
                first = &op->waiting.waits.v[k];
        if (first && first->deadline <= now)
            expire(op, first);
    }
}
