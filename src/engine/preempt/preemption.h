/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preemption.h - room for a pod by the departure of others (upstream: the preemption's Evaluator).
 *
 * Purpose:   what all plugins that preempt have in common: the nodes that could be helped, a dry
 *            run on each until enough candidates are found, the extenders' opinion, the best
 *            candidate, and its eviction. Whom to spare on a node is the plugin's policy.
 * Ownership: one that is under way belongs to its cycle and holds references on victims.
 * Threading: the engine's thread; dry runs also on the pool's, with the same outcome for any number
 *            of threads.
 */
#ifndef BERTH_ENGINE_PREEMPT_PREEMPTION_H
#define BERTH_ENGINE_PREEMPT_PREEMPTION_H

#include "engine/cycle/what_if.h"
#include "engine/ports/extender.h"
#include "engine/preempt/candidate.h"

/* Who would have to leave a node. */
struct victims {
    pod_list pods; /* no references; the most important first */
    int64_t pdb_violations;
    /* Given: these come back before others of their priority. NULL: none in particular. */
    const pod_list *spare;
};

struct preemption_policy {
    const void *ctx;
    /* So many candidates will do: of the nodes that could be helped, at least. */
    int64_t min_percentage, min_absolute;
    /*
     * The dry run on a node, which begins with what_if_begin. Success with at least one victim, or
     * why not, with reasons in what_if.status. Any thread: changes nothing but what it is given.
     */
    enum berth_code (*select)(const void *ctx, struct what_if *what_if,
                              const struct berth_cycle *cycle, const struct berth_node *node,
                              struct victims *ret_victims);
    /*
     * Where no node is helped by the leaving of its own pods: which of these is, if pods of other
     * nodes leave as well? The engine's thread; NULL: none is. widen NULL: that is not asked.
     */
    const struct berth_node *(*widen)(const void *ctx, const struct berth_cycle *cycle,
                                      const struct berth_node *const *nodes, size_t n,
                                      struct victims *ret_victims);
};

/*
 * A post_filter's work. BERTH_ASYNC: the attempt has to wait for extenders or for writes. ctx of
 * the policy is not used afterwards.
 */
enum berth_code preemption_run(struct berth_cycle *cycle, const struct berth_handle *handle,
                               const struct preemption_policy *policy, struct berth_status *status);
/* For a plugin's pre_enqueue: are the pod's victims not on their way yet? */
bool preemption_blocks(const struct berth_handle *handle, const struct berth_pod *pod);
/* The newest version of the pod that the attempt is about. */
struct berth_pod *preemption_pod(const struct berth_cycle *cycle);
/* The node that the pod is promised, whether that has been written already or not; empty: none. */
struct str preemption_nominated_node(const struct berth_cycle *cycle, const struct berth_pod *pod);
/*
 * Has the promised node, which the filters refused, got room for the pod while extenders were asked
 * about others? Upstream does not know yet: it works on the cluster as it was.
 */
bool preemption_node_has_room(struct berth_cycle *cycle, const struct berth_pod *pod,
                              const struct berth_node *promised);
/* What the filters say of the node of that name; NULL: there is none. */
const struct berth_node *preemption_node(const struct berth_cycle *cycle, struct str name);

/* --- for the engine --------------------------------------------------------------------------- */

/* The answer of the extender that was asked last. */
void preemption_answer(struct engine *engine, const struct extender_result *result);
/* The victims that an attempt waited for have left; error: why one has not. */
void preemption_evicted(struct engine *engine, struct str error);
/*
 * BerthGangPreemption: the group that the cycle's pod belongs to will fit, so that the victims
 * which were held back until then are evicted. told: those whom another member's preemption has
 * evicted already, by UID, and these from now on.
 */
void preemption_carry_out(struct berth_cycle *cycle, struct map *told);
/* NULL is fine. */
void preemption_release(struct preemption *preemption);

#endif
