/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement.h - where a group of pods may go together (upstream: PlacementGenerate,
 * PlacementScore).
 *
 * Purpose:   a placement is a set of nodes on which a whole group is tried. One plugin of the
 *            profile proposes placements, others score those that work.
 * Ownership: placements live in the arena they were made in.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_PLACEMENT_H
#define BERTH_ENGINE_PLACEMENT_H

#include "engine/cycle.h"

struct berth_pod_group {
    struct object *object; /* a PodGroup */
};

struct berth_placement {
    struct str name;
    struct berth_node *const *nodes;
    size_t n;
};

struct berth_placements {
    struct engine *engine;
    struct arena *arena;
    VEC(struct berth_placement) list;
};

/* Proposes placements. Without a plugin for it there is one: all nodes. */
bool placement_generate(struct berth_cycle *cycle, const struct berth_pod_group *group,
                        struct berth_placements *out, struct cycle_failure *failure);
/* Weighted totals of the placements; totals has room for all. False where a plugin broke. */
bool placement_score(struct berth_cycle *cycle, const struct berth_pod_group *group,
                     const struct berth_placements *placements, int64_t *totals,
                     struct cycle_failure *failure);

/* For the host: names that are unknown are left out. */
void placement_add(struct berth_placements *out, struct str name, const struct berth_str *nodes,
                   size_t n);

#endif
