/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/dry_run.h"

/* The result of one node. */
struct finding {
    struct victims victims;
    enum berth_code code;
    berth_reason reason; /* of a rejection; 0: none, or its status is kept */
};

/* Nodes [from, from + n) of the run, counted from its offset. */
struct window {
    struct dry_run *run;
    size_t from, n;
    bool asked; /* RemovePod has run in this dry run: see window_size */
    struct finding *findings;
    struct what_if *what_if;   /* one per thread */
    const uint64_t *nominated; /* slots of nodes with nominated pods; NULL: there are none */
};

static const struct berth_node *node_at(const struct dry_run *run, size_t i)
{
    return run->nodes[(run->offset + i) % run->n_nodes];
}

/* --- one node --------------------------------------------------------------------------------- */

/* The policy found no victim although the filters refused the node: upstream's error. */
static enum berth_code fail_without_victims(struct berth_status *status,
                                            const struct berth_node *node)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "expected at least one victim pod on node \"%s\"", node->name);
    status_clear(status);
    status_add_text(status, buf_str(&text));
    buf_release(&text);
    return BERTH_ERROR;
}

/* The dry run on one node. Any thread. */
static void run_node(const struct window *w, size_t worker, size_t i)
{
    const struct dry_run *run = w->run;
    struct worker *scratch = &run->cycle->cycles->workers.v[worker];
    struct finding *f = &w->findings[i];
    engine_log(&run->cycle->framework->log, 5, "Check the potential node for preemption",
               KV_CSTR("logger", run->policy->style->logger), KV_POD(run->pod),
               KV_CSTR("node", node_at(run, w->from + i)->name));
    status_clear(&scratch->status);
    f->code = run->policy->select(run->policy->ctx, &w->what_if[worker], run->cycle,
                                  node_at(run, w->from + i), &f->victims);
    if (f->code == BERTH_SUCCESS && f->victims.pods.n == 0)
        f->code = fail_without_victims(&scratch->status, node_at(run, w->from + i));
    if (f->code == BERTH_SUCCESS)
        return;
    bool simple = scratch->status.n == 1 && scratch->status.reasons[0] && code_rejects(f->code);
    if (simple)
        f->reason = scratch->status.reasons[0];
    else
        worker_keep(scratch, i, f->code);
}

/* Nodes with nominated pods run on the engine's thread: AddPod may compute shared state. */
static bool is_nominated(const struct window *w, size_t i)
{
    const struct berth_node *node = node_at(w->run, w->from + i);
    return w->nominated && word_bit(w->nominated, node->slot) &&
           what_if_has_nominated(w->run->cycle, w->run->pod, node);
}

/* The slots of nodes with nominated pods; NULL if there are none. */
static const uint64_t *find_nominated(const struct dry_run *run)
{
    const struct cache *cache = run->cycle->framework->cache;
    const struct nominator *nominator = &run->cycle->cycles->queue->nominator;
    if (!nominator->nodes.n)
        return NULL;
    uint64_t *slots = arena_array(&run->cycle->arena, uint64_t, BITSET_WORDS(cache->columns.n));
    map_each (entry, &nominator->nodes) {
        const struct berth_node *node = cache_node(cache, entry->key);
        if (node && node->object)
            word_set(slots, node->slot);
    }
    return slots;
}

static void run_nodes(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct window *w = ctx;
    for (size_t i = from; i < to; i++)
        if (!is_nominated(w, i))
            run_node(w, worker, i);
}

/* --- results in order ------------------------------------------------------------------------- */

static void take_error(struct dry_run *run, const struct berth_status *status)
{
    struct buf text = BUF_INIT;
    bool known = false;
    status_write(status, &run->cycle->framework->reasons, &text);
    for (size_t i = 0; i < run->errors.n; i++)
        known = known || str_eq(run->errors.v[i], buf_str(&text));
    if (!known)
        vec_push(&run->errors, arena_dup(&run->cycle->arena, buf_str(&text)));
    buf_release(&text);
}

/* The texts may name the node and the pod: they are not numbered, so that the table of reasons does
 * not grow with every attempt. */
static void take_texts(struct dry_run *run, const struct berth_status *status)
{
    struct str *texts;
    size_t n = status_texts(status, &run->cycle->framework->reasons, &run->cycle->arena, &texts);
    for (size_t i = 0; i < n; i++)
        vec_push(&run->reasons, texts[i]);
}

static void take_reason(struct dry_run *run, berth_reason reason)
{
    const struct reasons *all = &run->cycle->framework->reasons;
    for (size_t i = 0; i < reasons_count(all, reason); i++)
        vec_push(&run->reasons, reasons_at(all, reason, i));
}

static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    struct window *w = ctx;
    if (kept->item >= w->n)
        return; /* behind the last node that was needed */
    if (code_rejects(kept->code))
        take_texts(w->run, &kept->status);
    else
        take_error(w->run, &kept->status);
}

