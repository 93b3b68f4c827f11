/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/reason.h"

#include "codec/json.h"

struct reason_entry {
    struct str text;       /* of a single reason */
    struct str list_bytes; /* of a list: its numbers, as the key in by_text */
    const berth_reason *list;
    size_t n; /* 0: a single reason */
    berth_reason number;
};

void reasons_init(struct reasons *r)
{
    *r = (struct reasons){0};
    arena_init(&r->arena, 4096);
}

void reasons_release(struct reasons *r)
{
    map_release(&r->by_text);
    vec_release(&r->entries);
    arena_release(&r->arena);
}

static struct reason_entry *new_entry(struct reasons *r)
{
    struct reason_entry *e = arena_new(&r->arena, struct reason_entry);
    vec_push(&r->entries, e);
    e->number = (berth_reason)r->entries.n;
    return e;
}

#define TOO_MANY STR("(too many different reasons)")

berth_reason reasons_text(struct reasons *r, struct str text)
{
    struct reason_entry *e = map_get(&r->by_text, text);
    if (e)
        return e->number;
    if (r->entries.n >= REASONS_MAX)
        return reasons_text(r, TOO_MANY);
    /* The last entry is reserved for the text above. */
    if (r->entries.n == REASONS_MAX - 1)
        text = TOO_MANY;
    e = new_entry(r);
    e->text = arena_dup(&r->arena, text);
    map_put(&r->by_text, e->text, e);
    return e->number;
}

berth_reason reasons_foreign(struct reasons *r, struct str text)
{
    /* A text ends at its first NUL: keys that begin with one belong to lists, see list_key. */
    text = str_slice(text, 0, str_find(text, '\0'));
    size_t before = r->entries.n;
    if (r->n_foreign == REASONS_FOREIGN_MAX && !map_get(&r->by_text, text))
        return reasons_text(r, TOO_MANY);
    berth_reason reason = reasons_text(r, text);
    r->n_foreign += r->entries.n - before;
    return reason;
}

/*
 * Lists are in the same map as texts. The key of a list is NUL and the bytes of its numbers; no
 * text of a plugin begins with NUL.
 */
static struct str list_key(struct arena *a, const berth_reason *list, size_t n)
{
    size_t bytes = 1 + n * sizeof(*list);
    char *key = arena_alloc(a, bytes, 1);
    memcpy(key + 1, list, n * sizeof(*list));
    return (struct str){key, bytes};
}

berth_reason reasons_list(struct reasons *r, const berth_reason *list, size_t n)
{
    if (n <= 1)
        return n ? list[0] : 0;
    struct arena scratch;
    arena_init(&scratch, 0);
    struct reason_entry *e = map_get(&r->by_text, list_key(&scratch, list, n));
    arena_release(&scratch);
    if (e)
        return e->number;
    if (r->entries.n >= REASONS_MAX - 1)
        return list[0];
    e = new_entry(r);
    e->list_bytes = list_key(&r->arena, list, n);
    berth_reason *copy = arena_array(&r->arena, berth_reason, n);
    memcpy(copy, list, n * sizeof(*list));
    e->list = copy;
    e->n = n;
    map_put(&r->by_text, e->list_bytes, e);
    return e->number;
}

static const struct reason_entry *entry_of(const struct reasons *r, berth_reason reason)
{
    return reason && reason <= r->entries.n ? r->entries.v[reason - 1] : NULL;
}

size_t reasons_count(const struct reasons *r, berth_reason reason)
{
    const struct reason_entry *e = entry_of(r, reason);
    return e ? MAX(e->n, (size_t)1) : 0;
}

struct str reasons_at(const struct reasons *r, berth_reason reason, size_t i)
{
    const struct reason_entry *e = entry_of(r, reason);
    if (e && e->n)
        e = i < e->n ? entry_of(r, e->list[i]) : NULL;
    return e ? e->text : STR("");
}

void reasons_write(const struct reasons *r, berth_reason reason, struct buf *out)
{
    size_t n = reasons_count(r, reason);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_cstr(out, ", ");
        buf_add_str(out, reasons_at(r, reason, i));
    }
}

void reasons_write_json(const struct reasons *r, berth_reason reason, struct buf *out)
{
    size_t n = reasons_count(r, reason);
    if (!n)
        return;
    buf_add_cstr(out, ",\"reasons\":");
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, i ? ',' : '[');
        json_write_str(out, reasons_at(r, reason, i));
    }
    buf_add_char(out, ']');
}
