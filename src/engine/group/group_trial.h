/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_trial.h - would the members of the group under way fit, as the cluster is now?
 *
 * Purpose:   the dry runs of group_preemption.h. Runs in one go: neither PostFilter nor extenders
 *            are called. Nothing of the group's cycle changes.
 * Ownership: frees all that it makes.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_GROUP_GROUP_TRIAL_H
#define BERTH_ENGINE_GROUP_GROUP_TRIAL_H

#include "engine/group/group_run.h"

/* *text: why they do not fit. */
enum group_outcome group_trial(struct groups *g, struct buf *text);

#endif
