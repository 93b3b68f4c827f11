/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_claim.h - ResourceClaim, ResourceClaimTemplate, DeviceClass.
 *
 * Purpose:   devices that pods request (dynamic resource allocation, resource.k8s.io/v1) and what
 *            was allocated.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_RESOURCE_CLAIM_H
#define BERTH_API_RESOURCE_CLAIM_H

#include "api/meta.h"
#include "api/node_affinity.h"
#include "api/quantity.h"

/* Protects an allocated claim from deletion. */
#define RESOURCE_CLAIM_FINALIZER    "resource.kubernetes.io/delete-protection"
/* On a generated claim: the name of the claim in the pod's spec. */
#define ANN_POD_CLAIM_NAME          "resource.kubernetes.io/pod-claim-name"
/* On a claim created for the extended resources of a pod. */
#define ANN_EXTENDED_RESOURCE_CLAIM "resource.kubernetes.io/extended-resource-claim"

struct cel_device_selector {
    struct str expression;
};

struct device_selector {
    struct cel_device_selector *cel;
};

struct device_toleration {
    struct str key;
    struct str operator;
    struct str value;
    struct str effect;
    int64_t *toleration_seconds;
};

struct capacity_requirements {
    quantity_map requests;
};

struct exact_device_request {
    struct str device_class_name;
    LIST(struct device_selector) selectors;
    struct str allocation_mode;
    int64_t count;
    LIST(struct device_toleration) tolerations;
    struct capacity_requirements *capacity;
    bool admin_access;
};

struct device_sub_request {
    struct str name;
    struct str device_class_name;
    LIST(struct device_selector) selectors;
    struct str allocation_mode;
    int64_t count;
    LIST(struct device_toleration) tolerations;
    struct capacity_requirements *capacity;
};

/* Either exactly or firstAvailable is set. */
struct device_request {
    struct str name;
    struct exact_device_request *exactly;
    LIST(struct device_sub_request) first_available;
};

struct device_constraint {
    LIST(struct str) requests;
    struct str match_attribute;
    struct str distinct_attribute;
};

struct opaque_device_configuration {
    struct str driver;
    struct str parameters; /* any JSON object, as text */
};

struct device_configuration {
    struct opaque_device_configuration *opaque;
};

struct device_claim_configuration {
    LIST(struct str) requests;
    struct device_configuration device_configuration;
};

struct device_claim {
    LIST(struct device_request) requests;
    LIST(struct device_constraint) constraints;
    LIST(struct device_claim_configuration) config;
};

struct resource_claim_spec {
    struct device_claim devices;
};

struct device_request_allocation_result {
    struct str request;
    struct str driver;
    struct str pool;
    struct str device;
    LIST(struct device_toleration) tolerations;
    LIST(struct str) binding_conditions;
    LIST(struct str) binding_failure_conditions;
    struct str share_id;
    quantity_map consumed_capacity;
    bool admin_access;
};

struct device_allocation_configuration {
    struct str source;
    LIST(struct str) requests;
    struct device_configuration device_configuration;
};

struct device_allocation_result {
    LIST(struct device_request_allocation_result) results;
    LIST(struct device_allocation_configuration) config;
};

struct allocation_result {
    struct device_allocation_result devices;
    struct node_selector *node_selector;
    struct timestamp allocation_timestamp;
};

struct resource_claim_consumer_reference {
    struct str api_group;
    struct str resource;
    struct str name;
    struct str uid;
};

/* Left out: data, networkData. */
struct allocated_device_status {
    struct str driver;
    struct str pool;
    struct str device;
    struct str share_id;
    LIST(struct condition) conditions;
};

struct resource_claim_status {
    struct allocation_result *allocation;
    LIST(struct resource_claim_consumer_reference) reserved_for;
    LIST(struct allocated_device_status) devices;
};

struct resource_claim {
    struct object_meta metadata;
    struct resource_claim_spec spec;
    struct resource_claim_status status;
};

struct resource_claim_template_spec {
    struct object_meta metadata;
    struct resource_claim_spec spec;
};

struct resource_claim_template {
    struct object_meta metadata;
    struct resource_claim_template_spec spec;
};

struct device_class_configuration {
    struct device_configuration device_configuration;
};

struct device_class_spec {
    LIST(struct device_selector) selectors;
    LIST(struct device_class_configuration) config;
    struct str extended_resource_name;
};

struct device_class {
    struct object_meta metadata;
    struct device_class_spec spec;
};

extern const struct type cel_device_selector_type;
extern const struct type device_selector_type;
extern const struct type device_toleration_type;
extern const struct type capacity_requirements_type;
extern const struct type exact_device_request_type;
extern const struct type device_sub_request_type;
extern const struct type device_request_type;
extern const struct type device_constraint_type;
extern const struct type opaque_device_configuration_type;
extern const struct type device_configuration_type;
extern const struct type device_claim_configuration_type;
extern const struct type device_claim_type;
extern const struct type resource_claim_spec_type;
extern const struct type device_request_allocation_result_type;
extern const struct type device_allocation_configuration_type;
extern const struct type device_allocation_result_type;
extern const struct type allocation_result_type;
extern const struct type resource_claim_consumer_reference_type;
extern const struct type allocated_device_status_type;
extern const struct type resource_claim_status_type;
extern const struct type resource_claim_type;
extern const struct type resource_claim_template_spec_type;
extern const struct type resource_claim_template_type;
extern const struct type device_class_configuration_type;
extern const struct type device_class_spec_type;
extern const struct type device_class_type;

#endif
