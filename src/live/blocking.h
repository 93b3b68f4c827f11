/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking.h - threads for calls of plugins that may block (ports.work).
 *
 * Purpose:   runs each piece of work on a thread of its own, up to a limit, then hands it to
 *            on_done. Threads are started when they are needed and end when they have been idle.
 * Ownership: work belongs to the workers until on_done or blocking_stop has it.
 * Threading: blocking_run on any thread; on_done is called on a worker's. The others: one thread.
 */
#ifndef BERTH_LIVE_BLOCKING_H
#define BERTH_LIVE_BLOCKING_H

#include "engine/ports/ports.h"

struct blocking;

typedef void blocking_fn(void *ctx, struct engine_work *work);

struct blocking *blocking_new(blocking_fn *on_done, void *ctx);
void blocking_run(struct blocking *w, struct engine_work *work);
/*
 * Passes work that has not begun to on_drop, which is also called by later blocking_run, and waits
 * for the rest until `until` (monotonic ns). Returns how many still run: if any does, the workers
 * and what these use must not be freed.
 */
size_t blocking_stop(struct blocking *w, blocking_fn *on_drop, int64_t until);
/* After blocking_stop returned 0. NULL is allowed. Returns NULL. */
struct blocking *blocking_free(struct blocking *w);

#endif
