/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h - the cost of an expression before it is evaluated.
 *
 * Purpose:   the range of costs for any device that the API accepts: 32 attributes and capacities,
 *            strings of 64 characters. Upstream's API server refuses expressions whose maximum is
 *            beyond the limit; the scheduler does not ask.
 * Ownership: what is computed on the way is in the arena of the tree.
 * Threading: one thread at a time.
 */
#ifndef BERTH_CEL_ESTIMATE_H
#define BERTH_CEL_ESTIMATE_H

#include "cel/ast.h"

struct cel_range cel_estimate(struct cel_ast *ast);

#endif
