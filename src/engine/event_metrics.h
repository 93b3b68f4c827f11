/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_metrics.h - metrics: how long the engine takes to handle a change.
 *
 * Purpose:   scheduler_event_handling_duration_seconds, labelled like upstream's event handlers.
 *            One change may be several events: a pod that is bound is deleted from the queue and
 *            added to a node. Each event is observed with the duration of the whole change.
 * Ownership: none.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EVENT_METRICS_H
#define BERTH_ENGINE_EVENT_METRICS_H

#include "engine/engine.h"

/* Without metrics, each of the two is one branch. */
int64_t event_metrics_begin(const struct engine *engine);
void event_metrics_end(struct engine *engine, const struct object *before,
                       const struct object *after, int64_t began);

#endif
