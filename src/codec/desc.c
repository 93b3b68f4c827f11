/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/desc.h"

#include <pthread.h>

#include "codec/decode.h"

static const struct field str_entry_fields[] = {
    F_ONE(struct str_entry, key, "key", 1, STR),
    F_ONE(struct str_entry, value, "value", 2, STR),
};
const struct type str_entry_type = TYPE("", struct str_entry, str_entry_fields);

static const struct {
    size_t size, align;
} kinds[] = {
#define KIND(K) [FIELD_##K] = {sizeof(DESC_C_##K), _Alignof(DESC_C_##K)}
    KIND(STR), KIND(BYTES), KIND(BOOL), KIND(INT32), KIND(INT64), KIND(DOUBLE), KIND(RAW),
#undef KIND
};

size_t field_item_size(const struct field *f)
{
    switch (f->kind) {
    case FIELD_MESSAGE:
        return f->type->size;
    case FIELD_CUSTOM:
        return f->custom->size;
    default:
        return kinds[f->kind].size;
    }
}

size_t field_item_align(const struct field *f)
{
    switch (f->kind) {
    case FIELD_MESSAGE:
        return f->type->align;
    case FIELD_CUSTOM:
        return f->custom->align;
    default:
        return kinds[f->kind].align;
    }
}

bool field_item_is_zero(const struct field *f, const void *item)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
    case FIELD_BYTES:
    case FIELD_RAW:
        return ((const struct str *)item)->n == 0;
    case FIELD_BOOL:
        return !*(const bool *)item;
    case FIELD_INT32:
        return *(const int32_t *)item == 0;
    case FIELD_INT64:
        return *(const int64_t *)item == 0;
    case FIELD_DOUBLE:
        return *(const double *)item == 0;
    case FIELD_CUSTOM:
        return f->custom->is_zero(item);
    case FIELD_MESSAGE:
        return false; /* known only after its fields were checked */
    }
    return false;
}

/* --- index ------------------------------------------------------------------------------------ */

static size_t hash_name(struct str name)
{
    size_t first = (unsigned char)name.p[0], last = (unsigned char)name.p[name.n - 1];
    size_t middle = (unsigned char)name.p[name.n / 2];
    return (name.n * 5 + first + last * 3 + middle * 7) %
           ARRAY_LEN(((struct type_index *)0)->by_name);
}

static void fill_index(const struct type *type, struct type_index *index)
{
    /* A larger table would make the hash table slow, and positions would not fit. */
    assert(type->n_fields < ARRAY_LEN(index->by_name) * 3 / 4);
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        if (f->number && f->number < ARRAY_LEN(index->by_number))
            index->by_number[f->number] = (uint8_t)(i + 1);
        if ((f->flags & FIELD_INLINE) || f->json_len == 0)
            continue;
        size_t slot = hash_name((struct str){f->json, f->json_len});
        while (index->by_name[slot])
            slot = (slot + 1) % ARRAY_LEN(index->by_name);
        index->by_name[slot] = (uint8_t)(i + 1);
    }
}

static void make_index(const struct type *type, struct type_index *index)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(&index->ready, memory_order_relaxed)) {
        fill_index(type, index);
        atomic_store_explicit(&index->ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

const struct type_index *type_index_slow(const struct type *type)
{
    make_index(type, type->index);
    return type->index;
}

const struct field *type_find_large(const struct type *type, uint64_t number)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].number == number)
            return &type->fields[i];
    return NULL;
}

const struct field *type_find_name(const struct type *type, struct str name)
{
    const struct type_index *index = type_index_of(type);
    if (name.n == 0 || !name.p)
        return NULL;
    size_t slot = hash_name(name), i;
    for (; (i = index->by_name[slot]); slot = (slot + 1) % ARRAY_LEN(index->by_name)) {
        const struct field *f = &type->fields[i - 1];
        if (f->json_len == name.n && memcmp(f->json, name.p, name.n) == 0)
            return f;
    }
    return NULL;
}

/* --- access by path --------------------------------------------------------------------------- */

