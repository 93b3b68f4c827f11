/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_trial.h"

#include "engine/cycle/cycle_timing.h"

static void try_member(struct groups *g, struct berth_queued_pod *member)
{
    struct berth_cycle *cycle = group_run_new_cycle(g, member);
    struct berth_pod *pod = pod_info_ref(member->pod);
    struct cycle_failure failure = {0};
    int64_t began = vec_last(&g->cycle.run.tries).began;
    struct berth_node *node = cycle_try(cycle, pod, &failure);
    cycle_algorithm_done(cycle, began);
    cycle_end(cycle);
    if (node)
        group_run_placed(g, cycle, node);
    else
        group_run_failed(g, cycle, &failure);
    cycle_failure_release(&failure);
    pod_info_unref(pod);
}

static enum group_outcome try_all(struct groups *g, struct buf *text)
{
    struct group_run *run = &g->cycle.run;
    struct berth_queued_pod *member;
    group_run_begin(g);
    while ((member = group_run_next(g)))
        try_member(g, member);
    group_run_undo(g, run);
    enum group_outcome outcome = run->outcome;
    if (outcome != GROUP_SCHEDULABLE && !text->n)
        buf_add_str(text, buf_str(&run->text));
    group_run_release(run);
    return outcome;
}

static enum group_outcome try_placements(struct groups *g, struct buf *text)
{
    enum group_outcome best = GROUP_UNSCHEDULABLE;
    size_t n = g->cycle.placements.list.n;
    for (size_t i = 0; i < n && best != GROUP_BROKE; i++) {
        g->cycle.placement = i;
        enum group_outcome outcome = try_all(g, text);
        if (outcome == GROUP_SCHEDULABLE || outcome == GROUP_BROKE)
            best = outcome;
    }
    if (best == GROUP_UNSCHEDULABLE) {
        buf_clear(text);
        group_placements_text(n, text);
    }
    return best;
}

enum group_outcome group_trial(struct groups *g, struct buf *text)
{
    INVARIANT(!g->cycle.run.tries.n || !vec_last(&g->cycle.run.tries).assumed);
    struct group_run kept = g->cycle.run;
    size_t placement = g->cycle.placement;
    enum group_outcome outcome = g->cycle.by_placement ? try_placements(g, text) : try_all(g, text);
    g->cycle.placement = placement;
    g->cycle.run = kept;
    return outcome;
}
