/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - what every plugin thinks of every node, for comparing berth with something else.
 *
 * Purpose:   an attempt asks the filters about a node until one refuses it. A survey goes on and
 *            asks all of them about all nodes, in their single form, then checks that the batch
 *            forms say the same; likewise for the scores of feasible nodes. The attempt is none
 *            the wiser. Where nobody wants surveys they cost one comparison an attempt.
 * Ownership: the cycle owns its survey. It is text from the start, since only people and tests
 *            read it: members of the attempt's JSON object, see survey_write.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_SURVEY_H
#define BERTH_ENGINE_EXPLAIN_SURVEY_H

#include "base/buf.h"
#include "engine/ports/abi.h"

struct survey {
    struct buf filters;  /* of "filters": a JSON object; empty: PreFilter left nothing to ask */
    struct buf disputes; /* of "disagreements": JSON objects, comma between */
};

struct survey *survey_free(struct survey *survey);

/* After PreFilter has succeeded. */
void survey_filters(struct berth_cycle *cycle, const struct berth_pod *pod);
/* After all scores are in. */
void survey_scores(struct berth_cycle *cycle, const struct berth_pod *pod);

/*
 * Appends ,"filters":{"asked":[PLUGIN…],"nodes":[{"name":NODE,"refused":[{"name":PLUGIN,"code":…,
 * "reasons":[…]}…]}…]} and ,"disagreements":[{"plugin":…,"node":…,"single":…,"batch":…}…]. Plugins
 * that PreFilter told to skip are not asked. NULL gives nothing.
 */
void survey_write(const struct survey *survey, struct buf *out);

#endif
