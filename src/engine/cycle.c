/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle.h"

#include "engine/fit_error.h"
#include "engine/internal.h"
#include "engine/survey.h"

struct berth_cycle *cycle_new(struct engine *engine, struct profile *profile)
{
    struct berth_cycle *cycle = xnew(struct berth_cycle);
    cycle->engine = engine;
    cycle->profile = profile;
    arena_init(&cycle->arena, 0);
    return cycle;
}

static void free_state(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->state.n; i++)
        if (cycle->state.v[i].data && cycle->state.v[i].free)
            cycle->state.v[i].free(cycle->state.v[i].data);
    vec_release(&cycle->state);
}

static void free_to_activate(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->to_activate.n; i++)
        pod_info_unref(cycle->to_activate.v[i]);
    vec_release(&cycle->to_activate);
}

struct berth_cycle *cycle_free(struct berth_cycle *cycle)
{
    if (!cycle)
        return NULL;
    free_state(cycle);
    free_to_activate(cycle);
    vec_release(&cycle->limiters);
    vec_release(&cycle->pre_filter);
    survey_free(cycle->survey);
    vec_release(&cycle->runs);
    explain_nodes_unref(cycle->names);
    vec_release(&cycle->plugin_scores);
    vec_release(&cycle->extender_scores);
    node_limit_release(&cycle->limit);
    node_limit_release(&cycle->proposal);
    arena_release(&cycle->arena);
    free(cycle);
    return NULL;
}

struct berth_cycle *cycle_clone(const struct berth_cycle *cycle)
{
    struct berth_cycle *clone = xnew(struct berth_cycle);
    *clone = *cycle;
    arena_init(&clone->arena, 0);
    clone->state.v = NULL;
    clone->state.n = clone->state.cap = 0;
    clone->to_activate.v = NULL;
    clone->to_activate.n = clone->to_activate.cap = 0;
    for (size_t i = 0; i < cycle->state.n; i++) {
        struct cycle_item item = cycle->state.v[i];
        if (item.data && item.clone)
            item.data = item.clone(item.data);
        else
            item.free = NULL; /* shared: the original's */
        vec_push(&clone->state, item);
    }
    return clone;
}

void cycle_free_clone(struct berth_cycle *clone)
{
    free_state(clone);
    free_to_activate(clone);
    arena_release(&clone->arena);
    free(clone);
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
        enum berth_code code = h->plugin->pre_filter(h->self, cycle, pod, &e->status);
        cycle->in_pre_filter = false;
        note_pre_filter(cycle, h, code);
        if (!take_pre_filter(cycle, h, code, failure))
            return false;
    }
    if (cycle->pre_filter_code != BERTH_SUCCESS)
        blame_limiters(cycle, failure);
    return cycle->pre_filter_code == BERTH_SUCCESS;
}

/* --- PostFilter ------------------------------------------------------------------------------- */

/* Appends what the plugins have to say about making room. */
static void run_post_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_POST_FILTER];
    struct buf text = BUF_INIT;
    failure->keep_nomination = list->n > 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        bool before = cycle->nominated;
        cycle->nominated = false;
        status_clear(&e->status);
        enum berth_code code = h->plugin->post_filter(h->self, cycle, pod, &e->status);
        /* The last word of these counts alone; the others' reasons add up. */
        if (code == BERTH_SUCCESS || code == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE ||
            !code_rejects(code)) {
            buf_clear(&text);
            status_write(&e->status, &e->reasons, &text);
            cycle->nominated &= code == BERTH_SUCCESS || code_rejects(code);
            break;
        }
        cycle->nominated |= before;
        if (text.n && e->status.n)
            buf_add_cstr(&text, ", ");
        status_write(&e->status, &e->reasons, &text);
    }
    if (text.n)
        buf_add_printf(&failure->text, " %s", buf_cstr(&text));
    buf_release(&text);
    if (cycle->nominated) {
        failure->keep_nomination = false;
        failure->nominated_node = cycle->nominated_node;
    }
}

/* --- the stages ------------------------------------------------------------------------------- */

static void make_room(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cache_get_columns(&e->cache, &cycle->columns);
    engine_make_verdicts(e, cycle->columns.n);
    cycle->nodes = e->cache.order.v;
    cycle->n_nodes = cycle->n_all = e->cache.order.n;
    cycle->names = explain_nodes_ref(&e->explain, &e->cache);
}

