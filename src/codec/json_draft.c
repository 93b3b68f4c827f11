/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_draft.h"

/* Up to here comparing keys is cheaper than hashing them. */
#define SMALL 12

void json_draft_init(struct json_draft *d, const struct json_value *from, size_t more,
                     struct arena *a)
{
    size_t n = from && from->kind == JSON_OBJECT ? from->n_members : 0;

    *d = (struct json_draft){.n = n, .cap = n + more, .a = a};
    d->members = arena_array(a, struct json_member, d->cap);
    d->gone = arena_array(a, bool, d->cap);
    if (n > 0)
        memcpy(d->members, from->members, n * sizeof(*d->members));
    for (size_t i = 0; i < n && d->cap > SMALL; i++)
        map_put(&d->index, d->members[i].key, (void *)(uintptr_t)(i + 1));
}

/* The position of the key, which may be gone; SIZE_MAX: none. */
static size_t position(const struct json_draft *d, struct str key)
{
    if (d->cap > SMALL)
        return (size_t)(uintptr_t)map_get(&d->index, key) - 1;
    for (size_t i = 0; i < d->n; i++)
        if (str_eq(d->members[i].key, key))
            return i;
    return SIZE_MAX;
}

struct json_value *json_draft_get(struct json_draft *d, struct str key)
{
    size_t i = position(d, key);

    return i == SIZE_MAX || d->gone[i] ? NULL : &d->members[i].value;
}

void json_draft_set(struct json_draft *d, struct str key, struct json_value value)
{
    size_t i = position(d, key);

    if (i == SIZE_MAX) {
        assert(d->n < d->cap);
        i = d->n++;
        d->members[i].key = key;
        if (d->cap > SMALL)
            map_put(&d->index, key, (void *)(uintptr_t)(i + 1));
    }
    d->members[i].value = value;
    d->gone[i] = false;
}

void json_draft_remove(struct json_draft *d, struct str key)
{
    size_t i = position(d, key);

    if (i != SIZE_MAX)
        d->gone[i] = true;
}

struct json_value json_draft_end(struct json_draft *d)
{
    struct json_value v = {.kind = JSON_OBJECT};
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (!d->gone[i])
            d->members[n++] = d->members[i];
    v.members = d->members;
    v.n_members = n;
    map_release(&d->index);
    return v;
}
