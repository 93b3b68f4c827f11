/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - which nodes can take the pod.
 *
 * Nodes are looked at in windows: few enough to stop early once enough are found, many enough for
 * batch filters and for the pool. Inside a window one plugin after the other sees the nodes that
 * are still in the race, so the verdict on a node is that of the first plugin that refuses it, as
 * if nodes had been looked at one by one.
 */
#include "engine/cycle.h"
#include "engine/internal.h"
#include "engine/what_if.h"

#define MIN_FEASIBLE_NODES      100
#define MIN_FEASIBLE_PERCENTAGE 5
#define FILTER_WINDOW           256

static bool extenders_choose(const struct engine *e)
{
    for (size_t i = 0; i < e->extenders.n; i++)
        if (e->extenders.v[i].spec.filters || e->extenders.v[i].spec.prioritizes)
            return true;
    return false;
}

static size_t nodes_to_find(const struct berth_cycle *cycle)
{
    const struct profile *p = cycle->profile;
    size_t all = cycle->n_nodes, percentage = (size_t)p->percentage_of_nodes_to_score;
    /* Nothing will be scored or taken away: the first node will do. */
    if (p->at[POINT_SCORE].n == 0 && !extenders_choose(cycle->engine))
        return 1;
    if (all < MIN_FEASIBLE_NODES || percentage >= 100)
        return all;
    if (percentage == 0)
        percentage =
            all / 125 < 50 - MIN_FEASIBLE_PERCENTAGE ? 50 - all / 125 : MIN_FEASIBLE_PERCENTAGE;
    return MAX(all * percentage / 100, (size_t)MIN_FEASIBLE_NODES);
}

/* --- one node --------------------------------------------------------------------------------- */

enum berth_code cycle_run_filters(const struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin)
{
    const handle_list *list = &cycle->profile->at[POINT_FILTER];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (plugin_set_has(&cycle->skip_filter, h->id))
            continue;
        status_clear(status);
        enum berth_code code = h->plugin->filter(h->self, cycle, pod, node, status);
        if (code != BERTH_SUCCESS) {
            *ret_plugin = h;
            return code;
        }
    }
    return BERTH_SUCCESS;
}

static bool counts_for(const struct berth_pod *pod, const struct berth_pod *nominated)
{
    return nominated->priority >= pod->priority &&
           !str_eq(pod_info_key(nominated), pod_info_key(pod));
}

static bool has_nominated(const struct engine *e, const struct berth_pod *pod,
                          const struct berth_node *node)
{
    const struct nominated_node *n = nominator_node(&e->queue.nominator, str_of(node->name));
    for (size_t i = 0; n && i < n->pods.n; i++)
        if (counts_for(pod, n->pods.v[i]))
            return true;
    return false;
}

static enum berth_code filter_with_nominated(struct berth_cycle *cycle, const struct berth_pod *pod,
                                             const struct berth_node *node,
                                             struct berth_status *status,
                                             const struct berth_handle **ret_plugin)
{
    const struct nominated_node *n =
        nominator_node(&cycle->engine->queue.nominator, str_of(node->name));
    struct what_if w;
    bool ok = true;
    *ret_plugin = NULL;
    what_if_init(&w, cycle, pod, node, status);
    for (size_t i = 0; ok && i < n->pods.n; i++)
        if (counts_for(pod, n->pods.v[i]))
            ok = what_if_add(&w, n->pods.v[i]);
    enum berth_code code = ok ? what_if_filter(&w, ret_plugin) : BERTH_ERROR;
    what_if_release(&w);
    return code;
}

enum berth_code cycle_filter_node(struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin)
{
    if (has_nominated(cycle->engine, pod, node)) {
        enum berth_code code = filter_with_nominated(cycle, pod, node, status, ret_plugin);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return cycle_run_filters(cycle, pod, node, status, ret_plugin);
}

/* --- a window --------------------------------------------------------------------------------- */

/* Candidates [from, to). */
struct window {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    const struct berth_handle *handle; /* the plugin at work */
    size_t from, to;
    struct bitset feasible; /* by slot: still in the race */
    struct cycle_failure *failure;
};

/* A plugin broke. Without a plugin the status says it all. */
static void fail(struct window *w, const struct berth_handle *plugin, enum berth_code code,
                 const struct berth_status *status)
{
    if (plugin) {
        cycle_failure_status(w->failure, w->cycle, status, code, "running \"%s\" filter plugin",
                             plugin->plugin->name);
        return;
    }
    cycle_failure_error(w->failure, "%s", "");
    status_write(status, &w->cycle->engine->reasons, &w->failure->text);
}

static struct verdict *verdict_at(const struct window *w, size_t i)
{
    return &w->cycle->engine->verdicts[cycle_node(w->cycle, i)->slot];
}

/* One plugin, one node, on whichever thread. */
static void filter_item(const struct window *w, struct worker *worker, size_t i)
{
    const struct berth_node *node = cycle_node(w->cycle, i);
    if (!bitset_get(&w->feasible, node->slot))
        return;
    status_clear(&worker->status);
    enum berth_code code =
        w->handle->plugin->filter(w->handle->self, w->cycle, w->pod, node, &worker->status);
    if (code == BERTH_SUCCESS)
        return;
    struct verdict *v = verdict_at(w, i);
    v->code = (uint8_t)MIN((unsigned)code, (unsigned)UINT8_MAX);
    v->plugin = w->handle->id;
    /* A single number can be noted here; everything else is for the engine's thread. */
    if (worker->status.n == 1 && worker->status.reasons[0] && code_rejects(code))
        v->reason = worker->status.reasons[0];
    else
        worker_keep(worker, i, code);
}

static void filter_items(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct window *w = ctx;
    for (size_t i = from; i < to; i++)
        filter_item(w, &w->cycle->engine->workers.v[worker], w->from + i);
}

/* The first node, in order, on which a plugin broke decides what is told. */
static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    struct window *w = ctx;
    struct engine *e = w->cycle->engine;
    if (code_rejects(kept->code))
        verdict_at(w, kept->item)->reason = status_reason(&kept->status, &e->reasons);
    else if (!w->failure->error)
        fail(w, w->handle, kept->code, &kept->status);
}

