/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - which nodes can take the pod (upstream: findNodesThatFitPod).
 *
 * Nodes are filtered in windows: few enough to stop early once enough are feasible, many enough for
 * batch filters and for the pool. Inside a window one plugin after the other sees the nodes that
 * are still feasible.
 *
 * Invariants: the verdict on a node is that of the first plugin that refuses it, and the feasible
 * nodes are the first `want` in candidate order, as if nodes had been filtered one by one.
 */
#include "engine/cycle/cycle.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/what_if.h"
#include "engine/framework/call_mark.h"

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

/* How many feasible nodes are enough (upstream: numFeasibleNodesToFind). */
static size_t nodes_to_find(const struct berth_cycle *cycle)
{
    const struct profile *p = cycle->profile;
    size_t all = cycle->n_nodes, percentage = (size_t)p->percentage_of_nodes_to_score;
    /* Nothing scores or filters afterwards: the first node is enough. */
    if (p->at[POINT_SCORE].n == 0 && !extenders_choose(p->setup))
        return 1;
    if (all < MIN_FEASIBLE_NODES || percentage >= 100)
        return all;
    if (percentage == 0)
        percentage =
            all / 125 < 50 - MIN_FEASIBLE_PERCENTAGE ? 50 - all / 125 : MIN_FEASIBLE_PERCENTAGE;
    return MAX(all * percentage / 100, (size_t)MIN_FEASIBLE_NODES);
}

/* --- one node, with nominated pods ------------------------------------------------------------ */

/* The node with the nominated pods that count for this pod. */
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
                                  const struct berth_node *node, struct berth_status *status,
                                  const struct berth_handle **ret_plugin)
{
    if (what_if_has_nominated(cycle, pod, node)) {
        enum berth_code code = filter_with_nominated(cycle, pod, node, status, ret_plugin);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return cycle_run_filters(cycle, pod, node, status, ret_plugin);
}

/* --- the nominated node ----------------------------------------------------------------------- */

/* The nominated node is the only candidate, and feasible. */
static void only_nominated(struct berth_cycle *cycle, uint32_t slot)
{
    uint32_t *candidates = arena_array(&cycle->arena, uint32_t, 1);
    *candidates = slot;
    cycle->candidates = candidates;
    cycle->only_some = true;
    cycle->n_nodes = 1;
    cycle->start = 0;
    cycle->slots[cycle->n_slots++] = slot;
    word_set(cycle->cycles->buffers.passed, 0);
}

/* With a placement, a nominated node outside of it does not count. */
static bool is_eligible(const struct berth_cycle *cycle, const struct berth_pod *pod,
                        const struct berth_node *node)
{
    if (!cycle->placement || placement_has(cycle->placement, node))
        return true;
    engine_log(
        &cycle->framework->log, 4,
        "Pod's nominated node is present in the cluster but not available in the current placement",
        KV_POD(pod), KV_CSTR("node", node->name));
    return false;
}

bool cycle_try_nominated(struct berth_cycle *cycle, const struct berth_pod *pod,
                         struct cycle_failure *failure)
{
    struct framework *fw = cycle->framework;
    struct berth_status *status = &cycle->cycles->status;
    struct str name = pod->pod->status.nominated_node_name;
    const struct berth_node *node = str_empty(name) ? NULL : cache_node(fw->cache, name);
    const struct berth_handle *plugin = NULL;
    if (!node || !node->object || !is_eligible(cycle, pod, node))
        return false;
    enum berth_code code = cycle_filter_node(cycle, pod, node, status, &plugin);
    cycle_filter_timed(cycle, stage_code(code) != BERTH_ERROR);
    if (code == BERTH_SUCCESS) {
        only_nominated(cycle, node->slot);
        return true;
    }
    if (!code_rejects(code))
        return false; /* upstream only logs the error and filters all nodes */
    cycle->on_nominated.refused = true;
    cycle->on_nominated.slot = node->slot;
    cycle->on_nominated.verdict =
        (struct verdict){(uint8_t)code, plugin->id, status_reason(status, &fw->reasons)};
    /* A candidate is filtered again below; otherwise this verdict is final. */
    if (!node_subset_allows(&cycle->limit, node->slot))
        cycle_failure_blame(failure, plugin, code);
    return false;
}

/* --- a window --------------------------------------------------------------------------------- */

/* Candidates [from, to). */
struct window {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    struct attempt_buffers *buffers;
    struct berth_status *status;       /* of one plugin call */
    size_t n_words;                    /* of sets of slots */
    size_t first_word, end_word;       /* [first_word, end_word): those with nodes of the window */
    const struct berth_handle *handle; /* the plugin that runs */
    size_t from, to;
    size_t n_refused;
    size_t refused_by_code[METRIC_CODES]; /* metrics: nodes that the plugin has refused */
    /*
     * The first candidate on which a plugin failed, and how. It ends the attempt if close_window
     * reaches it before enough nodes are feasible.
     */
    size_t broken_at;
    struct cycle_failure broken;
};

/* A plugin failed. plugin NULL: the status has the whole text. */
static void fail(const struct window *w, struct cycle_failure *failure,
                 const struct berth_handle *plugin, enum berth_code code,
                 const struct berth_status *status)
{
    if (plugin) {
        cycle_failure_status(failure, &w->cycle->framework->reasons, status, code,
                             "running \"%s\" filter plugin", plugin->plugin->name);
        return;
    }
    cycle_failure_error(failure, "%s", "");
    status_write(status, &w->cycle->framework->reasons, &failure->text);
}

/* A plugin failed on a node of the window. Only the first such node in order counts. */
static void fail_node(struct window *w, uint32_t slot, const struct berth_handle *plugin,
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

/* The plugin that runs refuses the node. */
static void refuse(struct window *w, uint32_t slot, enum berth_code code, berth_reason reason)
{
    w->buffers->verdicts[slot] =
        (struct verdict){.code = (uint8_t)code, .plugin = w->handle->id, .reason = reason};
    w->n_refused++;
    w->refused_by_code[metric_code(code)]++;
}

/* One plugin, one node. Any thread. */
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
    /* A single reason number is final; texts become numbers on the engine's thread. */
    bool simple = worker->status.n == 1 && worker->status.reasons[0] && code_rejects(code);
    vec_push(&worker->refused,
             (struct worker_refusal){slot, code, simple ? worker->status.reasons[0] : 0});
    if (!simple)
        worker_keep(worker, i, code);
}

static void filter_items(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct window *w = ctx;
    struct call_mark outer = call_begin(w->handle, "Filter", w->pod);
    for (size_t i = from; i < to; i++)
        filter_item(w, &w->cycle->cycles->workers.v[worker], w->from + i);
    call_end(outer);
}

static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    struct window *w = ctx;
    uint32_t slot = cycle_slot(w->cycle, kept->item);
    if (code_rejects(kept->code))
        w->buffers->verdicts[slot].reason =
            status_reason(&kept->status, &w->cycle->framework->reasons);
    else
        fail_node(w, slot, w->handle, kept->code, &kept->status);
}

