/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that a search has chosen (upstream: allocatingDevices, allocatingCapacity): a small
 * hash table by identity.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

/* The mark of the identity, or the free slot for it. */
static struct mark *slot(const struct search *s, const struct device_id *id)
{
    size_t mask = s->marks_capacity - 1;
    size_t i = (size_t)hash_u64((uintptr_t)id) & mask;
    while (s->marks[i].id && s->marks[i].id != id)
        i = (i + 1) & mask;
    return &s->marks[i];
}

static void grow(struct search *s)
{
    struct mark *old = s->marks;
    size_t n = s->marks_capacity;
    s->marks_capacity = MAX(n * 2, (size_t)16);
    s->marks = arena_array(&s->arena, struct mark, s->marks_capacity);
    for (size_t i = 0; i < n; i++)
        if (old[i].id)
            *slot(s, old[i].id) = old[i];
}

const struct mark *search_find_mark(const struct search *s, const struct device_id *id)
{
    if (s->n_marks == 0)
        return NULL;
    const struct mark *m = slot(s, id);
    return m->id ? m : NULL;
}

struct mark *search_mark(struct search *s, const struct device_id *id)
{
    if ((s->n_marks + 1) * 2 > s->marks_capacity)
        grow(s);
    struct mark *m = slot(s, id);
    if (!m->id) {
        m->id = id;
        s->n_marks++;
    }
    return m;
}

bool search_in_use(const struct search *s, const struct device_id *id)
{
    if (id->taken > 0)
        return true;
    const struct mark *m = search_find_mark(s, id);
    return m && m->claims > 0;
}

bool search_chosen_in_claim(const struct search *s, const struct device_id *id, uint32_t claim)
{
    /* The claim that is searched for is the last one with results. */
    for (size_t i = 0; i < s->n_chosen[claim]; i++) {
        const struct chosen *c = &s->chosen.v[s->chosen.n - 1 - i];
        if (!c->shared && c->device->id == id)
            return true;
    }
    return false;
}
