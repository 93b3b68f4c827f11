/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_names.h - which node was in which slot, and in which order nodes are looked at.
 *
 * Purpose:   attempts and their records speak of nodes by slot. Nodes come and go, slots are given
 *            to others: this is what the slots meant, made once for all attempts on the same nodes.
 * Ownership: shared; one piece of memory.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_NODE_NAMES_H
#define BERTH_ENGINE_CYCLE_NODE_NAMES_H

#include "engine/cache/cache.h"

struct node_names {
    size_t refs, n;
    size_t records;      /* how many of the refs are those of records */
    size_t bytes;        /* of this; counted with the first of these, given back with the last */
    uint64_t generation; /* cache.node_set */
    size_t n_order;
    uint32_t *order;    /* slots of all nodes in their order, twice: from any start they go on */
    struct str names[]; /* by slot; order and texts behind them */
};

struct node_names *node_names_new(const struct cache *cache);
struct node_names *node_names_ref(struct node_names *nodes);
void node_names_unref(struct node_names *nodes); /* NULL is fine */
/* Is it about the nodes that there are now? */
static inline bool node_names_current(const struct node_names *nodes, const struct cache *cache)
{
    return nodes->generation == cache->node_set;
}

/* Who was in this slot; empty: nobody. */
static inline struct str node_names_name(const struct node_names *nodes, uint32_t slot)
{
    return slot < nodes->n ? nodes->names[slot] : STR("");
}

#endif
