/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - which of the feasible nodes is best. */
#include "engine/cycle.h"
#include "engine/internal.h"

#define MAX_NODE_SCORE 100

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
            cycle_failure_status(failure, cycle, &e->status, code, "running PreScore plugin \"%s\"",
                                 h->plugin->name);
            return false;
        }
    }
    return true;
}

/* --- one plugin over all feasible nodes -------------------------------------------------------- */

struct scoring {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    const struct berth_handle *handle;
    int64_t *scores;
    struct cycle_failure *failure;
};

static void score_items(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct scoring *s = ctx;
    struct engine *e = s->cycle->engine;
    struct worker *w = &e->workers.v[worker];
    for (size_t i = from; i < to; i++) {
        const struct berth_node *node = e->cache.columns.nodes[s->cycle->slots[i]];
        status_clear(&w->status);
        enum berth_code code = s->handle->plugin->score(s->handle->self, s->cycle, s->pod, node,
                                                        &s->scores[i], &w->status);
        if (code != BERTH_SUCCESS)
            worker_keep(w, i);
    }
}

static void resolve_kept(void *ctx, size_t item, const struct berth_status *status)
{
    (void)item;
    const struct scoring *s = ctx;
    if (!s->failure->error)
        cycle_failure_status(s->failure, s->cycle, status, BERTH_ERROR,
                             "running Score plugins: plugin \"%s\" failed with",
                             s->handle->plugin->name);
}

static bool score_nodes(struct scoring *s)
{
    struct engine *e = s->cycle->engine;
    if (!s->handle->plugin->score_many) {
        workers_run(&e->workers, s->cycle->n_slots, score_items, s);
        workers_take_kept(&e->workers, resolve_kept, s);
        return !s->failure->error;
    }
    struct berth_score_batch batch = {.columns = &s->cycle->columns,
                                      .slots = s->cycle->slots,
                                      .n = s->cycle->n_slots,
                                      .scores = s->scores};
    status_clear(&e->status);
    enum berth_code code =
        s->handle->plugin->score_many(s->handle->self, s->cycle, s->pod, &batch, &e->status);
    if (code != BERTH_SUCCESS)
        resolve_kept(s, 0, &e->status);
    return code == BERTH_SUCCESS;
}

static bool normalize(const struct scoring *s)
{
    struct engine *e = s->cycle->engine;
    if (!s->handle->plugin->normalize)
        return true;
    status_clear(&e->status);
    enum berth_code code =
        s->handle->plugin->normalize(s->handle->self, s->cycle, s->pod, s->cycle->slots, s->scores,
                                     s->cycle->n_slots, &e->status);
    if (code != BERTH_SUCCESS)
        cycle_failure_status(s->failure, s->cycle, &e->status, code,
                             "running Normalize on Score plugins: plugin \"%s\" failed with",
                             s->handle->plugin->name);
    return code == BERTH_SUCCESS;
}

/* Adds the weighted scores to the totals, provided that they are what they should be. */
static bool add_up(const struct scoring *s)
{
    for (size_t i = 0; i < s->cycle->n_slots; i++) {
        if (s->scores[i] < 0 || s->scores[i] > MAX_NODE_SCORE) {
            cycle_failure_error(s->failure,
                                "applying score defaultWeights on Score plugins: plugin \"%s\" "
                                "returns an invalid score %lld, it should in the range of [0, %d] "
                                "after normalizing",
                                s->handle->plugin->name, (long long)s->scores[i], MAX_NODE_SCORE);
            return false;
        }
        s->cycle->scores[i] += s->scores[i] * s->handle->weight;
    }
    return true;
}

static bool run_score_plugin(struct berth_cycle *cycle, const struct berth_handle *h,
                             const struct berth_pod *pod, struct cycle_failure *failure)
{
    struct plugin_scores ps = {.handle = h,
                               .raw = arena_array(&cycle->arena, int64_t, cycle->n_slots)};
    struct scoring s = {cycle, pod, h, ps.raw, failure};
    if (!score_nodes(&s))
        return false;
    ps.normalized = ps.raw;
    if (h->plugin->normalize) {
        /* What came before normalising is kept for the explanation. */
        ps.normalized = arena_array(&cycle->arena, int64_t, cycle->n_slots);
        memcpy(ps.normalized, ps.raw, cycle->n_slots * sizeof(int64_t));
        s.scores = ps.normalized;
    }
    if (!normalize(&s) || !add_up(&s))
        return false;
    vec_push(&cycle->plugin_scores, ps);
    return true;
}

bool cycle_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                 struct cycle_failure *failure)
{
    const handle_list *list = &cycle->profile->at[POINT_SCORE];
    if (!run_pre_score(cycle, pod, failure))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!plugin_set_has(&cycle->skip_score, list->v[i]->id) &&
            !run_score_plugin(cycle, list->v[i], pod, failure))
            return false;
    return true;
}
