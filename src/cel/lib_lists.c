/* SPDX-License-Identifier: Apache-2.0 */
/* cel-go's lists extension, version 3. The macro sortBy calls @sortByAssociatedKeys. */
#include <inttypes.h>

#include "base/go_sort.h"
#include "base/vec.h"
#include "cel/lib.h"

#define LIST_COST 10 /* making a list */

static struct cel_value *new_items(const struct cel_call *call, uint64_t n)
{
    return arena_array(call->eval->arena, struct cel_value, n);
}

static struct cel_value slice(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    int64_t from = call->args[1].i, to = call->args[2].i;
    struct arena *a = call->eval->arena;
    if (from < 0 || to < 0)
        return cel_error(
            a, "cannot slice(%" PRId64 ", %" PRId64 "), negative indexes not supported", from, to);
    if (from > to)
        return cel_error(a,
                         "cannot slice(%" PRId64 ", %" PRId64
                         "), start index must be less than or equal to end index",
                         from, to);
    if (list->n < (uint64_t)to)
        return cel_error(a, "cannot slice(%" PRId64 ", %" PRId64 "), list is length %" PRIu64, from,
                         to, list->n);
    const struct cel_value *items = cel_list_items(call->eval, list);
    if (!items)
        return cel_list_of(a, NULL, 0);
    return cel_list_of(a, items + from, (size_t)(to - from));
}

/* --- flatten ---------------------------------------------------------------------------------- */

struct flat {
    struct cel_eval *e;
    VEC(struct cel_value) items;
};

/* The depth of values is limited by that of expressions. */
static void flatten_into(struct flat *out, const struct cel_list *list, int64_t depth)
{
    const struct cel_value *items = cel_list_items(out->e, list);
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (items[i].kind == CEL_LIST && depth > 0) {
            flatten_into(out, items[i].list, depth - 1);
        } else {
            if (!cel_room(out->e, (out->items.n + 1) * sizeof(items[i])))
                return;
            vec_push(&out->items, items[i]);
        }
    }
}

static struct cel_value flatten(const struct cel_call *call)
{
    int64_t depth = call->n > 1 ? call->args[1].i : 1;
    struct flat out = {.e = call->eval};
    if (call->args[0].kind != CEL_LIST || (call->n > 1 && call->args[1].kind != CEL_INT)) {
        struct str list = cel_type_of(call->args[0])->name;
        struct str level = call->n > 1 ? cel_type_of(call->args[1])->name : STR("");
        return cel_error(call->eval->arena, "no such overload: %.*s.flatten(%.*s)", STR_ARG(list),
                         STR_ARG(level));
    }
    if (depth < 0)
        return cel_error(call->eval->arena, "level must be non-negative");
    flatten_into(&out, call->args[0].list, depth);
    struct cel_value *items = new_items(call, out.items.n);
    if (out.items.n > 0)
        memcpy(items, out.items.v, out.items.n * sizeof(*items));
    struct cel_value result = cel_list_of(call->eval->arena, items, out.items.n);
    vec_release(&out.items);
    return result;
}

/* --- sort ------------------------------------------------------------------------------------- */

struct keyed {
    struct cel_value key, value;
    bool *mixed; /* set once keys of different types were compared */
    enum cel_kind kind;
};

static bool less(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key.kind != x->kind || y->key.kind != x->kind) {
        *x->mixed = true;
        return false;
    }
    struct cel_value order = cel_compare(x->key, y->key);
    return order.kind == CEL_INT && order.i == -1;
}

static bool comparable(enum cel_kind kind)
{
    return kind == CEL_BOOL || kind == CEL_INT || kind == CEL_UINT || kind == CEL_DOUBLE ||
           kind == CEL_STRING || kind == CEL_BYTES || kind == CEL_DURATION || kind == CEL_TIMESTAMP;
}

/* sort.Slice, which is not stable: the same comparisons in the same order. */
static struct cel_value sort_by(const struct cel_call *call, const struct cel_list *list,
                                const struct cel_list *keys)
{
    struct arena *a = call->eval->arena;
    if (list->n != keys->n)
        return cel_error(a,
                         "@sortByAssociatedKeys() expected a list of the same size as the "
                         "associated keys list, but got %" PRIu64 " and %" PRIu64
                         " elements respectively",
                         list->n, keys->n);
    const struct cel_value *values = cel_list_items(call->eval, list);
    const struct cel_value *by = cel_list_items(call->eval, keys);
    if (list->n == 0 || !values || !by)
        return cel_list_of(a, NULL, 0);
    if (!comparable(by[0].kind))
        return cel_error(a, "list elements must be comparable");
    bool mixed = false;
    struct keyed *pairs = arena_array(a, struct keyed, list->n);
    void **order = arena_array(a, void *, list->n);
    for (uint64_t i = 0; i < list->n; i++) {
        pairs[i] = (struct keyed){by[i], values[i], &mixed, by[0].kind};
        order[i] = &pairs[i];
    }
    go_sort(order, list->n, less);
    if (mixed)
        return cel_error(a, "list elements must have the same type");
    struct cel_value *items = new_items(call, list->n);
    for (uint64_t i = 0; i < list->n; i++)
        items[i] = ((const struct keyed *)order[i])->value;
    return cel_list_of(a, items, list->n);
}

