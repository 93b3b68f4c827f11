/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.h - would the pod fit if other pods were added to the node, or removed from it?
 *
 * Purpose:   a copy of one node and of the plugins' cycle state to change (upstream: AddPod and
 *            RemovePod of PreFilter). Nominated pods are added to it before the first filter pass;
 *            preemption removes victims from it. One struct serves many nodes in turn and reuses
 *            its memory.
 * Ownership: owns its copies, which borrow what the originals hold; what_if_release frees them.
 *            Cycle, pod, nodes and the pods that are added and removed are borrowed.
 * Threading: one thread at a time; several threads may use the same cycle, each with its own.
 */
#ifndef BERTH_ENGINE_CYCLE_WHAT_IF_H
#define BERTH_ENGINE_CYCLE_WHAT_IF_H

#include "engine/cycle/cycle.h"

struct what_if {
    struct berth_cycle cycle; /* a copy whose state is its own where plugins copy theirs */
    struct berth_node node;   /* a copy that borrows */
    const struct berth_pod *pod;
    struct berth_status *status;    /* reasons of a failure */
    struct what_if *with_nominated; /* the same with nominated pods; NULL: not used yet */
    bool asked;                     /* AddPod or RemovePod has run */
    /* The pods nominated to the node; NULL if none of them counts for the pod. */
    const struct nominated_node *nominated;
};

/* what_if_begin must follow before anything else. */
void what_if_init(struct what_if *w, const struct berth_pod *pod, struct berth_status *status);
void what_if_release(struct what_if *w);
/* Copies the node and the plugins' state as they are. */
void what_if_begin(struct what_if *w, const struct berth_cycle *cycle,
                   const struct berth_node *node);
/* Return false if a plugin failed; status has the whole text. A removed pod must be on the node. */
bool what_if_add(struct what_if *w, struct berth_pod *other);
bool what_if_remove(struct what_if *w, struct berth_pod *other);
/*
 * The same on any node; on another node only the plugins are called. All removals come before the
 * first addition: PodTopologySpread's minimum supports several removals, then one addition.
 */
bool what_if_add_to(struct what_if *w, struct berth_pod *other, const struct berth_node *node);
bool what_if_remove_from(struct what_if *w, struct berth_pod *other, const struct berth_node *node);
/* Adds the nominated pods that count for the pod. Returns false as above. */
bool what_if_add_nominated(struct what_if *w);
/*
 * Runs the filters on the changed node. *ret_plugin: the plugin that refused; NULL if none did, or
 * if AddPod of a nominated pod failed.
 */
enum berth_code what_if_filter(struct what_if *w, const struct berth_handle **ret_plugin);
/*
 * The same with nominated pods, as upstream does: once with those that count for the pod, and if
 * there are any once more without.
 */
enum berth_code what_if_filter_nominated(struct what_if *w, const struct berth_handle **ret_plugin);

/* Whether a pod that counts for this one is nominated to the node. */
bool what_if_has_nominated(const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node);

#endif
