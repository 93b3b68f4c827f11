/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bitset.h"

/*
 * Invariant: the bits of the last word beyond n are clear, so that counting needs no mask and
 * growing finds clear bits.
 */
static void clear_tail(struct bitset *s)
{
    if (s->n % 64)
        s->words[s->n / 64] &= ((uint64_t)1 << (s->n % 64)) - 1;
}

void bitset_init(struct bitset *s, size_t n)
{
    *s = (struct bitset){.n = n};
    if (n)
        s->words = xcalloc(BITSET_WORDS(n), sizeof(*s->words));
}

void bitset_release(struct bitset *s)
{
    free(s->words);
    *s = (struct bitset){0};
}

void bitset_resize(struct bitset *s, size_t n)
{
    size_t before = BITSET_WORDS(s->n), after = BITSET_WORDS(n);
    if (after != before)
        s->words = xreallocarray(s->words, after, sizeof(*s->words));
    if (after > before)
        memset(s->words + before, 0, (after - before) * sizeof(*s->words));
    s->n = n;
    clear_tail(s);
}

void bitset_and(struct bitset *dst, const struct bitset *src)
{
    assert(dst->n == src->n);
    for (size_t i = 0; i < BITSET_WORDS(dst->n); i++)
        dst->words[i] &= src->words[i];
}

size_t bitset_count(const struct bitset *s)
{
    size_t count = 0;
    for (size_t i = 0; i < BITSET_WORDS(s->n); i++)
        count += (size_t)__builtin_popcountll(s->words[i]);
    return count;
}
