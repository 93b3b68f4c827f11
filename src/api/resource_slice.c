/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resource_slice.h"

static const struct field counter_fields[] = {
    F_ALWAYS_CUSTOM(struct counter, value, "value", 1, struct quantity, &quantity_custom),
};
const struct type counter_type =
    TYPE("k8s.io.api.resource.v1.Counter", struct counter, counter_fields);

static const struct field counter_entry_fields[] = {
    F_ONE(struct counter_entry, key, "key", 1, STR),
    F_MSG(struct counter_entry, value, "value", 2, struct counter, &counter_type),
};
const struct type counter_entry_type =
    TYPE("map<string, k8s.io.api.resource.v1.Counter>", struct counter_entry, counter_entry_fields);

static const struct field counter_set_fields[] = {
    F_ALWAYS(struct counter_set, name, "name", 1, STR),
    F_MAP(struct counter_set, counters, "counters", 2, struct counter_entry, &counter_entry_type),
};
const struct type counter_set_type =
    TYPE("k8s.io.api.resource.v1.CounterSet", struct counter_set, counter_set_fields);

static const struct field device_attribute_fields[] = {
    F_PTR(struct device_attribute, int_value, "int", 2, INT64),
    F_PTR(struct device_attribute, bool_value, "bool", 3, BOOL),
    F_PTR(struct device_attribute, string_value, "string", 4, STR),
    F_PTR(struct device_attribute, version_value, "version", 5, STR),
    F_LIST(struct device_attribute, int_values, "ints", 6, INT64),
    F_LIST(struct device_attribute, bool_values, "bools", 7, BOOL),
    F_LIST(struct device_attribute, string_values, "strings", 8, STR),
    F_LIST(struct device_attribute, version_values, "versions", 9, STR),
};
const struct type device_attribute_type = TYPE("k8s.io.api.resource.v1.DeviceAttribute",
                                               struct device_attribute, device_attribute_fields);

static const struct field device_attribute_entry_fields[] = {
    F_ONE(struct device_attribute_entry, key, "key", 1, STR),
    F_MSG(struct device_attribute_entry, value, "value", 2, struct device_attribute,
          &device_attribute_type),
};
const struct type device_attribute_entry_type =
    TYPE("map<string, k8s.io.api.resource.v1.DeviceAttribute>", struct device_attribute_entry,
         device_attribute_entry_fields);

static const struct field capacity_request_policy_range_fields[] = {
    F_PTR_CUSTOM(struct capacity_request_policy_range, min, "min", 1, struct quantity,
                 &quantity_custom),
    F_PTR_CUSTOM(struct capacity_request_policy_range, max, "max", 2, struct quantity,
                 &quantity_custom),
    F_PTR_CUSTOM(struct capacity_request_policy_range, step, "step", 3, struct quantity,
                 &quantity_custom),
};
const struct type capacity_request_policy_range_type =
    TYPE("k8s.io.api.resource.v1.CapacityRequestPolicyRange", struct capacity_request_policy_range,
         capacity_request_policy_range_fields);

static const struct field capacity_request_policy_fields[] = {
    F_PTR_CUSTOM(struct capacity_request_policy, default_value, "default", 1, struct quantity,
                 &quantity_custom),
    F_LIST_CUSTOM(struct capacity_request_policy, valid_values, "validValues", 3, struct quantity,
                  &quantity_custom),
    F_PTR_MSG(struct capacity_request_policy, valid_range, "validRange", 4,
              struct capacity_request_policy_range, &capacity_request_policy_range_type),
};
const struct type capacity_request_policy_type =
    TYPE("k8s.io.api.resource.v1.CapacityRequestPolicy", struct capacity_request_policy,
         capacity_request_policy_fields);

static const struct field device_capacity_fields[] = {
    F_ALWAYS_CUSTOM(struct device_capacity, value, "value", 1, struct quantity, &quantity_custom),
    F_PTR_MSG(struct device_capacity, request_policy, "requestPolicy", 2,
              struct capacity_request_policy, &capacity_request_policy_type),
};
const struct type device_capacity_type =
    TYPE("k8s.io.api.resource.v1.DeviceCapacity", struct device_capacity, device_capacity_fields);

static const struct field device_capacity_entry_fields[] = {
    F_ONE(struct device_capacity_entry, key, "key", 1, STR),
    F_MSG(struct device_capacity_entry, value, "value", 2, struct device_capacity,
          &device_capacity_type),
};
const struct type device_capacity_entry_type =
    TYPE("map<string, k8s.io.api.resource.v1.DeviceCapacity>", struct device_capacity_entry,
         device_capacity_entry_fields);

static const struct field device_counter_consumption_fields[] = {
    F_ALWAYS(struct device_counter_consumption, counter_set, "counterSet", 1, STR),
    F_MAP(struct device_counter_consumption, counters, "counters", 2, struct counter_entry,
          &counter_entry_type),
};
const struct type device_counter_consumption_type =
    TYPE("k8s.io.api.resource.v1.DeviceCounterConsumption", struct device_counter_consumption,
         device_counter_consumption_fields);

