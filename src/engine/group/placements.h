/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placements.h - where a group of pods may go together (upstream: PlacementGenerate,
 * PlacementScore).
 *
 * Purpose:   one plugin of the profile proposes placements, others score those that work. Without
 *            such a plugin there is one placement: all nodes.
 * Ownership: placements live in the arena they were made in.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_PLACEMENTS_H
#define BERTH_ENGINE_GROUP_PLACEMENTS_H

#include "engine/cycle/cycle.h"

struct pod_group_state;

/* A group as plugins see it. */
struct berth_pod_group {
    struct str namespace, name;
    struct object *object;               /* a PodGroup; NULL if there is none of that name */
    const struct pod_group_state *state; /* its pods */
};

struct berth_placements {
    const struct cache *cache;
    struct arena *arena;
    VEC(struct berth_placement) list;
};

/* Proposes placements. Returns false if there are none: *failure. */
bool placement_generate(struct berth_cycle *cycle, const struct berth_pod_group *group,
                        struct berth_placements *out, struct cycle_failure *failure);
/* Weighted totals of the placements; totals has room for all. Returns false if a plugin failed. */
bool placement_score(struct berth_cycle *cycle, const struct berth_pod_group *group,
                     const struct berth_placements *placements, int64_t *totals,
                     struct cycle_failure *failure);
/* For the host: adds a placement; names of unknown nodes are dropped. */
void placement_add(struct berth_placements *out, struct str name, const struct berth_str *nodes,
                   size_t n);

#endif
