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
#ifndef BERTH_ENGINE_PREEMPT_EVICTION_H
#define BERTH_ENGINE_PREEMPT_EVICTION_H

#include "engine/cycle/cycle.h"
#include "engine/ports/ports.h"
#include "engine/preempt/candidate.h"

/* Whom the room is for. All of it is borrowed for the call. */
struct preemptor {
    struct str uid;
    struct object *object; /* what events name */
    bool is_group;         /* a PodGroup; else a pod */
    bool in_background;    /* nobody waits for it, be SchedulerAsyncPreemption on or off */
    int32_t priority;
    struct str scheduler_name;
    struct berth_pod *const *pods; /* that try again where something fails */
    size_t n_pods;
};

/*
 * Begins. plugin: whose idea it was. BERTH_SUCCESS: it goes on by itself; BERTH_ASYNC: the attempt
 * under way has to wait, preemption_evicted, or group_preemption_evicted, is called when it has
 * ended.
 */
enum berth_code eviction_start(struct berth_cycle *cycle, const struct preemptor *preemptor,
                               const struct candidate *candidate, const char *plugin);
/* The outcome of a write. False: it is not one of these. */
bool eviction_write_done(struct engine *engine, uint64_t id, const struct write_result *result);
/* Is the preemptor to stay out of the queue, since its victims are not on their way yet? */
bool eviction_blocks(const struct engine *engine, struct str uid);
/* No attempt waits any longer. */
void eviction_forget_attempt(struct engine *engine);
/* The world is ending: forgets all of them. */
void eviction_abandon_all(struct engine *engine);

#endif
