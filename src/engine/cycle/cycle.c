/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/cycle.h"

#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/fit_error.h"
#include "engine/explain/attempt_record.h"
#include "engine/explain/survey.h"
#include "engine/group/placement.h"
#include "engine/preempt/preemption.h"

/* Cycles kept for later: as many as are under way at once when writes come back soon. */
#define SPARE_CYCLES 16

struct berth_cycle *cycle_new(struct engine *engine, struct profile *profile)
{
    struct berth_cycle *cycle;
    if (engine->spare_cycles.n) {
        cycle = vec_pop(&engine->spare_cycles);
    } else {
        cycle = xnew(struct berth_cycle);
        arena_init(&cycle->arena, 0);
    }
    cycle->engine = engine;
    cycle->profile = profile;
    cycle->sampled = engine->metrics && scheduler_metrics_sample(engine->metrics);
    profile->setup->n_cycles++;
    return cycle;
}

static void drop_state(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->state.n; i++)
        if (cycle->state.v[i].data && cycle->state.v[i].free)
            cycle->state.v[i].free(cycle->state.v[i].data);
    vec_clear(&cycle->state);
}

static void drop_to_activate(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->to_activate.n; i++)
        pod_info_unref(cycle->to_activate.v[i]);
    vec_clear(&cycle->to_activate);
}

static void destroy(struct berth_cycle *cycle)
{
    vec_release(&cycle->state);
    vec_release(&cycle->to_activate);
    vec_release(&cycle->limiters);
    vec_release(&cycle->pre_filter);
    vec_release(&cycle->plugin_scores);
    vec_release(&cycle->extender_scores);
    vec_release(&cycle->post_filter.reasons);
    buf_release(&cycle->record);
    arena_release(&cycle->arena);
    free(cycle);
}

/* As it was when it was new, but for the memory it has. */
static void reset(struct berth_cycle *cycle)
{
    struct berth_cycle kept = *cycle;
    *cycle = (struct berth_cycle){.arena = kept.arena, .record = kept.record};
    arena_reset(&cycle->arena);
    buf_clear(&cycle->record);
#define KEEP(vec) (cycle->vec.v = kept.vec.v, cycle->vec.cap = kept.vec.cap)
    KEEP(state);
    KEEP(to_activate);
    KEEP(limiters);
    KEEP(pre_filter);
    KEEP(plugin_scores);
    KEEP(extender_scores);
    KEEP(post_filter.reasons);
#undef KEEP
}

struct berth_cycle *cycle_free(struct berth_cycle *cycle)
{
    if (!cycle)
        return NULL;
    struct engine *e = cycle->engine;
    cycle->profile->setup->n_cycles--;
    drop_state(cycle);
    drop_to_activate(cycle);
    preemption_release(cycle->preemption);
    survey_free(cycle->survey);
    node_names_unref(cycle->names);
    node_limit_release(&cycle->limit);
    node_limit_release(&cycle->proposal);
    if (e->spare_cycles.n == SPARE_CYCLES) {
        destroy(cycle);
        return NULL;
    }
    reset(cycle);
    vec_push(&e->spare_cycles, cycle);
    return NULL;
}

void cycle_free_spare(struct engine *e)
{
    for (size_t i = 0; i < e->spare_cycles.n; i++)
        destroy(e->spare_cycles.v[i]);
    vec_release(&e->spare_cycles);
}

/* --- failures --------------------------------------------------------------------------------- */

void cycle_failure_release(struct cycle_failure *failure)
{
    buf_release(&failure->text);
}

void cycle_failure_clear(struct cycle_failure *failure)
{
    buf_clear(&failure->text);
    failure->error = false;
    failure->rejectors = failure->pending = (struct plugin_set){0};
}

void cycle_failure_move(struct cycle_failure *failure, struct cycle_failure *from)
{
    cycle_failure_release(failure);
    *failure = *from;
    *from = (struct cycle_failure){0};
}

void cycle_failure_error(struct cycle_failure *failure, const char *fmt, ...)
{
    cycle_failure_clear(failure);
    failure->error = true;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&failure->text, fmt, ap);
    va_end(ap);
}

