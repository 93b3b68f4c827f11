/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_cycle.h"

#include "engine/group/gang.h"
#include "engine/group/group_preemption.h"
#include "engine/group/group_submit.h"
#include "engine/metrics/scheduler_metrics.h"

/* --- the end ---------------------------------------------------------------------------------- */

static void release(struct group_cycle *c)
{
    group_run_release(&c->run);
    group_run_release(&c->first);
    for (size_t i = 0; i < c->workable.n; i++)
        group_run_release(&c->workable.v[i]);
    vec_release(&c->workable);
    vec_release(&c->workable_on);
    vec_release(&c->placements.list);
    vec_release(&c->members);
    cycle_free(c->cycle);
    free((char *)c->namespace.p);
    free((char *)c->name.p);
    *c = (struct group_cycle){0};
}

void group_drop(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    if (!c->active)
        return;
    if (c->waits)
        evictions_forget_attempt(g->evictions);
    group_run_undo(g, &c->run);
    for (size_t i = 0; i < c->members.n; i++)
        queue_done(g->queue, c->members.v[i]);
    release(c);
}

/* Binds the members or puts them back: the group's cycle is over. */
static void finish(struct groups *g)
{
    group_submit(g);
    gang_submitted(g);
    release(&g->cycle);
}

/* c->run has the outcome, unless evicting other pods makes room. */
static void decide(struct groups *g)
{
    struct framework *fw = g->framework;
    scheduler_metrics_group_algorithm(fw->metrics, framework_now(fw) - g->cycle.started);
    g->cycle.waits = group_preempt(g);
    if (!g->cycle.waits)
        finish(g);
}

void group_evicted(struct groups *g, struct str error)
{
    INVARIANT(g->cycle.waits);
    g->cycle.waits = false;
    group_preempted(&g->cycle.run, str_empty(error) ? BERTH_SUCCESS : BERTH_ERROR, error);
    finish(g);
}

static void fail(struct groups *g, const struct cycle_failure *failure)
{
    struct group_cycle *c = &g->cycle;
    group_run_release(&c->run);
    c->run.outcome = failure->error ? GROUP_BROKE : GROUP_UNSCHEDULABLE;
    buf_add_str(&c->run.text, buf_str(&failure->text));
    decide(g);
}

/* --- placements ------------------------------------------------------------------------------- */

/* Returns true if there are placements to try, or none are needed. */
static bool propose(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    struct cycle_failure failure = {0};
    if (!g->framework->features.on[FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING])
        return true;
    c->by_placement = true;
    c->placements =
        (struct berth_placements){.cache = g->framework->cache, .arena = &c->cycle->arena};
    struct berth_pod_group group = group_abi(g);
    bool ok = placement_generate(c->cycle, &group, &c->placements, &failure);
    if (!ok)
        fail(g, &failure);
    cycle_failure_release(&failure);
    return ok;
}

static bool works(const struct group_run *run)
{
    return run->outcome == GROUP_SCHEDULABLE || run->outcome == GROUP_PREEMPTS;
}

/* No placement works: upstream reports the result of the first one. */
static void take_first(struct group_cycle *c)
{
    struct buf text = BUF_INIT;
    group_placements_text(c->placements.list.n, &text);
    c->run = c->first;
    c->first = (struct group_run){0};
    buf_release(&c->run.text);
    c->run.text = text;
}

/* The index of the best among those that work; negative: a plugin failed. */
static ssize_t choose(struct groups *g, struct cycle_failure *failure)
{
    struct group_cycle *c = &g->cycle;
    struct berth_placements workable = {.cache = g->framework->cache, .arena = &c->cycle->arena};
    struct berth_pod_group group = group_abi(g);
    size_t n = c->workable.n, best = 0;
    if (n == 1)
        return 0;
    int64_t *totals = arena_array(&c->cycle->arena, int64_t, n);
    for (size_t i = 0; i < n; i++) {
        placement_find_nodes(&c->workable_on.v[i], g->framework->cache);
        group_propose(&c->workable.v[i], &c->cycle->arena, &c->workable_on.v[i]);
        vec_push(&workable.list, c->workable_on.v[i]);
    }
    bool ok = placement_score(c->cycle, &group, &workable, totals, failure);
    uint64_t tie = rand_u64(&g->framework->rand);
    for (size_t i = 1; ok && i < n; i++) {
        uint64_t other = rand_u64(&g->framework->rand);
        if (totals[i] > totals[best] || (totals[i] == totals[best] && other > tie)) {
            best = i;
            tie = other;
        }
    }
    vec_release(&workable.list);
    return ok ? (ssize_t)best : -1;
}

