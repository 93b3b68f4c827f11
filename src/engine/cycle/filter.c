/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - which nodes can take the pod.
 *
 * Nodes are looked at in windows: few enough to stop early once enough are found, many enough for
 * batch filters and for the pool. Inside a window one plugin after the other sees the nodes that
 * are still in the race, so the verdict on a node is that of the first plugin that refuses it, as
 * if nodes had been looked at one by one.
 */
#include "engine/cycle/cycle.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/what_if.h"

#define MIN_FEASIBLE_NODES      100
#define MIN_FEASIBLE_PERCENTAGE 5
#define FILTER_WINDOW           256

static bool extenders_choose(const struct setup *s)
{
    for (size_t i = 0; i < s->extenders.n; i++)
        if (s->extenders.v[i].spec.filters || s->extenders.v[i].spec.prioritizes)
            return true;
    return false;
}

static size_t nodes_to_find(const struct berth_cycle *cycle)
{
    const struct profile *p = cycle->profile;
    size_t all = cycle->n_nodes, percentage = (size_t)p->percentage_of_nodes_to_score;
    /* Nothing will be scored or taken away: the first node will do. */
    if (p->at[POINT_SCORE].n == 0 && !extenders_choose(p->setup))
        return 1;
    if (all < MIN_FEASIBLE_NODES || percentage >= 100)
        return all;
    if (percentage == 0)
        percentage =
            all / 125 < 50 - MIN_FEASIBLE_PERCENTAGE ? 50 - all / 125 : MIN_FEASIBLE_PERCENTAGE;
    return MAX(all * percentage / 100, (size_t)MIN_FEASIBLE_NODES);
}

/* --- one node --------------------------------------------------------------------------------- */

/* Any thread: the node was refused by the plugin at `i` of the list, or by none. */
static void count_stop(const struct berth_cycle *cycle, size_t i)
{
    if (cycle->engine->metrics)
        scheduler_metrics_stop(cycle->engine->metrics, i);
}

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
            count_stop(cycle, i);
            return code;
        }
    }
    count_stop(cycle, list->n);
    return BERTH_SUCCESS;
}

void cycle_count_filters(const struct berth_cycle *cycle)
{
    const handle_list *list = &cycle->profile->at[POINT_FILTER];
    struct scheduler_metrics *m = cycle->engine->metrics;
    if (!m || !scheduler_metrics_stopped(m))
        return;
    /* Who comes later in the list was asked about fewer nodes. */
    size_t asked = scheduler_metrics_take_stop(m, list->n);
    for (size_t i = list->n; i-- > 0;) {
        asked += scheduler_metrics_take_stop(m, i);
        if (!plugin_set_has(&cycle->skip_filter, list->v[i]->id))
            plugin_evaluated(cycle, list->v[i], EVALUATION_FILTER, asked);
    }
}

void cycle_filter_timed(struct berth_cycle *cycle, bool ok)
{
    if (cycle->profile->at[POINT_FILTER].n)
        cycle_timed(cycle, METRIC_FILTER, ok ? BERTH_SUCCESS : BERTH_ERROR, true);
}

/* As it would be once the promises that the pod has to respect are kept. */
static enum berth_code filter_with_nominated(struct berth_cycle *cycle, const struct berth_pod *pod,
                                             const struct berth_node *node,
                                             struct berth_status *status,
                                             const struct berth_handle **ret_plugin)
{
    struct what_if w;
    *ret_plugin = NULL;
    what_if_init(&w, pod, status);
    what_if_begin(&w, cycle, node);
    enum berth_code code = what_if_add_nominated(&w) ? what_if_filter(&w, ret_plugin) : BERTH_ERROR;
    what_if_release(&w);
    return code;
}