void cycle_failure_status(struct cycle_failure *failure, const struct berth_cycle *cycle,
                          const struct berth_status *status, enum berth_code code, const char *fmt,
                          ...)
{
    struct buf *text = &failure->text;
    cycle_failure_clear(failure);
    failure->error = true;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(text, fmt, ap);
    va_end(ap);
    buf_add_cstr(text, ": ");
    if (status->n)
        status_write(status, &cycle->engine->reasons, text);
    else
        buf_add_printf(text, "status %s (%d) without a reason", code_name(code), (int)code);
}

void cycle_failure_blame(struct cycle_failure *failure, const struct berth_handle *h,
                         enum berth_code code)
{
    if (code == BERTH_PENDING)
        plugin_set_add(&failure->pending, h->id);
    else
        plugin_set_add(&failure->rejectors, h->id);
}

/* --- PreFilter -------------------------------------------------------------------------------- */

static void blame_limiters(const struct berth_cycle *cycle, struct cycle_failure *failure)
{
    for (size_t i = 0; i < cycle->limiters.n; i++)
        plugin_set_add(&failure->rejectors, cycle->limiters.v[i]->id);
}

/* The plugin succeeded: what it said about nodes counts. True: some are left. */
static bool take_proposal(struct berth_cycle *cycle, const struct berth_handle *h,
                          struct cycle_failure *failure)
{
    if (cycle->proposal.set)
        vec_push(&cycle->limiters, h);
    node_limit_merge(&cycle->limit, &cycle->proposal);
    if (!node_limit_empty(&cycle->limit))
        return true;
    cycle_failure_clear(failure);
    blame_limiters(cycle, failure);
    fit_error_limits(cycle, &failure->text);
    cycle->pre_filter_code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    return false;
}

/* What one plugin's PreFilter said. True: go on with the next plugin. */
static bool take_pre_filter(struct berth_cycle *cycle, const struct berth_handle *h,
                            enum berth_code code, struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    if (code == BERTH_SUCCESS)
        return take_proposal(cycle, h, failure);
    node_limit_release(&cycle->proposal);
    if (code == BERTH_SKIP) {
        plugin_set_add(&cycle->skip_filter, h->id);
        return true;
    }
    /* The last word counts: what others said before is forgotten. */
    cycle_failure_clear(failure);
    if (code != BERTH_UNSCHEDULABLE && code != BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE) {
        cycle_failure_status(failure, cycle, &e->status, code, "running PreFilter plugin \"%s\"",
                             h->plugin->name);
        return false;
    }
    cycle_failure_blame(failure, h, code);
    fit_error_pre_filter(cycle, &e->status, &failure->text);
    cycle->pre_filter_code = code;
    /* The other plugins still prepare what preemption will want to know. */
    return code == BERTH_UNSCHEDULABLE;
}

static void note_pre_filter(struct berth_cycle *cycle, const struct berth_handle *h,
                            enum berth_code code)
{
    const struct engine *e = cycle->engine;
    struct pre_filter_verdict v = {.plugin = h->id, .code = (uint8_t)code};
    if (code != BERTH_SUCCESS && e->status.n)
        v.n_reasons = status_texts(&e->status, &e->reasons, &cycle->arena, &v.reasons);
    vec_push(&cycle->pre_filter, v);
}

/* False: the attempt is over, *failure says why. */
static bool run_pre_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                           struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_PRE_FILTER];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(&e->status);
        cycle->in_pre_filter = true;
        int64_t began = plugin_begin(cycle);
        enum berth_code code = h->plugin->pre_filter(h->self, cycle, pod, &e->status);
        plugin_end(cycle, h, METRIC_PRE_FILTER, code, began);
        cycle->in_pre_filter = false;
        if (code != BERTH_SKIP)
            plugin_evaluated(cycle, h, EVALUATION_PRE_FILTER, 1);
        note_pre_filter(cycle, h, code);
        if (!take_pre_filter(cycle, h, code, failure))
            return false;
    }
    if (cycle->pre_filter_code != BERTH_SUCCESS)
        blame_limiters(cycle, failure);
    return cycle->pre_filter_code == BERTH_SUCCESS;
}

