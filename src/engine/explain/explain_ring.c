/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain/explain_ring.h"

/* Precedes every piece. */
struct head {
    size_t size; /* of head and piece, rounded up */
};

#define ALIGN _Alignof(max_align_t)
_Static_assert(sizeof(struct head) <= ALIGN, "a head takes one unit, so that pieces are aligned");

void explain_ring_init(struct explain_ring *r, size_t size)
{
    *r = (struct explain_ring){.size = size & ~(ALIGN - 1)};
}

void explain_ring_release(struct explain_ring *r)
{
    free(r->bytes);
}

static struct head *head_at(const struct explain_ring *r, size_t at)
{
    return (struct head *)(r->bytes + at);
}

/*
 * Invariant: pieces are in [first, next); if end is set, in [first, end) and [0, next). Returns the
 * offset of n free bytes; SIZE_MAX if there are none.
 */
static size_t find_room(const struct explain_ring *r, size_t n)
{
    if (r->end)
        return r->first - r->next >= n ? r->next : SIZE_MAX;
    if (r->size - r->next >= n)
        return r->next;
    return r->first >= n ? 0 : SIZE_MAX;
}

void *explain_ring_add(struct explain_ring *r, size_t n)
{
    size_t size = ALIGN + ((n + ALIGN - 1) & ~(ALIGN - 1));
    size_t at = size > n ? find_room(r, size) : SIZE_MAX;
    if (at == SIZE_MAX)
        return NULL;
    if (!r->bytes)
        r->bytes = xmalloc(r->size);
    if (at != r->next)
        r->end = r->next;
    head_at(r, at)->size = size;
    r->next = at + size;
    r->n++;
    return r->bytes + at + ALIGN;
}

void explain_ring_drop(struct explain_ring *r)
{
    INVARIANT(r->n > 0);
    r->first += head_at(r, r->first)->size;
    r->n--;
    if (r->end && r->first == r->end)
        r->first = r->end = 0;
    if (!r->n)
        r->first = r->next = r->end = 0;
}

void *explain_ring_next(const struct explain_ring *r, const void *piece)
{
    size_t at = r->first;
    if (!r->n)
        return NULL;
    if (piece) {
        at = (size_t)((const char *)piece - r->bytes) - ALIGN;
        at += head_at(r, at)->size;
        if (at == r->next)
            return NULL;
        if (r->end && at == r->end)
            at = 0;
    }
    return r->bytes + at + ALIGN;
}
