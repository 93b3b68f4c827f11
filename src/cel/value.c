/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/value.h"

#include <stdarg.h>

struct cel_value cel_optional_of(struct arena *a, struct cel_value v)
{
    struct cel_value *copy = arena_new(a, struct cel_value);
    *copy = v;
    return (struct cel_value){.kind = CEL_OPTIONAL, .optional = copy};
}

/* Longer messages are cut: an error quotes keys and strings of any length. */
#define ERROR_MAX ((size_t)4096)

struct cel_value cel_error(struct arena *a, const char *fmt, ...)
{
    struct buf text;
    buf_init(&text, ERROR_MAX);
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    struct cel_value v = {.kind = CEL_ERROR, .s = arena_dup(a, buf_str(&text))};
    buf_release(&text);
    return v;
}

struct cel_value cel_no_such_overload(void)
{
    return (struct cel_value){.kind = CEL_ERROR, .s = STR("no such overload")};
}

/* --- lists ------------------------------------------------------------------------------------ */

struct cel_value cel_list_of(struct arena *a, const struct cel_value *items, size_t n)
{
    struct cel_list *list = arena_new(a, struct cel_list);
    list->n = n;
    list->items = items;
    return (struct cel_value){.kind = CEL_LIST, .list = list};
}

struct cel_value cel_list_concat(struct arena *a, const struct cel_list *left,
                                 const struct cel_list *right)
{
    if (left->n == 0)
        return (struct cel_value){.kind = CEL_LIST, .list = right};
    if (right->n == 0)
        return (struct cel_value){.kind = CEL_LIST, .list = left};
    struct cel_list *list = arena_new(a, struct cel_list);
    if (__builtin_add_overflow(left->n, right->n, &list->n))
        list->n = UINT64_MAX;
    list->left = left;
    list->right = right;
    return (struct cel_value){.kind = CEL_LIST, .list = list};
}

struct cel_value cel_list_at(const struct cel_list *list, uint64_t i)
{
    while (!list->items) {
        if (i < list->left->n) {
            list = list->left;
        } else {
            i -= list->left->n;
            list = list->right;
        }
    }
    return list->items[i];
}

/* --- maps ------------------------------------------------------------------------------------- */

#define MAP_INDEX_FROM 8 /* entries; smaller maps are searched one by one */

/*
 * The amount of a key if it is a number: as an integer in sign and magnitude, so that 1, 1u and 1.0
 * are equal. A double without such an integer is its own key.
 */
struct number_key {
    bool integral, negative;
    uint64_t magnitude; /* the double's bits if not integral */
};

static bool number_key(struct cel_value v, struct number_key *ret)
{
    *ret = (struct number_key){.integral = true};
    switch (v.kind) {
    case CEL_INT:
        ret->negative = v.i < 0;
        ret->magnitude = v.i < 0 ? -(uint64_t)v.i : (uint64_t)v.i;
        return true;
    case CEL_UINT:
        ret->magnitude = v.u;
        return true;
    case CEL_DOUBLE:
        if (v.d == __builtin_trunc(v.d) && v.d > -0x1p63 && v.d < 0x1p64) {
            ret->negative = v.d < 0;
            ret->magnitude = (uint64_t)(v.d < 0 ? -v.d : v.d);
        } else {
            ret->integral = false;
            memcpy(&ret->magnitude, &v.d, sizeof(v.d));
        }
        return true;
    default:
        return false;
    }
}

static bool key_equal(struct cel_value a, struct cel_value b)
{
    struct number_key x, y;
    if (number_key(a, &x))
        return number_key(b, &y) && x.integral == y.integral && x.negative == y.negative &&
               x.magnitude == y.magnitude && !(a.kind == CEL_DOUBLE && a.d != a.d);
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return a.b == b.b;
    case CEL_STRING:
        return str_eq(a.s, b.s);
    case CEL_DURATION:
        return a.i == b.i;
    case CEL_TIMESTAMP:
        return a.sec == b.sec && a.nsec == b.nsec;
    default: /* found by identity upstream, that is, never */
        return false;
    }
}

static uint64_t key_hash(struct cel_value v)
{
    struct number_key k;
    if (number_key(v, &k))
        return hash_u64(k.magnitude);
    return v.kind == CEL_STRING ? str_hash(v.s) : hash_u64(v.kind == CEL_BOOL && v.b);
}

struct cel_map *cel_map_new(struct arena *a, size_t capacity)
{
    struct cel_map *map = arena_new(a, struct cel_map);
    map->capacity = capacity;
    map->entries = arena_array(a, struct cel_map_entry, capacity);
    return map;
}

static void index_entry(struct cel_map *map, size_t entry)
{
    size_t at = (size_t)key_hash(map->entries[entry].key) & (map->n_index - 1);
    while (map->index[at] != 0)
        at = (at + 1) & (map->n_index - 1);
    map->index[at] = (uint32_t)entry + 1;
}

