/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_submit.h"

#include "api/scheduling.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/preempt/preemption.h"

/* --- members ---------------------------------------------------------------------------------- */

/* Puts a member back into the queue. Takes it over, and its cycle if it has one. */
static void put_back(struct groups *g, struct group_try *t, const struct cycle_failure *failure)
{
    struct berth_cycle *cycle = TAKE(t->cycle);
    if (!cycle) {
        cycle = cycle_new(g->cycles, t->queued->profile);
        explain_end_attempt(g->report->explain, cycle);
    }
    report_failed(g->report, t->queued, failure, framework_now(g->framework) - t->lasted, cycle);
    cycle_free(cycle);
}

/* With the group's text, since the member itself was not rejected. */
static void put_back_with(struct groups *g, struct group_try *t, struct cycle_failure failure,
                          struct str text)
{
    failure.of_group = true;
    buf_add_str(&failure.text, text);
    put_back(g, t, &failure);
    cycle_failure_release(&failure);
}

/* The member has a node and Permit holds it, but the group is not schedulable. */
static void put_back_held(struct groups *g, struct group_try *t)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, GROUP_UNSCHEDULABLE_TEXT ", %s", buf_cstr(&t->permit));
    put_back_with(g, t, (struct cycle_failure){0}, buf_str(&text));
    buf_release(&text);
}

/* Returns false if the binding has failed already. */
static bool bind(struct groups *g, struct group_try *t)
{
    struct berth_node *node = cache_node(g->framework->cache, t->node_name);
    if (!node || !node->object) {
        put_back_with(g, t, (struct cycle_failure){.error = true},
                      STR("the node went away while extenders were asked"));
        return false;
    }
    struct berth_cycle *cycle = TAKE(t->cycle);
    struct berth_pod *pod = pod_info_ref(t->queued->pod);
    cycle->in_group = false;
    binding_start(g->bindings, t->queued, cycle, node, framework_now(g->framework) - t->lasted);
    bool placed = cache_pod(g->framework->cache, pod_info_key(pod));
    pod_info_unref(pod);
    return placed;
}

/*
 * BerthGangsHoldNothing: if groups preempt as a whole and this one found no room, it waits for no
 * victims, so nominations of earlier attempts are cleared.
 */
static bool clears_nominations(const struct groups *g, const struct group_run *run)
{
    const struct features *features = &g->framework->features;
    return run->outcome == GROUP_UNSCHEDULABLE && features->on[FEATURE_BERTH_GANGS_HOLD_NOTHING] &&
           features->on[FEATURE_WORKLOAD_AWARE_PREEMPTION];
}

/* The group waits for its victims, or is unschedulable. */
static void submit_rejected(struct groups *g, const struct group_run *run, struct group_try *t)
{
    bool waits = run->outcome == GROUP_PREEMPTS, keeps = !clears_nominations(g, run);
    t->failure.keep_nomination &= keeps;
    if (!t->cycle)
        put_back_with(g, t, (struct cycle_failure){.keep_nomination = keeps}, buf_str(&run->text));
    else if (t->fits && waits)
        put_back_with(g, t, (struct cycle_failure){.nominated_node = t->node_name},
                      buf_str(&run->text));
    else if (t->fits || (t->preempts && !waits))
        put_back_held(g, t);
    else
        put_back(g, t, &t->failure);
}

static void submit_broken(struct groups *g, const struct group_run *run, struct group_try *t)
{
    if (t->cycle && !t->fits && t->failure.error) {
        t->failure.keep_nomination = false;
        t->failure.nominated_node = STR("");
        put_back(g, t, &t->failure);
    } else {
        put_back_with(g, t, (struct cycle_failure){.error = true}, buf_str(&run->text));
    }
}

/* Returns whether the member is being bound. */
static bool submit_member(struct groups *g, const struct group_run *run, struct group_try *t)
{
    if (t->queued->deleted) {
        queue_done(g->queue, t->queued);
        return false;
    }
    switch (run->outcome) {
    case GROUP_BROKE:
        submit_broken(g, run, t);
        break;
    case GROUP_SCHEDULABLE:
        if (t->fits)
            return bind(g, t);
        put_back(g, t, &t->failure);
        break;
    case GROUP_UNSCHEDULABLE:
    case GROUP_PREEMPTS:
        submit_rejected(g, run, t);
        break;
    }
    return false;
}

/* BerthGangPreemption: the whole gang will fit, so the victims that were held back are evicted. */
static void evict_held_back(struct group_run *run)
{
    struct map evicted = MAP_INIT;
    for (size_t i = 0; run->outcome == GROUP_PREEMPTS && i < run->tries.n; i++)
        if (run->tries.v[i].preempts && !run->tries.v[i].queued->deleted)
            preemption_carry_out(run->tries.v[i].cycle, &evicted);
    map_release(&evicted);
}

