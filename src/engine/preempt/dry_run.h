/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dry_run.h - the search for nodes that preemption helps (upstream: DryRunPreemption).
 *
 * Purpose:   runs a policy on one node after the other, from a random one on, until enough
 *            candidates are found and one of them violates no budget. All threads take part, but
 *            results are counted in order: those behind the last node that was needed are dropped,
 *            so that the outcome does not depend on threads.
 * Ownership: the caller owns struct dry_run and its lists; dry_run_release frees them.
 * Threading: the engine's thread; the policy's select also on the pool's.
 */
#ifndef BERTH_ENGINE_PREEMPT_DRY_RUN_H
#define BERTH_ENGINE_PREEMPT_DRY_RUN_H

#include "engine/preempt/preemption.h"

struct dry_run {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    const struct preemption_policy *policy;
    const struct berth_node **nodes; /* that preemption may help */
    size_t n_nodes;
    size_t offset; /* index of the first node to try */
    size_t enough; /* how many candidates are enough */

    /* Results. */
    candidate_list candidates; /* those without violations first, otherwise in order */
    size_t n_refused;          /* nodes that are not helped */
    VEC(struct str) reasons;   /* theirs; owned by the framework or in the cycle's arena */
    VEC(struct str) errors;    /* each once; in the cycle's arena */
};

void dry_run(struct dry_run *run);
/* No candidate was found: runs the policy's widen, whose victims are on several nodes. */
void dry_run_widen(struct dry_run *run);
/* Frees the lists. The caller may have moved the candidates out. */
void dry_run_release(struct dry_run *run);

#endif
