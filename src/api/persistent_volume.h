/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persistent_volume.h - PersistentVolume and PersistentVolumeClaim.
 *
 * Purpose:   persistent storage and the claims on it.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_PERSISTENT_VOLUME_H
#define BERTH_API_PERSISTENT_VOLUME_H

#include "api/core.h"
#include "api/node_affinity.h"
#include "api/quantity.h"
#include "api/volume.h"

/* Annotations used by the volume binder and the provisioners. */
#define ANN_SELECTED_NODE       "volume.kubernetes.io/selected-node"
#define ANN_BIND_COMPLETED      "pv.kubernetes.io/bind-completed"
#define ANN_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define ANN_STORAGE_PROVISIONER "volume.kubernetes.io/storage-provisioner"
#define ANN_BETA_STORAGE_CLASS  "volume.beta.kubernetes.io/storage-class"

#define ACCESS_MODE_READ_WRITE_ONCE_POD "ReadWriteOncePod"

struct volume_node_affinity {
    struct node_selector *required;
};

/*
 * At most one is set. Left out: hostPath, glusterfs, nfs, rbd, iscsi, cephfs, fc, flocker,
 * flexVolume, quobyte, photonPersistentDisk, scaleIO, local, storageos.
 */
struct persistent_volume_source {
    struct gce_persistent_disk_volume_source *gce_persistent_disk;
    struct aws_elastic_block_store_volume_source *aws_elastic_block_store;
    struct cinder_persistent_volume_source *cinder;
    struct azure_file_persistent_volume_source *azure_file;
    struct vsphere_virtual_disk_volume_source *vsphere_volume;
    struct azure_disk_volume_source *azure_disk;
    struct portworx_volume_source *portworx_volume;
    struct csi_persistent_volume_source *csi;
};

/* Left out: mountOptions. */
struct persistent_volume_spec {
    quantity_map capacity;
    struct persistent_volume_source source;
    LIST(struct str) access_modes;
    struct object_reference *claim_ref;
    struct str reclaim_policy; /* "": Retain */
    struct str storage_class_name;
    struct str volume_mode; /* "": Filesystem */
    struct volume_node_affinity *node_affinity;
    struct str *volume_attributes_class_name;
};

/* Left out: message, reason, lastPhaseTransitionTime. */
struct persistent_volume_status {
    struct str phase;
};

struct persistent_volume {
    struct object_meta metadata;
    struct persistent_volume_spec spec;
    struct persistent_volume_status status;
};

/* Left out: limits. */
struct volume_resource_requirements {
    quantity_map requests;
};

/* Left out: dataSource, dataSourceRef. */
struct persistent_volume_claim_spec {
    LIST(struct str) access_modes;
    struct label_selector *selector;
    struct volume_resource_requirements resources;
    struct str volume_name;
    struct str *storage_class_name; /* NULL: the default class; "": none */
    struct str volume_mode;         /* "": Filesystem */
    struct str *volume_attributes_class_name;
};

/*
 * Left out: accessModes, capacity, conditions, allocatedResources, allocatedResourceStatuses,
 * currentVolumeAttributesClassName, modifyVolumeStatus.
 */
struct persistent_volume_claim_status {
    struct str phase;
};

struct persistent_volume_claim {
    struct object_meta metadata;
    struct persistent_volume_claim_spec spec;
    struct persistent_volume_claim_status status;
};

struct persistent_volume_claim_template {
    struct object_meta metadata;
    struct persistent_volume_claim_spec spec;
};

extern const struct type volume_node_affinity_type;
extern const struct type persistent_volume_source_type;
extern const struct type persistent_volume_spec_type;
extern const struct type persistent_volume_status_type;
extern const struct type persistent_volume_type;
extern const struct type volume_resource_requirements_type;
extern const struct type persistent_volume_claim_spec_type;
extern const struct type persistent_volume_claim_status_type;
extern const struct type persistent_volume_claim_type;
extern const struct type persistent_volume_claim_template_type;

#endif
