/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unevaluated.h - what a simulation does not look at.
 *
 * Purpose:   a placement is worth what was looked at for it. Pods that depend on something else are
 *            noted in the scenario.
 * Ownership: -
 * Threading: one thread.
 */
#ifndef BERTH_SIM_UNEVALUATED_H
#define BERTH_SIM_UNEVALUATED_H

#include "sim/scenario.h"

/* Notes what is not looked at of a pod that waits for a node. */
void unevaluated_note(struct scenario *s, const struct object *pod);

#endif
