/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preemption.h - room for a pod by evicting others (upstream: preemption.Evaluator).
 *
 * Purpose:   what plugins that preempt share: the nodes that preemption may help, a dry run on
 *            each until enough candidates are found, the extenders that preempt, the best
 *            candidate, and its eviction. The plugin's policy decides which pods are reprieved on a
 *            node. Every function returns its result; while an attempt waits for extenders or
 *            evictions, the state is attached to its cycle.
 * Ownership: the cycle owns a preemption under way, which holds references on victims.
 * Threading: the engine's thread; dry runs also on the pool's, with the same outcome for any number
 *            of threads.
 */
#ifndef BERTH_ENGINE_PREEMPT_PREEMPTION_H
#define BERTH_ENGINE_PREEMPT_PREEMPTION_H

#include "engine/cycle/what_if.h"
#include "engine/ports/extender.h"
#include "engine/preempt/candidate.h"

/* The pods to evict from a node. */
struct victims {
    pod_list pods; /* no references; the most important first */
    int64_t pdb_violations;
    /* Input: these are reprieved before others of their priority. NULL: no preference. */
    const pod_list *spare;
};

/* What differs between plugins that preempt, besides their victims. Constant. */
struct preemption_style {
    const char *logger; /* of log lines: PREEMPTION_LOGGER sets it, and */
    const char *scope;  /* what precedes the loggers of plugins that are called meanwhile */
    const char *prefix; /* of the texts of a status */
    /* The attempt waits for the evictions, whatever SchedulerAsyncPreemption says. */
    bool awaited;
    bool from_first; /* the dry runs begin with the first node, not with a random one */
};

#define PREEMPTION_LOGGER(plugin) .logger = "PostFilter." plugin, .scope = "PostFilter." plugin "."

struct preemption_policy {
    const void *ctx;
    const struct preemption_style *style;
    /* How many candidates are enough: a share of the nodes that could be helped, and a minimum. */
    int64_t min_percentage, min_absolute;
    /*
     * The dry run on a node; starts with what_if_begin. Success with at least one victim, or a
     * rejection with reasons in what_if.status. Any thread: changes only its arguments.
     */
    enum berth_code (*select)(const void *ctx, struct what_if *what_if,
                              const struct berth_cycle *cycle, const struct berth_node *node,
                              struct victims *ret_victims);
    /*
     * If no node is helped by evicting its own pods: a node that is helped by evicting pods of
     * other nodes as well, NULL if none. The engine's thread. widen NULL: not supported.
     */
    const struct berth_node *(*widen)(const void *ctx, const struct berth_cycle *cycle,
                                      const struct berth_node *const *nodes, size_t n,
                                      struct victims *ret_victims);
};

/* The pod is not eligible; why: with the prefix of the style. */
enum berth_code preemption_refuse(const struct berth_handle *handle,
                                  const struct preemption_style *style, const struct berth_pod *pod,
                                  const char *why, struct berth_status *status);
/*
 * The work of a post_filter. BERTH_ASYNC: the attempt waits for extenders or evictions. The policy
 * is not used afterwards.
 */
enum berth_code preemption_run(struct berth_cycle *cycle, const struct berth_handle *handle,
                               const struct preemption_policy *policy, struct berth_status *status);
/* For a plugin's pre_enqueue: whether the evictions for the pod are still being written. */
bool preemption_blocks(const struct berth_handle *handle, const struct berth_pod *pod);
/* The newest version of the attempt's pod. */
struct berth_pod *preemption_pod(const struct berth_cycle *cycle);
/* The pod's nominated node, whether it is written yet or not; empty: none. */
struct str preemption_nominated_node(const struct berth_cycle *cycle, const struct berth_pod *pod);
/*
 * Whether the pod fits on its nominated node now, although the filters refused it before extenders
 * were called. Upstream works on a snapshot and does not see such a change.
 */
bool preemption_node_has_room(struct berth_cycle *cycle, const struct berth_pod *pod,
                              const struct berth_node *nominated);
/* The node of that name; NULL if there is none. */
const struct berth_node *preemption_node(const struct berth_cycle *cycle, struct str name);

/* --- for the engine --------------------------------------------------------------------------- */

/*
 * The answer of the extender that the attempt waits for. BERTH_ASYNC: it still waits, for the next
 * extender or for victims; otherwise the PostFilter plugin's verdict, with reasons in *status.
 */
enum berth_code preemption_answer(struct berth_cycle *cycle, const struct extender_result *result,
                                  struct berth_status *status);
/* The eviction that the attempt waits for has ended; error: why it failed, empty: it did not. */
enum berth_code preemption_evicted(struct berth_cycle *cycle, struct str error,
                                   struct berth_status *status);
/*
 * BerthGangPreemption: the group of the cycle's pod will fit, so the victims that were held back
 * are evicted. evicted: victims of other members, by UID, which are skipped; these are added.
 */
void preemption_carry_out(struct berth_cycle *cycle, struct map *evicted);

#endif
