/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduling.h - the kinds of scheduling.k8s.io.
 *
 * Purpose:   PriorityClass (v1), PodGroup and Workload (v1alpha2).
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_SCHEDULING_H
#define BERTH_API_SCHEDULING_H

#include "api/meta.h"

/* Left out: description. */
struct priority_class {
    struct object_meta metadata;
    struct str preemption_policy;
    int32_t value;
    bool global_default;
};

struct basic_scheduling_policy {
    bool unused; /* only its presence matters */
};

struct gang_scheduling_policy {
    int32_t min_count;
};

/* One of the two is set. */
struct pod_group_scheduling_policy {
    struct basic_scheduling_policy *basic;
    struct gang_scheduling_policy *gang;
};

struct topology_constraint {
    struct str key;
};

struct pod_group_scheduling_constraints {
    LIST(struct topology_constraint) topology;
};

struct pod_group_resource_claim {
    struct str name;
    struct str resource_claim_name;
    struct str resource_claim_template_name;
};

struct workload_pod_group_template_reference {
    struct str workload_name;
    struct str pod_group_template_name;
};

struct pod_group_template_reference {
    struct workload_pod_group_template_reference *workload;
};

struct pod_group_spec {
    struct pod_group_template_reference *pod_group_template_ref;
    struct pod_group_scheduling_policy scheduling_policy;
    struct pod_group_scheduling_constraints *scheduling_constraints;
    LIST(struct pod_group_resource_claim) resource_claims;
    struct str disruption_mode;
    struct str priority_class_name;
    int32_t *priority;
};

struct pod_group_resource_claim_status {
    struct str name;
    struct str resource_claim_name;
};

/* The type of a PodGroup's condition. */
#define POD_GROUP_SCHEDULED "PodGroupScheduled"

struct pod_group_status {
    LIST(struct condition) conditions;
    LIST(struct pod_group_resource_claim_status) resource_claim_statuses;
};

struct pod_group {
    struct object_meta metadata;
    struct pod_group_spec spec;
    struct pod_group_status status;
};

struct pod_group_template {
    struct str name;
    struct pod_group_scheduling_policy scheduling_policy;
    struct pod_group_scheduling_constraints *scheduling_constraints;
    LIST(struct pod_group_resource_claim) resource_claims;
    struct str disruption_mode;
    struct str priority_class_name;
    int32_t *priority;
};

struct typed_local_object_reference {
    struct str api_group;
    struct str kind;
    struct str name;
};

struct workload_spec {
    struct typed_local_object_reference *controller_ref;
    LIST(struct pod_group_template) pod_group_templates;
};

struct workload {
    struct object_meta metadata;
    struct workload_spec spec;
};

extern const struct type priority_class_type;
extern const struct type basic_scheduling_policy_type;
extern const struct type gang_scheduling_policy_type;
extern const struct type pod_group_scheduling_policy_type;
extern const struct type topology_constraint_type;
extern const struct type pod_group_scheduling_constraints_type;
extern const struct type pod_group_resource_claim_type;
extern const struct type workload_pod_group_template_reference_type;
extern const struct type pod_group_template_reference_type;
extern const struct type pod_group_spec_type;
extern const struct type pod_group_resource_claim_status_type;
extern const struct type pod_group_status_type;
extern const struct type pod_group_type;
extern const struct type pod_group_template_type;
extern const struct type typed_local_object_reference_type;
extern const struct type workload_spec_type;
extern const struct type workload_type;

#endif
