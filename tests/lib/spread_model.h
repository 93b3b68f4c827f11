/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread_model.h - topology spread constraints, slow and obvious.
 *
 * Purpose:   the reference for PodTopologySpread: every number is found by walking all nodes and
 *            their pods at each call.
 * Ownership: borrows the cache and the pod; releases its selectors with its arena.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_SPREAD_MODEL_H
#define BERTH_TESTS_SPREAD_MODEL_H

#include "api/node_selector.h"
#include "engine/cache/cache.h"

#define SPREAD_MODEL_MAX 8 /* constraints */

struct spread_model {
    const struct cache *cache;
    const struct pod *pod;
    struct arena arena;
    struct required_node_affinity affinity;
    const struct topology_spread_constraint *constraints[SPREAD_MODEL_MAX];
    struct selector selectors[SPREAD_MODEL_MAX];
    size_t n;
    bool all_keys;
};

/* action: "DoNotSchedule" or "ScheduleAnyway"; constraints: the pod's own or the default ones. */
void spread_model_init(struct spread_model *m, const struct cache *cache, const struct pod *pod,
                       const char *action);
/* The system's default constraints, and the selector they use. */
void spread_model_init_system(struct spread_model *m, const struct cache *cache,
                              const struct pod *pod, const struct selector *from);
void spread_model_release(struct spread_model *m);

enum berth_code spread_model_filter(const struct spread_model *m, const struct berth_node *node);
/* Scores of all nodes in the cache's order, as if all were feasible. */
void spread_model_score(const struct spread_model *m, int64_t *scores);
void spread_model_normalize(const struct spread_model *m, int64_t *scores);

#endif
