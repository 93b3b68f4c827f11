/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_counts.c - parallel arrays of slots and counts with an optional hash index.
 *
 * The arrays have no holes: a slot whose count becomes 0 is replaced by the last one.
 */
#include "engine/index/slot_counts.h"

#define WITHOUT_INDEX 8 /* up to this many, a search is faster than a lookup */

void slot_counts_release(struct slot_counts *s)
{
    free(s->slots);
    free(s->counts);
    free(s->index);
    *s = (struct slot_counts){0};
}

size_t slot_counts_bytes(const struct slot_counts *s)
{
    return (size_t)s->cap * 2 * sizeof(uint32_t) + (size_t)s->index_size * sizeof(uint32_t);
}

/* --- index ------------------------------------------------------------------------------------ */

/* The index entry of the slot, or the free entry where it belongs. */
static uint32_t probe(const struct slot_counts *s, uint32_t slot)
{
    uint32_t mask = s->index_size - 1, i = slot & mask;
    while (s->index[i] && s->slots[s->index[i] - 1] != slot)
        i = (i + 1) & mask;
    return i;
}

static void make_index(struct slot_counts *s, uint32_t size)
{
    free(s->index);
    s->index = xcalloc(size, sizeof(*s->index));
    s->index_size = size;
    for (uint32_t i = 0; i < s->n; i++)
        s->index[probe(s, s->slots[i])] = i + 1;
}

/*
 * Half full is the limit, unless no slot can collide. A free entry always remains: probe and
 * unindex end there.
 */
static bool too_small(const struct slot_counts *s, uint32_t n)
{
    return n > s->index_size / 2 && (s->max_slot >= s->index_size || n >= s->index_size);
}

/* Removes an entry of the linear probing: moves back those that the hole would make unreachable. */
static void unindex(struct slot_counts *s, uint32_t hole)
{
    uint32_t mask = s->index_size - 1;
    for (uint32_t i = (hole + 1) & mask; s->index[i]; i = (i + 1) & mask) {
        uint32_t home = s->slots[s->index[i] - 1] & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            s->index[hole] = s->index[i];
            hole = i;
        }
    }
    s->index[hole] = 0;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* The place of the slot, or n. */
static uint32_t find(const struct slot_counts *s, uint32_t slot)
{
    if (s->index) {
        uint32_t at = s->index[probe(s, slot)];
        return at ? at - 1 : s->n;
    }
    uint32_t i = 0;
    while (i < s->n && s->slots[i] != slot)
        i++;
    return i;
}

static void append(struct slot_counts *s, uint32_t slot, uint32_t count)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 4;
        s->slots = xreallocarray(s->slots, s->cap, sizeof(*s->slots));
        s->counts = xreallocarray(s->counts, s->cap, sizeof(*s->counts));
    }
    s->max_slot = MAX(s->max_slot, slot);
    if (s->n >= WITHOUT_INDEX && too_small(s, s->n + 1))
        make_index(s, s->index_size ? s->index_size * 2 : 4 * WITHOUT_INDEX);
    s->slots[s->n] = slot;
    s->counts[s->n] = count;
    s->n++;
    if (s->index)
        s->index[probe(s, slot)] = s->n;
    INVARIANT(!s->index || s->n < s->index_size);
}

static void drop(struct slot_counts *s, uint32_t place)
{
    INVARIANT(place < s->n);
    uint32_t last = --s->n;
    if (s->index) {
        unindex(s, probe(s, s->slots[place]));
        if (place != last)
            s->index[probe(s, s->slots[last])] = place + 1;
    }
    s->slots[place] = s->slots[last];
    s->counts[place] = s->counts[last];
}

void slot_counts_add(struct slot_counts *s, uint32_t slot, int sign)
{
    uint32_t place = find(s, slot);
    if (place < s->n && sign > 0)
        s->counts[place]++;
    else if (place < s->n && --s->counts[place] == 0)
        drop(s, place);
    else if (place == s->n && sign > 0)
        append(s, slot, 1);
}

void slot_counts_merge(struct slot_counts *s, const struct slot_counts *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t place = find(s, from->slots[i]);
        if (place < s->n)
            s->counts[place] += from->counts[i];
        else
            append(s, from->slots[i], from->counts[i]);
    }
}
