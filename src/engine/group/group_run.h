/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_run.h - the members of a group tried on the nodes of one placement, one after the other.
 *
 * Purpose:   what came of each member, and what the group comes to by that. A member that found a
 *            node is assumed there, with Reserve and Permit, so that the next one sees it; when all
 *            were tried, all of it is taken back. group_cycle.h decides who is tried where.
 * Ownership: a run owns the cycles, failures and assumed pods of its tries; queued pods are
 * borrowed from the group's cycle. {0} is an empty run; runs are moved by assignment. Threading:
 * the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_RUN_H
#define BERTH_ENGINE_GROUP_GROUP_RUN_H

#include "engine/cycle/cycle.h"

#define GROUP_UNSCHEDULABLE_TEXT "pod group is unschedulable"

/* What came of one member. */
struct group_try {
    struct berth_queued_pod *queued;
    struct berth_cycle *cycle;    /* NULL: it was not tried */
    struct cycle_failure failure; /* where it did not fit */
    struct berth_pod *assumed;    /* on the node that it would get; NULL: on none, or taken back */
    struct str node_name;         /* in the cycle's arena; empty: none */
    bool fits;
    bool preempts;         /* others have to go first: then it does not fit, and has a node */
    struct buf permit;     /* why Permit holds it; empty: it does not */
    int64_t began, lasted; /* ns */
};

enum group_outcome {
    GROUP_UNSCHEDULABLE,
    GROUP_SCHEDULABLE,
    GROUP_PREEMPTS, /* will be schedulable once the victims of its members are gone */
    GROUP_BROKE,
};

/* All members, tried on the nodes of one placement. */
struct group_run {
    VEC(struct group_try) tries; /* in the order of members; fewer where something broke */
    enum group_outcome outcome;
    bool preempts;   /* one of them does */
    struct buf text; /* why it is not schedulable */
};

/* It is empty afterwards. Its members must have been taken back. */
void group_run_release(struct group_run *run);
/* All members leave the nodes that they were assumed on. */
void group_run_take_back(struct engine *engine, struct group_run *run);

/* The attempt of the member under way, the last try of the engine's run, is over; both take the
 * cycle. */
void group_take_failure(struct engine *engine, struct berth_cycle *cycle,
                        struct cycle_failure *failure);
void group_take_node(struct engine *engine, struct berth_cycle *cycle,
                     const struct berth_node *node);

#endif
