/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle.h"

#include "engine/fit_error.h"
#include "engine/internal.h"

#define MIN_FEASIBLE_NODES      100
#define MIN_FEASIBLE_PERCENTAGE 5
#define MAX_NODE_SCORE          100
/* Nodes are filtered in windows: few enough to stop early, many enough for batch filters. */
#define FILTER_WINDOW           256

struct berth_cycle *cycle_new(struct engine *engine, struct profile *profile)
{
    struct berth_cycle *cycle = xnew(struct berth_cycle);
    cycle->engine = engine;
    cycle->profile = profile;
    arena_init(&cycle->arena, 0);
    return cycle;
}

struct berth_cycle *cycle_free(struct berth_cycle *cycle)
{
    if (!cycle)
        return NULL;
    for (size_t i = 0; i < cycle->state.n; i++)
        if (cycle->state.v[i].data && cycle->state.v[i].free)
            cycle->state.v[i].free(cycle->state.v[i].data);
    vec_release(&cycle->state);
    vec_release(&cycle->limiters);
    bitset_release(&cycle->limit);
    free(cycle->codes);
    free(cycle->reasons);
    free(cycle->slots);
    free(cycle->scores);
    arena_release(&cycle->arena);
    free(cycle);
    return NULL;
}

void cycle_failure_release(struct cycle_failure *failure)
{
    buf_release(&failure->text);
}

void cycle_failure_error(struct cycle_failure *failure, const char *fmt, ...)
{
    failure->error = true;
    buf_clear(&failure->text);
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&failure->text, fmt, ap);
    va_end(ap);
}

/* What was running, then the reasons that its plugin gave. */
static void fail_with_status(struct berth_cycle *cycle, struct cycle_failure *failure,
                             enum berth_code code, const char *fmt, ...) PRINTF_LIKE(4, 5);

static void fail_with_status(struct berth_cycle *cycle, struct cycle_failure *failure,
                             enum berth_code code, const char *fmt, ...)
{
    struct engine *e = cycle->engine;
    struct buf *text = &failure->text;
    failure->error = true;
    buf_clear(text);
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(text, fmt, ap);
    va_end(ap);
    buf_add_cstr(text, ": ");
    if (e->status.n)
        status_write(&e->status, &e->reasons, text);
    else
        buf_add_printf(text, "status %s (%d) without a reason", code_name(code), (int)code);
}

/* --- PreFilter -------------------------------------------------------------------------------- */

static void note_rejector(struct cycle_failure *failure, const struct berth_handle *h,
                          enum berth_code code)
{
    plugin_set_add(&failure->rejectors, h->id);
    if (code == BERTH_PENDING)
        plugin_set_add(&failure->pending, h->id);
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
        cycle->running = h;
        enum berth_code code = h->plugin->pre_filter(h->self, cycle, pod, &e->status);
        cycle->running = NULL;
        if (code == BERTH_SUCCESS)
            continue;
        if (code == BERTH_SKIP) {
            plugin_set_add(&cycle->skip_filter, h->id);
            continue;
        }
        if (!code_rejects(code)) {
            fail_with_status(cycle, failure, code, "running PreFilter plugin \"%s\"",
                             h->plugin->name);
            return false;
        }
        note_rejector(failure, h, code);
        fit_error_pre_filter(e->cache.order.n, &e->status, &e->reasons, &failure->text);
        return false;
    }
    return true;
}

/* --- Filter ----------------------------------------------------------------------------------- */

static size_t nodes_to_find(const struct berth_cycle *cycle, size_t all)
{
    const struct profile *p = cycle->profile;
    size_t percentage = (size_t)p->percentage_of_nodes_to_score;
    if (all < MIN_FEASIBLE_NODES || percentage >= 100)
        return all;
    /* Nothing will be scored: the first node will do. */
    if (p->at[POINT_SCORE].n == 0)
        return 1;
    if (percentage == 0)
        percentage =
            all / 125 < 50 - MIN_FEASIBLE_PERCENTAGE ? 50 - all / 125 : MIN_FEASIBLE_PERCENTAGE;
    return MAX(all * percentage / 100, (size_t)MIN_FEASIBLE_NODES);
}

/* The nodes [from, to) of the order, counted from where this cycle starts. */
struct window {
    size_t from, to;
    struct bitset feasible; /* by slot: still in the race */
};

static struct berth_node *node_at(const struct engine *e, size_t i)
{
    return e->cache.order.v[(e->next_start_node + i) % e->cache.order.n];
}

