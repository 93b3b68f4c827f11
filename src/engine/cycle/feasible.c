/* SPDX-License-Identifier: Apache-2.0 */
/* feasible.c - the feasible nodes after Filter: extenders may refuse some of them. */
#include "engine/cycle/cycle.h"

struct str cycle_feasible_name(const struct berth_cycle *cycle, size_t i)
{
    return node_names_name(cycle->names, cycle->slots[i]);
}

bool cycle_still_there(const struct berth_cycle *cycle, size_t i)
{
    const struct cache_columns *columns = &cycle->framework->cache->columns;
    const struct berth_node *node = columns->nodes[cycle->slots[i]];
    return node && node->object && str_eq(str_of(node->name), cycle_feasible_name(cycle, i));
}

/* Moves all results of feasible node `from` to index `to`. */
static void move_feasible(struct berth_cycle *cycle, size_t from, size_t to)
{
    cycle->slots[to] = cycle->slots[from];
    if (cycle->scores)
        cycle->scores[to] = cycle->scores[from];
    if (cycle->ties)
        cycle->ties[to] = cycle->ties[from];
    for (size_t i = 0; i < cycle->plugin_scores.n; i++) {
        struct plugin_scores *s = &cycle->plugin_scores.v[i];
        s->scores[to] = s->scores[from];
        if (s->normalized)
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

/* Rewrites the runs of refused nodes: some that had passed are refused now. */
static void narrow_runs(struct berth_cycle *cycle, const struct verdict *verdicts)
{
    struct attempt_buffers *s = &cycle->cycles->buffers;
    VEC(struct verdict_run) old = {.v = s->runs.v, .n = s->runs.n, .cap = s->runs.cap};
    size_t run = 0, left = old.n ? old.v[0].n : 0, at = 0;
    s->runs.v = NULL;
    s->runs.n = s->runs.cap = 0;
    for (size_t i = 0; i < cycle->n_slots + cycle->n_failed; i++) {
        struct verdict v;
        if (word_bit(s->passed, i)) {
            v = verdicts[at++];
            if (v.code == BERTH_SUCCESS)
                continue;
            word_unset(s->passed, i);
        } else {
            v = old.v[run].verdict;
            if (--left == 0 && ++run < old.n)
                left = old.v[run].n;
        }
        attempt_buffers_add_refused(s, v);
    }
    vec_release(&old);
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
    const struct cache *cache = cycle->framework->cache;
    struct attempt_buffers *s = &cycle->cycles->buffers;
    size_t at = 0;
    /* Preemption skips nodes that were not filtered, or that are new. */
    for (size_t slot = 0; slot < cycle->columns.n; slot++)
        s->verdicts[slot] = (struct verdict){.code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                                             .plugin = VERDICT_NOBODY};
    /* No node passed: the runs cover all nodes that were filtered. */
    for (size_t i = 0; i < s->runs.n; i++)
        for (uint32_t k = 0; k < s->runs.v[i].n; k++, at++) {
            uint32_t slot = cycle_slot(cycle, at);
            const struct berth_node *node = cache->columns.nodes[slot];
            if (node && str_eq(str_of(node->name), node_names_name(cycle->names, slot)))
                s->verdicts[slot] = s->runs.v[i].verdict;
        }
}
