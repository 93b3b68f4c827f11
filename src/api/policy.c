/* SPDX-License-Identifier: Apache-2.0 */
#include "api/policy.h"

static const struct field pod_disruption_budget_spec_fields[] = {
    F_PTR_CUSTOM(struct pod_disruption_budget_spec, min_available, "minAvailable", 1,
                 struct int_or_string, &int_or_string_custom),
    F_PTR_MSG(struct pod_disruption_budget_spec, selector, "selector", 2, struct label_selector,
              &label_selector_type),
    F_PTR_CUSTOM(struct pod_disruption_budget_spec, max_unavailable, "maxUnavailable", 3,
                 struct int_or_string, &int_or_string_custom),
};
const struct type pod_disruption_budget_spec_type =
    TYPE("k8s.io.api.policy.v1.PodDisruptionBudgetSpec", struct pod_disruption_budget_spec,
         pod_disruption_budget_spec_fields);

static const struct field pod_disruption_budget_status_fields[] = {
    F_ONE(struct pod_disruption_budget_status, observed_generation, "observedGeneration", 1, INT64),
    F_MAP(struct pod_disruption_budget_status, disrupted_pods, "disruptedPods", 2,
          struct time_entry, &time_entry_type),
    F_ALWAYS(struct pod_disruption_budget_status, disruptions_allowed, "disruptionsAllowed", 3,
             INT32),
};
const struct type pod_disruption_budget_status_type =
    TYPE("k8s.io.api.policy.v1.PodDisruptionBudgetStatus", struct pod_disruption_budget_status,
         pod_disruption_budget_status_fields);

static const struct field pod_disruption_budget_fields[] = {
    F_MSG(struct pod_disruption_budget, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_MSG(struct pod_disruption_budget, spec, "spec", 2, struct pod_disruption_budget_spec,
          &pod_disruption_budget_spec_type),
    F_MSG(struct pod_disruption_budget, status, "status", 3, struct pod_disruption_budget_status,
          &pod_disruption_budget_status_type),
};
const struct type pod_disruption_budget_type =
    TYPE("k8s.io.api.policy.v1.PodDisruptionBudget", struct pod_disruption_budget,
         pod_disruption_budget_fields);
