/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement.h - a set of nodes on which the pods of a group are tried (upstream: Placement).
 *
 * Purpose:   the ABI's struct berth_placement. A cycle with a placement looks at its nodes only.
 *            Placements are proposed and scored in group/placements.h.
 * Ownership: lives in the arena that it was made in; nodes are borrowed from the cache.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_PLACEMENT_H
#define BERTH_ENGINE_CYCLE_PLACEMENT_H

#include "engine/cache/cache.h"

/* A member of the group and the node that it would get. */
struct placement_pod {
    const struct berth_pod *pod;
    struct str node_name;
};

struct berth_placement {
    struct str name;
    struct str *node_names;
    struct berth_node **nodes; /* valid until a node changes: see placement_find_nodes */
    size_t n;
    const struct placement_pod *pods; /* set once the group was tried on it */
    size_t n_pods;
};

/* A placement with room for n node names. */
struct berth_placement placement_new(struct arena *arena, struct str name, size_t n);
/* Looks the nodes up by name and drops those that no longer exist. */
void placement_find_nodes(struct berth_placement *placement, const struct cache *cache);
/* Whether the node is one of those found. */
bool placement_has(const struct berth_placement *placement, const struct berth_node *node);

#endif
