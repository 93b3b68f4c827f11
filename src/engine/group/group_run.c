/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_run.h"

#include "engine/internal.h"

/* --- one member ------------------------------------------------------------------------------- */

static struct group_try *current(struct engine *e)
{
    return &vec_last(&e->group.run.tries);
}

/* The member leaves the node that it was assumed on. */
static void take_back(struct engine *e, struct group_try *t)
{
    if (!t->assumed)
        return;
    struct str promised = t->queued->pod->pod->status.nominated_node_name;
    reserve_undo(t->cycle, t->assumed);
    cache_forget(&e->cache, pod_info_key(t->assumed));
    pod_info_unref(t->assumed);
    t->assumed = NULL;
    if (!str_empty(promised) && !t->queued->deleted)
        nominator_set(&e->queue.nominator, t->queued->pod, promised);
}

/* Reserve or Permit will not have it: as if it had found no node. */
static void refused(struct engine *e, struct group_try *t, enum point point,
                    const struct berth_handle *by, enum berth_code code)
{
    cycle_failure_clear(&t->failure);
    reserve_failure(&t->failure, t->cycle, point, by, code);
    t->failure.keep_nomination = false;
    t->failure.nominated_node = STR("");
    t->fits = t->preempts = false;
    t->node_name = STR("");
    buf_clear(&t->permit);
    take_back(e, t);
}

/* From now on others see it on its node. True: Permit does not hold it. */
static bool assume(struct engine *e, struct group_try *t)
{
    const struct berth_handle *by = NULL;
    permit_waits waits = {0};
    t->assumed = pod_info_assume(t->queued->pod, t->node_name);
    cache_assume(&e->cache, t->assumed);
    nominator_remove(&e->queue.nominator, pod_info_key(t->assumed));
    enum berth_code code = reserve_run(t->cycle, t->assumed, &by);
    if (code != BERTH_SUCCESS) {
        refused(e, t, POINT_RESERVE, by, code);
        return false;
    }
    code = permit_run(t->cycle, t->assumed, &waits, &t->permit, &by);
    vec_release(&waits);
    if (code == BERTH_WAIT)
        buf_add_printf(&t->permit, "%sone or more plugins asked to wait and no plugin rejected pod",
                       t->permit.n ? ", " : "");
    else if (code != BERTH_SUCCESS)
        refused(e, t, POINT_PERMIT, by, code);
    return code == BERTH_SUCCESS;
}

/* What the member came to is what the group comes to, unless a later one changes that. */
static void count(struct group_run *run, struct group_try *t, bool permitted)
{
    if (!t->fits && !t->preempts) {
        if (!t->failure.error)
            return; /* others may still make the quorum */
        buf_clear(&run->text);
        buf_add_printf(&run->text, "failed to schedule other pod from a pod group: %s",
                       buf_cstr(&t->failure.text));
        run->outcome = GROUP_BROKE;
        return;
    }
    run->preempts |= t->preempts;
    if (!permitted)
        return;
    buf_clear(&run->text);
    run->outcome = run->preempts ? GROUP_PREEMPTS : GROUP_SCHEDULABLE;
    if (run->preempts)
        buf_add_cstr(&run->text,
                     GROUP_UNSCHEDULABLE_TEXT ", pod group is waiting for preemption to complete");
}

static void end_try(struct engine *e, struct group_try *t)
{
    bool permitted = (t->fits || t->preempts) && assume(e, t);
    t->lasted = engine_now(e) - t->began;
    count(&e->group.run, t, permitted);
}

void group_take_failure(struct engine *e, struct berth_cycle *cycle, struct cycle_failure *failure)
{
    struct group_try *t = current(e);
    t->cycle = cycle;
    cycle_failure_move(&t->failure, failure);
    t->preempts = !t->failure.keep_nomination && !str_empty(t->failure.nominated_node);
    if (t->preempts)
        t->node_name = t->failure.nominated_node;
    end_try(e, t);
}

void group_take_node(struct engine *e, struct berth_cycle *cycle, const struct berth_node *node)
{
    struct group_try *t = current(e);
    t->cycle = cycle;
    t->fits = true;
    t->node_name = arena_dup(&cycle->arena, str_of(node->name));
    end_try(e, t);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The last that came is the first to go. */
void group_run_take_back(struct engine *e, struct group_run *run)
{
    for (size_t i = run->tries.n; i-- > 0;)
        take_back(e, &run->tries.v[i]);
}

static void release_try(struct group_try *t)
{
    cycle_failure_release(&t->failure);
    buf_release(&t->permit);
    cycle_free(t->cycle);
    t->cycle = NULL;
}

void group_run_release(struct group_run *run)
{
    for (size_t i = 0; i < run->tries.n; i++)
        release_try(&run->tries.v[i]);
    vec_release(&run->tries);
    buf_release(&run->text);
    *run = (struct group_run){0};
}
