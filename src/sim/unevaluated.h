/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unevaluated.h - notes about features that the simulation does not evaluate.
 *
 * Purpose:   warns that the result may differ from a cluster's for pods with such features.
 * Ownership: nothing is kept; notes belong to the scenario.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_UNEVALUATED_H
#define BERTH_SIM_UNEVALUATED_H

#include "sim/scenario.h"

/* Adds notes for a pending pod. */
void unevaluated_note(struct scenario *s, const struct object *pod);

#endif
