/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_cycle.h"

#include "engine/group/gang.h"
#include "engine/group/group_preemption.h"
#include "engine/group/group_submit.h"
#include "engine/internal.h"
#include "engine/preempt/eviction.h"

/* --- memory ----------------------------------------------------------------------------------- */

static void release(struct group_cycle *g)
{
    group_run_release(&g->run);
    group_run_release(&g->first);
    for (size_t i = 0; i < g->workable.n; i++)
        group_run_release(&g->workable.v[i]);
    vec_release(&g->workable);
    vec_release(&g->workable_on);
    vec_release(&g->placements.list);
    vec_release(&g->members);
    cycle_free(g->cycle);
    free((char *)g->namespace.p);
    free((char *)g->name.p);
    *g = (struct group_cycle){0};
}

/* --- a run ------------------------------------------------------------------------------------ */

static void begin_run(struct engine *e)
{
    struct group_cycle *g = &e->group;
    engine_log(&e->log, 5, "Running a pod group scheduling algorithm", KV_GROUP(g),
               KV_INT("unscheduledPodsCount", g->members.n));
    if (g->by_placement)
        engine_log(&e->log, 4, "Assuming placement in snapshot",
                   KV_STR("placement", g->placements.list.v[g->placement].name));
    g->run = (struct group_run){.outcome = GROUP_UNSCHEDULABLE};
    buf_add_cstr(&g->run.text, GROUP_UNSCHEDULABLE_TEXT);
}

static void try_next(struct engine *e)
{
    struct group_cycle *g = &e->group;
    struct berth_queued_pod *queued = g->members.v[g->run.tries.n];
    int64_t now = engine_now(e);
    vec_push(&g->run.tries, (struct group_try){.queued = queued, .began = now});
    if (queued->deleted)
        return;
    engine_log(&e->log, 4, "Attempting to schedule a pod belonging to a pod group", KV_GROUP(g),
               KV_POD(queued->pod));
    attempt_start(e, queued, now);
}

void group_finish(struct engine *e)
{
    group_submit(e, &e->group);
    gang_submitted(e);
    release(&e->group);
}

/* It is decided, unless others can be made to leave. */
static void submit(struct engine *e)
{
    scheduler_metrics_group_algorithm(e->metrics, engine_now(e) - e->group.started);
    if (!group_preempt(e))
        group_finish(e);
}

static void broke(struct engine *e, const struct cycle_failure *failure)
{
    struct group_cycle *g = &e->group;
    group_run_release(&g->run);
    g->run.outcome = failure->error ? GROUP_BROKE : GROUP_UNSCHEDULABLE;
    buf_add_str(&g->run.text, buf_str(&failure->text));
    submit(e);
}

/* --- placements ------------------------------------------------------------------------------- */

struct berth_placement *group_placement(struct engine *e)
{
    struct group_cycle *g = &e->group;
    struct berth_placement *p = g->by_placement ? &g->placements.list.v[g->placement] : NULL;
    return p && p->n < e->cache.order.n ? p : NULL;
}

/* True where there are some to try, or none are asked for. */
static bool propose(struct engine *e)
{
    struct group_cycle *g = &e->group;
    struct cycle_failure failure = {0};
    if (!e->features.on[FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING])
        return true;
    g->by_placement = true;
    g->placements = (struct berth_placements){.engine = e, .arena = &g->cycle->arena};
    struct berth_pod_group group = group_abi(e, g);
    bool ok = placement_generate(g->cycle, &group, &g->placements, &failure);
    if (!ok)
        broke(e, &failure);
    cycle_failure_release(&failure);
    return ok;
}

static bool works(const struct group_run *run)
{
    return run->outcome == GROUP_SCHEDULABLE || run->outcome == GROUP_PREEMPTS;
}

static void tell_none_available(size_t n, struct buf *text)
{
    buf_add_printf(text, "0/%zu placements are available, first placement status: %s", n,
                   GROUP_UNSCHEDULABLE_TEXT);
}

/* Where no placement works, what was said on the first one is what is told. */
static void tell_none_works(struct group_cycle *g)
{
    struct buf text = BUF_INIT;
    tell_none_available(g->placements.list.n, &text);
    g->run = g->first;
    g->first = (struct group_run){0};
    buf_release(&g->run.text);
    g->run.text = text;
}

