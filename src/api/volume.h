/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume.h - volume sources.
 *
 * Purpose:   the sources that VolumeRestrictions compares, NodeVolumeLimits counts or CSI migration
 *            translates, with the fields that identify a volume.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_VOLUME_H
#define BERTH_API_VOLUME_H

#include "codec/desc.h"

/* Left out: fsType, partition. */
struct gce_persistent_disk_volume_source {
    struct str pd_name;
    bool read_only;
};

/* Left out: fsType, partition. */
struct aws_elastic_block_store_volume_source {
    struct str volume_id;
    bool read_only;
};

/*
 * Left out: targetPortal, lun, iscsiInterface, fsType, portals, chapAuthDiscovery,
 * chapAuthSession, secretRef, initiatorName.
 */
struct iscsi_volume_source {
    struct str iqn;
    bool read_only;
};

/* Left out: fsType, user, keyring, secretRef. */
struct rbd_volume_source {
    LIST(struct str) monitors;
    struct str image;
    struct str pool;
    bool read_only;
};

/* Left out: fsType, readOnly, secretRef. */
struct cinder_volume_source {
    struct str volume_id;
};

/* Left out: fsType, readOnly, secretRef. */
struct cinder_persistent_volume_source {
    struct str volume_id;
};

/* Left out: readOnly. */
struct azure_file_volume_source {
    struct str secret_name;
    struct str share_name;
};

/* Left out: readOnly. */
struct azure_file_persistent_volume_source {
    struct str secret_name;
    struct str share_name;
    struct str *secret_namespace; /* NULL: that of the claim */
};

/* Left out: cachingMode, fsType, readOnly. */
struct azure_disk_volume_source {
    struct str disk_name;
    struct str disk_uri;
    struct str *kind; /* NULL: the API server has not set its default yet */
};

/* Left out: fsType, storagePolicyName, storagePolicyID. */
struct vsphere_virtual_disk_volume_source {
    struct str volume_path;
};

/* Left out: fsType, readOnly. */
struct portworx_volume_source {
    struct str volume_id;
};

/* Left out: readOnly, fsType, volumeAttributes, nodePublishSecretRef. */
struct csi_volume_source {
    struct str driver;
};

/*
 * Left out: readOnly, fsType, volumeAttributes, controllerPublishSecretRef, nodeStageSecretRef,
 * nodePublishSecretRef, controllerExpandSecretRef, nodeExpandSecretRef.
 */
struct csi_persistent_volume_source {
    struct str driver;
    struct str volume_handle;
};

/* Left out: pullPolicy. */
struct image_volume_source {
    struct str reference;
};

/* Left out: readOnly. */
struct persistent_volume_claim_volume_source {
    struct str claim_name;
};

extern const struct type gce_persistent_disk_volume_source_type;
extern const struct type aws_elastic_block_store_volume_source_type;
extern const struct type iscsi_volume_source_type;
extern const struct type rbd_volume_source_type;
extern const struct type cinder_volume_source_type;
extern const struct type cinder_persistent_volume_source_type;
extern const struct type azure_file_volume_source_type;
extern const struct type azure_file_persistent_volume_source_type;
extern const struct type azure_disk_volume_source_type;
extern const struct type vsphere_virtual_disk_volume_source_type;
extern const struct type portworx_volume_source_type;
extern const struct type csi_volume_source_type;
extern const struct type csi_persistent_volume_source_type;
extern const struct type image_volume_source_type;
extern const struct type persistent_volume_claim_volume_source_type;

#endif
