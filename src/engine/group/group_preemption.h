/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_preemption.h - room for a whole group by the departure of others (upstream: workload-aware
 * preemption, PodGroupEvaluator).
 *
 * Purpose:   where WorkloadAwarePreemption is on, members of a group do not preempt one by one.
 *            When the group as a whole has found no place, everybody of lower priority leaves the
 *            whole cluster in a dry run; if the group fits then, as many as possible come back, the
 *            most important first, and the group is tried anew with each of them. Who cannot come
 *            back is evicted. A victim is a pod, or a whole PodGroup whose disruptionMode says so.
 *
 *            The tries happen in one go on the cache itself, which is as it was when they end.
 *            Extenders are not asked in them: an answer would take until another cluster is there.
 *            (Upstream asks, and holds up the scheduler for each answer.) They have their say when
 *            the group is tried again after its victims are gone.
 * Ownership: all of it lives in the group's cycle. Policies are the plugins'.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_PREEMPTION_H
#define BERTH_ENGINE_GROUP_GROUP_PREEMPTION_H

#include "engine/cache/node_info.h"

struct berth_handle;
struct engine;

/* Leaves as a whole, or stays. */
struct group_victim {
    pod_list pods;    /* no references; at least one, in the order in which they were found */
    int32_t priority; /* of the pod, or of the PodGroup */
    int64_t start;    /* of the first pod, ns; INT64_MAX: it has not started */
    size_t index;     /* in the order in which victims were found */
    bool away;        /* off its nodes */
};

/* What the plugin that preempts for pods knows, for groups. */
struct group_preemption_policy {
    void *ctx;
    /*
     * Which of them would violate a budget, if they left one after the other? Moves those to the
     * front; both parts keep their order. Gives their number.
     */
    size_t (*split)(void *ctx, struct group_victim **victims, size_t n);
};

/* For a plugin's create: groups of its profile may preempt. policy outlives the handle. */
void group_preemption_offer(struct berth_handle *h, const struct group_preemption_policy *policy);
/* For its pre_enqueue: are the victims of the group not on their way yet? uid: of the PodGroup. */
bool group_preemption_blocks(const struct berth_handle *h, struct str uid);

/* --- for the engine --------------------------------------------------------------------------- */

/*
 * The group under way is unschedulable, all of it has been taken back. Its outcome and text become
 * what comes of preemption. True: the group has to wait for victims, group_preemption_evicted
 * follows.
 */
bool group_preempt(struct engine *engine);
/* The victims that the group waited for have left; error: why one has not. */
void group_preemption_evicted(struct engine *engine, struct str error);

#endif
