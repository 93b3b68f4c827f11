/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - worker threads that share one loop.
 *
 * Purpose:   distributes filtering and scoring over nodes. pool_run splits [0, n) into pieces, runs
 *            them on all threads including the caller's and returns when all are done. What a piece
 *            writes must depend on its indexes only, not on its thread: decisions are then the same
 *            for any number of threads.
 * Ownership: pool_free joins the threads.
 * Threading: one pool_run at a time per pool.
 */
#ifndef BERTH_BASE_POOL_H
#define BERTH_BASE_POOL_H

#include "base/base.h"

struct pool;

/* Processes items [from, to). worker is 0 … pool_size - 1, to select per-worker memory. */
typedef void pool_fn(void *ctx, size_t worker, size_t from, size_t to);

/* threads >= 1, including the caller's: 1 starts none and pool_run is a plain call. */
struct pool *pool_new(size_t threads);
struct pool *pool_free(struct pool *pool); /* NULL is allowed; returns NULL */
size_t pool_size(const struct pool *pool);
void pool_run(struct pool *pool, size_t n, size_t piece, pool_fn *fn, void *ctx);

#endif