/* The entry of a sorted map; NULL if there is none. */
static const void *find_entry(const struct any_list *map, const struct type *entry, struct str key)
{
    size_t key_offset = entry_key(entry)->offset, from = 0, to = map->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const char *e = (const char *)map->v + mid * entry->size;
        int order = str_cmp(key, *(const struct str *)(const void *)(e + key_offset));
        if (order == 0)
            return e;
        if (order < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

const struct str *str_map_get(const str_map *map, struct str key)
{
    const struct any_list list = {map->v, map->n};
    const struct str_entry *e = find_entry(&list, &str_entry_type, key);
    return e ? &e->value : NULL;
}

bool str_map_equal(const str_map *a, const str_map *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!str_eq(a->v[i].key, b->v[i].key) || !str_eq(a->v[i].value, b->v[i].value))
            return false;
    return true;
}

/* The field called name, in the type or in its inline messages; *member becomes its address. */
static const struct field *find_field(const struct type *type, struct str name, const char **member)
{
    const struct field *found = type_find_name(type, name);
    const char *inner = NULL;
    if (found && *member)
        inner = *member + found->offset;
    for (size_t i = 0; i < type->n_fields && !found; i++) {
        const struct field *f = &type->fields[i];
        if (f->flags & FIELD_INLINE) {
            inner = *member ? *member + f->offset : NULL;
            found = find_field(f->type, name, &inner);
        }
    }
    if (found)
        *member = inner;
    return found;
}

bool desc_take_brackets(struct str *path, struct str *ret_inside)
{
    int depth = 0;
    for (size_t i = 0; i < path->n; i++) {
        depth += (path->p[i] == '[') - (path->p[i] == ']');
        if (depth == 0) {
            *ret_inside = str_slice(*path, 1, i);
            *path = str_slice(*path, i + 1, path->n);
            return true;
        }
    }
    return false;
}

/* The element of a list or the value of a map's key. *value becomes NULL if it is absent. */
static bool index_into(const struct field **field, const char **value, struct str index)
{
    const struct field *f = *field;
    const struct any_list *list = (const void *)*value;
    if (f->shape == SHAPE_MAP) {
        *field = entry_value(f->type);
        const char *e = list ? find_entry(list, f->type, index) : NULL;
        *value = e ? e + (*field)->offset : NULL;
        return true;
    }
    uint64_t i;
    if (f->shape != SHAPE_LIST || !str_to_u64(index, &i))
        return false;
    *value = list && i < list->n ? (const char *)list->v + i * field_item_size(f) : NULL;
    return true;
}

/* Applies the rest of a path to a field that was found: follows its pointer, its index. */
static bool resolve(const struct field **field, const char **value, struct str *path)
{
    if ((*field)->shape == SHAPE_PTR && *value)
        *value = *(const char *const *)(const void *)*value;
    while (path->n && path->p && path->p[0] == '[') {
        struct str index;
        if (!desc_take_brackets(path, &index) || !index_into(field, value, index))
            return false;
        if ((*field)->shape == SHAPE_LIST && path->n && path->p[0] == '[')
            return false; /* no lists of lists */
    }
    return true;
}

bool desc_get(const struct type *type, const void *object, struct str path,
              const struct field **ret_field, const void **ret_value)
{
    const char *at = object;
    for (;;) {
        size_t n = MIN(str_find(path, '.'), str_find(path, '['));
        const struct field *f = find_field(type, str_slice(path, 0, n), &at);
        path = str_slice(path, n, path.n);
        bool indexed = path.n && path.p && path.p[0] == '[';
        if (!f || !resolve(&f, &at, &path))
            return false;
        if (path.n == 0) {
            *ret_field = f;
            *ret_value = at;
            return true;
        }
        bool many = f->shape == SHAPE_LIST || f->shape == SHAPE_MAP;
        if (!path.p || path.p[0] != '.' || f->kind != FIELD_MESSAGE || (many && !indexed))
            return false;
        path = str_slice(path, 1, path.n);
        type = f->type;
    }
}

/* --- equality --------------------------------------------------------------------------------- */

static bool custom_equal(const struct custom *c, const void *a, const void *b)
{
    if (memcmp(a, b, c->size) == 0)
        return true;
    struct buf x = BUF_INIT, y = BUF_INIT;
    c->to_json(a, &x);
    c->to_json(b, &y);
    bool equal = str_eq(buf_str(&x), buf_str(&y));
    buf_release(&x);
    buf_release(&y);
    return equal;
}

static bool item_equal(const struct field *f, const void *a, const void *b)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
    case FIELD_BYTES:
    case FIELD_RAW:
        return str_eq(*(const struct str *)a, *(const struct str *)b);
    case FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case FIELD_INT32:
        return *(const int32_t *)a == *(const int32_t *)b;
    case FIELD_INT64:
        return *(const int64_t *)a == *(const int64_t *)b;
    case FIELD_DOUBLE:
        return *(const double *)a == *(const double *)b;
    case FIELD_MESSAGE:
        return desc_equal(f->type, a, b);
    case FIELD_CUSTOM:
        return custom_equal(f->custom, a, b);
    }
    return false;
}

static bool list_equal(const struct field *f, const struct any_list *a, const struct any_list *b)
{
    if (a->n != b->n)
        return false;
    size_t size = field_item_size(f);
    for (size_t i = 0; i < a->n; i++)
        if (!item_equal(f, (const char *)a->v + i * size, (const char *)b->v + i * size))
            return false;
    return true;
}

bool desc_equal(const struct type *type, const void *a, const void *b)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        const void *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
        bool equal = true;
        if (f->shape == SHAPE_ONE) {
            equal = item_equal(f, x, y);
        } else if (f->shape == SHAPE_PTR) {
            const void *p = *(const void *const *)x, *q = *(const void *const *)y;
            equal = p && q ? item_equal(f, p, q) : p == q;
        } else {
            equal = list_equal(f, x, y);
        }
        if (!equal)
            return false;
    }
    return true;
}
