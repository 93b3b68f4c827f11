/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers.h - scratch space of the threads that filter and score.
 *
 * Purpose:   every thread of the pool has a status, and a list of statuses whose reasons are texts.
 *            These become numbers afterwards, on the engine's thread and in the order of the nodes,
 *            so that numbers do not depend on the timing of threads.
 * Ownership: part of struct cycles.
 * Threading: worker i belongs to thread i of the pool during workers_run, otherwise to the engine's
 *            thread.
 */
#ifndef BERTH_ENGINE_CYCLE_WORKERS_H
#define BERTH_ENGINE_CYCLE_WORKERS_H

#include "base/pool.h"
#include "engine/framework/status.h"

/* Shorter loops run on the engine's thread: waking others takes longer. */
#define WORKERS_MIN_ITEMS 128
#define WORKERS_PIECE     32

struct kept_status {
    size_t item;
    enum berth_code code;
    struct berth_status status;
};

/* A filter's verdict on a node that it refused. */
struct worker_refusal {
    uint32_t slot;
    enum berth_code code;
    berth_reason reason; /* 0: none, or the status is in `kept` */
};

struct worker {
    struct berth_status status;
    VEC(struct worker_refusal) refused; /* in any order */
    VEC(struct kept_status) kept;
};

struct workers {
    struct pool *pool; /* borrowed; NULL: only the engine's thread */
    struct worker *v;
    size_t n;
};

void workers_init(struct workers *w, struct pool *pool);
void workers_release(struct workers *w);
/* Runs fn over [0, n), on all threads if n is at least WORKERS_MIN_ITEMS. */
void workers_run(struct workers *w, size_t n, pool_fn *fn, void *ctx);
/* Moves the worker's status to `kept`, for this item. */
void worker_keep(struct worker *w, size_t item, enum berth_code code);
/* Calls fn with every kept status in order of items, and frees them. */
typedef void workers_kept_fn(void *ctx, const struct kept_status *kept);
void workers_take_kept(struct workers *w, workers_kept_fn *fn, void *ctx);

#endif
