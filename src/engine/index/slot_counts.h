/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_counts.h - a count for each node, of which most are zero.
 *
 * Purpose:   how many pods of a kind are on each node. Pods of one owner may be on a few nodes of
 *            thousands, those of another on all: only counts that are not zero take memory, and a
 *            lookup is a probe or two in either case.
 * Ownership: owns its arrays.
 * Threading: written by the engine's thread. Concurrent reads are allowed between writes.
 */
#ifndef BERTH_ENGINE_INDEX_SLOT_COUNTS_H
#define BERTH_ENGINE_INDEX_SLOT_COUNTS_H

#include "base/base.h"

struct slot_counts {
    uint32_t *slots, *counts; /* parallel arrays of the counts that are not zero */
    uint32_t n, cap;
    /*
     * A hash table from a slot to its place + 1, with home slot & (size - 1). Slots below the size
     * do not collide, so a table that has grown to the number of nodes is a plain array. NULL
     * while there are few counts: these are searched.
     */
    uint32_t *index;
    uint32_t index_size;
    uint32_t max_slot;
};

void slot_counts_release(struct slot_counts *s);
/* sign is 1 or -1; a zero count stays zero. */
void slot_counts_add(struct slot_counts *s, uint32_t slot, int sign);
/* Adds all counts of `from`. */
void slot_counts_merge(struct slot_counts *s, const struct slot_counts *from);
size_t slot_counts_bytes(const struct slot_counts *s);

static inline uint32_t slot_counts_at(const struct slot_counts *s, uint32_t slot)
{
    if (!s->index) {
        for (uint32_t i = 0; i < s->n; i++)
            if (s->slots[i] == slot)
                return s->counts[i];
        return 0;
    }
    uint32_t mask = s->index_size - 1;
    for (uint32_t i = slot & mask, at; (at = s->index[i]); i = (i + 1) & mask)
        if (s->slots[at - 1] == slot)
            return s->counts[at - 1];
    return 0;
}

#endif
