/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_slice.h - ResourceSlice.
 *
 * Purpose:   devices that drivers offer (dynamic resource allocation, resource.k8s.io/v1).
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_RESOURCE_SLICE_H
#define BERTH_API_RESOURCE_SLICE_H

#include "api/meta.h"
#include "api/node_affinity.h"
#include "api/quantity.h"

struct counter {
    struct quantity value;
};

struct counter_entry {
    struct str key;
    struct counter value;
};

struct counter_set {
    struct str name;
    LIST(struct counter_entry) counters;
};

/* One of them is set. */
struct device_attribute {
    int64_t *int_value;
    bool *bool_value;
    struct str *string_value;
    struct str *version_value;
    LIST(int64_t) int_values;
    LIST(bool) bool_values;
    LIST(struct str) string_values;
    LIST(struct str) version_values;
};

struct device_attribute_entry {
    struct str key;
    struct device_attribute value;
};

struct capacity_request_policy_range {
    struct quantity *min;
    struct quantity *max;
    struct quantity *step;
};

struct capacity_request_policy {
    struct quantity *default_value;
    LIST(struct quantity) valid_values;
    struct capacity_request_policy_range *valid_range;
};

struct device_capacity {
    struct quantity value;
    struct capacity_request_policy *request_policy;
};

struct device_capacity_entry {
    struct str key;
    struct device_capacity value;
};

struct device_counter_consumption {
    struct str counter_set;
    LIST(struct counter_entry) counters;
};

struct device_taint {
    struct str key;
    struct str value;
    struct str effect;
    struct timestamp time_added;
};

struct node_allocatable_resource_mapping {
    struct str capacity_key;
    struct quantity *allocation_multiplier;
};

struct node_allocatable_resource_mapping_entry {
    struct str key;
    struct node_allocatable_resource_mapping value;
};

struct device {
    struct str name;
    LIST(struct device_attribute_entry) attributes;
    LIST(struct device_capacity_entry) capacity;
    LIST(struct device_counter_consumption) consumes_counters;
    struct str node_name;
    struct node_selector *node_selector;
    LIST(struct device_taint) taints;
    LIST(struct str) binding_conditions;
    LIST(struct str) binding_failure_conditions;
    LIST(struct node_allocatable_resource_mapping_entry) node_allocatable_resource_mappings;
    bool all_nodes;
    bool binds_to_node;
    bool allow_multiple_allocations;
};

struct resource_pool {
    struct str name;
    int64_t generation;
    int64_t resource_slice_count;
};

struct resource_slice_spec {
    struct str driver;
    struct resource_pool pool;
    struct str node_name;
    struct node_selector *node_selector;
    LIST(struct device) devices;
    LIST(struct counter_set) shared_counters;
    bool all_nodes;
    bool per_device_node_selection;
};

struct resource_slice {
    struct object_meta metadata;
    struct resource_slice_spec spec;
};

extern const struct type counter_type;
extern const struct type counter_entry_type;
extern const struct type counter_set_type;
extern const struct type device_attribute_type;
extern const struct type device_attribute_entry_type;
extern const struct type capacity_request_policy_range_type;
extern const struct type capacity_request_policy_type;
extern const struct type device_capacity_type;
extern const struct type device_capacity_entry_type;
extern const struct type device_counter_consumption_type;
extern const struct type device_taint_type;
extern const struct type node_allocatable_resource_mapping_type;
extern const struct type node_allocatable_resource_mapping_entry_type;
extern const struct type device_type;
extern const struct type resource_pool_type;
extern const struct type resource_slice_spec_type;
extern const struct type resource_slice_type;

#endif
