/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity_model.h - InterPodAffinity by looking at every pod of the cluster, as upstream does.
 *
 * Purpose:   the reference for the plugin, which keeps counts up to date as pods are added and
 *            deleted. The model reads API objects only: neither compiled terms nor any index.
 * Ownership: a model owns its counts; the test owns the engine.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_AFFINITY_MODEL_H
#define BERTH_TESTS_AFFINITY_MODEL_H

#include "engine/rooms.h"

struct affinity_options {
    bool exact_namespaces, ignore_preferred;
    int32_t hard_weight;
};

/* A number for a topology key and value. */
struct model_pair {
    struct str key, value;
    int64_t n;
};
typedef VEC(struct model_pair) model_pairs;

struct affinity_model {
    struct engine *engine;
    struct affinity_options options;
    const struct pod *pod;
    struct arena arena;
    enum berth_code pre_filter, pre_score;
    model_pairs existing, affinity, anti, scores;
};

/* All of PreFilter and PreScore. */
void affinity_model_begin(struct affinity_model *m, struct engine *engine, const struct pod *pod,
                          struct affinity_options options);
void affinity_model_end(struct affinity_model *m);
/* A pod is added (by 1) or deleted (-1). */
void affinity_model_move(struct affinity_model *m, const struct pod *other, const struct node *node,
                         int64_t by);
/* "": the node passes. */
const char *affinity_model_filter(const struct affinity_model *m, const struct node *node);
int64_t affinity_model_score(const struct affinity_model *m, const struct node *node);

#endif
