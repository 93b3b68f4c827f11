/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_model.h - the scheduler's cache, slow and obvious.
 *
 * Purpose:   the reference for engine/cache: a list of nodes, a list of pods, and every sum added
 *            up from scratch at each call. Pods, nodes, images, zones and their kinds are small
 *            numbers; a table of the test defines the kinds of pods and nodes.
 * Ownership: plain arrays, nothing to release.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_CACHE_MODEL_H
#define BERTH_TESTS_CACHE_MODEL_H

#include "base/base.h"

#define MODEL_NODES   10
#define MODEL_PODS    32
#define MODEL_IMAGES  4
#define MODEL_SCALARS 2
#define MODEL_PORTS   4 /* different (address, protocol, port) */
#define MODEL_CLAIMS  3

/* The requests of a kind of pod. */
struct pod_facts {
    int64_t cpu, memory, storage; /* requests: thousandths, bytes, bytes */
    int64_t nonzero_cpu, nonzero_memory;
    int64_t scalars[MODEL_SCALARS];
    bool ports[MODEL_PORTS], claims[MODEL_CLAIMS];
    bool affinity, required_anti_affinity;
};

/* The resources of a kind of node. */
struct node_facts {
    const char *labels; /* JSON of the labels that name region and zone */
    int zone;           /* equal numbers are equal zones */
    int64_t cpu, memory, storage, pods;
    bool unschedulable;
    int64_t images[MODEL_IMAGES]; /* sizes; 0: image not present */
};

struct model_cache_pod {
    bool there, assumed;
    int kind, node;
};

struct model_image {
    int64_t size;
    bool on[MODEL_NODES];
};

struct cache_model {
    const struct pod_facts *pod_kinds;
    const struct node_facts *node_kinds;
    int node_kind[MODEL_NODES]; /* -1: no such node */
    struct model_cache_pod pods[MODEL_PODS];
    struct model_image images[MODEL_IMAGES];
    int zones[MODEL_NODES + 1], n_zones; /* in order of creation */
    int arrived[MODEL_NODES], n_arrived; /* nodes in order of addition to their zones */
    int order[MODEL_NODES], n_order;     /* as of the last addition or deletion of a node */
    bool order_is_old;
    size_t ports[MODEL_NODES][MODEL_PORTS]; /* pods, since one that used the port was deleted */
    uint64_t slot_changes;                  /* how often a name got or lost a slot */
};

/* Sums over the pods of one node. */
struct model_sums {
    int64_t cpu, memory, storage, nonzero_cpu, nonzero_memory, scalars[MODEL_SCALARS];
    size_t pods, affinity, required_anti_affinity;
    size_t ports[MODEL_PORTS], claims[MODEL_CLAIMS];
};

void cache_model_init(struct cache_model *m, const struct pod_facts *pod_kinds,
                      const struct node_facts *node_kinds);
void cache_model_set_node(struct cache_model *m, int node, int kind);
void cache_model_remove_node(struct cache_model *m, int node);
void cache_model_set_pod(struct cache_model *m, int pod, int kind, int node, bool assumed);
void cache_model_remove_pod(struct cache_model *m, int pod);

/* Returns whether the node is known or has pods. */
bool cache_model_has_slot(const struct cache_model *m, int node);
struct model_sums cache_model_sums(const struct cache_model *m, int node);
size_t cache_model_image_nodes(const struct cache_model *m, int image);
/* Fills in the nodes' numbers in order; returns their count. Must be called after every change. */
size_t cache_model_order(struct cache_model *m, int *ret_order);

#endif
