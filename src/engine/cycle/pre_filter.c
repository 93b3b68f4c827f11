/* SPDX-License-Identifier: Apache-2.0 */
/* pre_filter.c - PreFilter, and which nodes it leaves as candidates (upstream:
 * RunPreFilterPlugins). */
#include "engine/cycle/cycle.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/cycle/fit_error.h"
#include "engine/framework/call_mark.h"

void cycle_blame_limiters(const struct berth_cycle *cycle, struct cycle_failure *failure)
{
    for (size_t i = 0; i < cycle->limiters.n; i++)
        plugin_set_add(&failure->rejectors, cycle->limiters.v[i]->id);
}

/* --- the plugins ------------------------------------------------------------------------------ */

/* The plugin succeeded: its node subset counts. Returns whether any node is left. */
static bool take_proposal(struct berth_cycle *cycle, const struct berth_handle *h,
                          struct cycle_failure *failure)
{
    if (cycle->proposal.set)
        vec_push(&cycle->limiters, h);
    node_subset_merge(&cycle->limit, &cycle->proposal);
    if (!node_subset_empty(&cycle->limit))
        return true;
    cycle_failure_clear(failure);
    cycle_blame_limiters(cycle, failure);
    fit_error_limits(cycle, &failure->text);
    cycle->pre_filter_code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    return false;
}

/* Takes one plugin's verdict. Returns whether the next plugin runs. */
static bool take_verdict(struct berth_cycle *cycle, const struct berth_handle *h,
                         enum berth_code code, const struct berth_status *status,
                         struct cycle_failure *failure)
{
    const struct reasons *reasons = &cycle->framework->reasons;
    if (code == BERTH_SUCCESS)
        return take_proposal(cycle, h, failure);
    node_subset_release(&cycle->proposal);
    if (code == BERTH_SKIP) {
        plugin_set_add(&cycle->skip_filter, h->id);
        return true;
    }
    /* Upstream returns the last status: what other plugins said before is dropped. */
    cycle_failure_clear(failure);
    if (code != BERTH_UNSCHEDULABLE && code != BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE) {
        cycle_failure_status(failure, reasons, status, code, "running PreFilter plugin \"%s\"",
                             h->plugin->name);
        return false;
    }
    cycle_failure_blame(failure, h, code);
    fit_error_pre_filter(cycle, status, &failure->text);
    cycle->pre_filter_code = code;
    /* After Unschedulable the other plugins still prepare the state that preemption needs. */
    return code == BERTH_UNSCHEDULABLE;
}

static void record_verdict(struct berth_cycle *cycle, const struct berth_handle *h,
                           enum berth_code code, const struct berth_status *status)
{
    struct pre_filter_verdict v = {.plugin = h->id, .code = (uint8_t)code};
    if (code != BERTH_SUCCESS && status->n)
        v.n_reasons = status_texts(status, &cycle->framework->reasons, &cycle->arena, &v.reasons);
    vec_push(&cycle->pre_filter, v);
}

static bool run_plugins(struct berth_cycle *cycle, const struct berth_pod *pod,
                        struct cycle_failure *failure)
{
    struct berth_status *status = &cycle->cycles->status;
    const handle_list *list = &cycle->profile->at[POINT_PRE_FILTER];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(status);
        cycle->in_pre_filter = true;
        int64_t began = plugin_begin(cycle);
        struct call_mark outer = call_begin(h, "PreFilter", pod);
        enum berth_code code = h->plugin->pre_filter(h->self, cycle, pod, status);
        call_end(outer);
        plugin_end(cycle, h, METRIC_PRE_FILTER, code, began);
        cycle->in_pre_filter = false;
        if (code != BERTH_SKIP)
            plugin_evaluated(cycle, h, EVALUATION_PRE_FILTER, 1);
        record_verdict(cycle, h, code, status);
        if (!take_verdict(cycle, h, code, status, failure))
            return false;
    }
    if (cycle->pre_filter_code != BERTH_SUCCESS)
        cycle_blame_limiters(cycle, failure);
    return cycle->pre_filter_code == BERTH_SUCCESS;
}

