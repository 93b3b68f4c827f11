/* SPDX-License-Identifier: Apache-2.0 */
/*
 * candidate.h - a node on which a pod would fit without some other pods (upstream: Candidate).
 *
 * Purpose:   the node and its victims, the order of pods by importance, and the rules that choose
 *            one of several candidates.
 * Ownership: a candidate owns its list of victims and holds a reference on each; candidate_release
 *            frees them. The name of the node is borrowed.
 * Threading: the engine's thread; pods may be compared on any.
 */
#ifndef BERTH_ENGINE_PREEMPT_CANDIDATE_H
#define BERTH_ENGINE_PREEMPT_CANDIDATE_H

#include "engine/cache/node_info.h"

struct candidate {
    struct str node_name;
    pod_list victims;       /* the most important first */
    int64_t pdb_violations; /* victims whose eviction violates a PodDisruptionBudget */
    /* BerthVictimsCanMove: the weight of victims that fit nowhere else; judged: it is known. */
    int64_t lost;
    bool judged;
};

typedef VEC(struct candidate) candidate_list;

void candidate_release(struct candidate *c);
/* Releases all of them; the list can be used again. */
void candidates_clear(candidate_list *list);

/*
 * The index of the best candidate (upstream: pickOneNodeForPreemption), by the first of these rules
 * that decides: fewest budget violations, lowest priority of the first victim, least lost, lowest
 * sum of priorities, fewest victims, latest of the earliest starts among the victims of the highest
 * priority, first in the list. The list must not be empty.
 */
size_t candidates_best(const candidate_list *list);
bool candidate_is_better(const struct candidate *a, const struct candidate *b);
/* The priority as a summand: never negative, so that one more victim is never better. */
int64_t candidate_weight(const struct berth_pod *victim);

/* The pod's start time, ns; INT64_MAX: it has none yet. */
int64_t pod_start_time(const struct berth_pod *pod);
/*
 * For go_sort, of struct berth_pod: a higher priority, then an earlier start (upstream:
 * MoreImportantPod). Upstream takes the current time as the start of pods without one: of two such
 * pods the first argument is the more important.
 */
bool pod_more_important(const void *a, const void *b);

#endif