/* The index of the best among those that work; negative: a plugin broke. */
static ssize_t choose(struct engine *e, struct cycle_failure *failure)
{
    struct group_cycle *g = &e->group;
    struct berth_placements workable = {.engine = e, .arena = &g->cycle->arena};
    struct berth_pod_group group = group_abi(e, g);
    size_t n = g->workable.n, best = 0;
    if (n == 1)
        return 0;
    int64_t *totals = arena_array(&g->cycle->arena, int64_t, n);
    for (size_t i = 0; i < n; i++) {
        placement_find_nodes(&g->workable_on.v[i], &e->cache);
        group_propose(&g->workable.v[i], &g->cycle->arena, &g->workable_on.v[i]);
        vec_push(&workable.list, g->workable_on.v[i]);
    }
    bool ok = placement_score(g->cycle, &group, &workable, totals, failure);
    uint64_t lot = rand_u64(&e->rand);
    for (size_t i = 1; ok && i < n; i++) {
        uint64_t other = rand_u64(&e->rand);
        if (totals[i] > totals[best] || (totals[i] == totals[best] && other > lot)) {
            best = i;
            lot = other;
        }
    }
    vec_release(&workable.list);
    return ok ? (ssize_t)best : -1;
}

static void take_best(struct engine *e)
{
    struct group_cycle *g = &e->group;
    struct cycle_failure failure = {0};
    if (!g->workable.n) {
        tell_none_works(g);
        submit(e);
        return;
    }
    ssize_t best = choose(e, &failure);
    if (best < 0) {
        broke(e, &failure);
    } else {
        g->run = g->workable.v[best];
        g->workable.v[best] = (struct group_run){0};
        submit(e);
    }
    cycle_failure_release(&failure);
}

/* One placement has been tried: on to the next, or to the choice. */
static void end_placement(struct engine *e)
{
    struct group_cycle *g = &e->group;
    if (g->run.outcome == GROUP_BROKE) {
        submit(e);
        return;
    }
    if (works(&g->run)) {
        vec_push(&g->workable, g->run);
        vec_push(&g->workable_on, g->placements.list.v[g->placement]);
    } else if (g->placement == 0) {
        g->first = g->run;
    } else {
        group_run_release(&g->run);
    }
    g->run = (struct group_run){0};
    if (++g->placement < g->placements.list.n)
        begin_run(e);
    else
        take_best(e);
}

/* --- from the beginning to the end ------------------------------------------------------------ */

static void end_run(struct engine *e)
{
    group_run_take_back(e, &e->group.run);
    if (e->group.by_placement)
        end_placement(e);
    else
        submit(e);
}

void group_continue(struct engine *e)
{
    struct group_cycle *g = &e->group;
    while (g->active && !g->awaits && !e->attempt.queued)
        if (g->run.tries.n < g->members.n && g->run.outcome != GROUP_BROKE)
            try_next(e);
        else
            end_run(e);
}

/* --- what if ---------------------------------------------------------------------------------- */

static enum group_outcome try_all(struct engine *e, struct buf *text)
{
    struct group_cycle *g = &e->group;
    begin_run(e);
    while (g->run.tries.n < g->members.n && g->run.outcome != GROUP_BROKE)
        try_next(e);
    group_run_take_back(e, &e->group.run);
    enum group_outcome outcome = g->run.outcome;
    if (outcome != GROUP_SCHEDULABLE && !text->n)
        buf_add_str(text, buf_str(&g->run.text));
    group_run_release(&g->run);
    return outcome;
}

static enum group_outcome try_placements(struct engine *e, struct buf *text)
{
    struct group_cycle *g = &e->group;
    enum group_outcome best = GROUP_UNSCHEDULABLE;
    size_t n = g->placements.list.n;
    for (size_t i = 0; i < n && best != GROUP_BROKE; i++) {
        g->placement = i;
        enum group_outcome outcome = try_all(e, text);
        if (outcome == GROUP_SCHEDULABLE || outcome == GROUP_BROKE)
            best = outcome;
    }
    if (best == GROUP_UNSCHEDULABLE) {
        buf_clear(text);
        tell_none_available(n, text);
    }
    return best;
}

