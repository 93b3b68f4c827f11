/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_run.h - the members of a group, tried one after the other on the nodes of one placement.
 *
 * Purpose:   the result of each member and of the group. A member that fits is assumed on its node,
 *            with Reserve and Permit, so that the next one sees it there; when all were tried, all
 *            of it is undone. group_cycle.h decides which members are tried, and where.
 * Ownership: a run owns the cycles, failures and assumed pods of its tries; queued pods are
 *            borrowed from the group's cycle. {0} is an empty run; runs are moved by assignment.
 * Threading: the engine's thread.
 *
 * Invariant: between two runs no member is assumed.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_RUN_H
#define BERTH_ENGINE_GROUP_GROUP_RUN_H

#include "engine/bind/binding.h"
#include "engine/group/placements.h"
#include "engine/preempt/eviction.h"

#define GROUP_UNSCHEDULABLE_TEXT "pod group is unschedulable"

/* The result of one member. */
struct group_try {
    struct berth_queued_pod *queued;
    struct berth_cycle *cycle;    /* NULL: it was not tried */
    struct cycle_failure failure; /* if it did not fit */
    struct berth_pod *assumed;    /* on the node that it would get; NULL: not, or undone */
    struct str node_name;         /* in the cycle's arena; empty: none */
    bool fits;
    bool preempts;         /* it does not fit, but has a node once its victims are gone */
    struct buf permit;     /* why Permit holds it; empty: it does not */
    int64_t began, lasted; /* ns */
};

enum group_outcome {
    GROUP_UNSCHEDULABLE,
    GROUP_SCHEDULABLE,
    GROUP_PREEMPTS, /* schedulable once the victims of its members are gone */
    GROUP_BROKE,    /* a plugin or extender failed */
};

/* All members, tried on the nodes of one placement. */
struct group_run {
    VEC(struct group_try) tries; /* in the order of members; fewer if something failed */
    enum group_outcome outcome;
    bool preempts;   /* one of them does */
    struct buf text; /* why the group is not schedulable */
};

/*
 * The cycle of the group under way (upstream: pod group scheduling cycle): group_cycle.h.
 */
struct group_cycle {
    bool active;
    struct str namespace, name; /* owned */
    struct profile *profile;
    struct berth_cycle *cycle;              /* of the group as a whole; keeps the profile alive */
    VEC(struct berth_queued_pod *) members; /* in the order in which they are tried */
    int64_t started;                        /* ns */
    struct group_run run;                   /* under way, or the one that counts */
    bool waits;                             /* for victims to be evicted; the outcome is known */

    bool by_placement; /* the rest is for that */
    struct berth_placements placements;
    size_t placement;               /* the one under way */
    VEC(struct group_run) workable; /* schedulable ones, or those that preempt */
    VEC(struct berth_placement) workable_on;
    struct group_run first; /* its text is reported if no placement works */
};

/* The room: one group is scheduled at a time. */
struct groups {
    struct framework *framework;
    struct cycles *cycles;
    struct queue *queue;
    struct bindings *bindings;
    struct evictions *evictions;
    const struct report *report;
    struct group_cycle cycle;
};

/* Log key of a group. */
#define KV_GROUP(g) KV_REF("podGroup", (g)->namespace, (g)->name)

/* Starts g->cycle.run. */
void group_run_begin(struct groups *g);
/* A new cycle for a member of the group, limited to the placement under way. */
struct berth_cycle *group_run_new_cycle(struct groups *g, struct berth_queued_pod *member);
/*
 * The next member, which becomes the last of the run's tries; NULL if all were tried or something
 * failed. A member that was deleted since is skipped.
 */
struct berth_queued_pod *group_run_next(struct groups *g);
/* The result of that member's attempt. Both take over the cycle. */
void group_run_failed(struct groups *g, struct berth_cycle *cycle, struct cycle_failure *failure);
void group_run_placed(struct groups *g, struct berth_cycle *cycle, const struct berth_node *node);
/* Undoes assume and Reserve of all members, the last first. */
void group_run_undo(struct groups *g, struct group_run *run);
/* Frees it; members must have been undone. It is empty afterwards. */
void group_run_release(struct group_run *run);

/* Upstream's text if none of n placements works. */
void group_placements_text(size_t n, struct buf *out);

#endif
