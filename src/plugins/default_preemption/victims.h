/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victims.h - who has to leave a node so that a pod fits.
 *
 * Purpose:   all pods of lower priority leave in a dry run; if that helps, as many as possible come
 *            back: first those that budgets would rather keep, the most important first.
 * Ownership: see engine/preemption.h.
 * Threading: any; changes nothing but what it is given.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_VICTIMS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_VICTIMS_H

#include "engine/ports/engine_log.h"
#include "engine/preempt/preemption.h"
#include "plugins/default_preemption/budgets.h"

struct victim_rules {
    const struct berth_pod *pod; /* that needs the room */
    const struct budgets *budgets;
    berth_reason none; /* nobody is below it */
    struct cluster *cluster;
    const struct engine_log *log;
};

/* Has the scheduler asked it to leave, and it is on its way? */
bool pod_leaves_by_preemption(const struct berth_pod *pod);

/* A struct preemption_policy's select; ctx is a struct victim_rules. */
enum berth_code victims_select(const void *ctx, struct what_if *what_if,
                               const struct berth_cycle *cycle, const struct berth_node *node,
                               struct victims *ret_victims);

#endif
