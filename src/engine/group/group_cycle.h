/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_cycle.h - the attempt to place a group of pods (upstream: pod group scheduling cycle).
 *
 * Purpose:   a pod that names a PodGroup is not popped alone: all of its group that waits is popped
 *            with it. One member after the other goes through an attempt of its own and is assumed
 *            on the node that it would get, so that the next one sees it there. When all were
 *            tried, all of it is taken back; then either every member that found a node goes on to
 *            its binding, or none does. With placements (placement.h) that is done once for each,
 *            and the best of those that work counts.
 *
 *            The group as a whole is schedulable when Permit says Success to one of its members:
 *            GangScheduling does so for the one that completes the quorum.
 * Ownership: part of the engine; owns its members until they are bound or back in the queue.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_CYCLE_H
#define BERTH_ENGINE_GROUP_GROUP_CYCLE_H

#include "engine/group/group_run.h"
#include "engine/group/placement.h"

/* What lines about a group carry. */
#define KV_GROUP(g) KV_REF("podGroup", (g)->namespace, (g)->name)

struct group_cycle {
    bool active;
    struct str namespace, name; /* owned */
    struct profile *profile;
    struct berth_cycle *cycle;              /* of the group as a whole; keeps the profile alive */
    VEC(struct berth_queued_pod *) members; /* in the order in which they are tried */
    int64_t started;                        /* ns */
    struct group_run run;                   /* under way, or the one that counts */
    bool trial;                             /* group_trial is under way */
    bool awaits;                            /* it is decided, and waits for victims to leave */

    bool by_placement; /* the rest is for that */
    struct berth_placements placements;
    size_t placement;               /* the one under way */
    VEC(struct group_run) workable; /* schedulable ones, or those that preempt */
    VEC(struct berth_placement) workable_on;
    struct group_run first; /* tells why, where none works */
};

/* Takes over a pod that was popped and names a group. */
void group_start(struct engine *engine, struct berth_queued_pod *queued, int64_t now);
/* Goes on where no attempt of a member is under way. */
void group_continue(struct engine *engine);
/* What has been decided is carried out, and the group's cycle is over. */
void group_finish(struct engine *engine);
/*
 * Would the members fit as the cluster is now? On behalf of a group that is decided already, and
 * that this changes nothing of. Nobody is asked to make room, and extenders are not asked.
 * *text: why not.
 */
enum group_outcome group_trial(struct engine *engine, struct buf *text);
/* Ends it without a word. */
void group_drop(struct engine *engine);

/* The only nodes on which its members are tried now; NULL: on all. */
struct berth_placement *group_placement(struct engine *engine);

#endif
