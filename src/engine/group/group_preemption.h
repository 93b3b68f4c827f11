/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_preemption.h - room for a whole group by evicting others (upstream: workload-aware
 * preemption, PodGroupEvaluator).
 *
 * Purpose:   if WorkloadAwarePreemption is on, members of a group do not preempt one by one. When
 *            the group found no place, all victims of lower priority are removed from the cluster
 *            in a dry run; if the group fits then, as many as possible are reprieved, the most
 *            important first, and the group is tried anew with each of them. The others are
 *            evicted. A victim is a pod, or a whole PodGroup whose disruptionMode says so.
 *
 *            The dry runs happen in one go on the cache itself, which is restored at the end.
 *            Extenders are not called in them: the cluster would change while they answer.
 *            (Upstream calls them, and blocks the scheduler for each answer.) They are called when
 *            the group is tried again after its victims are gone.
 * Ownership: all of it lives in the group's cycle. Policies belong to plugins.
 * Threading: the engine's thread.
 *
 * Invariant: after group_preempt every pod is on the node, and in the order, in which it was.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_PREEMPTION_H
#define BERTH_ENGINE_GROUP_GROUP_PREEMPTION_H

#include "engine/group/group_run.h"

/* Pods that are evicted together or not at all. */
struct group_victim {
    pod_list pods;    /* no references; at least one, in the order in which they were found */
    int32_t priority; /* of the pod, or of the PodGroup */
    int64_t start;    /* of the first pod, ns; INT64_MAX: it has not started */
    size_t index;     /* in the order in which victims were found */
    bool away;        /* off its nodes */
};

/* What DefaultPreemption decides for groups. */
struct group_preemption_policy {
    void *ctx;
    /*
     * Moves the victims whose eviction would violate a budget, counted one after the other, to
     * the front; both parts keep their order. Returns their number.
     */
    size_t (*split)(void *ctx, struct group_victim **victims, size_t n);
};

/* For a plugin's create: lets groups of its profile preempt. policy must outlive the handle. */
void group_preemption_offer(struct berth_handle *h, const struct group_preemption_policy *policy);
/* For its pre_enqueue: whether evictions for the PodGroup with this uid are being written. */
bool group_preemption_blocks(const struct berth_handle *h, struct str uid);

/* --- for group_cycle.h ------------------------------------------------------------------------ */

/*
 * The group under way is unschedulable and undone. Preemption sets the outcome and text of
 * cycle.run. Returns true if the group must wait for evictions: group_preempted follows.
 */
bool group_preempt(struct groups *g);
/* Sets outcome and text after preemption, or after the evictions that the group waited for. */
void group_preempted(struct group_run *run, enum berth_code code, struct str text);

#endif
