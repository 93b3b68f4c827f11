/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a hash map from text to a pointer.
 *
 * Purpose:   open addressing with linear probing over an array of (hash, key, value). Lookups touch
 *            one cache line on average.
 * Ownership: borrows keys and values: the bytes of a key must live as long as the entry, which is
 *            easy where the key is a field of the value.
 * Threading: one thread at a time.
 *
 * Iteration order depends on the per-process hash seed: nothing that decides may iterate a map.
 */
#ifndef BERTH_BASE_MAP_H
#define BERTH_BASE_MAP_H

#include "base/str.h"

struct map_entry {
    struct str key;
    void *value; /* NULL: the slot is free */
    uint64_t hash;
};

struct map {
    struct map_entry *slots;
    size_t n;        /* entries */
    size_t capacity; /* slots: 0 or a power of two */
};

#define MAP_INIT {0}

void map_release(struct map *m);
void map_clear(struct map *m);
/* NULL where there is none. */
void *map_get(const struct map *m, struct str key);
/* Sets it and gives the value that stood there before, or NULL. value is not NULL. */
void *map_put(struct map *m, struct str key, void *value);
/* Removes it and gives the value that stood there, or NULL. */
void *map_del(struct map *m, struct str key);

/* for (struct map_entry *e = map_next(m, NULL); e; e = map_next(m, e)); no put or del meanwhile. */
struct map_entry *map_next(const struct map *m, const struct map_entry *after);
#define map_each(e, m) for (struct map_entry *e = map_next((m), NULL); e; e = map_next((m), e))

#endif
