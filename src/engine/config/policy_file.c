/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/policy_file.h"

static const struct field service_affinity_fields[] = {
    F_LIST(struct policy_service_affinity, labels, "labels", 0, STR),
};
static const struct type service_affinity_type =
    TYPE("ServiceAffinity", struct policy_service_affinity, service_affinity_fields);

static const struct field labels_presence_fields[] = {
    F_LIST(struct policy_labels_presence, labels, "labels", 0, STR),
    F_ONE(struct policy_labels_presence, presence, "presence", 0, BOOL),
};
static const struct type labels_presence_type =
    TYPE("LabelsPresence", struct policy_labels_presence, labels_presence_fields);

static const struct field predicate_argument_fields[] = {
    F_PTR_MSG(struct policy_predicate_argument, service_affinity, "serviceAffinity", 0,
              struct policy_service_affinity, &service_affinity_type),
    F_PTR_MSG(struct policy_predicate_argument, labels_presence, "labelsPresence", 0,
              struct policy_labels_presence, &labels_presence_type),
};
static const struct type predicate_argument_type =
    TYPE("PredicateArgument", struct policy_predicate_argument, predicate_argument_fields);

static const struct field predicate_fields[] = {
    F_ONE(struct policy_predicate, name, "name", 0, STR),
    F_PTR_MSG(struct policy_predicate, argument, "argument", 0, struct policy_predicate_argument,
              &predicate_argument_type),
};
static const struct type predicate_type =
    TYPE("PredicatePolicy", struct policy_predicate, predicate_fields);

static const struct field service_anti_affinity_fields[] = {
    F_ONE(struct policy_service_anti_affinity, label, "label", 0, STR),
};
static const struct type service_anti_affinity_type =
    TYPE("ServiceAntiAffinity", struct policy_service_anti_affinity, service_anti_affinity_fields);

static const struct field label_preference_fields[] = {
    F_ONE(struct policy_label_preference, label, "label", 0, STR),
    F_ONE(struct policy_label_preference, presence, "presence", 0, BOOL),
};
static const struct type label_preference_type =
    TYPE("LabelPreference", struct policy_label_preference, label_preference_fields);

static const struct field ratio_point_fields[] = {
    F_ALWAYS(struct policy_ratio_point, utilization, "utilization", 0, INT32),
    F_ALWAYS(struct policy_ratio_point, score, "score", 0, INT32),
};
static const struct type ratio_point_type =
    TYPE("UtilizationShapePoint", struct policy_ratio_point, ratio_point_fields);

static const struct field ratio_resource_fields[] = {
    F_ONE(struct policy_ratio_resource, name, "name", 0, STR),
    F_ONE(struct policy_ratio_resource, weight, "weight", 0, INT64),
};
static const struct type ratio_resource_type =
    TYPE("ResourceSpec", struct policy_ratio_resource, ratio_resource_fields);

static const struct field ratio_arguments_fields[] = {
    F_LIST_MSG(struct policy_ratio, shape, "shape", 0, struct policy_ratio_point,
               &ratio_point_type),
    F_LIST_MSG(struct policy_ratio, resources, "resources", 0, struct policy_ratio_resource,
               &ratio_resource_type),
};
const struct type policy_ratio_type =
    TYPE("RequestedToCapacityRatioArguments", struct policy_ratio, ratio_arguments_fields);

static const struct field priority_argument_fields[] = {
    F_PTR_MSG(struct policy_priority_argument, service_anti_affinity, "serviceAntiAffinity", 0,
              struct policy_service_anti_affinity, &service_anti_affinity_type),
    F_PTR_MSG(struct policy_priority_argument, label_preference, "labelPreference", 0,
              struct policy_label_preference, &label_preference_type),
    F_PTR_MSG(struct policy_priority_argument, ratio, "requestedToCapacityRatioArguments", 0,
              struct policy_ratio, &policy_ratio_type),
};
static const struct type priority_argument_type =
    TYPE("PriorityArgument", struct policy_priority_argument, priority_argument_fields);

static const struct field priority_fields[] = {
    F_ONE(struct policy_priority, name, "name", 0, STR),
    F_ONE(struct policy_priority, weight, "weight", 0, INT64),
    F_PTR_MSG(struct policy_priority, argument, "argument", 0, struct policy_priority_argument,
              &priority_argument_type),
};
static const struct type priority_type =
    TYPE("PriorityPolicy", struct policy_priority, priority_fields);

static const struct field policy_extender_fields[] = {
    F_ONE(struct policy_extender, url_prefix, "urlPrefix", 0, STR),
    F_ONE(struct policy_extender, filter_verb, "filterVerb", 0, STR),
    F_ONE(struct policy_extender, preempt_verb, "preemptVerb", 0, STR),
    F_ONE(struct policy_extender, prioritize_verb, "prioritizeVerb", 0, STR),
    F_ONE(struct policy_extender, bind_verb, "bindVerb", 0, STR),
    F_ONE(struct policy_extender, weight, "weight", 0, INT64),
    F_ONE(struct policy_extender, http_timeout, "httpTimeout", 0, INT64),
    F_ONE(struct policy_extender, enable_https, "enableHttps", 0, BOOL),
    F_ONE(struct policy_extender, node_cache_capable, "nodeCacheCapable", 0, BOOL),
    F_ONE(struct policy_extender, ignorable, "ignorable", 0, BOOL),
    F_ONE(struct policy_extender, tls_config, "tlsConfig", 0, RAW),
    F_LIST(struct policy_extender, managed_resources, "managedResources", 0, RAW),
};
static const struct type policy_extender_type =
    TYPE("LegacyExtender", struct policy_extender, policy_extender_fields);

static const struct field policy_fields[] = {
    F_ONE(struct policy, kind, "kind", 0, STR),
    F_ONE(struct policy, api_version, "apiVersion", 0, STR),
    F_LIST_MSG(struct policy, predicates, "predicates", 0, struct policy_predicate,
               &predicate_type),
    F_LIST_MSG(struct policy, priorities, "priorities", 0, struct policy_priority, &priority_type),
    F_LIST_MSG(struct policy, extenders, "extenders", 0, struct policy_extender,
               &policy_extender_type),
    F_ONE(struct policy, hard_pod_affinity_symmetric_weight, "hardPodAffinitySymmetricWeight", 0,
          INT32),
    F_ONE(struct policy, always_check_all_predicates, "alwaysCheckAllPredicates", 0, BOOL),
};
const struct type policy_type = TYPE("Policy", struct policy, policy_fields);