bool cycle_prepare_again(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_PRE_FILTER];
    drop_state(cycle);
    cycle->skip_filter = (struct plugin_set){0};
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(&e->status);
        enum berth_code code = h->plugin->pre_filter(h->self, cycle, pod, &e->status);
        if (code == BERTH_SKIP)
            plugin_set_add(&cycle->skip_filter, h->id);
        else if (code != BERTH_SUCCESS)
            return false;
    }
    return true;
}

/* --- the stages ------------------------------------------------------------------------------- */

/* The nodes of the placement, as if there were no others. */
static void only_placement(struct berth_cycle *cycle)
{
    struct berth_placement *p = cycle->placement;
    placement_find_nodes(p, &cycle->engine->cache);
    uint32_t *candidates = arena_array(&cycle->arena, uint32_t, 2 * p->n);
    for (size_t i = 0; i < p->n; i++)
        candidates[i] = candidates[p->n + i] = p->nodes[i]->slot;
    cycle->candidates = candidates;
    cycle->only_some = true;
    cycle->n_nodes = cycle->n_all = p->n;
}

static void make_room(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cache_get_columns(&e->cache, &cycle->columns);
    attempt_buffers_begin(&e->buffers, cycle->columns.n);
    cycle->slots = e->buffers.slots;
    cycle->names = explain_current_nodes(&e->explain, &e->cache);
    cycle->candidates = cycle->names->order;
    cycle->n_nodes = cycle->n_all = e->cache.order.n;
    if (cycle->placement)
        only_placement(cycle);
}

/* Narrows the candidates to what PreFilter allows. */
static void apply_limits(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    if (cycle->limit.set) {
        size_t n = 0;
        uint32_t *allowed =
            arena_array(&cycle->arena, uint32_t, 2 * bitset_count(&cycle->limit.nodes));
        for (size_t i = 0; i < cycle->n_all; i++)
            if (node_limit_allows(&cycle->limit, cycle->candidates[i]))
                allowed[n++] = cycle->candidates[i];
        memcpy(allowed + n, allowed, n * sizeof(*allowed));
        cycle->candidates = allowed;
        cycle->only_some = true;
        cycle->n_nodes = n;
    }
    /* Where only nodes are allowed that there are not, none is left. */
    cycle->start = cycle->n_nodes ? e->next_start_node % cycle->n_nodes : 0;
}

/* No plugin is to blame and no hint can help: retried after a backoff. */
static bool no_nodes(struct cycle_failure *failure)
{
    buf_add_cstr(&failure->text, "no nodes available to schedule pods");
    return false;
}

bool cycle_begin(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    cluster_trim(&e->cluster);
    cache_refresh(&e->cache);
    if (e->cache.order.n == 0)
        return no_nodes(failure);
    make_room(cycle);
    if (cycle->n_all == 0)
        return no_nodes(failure); /* of the placement, none is left */
    cycle_mark(cycle);
    bool ok = run_pre_filter(cycle, pod, failure);
    cycle_timed(cycle, METRIC_PRE_FILTER, failure->error ? BERTH_ERROR : cycle->pre_filter_code,
                true);
    if (ok)
        apply_limits(cycle);
    return ok;
}

/* The promised node alone. */
static void only_nominated(struct berth_cycle *cycle, uint32_t slot)
{
    uint32_t *candidates = arena_array(&cycle->arena, uint32_t, 1);
    *candidates = slot;
    cycle->candidates = candidates;
    cycle->only_some = true;
    cycle->n_nodes = 1;
    cycle->start = 0;
    cycle->slots[cycle->n_slots++] = slot;
    word_set(cycle->engine->buffers.passed, 0);
}

/* Where only some nodes count, a promise of another one is worth nothing. */
static bool is_eligible(const struct berth_cycle *cycle, const struct berth_pod *pod,
                        const struct berth_node *node)
{
    if (!cycle->placement || placement_has(cycle->placement, node))
        return true;
    engine_log(
        &cycle->engine->log, 4,
        "Pod's nominated node is present in the cluster but not available in the current placement",
        KV_POD(pod), KV_CSTR("node", node->name));
    return false;
}

