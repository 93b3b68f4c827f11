/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victims.h - the pods to evict from a node so that a pod fits (upstream: SelectVictimsOnNode).
 *
 * Purpose:   a dry run removes all pods of lower priority, or those that the plugin's hooks allow;
 *            if the pod fits then, as many as possible are reprieved: first those that would
 *            violate a budget, each part in order of importance.
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
    berth_reason none; /* no pod may be evicted; 0: a text with the names of node and pod */
    struct cluster *cluster;
    const struct engine_log *log;
    const char *logger;
    const struct victim_hooks *hooks; /* NULL: DefaultPreemption's rules */
    const void *ctx;                  /* of the hooks */
};

/*
 * The rules of other plugins that preempt. Every function may run on any thread; `cycle` has the
 * plugins' state of the dry run.
 */
struct victim_hooks {
    /*
     * Whether a pod of the node may be evicted: BERTH_SUCCESS, BERTH_SKIP, or BERTH_ERROR with a
     * text in *status. The pods before it that may be are removed already.
     */
    enum berth_code (*may_evict)(const struct victim_rules *rules, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, struct berth_status *status);
    bool least_important_first; /* the order in which may_evict is asked; else as on the node */
    /*
     * Optional. The preemptor passes the filters without all these pods: why it may not run
     * nevertheless; NULL: it may.
     */
    const char *(*why_not)(const struct victim_rules *rules, const struct berth_cycle *cycle);
    /* Optional. The preemptor fits with a pod that was put back: whether that pod may stay. */
    bool (*may_stay)(const struct victim_rules *rules, const struct berth_cycle *cycle);
};

/* Is it terminating by preemption (upstream: podTerminatingByPreemption)? */
bool pod_leaves_by_preemption(const struct berth_pod *pod);

/* struct preemption_policy's select; ctx is a struct victim_rules. */
enum berth_code victims_select(const void *ctx, struct what_if *what_if,
                               const struct berth_cycle *cycle, const struct berth_node *node,
                               struct victims *ret_victims);

#endif