/* One plugin over a window. False where it broke. */
static bool filter_one_by_one(struct berth_cycle *cycle, const struct berth_handle *h,
                              const struct berth_pod *pod, struct window *w,
                              struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    for (size_t i = w->from; i < w->to; i++) {
        const struct berth_node *node = node_at(e, i);
        if (!bitset_get(&w->feasible, node->slot))
            continue;
        status_clear(&e->status);
        enum berth_code code = h->plugin->filter(h->self, cycle, pod, node, &e->status);
        if (code == BERTH_SUCCESS)
            continue;
        if (!code_rejects(code)) {
            fail_with_status(cycle, failure, code, "running \"%s\" filter plugin", h->plugin->name);
            return false;
        }
        bitset_unset(&w->feasible, node->slot);
        cycle->codes[node->slot] = (uint8_t)code;
        cycle->reasons[node->slot] = status_reason(&e->status, &e->reasons);
        note_rejector(failure, h, code);
    }
    return true;
}

static bool filter_batch(struct berth_cycle *cycle, const struct berth_handle *h,
                         const struct berth_pod *pod, struct window *w,
                         struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    struct berth_filter_batch batch = {.columns = &cycle->columns,
                                       .feasible = w->feasible.words,
                                       .codes = cycle->codes,
                                       .reasons = cycle->reasons};
    size_t before = bitset_count(&w->feasible);
    status_clear(&e->status);
    enum berth_code code = h->plugin->filter_many(h->self, cycle, pod, &batch, &e->status);
    if (code != BERTH_SUCCESS) {
        fail_with_status(cycle, failure, code, "running \"%s\" filter plugin", h->plugin->name);
        return false;
    }
    /* A batch filter may not answer BERTH_PENDING: that is about the pod, not about a node. */
    if (bitset_count(&w->feasible) < before)
        note_rejector(failure, h, BERTH_UNSCHEDULABLE);
    return true;
}

static bool filter_window(struct berth_cycle *cycle, const struct berth_pod *pod, struct window *w,
                          struct cycle_failure *failure)
{
    const handle_list *list = &cycle->profile->at[POINT_FILTER];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (plugin_set_has(&cycle->skip_filter, h->id))
            continue;
        bool ok = h->plugin->filter_many ? filter_batch(cycle, h, pod, w, failure)
                                         : filter_one_by_one(cycle, h, pod, w, failure);
        if (!ok)
            return false;
    }
    return true;
}

static void open_window(struct berth_cycle *cycle, struct window *w)
{
    bitset_fill(&w->feasible, false);
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = node_at(cycle->engine, i)->slot;
        if (cycle->limited && !bitset_get(&cycle->limit, slot))
            continue;
        bitset_set(&w->feasible, slot);
    }
}

/*
 * Takes the feasible nodes of a window in order until `want` are found, and counts the refused ones
 * before that: the verdicts of nodes beyond it were never asked for. Gives the number of nodes that
 * count as looked at.
 */
static size_t close_window(struct berth_cycle *cycle, const struct window *w, size_t want)
{
    size_t looked_at = 0;
    bool enough = false;
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = node_at(cycle->engine, i)->slot;
        if (enough) {
            cycle->codes[slot] = BERTH_SUCCESS;
            continue;
        }
        looked_at++;
        if (bitset_get(&w->feasible, slot))
            cycle->slots[cycle->n_slots++] = slot;
        else if (cycle->codes[slot] != BERTH_SUCCESS)
            cycle->n_failed++;
        enough = cycle->n_slots == want;
    }
    return looked_at;
}

static bool find_feasible(struct berth_cycle *cycle, const struct berth_pod *pod,
                          struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    size_t all = e->cache.order.n, want = nodes_to_find(cycle, all), looked_at = 0;
    struct window w = {0};
    bool ok = true;
    bitset_init(&w.feasible, cycle->columns.n);
    while (ok && looked_at < all && cycle->n_slots < want) {
        w.from = looked_at;
        w.to = MIN(all, w.from + MAX((size_t)FILTER_WINDOW, want - cycle->n_slots));
        open_window(cycle, &w);
        ok = filter_window(cycle, pod, &w, failure);
        if (ok)
            looked_at += close_window(cycle, &w, want);
    }
    bitset_release(&w.feasible);
    if (ok)
        e->next_start_node = (e->next_start_node + looked_at) % all;
    return ok;
}

/* --- Score ------------------------------------------------------------------------------------ */

