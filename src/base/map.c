/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

void map_clear(struct map *m)
{
    if (m->slots)
        memset(m->slots, 0, m->capacity * sizeof(*m->slots));
    m->n = 0;
}

/* The slot of the key, or the free slot where it would be inserted. */
static struct map_entry *slot_of(const struct map *m, struct str key, uint64_t hash)
{
    size_t mask = m->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_entry *e = &m->slots[i];
        if (!e->value || (e->hash == hash && str_eq(e->key, key)))
            return e;
    }
}

void *map_get(const struct map *m, struct str key)
{
    return m->n ? slot_of(m, key, str_hash(key))->value : NULL;
}

static void grow(struct map *m)
{
    struct map bigger = {.capacity = m->capacity ? m->capacity * 2 : 16, .n = m->n};
    bigger.slots = xcalloc(bigger.capacity, sizeof(*bigger.slots));
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].value)
            *slot_of(&bigger, m->slots[i].key, m->slots[i].hash) = m->slots[i];
    free(m->slots);
    *m = bigger;
}

void *map_put(struct map *m, struct str key, void *value)
{
    assert(value);
    if (m->n * 4 >= m->capacity * 3)
        grow(m);
    uint64_t hash = str_hash(key);
    struct map_entry *e = slot_of(m, key, hash);
    void *before = e->value;
    m->n += !before;
    /* Replace the key as well: its bytes may belong to the old value. */
    *e = (struct map_entry){.key = key, .value = value, .hash = hash};
    return before;
}

void *map_del(struct map *m, struct str key)
{
    if (!m->n)
        return NULL;
    struct map_entry *e = slot_of(m, key, str_hash(key));
    void *value = e->value;
    if (!value)
        return NULL;
    /* Close the gap: move back every entry that would not be found across the hole. */
    size_t mask = m->capacity - 1;
    size_t hole = (size_t)(e - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
        size_t home = m->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_entry){0};
    m->n--;
    return value;
}

struct map_entry *map_next(const struct map *m, const struct map_entry *after)
{
    for (size_t i = after ? (size_t)(after - m->slots) + 1 : 0; i < m->capacity; i++)
        if (m->slots[i].value)
            return &m->slots[i];
    return NULL;
}
