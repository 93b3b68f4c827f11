/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_sets.h - the nodes that can reach a volume or a pool of storage.
 *
 * Purpose:   the node affinities of volumes and the topologies of storage capacities, each distinct
 *            one once, with the set of nodes that match. A set is found by label, so that 5,000
 *            volumes of one node each cost 5,000 lookups and not 5,000 times all nodes; only nodes
 *            whose labels changed are asked again. The reverse, the sets of a node, is known too.
 * Ownership: owns the sets, which are counted; each holds the object that its terms borrow from,
 *            and a reference on every node's object.
 * Threading: changed by the engine's thread between cycles and in pre_filter; the pool's threads
 *            read during a cycle.
 *
 * As upstream's CheckNodeAffinity, only labels count: matchFields never match by name.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_NODE_SETS_H
#define BERTH_PLUGINS_VOLUME_BINDING_NODE_SETS_H

#include "api/node_selector.h"
#include "base/vec.h"
#include "engine/cache/cache.h"

#define NODE_SET_FEW 16 /* up to so many nodes are a list, more are a bitset */

struct pv_pool;
struct capacity;

struct node_set {
    struct str key; /* owned */
    size_t refs;
    struct object *source; /* the terms borrow from it */
    struct arena arena;    /* of the terms */
    struct node_terms terms;
    size_t n; /* nodes */
    uint32_t few[NODE_SET_FEW];
    uint64_t *words; /* NULL while there are few */
    size_t n_words;
    bool by_label; /* found through labels; otherwise every node is asked */
    size_t index;  /* in node_sets.unlabelled */
    /* What lies there; kept by volumes.c and capacities.c. */
    VEC(struct pv_pool *) pools;
    VEC(struct capacity *) capacities;
};

typedef VEC(struct node_set *) node_set_list;

struct node_sets {
    const struct cache *cache;
    struct map by_key;     /* → struct node_set */
    struct map label_keys; /* → struct label_key: the labels by which sets are found */
    node_set_list unlabelled;
    VEC(struct slot_sets) slots; /* by slot */
    uint64_t seen;               /* position in the cache's journal of nodes */
    struct buf key;              /* scratch */
    /* Called when a node enters a set (sign 1) or leaves it (-1). */
    void (*moved)(void *ctx, const struct node_set *set, uint32_t slot, int sign);
    void *ctx;
};

/* A node as it was when its sets were found. */
struct slot_sets {
    struct object *node; /* NULL: none */
    node_set_list sets;
};

/* Set `moved` and `ctx` afterwards. */
void node_sets_init(struct node_sets *s, const struct cache *cache);
void node_sets_release(struct node_sets *s);
/* Looks at the nodes that changed. Call in pre_filter. */
void node_sets_update(struct node_sets *s);

/*
 * The set of these terms, with a reference for the caller. source: the object that they borrow
 * from.
 */
struct node_set *node_sets_of_selector(struct node_sets *s, const struct node_selector *selector,
                                       struct object *source);
/* The same for a label selector; an invalid one matches no node. */
struct node_set *node_sets_of_labels(struct node_sets *s, const struct label_selector *selector,
                                     struct object *source);
/* Drops a reference; NULL is allowed. */
void node_set_unref(struct node_sets *s, struct node_set *set);

/* Adds the set's nodes to `out`, of slots 0 … n_slots - 1. NULL: every node. */
void node_set_paint(const struct node_set *set, uint64_t *out, size_t n_slots);
/* Is the node in the set? Also for a node that the sets do not know yet. NULL: every node. */
static inline bool node_set_matches(const struct node_set *set, const struct berth_node *node)
{
    return !set || node_terms_match(&set->terms, &node->node->metadata.labels, STR(""));
}
/* The sets of this node; NULL if they are not known. */
const node_set_list *node_sets_at(const struct node_sets *s, const struct berth_node *node);

#endif
