/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_ring.h - the newest of many pieces, one behind the other in a piece of memory that does
 * not grow.
 *
 * Purpose:   records of attempts come by the thousand and go in the order in which they came: no
 *            allocator needs to know of them.
 * Ownership: owns its memory, which is taken with the first piece and touched as it fills.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_EXPLAIN_RING_H
#define BERTH_ENGINE_EXPLAIN_EXPLAIN_RING_H

#include "base/base.h"

struct explain_ring {
    char *bytes;
    size_t size;
    size_t first, next; /* where the oldest is, and where there is room behind the newest */
    size_t end;         /* where the pieces end that are followed by one at 0; 0: none is */
    size_t n;           /* pieces */
};

void explain_ring_init(struct explain_ring *r, size_t size);
void explain_ring_release(struct explain_ring *r);

/* Room for a piece of n bytes behind the newest, aligned; NULL: only once older ones are gone. */
void *explain_ring_add(struct explain_ring *r, size_t n);
/* The oldest is gone. */
void explain_ring_drop(struct explain_ring *r);
/* From the oldest (NULL gives it) to the newest; NULL behind that. */
void *explain_ring_next(const struct explain_ring *r, const void *piece);

#endif
