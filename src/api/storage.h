/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.h - the kinds of storage.k8s.io/v1.
 *
 * Purpose:   storage classes, CSI drivers and their capabilities per node.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_STORAGE_H
#define BERTH_API_STORAGE_H

#include "api/persistent_volume.h"

#define VOLUME_BINDING_IMMEDIATE               "Immediate"
#define VOLUME_BINDING_WAIT_FOR_FIRST_CONSUMER "WaitForFirstConsumer"
#define NO_PROVISIONER                         "kubernetes.io/no-provisioner"
/* On a CSINode: the in-tree volume plugins that CSI drivers serve there, separated by commas. */
#define ANN_MIGRATED_PLUGINS                   "storage.alpha.kubernetes.io/migrated-plugins"

/* Left out: parameters, mountOptions, allowVolumeExpansion. */
struct storage_class {
    struct object_meta metadata;
    struct str provisioner;
    struct str reclaim_policy;      /* of its volumes; "": Delete */
    struct str volume_binding_mode; /* "": Immediate */
    LIST(struct topology_selector_term) allowed_topologies;
};

struct volume_node_resources {
    int32_t *count;
};

/* Left out: nodeID. */
struct csi_node_driver {
    struct str name;
    LIST(struct str) topology_keys; /* labels of the node that its volumes depend on */
    struct volume_node_resources *allocatable;
};

struct csi_node_spec {
    LIST(struct csi_node_driver) drivers;
};

struct csi_node {
    struct object_meta metadata;
    struct csi_node_spec spec;
};

/*
 * Left out: podInfoOnMount, volumeLifecycleModes, fsGroupPolicy, tokenRequests,
 * requiresRepublish, seLinuxMount, nodeAllocatableUpdatePeriodSeconds,
 * serviceAccountTokenInSecrets.
 */
struct csi_driver_spec {
    bool *attach_required;  /* absent is true */
    bool *storage_capacity; /* absent is false */
    bool *prevent_pod_scheduling_if_missing;
};

struct csi_driver {
    struct object_meta metadata;
    struct csi_driver_spec spec;
};

struct csi_storage_capacity {
    struct object_meta metadata;
    struct label_selector *node_topology; /* NULL: reachable from no node */
    struct str storage_class_name;
    struct quantity *capacity;
    struct quantity *maximum_volume_size;
};

/* Left out: inlineVolumeSpec. */
struct volume_attachment_source {
    struct str persistent_volume_name;
};

struct volume_attachment_spec {
    struct str attacher;
    struct volume_attachment_source source;
    struct str node_name;
};

/* Left out: status. */
struct volume_attachment {
    struct object_meta metadata;
    struct volume_attachment_spec spec;
};

extern const struct type storage_class_type;
extern const struct type volume_node_resources_type;
extern const struct type csi_node_driver_type;
extern const struct type csi_node_spec_type;
extern const struct type csi_node_type;
extern const struct type csi_driver_spec_type;
extern const struct type csi_driver_type;
extern const struct type csi_storage_capacity_type;
extern const struct type volume_attachment_source_type;
extern const struct type volume_attachment_spec_type;
extern const struct type volume_attachment_type;

#endif
