/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_scorer.h - how full a node is, as a score: LeastAllocated, MostAllocated,
 * RequestedToCapacityRatio.
 *
 * Purpose:   the strategies that NodeResourcesFit and the score plugins of older releases share.
 *            The score of one node, of many nodes over columns, and of several nodes together.
 * Ownership: borrows the list of resources.
 * Threading: constant after init; any thread may score.
 *
 * Amounts out of range (beyond INT64_MAX / 100, or negative because a sum wrapped) yield the same
 * scores as upstream's arithmetic, even outside of 0 … 100; `sane` keeps them inside.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SCORER_H
#define BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SCORER_H

#include "plugins/node_resources/resource_terms.h"

struct resource_scorer {
    enum scoring_type type;
    bool sane;
    struct scored_resources resources;
    uint8_t ratio_scores[101]; /* by utilization in percent; RequestedToCapacityRatio */
};

/*
 * shape: of RequestedToCapacityRatio, else empty. The requests of the pending pod are those of its
 * containers, with defaults for cpu and memory; neither pod-level requests nor a resize count,
 * because upstream creates its scorers without these gates.
 */
void resource_scorer_init(struct resource_scorer *s, enum scoring_type type,
                          resource_spec_list resources, shape_list shape, bool sane);

/* Its name in log messages. */
const char *resource_scorer_name(const struct resource_scorer *s);

int64_t resource_scorer_score(const struct resource_scorer *s, const struct score_terms *terms,
                              const struct berth_node *node);
void resource_scorer_score_many(const struct resource_scorer *s, const struct score_terms *terms,
                                struct berth_score_batch *batch);
/* All nodes of the placement as one node, and all proposed pods as one pod. */
int64_t resource_scorer_score_sum(const struct resource_scorer *s,
                                  const struct berth_placement *placement);

#endif
