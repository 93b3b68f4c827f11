/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a hash map from strings to pointers.
 *
 * Purpose:   open addressing with linear probing over an array of (hash, key, value). Lookups touch
 *            one cache line on average.
 * Ownership: borrows keys and values: the bytes of a key must live as long as the entry, for
 *            example as a member of the value.
 * Threading: one thread at a time.
 *
 * The order of iteration depends on the per-process hash seed: no decision may depend on it.
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
/* NULL if there is none. */
void *map_get(const struct map *m, struct str key);
/* Sets the value, which must not be NULL. Returns the previous one, or NULL. */
void *map_put(struct map *m, struct str key, void *value);
/* Removes the entry. Returns its value, or NULL. */
void *map_del(struct map *m, struct str key);

/* A number as a key; it must live as long as the entry. */
static inline struct str map_number_key(const uint64_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

/* for (struct map_entry *e = map_next(m, NULL); e; e = map_next(m, e)); no put or del meanwhile. */
struct map_entry *map_next(const struct map *m, const struct map_entry *after);
#define map_each(e, m) for (struct map_entry *e = map_next((m), NULL); e; e = map_next((m), e))

#endif
