/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt.h - the attempt under way, from the pod's popping to the choice of its node.
 *
 * Purpose:   strings the stages of a cycle together and keeps its place while extenders think:
 *
 *              filter      plugins, then the extenders that filter, one after the other; each sees
 *                          what the one before it left
 *              post_filter where no node is left: who could make room, extenders that preempt
 *                          included
 *              score       plugins, then the extenders that prioritize, all at once
 *              choice      on to binding.h, or back into the queue
 *
 *            Without extenders all of it happens in one go. There is one attempt at a time, as
 *            upstream has it: while one waits, no other pod is popped. The world goes on meanwhile:
 *            nodes that went away are out of the race, and a pod that went away is dropped.
 * Ownership: part of the engine; owns its cycle until the binding takes it over.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_ATTEMPT_H
#define BERTH_ENGINE_ATTEMPT_H

#include "engine/cycle/cycle.h"
#include "engine/ports/extender.h"

/* A question that an extender has not answered yet. */
struct extender_ask {
    uint64_t id;
    size_t extender; /* index in setup.extenders */
    enum extender_verb verb;
};

struct attempt {
    struct berth_queued_pod *queued; /* NULL: no attempt is under way */
    struct berth_pod *pod;           /* as it was when it was popped */
    struct berth_cycle *cycle;
    struct cycle_failure failure;
    int64_t started;
    bool nominated_only;    /* it is about the promised node alone */
    bool nominated_refused; /* extenders turned that node down: it is not tried again */
    size_t next_extender;   /* the next to ask whether it filters */
    VEC(struct extender_ask) asks;
};

void attempt_start(struct engine *engine, struct berth_queued_pod *queued, int64_t started);
/* The answer to one of its questions. False: it did not ask that. */
bool attempt_answer(struct engine *engine, uint64_t id, const struct extender_result *result);
/* Asks an extender, by its index in the setup; fills in the call's id. */
void attempt_ask(struct engine *engine, size_t extender, struct extender_call *call);
/* The PostFilter plugin that wanted time has an answer, with its reasons in engine.status. */
void attempt_post_filter_done(struct engine *engine, enum berth_code code);
/* Waits for an extender, or for victims to leave? A pod that is gone meanwhile waits no more. */
bool attempt_is_suspended(struct engine *engine);
void attempt_release(struct engine *engine);

#endif
