/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt.h - the attempt under way, from the pop of a pod to its binding (upstream: ScheduleOne).
 *
 * Purpose:   a state machine over the stages of a cycle. Each stage calls down into its room and
 *            returns the next stage; attempt_step in attempt.c is the whole of it:
 *
 *              pop ─ group? ─ PreFilter ─ Filter ─ extenders ─ Score ─ extenders ─ choose ─ bind
 *                                  └──────────┴────────┴─ PostFilter ─ failed: back to the queue
 *
 *            Without extenders an attempt runs in one go. There is one attempt at a time, as
 *            upstream has it: while it waits for an extender or an eviction, no other pod is
 *            popped. The cluster may change meanwhile: nodes that disappear are dropped, and a pod
 *            that is deleted ends its attempt.
 * Ownership: part of the engine; owns its cycle until the binding takes it over.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_ATTEMPT_H
#define BERTH_ENGINE_ATTEMPT_H

#include "engine/cycle/cycle.h"

struct engine;

enum attempt_stage {
    ATTEMPT_IDLE,               /* no attempt: the next pod may be popped */
    ATTEMPT_GROUP,              /* a group is under way: its next member, or its end */
    ATTEMPT_PRE_FILTER,         /* PreFilter, and which nodes it leaves */
    ATTEMPT_FILTER,             /* the nominated node; if it does not fit, all candidates */
    ATTEMPT_EXTENDER_FILTER,    /* extenders that filter, one after the other */
    ATTEMPT_SCORE,              /* PreScore and Score */
    ATTEMPT_EXTENDER_SCORE,     /* extenders that prioritize, all at once */
    ATTEMPT_TOTALS,             /* their scores are added */
    ATTEMPT_CHOOSE,             /* the best node; on to the binding */
    ATTEMPT_POST_FILTER,        /* no node fits: plugins may make room */
    ATTEMPT_POST_FILTER_ANSWER, /* a PostFilter plugin waits for extenders or evictions */
    ATTEMPT_FAILED,             /* reported, and back to the queue */
};

struct attempt {
    enum attempt_stage stage;
    struct berth_queued_pod *queued; /* NULL in ATTEMPT_IDLE and ATTEMPT_GROUP */
    struct berth_pod *pod;           /* as it was when it was popped */
    struct berth_cycle *cycle;
    struct cycle_failure failure;
    int64_t started;
    bool nominated_only;    /* the nominated node fits: it is the only candidate */
    bool nominated_refused; /* extenders refused that node: it is not tried again */
    size_t next_extender;   /* the next that may filter */
};

/* Pops a pod and attempts to schedule it. Returns false if no pod is ready or an attempt waits. */
bool attempt_schedule_one(struct engine *engine);
/* The answer to an extender call of the attempt. Returns false if it is not one of its calls. */
bool attempt_extender_done(struct engine *engine, uint64_t id,
                           const struct extender_result *result);
/* The eviction that the attempt or the group waits for has ended. */
void attempt_evicted(struct engine *engine, bool for_group, struct str error);
/* Ends the attempt, and its group's cycle, without a report. */
void attempt_release(struct engine *engine);

#endif
