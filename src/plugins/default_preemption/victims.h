/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victims.h - the pods to evict from a node so that a pod fits (upstream: SelectVictimsOnNode).
 *
 * Purpose:   a dry run removes all pods of lower priority; if the pod fits then, as many as
 * possible are reprieved: first those that would violate a budget, each part in order of
 *            importance.
 * Ownership: see engine/preempt/preemption.h.
 * Threading: any thread; writes only to its arguments.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_VICTIMS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_VICTIMS_H

#include "engine/ports/engine_log.h"
#include "engine/preempt/preemption.h"
#include "plugins/default_preemption/budgets.h"

struct victim_rules {
    const struct berth_pod *pod; /* the preemptor */
    const struct budgets *budgets;
    berth_reason none; /* no pod has a lower priority */
    struct cluster *cluster;
    const struct engine_log *log;
};

/* Is it terminating by preemption (upstream: podTerminatingByPreemption)? */
bool pod_leaves_by_preemption(const struct berth_pod *pod);

/* struct preemption_policy's select; ctx is a struct victim_rules. */
enum berth_code victims_select(const void *ctx, struct what_if *what_if,
                               const struct berth_cycle *cycle, const struct berth_node *node,
                               struct victims *ret_victims);

#endif
