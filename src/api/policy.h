/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - PodDisruptionBudget.
 *
 * Purpose:   limits the pods that preemption may evict.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_POLICY_H
#define BERTH_API_POLICY_H

#include "api/meta.h"

/* Left out: unhealthyPodEvictionPolicy. */
struct pod_disruption_budget_spec {
    struct int_or_string *min_available;
    struct label_selector *selector;
    struct int_or_string *max_unavailable;
};

/* Left out: currentHealthy, desiredHealthy, expectedPods, conditions. */
struct pod_disruption_budget_status {
    int64_t observed_generation;
    LIST(struct time_entry) disrupted_pods;
    int32_t disruptions_allowed;
};

struct pod_disruption_budget {
    struct object_meta metadata;
    struct pod_disruption_budget_spec spec;
    struct pod_disruption_budget_status status;
};

extern const struct type pod_disruption_budget_spec_type;
extern const struct type pod_disruption_budget_status_type;
extern const struct type pod_disruption_budget_type;

#endif
