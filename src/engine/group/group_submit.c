/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_submit.h"

#include "api/scheduling.h"
#include "engine/internal.h"
#include "engine/preempt/preemption.h"

/* --- members ---------------------------------------------------------------------------------- */

/* Back into the queue. Takes the member, and its cycle where it has one. */
static void put_back(struct engine *e, struct group_try *t, const struct cycle_failure *failure)
{
    struct berth_cycle *cycle = TAKE(t->cycle);
    if (!cycle) {
        cycle = cycle_new(e, t->queued->profile);
        cycle_end_attempt(cycle);
    }
    engine_attempt_failed(e, t->queued, failure, engine_now(e) - t->lasted, cycle);
    cycle_free(cycle);
}

/* In the group's words, since the member itself did nothing wrong. */
static void put_back_saying(struct engine *e, struct group_try *t, struct cycle_failure failure,
                            struct str text)
{
    failure.of_group = true;
    buf_add_str(&failure.text, text);
    put_back(e, t, &failure);
    cycle_failure_release(&failure);
}

/* It could go to a node; Permit holds it, and the group does not come. */
static void put_back_held(struct engine *e, struct group_try *t)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, GROUP_UNSCHEDULABLE_TEXT ", %s", buf_cstr(&t->permit));
    put_back_saying(e, t, (struct cycle_failure){0}, buf_str(&text));
    buf_release(&text);
}

/* False: it came to nothing at once. */
static bool bind(struct engine *e, struct group_try *t)
{
    struct berth_node *node = cache_node(&e->cache, t->node_name);
    if (!node || !node->object) {
        put_back_saying(e, t, (struct cycle_failure){.error = true},
                        STR("the node went away while extenders were asked"));
        return false;
    }
    struct berth_cycle *cycle = TAKE(t->cycle);
    struct berth_pod *pod = pod_info_ref(t->queued->pod);
    cycle->in_group = false;
    binding_start(e, t->queued, cycle, node, engine_now(e) - t->lasted);
    bool placed = cache_pod(&e->cache, pod_info_key(pod));
    pod_info_unref(pod);
    return placed;
}

/*
 * BerthGangsHoldNothing: where groups preempt as a whole, no victims are left to be waited for once
 * this one has found no place, so that a promise from before is worth nothing.
 */
static bool clears_nominations(const struct engine *e, const struct group_run *run)
{
    return run->outcome == GROUP_UNSCHEDULABLE &&
           e->features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING] &&
           e->features.on[FEATURE_WORKLOAD_AWARE_PREEMPTION];
}

/* The group is as good as placed once its victims are gone, or it is not placed at all. */
static void submit_rejected(struct engine *e, const struct group_run *run, struct group_try *t)
{
    bool waits = run->outcome == GROUP_PREEMPTS, keeps = !clears_nominations(e, run);
    t->failure.keep_nomination &= keeps;
    if (!t->cycle)
        put_back_saying(e, t, (struct cycle_failure){.keep_nomination = keeps},
                        buf_str(&run->text));
    else if (t->fits && waits)
        put_back_saying(e, t, (struct cycle_failure){.nominated_node = t->node_name},
                        buf_str(&run->text));
    else if (t->fits || (t->preempts && !waits))
        put_back_held(e, t);
    else
        put_back(e, t, &t->failure);
}

static void submit_broken(struct engine *e, const struct group_run *run, struct group_try *t)
{
    if (t->cycle && !t->fits && t->failure.error) {
        t->failure.keep_nomination = false;
        t->failure.nominated_node = STR("");
        put_back(e, t, &t->failure);
    } else {
        put_back_saying(e, t, (struct cycle_failure){.error = true}, buf_str(&run->text));
    }
}

/* True: it has a node, be it in mind only. */
static bool submit_member(struct engine *e, const struct group_run *run, struct group_try *t)
{
    if (t->queued->deleted) {
        queue_done(&e->queue, t->queued);
        return false;
    }
    switch (run->outcome) {
    case GROUP_BROKE:
        submit_broken(e, run, t);
        break;
    case GROUP_SCHEDULABLE:
        if (t->fits)
            return bind(e, t);
        put_back(e, t, &t->failure);
        break;
    case GROUP_UNSCHEDULABLE:
    case GROUP_PREEMPTS:
        submit_rejected(e, run, t);
        break;
    }
    return false;
}

/* BerthGangPreemption: now that all of the gang will fit, who is in its way leaves. */
static void evict_held_back(struct group_run *run)
{
    struct map told = MAP_INIT;
    for (size_t i = 0; run->outcome == GROUP_PREEMPTS && i < run->tries.n; i++)
        if (run->tries.v[i].preempts && !run->tries.v[i].queued->deleted)
            preemption_carry_out(run->tries.v[i].cycle, &told);
    map_release(&told);
}

/* --- the group's condition -------------------------------------------------------------------- */

static const struct condition *scheduled_condition(const struct pod_group *group)
{
    for (size_t i = 0; i < group->status.conditions.n; i++)
        if (str_is(group->status.conditions.v[i].type, POD_GROUP_SCHEDULED))
            return &group->status.conditions.v[i];
    return NULL;
}

