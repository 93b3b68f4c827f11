/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - which of the feasible nodes is best. */
#include "engine/cycle/cycle.h"
#include "engine/cycle/cycle_timing.h"

#define MAX_NODE_SCORE 100

static bool run_pre_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                          struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    const handle_list *list = &cycle->profile->at[POINT_PRE_SCORE];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(&e->status);
        int64_t began = plugin_begin(cycle);
        enum berth_code code =
            h->plugin->pre_score(h->self, cycle, pod, cycle->slots, cycle->n_slots, &e->status);
        plugin_end(cycle, h, METRIC_PRE_SCORE, code, began);
        if (code == BERTH_SKIP) {
            plugin_set_add(&cycle->skip_score, h->id);
            continue;
        }
        plugin_evaluated(cycle, h, EVALUATION_PRE_SCORE, 1);
        if (code != BERTH_SUCCESS) {
            cycle_failure_status(failure, cycle, &e->status, code, "running PreScore plugin \"%s\"",
                                 h->plugin->name);
            return false;
        }
    }
    return true;
}

/* --- one plugin over all feasible nodes ------------------------------------------------------- */

struct scoring {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    struct plugin_scores *to; /* the plugin at work, and where its scores go */
    struct score_row *row;    /* room for them */
    int64_t common;           /* what all nodes have alike */
    struct cycle_failure *failure;
};

/* The node as an extender sent it back: its object, and nothing of what runs on it. */
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
    struct engine *e = s->cycle->engine;
    struct worker *w = &e->workers.v[worker];
    for (size_t i = from; i < to; i++) {
        const struct berth_node *node = e->cache.columns.nodes[s->cycle->slots[i]];
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
}

static void fail(const struct scoring *s, const struct berth_status *status, enum berth_code code,
                 const char *what)
{
    cycle_failure_status(s->failure, s->cycle, status, code,
                         "running %s: plugin \"%s\" failed with", what,
                         s->to->handle->plugin->name);
}

static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    const struct scoring *s = ctx;
    if (!s->failure->error)
        fail(s, &kept->status, kept->code, "Score plugins");
}

static bool ask_plugin(struct scoring *s)
{
    const struct berth_handle *h = s->to->handle;
    struct engine *e = s->cycle->engine;
    s->to->scores = s->row->scores;
    /* Batches read columns, which know of pods. */
    if (!h->plugin->score_many || (s->cycle->bare && h->plugin->score)) {
        workers_run(&e->workers, s->cycle->n_slots, score_items, s);
        workers_take_kept(&e->workers, resolve_kept, s);
        return !s->failure->error;
    }
    struct berth_score_batch batch = {.columns = &s->cycle->columns,
                                      .slots = s->cycle->slots,
                                      .n = s->cycle->n_slots,
                                      .scores = s->to->scores};
    status_clear(&e->status);
    enum berth_code code = h->plugin->score_many(h->self, s->cycle, s->pod, &batch, &e->status);
    if (code != BERTH_SUCCESS)
        fail(s, &e->status, code, "Score plugins");
    return code == BERTH_SUCCESS;
}

static bool score_nodes(struct scoring *s)
{
    const struct berth_cycle *cycle = s->cycle;
    int64_t began = plugin_begin(cycle);
    bool ok = ask_plugin(s);
    plugin_evaluated(cycle, s->to->handle, EVALUATION_SCORE, cycle->n_slots);
    if (cycle->sampled)
        scheduler_metrics_plugin(cycle->engine->metrics, s->to->handle, METRIC_SCORE,
                                 ok ? BERTH_SUCCESS : BERTH_ERROR,
                                 engine_now(cycle->engine) - began, cycle->n_slots);
    return ok;
}

static bool normalize(struct scoring *s)
{
    const struct berth_handle *h = s->to->handle;
    struct engine *e = s->cycle->engine;
    size_t n = s->cycle->n_slots;
    if (!h->plugin->normalize)
        return true;
    /* What came before normalising is kept for the explanation. */
    s->to->raw = s->row->raw;
    memcpy(s->to->raw, s->to->scores, n * sizeof(int64_t));
    status_clear(&e->status);
    int64_t began = plugin_begin(s->cycle);
    enum berth_code code = h->plugin->normalize(h->self, s->cycle, s->pod, s->cycle->slots,
                                                s->to->scores, n, &e->status);
    plugin_end(s->cycle, h, METRIC_NORMALIZE, code, began);
    if (code != BERTH_SUCCESS)
        fail(s, &e->status, code, "Normalize on Score plugins");
    return code == BERTH_SUCCESS;
}

static bool in_range(int64_t score)
{
    return score >= 0 && score <= MAX_NODE_SCORE;
}

/* Somebody's score is off range. Upstream goes node by node: the first in that order is told. */
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

/* Adds the weighted scores to the totals, provided that they are what they should be. */
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
    cycle->scores = cycle->engine->buffers.totals;
    memset(cycle->scores, 0, cycle->n_slots * sizeof(*cycle->scores));
    for (size_t i = 0; i < list->n; i++)
        if (!plugin_set_has(&cycle->skip_score, list->v[i]->id))
            vec_push(&cycle->plugin_scores, (struct plugin_scores){.handle = list->v[i]});
    for (size_t i = 0; i < cycle->plugin_scores.n; i++)
        attempt_buffers_row(&cycle->engine->buffers, i, cycle->n_slots);
}

bool cycle_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure)
{
    /* All score before any normalises: that one broke is told rather than that one is off range. */
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
            s.row = &cycle->engine->buffers.rows.v[i];
            ok = steps[k](&s);
        }
    if (prepared)
        cycle_timed(cycle, METRIC_SCORE, ok ? BERTH_SUCCESS : BERTH_ERROR, true);
    /* It decides nothing, unless extenders add what may be any number. */
    for (size_t i = 0; cycle->profile->setup->extenders.n && i < cycle->n_slots; i++)
        cycle->scores[i] += s.common;
    /* Scores that do not make a decision are not told. */
    if (!ok)
        vec_clear(&cycle->plugin_scores);
    return ok;
}
