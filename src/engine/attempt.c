/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/attempt.h"

#include "api/scheduling.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/extender_calls.h"
#include "engine/cycle/post_filter.h"
#include "engine/explain/survey.h"
#include "engine/preempt/preemption.h"
#include "engine/rooms.h"

#define VANISHED "node(s) went away while extenders were asked"

/* --- memory ----------------------------------------------------------------------------------- */

/* The stage after an attempt: a group continues with its next member. */
static enum attempt_stage next_attempt(const struct engine *e)
{
    return e->groups.cycle.active ? ATTEMPT_GROUP : ATTEMPT_IDLE;
}

/* Frees what the attempt owns; queued pod and cycle belong to another room now. */
static enum attempt_stage end(struct engine *e)
{
    struct attempt *a = &e->attempt;
    cycle_failure_release(&a->failure);
    pod_info_unref(a->pod);
    vec_clear(&e->cycles.waits);
    a->queued = NULL;
    return next_attempt(e);
}

/* Ends it without a report: the pod is gone, or the engine ends. */
static void drop(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (!a->queued)
        return;
    evictions_forget_attempt(&e->evictions);
    cycle_free(a->cycle);
    if (!e->groups.cycle.active)
        queue_done(&e->queue, a->queued);
    a->stage = end(e);
}

void attempt_release(struct engine *e)
{
    drop(e);
    group_drop(&e->groups);
    e->attempt.stage = ATTEMPT_IDLE;
}

static bool waits(const struct engine *e)
{
    return e->cycles.waits.n || e->attempt.stage == ATTEMPT_POST_FILTER_ANSWER ||
           e->groups.cycle.waits;
}

/* --- the start -------------------------------------------------------------------------------- */

/* A pod in flight keeps the profile of its cycle, also over a reload: queued_pod.h. */
static struct berth_cycle *new_cycle(struct engine *e)
{
    struct berth_queued_pod *queued = e->attempt.queued;
    if (e->groups.cycle.active)
        return group_run_new_cycle(&e->groups, queued);
    struct berth_cycle *cycle = cycle_new(&e->cycles, queued->profile);
    cycle->queued = queued;
    return cycle;
}

static enum attempt_stage start(struct engine *e, struct berth_queued_pod *queued, int64_t started)
{
    struct attempt *a = &e->attempt;
    INVARIANT(!a->queued && !waits(e));
    *a = (struct attempt){.queued = queued, .pod = pod_info_ref(queued->pod), .started = started};
    a->cycle = new_cycle(e);
    return ATTEMPT_PRE_FILTER;
}

/* Pops a pod; a pod of a group brings the whole group. Returns false if none is ready. */
static bool pop(struct engine *e)
{
    const struct framework *fw = &e->framework;
    int64_t now = engine_now(e);
    struct berth_queued_pod *queued = queue_pop(&e->queue, now);
    if (!queued)
        return false;
    engine_log(&fw->log, 4, "About to try and schedule pod", KV_POD(queued->pod));
    if (fw->features.on[FEATURE_GANG_SCHEDULING] && !str_empty(pod_group_of(queued->pod->pod))) {
        group_start(&e->groups, queued, now);
        e->attempt.stage = ATTEMPT_GROUP;
    } else if (!report_skip_deleting(&e->report, queued)) {
        engine_log(&fw->log, 3, "Attempting to schedule pod", KV_POD(queued->pod));
        e->attempt.stage = start(e, queued, now);
    }
    return true;
}

static enum attempt_stage next_member(struct engine *e)
{
    struct berth_queued_pod *member = group_next(&e->groups);
    return member ? start(e, member, engine_now(e)) : next_attempt(e);
}

/* --- the end ---------------------------------------------------------------------------------- */

static enum attempt_stage fail(const struct attempt *a)
{
    cycle_algorithm_done(a->cycle, a->started);
    return ATTEMPT_FAILED;
}

static enum attempt_stage failed(struct engine *e)
{
    struct attempt *a = &e->attempt;
    explain_end_attempt(&e->explain, a->cycle);
    if (e->groups.cycle.active) {
        group_run_failed(&e->groups, a->cycle, &a->failure);
    } else {
        report_failed(&e->report, a->queued, &a->failure, a->started, a->cycle);
        cycle_free(a->cycle);
    }
    return end(e);
}