static bool filter_one_by_one(struct window *w)
{
    struct engine *e = w->cycle->engine;
    workers_run(&e->workers, w->to - w->from, filter_items, w);
    workers_take_kept(&e->workers, resolve_kept, w);
    for (size_t i = w->from; i < w->to; i++)
        if (verdict_at(w, i)->code != BERTH_SUCCESS)
            bitset_unset(&w->feasible, cycle_node(w->cycle, i)->slot);
    return !w->failure->error;
}

static bool filter_batch(struct window *w)
{
    struct engine *e = w->cycle->engine;
    struct berth_filter_batch batch = {.columns = &w->cycle->columns,
                                       .feasible = w->feasible.words,
                                       .codes = e->batch_codes,
                                       .reasons = e->batch_reasons};
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_node(w->cycle, i)->slot;
        e->batch_codes[slot] = BERTH_SUCCESS;
        e->batch_reasons[slot] = 0;
    }
    status_clear(&e->status);
    enum berth_code code =
        w->handle->plugin->filter_many(w->handle->self, w->cycle, w->pod, &batch, &e->status);
    if (code != BERTH_SUCCESS) {
        fail(w, w->handle, code, &e->status);
        return false;
    }
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_node(w->cycle, i)->slot;
        struct verdict *v = &e->verdicts[slot];
        if (v->code != BERTH_SUCCESS)
            bitset_unset(&w->feasible, slot); /* nobody brings it back into the race */
        if (v->code != BERTH_SUCCESS || bitset_get(&w->feasible, slot))
            continue;
        *v = (struct verdict){.code = e->batch_codes[slot],
                              .plugin = w->handle->id,
                              .reason = e->batch_reasons[slot]};
        if (!code_rejects(v->code)) {
            fail(w, w->handle, v->code, &e->status);
            return false;
        }
    }
    return true;
}

/* Nodes that are promised to others are looked at one by one, by all plugins. */
static bool filter_promised(struct window *w)
{
    struct engine *e = w->cycle->engine;
    if (e->queue.nominator.nodes.n == 0)
        return true;
    for (size_t i = w->from; i < w->to; i++) {
        struct berth_node *node = cycle_node(w->cycle, i);
        const struct berth_handle *plugin = NULL;
        if (!bitset_get(&w->feasible, node->slot) || !has_nominated(e, w->pod, node))
            continue;
        enum berth_code code = filter_with_nominated(w->cycle, w->pod, node, &e->status, &plugin);
        if (code == BERTH_SUCCESS)
            continue;
        if (!code_rejects(code)) {
            fail(w, plugin, code, &e->status);
            return false;
        }
        bitset_unset(&w->feasible, node->slot);
        e->verdicts[node->slot] =
            (struct verdict){.code = (uint8_t)code,
                             .plugin = plugin->id,
                             .reason = status_reason(&e->status, &e->reasons)};
    }
    return true;
}

static bool filter_window(struct window *w)
{
    const handle_list *list = &w->cycle->profile->at[POINT_FILTER];
    bool ok = filter_promised(w);
    for (size_t i = 0; ok && i < list->n; i++) {
        w->handle = list->v[i];
        if (plugin_set_has(&w->cycle->skip_filter, w->handle->id))
            continue;
        ok = w->handle->plugin->filter_many ? filter_batch(w) : filter_one_by_one(w);
    }
    return ok;
}

static void open_window(struct window *w)
{
    bitset_fill(&w->feasible, false);
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_node(w->cycle, i)->slot;
        w->cycle->engine->verdicts[slot] = (struct verdict){.plugin = VERDICT_NOBODY};
        bitset_set(&w->feasible, slot);
    }
}

/* For every node looked at: worth being part of its caller. */
static inline void add_run(struct berth_cycle *cycle, const struct verdict *v, uint32_t n)
{
    struct verdict_run *last = cycle->runs.n ? &vec_last(&cycle->runs) : NULL;
    if (last && last->plugin == v->plugin && last->code == v->code && last->reason == v->reason)
        last->n += n;
    else
        vec_push(&cycle->runs, (struct verdict_run){n, v->plugin, v->code, v->reason});
}

