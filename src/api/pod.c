/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod.h"

static const struct field ephemeral_volume_source_fields[] = {
    F_PTR_MSG(struct ephemeral_volume_source, volume_claim_template, "volumeClaimTemplate", 1,
              struct persistent_volume_claim_template, &persistent_volume_claim_template_type),
};
const struct type ephemeral_volume_source_type =
    TYPE("k8s.io.api.core.v1.EphemeralVolumeSource", struct ephemeral_volume_source,
         ephemeral_volume_source_fields);

static const struct field volume_source_fields[] = {
    F_PTR_MSG(struct volume_source, gce_persistent_disk, "gcePersistentDisk", 3,
              struct gce_persistent_disk_volume_source, &gce_persistent_disk_volume_source_type),
    F_PTR_MSG(struct volume_source, aws_elastic_block_store, "awsElasticBlockStore", 4,
              struct aws_elastic_block_store_volume_source,
              &aws_elastic_block_store_volume_source_type),
    F_PTR_MSG(struct volume_source, iscsi, "iscsi", 8, struct iscsi_volume_source,
              &iscsi_volume_source_type),
    F_PTR_MSG(struct volume_source, persistent_volume_claim, "persistentVolumeClaim", 10,
              struct persistent_volume_claim_volume_source,
              &persistent_volume_claim_volume_source_type),
    F_PTR_MSG(struct volume_source, rbd, "rbd", 11, struct rbd_volume_source,
              &rbd_volume_source_type),
    F_PTR_MSG(struct volume_source, cinder, "cinder", 13, struct cinder_volume_source,
              &cinder_volume_source_type),
    F_PTR_MSG(struct volume_source, azure_file, "azureFile", 18, struct azure_file_volume_source,
              &azure_file_volume_source_type),
    F_PTR_MSG(struct volume_source, vsphere_volume, "vsphereVolume", 20,
              struct vsphere_virtual_disk_volume_source, &vsphere_virtual_disk_volume_source_type),
    F_PTR_MSG(struct volume_source, azure_disk, "azureDisk", 22, struct azure_disk_volume_source,
              &azure_disk_volume_source_type),
    F_PTR_MSG(struct volume_source, portworx_volume, "portworxVolume", 24,
              struct portworx_volume_source, &portworx_volume_source_type),
    F_PTR_MSG(struct volume_source, csi, "csi", 28, struct csi_volume_source,
              &csi_volume_source_type),
    F_PTR_MSG(struct volume_source, ephemeral, "ephemeral", 29, struct ephemeral_volume_source,
              &ephemeral_volume_source_type),
    F_PTR_MSG(struct volume_source, image, "image", 30, struct image_volume_source,
              &image_volume_source_type),
};
const struct type volume_source_type =
    TYPE("k8s.io.api.core.v1.VolumeSource", struct volume_source, volume_source_fields);

static const struct field volume_fields[] = {
    F_ALWAYS(struct volume, name, "name", 1, STR),
    F_INLINE_MSG(struct volume, source, "volumeSource", 2, struct volume_source,
                 &volume_source_type),
};
const struct type volume_type = TYPE("k8s.io.api.core.v1.Volume", struct volume, volume_fields);

static const struct field pod_scheduling_gate_fields[] = {
    F_ALWAYS(struct pod_scheduling_gate, name, "name", 1, STR),
};
const struct type pod_scheduling_gate_type = TYPE(
    "k8s.io.api.core.v1.PodSchedulingGate", struct pod_scheduling_gate, pod_scheduling_gate_fields);

static const struct field pod_resource_claim_fields[] = {
    F_ALWAYS(struct pod_resource_claim, name, "name", 1, STR),
    F_ONE(struct pod_resource_claim, resource_claim_name, "resourceClaimName", 3, STR),
    F_ONE(struct pod_resource_claim, resource_claim_template_name, "resourceClaimTemplateName", 4,
          STR),
};
const struct type pod_resource_claim_type = TYPE(
    "k8s.io.api.core.v1.PodResourceClaim", struct pod_resource_claim, pod_resource_claim_fields);

