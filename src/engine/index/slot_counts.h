/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_counts.h - a number for each node, of which most are zero.
 *
 * Purpose:   how many pods of a kind are on which node. Pods of one owner are on a few nodes of
 *            thousands, those of another on all: room is taken for those that are not zero, and
 *            looking one up is a probe or two in either case.
 * Ownership: owns its arrays.
 * Threading: the engine's thread changes it; any may read meanwhile it does not.
 */
#ifndef BERTH_ENGINE_INDEX_SLOT_COUNTS_H
#define BERTH_ENGINE_INDEX_SLOT_COUNTS_H

#include "base/base.h"

struct slot_counts {
    uint32_t *slots, *counts; /* of those that are not zero, side by side */
    uint32_t n, cap;
    /*
     * Where to find a slot: a hash table of places + 1, home at slot & (size - 1). Slots below the
     * size do not collide, so a table that has grown to the number of nodes is a plain array.
     * NULL while there are few: these are looked through.
     */
    uint32_t *index;
    uint32_t index_size;
    uint32_t max_slot;
};

void slot_counts_release(struct slot_counts *s);
/* sign 1 or -1; what is zero does not get less. */
void slot_counts_add(struct slot_counts *s, uint32_t slot, int sign);
/* Adds every number of another. */
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
