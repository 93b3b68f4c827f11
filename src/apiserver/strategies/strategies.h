/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategies.h - the arrays of strategies, one per file.
 *
 * Purpose:   strategies.c looks resources up in these. Each array ends with an empty plural.
 * Ownership: constant data.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_STRATEGIES_H
#define BERTH_APISERVER_STRATEGIES_STRATEGIES_H

#include "apiserver/strategies/strategy.h"

extern const struct strategy definition_strategies[];  /* CustomResourceDefinition */
extern const struct strategy replication_strategies[]; /* pod templates, replication controllers */

#endif
