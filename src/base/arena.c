/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * Under AddressSanitizer unallocated parts are poisoned: a use after arena_reset, or past the last
 * allocation, is detected although the chunk exists.
 */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define FORBID(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define ALLOW(p, n)  ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define FORBID(p, n) ((void)0)
#define ALLOW(p, n)  ((void)0)
#endif

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
        ALLOW(c->data, c->size);
        free(c);
        c = older;
    }
}

void arena_release(struct arena *a)
{
    free_chunks(a->chunk);
    free_chunks(a->huge);
    arena_init(a, 0);
}

void arena_reset(struct arena *a)
{
    free_chunks(a->huge);
    a->huge = NULL;
    a->total = 0;
    /* Chunks only grow, so the newest is the best one to reuse. */
    struct arena_chunk *keep = a->chunk;
    if (!keep)
        return;
    free_chunks(keep->older);
    keep->older = NULL;
    a->total = keep->size;
    a->at = keep->data;
    a->end = keep->data + keep->size;
    FORBID(keep->data, keep->size);
}

static struct arena_chunk *add_chunk(struct arena *a, struct arena_chunk **list, size_t size)
{
    struct arena_chunk *c = xmalloc(sizeof(*c) + size);
    c->older = *list;
    c->size = size;
    *list = c;
    a->total += size;
    return c;
}

static void grow(struct arena *a, size_t need)
{
    size_t size = MAX(MAX(a->next_size, need), ARENA_CHUNK_MIN);
    struct arena_chunk *c = add_chunk(a, &a->chunk, size);
    a->at = c->data;
    a->end = c->data + size;
    FORBID(c->data, size);
    a->next_size = MAX(MIN(size * 2, ARENA_CHUNK_MAX), size);
}

static void *align_up(char *at, size_t align)
{
    return at + (-(uintptr_t)at & (align - 1));
}

static void *take_here(struct arena *a, char *p, size_t size)
{
    a->at = p + size;
    ALLOW(p, size);
    return p;
}

static void *take_slow(struct arena *a, size_t size, size_t align)
{
    size_t need;
    if (__builtin_add_overflow(size, align, &need) || need > PTRDIFF_MAX / 2)
        abort();
    /* A huge allocation does not waste the rest of the newest chunk, and is not kept by reset. */
    if (need > MAX(a->next_size, ARENA_CHUNK_MAX))
        return align_up(add_chunk(a, &a->huge, need)->data, align);
    grow(a, need);
    return take_here(a, align_up(a->at, align), size);
}

/* Returns size bytes at an aligned address; not zeroed. */
static void *take(struct arena *a, size_t size, size_t align)
{
    size_t gap = -(uintptr_t)a->at & (align - 1);
    size_t left = (size_t)(a->end - a->at);
    if (UNLIKELY(!a->at || gap > left || size > left - gap))
        return take_slow(a, size, align);
    return take_here(a, a->at + gap, size);
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
