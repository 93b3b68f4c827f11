/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score_log.h - log messages about resource scores, at level 10.
 *
 * Purpose:   one message per node with its allocatable and requested amounts and the score.
 * Ownership: borrows everything for the call.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_SCORE_LOG_H
#define BERTH_PLUGINS_NODE_RESOURCES_SCORE_LOG_H

#include "engine/ports/engine_log.h"
#include "plugins/node_resources/resource_terms.h"

struct score_log {
    const struct engine_log *log;
    const char *logger, *scorer; /* "Score.NodeResourcesFit", "LeastAllocated" */
    const struct scored_resources *resources;
    const struct score_terms *terms;
    const struct berth_pod *pod;
};

#define SCORE_LOG_LEVEL 10

static inline bool score_log_on(const struct engine_log *log)
{
    return engine_log_on(log, SCORE_LOG_LEVEL);
}

/* Call only if score_log_on. */
void score_log_node(const struct score_log *log, const struct berth_node *node, int64_t score);
void score_log_batch(const struct score_log *log, const struct berth_score_batch *batch);

#endif
