/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitset.h - a set of small integers, one bit each.
 *
 * Purpose:   node sets: filtering is an AND over words.
 * Ownership: owns its words.
 * Threading: one writer at a time; different words may be written by different threads.
 */
#ifndef BERTH_BASE_BITSET_H
#define BERTH_BASE_BITSET_H

#include "base/base.h"

struct bitset {
    uint64_t *words;
    size_t n; /* bits */
};

#define BITSET_WORDS(n) (((n) + 63) / 64)

/* All bits are clear. */
void bitset_init(struct bitset *s, size_t n);
void bitset_release(struct bitset *s);
/* New bits are clear. */
void bitset_resize(struct bitset *s, size_t n);

static inline bool bitset_get(const struct bitset *s, size_t i)
{
    return s->words[i / 64] >> (i % 64) & 1;
}
static inline void bitset_set(struct bitset *s, size_t i)
{
    s->words[i / 64] |= (uint64_t)1 << (i % 64);
}
static inline void bitset_unset(struct bitset *s, size_t i)
{
    s->words[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* dst = dst AND src; both have the same size. */
void bitset_and(struct bitset *dst, const struct bitset *src);
size_t bitset_count(const struct bitset *s);

#endif