static bool run_pre_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                          struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_PRE_SCORE];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(&e->status);
        enum berth_code code =
            h->plugin->pre_score(h->self, cycle, pod, cycle->slots, cycle->n_slots, &e->status);
        if (code == BERTH_SKIP)
            plugin_set_add(&cycle->skip_score, h->id);
        else if (code != BERTH_SUCCESS) {
            fail_with_status(cycle, failure, code, "running PreScore plugin \"%s\"",
                             h->plugin->name);
            return false;
        }
    }
    return true;
}

static enum berth_code score_nodes(struct berth_cycle *cycle, const struct berth_handle *h,
                                   const struct berth_pod *pod, int64_t *scores)
{
    struct engine *e = cycle->engine;
    status_clear(&e->status);
    if (h->plugin->score_many) {
        struct berth_score_batch batch = {.columns = &cycle->columns,
                                          .slots = cycle->slots,
                                          .n = cycle->n_slots,
                                          .scores = scores};
        return h->plugin->score_many(h->self, cycle, pod, &batch, &e->status);
    }
    for (size_t i = 0; i < cycle->n_slots; i++) {
        const struct berth_node *node = e->cache.columns.nodes[cycle->slots[i]];
        enum berth_code code = h->plugin->score(h->self, cycle, pod, node, &scores[i], &e->status);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return BERTH_SUCCESS;
}

/* Adds one plugin's weighted scores to the totals. */
static bool run_score_plugin(struct berth_cycle *cycle, const struct berth_handle *h,
                             const struct berth_pod *pod, int64_t *scores,
                             struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    enum berth_code code = score_nodes(cycle, h, pod, scores);
    if (code != BERTH_SUCCESS) {
        fail_with_status(cycle, failure, code, "running Score plugins: plugin \"%s\" failed with",
                         h->plugin->name);
        return false;
    }
    status_clear(&e->status);
    if (h->plugin->normalize)
        code = h->plugin->normalize(h->self, cycle, pod, cycle->slots, scores, cycle->n_slots,
                                    &e->status);
    if (code != BERTH_SUCCESS) {
        fail_with_status(cycle, failure, code,
                         "running Normalize on Score plugins: plugin \"%s\" failed with",
                         h->plugin->name);
        return false;
    }
    for (size_t i = 0; i < cycle->n_slots; i++) {
        if (scores[i] < 0 || scores[i] > MAX_NODE_SCORE) {
            cycle_failure_error(failure,
                                "applying score defaultWeights on Score plugins: plugin \"%s\" "
                                "returns an invalid score %lld, it should in the range of [0, %d] "
                                "after normalizing",
                                h->plugin->name, (long long)scores[i], MAX_NODE_SCORE);
            return false;
        }
        cycle->scores[i] += scores[i] * h->weight;
    }
    return true;
}

static bool run_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct cycle_failure *failure)
{
    const handle_list *list = &cycle->profile->at[POINT_SCORE];
    int64_t *scores = arena_array(&cycle->arena, int64_t, cycle->n_slots);
    for (size_t i = 0; i < list->n; i++)
        if (!plugin_set_has(&cycle->skip_score, list->v[i]->id) &&
            !run_score_plugin(cycle, list->v[i], pod, scores, failure))
            return false;
    return true;
}

/* The highest total; among equals the one that was looked at first. */
static uint32_t best_slot(const struct berth_cycle *cycle)
{
    size_t best = 0;
    for (size_t i = 1; i < cycle->n_slots; i++)
        if (cycle->scores[i] > cycle->scores[best])
            best = i;
    return cycle->slots[best];
}

/* --- the cycle -------------------------------------------------------------------------------- */

static void make_room(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cache_get_columns(&e->cache, &cycle->columns);
    cycle->codes = xcalloc(cycle->columns.n, sizeof(*cycle->codes));
    cycle->reasons = xcalloc(cycle->columns.n, sizeof(*cycle->reasons));
    cycle->slots = xcalloc(e->cache.order.n, sizeof(*cycle->slots));
    cycle->scores = xcalloc(e->cache.order.n, sizeof(*cycle->scores));
}

struct berth_node *cycle_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    if (e->cache.order.n == 0) {
        /* No plugin is to blame and no hint can help: retried after a backoff. */
        buf_add_cstr(&failure->text, "no nodes available to schedule pods");
        return NULL;
    }
    make_room(cycle);
    if (!run_pre_filter(cycle, pod, failure) || !find_feasible(cycle, pod, failure))
        return NULL;
    if (cycle->n_slots == 0) {
        fit_error_write(cycle, &failure->text);
        return NULL;
    }
    if (cycle->n_slots > 1 &&
        (!run_pre_score(cycle, pod, failure) || !run_score(cycle, pod, failure)))
        return NULL;
    return e->cache.columns.nodes[best_slot(cycle)];
}
