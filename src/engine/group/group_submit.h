/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_submit.h - carries out the outcome of a group's cycle (upstream:
 * submitPodGroupAlgorithmResult).
 *
 * Purpose:   binds the members, or puts them back into the queue with upstream's text for each
 * case, and writes the PodGroup's condition. Ownership: takes over the members and the cycles of
 * the run. Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_SUBMIT_H
#define BERTH_ENGINE_GROUP_GROUP_SUBMIT_H

#include "engine/group/group_run.h"

/* cycle.run has the outcome; its members have been undone. */
void group_submit(struct groups *g);
/* The members cannot be scheduled together: puts all of them back with this failure. */
void group_submit_error(struct groups *g, const struct cycle_failure *failure);

/* The group as plugins see it. */
struct berth_pod_group group_abi(const struct groups *g);
/* Sets the assignments of a run, for plugins that score placements. */
void group_propose(const struct group_run *run, struct arena *arena,
                   struct berth_placement *placement);

#endif
