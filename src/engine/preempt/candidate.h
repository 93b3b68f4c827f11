/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidate.h - a node on which a pod would fit if some others left, and which of several to take.
 *
 * Purpose:   upstream's Candidate, the order of pods by importance, and the rules that pick one
 *            candidate of many.
 * Ownership: a candidate holds a reference on each victim and owns the list of them, its name is in
 *            the memory of who made it; candidate_release gives back what it owns.
 * Threading: the engine's thread; comparing pods: any.
 */
#ifndef BERTH_ENGINE_PREEMPT_CANDIDATE_H
#define BERTH_ENGINE_PREEMPT_CANDIDATE_H

#include "engine/cache/node_info.h"

struct candidate {
    struct str node_name;
    pod_list victims;       /* the most important first */
    int64_t pdb_violations; /* victims that a PodDisruptionBudget would rather keep */
    /* Of moves.h, where that is asked: the weight of victims that fit nowhere else. */
    int64_t lost;
    bool judged;
};

typedef VEC(struct candidate) candidate_list;

void candidate_release(struct candidate *c);
/* Releases all of them; the list can be used again. */
void candidates_clear(candidate_list *list);

/*
 * The one whose victims are missed least, by the first of these rules that tells: fewest budgets
 * violated, lowest highest priority, least lost, lowest sum of priorities, fewest victims, the
 * youngest of the oldest among the most important victims, the first in the list. There must be
 * one.
 */
size_t candidates_best(const candidate_list *list);
bool candidate_is_better(const struct candidate *a, const struct candidate *b);
/* The priority as it is added up: shifted so that none is negative, a victim more is never better.
 */
int64_t candidate_weight(const struct berth_pod *victim);

/* When it started, ns; INT64_MAX: it has not, as far as anybody knows. */
int64_t pod_start_time(const struct berth_pod *pod);
/*
 * For go_sort, of struct berth_pod: a higher priority, then an earlier start. Upstream takes the
 * time of asking for the start of pods that have none: of two such pods the one asked about first
 * is the more important, whichever that is.
 */
bool pod_more_important(const void *a, const void *b);

#endif
