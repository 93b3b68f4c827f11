/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resource_claim.h"

static const struct field cel_device_selector_fields[] = {
    F_ALWAYS(struct cel_device_selector, expression, "expression", 1, STR),
};
const struct type cel_device_selector_type =
    TYPE("k8s.io.api.resource.v1.CELDeviceSelector", struct cel_device_selector,
         cel_device_selector_fields);

static const struct field device_selector_fields[] = {
    F_PTR_MSG(struct device_selector, cel, "cel", 1, struct cel_device_selector,
              &cel_device_selector_type),
};
const struct type device_selector_type =
    TYPE("k8s.io.api.resource.v1.DeviceSelector", struct device_selector, device_selector_fields);

static const struct field device_toleration_fields[] = {
    F_ONE(struct device_toleration, key, "key", 1, STR),
    F_ONE(struct device_toleration, operator, "operator", 2, STR),
    F_ONE(struct device_toleration, value, "value", 3, STR),
    F_ONE(struct device_toleration, effect, "effect", 4, STR),
    F_PTR(struct device_toleration, toleration_seconds, "tolerationSeconds", 5, INT64),
};
const struct type device_toleration_type = TYPE("k8s.io.api.resource.v1.DeviceToleration",
                                                struct device_toleration, device_toleration_fields);

static const struct field capacity_requirements_fields[] = {
    F_MAP(struct capacity_requirements, requests, "requests", 1, struct quantity_entry,
          &quantity_entry_type),
};
const struct type capacity_requirements_type =
    TYPE("k8s.io.api.resource.v1.CapacityRequirements", struct capacity_requirements,
         capacity_requirements_fields);

static const struct field exact_device_request_fields[] = {
    F_ALWAYS(struct exact_device_request, device_class_name, "deviceClassName", 1, STR),
    F_LIST_MSG(struct exact_device_request, selectors, "selectors", 2, struct device_selector,
               &device_selector_type),
    F_ONE(struct exact_device_request, allocation_mode, "allocationMode", 3, STR),
    F_ONE(struct exact_device_request, count, "count", 4, INT64),
    F_ONE(struct exact_device_request, admin_access, "adminAccess", 5, BOOL),
    F_LIST_MSG(struct exact_device_request, tolerations, "tolerations", 6, struct device_toleration,
               &device_toleration_type),
    F_PTR_MSG(struct exact_device_request, capacity, "capacity", 7, struct capacity_requirements,
              &capacity_requirements_type),
};
const struct type exact_device_request_type =
    TYPE("k8s.io.api.resource.v1.ExactDeviceRequest", struct exact_device_request,
         exact_device_request_fields);

static const struct field device_sub_request_fields[] = {
    F_ALWAYS(struct device_sub_request, name, "name", 1, STR),
    F_ALWAYS(struct device_sub_request, device_class_name, "deviceClassName", 2, STR),
    F_LIST_MSG(struct device_sub_request, selectors, "selectors", 3, struct device_selector,
               &device_selector_type),
    F_ONE(struct device_sub_request, allocation_mode, "allocationMode", 4, STR),
    F_ONE(struct device_sub_request, count, "count", 5, INT64),
    F_LIST_MSG(struct device_sub_request, tolerations, "tolerations", 6, struct device_toleration,
               &device_toleration_type),
    F_PTR_MSG(struct device_sub_request, capacity, "capacity", 7, struct capacity_requirements,
              &capacity_requirements_type),
};
const struct type device_sub_request_type =
    TYPE("k8s.io.api.resource.v1.DeviceSubRequest", struct device_sub_request,
         device_sub_request_fields);

static const struct field device_request_fields[] = {
    F_ALWAYS(struct device_request, name, "name", 1, STR),
    F_PTR_MSG(struct device_request, exactly, "exactly", 2, struct exact_device_request,
              &exact_device_request_type),
    F_LIST_MSG(struct device_request, first_available, "firstAvailable", 3,
               struct device_sub_request, &device_sub_request_type),
};
const struct type device_request_type =
    TYPE("k8s.io.api.resource.v1.DeviceRequest", struct device_request, device_request_fields);

static const struct field device_constraint_fields[] = {
    F_LIST(struct device_constraint, requests, "requests", 1, STR),
    F_ONE(struct device_constraint, match_attribute, "matchAttribute", 2, STR),
    F_ONE(struct device_constraint, distinct_attribute, "distinctAttribute", 3, STR),
};
const struct type device_constraint_type = TYPE("k8s.io.api.resource.v1.DeviceConstraint",
                                                struct device_constraint, device_constraint_fields);

static const struct field opaque_device_configuration_fields[] = {
    F_ALWAYS(struct opaque_device_configuration, driver, "driver", 1, STR),
    F_ONE(struct opaque_device_configuration, parameters, "parameters", 2, RAW),
};
const struct type opaque_device_configuration_type =
    TYPE("k8s.io.api.resource.v1.OpaqueDeviceConfiguration", struct opaque_device_configuration,
         opaque_device_configuration_fields);

