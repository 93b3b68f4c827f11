/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_info.h - a node, its pods and their sums (upstream: NodeInfo).
 *
 * Purpose:   everything that a plugin reads about one node. The ABI's struct berth_node.
 * Ownership: owned by the cache; holds a ref on the API object and on each pod. A borrowing copy,
 *            for "what if" questions about nominated pods and victims, belongs to its creator and
 *            counts no references.
 * Threading: changed by the engine's thread between cycles, read by the pool's threads during one.
 *            A borrowing copy may be used by any one thread.
 */
#ifndef BERTH_ENGINE_CACHE_NODE_INFO_H
#define BERTH_ENGINE_CACHE_NODE_INFO_H

#include "api/node.h"
#include "engine/cache/pod_info.h"

/* An image on some nodes of the cluster; owned by the cache. */
struct image_state {
    char *name;
    int64_t size;
    size_t n_nodes;
    const struct berth_node *last; /* the node it was added to last; NULL: unknown */
    int64_t worth;                 /* used by ImageLocality while it scores a pod; else 0 */
};

struct claim_use {
    atom_t claim; /* "namespace/name" */
    uint32_t pods;
};

typedef VEC(struct berth_pod *) pod_list;

struct berth_node {
    uint32_t slot;         /* index into the cache's columns */
    char *name;            /* owned: the pods of a node may arrive before its object */
    struct object *object; /* NULL: only its pods are known; not schedulable */
    const struct node *node;
    struct resource allocatable;
    struct resource requested;
    int64_t nonzero_milli_cpu, nonzero_memory;
    size_t n_claiming; /* pods with resources by claims: berth_pod.claimed */
    pod_list pods;
    pod_list pods_with_affinity, pods_with_required_anti_affinity; /* subsets of pods; no refs */
    VEC(struct host_port) used_ports; /* sorted; atoms owned by the pods */
    VEC(struct claim_use) claims;     /* sorted by atom; atoms owned by the pods */
    VEC(struct image_state *) images; /* kept by the cache */
    uint64_t generation;              /* of the last change */
    struct intern *names;             /* the table of the atoms */
    bool borrows;                     /* a copy: references are not counted */
};

struct berth_node *node_info_new(struct str name, struct intern *names);
void node_info_free(struct berth_node *node);
/*
 * Makes `copy` a borrowing copy of node, with the same object and pods and without images. `copy`
 * is {0} or an earlier copy, whose memory is reused.
 */
void node_info_borrow(struct berth_node *copy, const struct berth_node *node);
void node_info_end_borrowing(struct berth_node *copy);
/* object NULL: the node was removed, its pods were not. */
void node_info_set_object(struct berth_node *node, struct object *object);
void node_info_add_pod(struct berth_node *node, struct berth_pod *pod);
/* Sets the order of its pods: `order` lists the same pods. */
void node_info_reorder(struct berth_node *node, struct berth_pod *const *order);
/* By UID; false if there is none. */
bool node_info_remove_pod(struct berth_node *node, struct str uid);
/* By identity: not an older or newer version of the pod. */
bool node_info_remove_this(struct berth_node *node, const struct berth_pod *pod);

#endif
