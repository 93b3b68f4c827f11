/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h - shared by the JSON and the protobuf decoder. Private to codec.
 *
 * Purpose:   the path of an invalid field, the memory budget that keeps a small hostile text from
 *            becoming a large object, lists of unknown length, sorting of maps.
 * Ownership: a gather and its scratch are on the decoder's stack; scratch_release frees the
 *            scratch's heap memory.
 * Threading: one thread.
 */
#ifndef BERTH_CODEC_DECODE_H
#define BERTH_CODEC_DECODE_H

#include "codec/desc.h"

/* --- path, built from its end while the decoder unwinds --------------------------------------- */

struct decode_path {
    size_t at; /* the path is text[at …] */
    char text[200];
};

static inline void path_init(struct decode_path *path)
{
    path->at = sizeof(path->text);
}
void path_field(struct decode_path *path, struct str name);
void path_index(struct decode_path *path, size_t index);
void path_key(struct decode_path *path, struct str key);
static inline struct str path_str(const struct decode_path *path)
{
    return (struct str){path->text + path->at, sizeof(path->text) - path->at};
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The memory budget for structs decoded from n bytes; see DECODE_EXPANSION. */
static inline size_t decode_budget(size_t n)
{
    return n < (SIZE_MAX - DECODE_SLACK) / DECODE_EXPANSION ? n * DECODE_EXPANSION + DECODE_SLACK
                                                            : SIZE_MAX;
}

static inline bool decode_charge(size_t *budget, size_t size)
{
    if (UNLIKELY(size > *budget))
        return false;
    *budget -= size;
    return true;
}

/* Under AddressSanitizer the arena marks its allocations, so it must not be bypassed. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define DECODE_BY_ARENA true
#else
#define DECODE_BY_ARENA false
#endif

/* Memory that will be overwritten: like arena_alloc, but not zeroed if possible. */
static inline void *decode_alloc(struct arena *a, size_t size, size_t align)
{
    if (DECODE_BY_ARENA)
        return arena_alloc(a, size, align);
    uintptr_t at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
    if (UNLIKELY(!a->at || at > (uintptr_t)a->end || (uintptr_t)a->end - at < size))
        return arena_alloc(a, size, align);
    a->at = (char *)at + size;
    return (void *)at;
}

/* arena_dup without the call. */
static inline struct str decode_dup(struct arena *a, struct str s)
{
    char *p = decode_alloc(a, s.n + 1, 1);
    memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){p, s.n};
}

/* --- lists of unknown length ------------------------------------------------------------------ */

/* A stack of memory whose allocations do not move. The first piece needs no heap. */
struct scratch {
    char *at, *end;
    struct scratch_chunk *chunk; /* newest; NULL: still in first[] */
    _Alignas(16) char first[8192];
};

void scratch_init(struct scratch *s);
void scratch_release(struct scratch *s);

/*
 * Collects items in doubling segments on the scratch and copies them once. Gathers nest as calls
 * do: the one begun last is ended (or abandoned) first.
 */
struct gather {
    struct scratch *scratch;
    char *mark_at, *mark_end;
    struct scratch_chunk *mark_chunk;
    struct gather_segment *first, *last;
    size_t item_size;
    size_t n;    /* items */
    size_t room; /* left in the last segment */
    char *next;
};

void gather_begin(struct gather *g, struct scratch *scratch, size_t item_size);
void gather_grow(struct gather *g);
/* Adds a zeroed item. It keeps its address until the gather ends. */
static inline void *gather_next(struct gather *g)
{
    if (UNLIKELY(g->room == 0))
        gather_grow(g);
    g->room--;
    g->n++;
    char *item = g->next;
    g->next += g->item_size;
    return memset(item, 0, g->item_size);
}
/* Ends the gather. Returns all items in one array in the arena (NULL if there are none). */
void *gather_end(struct gather *g, struct arena *a, size_t align);
void gather_abandon(struct gather *g);

/* Sorts entries (each has its key at key_offset) and drops all but the last of equal keys. */
void decode_sort_map(struct any_list *map, const struct type *entry);

/* The key and value rows of a map's entry. */
const struct field *entry_key(const struct type *entry);
const struct field *entry_value(const struct type *entry);

/* Whether one value of the field is the zero value; false for messages. */
bool field_item_is_zero(const struct field *f, const void *item);

/* Alignment of one value of the field. */
size_t field_item_align(const struct field *f);

#endif
