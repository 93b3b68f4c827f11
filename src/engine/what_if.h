/* SPDX-License-Identifier: Apache-2.0 */
/*
 * what_if.h - would the pod fit, if other pods came to the node or left it?
 *
 * Purpose:   a copy of one node and of the plugins' cycle state to play with (upstream: AddPod and
 *            RemovePod of PreFilter). Nominated pods are added to it before a filter's first pass;
 *            preemption takes victims away from it.
 * Ownership: owns its copies; what_if_release gives them back. Cycle, pod and node are borrowed.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_WHAT_IF_H
#define BERTH_ENGINE_WHAT_IF_H

#include "engine/cycle.h"

struct what_if {
    struct berth_cycle *cycle; /* clone */
    struct berth_node *node;   /* clone */
    const struct berth_pod *pod;
    struct berth_status *status; /* takes the reasons of what fails */
};

void what_if_init(struct what_if *w, const struct berth_cycle *cycle, const struct berth_pod *pod,
                  const struct berth_node *node, struct berth_status *status);
void what_if_release(struct what_if *w);
/* False where a plugin broke: status holds the whole text. other must be on the node to leave it.
 */
bool what_if_add(struct what_if *w, struct berth_pod *other);
bool what_if_remove(struct what_if *w, struct berth_pod *other);
/* The filters' verdict on the node as it would be. *ret_plugin: who refused. */
enum berth_code what_if_filter(const struct what_if *w, const struct berth_handle **ret_plugin);

#endif
