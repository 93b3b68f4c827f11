/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_sort.h - the order in which Go's sort.Slice leaves things.
 *
 * Purpose:   that sort is not stable: where elements are equal, or where `less` contradicts itself,
 *            the outcome is what its algorithm (a pattern-defeating quicksort) makes of it.
 * Upstream sorts victims of preemption by it, so that who of two equal pods has to go is decided
 *            there. The same comparisons and swaps, in the same order, give the same outcome.
 * Ownership: sorts in place.
 * Threading: any.
 */
#ifndef BERTH_BASE_GO_SORT_H
#define BERTH_BASE_GO_SORT_H

#include "base/base.h"

/* Two elements: does a belong in front of b? */
typedef bool go_less_fn(const void *a, const void *b);

void go_sort(void **v, size_t n, go_less_fn *less);

#endif
