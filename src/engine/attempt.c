/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/attempt.h"

#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/extender_answer.h"
#include "engine/cycle/post_filter.h"
#include "engine/explain/survey.h"
#include "engine/preempt/eviction.h"
#include "engine/preempt/preemption.h"

#define VANISHED "node(s) went away while extenders were asked"

/* --- the end ---------------------------------------------------------------------------------- */

/* Metrics: it is decided, one way or the other. */
static void decided(const struct attempt *a)
{
    struct scheduler_metrics *m = a->cycle->engine->metrics;
    if (!m)
        return;
    cycle_mark(a->cycle);
    scheduler_metrics_algorithm(m, a->cycle->mark - a->started);
}

/* Gives back what the attempt owned; its pod and cycle are somebody else's from now on. */
static void forget(struct attempt *a)
{
    cycle_failure_release(&a->failure);
    pod_info_unref(a->pod);
    vec_clear(&a->asks);
    a->queued = NULL;
}

/* Ends it without a word. */
static void drop(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (!a->queued)
        return;
    eviction_forget_attempt(e);
    cycle_free(a->cycle);
    if (!e->group.active)
        queue_done(&e->queue, a->queued);
    forget(a);
}

void attempt_release(struct engine *e)
{
    drop(e);
    vec_release(&e->attempt.asks);
}

bool attempt_is_suspended(struct engine *e)
{
    if (e->attempt.queued && e->attempt.queued->deleted)
        drop(e);
    return e->attempt.queued != NULL;
}

static struct berth_cycle *new_cycle(struct engine *e, struct profile *profile)
{
    struct berth_cycle *cycle = cycle_new(e, profile);
    cycle->in_group = e->group.active;
    cycle->placement = group_placement(e);
    return cycle;
}

static void give_up(struct engine *e)
{
    struct attempt *a = &e->attempt;
    cycle_end_attempt(a->cycle);
    if (e->group.active) {
        group_take_failure(e, a->cycle, &a->failure);
    } else {
        engine_attempt_failed(e, a->queued, &a->failure, a->started, a->cycle);
        cycle_free(a->cycle);
    }
    forget(a);
}

static void failed(struct engine *e)
{
    decided(&e->attempt);
    give_up(e);
}

/* The pod fits nowhere; perhaps room can be made for it. */
static void post_filter(struct engine *e)
{
    struct attempt *a = &e->attempt;
    decided(a);
    if (e->group.trial || post_filter_run(a->cycle, a->pod, &a->failure))
        give_up(e);
}

void attempt_post_filter_done(struct engine *e, enum berth_code code)
{
    struct attempt *a = &e->attempt;
    if (post_filter_answer(a->cycle, a->pod, &a->failure, code))
        give_up(e);
}

static void unfit(struct engine *e)
{
    cycle_unfit(e->attempt.cycle, &e->attempt.failure);
    post_filter(e);
}

static int64_t weighted_score(const struct plugin_scores *row, size_t i)
{
    return (row->normalized ? row->normalized[i] : row->scores[0]) * row->handle->weight;
}

/* A line for every node and plugin: only who wants to know exactly asks for this. */
static void log_scores(const struct engine *e, const struct berth_cycle *cycle)
{
    const struct berth_pod *pod = e->attempt.pod;
    for (size_t i = 0; i < cycle->n_slots; i++)
        for (size_t k = 0; k < cycle->plugin_scores.n; k++)
            engine_log(&e->log, 10, "Plugin scored node for pod", KV_POD(pod),
                       KV_CSTR("plugin", cycle->plugin_scores.v[k].handle->plugin->name),
                       KV_STR("node", cycle_feasible_name(cycle, i)),
                       KV_INT("score", weighted_score(&cycle->plugin_scores.v[k], i)));
    for (size_t i = 0; i < cycle->n_slots; i++) {
        int64_t total = cycle->scores[i];
        /* What a plugin gives to all alike is in no total. */
        for (size_t k = 0; k < cycle->plugin_scores.n; k++)
            if (!cycle->plugin_scores.v[k].normalized)
                total += weighted_score(&cycle->plugin_scores.v[k], i);
        engine_log(&e->log, 10, "Calculated node's final score for pod", KV_POD(pod),
                   KV_STR("node", cycle_feasible_name(cycle, i)), KV_INT("score", total));
    }
}

static void choose(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (engine_log_on(&e->log, 10) && a->cycle->n_slots > 1)
        log_scores(e, a->cycle);
    struct berth_node *node = cycle_choose(a->cycle);
    decided(a);
    cycle_end_attempt(a->cycle);
    if (e->group.active)
        group_take_node(e, a->cycle, node);
    else
        binding_start(e, a->queued, a->cycle, node, a->started);
    forget(a);
}

