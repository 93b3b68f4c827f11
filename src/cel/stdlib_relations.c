/* SPDX-License-Identifier: Apache-2.0 */
/* < <= > >= on values of one kind, and between numbers of any. */
#include "cel/stdlib.h"

static struct cel_value order(const struct cel_call *call)
{
    return cel_has_order(call->args[0]) ? cel_compare(call->args[0], call->args[1])
                                        : cel_not_supported(call);
}

static struct cel_value less(const struct cel_call *call)
{
    struct cel_value v = order(call);
    return cel_is_error(v) ? v : cel_bool(v.i < 0);
}

static struct cel_value less_equals(const struct cel_call *call)
{
    struct cel_value v = order(call);
    return cel_is_error(v) ? v : cel_bool(v.i <= 0);
}

static struct cel_value greater(const struct cel_call *call)
{
    struct cel_value v = order(call);
    return cel_is_error(v) ? v : cel_bool(v.i > 0);
}

static struct cel_value greater_equals(const struct cel_call *call)
{
    struct cel_value v = order(call);
    return cel_is_error(v) ? v : cel_bool(v.i >= 0);
}

/* Texts are compared as far as the shorter one goes. */
static uint64_t cost_shorter(const struct cel_call *call, struct cel_value result)
{
    (void)result;
    uint64_t size = MIN(cel_size_of(call->args[0]), cel_size_of(call->args[1]));
    return cel_cost_scaled(size, CEL_TRAVERSAL);
}

#define REL(fn_, name, id_, a, b)                \
    {.function = (name),                         \
     .id = (id_),                                \
     .flags = CEL_ANY_ARGS,                      \
     .n_args = 2,                                \
     .args = {&cel_##a##_type, &cel_##b##_type}, \
     .result = &cel_bool_type,                   \
     .fn = (fn_)}
#define TEXT(fn_, name, id_, a)                  \
    {.function = (name),                         \
     .id = (id_),                                \
     .flags = CEL_ANY_ARGS,                      \
     .n_args = 2,                                \
     .args = {&cel_##a##_type, &cel_##a##_type}, \
     .result = &cel_bool_type,                   \
     .fn = (fn_),                                \
     .cost = cost_shorter}
#define RELATION(fn_, name, id_)                                                                   \
    REL(fn_, name, id_ "_bool", bool, bool), REL(fn_, name, id_ "_int64", int, int),               \
        REL(fn_, name, id_ "_int64_double", int, double),                                          \
        REL(fn_, name, id_ "_int64_uint64", int, uint), REL(fn_, name, id_ "_uint64", uint, uint), \
        REL(fn_, name, id_ "_uint64_double", uint, double),                                        \
        REL(fn_, name, id_ "_uint64_int64", uint, int),                                            \
        REL(fn_, name, id_ "_double", double, double),                                             \
        REL(fn_, name, id_ "_double_int64", double, int),                                          \
        REL(fn_, name, id_ "_double_uint64", double, uint),                                        \
        TEXT(fn_, name, id_ "_string", string), TEXT(fn_, name, id_ "_bytes", bytes),              \
        REL(fn_, name, id_ "_timestamp", timestamp, timestamp),                                    \
        REL(fn_, name, id_ "_duration", duration, duration)

static const struct cel_overload overloads[] = {
    RELATION(less, "_<_", "less"),
    RELATION(less_equals, "_<=_", "less_equals"),
    RELATION(greater, "_>_", "greater"),
    RELATION(greater_equals, "_>=_", "greater_equals"),
};

const struct cel_library cel_lib_relations = {.overloads = overloads, .n = ARRAY_LEN(overloads)};