enum berth_code cycle_filter_node(struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin)
{
    if (what_if_has_nominated(cycle->engine, pod, node)) {
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
    struct attempt_buffers *buffers;
    size_t n_words;                    /* of sets of slots */
    size_t first_word, end_word;       /* those of them that the window's nodes are in */
    const struct berth_handle *handle; /* the plugin at work */
    size_t from, to;
    size_t n_refused;
    size_t said[METRIC_CODES]; /* metrics: by the plugin at work of nodes that it refused */
    /* The first node in order, so far, on which a plugin broke: it matters once it is reached. */
    size_t broken_at;
    struct cycle_failure broken;
};

/* A plugin broke. Without a plugin the status says it all. */
static void fail(const struct window *w, struct cycle_failure *failure,
                 const struct berth_handle *plugin, enum berth_code code,
                 const struct berth_status *status)
{
    if (plugin) {
        cycle_failure_status(failure, w->cycle, status, code, "running \"%s\" filter plugin",
                             plugin->plugin->name);
        return;
    }
    cycle_failure_error(failure, "%s", "");
    status_write(status, &w->cycle->engine->reasons, &failure->text);
}

static void broke(struct window *w, uint32_t slot, const struct berth_handle *plugin,
                  enum berth_code code, const struct berth_status *status)
{
    size_t i = w->from;
    while (cycle_slot(w->cycle, i) != slot)
        i++;
    if (i >= w->broken_at)
        return;
    w->broken_at = i;
    fail(w, &w->broken, plugin, code, status);
}

/* Out of the race, by this plugin's word. */
static void refuse(struct window *w, uint32_t slot, enum berth_code code, berth_reason reason)
{
    w->buffers->verdicts[slot] =
        (struct verdict){.code = (uint8_t)code, .plugin = w->handle->id, .reason = reason};
    w->n_refused++;
    w->said[metric_code(code)]++;
}

/* One plugin, one node, on whichever thread. */
static void filter_item(const struct window *w, struct worker *worker, size_t i)
{
    uint32_t slot = cycle_slot(w->cycle, i);
    if (!word_bit(w->buffers->feasible, slot))
        return;
    status_clear(&worker->status);
    enum berth_code code = w->handle->plugin->filter(w->handle->self, w->cycle, w->pod,
                                                     cycle_node(w->cycle, i), &worker->status);
    if (code == BERTH_SUCCESS)
        return;
    /* A single number can be noted here; everything else is for the engine's thread. */
    bool simple = worker->status.n == 1 && worker->status.reasons[0] && code_rejects(code);
    vec_push(&worker->refused,
             (struct worker_refusal){slot, code, simple ? worker->status.reasons[0] : 0});
    if (!simple)
        worker_keep(worker, i, code);
}

static void filter_items(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct window *w = ctx;
    for (size_t i = from; i < to; i++)
        filter_item(w, &w->cycle->engine->workers.v[worker], w->from + i);
}

static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    struct window *w = ctx;
    struct engine *e = w->cycle->engine;
    uint32_t slot = cycle_slot(w->cycle, kept->item);
    if (code_rejects(kept->code))
        w->buffers->verdicts[slot].reason = status_reason(&kept->status, &e->reasons);
    else
        broke(w, slot, w->handle, kept->code, &kept->status);
}

static void filter_one_by_one(struct window *w)
{
    struct workers *workers = &w->cycle->engine->workers;
    workers_run(workers, w->to - w->from, filter_items, w);
    for (size_t i = 0; i < workers->n; i++) {
        struct worker *worker = &workers->v[i];
        for (size_t k = 0; k < worker->refused.n; k++) {
            const struct worker_refusal *r = &worker->refused.v[k];
            word_unset(w->buffers->feasible, r->slot);
            refuse(w, r->slot, r->code, r->reason);
        }
        vec_clear(&worker->refused);
    }
    workers_take_kept(workers, resolve_kept, w);
}

/* What the batch says of the nodes of one word that did not pass. */
static void take_refused(struct window *w, size_t word, uint64_t gone)
{
    struct attempt_buffers *s = w->buffers;
    for (; gone; gone &= gone - 1) {
        uint32_t slot = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(gone);
        enum berth_code code = (enum berth_code)s->codes[slot];
        refuse(w, slot, code, s->reasons[slot]);
        if (!code_rejects(code))
            broke(w, slot, w->handle, code, &w->cycle->engine->status);
        s->codes[slot] = 0;
        s->reasons[slot] = 0;
    }
}

