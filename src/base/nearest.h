/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h - suggestions for misspelt names.
 *
 * Purpose:   "did you mean profiles?" for fields, plugins, kinds: pass every valid name, then ask
 *            whether one is close enough to suggest.
 * Ownership: borrows all strings.
 * Threading: one thread.
 */
#ifndef BERTH_BASE_NEAREST_H
#define BERTH_BASE_NEAREST_H

#include "base/str.h"

struct nearest {
    struct str to;   /* the misspelt name */
    struct str name; /* the nearest candidate so far */
    size_t distance; /* number of changed, added, missing or swapped letters; case-insensitive */
};

void nearest_init(struct nearest *n, struct str written);
/* Of equally near candidates the first is kept. Names of more than 63 bytes are never near. */
void nearest_consider(struct nearest *n, struct str candidate);
/* The candidate if it differs by a few typos only; empty: no suggestion. */
struct str nearest_suggestion(const struct nearest *n);

#endif
