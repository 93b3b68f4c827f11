/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_submit.h - what a group's cycle came to is carried out.
 *
 * Purpose:   binds the members, or puts them back into the queue with the words that upstream has
 *            for each case, and tells the PodGroup's condition.
 * Ownership: takes the members and the cycles of g->run over.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_SUBMIT_H
#define BERTH_ENGINE_GROUP_GROUP_SUBMIT_H

#include "engine/group/group_cycle.h"

/* g->run counts; all of it has been taken back. */
void group_submit(struct engine *engine, struct group_cycle *g);
/* The members do not belong together at all. */
void group_submit_disagreement(struct engine *engine, struct group_cycle *g,
                               const struct cycle_failure *failure);

/* The group as plugins see it; its object is NULL where there is no PodGroup of that name. */
struct berth_pod_group group_abi(struct engine *engine, const struct group_cycle *g);
/* The assignments that a run proposes, for plugins that score placements. */
void group_propose(const struct group_run *run, struct arena *arena,
                   struct berth_placement *placement);

#endif
