/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_names.h - which node was in which slot, and in which order nodes are filtered.
 *
 * Purpose:   attempts and their records refer to nodes by slot, and slots are reused when nodes are
 *            added and deleted. This maps slots to names as of one set of nodes; all attempts on
 *            that set share it.
 * Ownership: reference-counted; one allocation.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_NODE_NAMES_H
#define BERTH_ENGINE_CYCLE_NODE_NAMES_H

#include "engine/cache/cache.h"

struct node_names {
    size_t refs, n;
    size_t records;      /* of refs: those of explain's records */
    size_t bytes;        /* of the allocation; explain counts it once for all its records */
    uint64_t generation; /* cache.node_set */
    size_t n_order;
    uint32_t *order;    /* slots of all nodes in order, twice over: from any start without a wrap */
    struct str names[]; /* by slot; followed by order and texts */
};

struct node_names *node_names_new(const struct cache *cache);
struct node_names *node_names_ref(struct node_names *nodes);
void node_names_unref(struct node_names *nodes); /* NULL is allowed */
/* Whether the set of nodes is still the same. */
static inline bool node_names_current(const struct node_names *nodes, const struct cache *cache)
{
    return nodes->generation == cache->node_set;
}

/* The name of the node in this slot; empty if none. */
static inline struct str node_names_name(const struct node_names *nodes, uint32_t slot)
{
    return slot < nodes->n ? nodes->names[slot] : STR("");
}

#endif