static const struct field device_taint_fields[] = {
    F_ALWAYS(struct device_taint, key, "key", 1, STR),
    F_ONE(struct device_taint, value, "value", 2, STR),
    F_ALWAYS(struct device_taint, effect, "effect", 3, STR),
    F_CUSTOM(struct device_taint, time_added, "timeAdded", 4, struct timestamp, &time_custom),
};
const struct type device_taint_type =
    TYPE("k8s.io.api.resource.v1.DeviceTaint", struct device_taint, device_taint_fields);

static const struct field node_allocatable_resource_mapping_fields[] = {
    F_ONE(struct node_allocatable_resource_mapping, capacity_key, "capacityKey", 1, STR),
    F_PTR_CUSTOM(struct node_allocatable_resource_mapping, allocation_multiplier,
                 "allocationMultiplier", 2, struct quantity, &quantity_custom),
};
const struct type node_allocatable_resource_mapping_type =
    TYPE("k8s.io.api.resource.v1.NodeAllocatableResourceMapping",
         struct node_allocatable_resource_mapping, node_allocatable_resource_mapping_fields);

static const struct field node_allocatable_resource_mapping_entry_fields[] = {
    F_ONE(struct node_allocatable_resource_mapping_entry, key, "key", 1, STR),
    F_MSG(struct node_allocatable_resource_mapping_entry, value, "value", 2,
          struct node_allocatable_resource_mapping, &node_allocatable_resource_mapping_type),
};
const struct type node_allocatable_resource_mapping_entry_type = TYPE(
    "map<string, k8s.io.api.resource.v1.NodeAllocatableResourceMapping>",
    struct node_allocatable_resource_mapping_entry, node_allocatable_resource_mapping_entry_fields);

static const struct field device_fields[] = {
    F_ALWAYS(struct device, name, "name", 1, STR),
    F_MAP(struct device, attributes, "attributes", 2, struct device_attribute_entry,
          &device_attribute_entry_type),
    F_MAP(struct device, capacity, "capacity", 3, struct device_capacity_entry,
          &device_capacity_entry_type),
    F_LIST_MSG(struct device, consumes_counters, "consumesCounters", 4,
               struct device_counter_consumption, &device_counter_consumption_type),
    F_ONE(struct device, node_name, "nodeName", 5, STR),
    F_PTR_MSG(struct device, node_selector, "nodeSelector", 6, struct node_selector,
              &node_selector_type),
    F_ONE(struct device, all_nodes, "allNodes", 7, BOOL),
    F_LIST_MSG(struct device, taints, "taints", 8, struct device_taint, &device_taint_type),
    F_ONE(struct device, binds_to_node, "bindsToNode", 9, BOOL),
    F_LIST(struct device, binding_conditions, "bindingConditions", 10, STR),
    F_LIST(struct device, binding_failure_conditions, "bindingFailureConditions", 11, STR),
    F_ONE(struct device, allow_multiple_allocations, "allowMultipleAllocations", 12, BOOL),
    F_MAP(struct device, node_allocatable_resource_mappings, "nodeAllocatableResourceMappings", 13,
          struct node_allocatable_resource_mapping_entry,
          &node_allocatable_resource_mapping_entry_type),
};
const struct type device_type = TYPE("k8s.io.api.resource.v1.Device", struct device, device_fields);

static const struct field resource_pool_fields[] = {
    F_ALWAYS(struct resource_pool, name, "name", 1, STR),
    F_ALWAYS(struct resource_pool, generation, "generation", 2, INT64),
    F_ALWAYS(struct resource_pool, resource_slice_count, "resourceSliceCount", 3, INT64),
};
const struct type resource_pool_type =
    TYPE("k8s.io.api.resource.v1.ResourcePool", struct resource_pool, resource_pool_fields);

static const struct field resource_slice_spec_fields[] = {
    F_ALWAYS(struct resource_slice_spec, driver, "driver", 1, STR),
    F_ALWAYS_MSG(struct resource_slice_spec, pool, "pool", 2, struct resource_pool,
                 &resource_pool_type),
    F_ONE(struct resource_slice_spec, node_name, "nodeName", 3, STR),
    F_PTR_MSG(struct resource_slice_spec, node_selector, "nodeSelector", 4, struct node_selector,
              &node_selector_type),
    F_ONE(struct resource_slice_spec, all_nodes, "allNodes", 5, BOOL),
    F_LIST_MSG(struct resource_slice_spec, devices, "devices", 6, struct device, &device_type),
    F_ONE(struct resource_slice_spec, per_device_node_selection, "perDeviceNodeSelection", 7, BOOL),
    F_LIST_MSG(struct resource_slice_spec, shared_counters, "sharedCounters", 8, struct counter_set,
               &counter_set_type),
};
const struct type resource_slice_spec_type =
    TYPE("k8s.io.api.resource.v1.ResourceSliceSpec", struct resource_slice_spec,
         resource_slice_spec_fields);

static const struct field resource_slice_fields[] = {
    F_MSG(struct resource_slice, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct resource_slice, spec, "spec", 2, struct resource_slice_spec,
                 &resource_slice_spec_type),
};
const struct type resource_slice_type =
    TYPE("k8s.io.api.resource.v1.ResourceSlice", struct resource_slice, resource_slice_fields);
