/* SPDX-License-Identifier: Apache-2.0 */
#include "api/storage.h"

static const struct field storage_class_fields[] = {
    F_MSG(struct storage_class, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS(struct storage_class, provisioner, "provisioner", 2, STR),
    F_ONE(struct storage_class, reclaim_policy, "reclaimPolicy", 4, STR),
    F_ONE(struct storage_class, volume_binding_mode, "volumeBindingMode", 7, STR),
    F_LIST_MSG(struct storage_class, allowed_topologies, "allowedTopologies", 8,
               struct topology_selector_term, &topology_selector_term_type),
};
const struct type storage_class_type =
    TYPE("k8s.io.api.storage.v1.StorageClass", struct storage_class, storage_class_fields);

static const struct field volume_node_resources_fields[] = {
    F_PTR(struct volume_node_resources, count, "count", 1, INT32),
};
const struct type volume_node_resources_type =
    TYPE("k8s.io.api.storage.v1.VolumeNodeResources", struct volume_node_resources,
         volume_node_resources_fields);

static const struct field csi_node_driver_fields[] = {
    F_ALWAYS(struct csi_node_driver, name, "name", 1, STR),
    F_LIST(struct csi_node_driver, topology_keys, "topologyKeys", 3, STR),
    F_PTR_MSG(struct csi_node_driver, allocatable, "allocatable", 4, struct volume_node_resources,
              &volume_node_resources_type),
};
const struct type csi_node_driver_type =
    TYPE("k8s.io.api.storage.v1.CSINodeDriver", struct csi_node_driver, csi_node_driver_fields);

static const struct field csi_node_spec_fields[] = {
    F_LIST_MSG(struct csi_node_spec, drivers, "drivers", 1, struct csi_node_driver,
               &csi_node_driver_type),
};
const struct type csi_node_spec_type =
    TYPE("k8s.io.api.storage.v1.CSINodeSpec", struct csi_node_spec, csi_node_spec_fields);

static const struct field csi_node_fields[] = {
    F_MSG(struct csi_node, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct csi_node, spec, "spec", 2, struct csi_node_spec, &csi_node_spec_type),
};
const struct type csi_node_type =
    TYPE("k8s.io.api.storage.v1.CSINode", struct csi_node, csi_node_fields);

static const struct field csi_driver_spec_fields[] = {
    F_PTR(struct csi_driver_spec, attach_required, "attachRequired", 1, BOOL),
    F_PTR(struct csi_driver_spec, storage_capacity, "storageCapacity", 4, BOOL),
    F_PTR(struct csi_driver_spec, prevent_pod_scheduling_if_missing,
          "preventPodSchedulingIfMissing", 11, BOOL),
};
const struct type csi_driver_spec_type =
    TYPE("k8s.io.api.storage.v1.CSIDriverSpec", struct csi_driver_spec, csi_driver_spec_fields);

static const struct field csi_driver_fields[] = {
    F_MSG(struct csi_driver, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct csi_driver, spec, "spec", 2, struct csi_driver_spec, &csi_driver_spec_type),
};
const struct type csi_driver_type =
    TYPE("k8s.io.api.storage.v1.CSIDriver", struct csi_driver, csi_driver_fields);

static const struct field csi_storage_capacity_fields[] = {
    F_MSG(struct csi_storage_capacity, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_PTR_MSG(struct csi_storage_capacity, node_topology, "nodeTopology", 2, struct label_selector,
              &label_selector_type),
    F_ALWAYS(struct csi_storage_capacity, storage_class_name, "storageClassName", 3, STR),
    F_PTR_CUSTOM(struct csi_storage_capacity, capacity, "capacity", 4, struct quantity,
                 &quantity_custom),
    F_PTR_CUSTOM(struct csi_storage_capacity, maximum_volume_size, "maximumVolumeSize", 5,
                 struct quantity, &quantity_custom),
};
const struct type csi_storage_capacity_type =
    TYPE("k8s.io.api.storage.v1.CSIStorageCapacity", struct csi_storage_capacity,
         csi_storage_capacity_fields);

static const struct field volume_attachment_source_fields[] = {
    F_ONE(struct volume_attachment_source, persistent_volume_name, "persistentVolumeName", 1, STR),
};
const struct type volume_attachment_source_type =
    TYPE("k8s.io.api.storage.v1.VolumeAttachmentSource", struct volume_attachment_source,
         volume_attachment_source_fields);

static const struct field volume_attachment_spec_fields[] = {
    F_ALWAYS(struct volume_attachment_spec, attacher, "attacher", 1, STR),
    F_ALWAYS_MSG(struct volume_attachment_spec, source, "source", 2,
                 struct volume_attachment_source, &volume_attachment_source_type),
    F_ALWAYS(struct volume_attachment_spec, node_name, "nodeName", 3, STR),
};
const struct type volume_attachment_spec_type =
    TYPE("k8s.io.api.storage.v1.VolumeAttachmentSpec", struct volume_attachment_spec,
         volume_attachment_spec_fields);

static const struct field volume_attachment_fields[] = {
    F_MSG(struct volume_attachment, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct volume_attachment, spec, "spec", 2, struct volume_attachment_spec,
                 &volume_attachment_spec_type),
};
const struct type volume_attachment_type = TYPE("k8s.io.api.storage.v1.VolumeAttachment",
                                                struct volume_attachment, volume_attachment_fields);
