/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_cycle.h - the attempt to place a group of pods (upstream: pod group scheduling cycle).
 *
 * Purpose:   a pod that names a PodGroup is not popped alone: all members that wait are popped with
 *            it. Each goes through an attempt of its own and is assumed on the node that it would
 *            get (group_run.h). When all were tried, that is undone; then either every member with
 *            a node is bound, or none is. With placements (placements.h) this is done once for each
 *            of them, and the best of those that work counts.
 *
 *            The caller runs the attempts: group_next returns the member to try, and the result
 *            goes back by group_run_failed or group_run_placed.
 * Ownership: part of the engine; owns its members until they are bound or back in the queue.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_CYCLE_H
#define BERTH_ENGINE_GROUP_GROUP_CYCLE_H

#include "engine/group/group_run.h"

/* Takes over a pod that was popped and names a group. */
void group_start(struct groups *g, struct berth_queued_pod *queued, int64_t now);
/*
 * The next member to try. NULL: the group waits for victims (cycle.waits), or its cycle is over,
 * with every member bound or back in the queue.
 */
struct berth_queued_pod *group_next(struct groups *g);
/* The victims that the group waited for are evicted; error: why one is not. */
void group_evicted(struct groups *g, struct str error);
/* Ends the cycle without a report. */
void group_drop(struct groups *g);

#endif
