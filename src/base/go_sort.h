/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_sort.h - sorts exactly as Go's sort.Slice does.
 *
 * Purpose:   sort.Slice is not stable: the order of equal elements, or of elements for which `less`
 *            is inconsistent, depends on its algorithm (pattern-defeating quicksort). Upstream
 *            sorts preemption victims with it, which decides between equal pods. The same
 *            comparisons and swaps in the same order give the same result.
 * Ownership: sorts in place.
 * Threading: any thread.
 */
#ifndef BERTH_BASE_GO_SORT_H
#define BERTH_BASE_GO_SORT_H

#include "base/base.h"

/* Whether a sorts before b. */
typedef bool go_less_fn(const void *a, const void *b);

void go_sort(void **v, size_t n, go_less_fn *less);

#endif
