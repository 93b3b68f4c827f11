/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budgets.h - which pods a PodDisruptionBudget would rather keep.
 *
 * Purpose:   the budgets of the cluster with their selectors ready for use, by namespace.
 * Ownership: owns copies; made anew when a budget has changed.
 * Threading: budgets_refresh on the engine's thread; then read by any.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_BUDGETS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_BUDGETS_H

#include "engine/group/group_preemption.h"
#include "engine/index/cluster.h"

struct budgets {
    struct arena arena;
    struct map by_namespace; /* to struct budget_list */
    uint64_t seen;           /* of the objects' changes, + 1 */
};

void budgets_init(struct budgets *b);
void budgets_release(struct budgets *b);
/* Brings them up to date. What budgets say of pods is then true until objects change. */
void budgets_refresh(struct budgets *b, const struct objects *objects);
/*
 * If these pods left, one after the other: which of them would leave a budget with less than it
 * allows? Moves those to the front; both parts keep their order. Gives their number.
 */
size_t budgets_split(const struct budgets *b, pod_list *pods);
/*
 * The same for victims that leave as a whole. As upstream has it, the first budget that a victim
 * violates is the last that is charged for it.
 */
size_t budgets_split_victims(const struct budgets *b, struct group_victim **victims, size_t n);
/* Is any of them about the pod? */
bool budgets_have(const struct budgets *b, const struct berth_pod *pod);

#endif
