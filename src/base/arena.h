/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory with one lifetime.
 *
 * Purpose:   everything that is freed together is allocated together: one decoded object, one
 *            cycle, one request. Single allocations cannot be freed.
 * Ownership: the arena owns its chunks; arena_release frees them all, arena_reset keeps the largest
 *            one (of at most ARENA_CHUNK_MAX) for reuse.
 * Threading: one thread at a time; after the last allocation any thread may read.
 */
#ifndef BERTH_BASE_ARENA_H
#define BERTH_BASE_ARENA_H

#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunk; /* the newest and largest; older ones are linked behind it */
    struct arena_chunk *huge;  /* allocations beyond ARENA_CHUNK_MAX, each in its own chunk */
    char *at, *end;            /* free space of the newest chunk */
    size_t next_size;          /* of the next chunk; doubles up to ARENA_CHUNK_MAX */
    size_t total;              /* bytes held in all chunks */
};

#define ARENA_CHUNK_MIN ((size_t)256)
#define ARENA_CHUNK_MAX ((size_t)1 << 20)

/* first: size of the first chunk (0: ARENA_CHUNK_MIN). Allocates nothing until it is needed. */
void arena_init(struct arena *a, size_t first);
void arena_release(struct arena *a);
void arena_reset(struct arena *a);

/* Returns zeroed memory, never NULL. */
void *arena_alloc(struct arena *a, size_t size, size_t align) __attribute__((returns_nonnull));
#define arena_new(a, type)      ((type *)arena_alloc((a), sizeof(type), _Alignof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc_array((a), (n), sizeof(type), _Alignof(type)))
void *arena_alloc_array(struct arena *a, size_t n, size_t size, size_t align)
    __attribute__((returns_nonnull));

/* Copies, terminated by a NUL that is not counted. */
struct str arena_dup(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
