/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim_relocation.h - victims that can run elsewhere: the feature gate BerthVictimsCanMove.
 *
 * Purpose:   upstream does not ask what becomes of victims, and readily evicts a pod that no other
 *            node can take where one that would find a place was as good a victim (its users ask
 *            for better in kubernetes issue 141227). Here a victim counts as lost unless a node
 *            passes the filters of the victim's own profile, as the cluster would be with all
 *            victims gone and the preemptor in its place. The rule stands behind budgets and the
 *            highest priority, which say who must not be touched, and in front of the sum of
 *            priorities, which as upstream has it is a count of victims: who finds a place is
 *            disturbed, who does not is lost, and two that are disturbed are better than one that
 *            is lost. Of those lost the sum of priorities counts, as upstream's does of all.
 *
 *            Among victims of one node: where pods of the same priority were spared, those that
 *            would be lost are spared instead if that is better by the same rules.
 *
 *            Each victim is asked about by itself. Who has no profile here, or comes too late for
 *            the limits below, counts as lost. Off by default, since victims differ from
 * upstream's. Ownership: nothing is kept. Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_PREEMPT_VICTIM_RELOCATION_H
#define BERTH_ENGINE_PREEMPT_VICTIM_RELOCATION_H

#include "engine/preempt/preemption.h"

#define RELOCATION_MAX_VICTIMS 64  /* are asked about in a preemption */
#define RELOCATION_MAX_NODES   500 /* are looked at for one of them */
#define RELOCATION_MAX_ROUNDS  4   /* of sparing others on one node */

/*
 * Finds out what is lost with candidates, as far as candidates_best needs it to pick the best of
 * them. policy: picks other victims on a node where that is better; NULL: they are who they are.
 * Plugins' state of the cycle is as if PreFilter had just run.
 */
void victim_relocation_judge(struct berth_cycle *cycle, struct berth_pod *pod,
                             const struct preemption_policy *policy, candidate_list *list);

#endif
