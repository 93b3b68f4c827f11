/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang.h - what GangScheduling does to the other members of a pod's group.
 *
 * Purpose:   the two things that no plugin may do to pods in general, by the pod itself rather than
 *            by going through all that wait.
 *
 *            And what upstream lacks, behind the gate BerthGangsHoldNothing: members that Permit
 *            holds until the gang is complete hold their nodes as well. If one of the others is
 *            deleted, or does not come after all, upstream lets them sit there for five minutes;
 *            with the gate, a gang that has fewer than it needs gives up at once what it holds.
 *            All of it is tried together when one of its members is tried again. Nodes that its
 *            members have been promised are held as well: upstream keeps these promises for as
 *            long as there are too few members to try, or for ever.
 * Ownership: borrows all.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GANG_H
#define BERTH_ENGINE_GROUP_GANG_H

#include "engine/index/cluster.h"

struct engine;

/* To the active queue with it, unless a gate holds it. */
void gang_activate(const struct berth_handle *h, const struct berth_pod *pod);
/* This plugin no longer holds it in Permit, if it did. */
void gang_allow(const struct berth_handle *h, const struct berth_pod *pod);

/* --- for the engine: BerthGangsHoldNothing ---------------------------------------------------- */

/* The pod has been deleted, or has not got its node after all. */
void gang_lost_member(struct engine *engine, const struct pod *pod);
/* The pod, which waits, has changed: it may have been promised a node, by a write from before. */
void gang_nominated(struct engine *engine, const struct pod *pod);
/* The PodGroup has been deleted. */
void gang_lost_group(struct engine *engine, const struct object_meta *group);
/* All members of the group under way have been submitted. */
void gang_submitted(struct engine *engine);

#endif