static int64_t weighted_score(const struct plugin_scores *row, size_t i)
{
    return (row->normalized ? row->normalized[i] : row->scores[0]) * row->handle->weight;
}

static void log_scores(const struct attempt *a)
{
    const struct berth_cycle *cycle = a->cycle;
    const struct engine_log *log = &cycle->framework->log;
    for (size_t i = 0; i < cycle->n_slots; i++)
        for (size_t k = 0; k < cycle->plugin_scores.n; k++)
            engine_log(log, 10, "Plugin scored node for pod", KV_POD(a->pod),
                       KV_CSTR("plugin", cycle->plugin_scores.v[k].handle->plugin->name),
                       KV_STR("node", cycle_feasible_name(cycle, i)),
                       KV_INT("score", weighted_score(&cycle->plugin_scores.v[k], i)));
    for (size_t i = 0; i < cycle->n_slots; i++) {
        int64_t total = cycle->scores[i];
        /* Totals do not include scores that all nodes have in common: score.c. */
        for (size_t k = 0; k < cycle->plugin_scores.n; k++)
            if (!cycle->plugin_scores.v[k].normalized)
                total += weighted_score(&cycle->plugin_scores.v[k], i);
        engine_log(log, 10, "Calculated node's final score for pod", KV_POD(a->pod),
                   KV_STR("node", cycle_feasible_name(cycle, i)), KV_INT("score", total));
    }
}

static enum attempt_stage choose(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (engine_log_on(&e->framework.log, 10) && a->cycle->n_slots > 1)
        log_scores(a);
    struct berth_node *node = cycle_choose(a->cycle);
    cycle_algorithm_done(a->cycle, a->started);
    explain_end_attempt(&e->explain, a->cycle);
    if (e->groups.cycle.active)
        group_run_placed(&e->groups, a->cycle, node);
    else
        binding_start(&e->bindings, a->queued, a->cycle, node, a->started);
    return end(e);
}

/* --- PreFilter and Filter --------------------------------------------------------------------- */

static enum attempt_stage pre_filter(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (!cycle_pre_filter(a->cycle, a->pod, &a->failure)) {
        bool rejected = a->cycle->pre_filter_code != BERTH_SUCCESS && !a->failure.error;
        return rejected ? ATTEMPT_POST_FILTER : fail(a);
    }
    if (e->surveys)
        survey_filters(a->cycle, a->pod);
    return ATTEMPT_FILTER;
}

static enum attempt_stage filter(struct attempt *a)
{
    a->nominated_only = !a->nominated_refused && cycle_try_nominated(a->cycle, a->pod, &a->failure);
    a->next_extender = 0;
    if (!a->nominated_only && !cycle_filter(a->cycle, a->pod, &a->failure))
        return fail(a);
    return ATTEMPT_EXTENDER_FILTER;
}

static enum attempt_stage unfit(struct attempt *a)
{
    cycle_unfit(a->cycle, &a->failure);
    return ATTEMPT_POST_FILTER;
}

/* --- extenders -------------------------------------------------------------------------------- */

/* The configuration that the attempt began with. */
static const struct setup *setup_of(const struct attempt *a)
{
    return a->cycle->profile->setup;
}

static struct verdict *new_verdicts(struct berth_cycle *cycle)
{
    struct verdict *v = arena_array(&cycle->arena, struct verdict, cycle->n_slots);
    for (size_t i = 0; i < cycle->n_slots; i++)
        v[i] = (struct verdict){.plugin = VERDICT_NONE};
    return v;
}

/* Drops the feasible nodes that the verdicts refuse, and those that no longer exist. */
static void narrow(struct attempt *a, struct verdict *verdicts)
{
    struct berth_cycle *cycle = a->cycle;
    uint16_t plugin = setup_of(a)->extender_plugin;
    size_t before = cycle->n_slots;
    for (size_t i = 0; i < before; i++)
        if (verdicts[i].code == BERTH_SUCCESS && !cycle_still_there(cycle, i))
            verdicts[i] = (struct verdict){BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, plugin,
                                           reasons_text(&cycle->framework->reasons, STR(VANISHED))};
    cycle_narrow(cycle, verdicts);
    if (cycle->n_slots < before)
        plugin_set_add(&a->failure.rejectors, plugin);
}

