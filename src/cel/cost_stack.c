/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/run.h"

/* As upstream's sum: a charge may be "negative" (flatten(-1)), and the sum wraps. */
void cel_charge(struct cel_run *r, uint64_t cost)
{
    struct cel_eval *e = &r->eval;
    if (e->exceeded)
        return;
    e->cost += cost;
    if (e->cost > e->limit)
        e->exceeded = true;
}

void cel_stack_push(struct cel_run *r, uint32_t id, struct cel_value v)
{
    if (r->untracked)
        return;
    vec_push(&r->stack, (struct cel_stack_entry){id, r->top[id], v});
    r->top[id] = (uint32_t)r->stack.n;
}

bool cel_stack_drop(struct cel_run *r, uint32_t id, struct cel_value *ret_value)
{
    if (r->untracked || r->top[id] == 0)
        return false;
    size_t at = r->top[id] - 1;
    if (ret_value)
        *ret_value = r->stack.v[at].value;
    while (r->stack.n > at) {
        struct cel_stack_entry e = vec_pop(&r->stack);
        r->top[e.id] = e.before;
    }
    return true;
}