enum group_outcome group_trial(struct engine *e, struct buf *text)
{
    struct group_cycle *g = &e->group;
    struct group_run kept = g->run;
    size_t placement = g->placement;
    g->trial = true;
    enum group_outcome outcome = g->by_placement ? try_placements(e, text) : try_all(e, text);
    g->trial = false;
    g->placement = placement;
    g->run = kept;
    return outcome;
}

/* --- beginning and end ------------------------------------------------------------------------ */

void group_drop(struct engine *e)
{
    struct group_cycle *g = &e->group;
    if (!g->active)
        return;
    if (g->awaits)
        eviction_forget_attempt(e);
    group_run_take_back(e, &e->group.run);
    for (size_t i = 0; i < g->members.n; i++)
        queue_done(&e->queue, g->members.v[i]);
    release(g);
}

/* Higher priority first, then who has been waiting longer. */
static int compare_members(const void *a, const void *b)
{
    const struct berth_queued_pod *x = *(struct berth_queued_pod *const *)a;
    const struct berth_queued_pod *y = *(struct berth_queued_pod *const *)b;
    if (x->pod->priority != y->pod->priority)
        return x->pod->priority > y->pod->priority ? -1 : 1;
    if (x->first_attempt != y->first_attempt)
        return x->first_attempt < y->first_attempt ? -1 : 1;
    return str_cmp(x->pod->pod->metadata.name, y->pod->pod->metadata.name);
}

/* Pops all of the group that waits. */
static void gather(struct engine *e, struct berth_queued_pod *first, int64_t now)
{
    struct group_cycle *g = &e->group;
    const struct pod_group_state *state =
        pod_groups_get(&e->cluster.pod_groups, g->namespace, g->name);
    vec_push(&g->members, first);
    for (size_t i = 0; state && i < state->members.n; i++) {
        const struct group_member *m = state->members.v[i];
        if (m->state != MEMBER_UNSCHEDULED)
            continue;
        struct berth_queued_pod *queued = queue_pop_pod(&e->queue, pod_info_key(m->pod), now);
        if (queued)
            vec_push(&g->members, queued);
        else if (m->pod->pod != first->pod->pod)
            engine_log(&e->log, 5,
                       "Pod available in pod group state not available in scheduling queue",
                       KV_GROUP(g), KV_POD(m->pod));
    }
    qsort(g->members.v, g->members.n, sizeof(*g->members.v), compare_members);
}

/* Those that are on their way out need no node. */
static void sort_out(struct engine *e)
{
    struct group_cycle *g = &e->group;
    size_t n = 0;
    for (size_t i = 0; i < g->members.n; i++)
        if (!engine_skips(e, g->members.v[i]))
            g->members.v[n++] = g->members.v[i];
    g->members.n = n;
}

/* All have to want the same scheduler. */
static bool agree(struct engine *e)
{
    struct group_cycle *g = &e->group;
    struct cycle_failure failure = {0};
    bool same = true;
    g->profile = g->members.v[0]->profile;
    for (size_t i = 1; same && i < g->members.n; i++) {
        const struct profile *p = g->members.v[i]->profile;
        same = p == g->profile;
        if (!same)
            cycle_failure_error(&failure,
                                "all pods in a single pod group should have the same "
                                ".spec.schedulerName set, got: \"%.*s\" and \"%.*s\"",
                                STR_ARG(p->scheduler_name), STR_ARG(g->profile->scheduler_name));
    }
    if (!same) {
        group_submit_disagreement(e, g, &failure);
        release(g);
    }
    cycle_failure_release(&failure);
    return same;
}

void group_start(struct engine *e, struct berth_queued_pod *queued, int64_t now)
{
    struct group_cycle *g = &e->group;
    const struct pod *pod = queued->pod->pod;
    *g = (struct group_cycle){.active = true,
                              .namespace = str_of(str_dup(pod->metadata.namespace)),
                              .name = str_of(str_dup(pod_group_of(pod)))};
    gather(e, queued, now);
    if (!agree(e))
        return;
    sort_out(e);
    if (!g->members.n) {
        release(g);
        return;
    }
    engine_log(&e->log, 3, "Attempting to schedule pod group", KV_GROUP(g));
    g->started = engine_now(e);
    g->cycle = cycle_new(e, g->profile);
    g->cycle->in_group = true;
    if (!propose(e))
        return;
    begin_run(e);
    group_continue(e);
}
