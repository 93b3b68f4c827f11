/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/dry_run.h"

/* What came of one node. */
struct finding {
    struct victims victims;
    enum berth_code code;
    berth_reason reason; /* of a refusal; 0: none, or its status is kept */
};

/* Nodes [from, from + n) of the run, counted from its offset. */
struct window {
    struct dry_run *run;
    size_t from, n;
    bool asked; /* somebody has left a node in a dry run before */
    struct finding *findings;
    struct what_if *what_if;   /* one for each thread */
    const uint64_t *nominated; /* slots of nodes that are; NULL: none is */
};

static const struct berth_node *node_at(const struct dry_run *run, size_t i)
{
    return run->nodes[(run->offset + i) % run->n_nodes];
}

/* --- one node --------------------------------------------------------------------------------- */

/* The pod would fit as things are: whoever said that it does not was mistaken. */
static enum berth_code nobody_to_leave(struct berth_status *status, const struct berth_node *node)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "expected at least one victim pod on node \"%s\"", node->name);
    status_clear(status);
    status_add_text(status, buf_str(&text));
    buf_release(&text);
    return BERTH_ERROR;
}

static void look_at(const struct window *w, size_t worker, size_t i)
{
    const struct dry_run *run = w->run;
    struct worker *scratch = &run->cycle->cycles->workers.v[worker];
    struct finding *f = &w->findings[i];
    engine_log(&run->cycle->framework->log, 5, "Check the potential node for preemption",
               KV_CSTR("logger", "PostFilter.DefaultPreemption"), KV_POD(run->pod),
               KV_CSTR("node", node_at(run, w->from + i)->name));
    status_clear(&scratch->status);
    f->code = run->policy->select(run->policy->ctx, &w->what_if[worker], run->cycle,
                                  node_at(run, w->from + i), &f->victims);
    if (f->code == BERTH_SUCCESS && f->victims.pods.n == 0)
        f->code = nobody_to_leave(&scratch->status, node_at(run, w->from + i));
    if (f->code == BERTH_SUCCESS)
        return;
    bool simple = scratch->status.n == 1 && scratch->status.reasons[0] && code_rejects(f->code);
    if (simple)
        f->reason = scratch->status.reasons[0];
    else
        worker_keep(scratch, i, f->code);
}

/* What plugins have to find out for nominated pods is for the engine's thread. */
static bool is_nominated(const struct window *w, size_t i)
{
    const struct berth_node *node = node_at(w->run, w->from + i);
    return w->nominated && word_bit(w->nominated, node->slot) &&
           what_if_has_nominated(w->run->cycle, w->run->pod, node);
}

/* The slots of nodes that are promised to anybody; NULL: there are none. */
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

static void look_at_some(void *ctx, size_t worker, size_t from, size_t to)
{
    const struct window *w = ctx;
    for (size_t i = from; i < to; i++)
        if (!is_nominated(w, i))
            look_at(w, worker, i);
}

/* --- in order --------------------------------------------------------------------------------- */

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

static void resolve_kept(void *ctx, const struct kept_status *kept)
{
    struct window *w = ctx;
    if (kept->item >= w->n)
        return; /* nobody asks any more */
    if (code_rejects(kept->code))
        w->findings[kept->item].reason =
            status_reason(&kept->status, &w->run->cycle->framework->reasons);
    else
        take_error(w->run, &kept->status);
}

static void add_candidate(struct dry_run *run, const struct berth_node *node,
                          struct victims *victims)
{
    struct candidate c = {.node_name = arena_dup(&run->cycle->arena, str_of(node->name)),
                          .victims = victims->pods,
                          .pdb_violations = victims->pdb_violations};
    for (size_t i = 0; i < c.victims.n; i++)
        pod_info_ref(c.victims.v[i]);
    vec_push(&run->candidates, c);
}

struct count {
    size_t all, harmless; /* candidates; those of them that violate no budget */
};

/* Up to the first node with which there are enough; true: it was in the window. */
static bool take_in_order(struct window *w, struct count *count)
{
    struct dry_run *run = w->run;
    for (size_t i = 0; i < w->n; i++) {
        const struct finding *f = &w->findings[i];
        if (f->code != BERTH_SUCCESS)
            continue;
        count->all++;
        count->harmless += f->victims.pdb_violations == 0;
        /* Where none is wanted none is kept, and upstream goes through all nodes for nothing. */
        if (run->enough && count->harmless && count->all >= run->enough) {
            w->n = i + 1;
            return true;
        }
    }
    return false;
}

static void take_findings(struct window *w, size_t looked_at)
{
    struct dry_run *run = w->run;
    workers_take_kept(&run->cycle->cycles->workers, resolve_kept, w);
    for (size_t i = 0; i < looked_at; i++) {
        struct finding *f = &w->findings[i];
        if (i < w->n && f->code == BERTH_SUCCESS)
            add_candidate(run, node_at(run, w->from + i), &f->victims);
        else
            vec_release(&f->victims.pods);
        if (i < w->n && f->code != BERTH_SUCCESS)
            vec_push(&run->reasons, f->reason);
    }
}

/*
 * The first node of all is looked at alone: plugins prepare themselves for such questions when they
 * hear the first of them, which only the engine's thread may do. Then as many as may be needed,
 * or one at a time where there are no threads that could help.
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
    workers_run(&w->run->cycle->cycles->workers, n, look_at_some, w);
    for (size_t i = 0; i < n; i++)
        if (is_nominated(w, i))
            look_at(w, 0, i);
    w->asked = w->asked || w->what_if[0].asked;
    bool enough = take_in_order(w, count);
    take_findings(w, n);
    w->from += n;
    return enough;
}

/* Those without violations come first, and no more of either kind than were asked for. */
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
    /* From the same node on as before. */
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