static void build_index(struct arena *a, struct cel_map *map)
{
    size_t n = 32;
    while (n < map->capacity * 2)
        n *= 2;
    map->n_index = n;
    map->index = arena_array(a, uint32_t, n);
    for (size_t i = 0; i < map->n; i++)
        index_entry(map, i);
}

static struct cel_map_entry *find_entry(const struct cel_map *map, struct cel_value key)
{
    if (!map->index) {
        for (size_t i = 0; i < map->n; i++) {
            if (key_equal(map->entries[i].key, key))
                return &map->entries[i];
        }
        return NULL;
    }
    size_t at = (size_t)key_hash(key) & (map->n_index - 1);
    for (; map->index[at] != 0; at = (at + 1) & (map->n_index - 1)) {
        struct cel_map_entry *e = &map->entries[map->index[at] - 1];
        if (key_equal(e->key, key))
            return e;
    }
    return NULL;
}

bool cel_map_put(struct arena *a, struct cel_map *map, struct cel_value key, struct cel_value value)
{
    if (find_entry(map, key))
        return false;
    if (map->n == map->capacity) {
        size_t capacity = MAX(map->capacity * 2, MAP_INDEX_FROM);
        struct cel_map_entry *entries = arena_array(a, struct cel_map_entry, capacity);
        if (map->n > 0)
            memcpy(entries, map->entries, map->n * sizeof(*entries));
        map->entries = entries;
        map->capacity = capacity;
        map->index = NULL;
    }
    map->entries[map->n] = (struct cel_map_entry){key, value};
    map->n++;
    if (map->index)
        index_entry(map, map->n - 1);
    else if (map->n >= MAP_INDEX_FROM)
        build_index(a, map);
    return true;
}

void cel_map_replace(struct arena *a, struct cel_map *map, struct cel_value key,
                     struct cel_value value)
{
    struct cel_map_entry *e = find_entry(map, key);
    if (e)
        e->value = value;
    else
        cel_map_put(a, map, key, value);
}

bool cel_map_has(const struct cel_map *map, struct cel_value key)
{
    return find_entry(map, key) != NULL;
}

const struct cel_value *cel_map_find(const struct cel_map *map, struct cel_value key)
{
    const struct cel_map_entry *e = find_entry(map, key);
    return e ? &e->value : map->fallback;
}

/* --- what holds for all values ---------------------------------------------------------------- */

const struct cel_type *cel_type_of(struct cel_value v)
{
    static const struct cel_type list = {.kind = CEL_T_LIST, .name = STR_INIT("list")},
                                 map = {.kind = CEL_T_MAP, .name = STR_INIT("map")},
                                 optional = CEL_OPAQUE_TYPE("optional_type");
    switch (v.kind) {
    case CEL_NULL:
        return &cel_null_type;
    case CEL_BOOL:
        return &cel_bool_type;
    case CEL_INT:
        return &cel_int_type;
    case CEL_UINT:
        return &cel_uint_type;
    case CEL_DOUBLE:
        return &cel_double_type;
    case CEL_STRING:
        return &cel_string_type;
    case CEL_BYTES:
        return &cel_bytes_type;
    case CEL_DURATION:
        return &cel_duration_type;
    case CEL_TIMESTAMP:
        return &cel_timestamp_type;
    case CEL_LIST:
        return &list;
    case CEL_MAP:
        return &map;
    case CEL_TYPE:
        return &cel_type_type;
    case CEL_OPTIONAL:
        return &optional;
    case CEL_OBJECT:
        return v.object->class->type;
    case CEL_ERROR:
        break;
    }
    return &cel_error_type;
}

bool cel_value_has_type(struct cel_value v, const struct cel_type *type)
{
    if (type->kind == CEL_T_DYN || type->kind == CEL_T_ANY || type->kind == CEL_T_PARAM)
        return true;
    if (!str_eq(type->name, cel_type_of(v)->name))
        return false;
    if (v.kind == CEL_LIST && type->n_params == 1 && v.list->n > 0)
        return cel_value_has_type(cel_list_at(v.list, 0), type->params[0]);
    if (v.kind == CEL_MAP && type->n_params == 2 && v.map->n > 0)
        return cel_value_has_type(v.map->entries[0].key, type->params[0]) &&
               cel_value_has_type(v.map->entries[0].value, type->params[1]);
    return true;
}

uint64_t cel_runes(struct str s)
{
    uint64_t n = 0;
    while (s.n > 0) {
        if ((unsigned char)*s.p < 0x80) {
            s = str_slice(s, 1, s.n);
        } else {
            str_next_rune(&s);
        }
        n++;
    }
    return n;
}

uint64_t cel_size_of(struct cel_value v)
{
    switch (v.kind) {
    case CEL_STRING:
        return cel_runes(v.s);
    case CEL_BYTES:
        return v.s.n;
    case CEL_LIST:
        return v.list->n;
    case CEL_MAP:
        return v.map->n;
    case CEL_OBJECT:
        return v.object->class->size ? v.object->class->size(v.object) : 1;
    case CEL_OPTIONAL:
        return v.optional ? cel_size_of(*v.optional) : 1;
    default:
        return 1;
    }
}