static const struct field device_configuration_fields[] = {
    F_PTR_MSG(struct device_configuration, opaque, "opaque", 1, struct opaque_device_configuration,
              &opaque_device_configuration_type),
};
const struct type device_configuration_type =
    TYPE("k8s.io.api.resource.v1.DeviceConfiguration", struct device_configuration,
         device_configuration_fields);

static const struct field device_claim_configuration_fields[] = {
    F_LIST(struct device_claim_configuration, requests, "requests", 1, STR),
    F_INLINE_MSG(struct device_claim_configuration, device_configuration, "deviceConfiguration", 2,
                 struct device_configuration, &device_configuration_type),
};
const struct type device_claim_configuration_type =
    TYPE("k8s.io.api.resource.v1.DeviceClaimConfiguration", struct device_claim_configuration,
         device_claim_configuration_fields);

static const struct field device_claim_fields[] = {
    F_LIST_MSG(struct device_claim, requests, "requests", 1, struct device_request,
               &device_request_type),
    F_LIST_MSG(struct device_claim, constraints, "constraints", 2, struct device_constraint,
               &device_constraint_type),
    F_LIST_MSG(struct device_claim, config, "config", 3, struct device_claim_configuration,
               &device_claim_configuration_type),
};
const struct type device_claim_type =
    TYPE("k8s.io.api.resource.v1.DeviceClaim", struct device_claim, device_claim_fields);

static const struct field resource_claim_spec_fields[] = {
    F_ALWAYS_MSG(struct resource_claim_spec, devices, "devices", 1, struct device_claim,
                 &device_claim_type),
};
const struct type resource_claim_spec_type =
    TYPE("k8s.io.api.resource.v1.ResourceClaimSpec", struct resource_claim_spec,
         resource_claim_spec_fields);

static const struct field device_request_allocation_result_fields[] = {
    F_ALWAYS(struct device_request_allocation_result, request, "request", 1, STR),
    F_ALWAYS(struct device_request_allocation_result, driver, "driver", 2, STR),
    F_ALWAYS(struct device_request_allocation_result, pool, "pool", 3, STR),
    F_ALWAYS(struct device_request_allocation_result, device, "device", 4, STR),
    F_ONE(struct device_request_allocation_result, admin_access, "adminAccess", 5, BOOL),
    F_LIST_MSG(struct device_request_allocation_result, tolerations, "tolerations", 6,
               struct device_toleration, &device_toleration_type),
    F_LIST(struct device_request_allocation_result, binding_conditions, "bindingConditions", 7,
           STR),
    F_LIST(struct device_request_allocation_result, binding_failure_conditions,
           "bindingFailureConditions", 8, STR),
    F_ONE(struct device_request_allocation_result, share_id, "shareID", 9, STR),
    F_MAP(struct device_request_allocation_result, consumed_capacity, "consumedCapacity", 10,
          struct quantity_entry, &quantity_entry_type),
};
const struct type device_request_allocation_result_type =
    TYPE("k8s.io.api.resource.v1.DeviceRequestAllocationResult",
         struct device_request_allocation_result, device_request_allocation_result_fields);

static const struct field device_allocation_configuration_fields[] = {
    F_ALWAYS(struct device_allocation_configuration, source, "source", 1, STR),
    F_LIST(struct device_allocation_configuration, requests, "requests", 2, STR),
    F_INLINE_MSG(struct device_allocation_configuration, device_configuration,
                 "deviceConfiguration", 3, struct device_configuration, &device_configuration_type),
};
const struct type device_allocation_configuration_type =
    TYPE("k8s.io.api.resource.v1.DeviceAllocationConfiguration",
         struct device_allocation_configuration, device_allocation_configuration_fields);

static const struct field device_allocation_result_fields[] = {
    F_LIST_MSG(struct device_allocation_result, results, "results", 1,
               struct device_request_allocation_result, &device_request_allocation_result_type),
    F_LIST_MSG(struct device_allocation_result, config, "config", 2,
               struct device_allocation_configuration, &device_allocation_configuration_type),
};
const struct type device_allocation_result_type =
    TYPE("k8s.io.api.resource.v1.DeviceAllocationResult", struct device_allocation_result,
         device_allocation_result_fields);

static const struct field allocation_result_fields[] = {
    F_MSG(struct allocation_result, devices, "devices", 1, struct device_allocation_result,
          &device_allocation_result_type),
    F_PTR_MSG(struct allocation_result, node_selector, "nodeSelector", 3, struct node_selector,
              &node_selector_type),
    F_CUSTOM(struct allocation_result, allocation_timestamp, "allocationTimestamp", 5,
             struct timestamp, &time_custom),
};
const struct type allocation_result_type = TYPE("k8s.io.api.resource.v1.AllocationResult",
                                                struct allocation_result, allocation_result_fields);

