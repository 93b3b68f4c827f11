/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_metrics.h - metrics of writes to the API server: pending_async_api_calls,
 * async_api_call_execution_total and async_api_call_execution_duration_seconds.
 *
 * Purpose:   upstream has these with the feature gate SchedulerAsyncAPICalls alone, which hands
 *            bindings and changes of a pod's status to a queue. berth always writes that way; it
 *            counts where the gate is on.
 * Ownership: the families are the registry's.
 * Threading: any thread.
 */
#ifndef BERTH_LIVE_WRITE_METRICS_H
#define BERTH_LIVE_WRITE_METRICS_H

#include "engine/engine.h"

struct write_metrics {
    struct metric_family *pending, *total, *duration; /* NULL: nothing is counted */
};

/* registry NULL: there is none; features NULL: the defaults. */
void write_metrics_init(struct write_metrics *m, struct metrics *registry,
                        const struct features *features);
/* The write waits (1), or does no longer (-1). */
void write_metrics_pending(const struct write_metrics *m, enum write_kind kind, int delta);
void write_metrics_done(const struct write_metrics *m, enum write_kind kind, bool ok, int64_t ns);

#endif
