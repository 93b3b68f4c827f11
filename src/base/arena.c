/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* of data */
    _Alignas(16) char data[];
};

void arena_init(struct arena *a, size_t first)
{
    *a = (struct arena){.next_size = first ? first : ARENA_CHUNK_MIN};
}

static void free_chunks(struct arena_chunk *c)
{
    while (c) {
        struct arena_chunk *older = c->older;
        free(c);
        c = older;
    }
}

void arena_release(struct arena *a)
{
    free_chunks(a->chunk);
    arena_init(a, 0);
}

void arena_reset(struct arena *a)
{
    /* Chunks only grow (but for oversized pieces), so the newest serves the next round best. */
    struct arena_chunk *keep = a->chunk;
    if (!keep)
        return;
    free_chunks(keep->older);
    keep->older = NULL;
    a->total = keep->size;
    a->at = keep->data;
    a->end = keep->data + keep->size;
}

static void grow(struct arena *a, size_t need)
{
    size_t size = MAX(a->next_size, need);
    struct arena_chunk *c = xmalloc(sizeof(*c) + size);
    c->older = a->chunk;
    c->size = size;
    a->chunk = c;
    a->at = c->data;
    a->end = c->data + size;
    a->total += size;
    if (a->next_size < ARENA_CHUNK_MAX)
        a->next_size = MIN(MAX(a->next_size, ARENA_CHUNK_MIN / 2) * 2, ARENA_CHUNK_MAX);
}

/* Room for size bytes at an aligned address; not zeroed. */
static void *take(struct arena *a, size_t size, size_t align)
{
    uintptr_t at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
    if (UNLIKELY(!a->at || at > (uintptr_t)a->end || (uintptr_t)a->end - at < size)) {
        grow(a, size + align);
        at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
    }
    a->at = (char *)at + size;
    return (void *)at;
}

void *arena_alloc(struct arena *a, size_t size, size_t align)
{
    return memset(take(a, size, align), 0, size);
}

void *arena_alloc_array(struct arena *a, size_t n, size_t size, size_t align)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total))
        abort();
    return arena_alloc(a, total, align);
}

struct str arena_dup(struct arena *a, struct str s)
{
    char *p = take(a, s.n + 1, 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){p, s.n};
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    size_t len = (size_t)MAX(n, 0);
    char *p = take(a, len + 1, 1);
    vsnprintf(p, len + 1, fmt, again);
    va_end(again);
    return (struct str){p, len};
}
