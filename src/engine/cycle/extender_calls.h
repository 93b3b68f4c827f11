/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_calls.h - the extender calls of the attempt under way, and their answers.
 *
 * Purpose:   remembers which calls have no answer yet, and turns answers into verdicts and scores
 *            of the feasible nodes.
 * Ownership: calls are kept in struct cycles; verdicts and scores are in the cycle's arena.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_EXTENDER_CALLS_H
#define BERTH_ENGINE_CYCLE_EXTENDER_CALLS_H

#include "engine/cycle/cycle.h"
#include "engine/framework/setup.h"

/* Calls an extender, by its index in the cycle's setup; fills in the call's id. */
void extender_calls_add(struct berth_cycle *cycle, size_t extender, struct extender_call *call);
/* The same about all feasible nodes. */
void extender_calls_add_nodes(struct berth_cycle *cycle, const struct berth_pod *pod,
                              size_t extender, enum extender_verb verb);
/* Removes the call with this id. Returns false if it is not one of these. */
bool extender_calls_take(struct cycles *cycles, uint64_t id, struct extender_wait *ret_wait);

/*
 * The verdict of a filter answer on each feasible node. Returns false if the answer is an error, or
 * keeps a node that it was not given: *error.
 */
bool extender_calls_verdicts(struct berth_cycle *cycle, const struct engine_extender *extender,
                             const struct extender_result *result, struct verdict *verdicts,
                             struct buf *error);
/* Stores the scores of a prioritize answer. */
void extender_calls_scores(struct berth_cycle *cycle, size_t extender,
                           const struct extender_result *result);
/* All answers have come: adds the weighted scores to the totals. */
void extender_calls_add_scores(struct berth_cycle *cycle);

#endif
