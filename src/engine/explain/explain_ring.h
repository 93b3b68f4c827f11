/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_ring.h - a ring buffer of pieces of different sizes.
 *
 * Purpose:   records of attempts are dropped in the order in which they were added: a ring needs no
 *            allocator and does not fragment. A piece is contiguous and never moves.
 * Ownership: owns its memory, which is allocated with the first piece and touched as it fills.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_EXPLAIN_RING_H
#define BERTH_ENGINE_EXPLAIN_EXPLAIN_RING_H

#include "base/base.h"

struct explain_ring {
    char *bytes;
    size_t size;
    size_t first, next; /* offsets of the oldest piece, and of the room behind the newest */
    size_t end;         /* if pieces wrap around: the end of those in front of offset 0; else 0 */
    size_t n;           /* pieces */
};

void explain_ring_init(struct explain_ring *r, size_t size);
void explain_ring_release(struct explain_ring *r);

/* Adds a piece of n bytes, aligned; NULL if older pieces must be dropped first. */
void *explain_ring_add(struct explain_ring *r, size_t n);
/* Drops the oldest piece; there must be one. */
void explain_ring_drop(struct explain_ring *r);
/* The piece after this one; NULL: the oldest piece. Returns NULL behind the newest. */
void *explain_ring_next(const struct explain_ring *r, const void *piece);

#endif
