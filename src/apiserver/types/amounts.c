/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/amounts.h"

static int by_name(const void *x, const void *y)
{
    const struct quantity_entry *a = x, *b = y;
    return str_cmp(a->key, b->key);
}

void amounts_push(struct amounts *list, struct str name, const struct quantity *q, struct arena *a)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        struct quantity_entry *v = arena_array(a, struct quantity_entry, capacity);
        if (list->n)
            memcpy(v, list->v, list->n * sizeof(*v));
        list->v = v;
        list->capacity = capacity;
    }
    list->v[list->n++] = (struct quantity_entry){name, *q};
}

void amounts_push_all(struct amounts *list, const struct quantity_entry *v, size_t n,
                      struct arena *a)
{
    for (size_t i = 0; i < n; i++)
        amounts_push(list, v[i].key, &v[i].value, a);
}

void amounts_sum(struct amounts *list)
{
    if (list->n < 2)
        return;
    qsort(list->v, list->n, sizeof(*list->v), by_name);
    size_t n = 1;
    for (size_t i = 1; i < list->n; i++) {
        if (str_eq(list->v[i].key, list->v[n - 1].key))
            quantity_add(&list->v[n - 1].value, &list->v[i].value);
        else
            list->v[n++] = list->v[i];
    }
    list->n = n;
}

struct amounts amounts_of(const struct json_value *list, struct arena *a)
{
    struct amounts result = {0};
    if (!list || list->kind != JSON_OBJECT)
        return result;
    for (size_t i = 0; i < list->n_members; i++) {
        const struct json_value *v = &list->members[i].value;
        struct quantity q;
        if ((v->kind == JSON_STRING || v->kind == JSON_NUMBER) &&
            quantity_parse(v->text, a, &q, NULL) == 0)
            amounts_push(&result, list->members[i].key, &q, a);
    }
    amounts_sum(&result);
    return result;
}

struct str quantity_text(const struct quantity *q, struct arena *a)
{
    struct buf text = BUF_INIT;
    quantity_write(q, &text);
    struct str kept = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return kept;
}

struct json_value amounts_json(const struct amounts *list, struct arena *a)
{
    struct json_value v = json_object();
    v.members = arena_array(a, struct json_member, list->n);
    v.n_members = list->n;
    for (size_t i = 0; i < list->n; i++)
        v.members[i] =
            (struct json_member){list->v[i].key, json_text(quantity_text(&list->v[i].value, a))};
    return v;
}

const struct quantity *amounts_get(const struct amounts *list, struct str name)
{
    if (list->n == 0)
        return NULL;
    struct quantity_entry key = {.key = name};
    const struct quantity_entry *found = bsearch(&key, list->v, list->n, sizeof(*list->v), by_name);
    return found ? &found->value : NULL;
}

enum combination { ADD, MAX_OF, SUB };

static struct quantity combine(const struct quantity *x, const struct quantity *y,
                               enum combination how)
{
    struct quantity q = x ? *x : (struct quantity){0};
    if (how == ADD && y)
        quantity_add(&q, y);
    else if (how == MAX_OF && y && (!x || quantity_cmp(x, y) <= 0))
        q = *y;
    else if (how == SUB && y)
        quantity_sub(&q, y);
    if (how == SUB && quantity_sign(&q) <= 0)
        q = quantity_of(0, QUANTITY_DECIMAL_SI);
    return q;
}

/* One pass over both lists. */
static struct amounts merge(const struct amounts *x, const struct amounts *y, enum combination how,
                            struct arena *a)
{
    struct amounts result = {0};
    size_t i = 0, j = 0;
    while (i < x->n || j < y->n) {
        int c = i == x->n ? 1 : j == y->n ? -1 : str_cmp(x->v[i].key, y->v[j].key);
        struct str name = c <= 0 ? x->v[i].key : y->v[j].key;
        const struct quantity *left = c <= 0 ? &x->v[i++].value : NULL;
        const struct quantity *right = c >= 0 ? &y->v[j++].value : NULL;
        struct quantity q = combine(left, right, how);
        amounts_push(&result, name, &q, a);
    }
    return result;
}

struct amounts amounts_add(const struct amounts *x, const struct amounts *y, struct arena *a)
{
    return merge(x, y, ADD, a);
}

struct amounts amounts_max(const struct amounts *x, const struct amounts *y, struct arena *a)
{
    return merge(x, y, MAX_OF, a);
}

struct amounts amounts_sub(const struct amounts *x, const struct amounts *y, struct arena *a)
{
    return merge(x, y, SUB, a);
}

bool amounts_equal(const struct amounts *x, const struct amounts *y)
{
    if (x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (!str_eq(x->v[i].key, y->v[i].key) || quantity_cmp(&x->v[i].value, &y->v[i].value) != 0)
            return false;
    return true;
}
