/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - every plugin's verdict on every node, for comparing berth with upstream.
 *
 * Purpose:   an attempt runs the filters on a node until one refuses it. A survey runs all of them
 *            on all nodes, in their single form, and checks that the batch forms agree; likewise
 *            for the scores of feasible nodes. It does not change the attempt. Surveys are off by
 *            default and then cost one comparison per attempt.
 * Ownership: the cycle owns its survey, which is text from the start: members of the attempt's JSON
 *            object, see survey_write.
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

/* After PreFilter has succeeded. */
void survey_filters(struct berth_cycle *cycle, const struct berth_pod *pod);
/* After all scores are in. */
void survey_scores(struct berth_cycle *cycle, const struct berth_pod *pod);

/*
 * Appends ,"filters":{"asked":[PLUGIN…],"nodes":[{"name":NODE,"refused":[{"name":PLUGIN,"code":…,
 * "reasons":[…]}…]}…]} and ,"disagreements":[{"plugin":…,"node":…,"single":…,"batch":…}…]. Plugins
 * that said Skip in PreFilter do not run. Without a survey nothing is appended.
 */
void survey_write(const struct berth_cycle *cycle, struct buf *out);

#endif
