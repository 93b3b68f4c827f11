/* SPDX-License-Identifier: Apache-2.0 */
#include "api/persistent_volume.h"

static const struct field volume_node_affinity_fields[] = {
    F_PTR_MSG(struct volume_node_affinity, required, "required", 1, struct node_selector,
              &node_selector_type),
};
const struct type volume_node_affinity_type =
    TYPE("k8s.io.api.core.v1.VolumeNodeAffinity", struct volume_node_affinity,
         volume_node_affinity_fields);

static const struct field persistent_volume_source_fields[] = {
    F_PTR_MSG(struct persistent_volume_source, gce_persistent_disk, "gcePersistentDisk", 1,
              struct gce_persistent_disk_volume_source, &gce_persistent_disk_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, aws_elastic_block_store, "awsElasticBlockStore", 2,
              struct aws_elastic_block_store_volume_source,
              &aws_elastic_block_store_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, cinder, "cinder", 8,
              struct cinder_persistent_volume_source, &cinder_persistent_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, azure_file, "azureFile", 13,
              struct azure_file_persistent_volume_source,
              &azure_file_persistent_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, vsphere_volume, "vsphereVolume", 14,
              struct vsphere_virtual_disk_volume_source, &vsphere_virtual_disk_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, azure_disk, "azureDisk", 16,
              struct azure_disk_volume_source, &azure_disk_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, portworx_volume, "portworxVolume", 18,
              struct portworx_volume_source, &portworx_volume_source_type),
    F_PTR_MSG(struct persistent_volume_source, csi, "csi", 22, struct csi_persistent_volume_source,
              &csi_persistent_volume_source_type),
};
const struct type persistent_volume_source_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeSource", struct persistent_volume_source,
         persistent_volume_source_fields);

static const struct field persistent_volume_spec_fields[] = {
    F_MAP(struct persistent_volume_spec, capacity, "capacity", 1, struct quantity_entry,
          &quantity_entry_type),
    F_INLINE_MSG(struct persistent_volume_spec, source, "persistentVolumeSource", 2,
                 struct persistent_volume_source, &persistent_volume_source_type),
    F_LIST(struct persistent_volume_spec, access_modes, "accessModes", 3, STR),
    F_PTR_MSG(struct persistent_volume_spec, claim_ref, "claimRef", 4, struct object_reference,
              &object_reference_type),
    F_ONE(struct persistent_volume_spec, reclaim_policy, "persistentVolumeReclaimPolicy", 5, STR),
    F_ONE(struct persistent_volume_spec, storage_class_name, "storageClassName", 6, STR),
    F_ONE(struct persistent_volume_spec, volume_mode, "volumeMode", 8, STR),
    F_PTR_MSG(struct persistent_volume_spec, node_affinity, "nodeAffinity", 9,
              struct volume_node_affinity, &volume_node_affinity_type),
    F_PTR(struct persistent_volume_spec, volume_attributes_class_name, "volumeAttributesClassName",
          10, STR),
};
const struct type persistent_volume_spec_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeSpec", struct persistent_volume_spec,
         persistent_volume_spec_fields);

static const struct field persistent_volume_status_fields[] = {
    F_ONE(struct persistent_volume_status, phase, "phase", 1, STR),
};
const struct type persistent_volume_status_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeStatus", struct persistent_volume_status,
         persistent_volume_status_fields);

static const struct field persistent_volume_fields[] = {
    F_MSG(struct persistent_volume, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct persistent_volume, spec, "spec", 2, struct persistent_volume_spec,
          &persistent_volume_spec_type),
    F_MSG(struct persistent_volume, status, "status", 3, struct persistent_volume_status,
          &persistent_volume_status_type),
};
const struct type persistent_volume_type =
    TYPE("k8s.io.api.core.v1.PersistentVolume", struct persistent_volume, persistent_volume_fields);

static const struct field volume_resource_requirements_fields[] = {
    F_MAP(struct volume_resource_requirements, requests, "requests", 2, struct quantity_entry,
          &quantity_entry_type),
};
const struct type volume_resource_requirements_type =
    TYPE("k8s.io.api.core.v1.VolumeResourceRequirements", struct volume_resource_requirements,
         volume_resource_requirements_fields);

static const struct field persistent_volume_claim_spec_fields[] = {
    F_LIST(struct persistent_volume_claim_spec, access_modes, "accessModes", 1, STR),
    F_PTR_MSG(struct persistent_volume_claim_spec, selector, "selector", 4, struct label_selector,
              &label_selector_type),
    F_MSG(struct persistent_volume_claim_spec, resources, "resources", 2,
          struct volume_resource_requirements, &volume_resource_requirements_type),
    F_ONE(struct persistent_volume_claim_spec, volume_name, "volumeName", 3, STR),
    F_PTR(struct persistent_volume_claim_spec, storage_class_name, "storageClassName", 5, STR),
    F_ONE(struct persistent_volume_claim_spec, volume_mode, "volumeMode", 6, STR),
    F_PTR(struct persistent_volume_claim_spec, volume_attributes_class_name,
          "volumeAttributesClassName", 9, STR),
};
const struct type persistent_volume_claim_spec_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeClaimSpec", struct persistent_volume_claim_spec,
         persistent_volume_claim_spec_fields);

static const struct field persistent_volume_claim_status_fields[] = {
    F_ONE(struct persistent_volume_claim_status, phase, "phase", 1, STR),
};
const struct type persistent_volume_claim_status_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeClaimStatus", struct persistent_volume_claim_status,
         persistent_volume_claim_status_fields);

static const struct field persistent_volume_claim_fields[] = {
    F_MSG(struct persistent_volume_claim, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_MSG(struct persistent_volume_claim, spec, "spec", 2, struct persistent_volume_claim_spec,
          &persistent_volume_claim_spec_type),
    F_MSG(struct persistent_volume_claim, status, "status", 3,
          struct persistent_volume_claim_status, &persistent_volume_claim_status_type),
};
const struct type persistent_volume_claim_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeClaim", struct persistent_volume_claim,
         persistent_volume_claim_fields);

static const struct field persistent_volume_claim_template_fields[] = {
    F_MSG(struct persistent_volume_claim_template, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_ALWAYS_MSG(struct persistent_volume_claim_template, spec, "spec", 2,
                 struct persistent_volume_claim_spec, &persistent_volume_claim_spec_type),
};
const struct type persistent_volume_claim_template_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeClaimTemplate",
         struct persistent_volume_claim_template, persistent_volume_claim_template_fields);