static const struct field resource_claim_consumer_reference_fields[] = {
    F_ONE(struct resource_claim_consumer_reference, api_group, "apiGroup", 1, STR),
    F_ALWAYS(struct resource_claim_consumer_reference, resource, "resource", 3, STR),
    F_ALWAYS(struct resource_claim_consumer_reference, name, "name", 4, STR),
    F_ALWAYS(struct resource_claim_consumer_reference, uid, "uid", 5, STR),
};
const struct type resource_claim_consumer_reference_type =
    TYPE("k8s.io.api.resource.v1.ResourceClaimConsumerReference",
         struct resource_claim_consumer_reference, resource_claim_consumer_reference_fields);

static const struct field allocated_device_status_fields[] = {
    F_ALWAYS(struct allocated_device_status, driver, "driver", 1, STR),
    F_ALWAYS(struct allocated_device_status, pool, "pool", 2, STR),
    F_ALWAYS(struct allocated_device_status, device, "device", 3, STR),
    F_ONE(struct allocated_device_status, share_id, "shareID", 7, STR),
    F_LIST_MSG(struct allocated_device_status, conditions, "conditions", 4, struct condition,
               &condition_type),
};
const struct type allocated_device_status_type =
    TYPE("k8s.io.api.resource.v1.AllocatedDeviceStatus", struct allocated_device_status,
         allocated_device_status_fields);

static const struct field resource_claim_status_fields[] = {
    F_PTR_MSG(struct resource_claim_status, allocation, "allocation", 1, struct allocation_result,
              &allocation_result_type),
    F_LIST_MSG(struct resource_claim_status, reserved_for, "reservedFor", 2,
               struct resource_claim_consumer_reference, &resource_claim_consumer_reference_type),
    F_LIST_MSG(struct resource_claim_status, devices, "devices", 4, struct allocated_device_status,
               &allocated_device_status_type),
};
const struct type resource_claim_status_type =
    TYPE("k8s.io.api.resource.v1.ResourceClaimStatus", struct resource_claim_status,
         resource_claim_status_fields);

static const struct field resource_claim_fields[] = {
    F_MSG(struct resource_claim, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct resource_claim, spec, "spec", 2, struct resource_claim_spec,
                 &resource_claim_spec_type),
    F_MSG(struct resource_claim, status, "status", 3, struct resource_claim_status,
          &resource_claim_status_type),
};
const struct type resource_claim_type =
    TYPE("k8s.io.api.resource.v1.ResourceClaim", struct resource_claim, resource_claim_fields);

static const struct field resource_claim_template_spec_fields[] = {
    F_MSG(struct resource_claim_template_spec, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_ALWAYS_MSG(struct resource_claim_template_spec, spec, "spec", 2, struct resource_claim_spec,
                 &resource_claim_spec_type),
};
const struct type resource_claim_template_spec_type =
    TYPE("k8s.io.api.resource.v1.ResourceClaimTemplateSpec", struct resource_claim_template_spec,
         resource_claim_template_spec_fields);

static const struct field resource_claim_template_fields[] = {
    F_MSG(struct resource_claim_template, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_ALWAYS_MSG(struct resource_claim_template, spec, "spec", 2,
                 struct resource_claim_template_spec, &resource_claim_template_spec_type),
};
const struct type resource_claim_template_type =
    TYPE("k8s.io.api.resource.v1.ResourceClaimTemplate", struct resource_claim_template,
         resource_claim_template_fields);

static const struct field device_class_configuration_fields[] = {
    F_INLINE_MSG(struct device_class_configuration, device_configuration, "deviceConfiguration", 1,
                 struct device_configuration, &device_configuration_type),
};
const struct type device_class_configuration_type =
    TYPE("k8s.io.api.resource.v1.DeviceClassConfiguration", struct device_class_configuration,
         device_class_configuration_fields);

static const struct field device_class_spec_fields[] = {
    F_LIST_MSG(struct device_class_spec, selectors, "selectors", 1, struct device_selector,
               &device_selector_type),
    F_LIST_MSG(struct device_class_spec, config, "config", 2, struct device_class_configuration,
               &device_class_configuration_type),
    F_ONE(struct device_class_spec, extended_resource_name, "extendedResourceName", 4, STR),
};
const struct type device_class_spec_type = TYPE("k8s.io.api.resource.v1.DeviceClassSpec",
                                                struct device_class_spec, device_class_spec_fields);

static const struct field device_class_fields[] = {
    F_MSG(struct device_class, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct device_class, spec, "spec", 2, struct device_class_spec,
                 &device_class_spec_type),
};
const struct type device_class_type =
    TYPE("k8s.io.api.resource.v1.DeviceClass", struct device_class, device_class_fields);
