/* SPDX-License-Identifier: Apache-2.0 */
/* cel-go's sets extension. */
#include "cel/lib.h"

static bool has(struct cel_eval *e, const struct cel_list *list, struct cel_value v)
{
    const struct cel_value *items = cel_list_items(e, list);
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (cel_equal(e, v, items[i]))
            return true;
    }
    return false;
}

/* Whether `list` has all elements of `part`, or one of them. */
static bool has_of(const struct cel_call *call, const struct cel_list *list,
                   const struct cel_list *part, bool all)
{
    struct cel_eval *e = call->eval;
    uint64_t work;
    if (__builtin_mul_overflow(list->n, part->n, &work) || !cel_afford(e, work)) {
        e->cost += call->overload->cost(call, cel_bool(false)); /* as if it had been done */
        return false;
    }
    const struct cel_value *items = cel_list_items(e, part);
    for (uint64_t i = 0; items && i < part->n; i++) {
        if (has(e, list, items[i]) != all)
            return !all;
    }
    return all;
}

static struct cel_value contains(const struct cel_call *call)
{
    return cel_bool(has_of(call, call->args[0].list, call->args[1].list, true));
}

static struct cel_value intersects(const struct cel_call *call)
{
    return cel_bool(has_of(call, call->args[1].list, call->args[0].list, false));
}

static struct cel_value equivalent(const struct cel_call *call)
{
    return cel_bool(has_of(call, call->args[0].list, call->args[1].list, true) &&
                    has_of(call, call->args[1].list, call->args[0].list, true));
}

static uint64_t product(const struct cel_call *call, uint64_t factor)
{
    return 1 + cel_size_of(call->args[0]) * cel_size_of(call->args[1]) * factor;
}

static uint64_t cost_once(const struct cel_call *call, struct cel_value result UNUSED)
{
    return product(call, 1);
}

static uint64_t cost_twice(const struct cel_call *call, struct cel_value result UNUSED)
{
    return product(call, 2);
}

static bool estimate(const struct cel_estimate_call *call, double factor, struct cel_estimate *ret)
{
    struct cel_range sizes = cel_range_multiply(call->args[0].size, call->args[1].size);
    ret->cost = cel_range_add(cel_range_scale(sizes, factor), cel_fixed(1));
    return true;
}

static bool estimate_once(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    return estimate(call, 1, ret);
}

static bool estimate_twice(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    return estimate(call, 2, ret);
}

#define ROW(name, row_id, function_, cost_, estimate_) \
    {.function = name,                                 \
     .id = row_id,                                     \
     .n_args = 2,                                      \
     .args = {&cel_list_t_type, &cel_list_t_type},     \
     .result = &cel_bool_type,                         \
     .fn = (function_),                                \
     .cost = (cost_),                                  \
     .estimate = (estimate_)}

static const struct cel_overload overloads[] = {
    ROW("sets.contains", "list_sets_contains_list", contains, cost_once, estimate_once),
    ROW("sets.equivalent", "list_sets_equivalent_list", equivalent, cost_twice, estimate_twice),
    ROW("sets.intersects", "list_sets_intersects_list", intersects, cost_once, estimate_once),
};
const struct cel_library cel_lib_sets = {overloads, ARRAY_LEN(overloads), NULL, 0};
