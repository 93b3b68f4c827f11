/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dry_run.h - the search for nodes where preemption would help.
 *
 * Purpose:   asks a policy about one node after the other, from a drawn one on, until enough
 *            candidates are found and one of them violates no budget. Nodes are looked at on all
 *            threads, and counted in order: those beyond the last that was needed do not exist.
 * Ownership: fills lists of the caller's.
 * Threading: the engine's thread, which the pool's help.
 */
#ifndef BERTH_ENGINE_PREEMPT_DRY_RUN_H
#define BERTH_ENGINE_PREEMPT_DRY_RUN_H

#include "engine/preempt/preemption.h"

struct dry_run {
    struct berth_cycle *cycle;
    const struct berth_pod *pod;
    const struct preemption_policy *policy;
    const struct berth_node **nodes; /* that could be helped */
    size_t n_nodes, offset, enough;

    /* What came of it. */
    candidate_list candidates; /* those without violations first, else in order */
    VEC(berth_reason) reasons; /* of the nodes that were looked at in vain */
    VEC(struct str) errors;    /* what broke, each once; in the cycle's arena */
};

void dry_run(struct dry_run *run);
/* It was in vain: asks the policy for a candidate with victims on several nodes. */
void dry_run_widen(struct dry_run *run);
/* Candidates stay, if they have been taken out. */
void dry_run_release(struct dry_run *run);

#endif