static struct cel_value sort(const struct cel_call *call)
{
    if (call->args[0].kind != CEL_LIST)
        return cel_no_such_overload();
    return sort_by(call, call->args[0].list, call->args[0].list);
}

static struct cel_value sort_by_keys(const struct cel_call *call)
{
    if (call->args[0].kind != CEL_LIST || call->args[1].kind != CEL_LIST)
        return cel_no_such_overload();
    return sort_by(call, call->args[0].list, call->args[1].list);
}

static uint64_t making(double factor, uint64_t size);
static uint64_t comparing(const struct cel_call *call, struct cel_value v);

/* --- others ----------------------------------------------------------------------------------- */

static struct cel_value range(const struct cel_call *call)
{
    int64_t n = MAX(call->args[0].i, 0);
    if (!cel_afford(call->eval, (uint64_t)n)) {
        call->eval->cost += making(1, (uint64_t)n); /* as if it had been made */
        n = 0;
    }
    struct cel_value *items = new_items(call, (uint64_t)n);
    for (int64_t i = 0; i < n; i++)
        items[i] = cel_int(i);
    return cel_list_of(call->eval->arena, items, (size_t)n);
}

static struct cel_value reverse(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list);
    uint64_t n = items ? list->n : 0;
    struct cel_value *out = new_items(call, n);
    for (uint64_t i = 0; i < n; i++)
        out[i] = items[n - 1 - i];
    return cel_list_of(call->eval->arena, out, n);
}

static struct cel_value distinct(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    uint64_t work, n = 0;
    const struct cel_value *items = cel_list_items(call->eval, list);
    if (!items || __builtin_mul_overflow(list->n, list->n, &work) ||
        !cel_afford(call->eval, work)) {
        if (list->n > 0)
            call->eval->cost += comparing(call, call->args[0]);
        return cel_list_of(call->eval->arena, NULL, 0);
    }
    struct cel_value *out = new_items(call, list->n);
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t k = 0;
        while (k < n && !cel_equal(call->eval, items[i], out[k]))
            k++;
        if (k == n)
            out[n++] = items[i];
    }
    return cel_list_of(call->eval->arena, out, n);
}

/* --- costs ------------------------------------------------------------------------------------ */

/* As Go converts on amd64: negative numbers wrap, too large ones are 2^63. */
static uint64_t to_uint(double d)
{
    if (d < 0x1p63)
        return (uint64_t)(int64_t)MAX(d, -0x1p63);
    return d < 0x1p64 ? (uint64_t)d : (uint64_t)1 << 63;
}

static uint64_t making(double factor, uint64_t size)
{
    return to_uint((double)size * factor) + 1 + LIST_COST;
}

static uint64_t cost_result(const struct cel_call *call UNUSED, struct cel_value result)
{
    return making(1, cel_size_of(result));
}

static uint64_t cost_flatten(const struct cel_call *call, struct cel_value result UNUSED)
{
    double depth = 1;
    if (call->n > 1 && cel_is_error(call->args[1])) {
        cel_fault(call->eval, "interface conversion: ref.Val is *types.Err, not types.Int");
        return 0;
    }
    if (call->n > 1)
        depth = call->args[1].kind == CEL_INT ? (double)call->args[1].i : 0;
    return making(depth, cel_size_of(call->args[0]));
}

/* Comparing all elements with each other. Upstream does not expect an error here. */
static uint64_t comparing(const struct cel_call *call, struct cel_value v)
{
    if (v.kind != CEL_LIST) {
        cel_fault(call->eval, "interface conversion: *types.Err is not traits.Lister: missing "
                              "method Add");
        return 0;
    }
    uint64_t n = v.list->n;
    double factor = 2;
    if (n > 0) {
        enum cel_kind first = cel_list_at(v.list, 0).kind;
        if (first == CEL_STRING || first == CEL_BYTES)
            factor += CEL_TRAVERSAL;
    }
    return making(factor, n * n);
}

static uint64_t cost_comparing(const struct cel_call *call, struct cel_value result UNUSED)
{
    return comparing(call, call->args[0]);
}

static uint64_t cost_comparing_keys(const struct cel_call *call, struct cel_value result UNUSED)
{
    return comparing(call, call->args[1]);
}

static bool estimate(double factor, struct cel_range size, struct cel_estimate *ret)
{
    ret->cost = cel_range_add(cel_range_scale(size, factor), cel_fixed(1 + LIST_COST));
    ret->sized = true;
    ret->size = size;
    return true;
}

/* The value of a literal integer, at least 0. */
static uint64_t literal_or(const struct cel_estimate_arg *arg, uint64_t other)
{
    if (!arg->literal || arg->literal->kind != CEL_INT)
        return other;
    return arg->literal->i < 0 ? 0 : (uint64_t)arg->literal->i;
}