static void filter_one_by_one(struct window *w)
{
    struct workers *workers = &w->cycle->cycles->workers;
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

/* The batch's verdicts on the nodes of one word that it refused. */
static void take_refused(struct window *w, size_t word, uint64_t gone)
{
    struct attempt_buffers *s = w->buffers;
    for (; gone; gone &= gone - 1) {
        uint32_t slot = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(gone);
        enum berth_code code = (enum berth_code)s->codes[slot];
        refuse(w, slot, code, s->reasons[slot]);
        if (!code_rejects(code))
            fail_node(w, slot, w->handle, code, w->status);
        s->codes[slot] = 0;
        s->reasons[slot] = 0;
    }
}

/* Returns false if the plugin failed; that counts for the first node it was given. */
static bool filter_batch(struct window *w)
{
    struct attempt_buffers *s = w->buffers;
    struct berth_status *status = w->status;
    struct berth_filter_batch batch = {.struct_size = sizeof(batch),
                                       .columns = &w->cycle->columns,
                                       .feasible = s->feasible,
                                       .codes = s->codes,
                                       .reasons = s->reasons};
    memcpy(s->before + w->first_word, s->feasible + w->first_word,
           (w->end_word - w->first_word) * sizeof(uint64_t));
    status_clear(status);
    struct call_mark outer = call_begin(w->handle, "Filter", w->pod);
    enum berth_code code =
        w->handle->plugin->filter_many(w->handle->self, w->cycle, w->pod, &batch, status);
    call_end(outer);
    for (size_t i = w->first_word; i < w->end_word; i++) {
        uint64_t gone = s->before[i] & ~s->feasible[i];
        s->feasible[i] &= s->before[i]; /* a plugin cannot bring a refused node back */
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
    w->refused_by_code[BERTH_ERROR]++;
    fail_node(w, cycle_slot(w->cycle, first), w->handle, code, status);
    return false;
}

/* The nodes that pods are nominated to, as a set in buffers->before. */
static void find_nominated(struct window *w)
{
    memset(w->buffers->before, 0, w->n_words * sizeof(uint64_t));
    map_each (entry, &w->cycle->cycles->queue->nominator.nodes) {
        const struct berth_node *node = cache_node(w->cycle->framework->cache, entry->key);
        if (node)
            word_set(w->buffers->before, node->slot);
    }
}

/* Nodes with nominated pods are filtered one by one, by all plugins. */
static void filter_nominated(struct window *w)
{
    if (w->cycle->cycles->queue->nominator.nodes.n == 0)
        return;
    find_nominated(w);
    for (size_t i = w->from; i < w->to; i++) {
        uint32_t slot = cycle_slot(w->cycle, i);
        const struct berth_node *node = cycle_node(w->cycle, i);
        const struct berth_handle *plugin = NULL;
        if (!word_bit(w->buffers->before, slot) || !what_if_has_nominated(w->cycle, w->pod, node))
            continue;
        enum berth_code code = filter_with_nominated(w->cycle, w->pod, node, w->status, &plugin);
        if (code == BERTH_SUCCESS)
            continue;
        word_unset(w->buffers->feasible, slot);
        w->n_refused++;
        w->buffers->verdicts[slot] = (struct verdict){
            .code = (uint8_t)code, .plugin = plugin ? plugin->id : VERDICT_NONE, .reason = 0};
        if (code_rejects(code))
            w->buffers->verdicts[slot].reason =
                status_reason(w->status, &w->cycle->framework->reasons);
        else
            fail_node(w, slot, plugin, code, w->status);
    }
}

/* Metrics: every node counts with the average duration. */
static void time_plugin(struct window *w, size_t asked, int64_t began)
{
    struct framework *fw = w->cycle->framework;
    double each = (double)(framework_now(fw) - began) / (double)asked;
    size_t n = asked;
    for (size_t code = 0; code < METRIC_CODES; code++) {
        scheduler_metrics_plugin(fw->metrics, w->handle, METRIC_FILTER, (enum berth_code)code,
                                 (int64_t)(each * (double)w->refused_by_code[code]),
                                 w->refused_by_code[code]);
        n -= w->refused_by_code[code];
    }
    scheduler_metrics_plugin(fw->metrics, w->handle, METRIC_FILTER, BERTH_SUCCESS,
                             (int64_t)(each * (double)n), n);
    memset(w->refused_by_code, 0, sizeof(w->refused_by_code));
}

static void filter_window(struct window *w)
{
    const handle_list *list = &w->cycle->profile->at[POINT_FILTER];
    bool ok = true;
    filter_nominated(w);
    /* No plugin runs without nodes: a batch that fails then would end the attempt. */
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

/* Consecutive slots are mostly in the same word, which is built in a register. */
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
    INVARIANT(n > 0 && w->to <= w->cycle->n_nodes);
    memset(w->buffers->feasible, 0, w->n_words * sizeof(uint64_t));
    add_slots(w, w->cycle->candidates + w->cycle->start + w->from, n);
}

/* As many nodes as suffice if the same share of them passes as so far. */
static size_t next_size(const struct window *w, size_t want)
{
    size_t passed = w->cycle->n_slots, left = want - passed + 1;
    if (passed)
        left = (size_t)((double)left * (double)w->to / (double)passed);
    return MIN(MAX(left, (size_t)FILTER_WINDOW), w->cycle->n_nodes - w->to);
}

/* All nodes of the window passed. */
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
 * Takes the verdicts in order until `want` nodes are feasible: *ret_enough. Like upstream, nodes
 * that are refused behind the last feasible one still count as evaluated, up to the next feasible
 * one. A plugin failure behind that point does not count. Returns false if one before it does.
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
        /* A node on which a plugin failed ends the loop at broken_at. */
        INVARIANT(code_rejects(v.code) && v.plugin < FRAMEWORK_MAX_PLUGINS);
        cycle->n_failed++;
        if (attempt_buffers_add_refused(w->buffers, v))
            cycle_failure_blame(failure, cycle->profile->setup->handles[v.plugin], v.code);
    }
    return true;
}

