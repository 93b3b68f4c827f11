/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle.h"

#include "engine/fit_error.h"
#include "engine/internal.h"

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

struct berth_cycle *cycle_free(struct berth_cycle *cycle)
{
    if (!cycle)
        return NULL;
    free_state(cycle);
    for (size_t i = 0; i < cycle->to_activate.n; i++)
        pod_info_unref(cycle->to_activate.v[i]);
    vec_release(&cycle->to_activate);
    vec_release(&cycle->limiters);
    vec_release(&cycle->runs);
    vec_release(&cycle->order);
    explain_nodes_unref(cycle->names);
    vec_release(&cycle->plugin_scores);
    bitset_release(&cycle->limit);
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
    arena_release(&clone->arena);
    free(clone);
}

/* --- failures ---------------------------------------------------------------------------------- */

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

void cycle_failure_status(struct cycle_failure *failure, const struct berth_cycle *cycle,
                          const struct berth_status *status, enum berth_code code, const char *fmt,
                          ...)
{
    struct buf *text = &failure->text;
    failure->error = true;
    buf_clear(text);
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

/* --- PreFilter --------------------------------------------------------------------------------- */

/* No node is left that all PreFilter plugins allow. */
static void fail_limits(struct berth_cycle *cycle, struct cycle_failure *failure)
{
    for (size_t i = 0; i < cycle->limiters.n; i++)
        plugin_set_add(&failure->rejectors, cycle->limiters.v[i]->id);
    fit_error_limits(cycle, &failure->text);
}

/* What one plugin's PreFilter said. True: go on with the next plugin. */
static bool take_pre_filter(struct berth_cycle *cycle, const struct berth_handle *h,
                            enum berth_code code, struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    if (code == BERTH_SUCCESS) {
        bool none = cycle->limited && bitset_count(&cycle->limit) == 0;
        if (none)
            fail_limits(cycle, failure);
        return !none;
    }
    if (code == BERTH_SKIP) {
        plugin_set_add(&cycle->skip_filter, h->id);
        return true;
    }
    if (!code_rejects(code)) {
        cycle_failure_status(failure, cycle, &e->status, code, "running PreFilter plugin \"%s\"",
                             h->plugin->name);
        return false;
    }
    buf_clear(&failure->text);
    cycle_failure_blame(failure, h, code);
    fit_error_pre_filter(cycle, &e->status, &failure->text);
    /* The other plugins still prepare what preemption will want to know. */
    return code == BERTH_UNSCHEDULABLE;
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
        if (!take_pre_filter(cycle, h, code, failure))
            return false;
    }
    return failure->text.n == 0;
}

/* --- PostFilter -------------------------------------------------------------------------------- */

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
        status_clear(&e->status);
        enum berth_code code = h->plugin->post_filter(h->self, cycle, pod, &e->status);
        /* The last word of these counts alone; the others' reasons add up. */
        if (code == BERTH_SUCCESS || code == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE ||
            !code_rejects(code)) {
            buf_clear(&text);
            status_write(&e->status, &e->reasons, &text);
            break;
        }
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

/* --- the choice -------------------------------------------------------------------------------- */

/*
 * The highest total. Among equals upstream takes what comes to the top of a binary heap built from
 * the list, and so do we: the same sift-down over the same list.
 */
static uint32_t best_slot(struct berth_cycle *cycle)
{
    size_t n = cycle->n_slots;
    uint32_t *heap = arena_array(&cycle->arena, uint32_t, n);
    const int64_t *score = cycle->scores;
    for (size_t i = 0; i < n; i++)
        heap[i] = (uint32_t)i;
    for (size_t top = n / 2; top-- > 0;)
        for (size_t at = top, child; (child = 2 * at + 1) < n; at = child) {
            if (child + 1 < n && score[heap[child + 1]] > score[heap[child]])
                child++;
            if (score[heap[child]] <= score[heap[at]])
                break;
            uint32_t swap = heap[at];
            heap[at] = heap[child];
            heap[child] = swap;
        }
    return cycle->slots[heap[0]];
}

/* --- the cycle --------------------------------------------------------------------------------- */

static void make_room(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    cache_get_columns(&e->cache, &cycle->columns);
    engine_make_verdicts(e, cycle->columns.n);
    cycle->nodes = e->cache.order.v;
    cycle->n_nodes = e->cache.order.n;
    cycle->names = explain_nodes_ref(&e->explain, &e->cache);
}

/* Narrows the candidates to what PreFilter allows. */
static void apply_limits(struct berth_cycle *cycle)
{
    struct engine *e = cycle->engine;
    if (cycle->limited) {
        struct berth_node **nodes =
            arena_array(&cycle->arena, struct berth_node *, e->cache.order.n);
        size_t n = 0;
        for (size_t i = 0; i < e->cache.order.n; i++)
            if (bitset_get(&cycle->limit, e->cache.order.v[i]->slot))
                nodes[n++] = e->cache.order.v[i];
        cycle->nodes = nodes;
        cycle->n_nodes = n;
    }
    cycle->start = e->next_start_node % cycle->n_nodes;
    cycle->slots = arena_array(&cycle->arena, uint32_t, cycle->n_nodes);
}

/* The node that the pod was promised goes first: if it fits, no other is looked at. */
static bool try_nominated(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    struct engine *e = cycle->engine;
    struct str name = pod->pod->status.nominated_node_name;
    struct berth_node *node = str_empty(name) ? NULL : cache_node(&e->cache, name);
    const struct berth_handle *plugin;
    if (!node || !node->object ||
        cycle_filter_node(cycle, pod, node, &e->status, &plugin) != BERTH_SUCCESS)
        return false;
    vec_push(&cycle->runs, (struct verdict_run){1, VERDICT_NOBODY, BERTH_SUCCESS, 0});
    vec_push(&cycle->order, node->slot);
    cycle->slots[cycle->n_slots++] = node->slot;
    return true;
}

static bool find_nodes(struct berth_cycle *cycle, const struct berth_pod *pod,
                       struct cycle_failure *failure)
{
    if (!run_pre_filter(cycle, pod, failure))
        return false;
    apply_limits(cycle);
    if (try_nominated(cycle, pod))
        return true;
    if (!cycle_filter(cycle, pod, failure))
        return false;
    if (cycle->n_slots == 0)
        fit_error_write(cycle, &failure->text);
    return cycle->n_slots > 0;
}

struct berth_node *cycle_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct cycle_failure *failure)
{
    struct engine *e = cycle->engine;
    cache_refresh(&e->cache);
    if (e->cache.order.n == 0) {
        /* No plugin is to blame and no hint can help: retried after a backoff. */
        buf_add_cstr(&failure->text, "no nodes available to schedule pods");
        return NULL;
    }
    make_room(cycle);
    if (!find_nodes(cycle, pod, failure)) {
        if (!failure->error)
            run_post_filter(cycle, pod, failure);
        return NULL;
    }
    cycle->scores = arena_array(&cycle->arena, int64_t, cycle->n_slots);
    if (cycle->n_slots > 1 && !cycle_score(cycle, pod, failure))
        return NULL;
    cycle->chosen = best_slot(cycle);
    return e->cache.columns.nodes[cycle->chosen];
}
