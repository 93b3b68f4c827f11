/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_metrics.h - metrics: how long the engine took to take note of a change.
 *
 * Purpose:   scheduler_event_handling_duration_seconds, by the names that upstream's event handlers
 *            give to what happened. One change may have several: a pod that is bound leaves the
 *            queue and comes to a node. Each is told the time that all of it took.
 * Ownership: none.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EVENT_METRICS_H
#define BERTH_ENGINE_EVENT_METRICS_H

#include "engine/engine.h"

/* Where nothing is counted, both are a branch. */
int64_t event_metrics_begin(const struct engine *engine);
void event_metrics_end(struct engine *engine, const struct object *before,
                       const struct object *after, int64_t began);

#endif
