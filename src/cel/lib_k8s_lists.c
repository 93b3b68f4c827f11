/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' lists library. Functions of lists of any type declare one overload for each type. */
#include "cel/lib.h"

/* Whether a is ordered before or after b, by `order` -1 or 1; no order is neither. */
static bool ordered(struct cel_value a, struct cel_value b, int64_t order)
{
    struct cel_value result = cel_compare(a, b);
    return result.kind == CEL_INT && result.i == order;
}

static struct cel_value is_sorted(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list);
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (!cel_has_order(items[i]))
            return cel_no_such_overload();
        if (i > 0 && ordered(items[i - 1], items[i], 1))
            return cel_bool(false);
    }
    return cel_bool(true);
}

/* The element that no other is preferred to: replaced by those it compares to as `worse`. */
static struct cel_value extreme(const struct cel_call *call, int64_t worse)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list), *best = NULL;
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (!cel_has_order(items[i]))
            return cel_no_such_overload();
        if (!best || ordered(*best, items[i], worse))
            best = &items[i];
    }
    return best ? *best
                : cel_error(call->eval->arena, "%s called on empty list", call->overload->function);
}

static struct cel_value min(const struct cel_call *call)
{
    return extreme(call, 1);
}

static struct cel_value max(const struct cel_call *call)
{
    return extreme(call, -1);
}

/* --- sum -------------------------------------------------------------------------------------- */

static struct cel_value add(const struct cel_call *call, struct cel_value a, struct cel_value b)
{
    if (a.kind != b.kind)
        return cel_no_such_overload();
    struct cel_value sum = a;
    bool overflow = false;
    switch (a.kind) {
    case CEL_INT:
    case CEL_DURATION:
        overflow = __builtin_add_overflow(a.i, b.i, &sum.i);
        break;
    case CEL_UINT:
        overflow = __builtin_add_overflow(a.u, b.u, &sum.u);
        break;
    case CEL_DOUBLE:
        sum.d = a.d + b.d;
        break;
    default:
        return cel_no_such_overload();
    }
    if (overflow)
        return cel_error(call->eval->arena, "%s overflow",
                         a.kind == CEL_INT    ? "integer"
                         : a.kind == CEL_UINT ? "unsigned integer"
                                              : "duration");
    return sum;
}

static struct cel_value sum_from(const struct cel_call *call, struct cel_value sum)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list);
    for (uint64_t i = 0; items && i < list->n && !cel_is_error(sum); i++)
        sum = add(call, sum, items[i]);
    return sum;
}

static struct cel_value sum_int(const struct cel_call *call)
{
    return sum_from(call, cel_int(0));
}

static struct cel_value sum_uint(const struct cel_call *call)
{
    return sum_from(call, cel_uint(0));
}

static struct cel_value sum_double(const struct cel_call *call)
{
    return sum_from(call, cel_double(0));
}

static struct cel_value sum_duration(const struct cel_call *call)
{
    return sum_from(call, cel_duration(0));
}

/* --- searching -------------------------------------------------------------------------------- */

static struct cel_value index_of(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list);
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (cel_equal(call->eval, items[i], call->args[1]))
            return cel_int((int64_t)i);
    }
    return cel_int(-1);
}

static struct cel_value last_index_of(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list);
    for (uint64_t i = list->n; items && i-- > 0;) {
        if (cel_equal(call->eval, items[i], call->args[1]))
            return cel_int((int64_t)i);
    }
    return cel_int(-1);
}

/* --- table ------------------------------------------------------------------------------------ */

#define ROW(name, row_id, list_type, type, function_) \
    {.function = name,                                \
     .id = row_id,                                    \
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,          \
     .n_args = 1,                                     \
     .args = {&(list_type)},                          \
     .result = &(type),                               \
     .fn = (function_),                               \
     .cost = cel_cost_elements,                       \
     .estimate = cel_estimate_elements}
#define SORTED_ROW(t) \
    ROW("isSorted", "list_" #t "_is_sorted_bool", cel_list_##t##_type, cel_bool_type, is_sorted)
#define TYPED_ROW(name, t, function_) \
    ROW(name, "list_" #t "_" name "_" #t, cel_list_##t##_type, cel_##t##_type, function_)
#define INDEX_ROW(name, row_id, function_)     \
    {.function = name,                         \
     .id = row_id,                             \
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,   \
     .n_args = 2,                              \
     .args = {&cel_list_a_type, &cel_param_a}, \
     .result = &cel_int_type,                  \
     .fn = (function_),                        \
     .cost = cel_cost_elements,                \
     .estimate = cel_estimate_elements}

static const struct cel_overload overloads[] = {
    SORTED_ROW(int),
    SORTED_ROW(uint),
    SORTED_ROW(double),
    SORTED_ROW(bool),
    SORTED_ROW(duration),
    SORTED_ROW(timestamp),
    SORTED_ROW(string),
    SORTED_ROW(bytes),
    TYPED_ROW("sum", int, sum_int),
    TYPED_ROW("sum", uint, sum_uint),
    TYPED_ROW("sum", double, sum_double),
    TYPED_ROW("sum", duration, sum_duration),
    TYPED_ROW("max", int, max),
    TYPED_ROW("max", uint, max),
    TYPED_ROW("max", double, max),
    TYPED_ROW("max", bool, max),
    TYPED_ROW("max", duration, max),
    TYPED_ROW("max", timestamp, max),
    TYPED_ROW("max", string, max),
    TYPED_ROW("max", bytes, max),
    TYPED_ROW("min", int, min),
    TYPED_ROW("min", uint, min),
    TYPED_ROW("min", double, min),
    TYPED_ROW("min", bool, min),
    TYPED_ROW("min", duration, min),
    TYPED_ROW("min", timestamp, min),
    TYPED_ROW("min", string, min),
    TYPED_ROW("min", bytes, min),
    INDEX_ROW("indexOf", "list_a_index_of_int", index_of),
    INDEX_ROW("lastIndexOf", "list_a_last_index_of_int", last_index_of),
};
const struct cel_library cel_lib_k8s_lists = {overloads, ARRAY_LEN(overloads), NULL, 0};
