/* SPDX-License-Identifier: Apache-2.0 */
/* Equality and order of values, within the budget of the evaluation. */
#include "cel/eval.h"

#include "base/vec.h"

/* Steps of comparisons beyond the cost limit; upstream has no bound for what == and in do. */
#define FREE_WORK ((uint64_t)1000000)

bool cel_afford(struct cel_eval *e, uint64_t units)
{
    if (!e->exceeded && e->cost <= e->limit && units <= e->limit - e->cost)
        return true;
    e->exceeded = true;
    return false;
}

static bool work(struct cel_eval *e)
{
    if (++e->work <= FREE_WORK || e->work / 16 <= e->limit)
        return true;
    e->exceeded = true;
    return false;
}

bool cel_hashable(struct cel_eval *e, struct cel_value key)
{
    if (key.kind == CEL_BYTES)
        cel_fault(e, "runtime error: hash of unhashable type types.Bytes");
    else if (key.kind == CEL_OBJECT && str_is(key.object->class->type->name, "kubernetes.Semver"))
        cel_fault(e, "runtime error: hash of unhashable type cel.Semver");
    else
        return true;
    return false;
}

/* Copies the leaves of a concatenation in order. right_of: the lists whose turn comes later. */
static void flatten(const struct cel_list *list, struct cel_value *out)
{
    VEC(const struct cel_list *) right_of = {0};
    for (;;) {
        while (!list->items) {
            vec_push(&right_of, list->right);
            list = list->left;
        }
        memcpy(out, list->items, list->n * sizeof(*out));
        out += list->n;
        if (right_of.n == 0)
            break;
        list = vec_pop(&right_of);
    }
    vec_release(&right_of);
}

const struct cel_value *cel_list_items(struct cel_eval *e, const struct cel_list *list)
{
    if (list->items || list->n == 0)
        return list->items;
    /* Many concatenations of one list: what is copied is counted, too. */
    e->work += list->n;
    if (!cel_afford(e, list->n) || !work(e))
        return NULL;
    struct cel_value *items = arena_array(e->arena, struct cel_value, list->n);
    flatten(list, items);
    /* Concatenations are in the arena of this evaluation only; nothing else reads them. */
    ((struct cel_list *)list)->items = items;
    return items;
}

static bool lists_equal(struct cel_eval *e, const struct cel_list *a, const struct cel_list *b)
{
    if (a->n != b->n || a->n == 0)
        return a->n == b->n;
    const struct cel_value *x = cel_list_items(e, a), *y = cel_list_items(e, b);
    if (!x || !y)
        return false;
    for (uint64_t i = 0; i < a->n; i++) {
        /* As in upstream, elements that cannot be compared do not make a difference. */
        if (cel_equality(e, x[i], y[i]) == CEL_UNEQUAL)
            return false;
    }
    return true;
}

static bool maps_equal(struct cel_eval *e, const struct cel_map *a, const struct cel_map *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct cel_value *other = cel_map_find(b, a->entries[i].key);
        if (!other || cel_equality(e, a->entries[i].value, *other) == CEL_UNEQUAL)
            return false;
    }
    return true;
}

static bool is_number(struct cel_value v)
{
    return v.kind == CEL_INT || v.kind == CEL_UINT || v.kind == CEL_DOUBLE;
}

static int order_of_double(double a, double b)
{
    return a < b ? -1 : a > b;
}

/* Upstream compares a double with an integer as doubles: 9007199254740993 == 9007199254740992.0. */
static int order_of_numbers(struct cel_value a, struct cel_value b)
{
    if (a.kind == CEL_DOUBLE && b.kind == CEL_DOUBLE)
        return order_of_double(a.d, b.d);
    if (a.kind == CEL_DOUBLE)
        return order_of_double(a.d, b.kind == CEL_INT ? (double)b.i : (double)b.u);
    if (b.kind == CEL_DOUBLE)
        return -order_of_numbers(b, a);
    if (a.kind == b.kind)
        return a.kind == CEL_INT ? (a.i > b.i) - (a.i < b.i) : (a.u > b.u) - (a.u < b.u);
    if (a.kind == CEL_UINT)
        return -order_of_numbers(b, a);
    return a.i < 0 || b.u > INT64_MAX ? -1 : (a.i > (int64_t)b.u) - (a.i < (int64_t)b.u);
}

static bool is_nan(struct cel_value v)
{
    return v.kind == CEL_DOUBLE && v.d != v.d;
}

/* Values of the same kind, which is neither optional nor object. */
static bool same_kind_equal(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    switch (a.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return a.b == b.b;
    case CEL_STRING:
    case CEL_BYTES:
        return str_eq(a.s, b.s);
    case CEL_DURATION:
        return a.i == b.i;
    case CEL_TIMESTAMP:
        return a.sec == b.sec && a.nsec == b.nsec;
    case CEL_LIST:
        return lists_equal(e, a.list, b.list);
    case CEL_MAP:
        return maps_equal(e, a.map, b.map);
    case CEL_TYPE:
        return str_eq(a.type->name, b.type->name);
    default:
        return false;
    }
}

enum cel_equality cel_equality(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    if (!work(e))
        return CEL_UNEQUAL;
    if (is_number(a))
        return is_number(b) && !is_nan(a) && !is_nan(b) && order_of_numbers(a, b) == 0;
    /* The object on the left judges; one on the right is just another type. */
    if (a.kind == CEL_OBJECT && b.kind != CEL_NULL)
        return a.object->class->equal(a.object, b);
    if (a.kind != b.kind)
        return CEL_UNEQUAL;
    if (a.kind != CEL_OPTIONAL)
        return same_kind_equal(e, a, b);
    if (!a.optional || !b.optional)
        return a.optional == b.optional;
    return cel_equality(e, *a.optional, *b.optional);
}

bool cel_equal(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    return cel_equality(e, a, b) == CEL_EQUAL;
}

static struct cel_value sign_of(int order)
{
    return cel_int(order < 0 ? -1 : order > 0);
}

bool cel_has_order(struct cel_value v)
{
    switch (v.kind) {
    case CEL_BOOL:
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return true;
    default:
        return false;
    }
}

struct cel_value cel_compare(struct cel_value a, struct cel_value b)
{
    if (is_nan(a) || (is_number(a) && is_nan(b)))
        return (struct cel_value){.kind = CEL_ERROR, .s = STR("NaN values cannot be ordered")};
    if (is_number(a) && is_number(b))
        return sign_of(order_of_numbers(a, b));
    if (a.kind != b.kind)
        return cel_no_such_overload();
    switch (a.kind) {
    case CEL_BOOL:
        return sign_of(a.b - b.b);
    case CEL_STRING:
    case CEL_BYTES:
        return sign_of(str_cmp(a.s, b.s));
    case CEL_DURATION:
        return sign_of((a.i > b.i) - (a.i < b.i));
    case CEL_TIMESTAMP:
        if (a.sec != b.sec)
            return sign_of(a.sec < b.sec ? -1 : 1);
        return sign_of(a.nsec - b.nsec);
    default:
        return cel_no_such_overload();
    }
}