/* False: the plugin broke, which is to say on the first node that it was asked about. */
static bool filter_batch(struct window *w)
{
    struct attempt_buffers *s = w->buffers;
    struct berth_status *status = &w->cycle->engine->status;
    struct berth_filter_batch batch = {.columns = &w->cycle->columns,
                                       .feasible = s->feasible,
                                       .codes = s->codes,
                                       .reasons = s->reasons};
    memcpy(s->before + w->first_word, s->feasible + w->first_word,
           (w->end_word - w->first_word) * sizeof(uint64_t));
    status_clear(status);
    enum berth_code code =
        w->handle->plugin->filter_many(w->handle->self, w->cycle, w->pod, &batch, status);
    for (size_t i = w->first_word; i < w->end_word; i++) {
        uint64_t gone = s->before[i] & ~s->feasible[i];
        s->feasible[i] &= s->before[i]; /* nobody brings a node back into the race */
        if (gone)
            take_refused(w, i, gone);
    }
    if (code == BERTH_SUCCESS)
        return true;
    size_t first = w->from;
    while (!word_bit(s->before, cycle_slot(w->cycle, first)))
        first++;
    word_unset(s->feasible, cycle_slot(w->cycle, first));
    w->n_refused++;
    w->said[BERTH_ERROR]++;
    broke(w, cycle_slot(w->cycle, first), w->handle, code, status);
    return false;
}

/* The nodes of the window that are promised to others, as a set in scratch->before. */
static void find_nominated(struct window *w)
{
    struct engine *e = w->cycle->engine;
    memset(w->buffers->before, 0, w->n_words * sizeof(uint64_t));
    map_each (entry, &e->queue.nominator.nodes) {
        const struct berth_node *node = cache_node(&e->cache, entry->key);
        if (node)
            word_set(w->buffers->before, node->slot);
    }
}

/* Nodes that are promised to others are looked at one by one, by all plugins. */
static void filter_nominated(struct window *w)
{
    struct engine *e = w->cycle->engine;
    if (e->queue.nominator.nodes.n == 0)
        return;
    find_nominated(w);
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_slot(w->cycle, i);
        const struct berth_node *node = cycle_node(w->cycle, i);
        const struct berth_handle *plugin = NULL;
        if (!word_bit(w->buffers->before, slot) || !what_if_has_nominated(e, w->pod, node))
            continue;
        enum berth_code code = filter_with_nominated(w->cycle, w->pod, node, &e->status, &plugin);
        if (code == BERTH_SUCCESS)
            continue;
        word_unset(w->buffers->feasible, slot);
        w->n_refused++;
        w->buffers->verdicts[slot] = (struct verdict){
            .code = (uint8_t)code, .plugin = plugin ? plugin->id : VERDICT_NOBODY, .reason = 0};
        if (code_rejects(code))
            w->buffers->verdicts[slot].reason = status_reason(&e->status, &e->reasons);
        else
            broke(w, slot, plugin, code, &e->status);
    }
}

/* Metrics: as if each node had taken its share. */
static void time_plugin(struct window *w, size_t asked, int64_t began)
{
    struct engine *e = w->cycle->engine;
    double each = (double)(engine_now(e) - began) / (double)asked;
    size_t n = asked;
    for (size_t code = 0; code < METRIC_CODES; code++) {
        scheduler_metrics_plugin(e->metrics, w->handle, METRIC_FILTER, (enum berth_code)code,
                                 (int64_t)(each * (double)w->said[code]), w->said[code]);
        n -= w->said[code];
    }
    scheduler_metrics_plugin(e->metrics, w->handle, METRIC_FILTER, BERTH_SUCCESS,
                             (int64_t)(each * (double)n), n);
    memset(w->said, 0, sizeof(w->said));
}

static void filter_window(struct window *w)
{
    const handle_list *list = &w->cycle->profile->at[POINT_FILTER];
    bool ok = true;
    filter_nominated(w);
    /* Nobody is asked about nothing: a batch that breaks without a node would end the attempt. */
    for (size_t i = 0; ok && i < list->n && w->n_refused < w->to - w->from; i++) {
        w->handle = list->v[i];
        if (plugin_set_has(&w->cycle->skip_filter, w->handle->id))
            continue;
        size_t asked = w->to - w->from - w->n_refused;
        int64_t began = plugin_begin(w->cycle);
        if (w->handle->plugin->filter_many)
            ok = filter_batch(w);
        else
            filter_one_by_one(w);
        plugin_evaluated(w->cycle, w->handle, EVALUATION_FILTER, asked);
        if (w->cycle->sampled)
            time_plugin(w, asked, began);
    }
}