/* --- the group's condition -------------------------------------------------------------------- */

static const struct condition *scheduled_condition(const struct pod_group *group)
{
    for (size_t i = 0; i < group->status.conditions.n; i++)
        if (str_is(group->status.conditions.v[i].type, POD_GROUP_SCHEDULED))
            return &group->status.conditions.v[i];
    return NULL;
}

/* A condition that is True stays True; an equal one is not written again. */
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

static void submit_condition(const struct groups *g)
{
    const struct group_cycle *c = &g->cycle;
    struct object *object =
        objects_get(&g->framework->cluster->objects, KIND_POD_GROUP, c->namespace, c->name);
    static const char *const reasons[] = {[GROUP_UNSCHEDULABLE] = "Unschedulable",
                                          [GROUP_SCHEDULABLE] = "Scheduled",
                                          [GROUP_PREEMPTS] = "Unschedulable",
                                          [GROUP_BROKE] = "SchedulerError"};
    bool scheduled = c->run.outcome == GROUP_SCHEDULABLE;
    struct write write = {.kind = WRITE_POD_GROUP_STATUS,
                          .object = object,
                          .scheduler_name = c->profile->scheduler_name,
                          .scheduled = scheduled,
                          .reason = str_of(reasons[c->run.outcome]),
                          .message = scheduled ? STR("") : buf_str(&c->run.text)};
    if (object && is_news(object_pod_group(object), &write))
        framework_submit(g->framework, &write);
}

static void log_outcome(const struct groups *g, size_t placed)
{
    static const enum metric_group_result results[] = {
        [GROUP_SCHEDULABLE] = METRIC_GROUP_SCHEDULED,
        [GROUP_UNSCHEDULABLE] = METRIC_GROUP_UNSCHEDULABLE,
        [GROUP_PREEMPTS] = METRIC_GROUP_WAITING_ON_PREEMPTION,
        [GROUP_BROKE] = METRIC_GROUP_ERROR,
    };
    const struct framework *fw = g->framework;
    const struct group_cycle *c = &g->cycle;
    struct log_kv others = KV_INT("unschedulablePods", c->members.n - placed);
    switch (c->run.outcome) {
    case GROUP_SCHEDULABLE:
        engine_log(&fw->log, 2, "Successfully scheduled a pod group", KV_GROUP(c),
                   KV_INT("scheduledPods", placed), others);
        break;
    case GROUP_PREEMPTS:
        engine_log(&fw->log, 2, "Pod group is waiting for preemption", KV_GROUP(c), others);
        break;
    case GROUP_UNSCHEDULABLE:
        engine_log(&fw->log, 2, "Unable to schedule a pod group", KV_GROUP(c), others);
        break;
    case GROUP_BROKE:
        engine_log_error(&fw->log, "Error scheduling pod group",
                         KV_STR("err", buf_str(&c->run.text)), KV_CSTR("logger", "UnhandledError"),
                         KV_GROUP(c), KV_INT("errorPods", c->members.n));
        break;
    }
    scheduler_metrics_group_attempt(fw->metrics, c->profile->scheduler_name,
                                    results[c->run.outcome], framework_now(fw) - c->started);
}

void group_submit(struct groups *g)
{
    struct group_cycle *c = &g->cycle;
    struct group_run *run = &c->run;
    size_t placed = 0;
    /* Members that were not tried get the group's outcome. */
    for (size_t i = run->tries.n; i < c->members.n; i++)
        vec_push(&run->tries, (struct group_try){.queued = c->members.v[i]});
    evict_held_back(run);
    for (size_t i = 0; i < run->tries.n; i++)
        placed += submit_member(g, run, &run->tries.v[i]);
    log_outcome(g, placed);
    submit_condition(g);
}

void group_submit_error(struct groups *g, const struct cycle_failure *failure)
{
    for (size_t i = 0; i < g->cycle.members.n; i++) {
        struct group_try t = {.queued = g->cycle.members.v[i]};
        put_back(g, &t, failure);
    }
}

/* --- what plugins see ------------------------------------------------------------------------- */

struct berth_pod_group group_abi(const struct groups *g)
{
    struct cluster *cluster = g->framework->cluster;
    const struct group_cycle *c = &g->cycle;
    return (struct berth_pod_group){
        .namespace = c->namespace,
        .name = c->name,
        .object = objects_get(&cluster->objects, KIND_POD_GROUP, c->namespace, c->name),
        .state = pod_groups_get(&cluster->pod_groups, c->namespace, c->name)};
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
