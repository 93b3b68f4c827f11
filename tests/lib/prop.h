/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prop.h - property tests: the same check over many random cases, repeatable by seed.
 *
 * Purpose:   prop_run draws a seed (or takes BERTH_SEED), calls check with a generator and a size
 *            that ramps up, and on the first failure prints the seed and case that show it.
 * Ownership: nothing is kept.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_PROP_H
#define BERTH_TESTS_PROP_H

#include "base/rand.h"

/* Returns whether the property holds. size grows from 1 to 100 over the run. */
typedef bool prop_fn(struct rand *r, size_t size, void *ctx);

/* Runs `cases` cases, or BERTH_CASES percent of them. Returns whether the property holds in all. */
bool prop_run(const char *name, size_t cases, prop_fn *check, void *ctx) MUST_CHECK;
/* The least that all cases together must reach: n, or BERTH_CASES percent of it. */
size_t prop_share(size_t n);

#endif