/* --- asking extenders ------------------------------------------------------------------------- */

/* What it began with, whatever the engine has got since. */
static const struct setup *setup_of(const struct attempt *a)
{
    return a->cycle->profile->setup;
}

static bool is_interested(const struct attempt *a, const struct engine_extender *x)
{
    return extender_is_interested(&x->spec, a->pod->pod);
}

void attempt_ask(struct engine *e, size_t extender, struct extender_call *call)
{
    struct attempt *a = &e->attempt;
    const struct setup *s = setup_of(a);
    call->id = ++e->next_write_id;
    vec_push(&a->asks, (struct extender_ask){call->id, extender, call->verb});
    engine_call_extender(s, &s->extenders.v[extender], call);
}

/* About all nodes that are feasible by now. */
static void ask(struct engine *e, size_t extender, enum extender_verb verb)
{
    struct attempt *a = &e->attempt;
    struct berth_cycle *cycle = a->cycle;
    size_t n = cycle->n_slots;
    struct str *names = arena_array(&cycle->arena, struct str, n);
    struct object **nodes = arena_array(&cycle->arena, struct object *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = cycle_feasible_name(cycle, i);
        nodes[i] = e->cache.columns.nodes[cycle->slots[i]]->object;
    }
    struct extender_call call = {
        .verb = verb, .pod = a->pod->object, .node_names = names, .nodes = nodes, .n_nodes = n};
    attempt_ask(e, extender, &call);
}

/* The feasible nodes for which `verdicts` does not say Success are out, as are those gone since. */
static void narrow(struct engine *e, struct verdict *verdicts)
{
    struct attempt *a = &e->attempt;
    struct berth_cycle *cycle = a->cycle;
    uint16_t plugin = setup_of(a)->extender_plugin;
    size_t before = cycle->n_slots;
    for (size_t i = 0; i < before; i++)
        if (verdicts[i].code == BERTH_SUCCESS && !cycle_still_there(cycle, i))
            verdicts[i] = (struct verdict){BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, plugin,
                                           reasons_text(&e->reasons, STR(VANISHED))};
    cycle_narrow(cycle, verdicts);
    if (cycle->n_slots < before)
        plugin_set_add(&a->failure.rejectors, plugin);
}

static struct verdict *new_verdicts(struct berth_cycle *cycle)
{
    struct verdict *v = arena_array(&cycle->arena, struct verdict, cycle->n_slots);
    for (size_t i = 0; i < cycle->n_slots; i++)
        v[i] = (struct verdict){.plugin = VERDICT_NOBODY};
    return v;
}

/* --- prioritize ------------------------------------------------------------------------------- */

/* Every answer is in. */
static void end_scoring(struct engine *e)
{
    struct attempt *a = &e->attempt;
    struct berth_cycle *cycle = a->cycle;
    if (cycle->resumed)
        narrow(e, new_verdicts(cycle));
    if (cycle->n_slots == 0) {
        unfit(e);
        return;
    }
    extender_answer_add_scores(cycle);
    /* Only what extenders have scored, be it with nothing, has a lot in a tie. */
    for (size_t i = 0; i < cycle->n_slots; i++)
        if (cycle->ties[i])
            cycle->ties[i] = rand_u64(&e->rand);
    choose(e);
}

static void mark_scored(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->n_slots; i++)
        cycle->ties[i] = 1;
}

static void ask_scores(struct engine *e)
{
    struct attempt *a = &e->attempt;
    struct berth_cycle *cycle = a->cycle;
    const struct setup *s = setup_of(a);
    cycle->ties = arena_array(&cycle->arena, uint64_t, cycle->n_slots);
    for (size_t i = 0; i < s->extenders.n; i++) {
        const struct engine_extender *x = &s->extenders.v[i];
        if (!is_interested(a, x))
            continue;
        if (!x->spec.prioritizes) {
            mark_scored(cycle); /* as if it had given every node a 0 */
            continue;
        }
        vec_push(&cycle->extender_scores, (struct extender_scores){.extender = i});
        ask(e, i, EXTENDER_PRIORITIZE);
    }
    if (!a->asks.n)
        end_scoring(e);
}

static void score(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (a->cycle->n_slots == 1) {
        choose(e);
        return;
    }
    if (!cycle_score(a->cycle, a->pod, &a->failure)) {
        failed(e);
        return;
    }
    if (e->surveys)
        survey_scores(a->cycle, a->pod);
    if (setup_of(a)->extenders.n && !e->group.trial)
        ask_scores(e);
    else
        choose(e);
}

