/* SPDX-License-Identifier: Apache-2.0 */
#include "api/node_affinity.h"

static const struct field node_selector_requirement_fields[] = {
    F_ALWAYS(struct node_selector_requirement, key, "key", 1, STR),
    F_ALWAYS(struct node_selector_requirement, operator, "operator", 2, STR),
    F_LIST(struct node_selector_requirement, values, "values", 3, STR),
};
const struct type node_selector_requirement_type =
    TYPE("k8s.io.api.core.v1.NodeSelectorRequirement", struct node_selector_requirement,
         node_selector_requirement_fields);

static const struct field node_selector_term_fields[] = {
    F_LIST_MSG(struct node_selector_term, match_expressions, "matchExpressions", 1,
               struct node_selector_requirement, &node_selector_requirement_type),
    F_LIST_MSG(struct node_selector_term, match_fields, "matchFields", 2,
               struct node_selector_requirement, &node_selector_requirement_type),
};
const struct type node_selector_term_type = TYPE(
    "k8s.io.api.core.v1.NodeSelectorTerm", struct node_selector_term, node_selector_term_fields);

static const struct field node_selector_fields[] = {
    F_LIST_MSG(struct node_selector, node_selector_terms, "nodeSelectorTerms", 1,
               struct node_selector_term, &node_selector_term_type),
};
const struct type node_selector_type =
    TYPE("k8s.io.api.core.v1.NodeSelector", struct node_selector, node_selector_fields);

static const struct field preferred_scheduling_term_fields[] = {
    F_ALWAYS(struct preferred_scheduling_term, weight, "weight", 1, INT32),
    F_ALWAYS_MSG(struct preferred_scheduling_term, preference, "preference", 2,
                 struct node_selector_term, &node_selector_term_type),
};
const struct type preferred_scheduling_term_type =
    TYPE("k8s.io.api.core.v1.PreferredSchedulingTerm", struct preferred_scheduling_term,
         preferred_scheduling_term_fields);

static const struct field node_affinity_fields[] = {
    F_PTR_MSG(struct node_affinity, required, "requiredDuringSchedulingIgnoredDuringExecution", 1,
              struct node_selector, &node_selector_type),
    F_LIST_MSG(struct node_affinity, preferred, "preferredDuringSchedulingIgnoredDuringExecution",
               2, struct preferred_scheduling_term, &preferred_scheduling_term_type),
};
const struct type node_affinity_type =
    TYPE("k8s.io.api.core.v1.NodeAffinity", struct node_affinity, node_affinity_fields);

static const struct field topology_selector_label_requirement_fields[] = {
    F_ALWAYS(struct topology_selector_label_requirement, key, "key", 1, STR),
    F_LIST(struct topology_selector_label_requirement, values, "values", 2, STR),
};
const struct type topology_selector_label_requirement_type =
    TYPE("k8s.io.api.core.v1.TopologySelectorLabelRequirement",
         struct topology_selector_label_requirement, topology_selector_label_requirement_fields);

static const struct field topology_selector_term_fields[] = {
    F_LIST_MSG(struct topology_selector_term, match_label_expressions, "matchLabelExpressions", 1,
               struct topology_selector_label_requirement,
               &topology_selector_label_requirement_type),
};
const struct type topology_selector_term_type =
    TYPE("k8s.io.api.core.v1.TopologySelectorTerm", struct topology_selector_term,
         topology_selector_term_fields);

static const struct field taint_fields[] = {
    F_ALWAYS(struct taint, key, "key", 1, STR),
    F_ONE(struct taint, value, "value", 2, STR),
    F_ALWAYS(struct taint, effect, "effect", 3, STR),
};
const struct type taint_type = TYPE("k8s.io.api.core.v1.Taint", struct taint, taint_fields);

static const struct field toleration_fields[] = {
    F_ONE(struct toleration, key, "key", 1, STR),
    F_ONE(struct toleration, operator, "operator", 2, STR),
    F_ONE(struct toleration, value, "value", 3, STR),
    F_ONE(struct toleration, effect, "effect", 4, STR),
};
const struct type toleration_type =
    TYPE("k8s.io.api.core.v1.Toleration", struct toleration, toleration_fields);
