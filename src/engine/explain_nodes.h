/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_nodes.h - which node was in which slot, and in which order nodes are looked at.
 *
 * Purpose:   attempts and their records speak of nodes by slot. Nodes come and go, slots are given
 *            to others: this is what the slots meant, made once for all attempts on the same nodes.
 * Ownership: shared; one piece of memory.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_NODES_H
#define BERTH_ENGINE_EXPLAIN_NODES_H

#include "engine/cache.h"

struct explain_nodes {
    size_t refs, n;
    size_t records;      /* how many of the refs are those of records */
    size_t bytes;        /* of this; counted with the first of these, given back with the last */
    uint64_t generation; /* cache.node_set */
    size_t n_order;
    uint32_t *order;    /* slots of all nodes in their order, twice: from any start they go on */
    struct str names[]; /* by slot; order and texts behind them */
};

struct explain_nodes *explain_nodes_new(const struct cache *cache);
struct explain_nodes *explain_nodes_ref(struct explain_nodes *nodes);
void explain_nodes_unref(struct explain_nodes *nodes); /* NULL is fine */
/* Is it about the nodes that there are now? */
static inline bool explain_nodes_current(const struct explain_nodes *nodes,
                                         const struct cache *cache)
{
    return nodes->generation == cache->node_set;
}

/* Who was in this slot; empty: nobody. */
static inline struct str explain_nodes_name(const struct explain_nodes *nodes, uint32_t slot)
{
    return slot < nodes->n ? nodes->names[slot] : STR("");
}

#endif
