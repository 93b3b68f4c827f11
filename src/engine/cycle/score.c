/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - PreScore, Score and the choice of a node (upstream: prioritizeNodes, selectHost). */
#include "engine/cycle/cycle.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/framework/call_mark.h"

static bool run_pre_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                          struct cycle_failure *failure)
{
    struct berth_status *status = &cycle->cycles->status;
    const handle_list *list = &cycle->profile->at[POINT_PRE_SCORE];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(status);
        int64_t began = plugin_begin(cycle);
        struct call_mark outer = call_begin(h, "PreScore", pod);
        enum berth_code code =
            h->plugin->pre_score(h->self, cycle, pod, cycle->slots, cycle->n_slots, status);
        call_end(outer);
        plugin_end(cycle, h, METRIC_PRE_SCORE, code, began);
        if (code == BERTH_SKIP) {
            plugin_set_add(&cycle->skip_score, h->id);
            continue;
        }
        plugin_evaluated(cycle, h, EVALUATION_PRE_SCORE, 1);
        if (code != BERTH_SUCCESS) {
            cycle_failure_status(failure, &cycle->framework->reasons, status, code,
                                 "running PreScore plugin \"%s\"", h->plugin->name);
            return false;
        }
    }
    return true;
}

/* --- one plugin over all feasible nodes ------------------------------------------------------- */

struct scoring {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    struct plugin_scores *to; /* the plugin that runs, and its scores */
    struct score_row *row;    /* the buffers of its scores */
    int64_t common;           /* sum of the weighted scores that are equal on all nodes */
    struct cycle_failure *failure;
};

/* The node as upstream sees it after an extender returned its object: without pods and images. */
static struct berth_node bare_node(const struct berth_node *node)
{
    return (struct berth_node){.slot = node->slot,
                               .name = node->name,
                               .object = node->object,
                               .node = node->node,
                               .allocatable = node->allocatable,
                               .names = node->names};
}

static void score_items(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct scoring *s = ctx;
    const struct berth_handle *h = s->to->handle;
    struct worker *w = &s->cycle->cycles->workers.v[worker];
    const struct cache *cache = s->cycle->framework->cache;
    struct call_mark outer = call_begin(h, "Score", s->pod);
    for (size_t i = from; i < to; i++) {
        const struct berth_node *node = cache->columns.nodes[s->cycle->slots[i]];
        struct berth_node bare;
        if (s->cycle->bare) {
            bare = bare_node(node);
            node = &bare;
        }
        status_clear(&w->status);
        enum berth_code code =
            h->plugin->score(h->self, s->cycle, s->pod, node, &s->to->scores[i], &w->status);
        if (code != BERTH_SUCCESS)
            worker_keep(w, i, code);
    }
    call_end(outer);
}

static void fail(const struct scoring *s, const struct berth_status *status, enum berth_code code,
                 const char *what)
{
    cycle_failure_status(s->failure, &s->cycle->framework->reasons, status, code,
                         "running %s: plugin \"%s\" failed with", what,
                         s->to->handle->plugin->name);
}

static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    const struct scoring *s = ctx;
    if (!s->failure->error)
        fail(s, &kept->status, kept->code, "Score plugins");
}

static bool run_score(struct scoring *s)
{
    const struct berth_handle *h = s->to->handle;
    struct berth_status *status = &s->cycle->cycles->status;
    s->to->scores = s->row->scores;
    /* Batches read columns, which include pods. */
    if (!h->plugin->score_many || (s->cycle->bare && h->plugin->score)) {
        workers_run(&s->cycle->cycles->workers, s->cycle->n_slots, score_items, s);
        workers_take_kept(&s->cycle->cycles->workers, resolve_kept, s);
        return !s->failure->error;
    }
    struct berth_score_batch batch = {.struct_size = sizeof(batch),
                                      .columns = &s->cycle->columns,
                                      .slots = s->cycle->slots,
                                      .n = s->cycle->n_slots,
                                      .scores = s->to->scores};
    status_clear(status);
    struct call_mark outer = call_begin(h, "Score", s->pod);
    enum berth_code code = h->plugin->score_many(h->self, s->cycle, s->pod, &batch, status);
    call_end(outer);
    if (code != BERTH_SUCCESS)
        fail(s, status, code, "Score plugins");
    return code == BERTH_SUCCESS;
}

static bool score_nodes(struct scoring *s)
{
    const struct berth_cycle *cycle = s->cycle;
    int64_t began = plugin_begin(cycle);
    bool ok = run_score(s);
    plugin_evaluated(cycle, s->to->handle, EVALUATION_SCORE, cycle->n_slots);
    if (cycle->sampled)
        scheduler_metrics_plugin(cycle->framework->metrics, s->to->handle, METRIC_SCORE,
                                 ok ? BERTH_SUCCESS : BERTH_ERROR,
                                 framework_now(cycle->framework) - began, cycle->n_slots);
    return ok;
}

static bool normalize(struct scoring *s)
{
    const struct berth_handle *h = s->to->handle;
    struct berth_status *status = &s->cycle->cycles->status;
    size_t n = s->cycle->n_slots;
    if (!h->plugin->normalize)
        return true;
    /* Explanations show the scores before normalizing as well. */
    s->to->raw = s->row->raw;
    memcpy(s->to->raw, s->to->scores, n * sizeof(int64_t));
    status_clear(status);
    int64_t began = plugin_begin(s->cycle);
    struct call_mark outer = call_begin(h, "NormalizeScore", s->pod);
    enum berth_code code =
        h->plugin->normalize(h->self, s->cycle, s->pod, s->cycle->slots, s->to->scores, n, status);
    call_end(outer);
    plugin_end(s->cycle, h, METRIC_NORMALIZE, code, began);
    if (code != BERTH_SUCCESS)
        fail(s, status, code, "Normalize on Score plugins");
    return code == BERTH_SUCCESS;
}

