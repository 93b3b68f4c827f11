/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.h - would the pod fit, if other pods came to the node or left it?
 *
 * Purpose:   a copy of one node and of the plugins' cycle state to play with (upstream: AddPod and
 *            RemovePod of PreFilter). Nominated pods are added to it before a filter's first pass;
 *            preemption takes victims away from it. One of these serves for many nodes, one after
 *            the other, and uses its memory again.
 * Ownership: owns its copies, which borrow what the originals hold; what_if_release gives them
 *            back. Cycle, pod, nodes and the pods that come and go are borrowed.
 * Threading: one thread at a time; several may ask about the same cycle, each with its own.
 */
#ifndef BERTH_ENGINE_CYCLE_WHAT_IF_H
#define BERTH_ENGINE_CYCLE_WHAT_IF_H

#include "engine/cycle/cycle.h"

struct what_if {
    struct berth_cycle cycle; /* a copy whose state is its own where plugins copy theirs */
    struct berth_node node;   /* a copy that borrows */
    const struct berth_pod *pod;
    struct berth_status *status;    /* takes the reasons of what fails */
    struct what_if *with_nominated; /* the same, with nominated pods; NULL: never asked for */
    bool asked;                     /* plugins have been told of somebody who comes or goes */
    /* Whom the node is promised to; NULL: to nobody whom the pod has to respect. */
    const struct nominated_node *nominated;
};

/* Nothing to ask about yet: what_if_begin. */
void what_if_init(struct what_if *w, const struct berth_pod *pod, struct berth_status *status);
void what_if_release(struct what_if *w);
/* The node as it is, and the state as it is. */
void what_if_begin(struct what_if *w, const struct berth_cycle *cycle,
                   const struct berth_node *node);
/* False where a plugin broke: status holds the whole text. other must be on the node to leave it.
 */
bool what_if_add(struct what_if *w, struct berth_pod *other);
bool what_if_remove(struct what_if *w, struct berth_pod *other);
/*
 * The same on any node, which is told to the plugins alone where it is another. A pod may be added
 * after all that are removed, not before: what PodTopologySpread knows of the emptiest domains
 * bears that the pods of several become fewer, then one's more.
 */
bool what_if_add_to(struct what_if *w, struct berth_pod *other, const struct berth_node *node);
bool what_if_remove_from(struct what_if *w, struct berth_pod *other, const struct berth_node *node);
/* The pods that the node is promised to, and that the pod has to respect, come. False as above. */
bool what_if_add_nominated(struct what_if *w);
/* The filters' verdict on the node as it would be. *ret_plugin: who refused; NULL: nobody did, or a
 * plugin broke while it was told of nominated pods. */
enum berth_code what_if_filter(struct what_if *w, const struct berth_handle **ret_plugin);
/*
 * The same with nominated pods counted as upstream does: with those that the pod has to respect,
 * and if there are any once more without.
 */
enum berth_code what_if_filter_nominated(struct what_if *w, const struct berth_handle **ret_plugin);

/* Is the node promised to others that the pod has to respect? */
bool what_if_has_nominated(const struct engine *engine, const struct berth_pod *pod,
                           const struct berth_node *node);

#endif
