/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_node_preemption.h - preemption over several nodes: the feature gate BerthWidePreemption.
 *
 * Purpose:   upstream evicts pods of one node only, to place the pod on that node. A pod with
 *            anti-affinity or spread constraints over zones may wait for ever although one pod on
 *            another node is the only obstacle. If ordinary preemption finds no candidate, this
 *            searches for the cheapest victims on several nodes with which the pod fits one of
 *            them: fewest budget violations, lowest highest priority, lowest sum of priorities,
 *            fewest victims, as among nodes (engine/preempt/candidate.h). Off by default, since it
 *            evicts where upstream does not.
 *
 *            The search is exact (branch and bound) among the pods of lower priority on the node
 *            and the pods elsewhere that a cross-node term relates to it (cross_node_terms.h).
 *            Solutions beyond the limits below are not found: the pod waits, as without the gate.
 * Ownership: keeps nothing.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_PREEMPTION_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_CROSS_NODE_PREEMPTION_H

#include "plugins/default_preemption/victims.h"

#define CROSS_NODE_MAX_NODES      256   /* nodes that are searched */
#define CROSS_NODE_MAX_PODS       256   /* pods per node's search: the least important */
#define CROSS_NODE_MAX_STEPS      50000 /* steps in total: a dry run, or a pod removed in one */
/* Steps per node; a node whose search has not ended by then has no victims. */
#define CROSS_NODE_MAX_NODE_STEPS 10000

/* struct preemption_policy's widen; ctx is a struct victim_rules. */
const struct berth_node *cross_node_preemption_find(const void *ctx,
                                                    const struct berth_cycle *cycle,
                                                    const struct berth_node *const *nodes, size_t n,
                                                    struct victims *ret_victims);

/* Does a pod on another node that is terminating by preemption still exclude this node? */
bool cross_node_preemption_waits(struct cluster *cluster, const struct berth_pod *pod,
                                 const struct berth_node *node);

#endif