static void take_best(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    struct cycle_failure failure = {0};
    if (!c->workable.n) {
        take_first(c);
        decide(g);
        return;
    }
    ssize_t best = choose(g, &failure);
    if (best < 0) {
        fail(g, &failure);
    } else {
        c->run = c->workable.v[best];
        c->workable.v[best] = (struct group_run){0};
        decide(g);
    }
    cycle_failure_release(&failure);
}

/* One placement has been tried: continues with the next, or with the choice. */
static void end_placement(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    if (c->run.outcome == GROUP_BROKE) {
        decide(g);
        return;
    }
    if (works(&c->run)) {
        vec_push(&c->workable, c->run);
        vec_push(&c->workable_on, c->placements.list.v[c->placement]);
    } else if (c->placement == 0) {
        c->first = c->run;
    } else {
        group_run_release(&c->run);
    }
    c->run = (struct group_run){0};
    if (++c->placement < c->placements.list.n)
        group_run_begin(g);
    else
        take_best(g);
}

/* --- members in turn -------------------------------------------------------------------------- */

struct berth_queued_pod *group_next(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    while (c->active && !c->waits) {
        struct berth_queued_pod *member = group_run_next(g);
        if (member)
            return member;
        group_run_undo(g, &c->run);
        if (c->by_placement)
            end_placement(g);
        else
            decide(g);
    }
    return NULL;
}

/* --- the start -------------------------------------------------------------------------------- */

/* Upstream: higher priority first, then the longer wait, then the name. */
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

/* Pops all members that wait. */
static void gather(struct groups *g, struct berth_queued_pod *first, int64_t now)
{
    struct group_cycle *c = &g->cycle;
    const struct pod_group_state *state =
        pod_groups_get(&g->framework->cluster->pod_groups, c->namespace, c->name);
    vec_push(&c->members, first);
    for (size_t i = 0; state && i < state->members.n; i++) {
        const struct group_member *m = state->members.v[i];
        if (m->state != MEMBER_UNSCHEDULED)
            continue;
        struct berth_queued_pod *queued = queue_pop_pod(g->queue, pod_info_key(m->pod), now);
        if (queued)
            vec_push(&c->members, queued);
        else if (m->pod->pod != first->pod->pod)
            engine_log(&g->framework->log, 5,
                       "Pod available in pod group state not available in scheduling queue",
                       KV_GROUP(c), KV_POD(m->pod));
    }
    qsort(c->members.v, c->members.n, sizeof(*c->members.v), compare_members);
}

/* Members that are being deleted need no node. */
static void skip_deleting(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    size_t n = 0;
    for (size_t i = 0; i < c->members.n; i++)
        if (!report_skip_deleting(g->report, c->members.v[i]))
            c->members.v[n++] = c->members.v[i];
    c->members.n = n;
}

/* All members must name the same scheduler; otherwise the cycle ends here. */
static bool check_profiles(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    struct cycle_failure failure = {0};
    bool same = true;
    c->profile = c->members.v[0]->profile;
    for (size_t i = 1; same && i < c->members.n; i++) {
        const struct profile *p = c->members.v[i]->profile;
        same = p == c->profile;
        if (!same)
            cycle_failure_error(&failure,
                                "all pods in a single pod group should have the same "
                                ".spec.schedulerName set, got: \"%.*s\" and \"%.*s\"",
                                STR_ARG(p->scheduler_name), STR_ARG(c->profile->scheduler_name));
    }
    if (!same) {
        group_submit_error(g, &failure);
        release(c);
    }
    cycle_failure_release(&failure);
    return same;
}

void group_start(struct groups *g, struct berth_queued_pod *queued, int64_t now)
{
    struct group_cycle *c = &g->cycle;
    const struct pod *pod = queued->pod->pod;
    INVARIANT(!c->active);
    *c = (struct group_cycle){.active = true,
                              .namespace = str_of(str_dup(pod->metadata.namespace)),
                              .name = str_of(str_dup(pod_group_of(pod)))};
    gather(g, queued, now);
    if (!check_profiles(g))
        return;
    skip_deleting(g);
    if (!c->members.n) {
        release(c);
        return;
    }
    engine_log(&g->framework->log, 3, "Attempting to schedule pod group", KV_GROUP(c));
    c->started = framework_now(g->framework);
    c->cycle = cycle_new(g->cycles, c->profile);
    c->cycle->in_group = true;
    if (propose(g))
        group_run_begin(g);
}
