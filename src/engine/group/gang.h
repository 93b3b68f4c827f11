/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang.h - what GangScheduling does to the other members of a pod's group.
 *
 * Purpose:   activates and allows members directly, by the pod, instead of searching all waiting
 *            pods as the ABI's functions do.
 *
 *            And what upstream lacks, behind the gate BerthGangsHoldNothing. Members that Permit
 *            holds until the gang is complete hold their nodes as well. If another member is
 *            deleted or not placed, upstream holds them for five minutes; with the gate, a gang
 *            with fewer members than it needs gives up its nodes at once. All of it is tried
 *            together when a member is tried again. Nominated nodes of its members are given up
 *            too: upstream keeps them while there are too few members to try, or for ever.
 * Ownership: borrows all.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GANG_H
#define BERTH_ENGINE_GROUP_GANG_H

#include "engine/group/group_run.h"

/* Moves the pod to the activeQ, unless a PreEnqueue plugin gates it. */
void gang_activate(const struct berth_handle *h, const struct berth_pod *pod);
/* This plugin no longer holds the pod in Permit. */
void gang_allow(const struct berth_handle *h, const struct berth_pod *pod);

/* --- for the engine: BerthGangsHoldNothing ---------------------------------------------------- */

/* The pod was deleted (event_handlers.c), or its binding failed (engine_settle in engine.c). */
void gang_lost_member(struct groups *g, const struct pod *pod);
/* A waiting pod was updated: an earlier write may have nominated a node. */
void gang_nominated(struct groups *g, const struct pod *pod);
/* The PodGroup was deleted. */
void gang_lost_group(struct groups *g, const struct object_meta *group);
/* All members of the group under way have been submitted. */
void gang_submitted(struct groups *g);

#endif
