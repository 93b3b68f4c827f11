/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction.h - the victims of a preemption leave (upstream: the preemption's Executor).
 *
 * Purpose:   takes back promises of the node to pods of lower priority, then sees each victim off:
 *            one that waits in Permit, or is being bound, goes back to the queue; all others get a
 *            condition that says why and are deleted. The preemptor does not wait for it, but is
 *            kept out of the queue meanwhile, until the last victim is on its way: that one comes
 *            after all others, so that its leaving is news for the preemptor. Where
 *            SchedulerAsyncPreemption is off, the attempt waits instead.
 * Ownership: the engine owns those under way; each ends itself.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EVICTION_H
#define BERTH_ENGINE_EVICTION_H

#include "engine/candidate.h"
#include "engine/cycle.h"
#include "engine/ports.h"

/*
 * Begins. plugin: whose idea it was. BERTH_SUCCESS: it goes on by itself; BERTH_ASYNC: the attempt
 * under way has to wait, preemption_evicted is called when it has ended.
 */
enum berth_code eviction_start(struct berth_cycle *cycle, struct berth_pod *preemptor,
                               const struct candidate *candidate, const char *plugin);
/* The outcome of a write. False: it is not one of these. */
bool eviction_write_done(struct engine *engine, uint64_t id, const struct write_result *result);
/* Is the pod to stay out of the queue, since its victims are not on their way yet? */
bool eviction_blocks(const struct engine *engine, const struct berth_pod *preemptor);
/* No attempt waits any longer. */
void eviction_forget_attempt(struct engine *engine);
/* The world is ending: forgets all of them. */
void eviction_abandon_all(struct engine *engine);

#endif
