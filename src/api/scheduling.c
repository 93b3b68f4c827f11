/* SPDX-License-Identifier: Apache-2.0 */
#include "api/scheduling.h"

static const struct field priority_class_fields[] = {
    F_MSG(struct priority_class, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS(struct priority_class, value, "value", 2, INT32),
    F_ONE(struct priority_class, global_default, "globalDefault", 3, BOOL),
    F_ONE(struct priority_class, preemption_policy, "preemptionPolicy", 5, STR),
};
const struct type priority_class_type =
    TYPE("k8s.io.api.scheduling.v1.PriorityClass", struct priority_class, priority_class_fields);

/* It has no fields. */
static const struct field basic_scheduling_policy_fields[] = {};
const struct type basic_scheduling_policy_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.BasicSchedulingPolicy", struct basic_scheduling_policy,
         basic_scheduling_policy_fields);

static const struct field gang_scheduling_policy_fields[] = {
    F_ALWAYS(struct gang_scheduling_policy, min_count, "minCount", 1, INT32),
};
const struct type gang_scheduling_policy_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.GangSchedulingPolicy", struct gang_scheduling_policy,
         gang_scheduling_policy_fields);

static const struct field pod_group_scheduling_policy_fields[] = {
    F_PTR_MSG(struct pod_group_scheduling_policy, basic, "basic", 1, struct basic_scheduling_policy,
              &basic_scheduling_policy_type),
    F_PTR_MSG(struct pod_group_scheduling_policy, gang, "gang", 2, struct gang_scheduling_policy,
              &gang_scheduling_policy_type),
};
const struct type pod_group_scheduling_policy_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupSchedulingPolicy",
         struct pod_group_scheduling_policy, pod_group_scheduling_policy_fields);

static const struct field topology_constraint_fields[] = {
    F_ALWAYS(struct topology_constraint, key, "key", 1, STR),
};
const struct type topology_constraint_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.TopologyConstraint", struct topology_constraint,
         topology_constraint_fields);

static const struct field pod_group_scheduling_constraints_fields[] = {
    F_LIST_MSG(struct pod_group_scheduling_constraints, topology, "topology", 1,
               struct topology_constraint, &topology_constraint_type),
};
const struct type pod_group_scheduling_constraints_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupSchedulingConstraints",
         struct pod_group_scheduling_constraints, pod_group_scheduling_constraints_fields);

static const struct field pod_group_resource_claim_fields[] = {
    F_ALWAYS(struct pod_group_resource_claim, name, "name", 1, STR),
    F_ONE(struct pod_group_resource_claim, resource_claim_name, "resourceClaimName", 2, STR),
    F_ONE(struct pod_group_resource_claim, resource_claim_template_name,
          "resourceClaimTemplateName", 3, STR),
};
const struct type pod_group_resource_claim_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupResourceClaim", struct pod_group_resource_claim,
         pod_group_resource_claim_fields);

static const struct field workload_pod_group_template_reference_fields[] = {
    F_ALWAYS(struct workload_pod_group_template_reference, workload_name, "workloadName", 1, STR),
    F_ALWAYS(struct workload_pod_group_template_reference, pod_group_template_name,
             "podGroupTemplateName", 2, STR),
};
const struct type workload_pod_group_template_reference_type = TYPE(
    "k8s.io.api.scheduling.v1alpha2.WorkloadPodGroupTemplateReference",
    struct workload_pod_group_template_reference, workload_pod_group_template_reference_fields);

static const struct field pod_group_template_reference_fields[] = {
    F_PTR_MSG(struct pod_group_template_reference, workload, "workload", 1,
              struct workload_pod_group_template_reference,
              &workload_pod_group_template_reference_type),
};
const struct type pod_group_template_reference_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupTemplateReference",
         struct pod_group_template_reference, pod_group_template_reference_fields);