/* Slots that follow each other are mostly in the same word, which is put together in a register. */
static void add_slots(struct window *w, const uint32_t *slots, size_t n)
{
    uint64_t *words = w->buffers->feasible, bits = 0;
    size_t word = slots[0] / 64;
    w->first_word = w->end_word = word;
    for (size_t i = 0; i < n; i++) {
        if (slots[i] / 64 != word) {
            words[word] |= bits;
            word = slots[i] / 64;
            bits = 0;
            w->first_word = MIN(w->first_word, word);
            w->end_word = MAX(w->end_word, word);
        }
        bits |= (uint64_t)1 << (slots[i] % 64);
    }
    words[word] |= bits;
    w->end_word++;
}

static void open_window(struct window *w, size_t n)
{
    w->from = w->to;
    w->to += n;
    w->n_refused = 0;
    memset(w->buffers->feasible, 0, w->n_words * sizeof(uint64_t));
    add_slots(w, w->cycle->candidates + w->cycle->start + w->from, n);
}

/* As many nodes as will do if as many of them pass as did so far. */
static size_t next_size(const struct window *w, size_t want)
{
    size_t passed = w->cycle->n_slots, left = want - passed + 1;
    if (passed)
        left = (size_t)((double)left * (double)w->to / (double)passed);
    return MIN(MAX(left, (size_t)FILTER_WINDOW), w->cycle->n_nodes - w->to);
}

/* All of them passed. */
static void take_all(struct window *w)
{
    struct berth_cycle *cycle = w->cycle;
    size_t n = w->to - w->from;
    memcpy(cycle->slots + cycle->n_slots, cycle->candidates + cycle->start + w->from,
           n * sizeof(*cycle->slots));
    cycle->n_slots += n;
    for (size_t i = w->from; i < w->to; i++)
        word_set(w->buffers->passed, i);
}

/*
 * Takes the verdicts in order until `want` feasible nodes are found: *ret_enough. Like upstream it
 * only knows when it sees one more: nodes that are refused up to there count as looked at. What a
 * plugin that broke would have said of nodes beyond is not missed. False: it is.
 */
static bool close_window(struct window *w, size_t want, struct cycle_failure *failure,
                         bool *ret_enough)
{
    struct berth_cycle *cycle = w->cycle;
    if (w->n_refused == 0) {
        *ret_enough = w->to - w->from > want - cycle->n_slots;
        w->to = MIN(w->to, w->from + want - cycle->n_slots);
        take_all(w);
        return true;
    }
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_slot(cycle, i);
        if (word_bit(w->buffers->feasible, slot)) {
            if (cycle->n_slots == want) {
                w->to = i;
                *ret_enough = true;
                return true;
            }
            word_set(w->buffers->passed, i);
            cycle->slots[cycle->n_slots++] = slot;
            continue;
        }
        if (i == w->broken_at) {
            w->to = i;
            return false;
        }
        struct verdict v = w->buffers->verdicts[slot];
        cycle->n_failed++;
        if (attempt_buffers_add_refused(w->buffers, v))
            cycle_failure_blame(failure, cycle->profile->setup->handles[v.plugin], v.code);
    }
    return true;
}

/*
 * How many nodes the next attempt begins behind this one. Upstream counts those it has a status of
 * and those that passed: a promised node that was refused at first counts again, unless it was
 * refused twice.
 */
static size_t count_processed(const struct window *w)
{
    const struct berth_cycle *cycle = w->cycle;
    if (!cycle->on_nominated.refused)
        return w->to;
    for (size_t i = 0; i < w->to; i++)
        if (cycle_slot(cycle, i) == cycle->on_nominated.slot && !word_bit(w->buffers->passed, i))
            return w->to;
    return w->to + 1;
}

bool cycle_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                  struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    size_t want = nodes_to_find(cycle);
    struct window w = {.cycle = cycle,
                       .pod = pod,
                       .buffers = &e->buffers,
                       .n_words = BITSET_WORDS(cycle->columns.n),
                       .broken_at = SIZE_MAX};
    bool ok = true, enough = false;
    while (ok && !enough && w.to < cycle->n_nodes) {
        open_window(&w, next_size(&w, want));
        filter_window(&w);
        if (!close_window(&w, want, failure, &enough)) {
            cycle_failure_move(failure, &w.broken);
            ok = false;
        }
    }
    cycle_failure_release(&w.broken);
    cycle_filter_timed(cycle, ok);
    e->next_start_node = (e->next_start_node + count_processed(&w)) % cycle->n_all;
    return ok;
}