/* Takes the verdicts in order until `want` feasible nodes are found. True: that is enough. */
static bool close_window(struct window *w, size_t want)
{
    struct berth_cycle *cycle = w->cycle;
    struct engine *e = cycle->engine;
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_node(cycle, i)->slot;
        const struct verdict *v = &e->verdicts[slot];
        add_run(cycle, v, 1);
        if (v->code == BERTH_SUCCESS) {
            cycle->slots[cycle->n_slots++] = slot;
            if (cycle->n_slots == want) {
                w->to = i + 1;
                return true;
            }
            continue;
        }
        cycle->n_failed++;
        cycle_failure_blame(w->failure, e->handles[v->plugin], v->code);
    }
    return false;
}

bool cycle_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                  struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    size_t want = nodes_to_find(cycle);
    struct window w = {.cycle = cycle, .pod = pod, .failure = failure};
    bool ok = true, enough = false;
    bitset_init(&w.feasible, cycle->columns.n);
    while (ok && !enough && w.to < cycle->n_nodes) {
        w.from = w.to;
        w.to = MIN(cycle->n_nodes, w.from + MAX((size_t)FILTER_WINDOW, want - cycle->n_slots));
        open_window(&w);
        ok = filter_window(&w);
        if (ok)
            enough = close_window(&w, want);
    }
    bitset_release(&w.feasible);
    e->next_start_node = (e->next_start_node + w.to) % e->cache.order.n;
    return ok;
}

/* --- after the filters ------------------------------------------------------------------------ */

struct str cycle_feasible_name(const struct berth_cycle *cycle, size_t i)
{
    return explain_nodes_name(cycle->names, cycle->slots[i]);
}

bool cycle_still_there(const struct berth_cycle *cycle, size_t i)
{
    const struct cache_columns *columns = &cycle->engine->cache.columns;
    const struct berth_node *node = columns->nodes[cycle->slots[i]];
    return node && node->object && str_eq(str_of(node->name), cycle_feasible_name(cycle, i));
}

/* Everything that is known of feasible node `from` becomes that of `to`. */
static void move_feasible(struct berth_cycle *cycle, size_t from, size_t to)
{
    cycle->slots[to] = cycle->slots[from];
    if (cycle->scores)
        cycle->scores[to] = cycle->scores[from];
    if (cycle->ties)
        cycle->ties[to] = cycle->ties[from];
    for (size_t i = 0; i < cycle->plugin_scores.n; i++) {
        struct plugin_scores *s = &cycle->plugin_scores.v[i];
        s->normalized[to] = s->normalized[from];
        if (s->raw)
            s->raw[to] = s->raw[from];
    }
    for (size_t i = 0; i < cycle->extender_scores.n; i++) {
        int64_t *scores = cycle->extender_scores.v[i].scores;
        if (scores)
            scores[to] = scores[from];
    }
}

static void narrow_runs(struct berth_cycle *cycle, const struct verdict *verdicts)
{
    struct verdict_run *old = cycle->runs.v;
    size_t n = cycle->runs.n, at = 0;
    cycle->runs.v = NULL;
    cycle->runs.n = cycle->runs.cap = 0;
    for (size_t i = 0; i < n; i++) {
        struct verdict v = {old[i].code, old[i].plugin, old[i].reason};
        if (v.code != BERTH_SUCCESS)
            add_run(cycle, &v, old[i].n);
        else
            for (uint32_t k = 0; k < old[i].n; k++)
                add_run(cycle, &verdicts[at++], 1);
    }
    free(old);
}

void cycle_narrow(struct berth_cycle *cycle, const struct verdict *verdicts)
{
    size_t left = 0;
    narrow_runs(cycle, verdicts);
    for (size_t i = 0; i < cycle->n_slots; i++) {
        if (verdicts[i].code != BERTH_SUCCESS)
            continue;
        if (left != i)
            move_feasible(cycle, i, left);
        left++;
    }
    cycle->n_failed += cycle->n_slots - left;
    cycle->n_slots = left;
}

void cycle_restore_verdicts(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    size_t at = cycle->start;
    /* Nodes that nobody looked at, or that have come since, are no case for preemption. */
    for (size_t slot = 0; slot < cycle->columns.n; slot++)
        e->verdicts[slot] = (struct verdict){.code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                                             .plugin = VERDICT_NOBODY};
    for (size_t i = 0; i < cycle->runs.n; i++) {
        const struct verdict_run *run = &cycle->runs.v[i];
        for (uint32_t k = 0; k < run->n; k++, at++) {
            uint32_t slot = cycle->order ? cycle->order[at % cycle->n_nodes]
                                         : explain_nodes_slot(cycle->names, at % cycle->n_nodes);
            const struct berth_node *node = e->cache.columns.nodes[slot];
            if (node && str_eq(str_of(node->name), explain_nodes_name(cycle->names, slot)))
                e->verdicts[slot] = (struct verdict){run->code, run->plugin, run->reason};
        }
    }
}
