/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_node_preemption.h - preemption over several nodes: the feature gate BerthWidePreemption.
 *
 * Purpose:   upstream only ever lets pods of one node leave, in the hope for that same node. A pod
 *            that must be far from others in its zone, or spread over zones, may wait for ever
 *            though one pod on the node next door is all that stands in its way. Where ordinary
 *            preemption finds no candidate this looks for the cheapest victims on several nodes
 *            with which the pod fits one of them: fewest budgets violated, lowest highest priority,
 *            lowest sum of priorities, fewest victims, as the rules among nodes have it
 *            (engine/candidate.h). Off by default, since it evicts where upstream does not.
 *
 *            The search is exact (branch and bound) among the pods of lower priority on the node
 *            and those elsewhere that a cross_term with the waiting pod makes matter
 * (cross_terms.h). What does not fit the limits below is not found: the pod waits, as it does
 * without the gate. Ownership: nothing is kept. Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_PREEMPTION_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_PREEMPTION_H

#include "plugins/default_preemption/victims.h"

#define WIDE_MAX_NODES 256   /* are searched; the rest is not looked at */
#define WIDE_MAX_PODS  256   /* of a node's search: the least important ones */
#define WIDE_MAX_STEPS 50000 /* of the whole: a dry run, or a pod that leaves in one */
#define WIDE_MAX_NODE_STEPS \
    10000 /* of one node's; one that is not through by then has no victims */

/* A struct preemption_policy's widen; ctx is a struct victim_rules. */
const struct berth_node *cross_node_preemption_find(const void *ctx,
                                                    const struct berth_cycle *cycle,
                                                    const struct berth_node *const *nodes, size_t n,
                                                    struct victims *ret_victims);

/* Does a pod on another node, that is leaving by preemption, still keep the pod off this one? */
bool cross_node_preemption_waits(struct cluster *cluster, const struct berth_pod *pod,
                                 const struct berth_node *node);

#endif
