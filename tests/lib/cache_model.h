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

/* What a kind of pod asks for. */
struct pod_facts {
    int64_t cpu, memory, storage; /* requests: thousandths, bytes, bytes */
    int64_t nonzero_cpu, nonzero_memory;
    int64_t scalars[MODEL_SCALARS];
    bool ports[MODEL_PORTS], claims[MODEL_CLAIMS];
    bool affinity, required_anti_affinity;
};

/* What a kind of node has. */
struct node_facts {
    const char *labels; /* JSON of the labels that name region and zone */
    int zone;           /* the same number: the same zone */
    int64_t cpu, memory, storage, pods;
    bool unschedulable;
    int64_t images[MODEL_IMAGES]; /* sizes; 0: not there */
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
    int node_kind[MODEL_NODES]; /* -1: there is no such node */
    struct model_cache_pod pods[MODEL_PODS];
    struct model_image images[MODEL_IMAGES];
    int zones[MODEL_NODES + 1], n_zones; /* in the order in which they came to be */
    int arrived[MODEL_NODES], n_arrived; /* nodes in the order in which they came to their zone */
    int order[MODEL_NODES], n_order;     /* as it was when a node came or went last */
    bool order_is_old;
    size_t ports[MODEL_NODES][MODEL_PORTS]; /* by how many pods, since one that had it went */
    uint64_t slot_changes;                  /* how often a name came to have a slot or lost it */
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

/* Is it known, or has pods? */
bool cache_model_has_slot(const struct cache_model *m, int node);
struct model_sums cache_model_sums(const struct cache_model *m, int node);
size_t cache_model_image_nodes(const struct cache_model *m, int image);
/* Fills the nodes' numbers in order; how many there are. To be asked after every change. */
size_t cache_model_order(struct cache_model *m, int *ret_order);

#endif
