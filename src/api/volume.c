/* SPDX-License-Identifier: Apache-2.0 */
#include "api/volume.h"

static const struct field gce_persistent_disk_volume_source_fields[] = {
    F_ALWAYS(struct gce_persistent_disk_volume_source, pd_name, "pdName", 1, STR),
    F_ONE(struct gce_persistent_disk_volume_source, read_only, "readOnly", 4, BOOL),
};
const struct type gce_persistent_disk_volume_source_type =
    TYPE("k8s.io.api.core.v1.GCEPersistentDiskVolumeSource",
         struct gce_persistent_disk_volume_source, gce_persistent_disk_volume_source_fields);

static const struct field aws_elastic_block_store_volume_source_fields[] = {
    F_ALWAYS(struct aws_elastic_block_store_volume_source, volume_id, "volumeID", 1, STR),
    F_ONE(struct aws_elastic_block_store_volume_source, read_only, "readOnly", 4, BOOL),
};
const struct type aws_elastic_block_store_volume_source_type = TYPE(
    "k8s.io.api.core.v1.AWSElasticBlockStoreVolumeSource",
    struct aws_elastic_block_store_volume_source, aws_elastic_block_store_volume_source_fields);

static const struct field iscsi_volume_source_fields[] = {
    F_ALWAYS(struct iscsi_volume_source, iqn, "iqn", 2, STR),
    F_ONE(struct iscsi_volume_source, read_only, "readOnly", 6, BOOL),
};
const struct type iscsi_volume_source_type = TYPE(
    "k8s.io.api.core.v1.ISCSIVolumeSource", struct iscsi_volume_source, iscsi_volume_source_fields);

static const struct field rbd_volume_source_fields[] = {
    F_LIST(struct rbd_volume_source, monitors, "monitors", 1, STR),
    F_ALWAYS(struct rbd_volume_source, image, "image", 2, STR),
    F_ONE(struct rbd_volume_source, pool, "pool", 4, STR),
    F_ONE(struct rbd_volume_source, read_only, "readOnly", 8, BOOL),
};
const struct type rbd_volume_source_type =
    TYPE("k8s.io.api.core.v1.RBDVolumeSource", struct rbd_volume_source, rbd_volume_source_fields);

static const struct field cinder_volume_source_fields[] = {
    F_ALWAYS(struct cinder_volume_source, volume_id, "volumeID", 1, STR),
};
const struct type cinder_volume_source_type =
    TYPE("k8s.io.api.core.v1.CinderVolumeSource", struct cinder_volume_source,
         cinder_volume_source_fields);

static const struct field cinder_persistent_volume_source_fields[] = {
    F_ALWAYS(struct cinder_persistent_volume_source, volume_id, "volumeID", 1, STR),
};
const struct type cinder_persistent_volume_source_type =
    TYPE("k8s.io.api.core.v1.CinderPersistentVolumeSource", struct cinder_persistent_volume_source,
         cinder_persistent_volume_source_fields);

static const struct field azure_file_volume_source_fields[] = {
    F_ALWAYS(struct azure_file_volume_source, secret_name, "secretName", 1, STR),
    F_ALWAYS(struct azure_file_volume_source, share_name, "shareName", 2, STR),
};
const struct type azure_file_volume_source_type =
    TYPE("k8s.io.api.core.v1.AzureFileVolumeSource", struct azure_file_volume_source,
         azure_file_volume_source_fields);

static const struct field azure_file_persistent_volume_source_fields[] = {
    F_ALWAYS(struct azure_file_persistent_volume_source, secret_name, "secretName", 1, STR),
    F_ALWAYS(struct azure_file_persistent_volume_source, share_name, "shareName", 2, STR),
    F_PTR(struct azure_file_persistent_volume_source, secret_namespace, "secretNamespace", 4, STR),
};
const struct type azure_file_persistent_volume_source_type =
    TYPE("k8s.io.api.core.v1.AzureFilePersistentVolumeSource",
         struct azure_file_persistent_volume_source, azure_file_persistent_volume_source_fields);

static const struct field azure_disk_volume_source_fields[] = {
    F_ALWAYS(struct azure_disk_volume_source, disk_name, "diskName", 1, STR),
    F_ALWAYS(struct azure_disk_volume_source, disk_uri, "diskURI", 2, STR),
    F_PTR(struct azure_disk_volume_source, kind, "kind", 6, STR),
};
const struct type azure_disk_volume_source_type =
    TYPE("k8s.io.api.core.v1.AzureDiskVolumeSource", struct azure_disk_volume_source,
         azure_disk_volume_source_fields);

static const struct field vsphere_virtual_disk_volume_source_fields[] = {
    F_ALWAYS(struct vsphere_virtual_disk_volume_source, volume_path, "volumePath", 1, STR),
};
const struct type vsphere_virtual_disk_volume_source_type =
    TYPE("k8s.io.api.core.v1.VsphereVirtualDiskVolumeSource",
         struct vsphere_virtual_disk_volume_source, vsphere_virtual_disk_volume_source_fields);

static const struct field portworx_volume_source_fields[] = {
    F_ALWAYS(struct portworx_volume_source, volume_id, "volumeID", 1, STR),
};
const struct type portworx_volume_source_type =
    TYPE("k8s.io.api.core.v1.PortworxVolumeSource", struct portworx_volume_source,
         portworx_volume_source_fields);

static const struct field csi_volume_source_fields[] = {
    F_ALWAYS(struct csi_volume_source, driver, "driver", 1, STR),
};
const struct type csi_volume_source_type =
    TYPE("k8s.io.api.core.v1.CSIVolumeSource", struct csi_volume_source, csi_volume_source_fields);

static const struct field csi_persistent_volume_source_fields[] = {
    F_ALWAYS(struct csi_persistent_volume_source, driver, "driver", 1, STR),
    F_ALWAYS(struct csi_persistent_volume_source, volume_handle, "volumeHandle", 2, STR),
};
const struct type csi_persistent_volume_source_type =
    TYPE("k8s.io.api.core.v1.CSIPersistentVolumeSource", struct csi_persistent_volume_source,
         csi_persistent_volume_source_fields);

static const struct field image_volume_source_fields[] = {
    F_ONE(struct image_volume_source, reference, "reference", 1, STR),
};
const struct type image_volume_source_type = TYPE(
    "k8s.io.api.core.v1.ImageVolumeSource", struct image_volume_source, image_volume_source_fields);

static const struct field persistent_volume_claim_volume_source_fields[] = {
    F_ALWAYS(struct persistent_volume_claim_volume_source, claim_name, "claimName", 1, STR),
};
const struct type persistent_volume_claim_volume_source_type = TYPE(
    "k8s.io.api.core.v1.PersistentVolumeClaimVolumeSource",
    struct persistent_volume_claim_volume_source, persistent_volume_claim_volume_source_fields);
