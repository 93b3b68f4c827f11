/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle.h - one attempt to schedule one pod (upstream: scheduling cycle and CycleState).
 *
 * Purpose:   PreFilter, Filter, PreScore, Score, the choice of a node, and the state that plugins
 *            carry from one of these to the next. The ABI's struct berth_cycle.
 * Ownership: lives from the pod's popping to the end of its binding; owns an arena and the data
 *            that plugins wrote into it.
 * Threading: the engine's thread; the pool's threads read during Filter and Score.
 */
#ifndef BERTH_ENGINE_CYCLE_H
#define BERTH_ENGINE_CYCLE_H

#include "base/arena.h"
#include "base/bitset.h"
#include "engine/queue.h"
#include "engine/status.h"

struct cycle_item {
    void *data;
    void *(*clone)(const void *data);
    void (*free)(void *data);
};

struct berth_cycle {
    struct engine *engine;
    struct profile *profile;
    struct arena arena;
    VEC(struct cycle_item) state;              /* by key - 1 */
    struct plugin_set skip_filter, skip_score; /* coupled points of plugins that said Skip */

    /* The node-subset results of PreFilter, intersected. */
    bool limited;
    struct bitset limit; /* by slot */
    VEC(const struct berth_handle *) limiters;
    const struct berth_handle *running; /* the plugin whose PreFilter runs */

    /* Verdicts of this attempt by slot; BERTH_SUCCESS also for nodes that were not looked at. */
    uint8_t *codes;
    berth_reason *reasons;
    uint32_t *slots; /* feasible nodes, in order */
    int64_t *scores; /* totals, in the order of slots */
    size_t n_slots, n_failed;

    struct berth_columns columns;
};

/* What came of an attempt that did not place the pod. */
struct cycle_failure {
    bool error;      /* something broke */
    struct buf text; /* for the event and the condition */
    struct plugin_set rejectors, pending;
};

struct berth_cycle *cycle_new(struct engine *engine, struct profile *profile);
struct berth_cycle *cycle_free(struct berth_cycle *cycle);

/* The chosen node, or NULL with *failure filled. */
struct berth_node *cycle_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct cycle_failure *failure);

void cycle_failure_release(struct cycle_failure *failure);
/* Fills failure with an error in printf's manner. */
void cycle_failure_error(struct cycle_failure *failure, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
