/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_answer.h - what an extender's answer says of the feasible nodes.
 *
 * Purpose:   an answer (struct extender_result) is a list of names, in whatever order, and comes
 *            from outside; here it becomes a verdict, or a score, for each node that was asked
 * about. attempt.h decides who is asked and what follows. Ownership: what is made lives in the
 * cycle's arena; the result is borrowed. Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_EXTENDER_ANSWER_H
#define BERTH_ENGINE_CYCLE_EXTENDER_ANSWER_H

#include "engine/cycle/cycle.h"
#include "engine/ports/extender.h"

struct engine_extender;

/*
 * EXTENDER_FILTER: its word on every feasible node, into verdicts. False: it failed, or kept a node
 * that it was not asked about, and *error says so; then verdicts are as they were.
 */
bool extender_answer_verdicts(struct berth_cycle *cycle, const struct engine_extender *extender,
                              const struct extender_result *result, struct verdict *verdicts,
                              struct buf *error);
/*
 * EXTENDER_PRIORITIZE: the scores of that extender, by its index, become those in its row of
 * cycle.extender_scores. Who was scored has a lot in a tie: cycle.ties.
 */
void extender_answer_scores(struct berth_cycle *cycle, size_t extender,
                            const struct extender_result *result);
/* All that answer have: adds their scores to the totals. Rows of those that failed go. */
void extender_answer_add_scores(struct berth_cycle *cycle);

#endif