static const struct field pod_scheduling_group_fields[] = {
    F_ONE(struct pod_scheduling_group, pod_group_name, "podGroupName", 1, STR),
};
const struct type pod_scheduling_group_type =
    TYPE("k8s.io.api.core.v1.PodSchedulingGroup", struct pod_scheduling_group,
         pod_scheduling_group_fields);

static const struct field pod_spec_fields[] = {
    F_LIST_MSG(struct pod_spec, volumes, "volumes", 1, struct volume, &volume_type),
    F_LIST_MSG(struct pod_spec, init_containers, "initContainers", 20, struct container,
               &container_type),
    F_LIST_MSG(struct pod_spec, containers, "containers", 2, struct container, &container_type),
    F_STR_MAP(struct pod_spec, node_selector, "nodeSelector", 7),
    F_ONE(struct pod_spec, node_name, "nodeName", 10, STR),
    F_ONE(struct pod_spec, host_network, "hostNetwork", 11, BOOL),
    F_PTR_MSG(struct pod_spec, affinity, "affinity", 18, struct affinity, &affinity_type),
    F_ONE(struct pod_spec, scheduler_name, "schedulerName", 19, STR),
    F_LIST_MSG(struct pod_spec, tolerations, "tolerations", 22, struct toleration,
               &toleration_type),
    F_ONE(struct pod_spec, priority_class_name, "priorityClassName", 24, STR),
    F_PTR(struct pod_spec, priority, "priority", 25, INT32),
    F_ONE(struct pod_spec, runtime_class_name, "runtimeClassName", 29, STR),
    F_ONE(struct pod_spec, preemption_policy, "preemptionPolicy", 31, STR),
    F_MAP(struct pod_spec, overhead, "overhead", 32, struct quantity_entry, &quantity_entry_type),
    F_LIST_MSG(struct pod_spec, topology_spread_constraints, "topologySpreadConstraints", 33,
               struct topology_spread_constraint, &topology_spread_constraint_type),
    F_PTR(struct pod_spec, host_users, "hostUsers", 37, BOOL),
    F_LIST_MSG(struct pod_spec, scheduling_gates, "schedulingGates", 38, struct pod_scheduling_gate,
               &pod_scheduling_gate_type),
    F_LIST_MSG(struct pod_spec, resource_claims, "resourceClaims", 39, struct pod_resource_claim,
               &pod_resource_claim_type),
    F_PTR_MSG(struct pod_spec, resources, "resources", 40, struct resource_requirements,
              &resource_requirements_type),
    F_PTR_MSG(struct pod_spec, scheduling_group, "schedulingGroup", 43, struct pod_scheduling_group,
              &pod_scheduling_group_type),
};
const struct type pod_spec_type =
    TYPE("k8s.io.api.core.v1.PodSpec", struct pod_spec, pod_spec_fields);

static const struct field pod_condition_fields[] = {
    F_ALWAYS(struct pod_condition, type, "type", 1, STR),
    F_ONE(struct pod_condition, observed_generation, "observedGeneration", 7, INT64),
    F_ALWAYS(struct pod_condition, status, "status", 2, STR),
    F_CUSTOM(struct pod_condition, last_transition_time, "lastTransitionTime", 4, struct timestamp,
             &time_custom),
    F_ONE(struct pod_condition, reason, "reason", 5, STR),
    F_ONE(struct pod_condition, message, "message", 6, STR),
};
const struct type pod_condition_type =
    TYPE("k8s.io.api.core.v1.PodCondition", struct pod_condition, pod_condition_fields);

static const struct field pod_resource_claim_status_fields[] = {
    F_ALWAYS(struct pod_resource_claim_status, name, "name", 1, STR),
    F_ONE(struct pod_resource_claim_status, resource_claim_name, "resourceClaimName", 2, STR),
};
const struct type pod_resource_claim_status_type =
    TYPE("k8s.io.api.core.v1.PodResourceClaimStatus", struct pod_resource_claim_status,
         pod_resource_claim_status_fields);