static enum attempt_stage extender_filter(struct attempt *a)
{
    const struct setup *s = setup_of(a);
    while (a->next_extender < s->extenders.n && a->cycle->n_slots) {
        size_t i = a->next_extender++;
        const struct extender *x = &s->extenders.v[i].spec;
        if (!x->filters || !extender_is_interested(x, a->pod->pod))
            continue;
        extender_calls_add_nodes(a->cycle, a->pod, i, EXTENDER_FILTER);
        return ATTEMPT_EXTENDER_FILTER;
    }
    return a->cycle->n_slots ? ATTEMPT_SCORE : unfit(a);
}

/*
 * Extenders refused the nominated node: all nodes are filtered, in a new cycle, since the state
 * that PreFilter prepared is about the cluster as it was.
 */
static enum attempt_stage filter_all(struct engine *e)
{
    struct attempt *a = &e->attempt;
    cycle_count_filters(a->cycle);
    cycle_free(a->cycle);
    cycle_failure_clear(&a->failure);
    a->cycle = new_cycle(e);
    a->nominated_refused = true;
    return ATTEMPT_PRE_FILTER;
}

static enum attempt_stage take_filter(struct engine *e, size_t extender,
                                      const struct extender_result *result)
{
    struct attempt *a = &e->attempt;
    const struct engine_log *log = &e->framework.log;
    const struct engine_extender *x = &setup_of(a)->extenders.v[extender];
    struct verdict *verdicts = new_verdicts(a->cycle);
    struct buf error = BUF_INIT;
    bool ok = extender_calls_verdicts(a->cycle, x, result, verdicts, &error);
    enum attempt_stage next = ATTEMPT_EXTENDER_FILTER;
    if (!ok && x->spec.ignorable)
        engine_log(log, 0, "Skipping extender as it returned error and has ignorable flag set",
                   KV_STR("extender", x->spec.name), KV_STR("err", buf_str(&error)));
    a->cycle->bare |= ok && result->kept_objects;
    if (ok || x->spec.ignorable) {
        narrow(a, verdicts);
        if (a->nominated_only && !a->cycle->n_slots)
            next = filter_all(e);
    } else if (a->nominated_only) {
        engine_log_error(log, "Evaluation failed on nominated node", KV_STR("err", buf_str(&error)),
                         KV_CSTR("logger", "UnhandledError"), KV_POD(a->pod),
                         KV_STR("node", a->pod->pod->status.nominated_node_name));
        next = filter_all(e);
    } else {
        cycle_failure_error(&a->failure, "%s", buf_cstr(&error));
        next = fail(a);
    }
    buf_release(&error);
    return next;
}

/* --- Score ------------------------------------------------------------------------------------ */

static enum attempt_stage score(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (a->cycle->n_slots == 1)
        return ATTEMPT_CHOOSE;
    if (!cycle_score(a->cycle, a->pod, &a->failure))
        return fail(a);
    if (e->surveys)
        survey_scores(a->cycle, a->pod);
    return setup_of(a)->extenders.n ? ATTEMPT_EXTENDER_SCORE : ATTEMPT_CHOOSE;
}

static enum attempt_stage extender_score(const struct attempt *a)
{
    struct berth_cycle *cycle = a->cycle;
    const struct setup *s = setup_of(a);
    cycle->ties = arena_array(&cycle->arena, uint64_t, cycle->n_slots);
    for (size_t i = 0; i < s->extenders.n; i++) {
        const struct extender *x = &s->extenders.v[i].spec;
        if (!extender_is_interested(x, a->pod->pod))
            continue;
        if (x->prioritizes) {
            vec_push(&cycle->extender_scores, (struct extender_scores){.extender = i});
            extender_calls_add_nodes(cycle, a->pod, i, EXTENDER_PRIORITIZE);
            continue;
        }
        /* Counts as if it had scored every node with 0. */
        for (size_t k = 0; k < cycle->n_slots; k++)
            cycle->ties[k] = 1;
    }
    return ATTEMPT_TOTALS;
}

static void take_scores(const struct attempt *a, size_t extender,
                        const struct extender_result *result)
{
    if (str_empty(result->error))
        extender_calls_scores(a->cycle, extender, result);
    else
        engine_log(&a->cycle->framework->log, 5,
                   "Failed to run extender's priority function. No score given by this extender.",
                   KV_STR("error", result->error), KV_POD(a->pod),
                   KV_STR("extender", setup_of(a)->extenders.v[extender].spec.name));
}