bool cycle_try_nominated(struct berth_cycle *cycle, const struct berth_pod *pod,
                         struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    struct str name = pod->pod->status.nominated_node_name;
    struct berth_node *node = str_empty(name) ? NULL : cache_node(&e->cache, name);
    const struct berth_handle *plugin = NULL;
    if (!node || !node->object || !is_eligible(cycle, pod, node))
        return false;
    enum berth_code code = cycle_filter_node(cycle, pod, node, &e->status, &plugin);
    cycle_filter_timed(cycle, stage_code(code) != BERTH_ERROR);
    if (code == BERTH_SUCCESS) {
        only_nominated(cycle, node->slot);
        return true;
    }
    if (!code_rejects(code))
        return false; /* nobody is told */
    cycle->on_nominated.refused = true;
    cycle->on_nominated.slot = node->slot;
    cycle->on_nominated.verdict =
        (struct verdict){(uint8_t)code, plugin->id, status_reason(&e->status, &e->reasons)};
    /* Among the candidates it will be looked at once more; else this is the word on it. */
    if (!node_limit_allows(&cycle->limit, node->slot))
        cycle_failure_blame(failure, plugin, code);
    return false;
}

void cycle_unfit(struct berth_cycle *cycle, struct cycle_failure *failure)
{
    blame_limiters(cycle, failure);
    fit_error_write(cycle, &failure->text);
    if (cycle->resumed)
        cycle_restore_verdicts(cycle);
}

void cycle_resume(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cache_refresh(&e->cache);
    cache_get_columns(&e->cache, &cycle->columns);
    attempt_buffers_grow_verdicts(&e->buffers, cycle->columns.n);
    cycle->resumed = true;
}

void cycle_end_attempt(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cycle_count_filters(cycle);
    if (e->explain.max_bytes)
        attempt_record_take(cycle, &cycle->record);
    cycle->slots = NULL;
    cycle->scores = NULL;
    vec_clear(&cycle->plugin_scores);
    vec_clear(&cycle->extender_scores);
}

/* --- the choice ------------------------------------------------------------------------------- */

/* The highest total, and the highest lot among those that have it. */
struct best {
    int64_t score;
    uint64_t tie;
};

static bool is_best(const struct berth_cycle *cycle, size_t i, const struct best *best)
{
    return cycle->scores[i] == best->score && (!cycle->ties || cycle->ties[i] == best->tie);
}

static struct best find_best(const struct berth_cycle *cycle)
{
    struct best best = {.score = INT64_MIN};
    for (size_t i = 0; i < cycle->n_slots; i++)
        best.score = MAX(best.score, cycle->scores[i]);
    for (size_t i = 0; cycle->ties && i < cycle->n_slots; i++)
        if (cycle->scores[i] == best.score)
            best.tie = MAX(best.tie, cycle->ties[i]);
    return best;
}

/*
 * Among equals upstream takes what comes to the top of a binary heap built from the list. In each
 * part of that tree a node wins against equals below it, and the left branch against the right: the
 * winner is the first of the best when the tree is walked from the root, left before right. As
 * text, the turns on the way to a node sort in that very order. They are the bits of its number,
 * counted from 1, behind the first; of two that differ in zeros at the end only, the lower comes
 * first.
 */
static uint64_t place_in_heap(size_t i)
{
    uint64_t number = i + 1;
    return number << __builtin_clzll(number);
}

static size_t first_in_heap(const struct berth_cycle *cycle, const struct best *best)
{
    size_t winner = 0;
    uint64_t place = UINT64_MAX;
    for (size_t i = 0; i < cycle->n_slots; i++)
        if (is_best(cycle, i, best) && place_in_heap(i) < place) {
            winner = i;
            place = place_in_heap(i);
        }
    return winner;
}

static size_t draw_lot(const struct berth_cycle *cycle, int64_t best)
{
    size_t n = 0, i = 0;
    for (size_t k = 0; k < cycle->n_slots; k++)
        n += cycle->scores[k] == best;
    size_t lot = (size_t)rand_below(&cycle->engine->rand, n);
    while (cycle->scores[i] != best || lot--)
        i++;
    return i;
}

struct berth_node *cycle_choose(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    size_t chosen = 0;
    if (cycle->n_slots > 1) {
        struct best best = find_best(cycle);
        chosen = e->features.on[FEATURE_BERTH_RANDOM_TIES] ? draw_lot(cycle, best.score)
                                                           : first_in_heap(cycle, &best);
    }
    return e->cache.columns.nodes[cycle->slots[chosen]];
}
