/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_metrics.h - metrics of writes to the API server: pending_async_api_calls,
 * async_api_call_execution_total and async_api_call_execution_duration_seconds.
 *
 * Purpose:   upstream has these only with the feature gate SchedulerAsyncAPICalls, which queues
 *            bindings and status patches. berth always queues them; it counts if the gate is on.
 * Ownership: the metric registry owns the families.
 * Threading: any thread.
 */
#ifndef BERTH_LIVE_WRITE_METRICS_H
#define BERTH_LIVE_WRITE_METRICS_H

#include "engine/engine.h"

struct write_metrics {
    struct metric_family *pending, *total, *duration; /* NULL: no metrics */
};

/* registry NULL: no metrics; features NULL: the defaults. */
void write_metrics_init(struct write_metrics *m, struct metrics *registry,
                        const struct features *features);
/* delta 1: the write is queued; -1: it is no longer queued. */
void write_metrics_pending(const struct write_metrics *m, enum write_kind kind, int delta);
void write_metrics_done(const struct write_metrics *m, enum write_kind kind, bool ok, int64_t ns);

#endif