static enum attempt_stage totals(struct attempt *a)
{
    struct berth_cycle *cycle = a->cycle;
    if (cycle->resumed)
        narrow(a, new_verdicts(cycle));
    if (cycle->n_slots == 0)
        return unfit(a);
    extender_calls_add_scores(cycle);
    /* Only nodes scored by an extender take part in tie-breaking. */
    for (size_t i = 0; i < cycle->n_slots; i++)
        if (cycle->ties[i])
            cycle->ties[i] = rand_u64(&cycle->framework->rand);
    return ATTEMPT_CHOOSE;
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static enum attempt_stage post_filter(struct attempt *a)
{
    cycle_algorithm_done(a->cycle, a->started);
    return post_filter_run(a->cycle, a->pod, &a->failure) ? ATTEMPT_FAILED
                                                          : ATTEMPT_POST_FILTER_ANSWER;
}

/* The verdict of the plugin that needed time, with its reasons; BERTH_ASYNC: it needs more. */
static enum attempt_stage post_filter_done(struct attempt *a, enum berth_code code,
                                           const struct berth_status *status)
{
    if (code == BERTH_ASYNC || !post_filter_answer(a->cycle, a->pod, &a->failure, code, status))
        return ATTEMPT_POST_FILTER_ANSWER;
    return ATTEMPT_FAILED;
}

/* --- the machine ------------------------------------------------------------------------------ */

/* Runs the current stage and returns the next one. */
static enum attempt_stage attempt_step(struct engine *e)
{
    struct attempt *a = &e->attempt;
    switch (a->stage) {
    case ATTEMPT_GROUP:
        return next_member(e);
    case ATTEMPT_PRE_FILTER:
        return pre_filter(e);
    case ATTEMPT_FILTER:
        return filter(a);
    case ATTEMPT_EXTENDER_FILTER:
        return extender_filter(a);
    case ATTEMPT_SCORE:
        return score(e);
    case ATTEMPT_EXTENDER_SCORE:
        return extender_score(a);
    case ATTEMPT_TOTALS:
        return totals(a);
    case ATTEMPT_CHOOSE:
        return choose(e);
    case ATTEMPT_POST_FILTER:
        return post_filter(a);
    case ATTEMPT_FAILED:
        return failed(e);
    case ATTEMPT_IDLE:
    case ATTEMPT_POST_FILTER_ANSWER:
        break;
    }
    return a->stage;
}

static void run(struct engine *e)
{
    while (e->attempt.stage != ATTEMPT_IDLE && !waits(e))
        e->attempt.stage = attempt_step(e);
}

static void drop_if_deleted(struct engine *e)
{
    if (e->attempt.queued && e->attempt.queued->deleted)
        drop(e);
}

bool attempt_schedule_one(struct engine *e)
{
    drop_if_deleted(e);
    if (waits(e) || (e->attempt.stage == ATTEMPT_IDLE && !pop(e)))
        return false;
    run(e);
    return true;
}

bool attempt_extender_done(struct engine *e, uint64_t id, const struct extender_result *result)
{
    struct attempt *a = &e->attempt;
    struct extender_wait wait;
    if (!extender_calls_take(&e->cycles, id, &wait))
        return false;
    drop_if_deleted(e);
    if (a->queued) {
        cycle_resume(a->cycle);
        if (wait.verb == EXTENDER_FILTER) {
            a->stage = take_filter(e, wait.extender, result);
        } else if (wait.verb == EXTENDER_PREEMPT) {
            struct berth_status *status = &e->cycles.status;
            enum berth_code code = preemption_answer(a->cycle, result, status);
            a->stage = post_filter_done(a, code, status);
        } else {
            take_scores(a, wait.extender, result);
        }
    }
    run(e);
    return true;
}

void attempt_evicted(struct engine *e, bool for_group, struct str error)
{
    struct attempt *a = &e->attempt;
    struct berth_status *status = &e->cycles.status;
    if (for_group)
        group_evicted(&e->groups, error);
    else
        a->stage = post_filter_done(a, preemption_evicted(a->cycle, error, status), status);
    run(e);
}
