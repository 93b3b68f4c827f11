/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim_relocation.h - victims that can run elsewhere: the feature gate BerthVictimsCanMove.
 *
 * Purpose:   upstream does not consider whether victims fit elsewhere: it may evict a pod that fits
 *            on no other node although an equally good victim would (kubernetes issue 141227). With
 *            the gate, a victim is lost unless a node passes the filters of the victim's profile,
 *            with all victims removed and the preemptor on its node. The weight of lost victims is
 *            compared after budget violations and the highest priority, and before the sum of
 *            priorities: two victims that fit elsewhere are better than one that is lost.
 *
 *            Among the victims of one node: if pods of the same priority were reprieved, those that
 *            would be lost are reprieved instead, if that is better by the same rules.
 *
 *            Each victim is tried alone. A victim without a profile here, or beyond the limits
 *            below, counts as lost. Off by default, since victims differ from upstream's.
 * Ownership: borrows all; victims of candidates may be replaced.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_PREEMPT_VICTIM_RELOCATION_H
#define BERTH_ENGINE_PREEMPT_VICTIM_RELOCATION_H

#include "engine/preempt/preemption.h"

#define RELOCATION_MAX_VICTIMS 64  /* tried per preemption */
#define RELOCATION_MAX_NODES   500 /* filtered per victim */
#define RELOCATION_MAX_ROUNDS  4   /* of choosing other victims on one node */

/*
 * Sets `lost` of as many candidates as candidates_best needs to choose one. policy: chooses other
 * victims on a node if that is better; NULL: victims are fixed. Afterwards the cycle state of
 * plugins is as after PreFilter. The list must not be empty.
 */
void victim_relocation_judge(struct berth_cycle *cycle, struct berth_pod *pod,
                             const struct preemption_policy *policy, candidate_list *list);

#endif
