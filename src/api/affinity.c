/* SPDX-License-Identifier: Apache-2.0 */
#include "api/affinity.h"

static const struct field pod_affinity_term_fields[] = {
    F_PTR_MSG(struct pod_affinity_term, label_selector, "labelSelector", 1, struct label_selector,
              &label_selector_type),
    F_LIST(struct pod_affinity_term, namespaces, "namespaces", 2, STR),
    F_ALWAYS(struct pod_affinity_term, topology_key, "topologyKey", 3, STR),
    F_PTR_MSG(struct pod_affinity_term, namespace_selector, "namespaceSelector", 4,
              struct label_selector, &label_selector_type),
    F_LIST(struct pod_affinity_term, match_label_keys, "matchLabelKeys", 5, STR),
    F_LIST(struct pod_affinity_term, mismatch_label_keys, "mismatchLabelKeys", 6, STR),
};
const struct type pod_affinity_term_type =
    TYPE("k8s.io.api.core.v1.PodAffinityTerm", struct pod_affinity_term, pod_affinity_term_fields);

static const struct field weighted_pod_affinity_term_fields[] = {
    F_ALWAYS(struct weighted_pod_affinity_term, weight, "weight", 1, INT32),
    F_ALWAYS_MSG(struct weighted_pod_affinity_term, pod_affinity_term, "podAffinityTerm", 2,
                 struct pod_affinity_term, &pod_affinity_term_type),
};
const struct type weighted_pod_affinity_term_type =
    TYPE("k8s.io.api.core.v1.WeightedPodAffinityTerm", struct weighted_pod_affinity_term,
         weighted_pod_affinity_term_fields);

static const struct field pod_affinity_fields[] = {
    F_LIST_MSG(struct pod_affinity, required, "requiredDuringSchedulingIgnoredDuringExecution", 1,
               struct pod_affinity_term, &pod_affinity_term_type),
    F_LIST_MSG(struct pod_affinity, preferred, "preferredDuringSchedulingIgnoredDuringExecution", 2,
               struct weighted_pod_affinity_term, &weighted_pod_affinity_term_type),
};
const struct type pod_affinity_type =
    TYPE("k8s.io.api.core.v1.PodAffinity", struct pod_affinity, pod_affinity_fields);

static const struct field pod_anti_affinity_fields[] = {
    F_LIST_MSG(struct pod_anti_affinity, required, "requiredDuringSchedulingIgnoredDuringExecution",
               1, struct pod_affinity_term, &pod_affinity_term_type),
    F_LIST_MSG(struct pod_anti_affinity, preferred,
               "preferredDuringSchedulingIgnoredDuringExecution", 2,
               struct weighted_pod_affinity_term, &weighted_pod_affinity_term_type),
};
const struct type pod_anti_affinity_type =
    TYPE("k8s.io.api.core.v1.PodAntiAffinity", struct pod_anti_affinity, pod_anti_affinity_fields);

static const struct field affinity_fields[] = {
    F_PTR_MSG(struct affinity, node_affinity, "nodeAffinity", 1, struct node_affinity,
              &node_affinity_type),
    F_PTR_MSG(struct affinity, pod_affinity, "podAffinity", 2, struct pod_affinity,
              &pod_affinity_type),
    F_PTR_MSG(struct affinity, pod_anti_affinity, "podAntiAffinity", 3, struct pod_anti_affinity,
              &pod_anti_affinity_type),
};
const struct type affinity_type =
    TYPE("k8s.io.api.core.v1.Affinity", struct affinity, affinity_fields);

static const struct field topology_spread_constraint_fields[] = {
    F_ALWAYS(struct topology_spread_constraint, max_skew, "maxSkew", 1, INT32),
    F_ALWAYS(struct topology_spread_constraint, topology_key, "topologyKey", 2, STR),
    F_ALWAYS(struct topology_spread_constraint, when_unsatisfiable, "whenUnsatisfiable", 3, STR),
    F_PTR_MSG(struct topology_spread_constraint, label_selector, "labelSelector", 4,
              struct label_selector, &label_selector_type),
    F_PTR(struct topology_spread_constraint, min_domains, "minDomains", 5, INT32),
    F_ONE(struct topology_spread_constraint, node_affinity_policy, "nodeAffinityPolicy", 6, STR),
    F_ONE(struct topology_spread_constraint, node_taints_policy, "nodeTaintsPolicy", 7, STR),
    F_LIST(struct topology_spread_constraint, match_label_keys, "matchLabelKeys", 8, STR),
};
const struct type topology_spread_constraint_type =
    TYPE("k8s.io.api.core.v1.TopologySpreadConstraint", struct topology_spread_constraint,
         topology_spread_constraint_fields);
