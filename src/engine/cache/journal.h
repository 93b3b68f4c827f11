/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - slots that changed recently.
 *
 * Purpose:   data derived from nodes (a bitset of those that match a selector, the domain of each)
 *            keeps the position up to which it has read the journal and recomputes only the slots
 *            listed since then. There are no notifications, and unused data costs nothing.
 * Ownership: a value; part of the cache.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CACHE_JOURNAL_H
#define BERTH_ENGINE_CACHE_JOURNAL_H

#include "base/base.h"

#define JOURNAL_SIZE 4096 /* a power of two */

struct journal {
    uint64_t n; /* entries ever written */
    uint32_t slots[JOURNAL_SIZE];
};

static inline void journal_add(struct journal *j, uint32_t slot)
{
    j->slots[j->n++ % JOURNAL_SIZE] = slot;
}

/* Are all entries from `seen` on still there? If not, the reader starts over. */
static inline bool journal_reaches(const struct journal *j, uint64_t seen)
{
    INVARIANT(seen <= j->n);
    return j->n - seen <= JOURNAL_SIZE;
}

/* for (; seen < j->n; seen++) look_at(journal_at(j, seen)); */
static inline uint32_t journal_at(const struct journal *j, uint64_t i)
{
    return j->slots[i % JOURNAL_SIZE];
}

#endif
