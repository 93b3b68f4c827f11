/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_run.h"

/* --- one member ------------------------------------------------------------------------------- */

/* Undoes assume: the member leaves its node and keeps its nomination, if it has one. */
static void undo(struct groups *g, struct group_try *t)
{
    if (!t->assumed)
        return;
    struct str nominated = t->queued->pod->pod->status.nominated_node_name;
    reserve_undo(t->cycle, t->assumed);
    cache_forget(g->framework->cache, pod_info_key(t->assumed));
    pod_info_unref(t->assumed);
    t->assumed = NULL;
    if (!str_empty(nominated) && !t->queued->deleted)
        nominator_set(&g->queue->nominator, t->queued->pod, nominated);
}

/* Reserve or Permit rejected the member: it counts as one without a node. */
static void refused(struct groups *g, struct group_try *t, enum point point,
                    const struct berth_handle *by, enum berth_code code,
                    const struct berth_status *status)
{
    cycle_failure_clear(&t->failure);
    reserve_failure(&t->failure, g->framework, point, by, code, status);
    t->failure.keep_nomination = false;
    t->failure.nominated_node = STR("");
    t->fits = t->preempts = false;
    t->node_name = STR("");
    buf_clear(&t->permit);
    undo(g, t);
}

/* Assumes the member on its node, for the others to see. Returns whether Permit said Success. */
static bool assume(struct groups *g, struct group_try *t)
{
    struct berth_status *status = &g->cycles->status;
    const struct berth_handle *by = NULL;
    permit_waits waits = {0};
    t->assumed = pod_info_assume(t->queued->pod, t->node_name);
    cycle_claim(t->cycle, t->assumed);
    cache_assume(g->framework->cache, t->assumed);
    nominator_remove(&g->queue->nominator, pod_info_key(t->assumed));
    enum berth_code code = reserve_run(t->cycle, t->assumed, status, &by);
    if (code != BERTH_SUCCESS) {
        refused(g, t, POINT_RESERVE, by, code, status);
        return false;
    }
    code = permit_run(t->cycle, t->assumed, status, &waits, &t->permit, &by);
    vec_release(&waits);
    if (code == BERTH_WAIT)
        buf_add_printf(&t->permit, "%sone or more plugins asked to wait and no plugin rejected pod",
                       t->permit.n ? ", " : "");
    else if (code != BERTH_SUCCESS)
        refused(g, t, POINT_PERMIT, by, code, status);
    return code == BERTH_SUCCESS;
}

/*
 * Upstream: the group is schedulable once Permit says Success to a member, which GangScheduling
 * does for the one that completes the quorum; a later member may still change the outcome.
 */
static void count(struct group_run *run, struct group_try *t, bool permitted)
{
    if (!t->fits && !t->preempts) {
        if (!t->failure.error)
            return; /* other members may still complete the quorum */
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

static void end_try(struct groups *g, struct group_try *t)
{
    bool permitted = (t->fits || t->preempts) && assume(g, t);
    t->lasted = framework_now(g->framework) - t->began;
    count(&g->cycle.run, t, permitted);
}

void group_run_failed(struct groups *g, struct berth_cycle *cycle, struct cycle_failure *failure)
{
    struct group_try *t = &vec_last(&g->cycle.run.tries);
    t->cycle = cycle;
    cycle_failure_move(&t->failure, failure);
    t->preempts = !t->failure.keep_nomination && !str_empty(t->failure.nominated_node);
    if (t->preempts)
        t->node_name = t->failure.nominated_node;
    end_try(g, t);
}

void group_run_placed(struct groups *g, struct berth_cycle *cycle, const struct berth_node *node)
{
    struct group_try *t = &vec_last(&g->cycle.run.tries);
    t->cycle = cycle;
    t->fits = true;
    t->node_name = arena_dup(&cycle->arena, str_of(node->name));
    end_try(g, t);
}

/* --- all members ------------------------------------------------------------------------------ */

/* The only nodes on which members are tried now; NULL: all. */
static struct berth_placement *group_placement(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    struct berth_placement *p = c->by_placement ? &c->placements.list.v[c->placement] : NULL;
    return p && p->n < g->framework->cache->order.n ? p : NULL;
}

void group_placements_text(size_t n, struct buf *out)
{
    buf_add_printf(out, "0/%zu placements are available, first placement status: %s", n,
                   GROUP_UNSCHEDULABLE_TEXT);
}

void group_run_begin(struct groups *g)
{
    const struct engine_log *log = &g->framework->log;
    struct group_cycle *c = &g->cycle;
    engine_log(log, 5, "Running a pod group scheduling algorithm", KV_GROUP(c),
               KV_INT("unscheduledPodsCount", c->members.n));
    if (c->by_placement)
        engine_log(log, 4, "Assuming placement in snapshot",
                   KV_STR("placement", c->placements.list.v[c->placement].name));
    c->run = (struct group_run){.outcome = GROUP_UNSCHEDULABLE};
    buf_add_cstr(&c->run.text, GROUP_UNSCHEDULABLE_TEXT);
}

struct berth_cycle *group_run_new_cycle(struct groups *g, struct berth_queued_pod *member)
{
    struct berth_cycle *cycle = cycle_new(g->cycles, member->profile);
    cycle->queued = member;
    cycle->in_group = true;
    cycle->placement = group_placement(g);
    return cycle;
}

struct berth_queued_pod *group_run_next(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    while (c->run.tries.n < c->members.n && c->run.outcome != GROUP_BROKE) {
        struct berth_queued_pod *queued = c->members.v[c->run.tries.n];
        vec_push(&c->run.tries,
                 (struct group_try){.queued = queued, .began = framework_now(g->framework)});
        if (queued->deleted)
            continue;
        engine_log(&g->framework->log, 4, "Attempting to schedule a pod belonging to a pod group",
                   KV_GROUP(c), KV_POD(queued->pod));
        return queued;
    }
    return NULL;
}

/* Whether no member of the group is assumed, in this run or by any other. */
static UNUSED bool none_is_assumed(const struct groups *g, const struct group_run *run)
{
    for (size_t i = 0; i < run->tries.n; i++)
        if (run->tries.v[i].assumed)
            return false;
    for (size_t i = 0; i < g->cycle.members.n; i++) {
        const struct cache_pod *cp =
            cache_pod(g->framework->cache, pod_info_key(g->cycle.members.v[i]->pod));
        if (cp && cp->assumed)
            return false;
    }
    return true;
}

void group_run_undo(struct groups *g, struct group_run *run)
{
    for (size_t i = run->tries.n; i-- > 0;)
        undo(g, &run->tries.v[i]);
    INVARIANT(none_is_assumed(g, run));
}

void group_run_release(struct group_run *run)
{
    for (size_t i = 0; i < run->tries.n; i++) {
        struct group_try *t = &run->tries.v[i];
        INVARIANT(!t->assumed);
        cycle_failure_release(&t->failure);
        buf_release(&t->permit);
        t->cycle = cycle_free(t->cycle);
    }
    vec_release(&run->tries);
    buf_release(&run->text);
    *run = (struct group_run){0};
}
