/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/cycle.h"

#include "engine/cycle/cycle_timing.h"

/* Cycles kept for reuse: about as many as are binding at once when writes return soon. */
#define SPARE_CYCLES 16

void cycles_init(struct cycles *cycles, struct framework *fw, const struct queue *queue)
{
    *cycles = (struct cycles){.framework = fw, .queue = queue};
    workers_init(&cycles->workers, fw->ports.pool);
    status_init(&cycles->status);
}

static void destroy(struct berth_cycle *cycle)
{
    vec_release(&cycle->state);
    vec_release(&cycle->to_activate);
    vec_release(&cycle->limiters);
    vec_release(&cycle->pre_filter);
    vec_release(&cycle->plugin_scores);
    vec_release(&cycle->extender_scores);
    vec_release(&cycle->post_filter.reasons);
    buf_release(&cycle->record);
    arena_release(&cycle->arena);
    free(cycle);
}

void cycles_release(struct cycles *cycles)
{
    for (size_t i = 0; i < cycles->spare.n; i++)
        destroy(cycles->spare.v[i]);
    vec_release(&cycles->spare);
    vec_release(&cycles->waits);
    node_names_unref(cycles->names);
    attempt_buffers_release(&cycles->buffers);
    workers_release(&cycles->workers);
    status_release(&cycles->status);
}

/* --- one cycle -------------------------------------------------------------------------------- */

struct berth_cycle *cycle_new(struct cycles *cycles, struct profile *profile)
{
    struct scheduler_metrics *metrics = cycles->framework->metrics;
    struct berth_cycle *cycle;
    if (cycles->spare.n) {
        cycle = vec_pop(&cycles->spare);
    } else {
        cycle = xnew(struct berth_cycle);
        arena_init(&cycle->arena, 0);
    }
    cycle->framework = cycles->framework;
    cycle->cycles = cycles;
    cycle->profile = profile;
    cycle->claim = NULL;
    cycle->sampled = metrics && scheduler_metrics_sample(metrics);
    profile->setup->n_cycles++;
    return cycle;
}

void cycle_drop_state(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->state.n; i++)
        if (cycle->state.v[i].data && cycle->state.v[i].free)
            cycle->state.v[i].free(cycle->state.v[i].data);
    vec_clear(&cycle->state);
}

void cycle_attach(struct berth_cycle *cycle, enum cycle_attachment which, void *data,
                  void (*free_fn)(void *data))
{
    struct cycle_item *item = &cycle->attached[which];
    if (item->data)
        item->free(item->data);
    *item = (struct cycle_item){.data = data, .free = free_fn};
}

static void drop_to_activate(struct berth_cycle *cycle)
{
    for (size_t i = 0; i < cycle->to_activate.n; i++)
        pod_info_unref(cycle->to_activate.v[i]);
    vec_clear(&cycle->to_activate);
}

/* Back to a new cycle that keeps its memory. */
static void reset(struct berth_cycle *cycle)
{
    struct berth_cycle kept = *cycle;
    *cycle = (struct berth_cycle){.arena = kept.arena, .record = kept.record};
    arena_reset(&cycle->arena);
    buf_clear(&cycle->record);
#define KEEP(vec) (cycle->vec.v = kept.vec.v, cycle->vec.cap = kept.vec.cap)
    KEEP(state);
    KEEP(to_activate);
    KEEP(limiters);
    KEEP(pre_filter);
    KEEP(plugin_scores);
    KEEP(extender_scores);
    KEEP(post_filter.reasons);
#undef KEEP
}

struct berth_cycle *cycle_free(struct berth_cycle *cycle)
{
    if (!cycle)
        return NULL;
    struct cycles *cycles = cycle->cycles;
    INVARIANT(cycle->profile->setup->n_cycles > 0);
    cycle->profile->setup->n_cycles--;
    cycle_drop_state(cycle);
    drop_to_activate(cycle);
    for (int i = 0; i < CYCLE_ATTACHMENTS; i++)
        cycle_attach(cycle, (enum cycle_attachment)i, NULL, NULL);
    node_names_unref(cycle->names);
    node_subset_release(&cycle->limit);
    node_subset_release(&cycle->proposal);
    if (cycles->spare.n == SPARE_CYCLES) {
        destroy(cycle);
        return NULL;
    }
    reset(cycle);
    vec_push(&cycles->spare, cycle);
    return NULL;
}

void cycle_resume(struct berth_cycle *cycle)
{
    struct cache *cache = cycle->framework->cache;
    cache_refresh(cache);
    cache_get_columns(cache, &cycle->columns);
    attempt_buffers_grow_verdicts(&cycle->cycles->buffers, cycle->columns.n);
    cycle->resumed = true;
}

void cycle_end(struct berth_cycle *cycle)
{
    cycle_count_filters(cycle);
    cycle->slots = NULL;
    cycle->scores = NULL;
    vec_clear(&cycle->plugin_scores);
    vec_clear(&cycle->extender_scores);
}
