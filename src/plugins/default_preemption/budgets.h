/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budgets.h - pods whose eviction violates a PodDisruptionBudget.
 *
 * Purpose:   the budgets of the cluster with compiled selectors, by namespace.
 * Ownership: owns copies, rebuilt after a budget has changed.
 * Threading: budgets_refresh on the engine's thread; the rest on any thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_BUDGETS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_BUDGETS_H

#include "engine/group/group_preemption.h"
#include "engine/index/cluster.h"

struct budgets {
    struct arena arena;
    struct map by_namespace; /* to struct budget_list */
    uint64_t seen;           /* changes of budgets, + 1; 0: not built yet */
};

void budgets_init(struct budgets *b);
void budgets_release(struct budgets *b);
/* Rebuilds them if a budget has changed. */
void budgets_refresh(struct budgets *b, const struct objects *objects);
/*
 * Moves the pods to the front whose eviction, in this order, violates a budget; both parts keep
 * their order. Returns the number of these pods (upstream: filterPodsWithPDBViolation).
 */
size_t budgets_split(const struct budgets *b, pod_list *pods);
/*
 * The same for victims that are evicted as a whole. As upstream, the first budget that a victim
 * violates is the last that it is charged to (upstream: filterVictimsWithPDBViolation).
 */
size_t budgets_split_victims(const struct budgets *b, struct group_victim **victims, size_t n);
/* Does any budget select the pod? */
bool budgets_have(const struct budgets *b, const struct berth_pod *pod);

#endif