/* Narrows the candidates to what PreFilter allows. */
static void apply_limits(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    if (cycle->limit.set) {
        struct berth_node **nodes =
            arena_array(&cycle->arena, struct berth_node *, e->cache.order.n);
        uint32_t *order = arena_array(&cycle->arena, uint32_t, e->cache.order.n);
        size_t n = 0;
        for (size_t i = 0; i < e->cache.order.n; i++)
            if (node_limit_allows(&cycle->limit, e->cache.order.v[i]->slot)) {
                order[n] = e->cache.order.v[i]->slot;
                nodes[n++] = e->cache.order.v[i];
            }
        cycle->nodes = nodes;
        cycle->order = order;
        cycle->n_nodes = n;
    }
    /* Where only nodes are allowed that there are not, none is left. */
    cycle->start = cycle->n_nodes ? e->next_start_node % cycle->n_nodes : 0;
    /* The promised node may lie outside of what is allowed. */
    cycle->slots = arena_array(&cycle->arena, uint32_t, MAX(cycle->n_nodes, (size_t)1));
}

bool cycle_begin(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    cache_refresh(&e->cache);
    if (e->cache.order.n == 0) {
        /* No plugin is to blame and no hint can help: retried after a backoff. */
        buf_add_cstr(&failure->text, "no nodes available to schedule pods");
        return false;
    }
    make_room(cycle);
    if (run_pre_filter(cycle, pod, failure)) {
        apply_limits(cycle);
        return true;
    }
    if (!failure->error)
        run_post_filter(cycle, pod, failure);
    return false;
}

bool cycle_try_promised(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    struct engine *e = cycle->engine;
    struct str name = pod->pod->status.nominated_node_name;
    struct berth_node *node = str_empty(name) ? NULL : cache_node(&e->cache, name);
    const struct berth_handle *plugin;
    if (!node || !node->object ||
        cycle_filter_node(cycle, pod, node, &e->status, &plugin) != BERTH_SUCCESS)
        return false;
    vec_push(&cycle->runs, (struct verdict_run){1, VERDICT_NOBODY, BERTH_SUCCESS, 0});
    cycle->slots[cycle->n_slots++] = node->slot;
    uint32_t *order = arena_array(&cycle->arena, uint32_t, 1);
    *order = node->slot;
    cycle->order = order;
    cycle->n_nodes = 1;
    cycle->start = 0;
    return true;
}

void cycle_unfit(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure)
{
    blame_limiters(cycle, failure);
    fit_error_write(cycle, &failure->text);
    if (cycle->resumed)
        cycle_restore_verdicts(cycle);
    run_post_filter(cycle, pod, failure);
}

void cycle_resume(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cache_refresh(&e->cache);
    cache_get_columns(&e->cache, &cycle->columns);
    engine_make_verdicts(e, cycle->columns.n);
    cycle->nodes = NULL; /* were the cache's, and are looked at in filters only */
    cycle->resumed = true;
}

/* --- the choice ------------------------------------------------------------------------------- */

static inline bool is_better(const int64_t *score, const uint64_t *ties, uint32_t a, uint32_t b)
{
    return score[a] > score[b] || (ties && score[a] == score[b] && ties[a] > ties[b]);
}

/*
 * The highest total. Among equals upstream takes what comes to the top of a binary heap built from
 * the list, and so do we: the same sift-down over the same list.
 */
struct berth_node *cycle_choose(struct berth_cycle *cycle)
{
    size_t n = cycle->n_slots;
    uint32_t *heap = arena_array(&cycle->arena, uint32_t, n);
    const int64_t *score = cycle->scores;
    const uint64_t *ties = cycle->ties;
    for (size_t i = 0; i < n; i++)
        heap[i] = (uint32_t)i;
    for (size_t top = n / 2; top-- > 0;)
        for (size_t at = top, child; (child = 2 * at + 1) < n; at = child) {
            if (child + 1 < n && is_better(score, ties, heap[child + 1], heap[child]))
                child++;
            if (!is_better(score, ties, heap[child], heap[at]))
                break;
            uint32_t swap = heap[at];
            heap[at] = heap[child];
            heap[child] = swap;
        }
    cycle->chosen = cycle->slots[heap[0]];
    return cycle->engine->cache.columns.nodes[cycle->chosen];
}
