/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/decode.h"

/* --- path ------------------------------------------------------------------------------------- */

static void prepend(struct decode_path *path, struct str s)
{
    if (s.n > path->at) {
        /* Too long: the end of the path says more than its start. */
        static const char dots[] = "...";
        path->at = MIN(path->at, sizeof(path->text) - sizeof(dots));
        memcpy(path->text, dots, 3);
        memmove(path->text + 3, path->text + path->at, sizeof(path->text) - path->at);
        size_t n = 3 + sizeof(path->text) - path->at;
        memmove(path->text + sizeof(path->text) - n, path->text, n);
        path->at = 0;
        return;
    }
    path->at -= s.n;
    if (s.p)
        memcpy(path->text + path->at, s.p, s.n);
}

void path_field(struct decode_path *path, struct str name)
{
    if (path->at < sizeof(path->text) && path->text[path->at] != '[')
        prepend(path, STR("."));
    prepend(path, str_slice(name, 0, 80));
}

void path_index(struct decode_path *path, size_t index)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "[%zu]", index);
    if (path->at < sizeof(path->text) && path->text[path->at] != '[')
        prepend(path, STR("."));
    prepend(path, (struct str){text, (size_t)n});
}

void path_key(struct decode_path *path, struct str key)
{
    if (path->at < sizeof(path->text) && path->text[path->at] != '[')
        prepend(path, STR("."));
    prepend(path, STR("]"));
    prepend(path, str_slice(key, 0, 80));
    prepend(path, STR("["));
}

/* --- scratch ---------------------------------------------------------------------------------- */

#define SCRATCH_CHUNK ((size_t)64 << 10)
#define SCRATCH_ALIGN ((size_t)16)

struct scratch_chunk {
    struct scratch_chunk *older;
    _Alignas(16) char data[];
};

void scratch_init(struct scratch *s)
{
    s->at = s->first;
    s->end = s->first + sizeof(s->first);
    s->chunk = NULL;
}

static void free_down_to(struct scratch *s, struct scratch_chunk *keep)
{
    while (s->chunk != keep) {
        struct scratch_chunk *older = s->chunk->older;
        free(s->chunk);
        s->chunk = older;
    }
}

void scratch_release(struct scratch *s)
{
    free_down_to(s, NULL);
}

static void *scratch_take(struct scratch *s, size_t size)
{
    size = (size + SCRATCH_ALIGN - 1) & ~(SCRATCH_ALIGN - 1);
    if ((size_t)(s->end - s->at) < size) {
        size_t room = MAX(size, SCRATCH_CHUNK);
        struct scratch_chunk *c = xmalloc(sizeof(*c) + room);
        c->older = s->chunk;
        s->chunk = c;
        s->at = c->data;
        s->end = c->data + room;
    }
    char *p = s->at;
    s->at += size;
    return p;
}

/* --- gather ----------------------------------------------------------------------------------- */

struct gather_segment {
    struct gather_segment *next;
    size_t room;
    _Alignas(16) char items[];
};

void gather_begin(struct gather *g, struct scratch *scratch, size_t item_size)
{
    *g = (struct gather){.scratch = scratch,
                         .mark_at = scratch->at,
                         .mark_end = scratch->end,
                         .mark_chunk = scratch->chunk,
                         .item_size = item_size};
}

void gather_grow(struct gather *g)
{
    size_t room = g->last ? g->last->room * 2 : MAX(256 / g->item_size, (size_t)2);
    struct gather_segment *s = scratch_take(g->scratch, sizeof(*s) + room * g->item_size);
    s->next = NULL;
    s->room = room;
    if (g->last)
        g->last->next = s;
    else
        g->first = s;
    g->last = s;
    g->room = room;
    g->next = s->items;
}

void gather_abandon(struct gather *g)
{
    free_down_to(g->scratch, g->mark_chunk);
    g->scratch->at = g->mark_at;
    g->scratch->end = g->mark_end;
}

void *gather_end(struct gather *g, struct arena *a, size_t align)
{
    if (g->n == 0) {
        gather_abandon(g);
        return NULL;
    }
    char *items = decode_alloc(a, g->n * g->item_size, align), *at = items;
    size_t left = g->n;
    for (struct gather_segment *s = g->first; s; s = s->next) {
        size_t n = MIN(left, s->room);
        memcpy(at, s->items, n * g->item_size);
        at += n * g->item_size;
        left -= n;
    }
    gather_abandon(g);
    return items;
}

/* --- maps ------------------------------------------------------------------------------------- */

const struct field *entry_key(const struct type *entry)
{
    return entry->fields[0].number == 1 ? &entry->fields[0] : &entry->fields[1];
}

const struct field *entry_value(const struct type *entry)
{
    return entry->fields[0].number == 1 ? &entry->fields[1] : &entry->fields[0];
}

static struct str key_at(const char *entry, size_t key_offset)
{
    return *(const struct str *)(const void *)(entry + key_offset);
}

struct sort_item {
    struct str key;
    const char *entry;
};

/* Equal keys keep their order, which is that of their addresses. */
static int compare(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    int order = str_cmp(x->key, y->key);
    return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

static bool is_sorted(const struct any_list *map, size_t size, size_t key_offset)
{
    const char *entries = map->v;
    for (size_t i = 1; i < map->n; i++)
        if (str_cmp(key_at(entries + (i - 1) * size, key_offset),
                    key_at(entries + i * size, key_offset)) >= 0)
            return false;
    return true;
}

void decode_sort_map(struct any_list *map, const struct type *entry)
{
    size_t size = entry->size, key_offset = entry_key(entry)->offset;
    /* Go writes sorted maps, so this is the usual case. */
    if (is_sorted(map, size, key_offset))
        return;
    char *copy = xreallocarray(NULL, map->n, size);
    memcpy(copy, map->v, map->n * size);
    struct sort_item *items = xreallocarray(NULL, map->n, sizeof(*items));
    for (size_t i = 0; i < map->n; i++)
        items[i] = (struct sort_item){key_at(copy + i * size, key_offset), copy + i * size};
    qsort(items, map->n, sizeof(*items), compare);
    size_t n = 0;
    for (size_t i = 0; i < map->n; i++) {
        if (i + 1 < map->n && str_eq(items[i].key, items[i + 1].key))
            continue;
        memcpy((char *)map->v + n++ * size, items[i].entry, size);
    }
    map->n = n;
    free(items);
    free(copy);
}