static bool estimate_slice(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target || call->n != 2)
        return false;
    uint64_t from = literal_or(&call->args[0], 0);
    uint64_t to = literal_or(&call->args[1], call->target->size.max);
    return estimate(1, cel_fixed(to - from), ret);
}

static bool estimate_range(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (call->target || call->n != 1)
        return false;
    return estimate(1, cel_fixed(literal_or(&call->args[0], UINT64_MAX)), ret);
}

static bool estimate_reverse(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    return call->target && estimate(1, call->target->size, ret);
}

static bool estimate_flatten(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target || call->n > 1)
        return false;
    uint64_t depth = call->n == 1 ? literal_or(&call->args[0], UINT64_MAX) : 1;
    return estimate((double)depth, call->target->size, ret);
}

static bool estimate_comparing(struct cel_range size, double factor, struct cel_estimate *ret)
{
    return estimate(factor, cel_range_multiply(size, size), ret);
}

static bool estimate_distinct(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    return call->target && estimate_comparing(call->target->size, 2, ret);
}

/* By the type that the overload declares for the keys. */
static bool estimate_sort(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    const struct cel_type *keys = call->overload->args[call->overload->n_args - 1]->params[0];
    double factor = 2;
    if (keys->kind == CEL_T_STRING || keys->kind == CEL_T_BYTES)
        factor += CEL_TRAVERSAL;
    if (!call->target)
        return false;
    return estimate_comparing(call->n > 0 ? call->args[0].size : call->target->size, factor, ret);
}

/* --- table ------------------------------------------------------------------------------------ */

#define T &cel_list_t_type
#define SORT_ROW(t, name)                \
    {.function = "sort",                 \
     .id = "list_" name "_sort",         \
     .flags = CEL_MEMBER | CEL_ANY_ARGS, \
     .n_args = 1,                        \
     .args = {&cel_list_##t##_type},     \
     .result = &cel_list_##t##_type,     \
     .fn = sort,                         \
     .cost = cost_comparing,             \
     .estimate = estimate_sort}
#define KEYS_ROW(t, name)                        \
    {.function = "@sortByAssociatedKeys",        \
     .id = "list_" name "_sortByAssociatedKeys", \
     .flags = CEL_MEMBER | CEL_ANY_ARGS,         \
     .n_args = 2,                                \
     .args = {T, &cel_list_##t##_type},          \
     .result = T,                                \
     .fn = sort_by_keys,                         \
     .cost = cost_comparing_keys,                \
     .estimate = estimate_sort}
#define ROW(name, row_id, row_flags, count, type, function_, cost_, estimate_, ...) \
    {.function = name,                                                              \
     .id = row_id,                                                                  \
     .flags = (row_flags),                                                          \
     .n_args = (count),                                                             \
     .args = {__VA_ARGS__},                                                         \
     .result = (type),                                                              \
     .fn = (function_),                                                             \
     .cost = (cost_),                                                               \
     .estimate = (estimate_)}

static const struct cel_type list_of_lists = CEL_LIST_OF(&cel_list_t_type);

static const struct cel_overload overloads[] = {
    ROW("slice", "list_slice", CEL_MEMBER, 3, T, slice, cost_result, estimate_slice, T,
        &cel_int_type, &cel_int_type),
    ROW("flatten", "list_flatten", CEL_MEMBER | CEL_ANY_ARGS, 1, T, flatten, cost_flatten,
        estimate_flatten, &list_of_lists),
    ROW("flatten", "list_flatten_int", CEL_MEMBER | CEL_ANY_ARGS, 2, &cel_list_dyn_type, flatten,
        cost_flatten, estimate_flatten, &cel_list_dyn_type, &cel_int_type),
    SORT_ROW(int, "int"),
    SORT_ROW(uint, "uint"),
    SORT_ROW(double, "double"),
    SORT_ROW(bool, "bool"),
    SORT_ROW(duration, "google.protobuf.Duration"),
    SORT_ROW(timestamp, "google.protobuf.Timestamp"),
    SORT_ROW(string, "string"),
    SORT_ROW(bytes, "bytes"),
    KEYS_ROW(int, "int"),
    KEYS_ROW(uint, "uint"),
    KEYS_ROW(double, "double"),
    KEYS_ROW(bool, "bool"),
    KEYS_ROW(duration, "google.protobuf.Duration"),
    KEYS_ROW(timestamp, "google.protobuf.Timestamp"),
    KEYS_ROW(string, "string"),
    KEYS_ROW(bytes, "bytes"),
    ROW("lists.range", "lists_range", 0, 1, &cel_list_int_type, range, cost_result, estimate_range,
        &cel_int_type),
    ROW("reverse", "list_reverse", CEL_MEMBER, 1, T, reverse, cost_result, estimate_reverse, T),
    ROW("distinct", "list_distinct", CEL_MEMBER, 1, T, distinct, cost_comparing, estimate_distinct,
        T),
};
const struct cel_library cel_lib_lists = {overloads, ARRAY_LEN(overloads), NULL, 0};