static void take_scores(struct engine *e, size_t extender, const struct extender_result *result)
{
    struct attempt *a = &e->attempt;
    if (!str_empty(result->error))
        engine_log(&e->log, 5,
                   "Failed to run extender's priority function. No score given by this extender.",
                   KV_STR("error", result->error), KV_POD(a->pod),
                   KV_STR("extender", setup_of(a)->extenders.v[extender].spec.name));
    else
        extender_answer_scores(a->cycle, extender, result);
    if (!a->asks.n)
        end_scoring(e);
}

/* --- filter ----------------------------------------------------------------------------------- */

/* On to the next extender that filters, or beyond. */
static void ask_filters(struct engine *e)
{
    struct attempt *a = &e->attempt;
    const struct setup *s = setup_of(a);
    while (a->next_extender < s->extenders.n && a->cycle->n_slots && !e->group.trial) {
        size_t i = a->next_extender++;
        const struct engine_extender *x = &s->extenders.v[i];
        if (!x->spec.filters || !is_interested(a, x))
            continue;
        ask(e, i, EXTENDER_FILTER);
        return;
    }
    if (a->cycle->n_slots)
        score(e);
    else
        unfit(e);
}

static void filter(struct engine *e)
{
    struct attempt *a = &e->attempt;
    if (!cycle_begin(a->cycle, a->pod, &a->failure)) {
        if (a->cycle->pre_filter_code != BERTH_SUCCESS && !a->failure.error)
            post_filter(e);
        else
            failed(e);
        return;
    }
    if (e->surveys)
        survey_filters(a->cycle, a->pod);
    a->nominated_only = !a->nominated_refused && cycle_try_nominated(a->cycle, a->pod, &a->failure);
    a->next_extender = 0;
    if (a->nominated_only || cycle_filter(a->cycle, a->pod, &a->failure))
        ask_filters(e);
    else
        failed(e);
}

/*
 * Extenders do not want the promised node: all nodes are looked at, in a new cycle, since what
 * PreFilter prepared for the old one is about the cluster as it was.
 */
static void filter_all(struct engine *e)
{
    struct attempt *a = &e->attempt;
    struct profile *profile = a->cycle->profile;
    cycle_count_filters(a->cycle);
    cycle_free(a->cycle);
    cycle_failure_clear(&a->failure);
    a->cycle = new_cycle(e, profile);
    a->nominated_refused = true;
    filter(e);
}

static void take_filter(struct engine *e, size_t extender, const struct extender_result *result)
{
    struct attempt *a = &e->attempt;
    const struct engine_extender *x = &setup_of(a)->extenders.v[extender];
    struct verdict *verdicts = new_verdicts(a->cycle);
    struct buf error = BUF_INIT;
    bool ok = extender_answer_verdicts(a->cycle, x, result, verdicts, &error);
    if (!ok && x->spec.ignorable)
        engine_log(&e->log, 0, "Skipping extender as it returned error and has ignorable flag set",
                   KV_STR("extender", x->spec.name), KV_STR("err", buf_str(&error)));
    a->cycle->bare |= ok && result->kept_objects;
    if (ok || x->spec.ignorable) {
        narrow(e, verdicts);
        if (a->nominated_only && !a->cycle->n_slots)
            filter_all(e);
        else
            ask_filters(e);
    } else if (a->nominated_only) {
        engine_log_error(&e->log, "Evaluation failed on nominated node",
                         KV_STR("err", buf_str(&error)), KV_CSTR("logger", "UnhandledError"),
                         KV_POD(a->pod), KV_STR("node", a->pod->pod->status.nominated_node_name));
        filter_all(e);
    } else {
        cycle_failure_error(&a->failure, "%s", buf_cstr(&error));
        failed(e);
    }
    buf_release(&error);
}

/* --- the beginning, and answers --------------------------------------------------------------- */

void attempt_start(struct engine *e, struct berth_queued_pod *queued, int64_t started)
{
    struct attempt *a = &e->attempt;
    a->queued = queued;
    a->pod = pod_info_ref(queued->pod);
    a->cycle = new_cycle(e, queued->profile);
    a->failure = (struct cycle_failure){0};
    a->started = started;
    a->nominated_refused = false;
    filter(e);
}

bool attempt_answer(struct engine *e, uint64_t id, const struct extender_result *result)
{
    struct attempt *a = &e->attempt;
    size_t i = 0;
    while (i < a->asks.n && a->asks.v[i].id != id)
        i++;
    if (i == a->asks.n)
        return false;
    struct extender_ask asked = a->asks.v[i];
    vec_remove(&a->asks, i);
    if (!attempt_is_suspended(e))
        return true; /* the pod is gone */
    cycle_resume(a->cycle);
    if (asked.verb == EXTENDER_FILTER)
        take_filter(e, asked.extender, result);
    else if (asked.verb == EXTENDER_PREEMPT)
        preemption_answer(e, result);
    else
        take_scores(e, asked.extender, result);
    return true;
}