static bool in_range(int64_t score)
{
    return score >= 0 && score <= MAX_NODE_SCORE;
}

/* A score is out of range. Upstream checks node by node and reports the first in that order. */
static bool fail_range(const struct scoring *s)
{
    const struct berth_cycle *cycle = s->cycle;
    size_t n = cycle->plugin_scores.n, at = 0;
    while (in_range(cycle->plugin_scores.v[at % n].scores[at / n]))
        at++;
    const struct plugin_scores *scores = &cycle->plugin_scores.v[at % n];
    cycle_failure_error(s->failure,
                        "applying score defaultWeights on Score plugins: plugin \"%s\" returns an "
                        "invalid score %lld, it should in the range of [0, %d] after normalizing",
                        scores->handle->plugin->name, (long long)scores->scores[at / n],
                        MAX_NODE_SCORE);
    return false;
}

static bool all_equal(const int64_t *v, size_t n)
{
    return memcmp(v, v + 1, (n - 1) * sizeof(*v)) == 0;
}

static bool all_in_range(const int64_t *v, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok &= in_range(v[i]);
    return ok;
}

/* Adds the weighted scores to the totals, if all are in range. */
static bool add_up(struct scoring *s)
{
    const int64_t *scores = s->to->scores;
    int64_t *totals = s->cycle->scores, weight = s->to->handle->weight;
    uint8_t *normalized = s->row->normalized;
    size_t n = s->cycle->n_slots;
    bool uniform = all_equal(scores, n);
    if (!all_in_range(scores, uniform ? 1 : n))
        return fail_range(s);
    if (uniform) {
        s->common += scores[0] * weight;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        normalized[i] = (uint8_t)scores[i];
        totals[i] += scores[i] * weight;
    }
    s->to->normalized = normalized;
    return true;
}

static void begin_scores(struct berth_cycle *cycle)
{
    const handle_list *list = &cycle->profile->at[POINT_SCORE];
    cycle->scores = cycle->cycles->buffers.totals;
    memset(cycle->scores, 0, cycle->n_slots * sizeof(*cycle->scores));
    for (size_t i = 0; i < list->n; i++)
        if (!plugin_set_has(&cycle->skip_score, list->v[i]->id))
            vec_push(&cycle->plugin_scores, (struct plugin_scores){.handle = list->v[i]});
    for (size_t i = 0; i < cycle->plugin_scores.n; i++)
        attempt_buffers_row(&cycle->cycles->buffers, i, cycle->n_slots);
}

bool cycle_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure)
{
    /* All plugins score before any normalizes: a failure is reported before a range error. */
    static bool (*const steps[])(struct scoring *) = {score_nodes, normalize, add_up};
    struct scoring s = {.cycle = cycle, .pod = pod, .failure = failure};
    if (cycle->resumed)
        cycle_mark(cycle); /* extenders have filtered since */
    bool prepared = run_pre_score(cycle, pod, failure), ok = prepared;
    cycle_timed(cycle, METRIC_PRE_SCORE, ok ? BERTH_SUCCESS : BERTH_ERROR, true);
    begin_scores(cycle);
    for (size_t k = 0; ok && k < ARRAY_LEN(steps); k++)
        for (size_t i = 0; ok && i < cycle->plugin_scores.n; i++) {
            s.to = &cycle->plugin_scores.v[i];
            s.row = &cycle->cycles->buffers.rows.v[i];
            ok = steps[k](&s);
        }
    if (prepared)
        cycle_timed(cycle, METRIC_SCORE, ok ? BERTH_SUCCESS : BERTH_ERROR, true);
    /* The common part only matters with extenders, whose scores may be any number. */
    for (size_t i = 0; cycle->profile->setup->extenders.n && i < cycle->n_slots; i++)
        cycle->scores[i] += s.common;
    /* An attempt that fails records no scores. */
    if (!ok)
        vec_clear(&cycle->plugin_scores);
    return ok;
}

/* --- the choice ------------------------------------------------------------------------------- */

/* The highest total, and the highest tie-break among the nodes that have it. */
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
 * Among nodes with equal totals upstream takes the one that a binary heap built from the list has
 * on top. In every subtree a node wins against equals below it, and the left branch against the
 * right: the winner is the first of the best in preorder. The path to a node, as a string of turns,
 * sorts in that order. The turns are the bits of its 1-based index behind the first one; of two
 * that differ only in trailing zeros, the lower index comes first.
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

/* BerthRandomTies: any of the best nodes, with equal probability. */
static size_t random_best(const struct berth_cycle *cycle, int64_t best)
{
    size_t n = 0, i = 0;
    for (size_t k = 0; k < cycle->n_slots; k++)
        n += cycle->scores[k] == best;
    size_t skip = (size_t)rand_below(&cycle->framework->rand, n);
    while (cycle->scores[i] != best || skip--)
        i++;
    return i;
}

struct berth_node *cycle_choose(struct berth_cycle *cycle)
{
    const struct framework *fw = cycle->framework;
    size_t chosen = 0;
    INVARIANT(cycle->n_slots > 0);
    if (cycle->n_slots > 1) {
        struct best best = find_best(cycle);
        chosen = fw->features.on[FEATURE_BERTH_RANDOM_TIES] ? random_best(cycle, best.score)
                                                            : first_in_heap(cycle, &best);
    }
    return fw->cache->columns.nodes[cycle->slots[chosen]];
}