static const struct field pod_group_spec_fields[] = {
    F_PTR_MSG(struct pod_group_spec, pod_group_template_ref, "podGroupTemplateRef", 1,
              struct pod_group_template_reference, &pod_group_template_reference_type),
    F_ALWAYS_MSG(struct pod_group_spec, scheduling_policy, "schedulingPolicy", 2,
                 struct pod_group_scheduling_policy, &pod_group_scheduling_policy_type),
    F_PTR_MSG(struct pod_group_spec, scheduling_constraints, "schedulingConstraints", 3,
              struct pod_group_scheduling_constraints, &pod_group_scheduling_constraints_type),
    F_LIST_MSG(struct pod_group_spec, resource_claims, "resourceClaims", 4,
               struct pod_group_resource_claim, &pod_group_resource_claim_type),
    F_ONE(struct pod_group_spec, disruption_mode, "disruptionMode", 5, STR),
    F_ONE(struct pod_group_spec, priority_class_name, "priorityClassName", 6, STR),
    F_PTR(struct pod_group_spec, priority, "priority", 7, INT32),
};
const struct type pod_group_spec_type = TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupSpec",
                                             struct pod_group_spec, pod_group_spec_fields);

static const struct field pod_group_resource_claim_status_fields[] = {
    F_ALWAYS(struct pod_group_resource_claim_status, name, "name", 1, STR),
    F_ONE(struct pod_group_resource_claim_status, resource_claim_name, "resourceClaimName", 2, STR),
};
const struct type pod_group_resource_claim_status_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupResourceClaimStatus",
         struct pod_group_resource_claim_status, pod_group_resource_claim_status_fields);

static const struct field pod_group_status_fields[] = {
    F_LIST_MSG(struct pod_group_status, conditions, "conditions", 1, struct condition,
               &condition_type),
    F_LIST_MSG(struct pod_group_status, resource_claim_statuses, "resourceClaimStatuses", 2,
               struct pod_group_resource_claim_status, &pod_group_resource_claim_status_type),
};
const struct type pod_group_status_type = TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupStatus",
                                               struct pod_group_status, pod_group_status_fields);

static const struct field pod_group_fields[] = {
    F_MSG(struct pod_group, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct pod_group, spec, "spec", 2, struct pod_group_spec, &pod_group_spec_type),
    F_MSG(struct pod_group, status, "status", 3, struct pod_group_status, &pod_group_status_type),
};
const struct type pod_group_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroup", struct pod_group, pod_group_fields);

static const struct field pod_group_template_fields[] = {
    F_ALWAYS(struct pod_group_template, name, "name", 1, STR),
    F_ALWAYS_MSG(struct pod_group_template, scheduling_policy, "schedulingPolicy", 2,
                 struct pod_group_scheduling_policy, &pod_group_scheduling_policy_type),
    F_PTR_MSG(struct pod_group_template, scheduling_constraints, "schedulingConstraints", 3,
              struct pod_group_scheduling_constraints, &pod_group_scheduling_constraints_type),
    F_LIST_MSG(struct pod_group_template, resource_claims, "resourceClaims", 4,
               struct pod_group_resource_claim, &pod_group_resource_claim_type),
    F_ONE(struct pod_group_template, disruption_mode, "disruptionMode", 5, STR),
    F_ONE(struct pod_group_template, priority_class_name, "priorityClassName", 6, STR),
    F_PTR(struct pod_group_template, priority, "priority", 7, INT32),
};
const struct type pod_group_template_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.PodGroupTemplate", struct pod_group_template,
         pod_group_template_fields);

static const struct field typed_local_object_reference_fields[] = {
    F_ONE(struct typed_local_object_reference, api_group, "apiGroup", 1, STR),
    F_ALWAYS(struct typed_local_object_reference, kind, "kind", 2, STR),
    F_ALWAYS(struct typed_local_object_reference, name, "name", 3, STR),
};
const struct type typed_local_object_reference_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.TypedLocalObjectReference",
         struct typed_local_object_reference, typed_local_object_reference_fields);

static const struct field workload_spec_fields[] = {
    F_PTR_MSG(struct workload_spec, controller_ref, "controllerRef", 1,
              struct typed_local_object_reference, &typed_local_object_reference_type),
    F_LIST_MSG(struct workload_spec, pod_group_templates, "podGroupTemplates", 2,
               struct pod_group_template, &pod_group_template_type),
};
const struct type workload_spec_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.WorkloadSpec", struct workload_spec, workload_spec_fields);

static const struct field workload_fields[] = {
    F_MSG(struct workload, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct workload, spec, "spec", 2, struct workload_spec, &workload_spec_type),
};
const struct type workload_type =
    TYPE("k8s.io.api.scheduling.v1alpha2.Workload", struct workload, workload_fields);
