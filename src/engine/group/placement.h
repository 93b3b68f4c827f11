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
#ifndef BERTH_ENGINE_GROUP_PLACEMENT_H
#define BERTH_ENGINE_GROUP_PLACEMENT_H

#include "engine/cache/cache.h"
#include "engine/cycle/cycle.h"

struct pod_group_state;

struct berth_pod_group {
    struct str namespace, name;
    struct object *object;               /* a PodGroup; NULL: there is none of that name */
    const struct pod_group_state *state; /* its pods */
};

/* A member and the node that it would get. */
struct placement_pod {
    const struct berth_pod *pod;
    struct str node_name;
};

struct berth_placement {
    struct str name;
    struct str *node_names;
    struct berth_node **nodes; /* as long as nothing changes; see placement_find_nodes */
    size_t n;
    const struct placement_pod *pods; /* once the group was tried on it */
    size_t n_pods;
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

/* Nodes may have gone since the placement was made: finds those that are left. */
void placement_find_nodes(struct berth_placement *placement, const struct cache *cache);
/* Is it one of those that were found? */
bool placement_has(const struct berth_placement *placement, const struct berth_node *node);

/* For the host: names that are unknown are left out. */
void placement_add(struct berth_placements *out, struct str name, const struct berth_str *nodes,
                   size_t n);

#endif
