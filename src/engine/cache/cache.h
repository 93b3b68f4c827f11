/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - the cluster as the scheduler believes it to be.
 *
 * Purpose:   nodes with their pods, pods that have a node, and the pods that were just given one
 *            (assumed) and wait for the API server's word. Numbers that filters and scores read for
 *            all nodes also stand in columns, one array each, indexed by the node's slot.
 * Ownership: owns its nodes; holds refs on pods.
 * Threading: the engine's thread; the pool's threads read during a cycle.
 *
 * Because one thread owns it and cycles are not interrupted, the cache is its own snapshot.
 */
#ifndef BERTH_ENGINE_CACHE_CACHE_H
#define BERTH_ENGINE_CACHE_CACHE_H

#include "base/bitset.h"
#include "base/map.h"
#include "engine/cache/journal.h"
#include "engine/cache/node_tree.h"

struct cache_pod {
    struct berth_pod *pod;
    struct berth_node *node;
    bool assumed;
};

/* The arrays behind struct berth_columns; all of capacity `cap`. */
struct cache_columns {
    size_t n, cap; /* slots in use (with holes), slots there is room for */
    struct berth_node **nodes;
    struct bitset present, unschedulable;
    int64_t *allocatable_cpu, *allocatable_memory, *allocatable_ephemeral_storage;
    int64_t *allocatable_pods;
    int64_t *requested_cpu, *requested_memory, *requested_ephemeral_storage;
    int64_t *nonzero_cpu, *nonzero_memory;
    int64_t *pod_count;
};

/*
 * Is told of every pod that comes to a node (sign 1) or leaves it (-1), and of a node's labels
 * before they change: NULL where there was no node, or will be none.
 */
struct cache_watcher {
    void *ctx;
    void (*moved)(void *ctx, const struct berth_pod *pod, const struct berth_node *node, int sign);
    void (*labels)(void *ctx, uint32_t slot, const str_map *before, const str_map *after);
};

struct cache {
    struct intern *names;
    struct map nodes; /* by name, also those of which only pods are known */
    struct map pods;  /* by UID, to struct cache_pod */
    struct cache_columns columns;
    VEC(uint32_t) free_slots;
    struct node_tree tree;
    node_list order;   /* candidates, in the order in which cycles look at them */
    bool order_is_old; /* see cache_refresh */
    struct map images; /* by name, to struct image_state */
    size_t n_assumed;
    uint64_t generation;          /* grows with every change */
    struct journal node_changes;  /* slots whose object came, changed or went */
    struct journal pod_changes;   /* slots whose pods did */
    struct cache_watcher watcher; /* ctx NULL: none */
    uint64_t node_set; /* grows when a slot gets a node or loses it, or the order changes */
};

void cache_init(struct cache *c, struct intern *names);
void cache_release(struct cache *c);

/* Brings `order` up to date; to be called before a cycle. */
void cache_refresh(struct cache *c);

void cache_set_node(struct cache *c, struct object *node);
void cache_remove_node(struct cache *c, struct str name);
struct berth_node *cache_node(const struct cache *c, struct str name); /* NULL: unknown */

/* A pod that has a node, as the API server tells it: new, changed or confirmed. */
void cache_set_pod(struct cache *c, struct berth_pod *pod);
void cache_remove_pod(struct cache *c, struct str uid);
struct cache_pod *cache_pod(const struct cache *c, struct str uid);

/* The decision: pod (made by pod_info_assume) counts on its node from now on. */
void cache_assume(struct cache *c, struct berth_pod *pod);
/* The decision came to nothing. A pod confirmed meanwhile stays; false then. */
bool cache_forget(struct cache *c, struct str uid);

/*
 * As if the pod were not on its node: for a dry run over many nodes. It stays known, and has to be
 * put back before anything else happens to it.
 */
void cache_lift_pod(struct cache *c, struct cache_pod *cp);
void cache_put_back_pod(struct cache *c, struct cache_pod *cp);

void cache_get_columns(const struct cache *c, struct berth_columns *ret_columns);

#endif
