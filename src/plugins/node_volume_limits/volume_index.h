/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_index.h - the CSI volumes on each node and the limits of its drivers.
 *
 * Purpose:   a filter over all nodes must not look at all pods on them. The volumes of a node are
 *            collected when they are asked for, and again only after its pods, or an object that
 *            they were found through, have changed.
 * Ownership: owns its entries; borrows objects, which stay until it has been told of their change.
 *            One for all profiles (struct berth_shared_type).
 * Threading: the engine's thread. Other threads use node_volumes_collect, which reads only.
 */
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_VOLUME_INDEX_H
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_VOLUME_INDEX_H

#include "api/storage.h"
#include "engine/index/cluster.h"
#include "plugins/node_volume_limits/volume_list.h"

/* A driver of a CSINode. */
struct node_driver {
    struct str name; /* borrowed from the CSINode */
    uint32_t entry;  /* its place in the CSINode */
    bool limited;
    int64_t max;      /* if limited */
    int64_t attached; /* if limited: its volumes on the node */
};

struct node_volumes {
    const struct csi_node *csi_node; /* NULL: none */
    VEC(struct node_driver) drivers; /* sorted by name */
    size_t n_limited;                /* of them; if 0, nothing below is collected */
    struct volume_list list;         /* of the pods; sorted */
    bool failed;                     /* a pod's volumes are unknown, for this reason */
    struct buf why;
};

/* Among many drivers. */
struct node_driver *node_volumes_search(const struct node_volumes *v, struct str name);
/* NULL if it is not installed. Most nodes have one driver. */
static inline struct node_driver *node_volumes_driver(const struct node_volumes *v, struct str name)
{
    if (v->drivers.n > 1)
        return node_volumes_search(v, name);
    return v->drivers.n && str_eq(v->drivers.v[0].name, name) ? &v->drivers.v[0] : NULL;
}

void node_volumes_init(struct node_volumes *v);
void node_volumes_release(struct node_volumes *v);
/*
 * Collects the volumes of the node's pods and of its VolumeAttachments. on_read, which may be NULL,
 * is told of every object that the result depends on.
 */
struct volume_index;
void node_volumes_collect(const struct volume_index *index, const struct berth_node *node,
                          volume_source_fn *on_read, void *ctx, struct node_volumes *ret_volumes);

extern const struct berth_shared_type volume_index_type;

/* The volumes of a node with an object, up to date. Valid until the engine's next event. */
const struct node_volumes *volume_index_node(struct volume_index *index, uint32_t slot);

#endif