bool cycle_prepare_again(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    struct berth_status *status = &cycle->cycles->status;
    const handle_list *list = &cycle->profile->at[POINT_PRE_FILTER];
    cycle_drop_state(cycle);
    cycle->skip_filter = (struct plugin_set){0};
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        status_clear(status);
        struct call_mark outer = call_begin(h, "PreFilter", pod);
        enum berth_code code = h->plugin->pre_filter(h->self, cycle, pod, status);
        call_end(outer);
        if (code == BERTH_SKIP)
            plugin_set_add(&cycle->skip_filter, h->id);
        else if (code != BERTH_SUCCESS)
            return false;
    }
    return true;
}

/* --- the candidates --------------------------------------------------------------------------- */

/* Only the nodes of the placement are candidates, as if the cluster had no others. */
static void only_placement(struct berth_cycle *cycle)
{
    struct berth_placement *p = cycle->placement;
    placement_find_nodes(p, cycle->framework->cache);
    uint32_t *candidates = arena_array(&cycle->arena, uint32_t, 2 * p->n);
    for (size_t i = 0; i < p->n; i++)
        candidates[i] = candidates[p->n + i] = p->nodes[i]->slot;
    cycle->candidates = candidates;
    cycle->only_some = true;
    cycle->n_nodes = cycle->n_all = p->n;
}

/* The names of the current nodes, made anew when the set of nodes has changed. */
static struct node_names *current_names(struct cycles *cycles, const struct cache *cache)
{
    if (!cycles->names || !node_names_current(cycles->names, cache)) {
        node_names_unref(cycles->names);
        cycles->names = node_names_new(cache);
    }
    return node_names_ref(cycles->names);
}

static void prepare_nodes(struct berth_cycle *cycle)
{
    struct cache *cache = cycle->framework->cache;
    struct attempt_buffers *buffers = &cycle->cycles->buffers;
    cache_get_columns(cache, &cycle->columns);
    attempt_buffers_begin(buffers, cycle->columns.n);
    cycle->slots = buffers->slots;
    cycle->names = current_names(cycle->cycles, cache);
    cycle->candidates = cycle->names->order;
    cycle->n_nodes = cycle->n_all = cache->order.n;
    if (cycle->placement)
        only_placement(cycle);
}

/* Narrows the candidates to the node subset of PreFilter. */
static void apply_limits(struct berth_cycle *cycle)
{
    if (cycle->limit.set) {
        size_t n = 0;
        uint32_t *allowed =
            arena_array(&cycle->arena, uint32_t, 2 * bitset_count(&cycle->limit.nodes));
        for (size_t i = 0; i < cycle->n_all; i++)
            if (node_subset_allows(&cycle->limit, cycle->candidates[i]))
                allowed[n++] = cycle->candidates[i];
        memcpy(allowed + n, allowed, n * sizeof(*allowed));
        cycle->candidates = allowed;
        cycle->only_some = true;
        cycle->n_nodes = n;
    }
    /* n_nodes is 0 if the subset names only nodes that do not exist. */
    cycle->start = cycle->n_nodes ? cycle->cycles->next_start_node % cycle->n_nodes : 0;
}

/* Upstream's ErrNoNodesAvailable: no plugin is to blame, the pod is retried after a backoff. */
static bool no_nodes(struct cycle_failure *failure)
{
    buf_add_cstr(&failure->text, "no nodes available to schedule pods");
    return false;
}

bool cycle_pre_filter(struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct cycle_failure *failure)
{
    struct framework *fw = cycle->framework;
    cluster_trim(fw->cluster);
    cache_refresh(fw->cache);
    if (fw->cache->order.n == 0)
        return no_nodes(failure);
    prepare_nodes(cycle);
    if (cycle->n_all == 0)
        return no_nodes(failure); /* the placement's nodes are gone */
    cycle_mark(cycle);
    bool ok = run_plugins(cycle, pod, failure);
    cycle_timed(cycle, METRIC_PRE_FILTER, failure->error ? BERTH_ERROR : cycle->pre_filter_code,
                true);
    if (ok)
        apply_limits(cycle);
    return ok;
}
