/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h - the name that a misspelt one was probably meant to be.
 *
 * Purpose:   "did you mean profiles?" for fields, plugins, kinds: give it every name that would be
 *            right, then ask whether one is near enough to suggest.
 * Ownership: borrows all texts.
 * Threading: one thread.
 */
#ifndef BERTH_BASE_NEAREST_H
#define BERTH_BASE_NEAREST_H

#include "base/str.h"

struct nearest {
    struct str to;   /* what was written */
    struct str name; /* the nearest candidate so far */
    size_t distance; /* letters to change, add, leave out or swap; capitals make no difference */
};

void nearest_init(struct nearest *n, struct str written);
/* Of equally near candidates the first stays. Names of more than 63 bytes are never near. */
void nearest_consider(struct nearest *n, struct str candidate);
/* The candidate, where it differs by a few typos only; empty: there is none to suggest. */
struct str nearest_suggestion(const struct nearest *n);

#endif