/* What is true stays true, and what is said already is not said again. */
static bool is_news(const struct pod_group *group, const struct write *write)
{
    const struct condition *old = scheduled_condition(group);
    if (!old)
        return true;
    bool was = str_is(old->status, "True");
    if (was && !write->scheduled)
        return false;
    return was != write->scheduled || !str_eq(old->reason, write->reason) ||
           !str_eq(old->message, write->message) ||
           old->observed_generation != group->metadata.generation;
}

static void tell_condition(struct engine *e, const struct group_cycle *g)
{
    struct object *object = objects_get(&e->cluster.objects, KIND_POD_GROUP, g->namespace, g->name);
    static const char *const reasons[] = {[GROUP_UNSCHEDULABLE] = "Unschedulable",
                                          [GROUP_SCHEDULABLE] = "Scheduled",
                                          [GROUP_PREEMPTS] = "Unschedulable",
                                          [GROUP_BROKE] = "SchedulerError"};
    bool scheduled = g->run.outcome == GROUP_SCHEDULABLE;
    struct write write = {.kind = WRITE_POD_GROUP_STATUS,
                          .object = object,
                          .scheduler_name = g->profile->scheduler_name,
                          .scheduled = scheduled,
                          .reason = str_of(reasons[g->run.outcome]),
                          .message = scheduled ? STR("") : buf_str(&g->run.text)};
    if (object && is_news(object_pod_group(object), &write))
        e->ports.submit(e->ports.ctx, &write);
}

static void tell_outcome(struct engine *e, const struct group_cycle *g, size_t placed)
{
    static const enum metric_group_result results[] = {
        [GROUP_SCHEDULABLE] = METRIC_GROUP_SCHEDULED,
        [GROUP_UNSCHEDULABLE] = METRIC_GROUP_UNSCHEDULABLE,
        [GROUP_PREEMPTS] = METRIC_GROUP_WAITING_ON_PREEMPTION,
        [GROUP_BROKE] = METRIC_GROUP_ERROR,
    };
    struct log_kv others = KV_INT("unschedulablePods", g->members.n - placed);
    switch (g->run.outcome) {
    case GROUP_SCHEDULABLE:
        engine_log(&e->log, 2, "Successfully scheduled a pod group", KV_GROUP(g),
                   KV_INT("scheduledPods", placed), others);
        break;
    case GROUP_PREEMPTS:
        engine_log(&e->log, 2, "Pod group is waiting for preemption", KV_GROUP(g), others);
        break;
    case GROUP_UNSCHEDULABLE:
        engine_log(&e->log, 2, "Unable to schedule a pod group", KV_GROUP(g), others);
        break;
    case GROUP_BROKE:
        engine_log_error(&e->log, "Error scheduling pod group",
                         KV_STR("err", buf_str(&g->run.text)), KV_CSTR("logger", "UnhandledError"),
                         KV_GROUP(g), KV_INT("errorPods", g->members.n));
        break;
    }
    scheduler_metrics_group_attempt(e->metrics, g->profile->scheduler_name, results[g->run.outcome],
                                    engine_now(e) - g->started);
}

void group_submit(struct engine *e, struct group_cycle *g)
{
    struct group_run *run = &g->run;
    size_t placed = 0;
    /* Members that were not tried share the group's fate. */
    for (size_t i = run->tries.n; i < g->members.n; i++)
        vec_push(&run->tries, (struct group_try){.queued = g->members.v[i]});
    evict_held_back(run);
    for (size_t i = 0; i < run->tries.n; i++)
        placed += submit_member(e, run, &run->tries.v[i]);
    tell_outcome(e, g, placed);
    tell_condition(e, g);
}

void group_submit_disagreement(struct engine *e, struct group_cycle *g,
                               const struct cycle_failure *failure)
{
    for (size_t i = 0; i < g->members.n; i++) {
        struct group_try t = {.queued = g->members.v[i]};
        put_back(e, &t, failure);
    }
}

/* --- what plugins see ------------------------------------------------------------------------- */

struct berth_pod_group group_abi(struct engine *e, const struct group_cycle *g)
{
    return (struct berth_pod_group){
        .namespace = g->namespace,
        .name = g->name,
        .object = objects_get(&e->cluster.objects, KIND_POD_GROUP, g->namespace, g->name),
        .state = pod_groups_get(&e->cluster.pod_groups, g->namespace, g->name)};
}

void group_propose(const struct group_run *run, struct arena *arena,
                   struct berth_placement *placement)
{
    struct placement_pod *pods = arena_array(arena, struct placement_pod, run->tries.n);
    size_t n = 0;
    for (size_t i = 0; i < run->tries.n; i++)
        if (!str_empty(run->tries.v[i].node_name))
            pods[n++] =
                (struct placement_pod){run->tries.v[i].queued->pod, run->tries.v[i].node_name};
    placement->pods = pods;
    placement->n_pods = n;
}
