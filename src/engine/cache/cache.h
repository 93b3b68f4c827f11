/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - the scheduler's view of the cluster (upstream: Cache and Snapshot).
 *
 * Purpose:   nodes with their pods, pods that have a node, and assumed pods, whose binding is not
 *            confirmed yet. Numbers that filters and scores read for all nodes are also in columns,
 *            one array each, indexed by the node's slot.
 * Ownership: owns its nodes; holds refs on pods.
 * Threading: the engine's thread; the pool's threads read during a cycle.
 *
 * One thread owns the cache and cycles are not interrupted, so no snapshot is needed.
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
    size_t n, cap; /* slots in use (with holes), slots allocated */
    struct berth_node **nodes;
    struct bitset present, unschedulable;
    int64_t *allocatable_cpu, *allocatable_memory, *allocatable_ephemeral_storage;
    int64_t *allocatable_pods;
    int64_t *requested_cpu, *requested_memory, *requested_ephemeral_storage;
    int64_t *nonzero_cpu, *nonzero_memory;
    int64_t *pod_count;
};

/*
 * Called for every pod that is added to a node (sign 1) or removed from it (-1), and before the
 * labels of a node change: NULL if there was no node, or will be none.
 */
struct cache_watcher {
    void *ctx;
    void (*moved)(void *ctx, const struct berth_pod *pod, const struct berth_node *node, int sign);
    void (*labels)(void *ctx, uint32_t slot, const str_map *before, const str_map *after);
};

struct cache {
    struct intern *names;
    struct map nodes; /* by name; also nodes without an object that have pods */
    struct map pods;  /* by UID, to struct cache_pod */
    struct cache_columns columns;
    VEC(uint32_t) free_slots;
    struct node_tree tree;
    node_list order;   /* nodes with an object, in the order of cycles */
    bool order_is_old; /* see cache_refresh */
    struct map images; /* by name, to struct image_state */
    size_t n_assumed;
    uint64_t generation;          /* incremented by every change */
    struct journal node_changes;  /* slots whose object was added, changed or removed */
    struct journal pod_changes;   /* slots with a pod added or removed */
    struct cache_watcher watcher; /* ctx NULL: none */
    uint64_t node_set; /* incremented when a slot gets or loses a node, or the order changes */
};

void cache_init(struct cache *c, struct intern *names);
void cache_release(struct cache *c);

/* Updates `order`; call before a cycle. */
void cache_refresh(struct cache *c);

void cache_set_node(struct cache *c, struct object *node);
void cache_remove_node(struct cache *c, struct str name);
struct berth_node *cache_node(const struct cache *c, struct str name); /* NULL if unknown */

/* A pod that has a node, from the API server: added, changed or confirmed. */
void cache_set_pod(struct cache *c, struct berth_pod *pod);
void cache_remove_pod(struct cache *c, struct str uid);
struct cache_pod *cache_pod(const struct cache *c, struct str uid);

/* The pod (from pod_info_assume) counts on its node from now on. It must not be known yet. */
void cache_assume(struct cache *c, struct berth_pod *pod);
/* Removes an assumed pod. False, without effect, if it is unknown or confirmed. */
bool cache_forget(struct cache *c, struct str uid);

/*
 * Removes the pod from its node for a dry run over many nodes. The pod stays known and must be put
 * back before any other function is called for it.
 */
void cache_lift_pod(struct cache *c, struct cache_pod *cp);
void cache_put_back_pod(struct cache *c, struct cache_pod *cp);

void cache_get_columns(const struct cache *c, struct berth_columns *ret_columns);

#endif
