/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conditions.h - the validation of metav1.Condition lists.
 *
 * Purpose:   upstream's ValidateConditions: types are unique and qualified names, statuses are
 *            known, times and reasons are set.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_CONDITIONS_H
#define BERTH_APISERVER_STRATEGIES_CONDITIONS_H

#include "apiserver/strategies/spot.h"

void conditions_validate(const struct spot *list);

#endif