/*
 * How far the next attempt's start node moves. Upstream adds the nodes with a status and the
 * feasible ones: a nominated node that was refused at first counts twice, unless it is refused
 * twice.
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

/* Whether every evaluated node is either in slots or in a run, each once. */
static UNUSED bool results_agree(const struct berth_cycle *cycle, const struct window *w)
{
    size_t passed = 0, refused = 0;
    for (size_t i = 0; i < w->to; i++)
        passed += word_bit(w->buffers->passed, i);
    for (size_t i = 0; i < w->buffers->runs.n; i++)
        refused += w->buffers->runs.v[i].n;
    return passed == cycle->n_slots && refused == cycle->n_failed && passed + refused == w->to &&
           w->to <= cycle->n_nodes;
}

bool cycle_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                  struct cycle_failure *failure)
{
    struct cycles *cycles = cycle->cycles;
    size_t want = nodes_to_find(cycle);
    struct window w = {.cycle = cycle,
                       .pod = pod,
                       .buffers = &cycles->buffers,
                       .status = &cycles->status,
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
    INVARIANT(cycle->n_slots <= want && results_agree(cycle, &w));
    cycle_failure_release(&w.broken);
    cycle_filter_timed(cycle, ok);
    cycles->next_start_node = (cycles->next_start_node + count_processed(&w)) % cycle->n_all;
    return ok;
}