static const struct field container_extended_resource_request_fields[] = {
    F_ALWAYS(struct container_extended_resource_request, container_name, "containerName", 1, STR),
    F_ALWAYS(struct container_extended_resource_request, resource_name, "resourceName", 2, STR),
    F_ALWAYS(struct container_extended_resource_request, request_name, "requestName", 3, STR),
};
const struct type container_extended_resource_request_type =
    TYPE("k8s.io.api.core.v1.ContainerExtendedResourceRequest",
         struct container_extended_resource_request, container_extended_resource_request_fields);

static const struct field pod_extended_resource_claim_status_fields[] = {
    F_LIST_MSG(struct pod_extended_resource_claim_status, request_mappings, "requestMappings", 1,
               struct container_extended_resource_request,
               &container_extended_resource_request_type),
    F_ALWAYS(struct pod_extended_resource_claim_status, resource_claim_name, "resourceClaimName", 2,
             STR),
};
const struct type pod_extended_resource_claim_status_type =
    TYPE("k8s.io.api.core.v1.PodExtendedResourceClaimStatus",
         struct pod_extended_resource_claim_status, pod_extended_resource_claim_status_fields);

static const struct field node_allocatable_resource_claim_status_fields[] = {
    F_ALWAYS(struct node_allocatable_resource_claim_status, resource_claim_name,
             "resourceClaimName", 1, STR),
    F_LIST(struct node_allocatable_resource_claim_status, containers, "containers", 2, STR),
    F_MAP(struct node_allocatable_resource_claim_status, resources, "resources", 3,
          struct quantity_entry, &quantity_entry_type),
};
const struct type node_allocatable_resource_claim_status_type = TYPE(
    "k8s.io.api.core.v1.NodeAllocatableResourceClaimStatus",
    struct node_allocatable_resource_claim_status, node_allocatable_resource_claim_status_fields);

static const struct field pod_status_fields[] = {
    F_ONE(struct pod_status, observed_generation, "observedGeneration", 17, INT64),
    F_ONE(struct pod_status, phase, "phase", 1, STR),
    F_LIST_MSG(struct pod_status, conditions, "conditions", 2, struct pod_condition,
               &pod_condition_type),
    F_ONE(struct pod_status, nominated_node_name, "nominatedNodeName", 11, STR),
    F_CUSTOM(struct pod_status, start_time, "startTime", 7, struct timestamp, &time_custom),
    F_LIST_MSG(struct pod_status, init_container_statuses, "initContainerStatuses", 10,
               struct container_status, &container_status_type),
    F_LIST_MSG(struct pod_status, container_statuses, "containerStatuses", 8,
               struct container_status, &container_status_type),
    F_ONE(struct pod_status, qos_class, "qosClass", 9, STR),
    F_ONE(struct pod_status, resize, "resize", 14, STR),
    F_LIST_MSG(struct pod_status, resource_claim_statuses, "resourceClaimStatuses", 15,
               struct pod_resource_claim_status, &pod_resource_claim_status_type),
    F_PTR_MSG(struct pod_status, extended_resource_claim_status, "extendedResourceClaimStatus", 18,
              struct pod_extended_resource_claim_status, &pod_extended_resource_claim_status_type),
    F_MAP(struct pod_status, allocated_resources, "allocatedResources", 19, struct quantity_entry,
          &quantity_entry_type),
    F_PTR_MSG(struct pod_status, resources, "resources", 20, struct resource_requirements,
              &resource_requirements_type),
    F_LIST_MSG(struct pod_status, node_allocatable_resource_claim_statuses,
               "nodeAllocatableResourceClaimStatuses", 21,
               struct node_allocatable_resource_claim_status,
               &node_allocatable_resource_claim_status_type),
};
const struct type pod_status_type =
    TYPE("k8s.io.api.core.v1.PodStatus", struct pod_status, pod_status_fields);

static const struct field pod_fields[] = {
    F_MSG(struct pod, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct pod, spec, "spec", 2, struct pod_spec, &pod_spec_type),
    F_MSG(struct pod, status, "status", 3, struct pod_status, &pod_status_type),
};
const struct type pod_type = TYPE("k8s.io.api.core.v1.Pod", struct pod, pod_fields);
