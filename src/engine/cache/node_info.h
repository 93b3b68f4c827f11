/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_info.h - a node, its pods and their sums (upstream: NodeInfo).
 *
 * Purpose:   everything that a plugin asks about one node. The ABI's struct berth_node.
 * Ownership: owned by the cache; holds a ref on the API object and on each pod. A copy that borrows
 *            all of that, for "what if" questions about nominated pods and victims, belongs to who
 *            made it.
 * Threading: changed by the engine's thread between cycles, read by the pool's during one. A copy
 *            that borrows is whose it is: no reference is counted.
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
    const struct berth_node *last; /* who got it last; NULL: unknown */
    int64_t worth;                 /* ImageLocality's, while it scores a pod; else 0 */
};

struct claim_use {
    atom_t claim; /* "namespace/name" */
    uint32_t pods;
};

typedef VEC(struct berth_pod *) pod_list;

struct berth_node {
    uint32_t slot;         /* index into the cache's columns */
    char *name;            /* owned: a node's pods may come before the node itself */
    struct object *object; /* NULL: only its pods are known; not a candidate */
    const struct node *node;
    struct resource allocatable;
    struct resource requested;
    int64_t nonzero_milli_cpu, nonzero_memory;
    pod_list pods;
    pod_list pods_with_affinity, pods_with_required_anti_affinity; /* of pods; no refs */
    VEC(struct host_port) used_ports;                              /* sorted; atoms are the pods' */
    VEC(struct claim_use) claims;     /* sorted by atom, which are the pods' */
    VEC(struct image_state *) images; /* kept by the cache */
    uint64_t generation;              /* of the last change */
    struct intern *names;             /* where the atoms live */
    bool borrows;                     /* it is a copy: pods and names are counted by another */
};

struct berth_node *node_info_new(struct str name, struct intern *names);
void node_info_free(struct berth_node *node);
/*
 * Makes copy one of node, to play with while that one stays as it is: same object, same pods;
 * without images. copy is {0}, or was a copy before; its memory is used again.
 */
void node_info_borrow(struct berth_node *copy, const struct berth_node *node);
void node_info_end_borrowing(struct berth_node *copy);
/* object NULL: the node is gone, its pods are not. */
void node_info_set_object(struct berth_node *node, struct object *object);
void node_info_add_pod(struct berth_node *node, struct berth_pod *pod);
/* Its pods stand in another order: the same ones. */
void node_info_reorder(struct berth_node *node, struct berth_pod *const *order);
/* By UID; false where it is not there. */
bool node_info_remove_pod(struct berth_node *node, struct str uid);
/* The very same; an older or newer version of it is another. */
bool node_info_remove_this(struct berth_node *node, const struct berth_pod *pod);

#endif