static void add_candidate(struct dry_run *run, const struct berth_node *node,
                          struct victims *victims)
{
    struct candidate c = {.node_name = arena_dup(&run->cycle->arena, str_of(node->name)),
                          .victims = victims->pods,
                          .pdb_violations = victims->pdb_violations};
    INVARIANT(c.victims.n > 0);
    for (size_t i = 0; i < c.victims.n; i++)
        pod_info_ref(c.victims.v[i]);
    vec_push(&run->candidates, c);
}

struct count {
    size_t all, harmless; /* candidates; those of them that violate no budget */
};

/* Cuts the window behind the node with which there are enough candidates: returns true. */
static bool take_in_order(struct window *w, struct count *count)
{
    struct dry_run *run = w->run;
    for (size_t i = 0; i < w->n; i++) {
        const struct finding *f = &w->findings[i];
        if (f->code != BERTH_SUCCESS)
            continue;
        count->all++;
        count->harmless += f->victims.pdb_violations == 0;
        /* enough 0: upstream tries all nodes and keeps no candidate. */
        if (run->enough && count->harmless && count->all >= run->enough) {
            w->n = i + 1;
            return true;
        }
    }
    return false;
}

static void take_findings(struct window *w, size_t n_run)
{
    struct dry_run *run = w->run;
    workers_take_kept(&run->cycle->cycles->workers, resolve_kept, w);
    for (size_t i = 0; i < n_run; i++) {
        struct finding *f = &w->findings[i];
        if (i < w->n && f->code == BERTH_SUCCESS)
            add_candidate(run, node_at(run, w->from + i), &f->victims);
        else
            vec_release(&f->victims.pods);
        if (i >= w->n || f->code == BERTH_SUCCESS)
            continue;
        run->n_refused++;
        take_reason(run, f->reason);
    }
}

/*
 * One node at a time until RemovePod has run once: plugins build their state for it on the first
 * call, which must be on the engine's thread. Then as many nodes as may be needed; without a pool
 * still one at a time, since no node is tried in vain then.
 */
static size_t window_size(const struct window *w, const struct count *count)
{
    const struct dry_run *run = w->run;
    size_t left = run->n_nodes - w->from;
    if (!w->asked || !run->cycle->cycles->workers.pool)
        return 1;
    size_t missing = run->enough > count->all ? run->enough - count->all : 1;
    return MIN(left, MAX(missing, (size_t)WORKERS_MIN_ITEMS));
}

static bool run_window(struct window *w, struct count *count)
{
    size_t n = window_size(w, count);
    w->n = n;
    memset(w->findings, 0, n * sizeof(*w->findings));
    workers_run(&w->run->cycle->cycles->workers, n, run_nodes, w);
    for (size_t i = 0; i < n; i++)
        if (is_nominated(w, i))
            run_node(w, 0, i);
    w->asked = w->asked || w->what_if[0].asked;
    bool enough = take_in_order(w, count);
    take_findings(w, n);
    w->from += n;
    return enough;
}

/* Candidates without violations first, and at most `enough` of either kind, as upstream. */
static void put_in_order(struct dry_run *run)
{
    candidate_list sorted = {0};
    for (int violating = 0; violating < 2; violating++) {
        size_t taken = 0;
        for (size_t i = 0; i < run->candidates.n; i++) {
            struct candidate *c = &run->candidates.v[i];
            if ((c->pdb_violations != 0) != (violating == 1))
                continue;
            if (taken++ < run->enough)
                vec_push(&sorted, *c);
            else
                candidate_release(c);
        }
    }
    vec_release(&run->candidates);
    run->candidates.v = sorted.v;
    run->candidates.n = sorted.n;
    run->candidates.cap = sorted.cap;
}

void dry_run(struct dry_run *run)
{
    struct workers *workers = &run->cycle->cycles->workers;
    size_t largest = MAX(run->enough, (size_t)WORKERS_MIN_ITEMS);
    struct window w = {.run = run,
                       .nominated = find_nominated(run),
                       .findings = xcalloc(MIN(largest, run->n_nodes), sizeof(struct finding)),
                       .what_if = xcalloc(workers->n, sizeof(struct what_if))};
    struct count count = {0};
    for (size_t i = 0; i < workers->n; i++)
        what_if_init(&w.what_if[i], run->pod, &workers->v[i].status);
    while (w.from < run->n_nodes && !run_window(&w, &count))
        ;
    put_in_order(run);
    for (size_t i = 0; i < workers->n; i++)
        what_if_release(&w.what_if[i]);
    free(w.what_if);
    free(w.findings);
}

void dry_run_widen(struct dry_run *run)
{
    struct victims victims = {0};
    /* In the same order as before, from the same node on. */
    const struct berth_node **nodes =
        arena_array(&run->cycle->arena, const struct berth_node *, run->n_nodes);
    for (size_t i = 0; i < run->n_nodes; i++)
        nodes[i] = node_at(run, i);
    const struct berth_node *node =
        run->policy->widen(run->policy->ctx, run->cycle, nodes, run->n_nodes, &victims);
    if (node)
        add_candidate(run, node, &victims);
    else
        vec_release(&victims.pods);
}

void dry_run_release(struct dry_run *run)
{
    candidates_clear(&run->candidates);
    vec_release(&run->candidates);
    vec_release(&run->reasons);
    vec_release(&run->errors);
}
