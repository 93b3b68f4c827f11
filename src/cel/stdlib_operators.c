/* SPDX-License-Identifier: Apache-2.0 */
/* + - * / % ! - in [] size, and the operators that the evaluator knows itself. */
#include "cel/stdlib.h"

#include "base/time.h"

static struct cel_value text_error(const char *text)
{
    return (struct cel_value){.kind = CEL_ERROR, .s = str_of(text)};
}

#define INT_OVERFLOW  text_error("integer overflow")
#define UINT_OVERFLOW text_error("unsigned integer overflow")

struct cel_value cel_not_supported(const struct cel_call *call)
{
    enum cel_kind kind = call->args[0].kind;
    if (kind == CEL_STRING || kind == CEL_DURATION || kind == CEL_TIMESTAMP)
        return cel_no_such_overload();
    return cel_error(call->eval->arena, "no such overload: %s", call->overload->function);
}

/* --- times ------------------------------------------------------------------------------------ */

/* Years 1 to 9999. */
#define UNIX_MIN (-62135596800)
#define UNIX_MAX 253402300799

static struct cel_value shift_time(struct cel_value t, int64_t ns)
{
    int64_t sec = t.sec + ns / NSEC_PER_SEC, nsec = t.nsec + ns % NSEC_PER_SEC;
    sec += nsec / NSEC_PER_SEC;
    nsec %= NSEC_PER_SEC;
    if (nsec < 0) {
        nsec += NSEC_PER_SEC;
        sec--;
    }
    if (sec < UNIX_MIN || sec > UNIX_MAX)
        return text_error("timestamp overflow");
    t.sec = sec;
    t.nsec = (int32_t)nsec;
    return t;
}

static struct cel_value between_times(struct cel_value a, struct cel_value b)
{
    int64_t ns;
    bool overflow = __builtin_mul_overflow(a.sec - b.sec, NSEC_PER_SEC, &ns) ||
                    __builtin_add_overflow(ns, (int64_t)a.nsec - b.nsec, &ns);
    return overflow ? INT_OVERFLOW : cel_duration(ns);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static struct cel_value join(const struct cel_call *call, struct cel_value a, struct cel_value b)
{
    /* A tenth per character is charged afterwards: enough to refuse what cannot be paid. */
    size_t n = a.s.n + b.s.n;
    if (!cel_afford(call->eval, n / 64))
        return cel_null();
    char *text = arena_alloc(call->eval->arena, n + 1, 1);
    if (a.s.n > 0)
        memcpy(text, a.s.p, a.s.n);
    if (b.s.n > 0)
        memcpy(text + a.s.n, b.s.p, b.s.n);
    a.s = (struct str){text, n};
    return a;
}

/* Appends to an accumulator in place. */
static struct cel_value grow(const struct cel_call *call, struct cel_value a,
                             const struct cel_list *more)
{
    struct cel_list *list = (struct cel_list *)a.list;
    const struct cel_value *items = cel_list_items(call->eval, more);
    if (!items)
        return a;
    size_t extra = more->n;
    if (list->n + extra > list->capacity) {
        size_t capacity = MAX(MAX(list->capacity * 2, list->n + extra), (size_t)8);
        struct cel_value *grown = arena_array(call->eval->arena, struct cel_value, capacity);
        if (list->n > 0)
            memcpy(grown, list->items, list->n * sizeof(*grown));
        if (more == list)
            items = grown;
        list->items = grown;
        list->capacity = capacity;
    }
    memcpy((struct cel_value *)list->items + list->n, items, extra * sizeof(*items));
    list->n += extra;
    return a;
}

static struct cel_value add(const struct cel_call *call)
{
    struct cel_value a = call->args[0], b = call->args[1];
    int64_t i;
    uint64_t u;
    switch (a.kind) {
    case CEL_INT:
        if (b.kind == CEL_INT)
            return __builtin_add_overflow(a.i, b.i, &i) ? INT_OVERFLOW : cel_int(i);
        break;
    case CEL_UINT:
        if (b.kind == CEL_UINT)
            return __builtin_add_overflow(a.u, b.u, &u) ? UINT_OVERFLOW : cel_uint(u);
        break;
    case CEL_DOUBLE:
        if (b.kind == CEL_DOUBLE)
            return cel_double(a.d + b.d);
        break;
    case CEL_STRING:
    case CEL_BYTES:
        if (b.kind == a.kind)
            return join(call, a, b);
        break;
    case CEL_LIST:
        if (b.kind == CEL_LIST)
            return a.list->grows ? grow(call, a, b.list)
                                 : cel_list_concat(call->eval->arena, a.list, b.list);
        break;
    case CEL_DURATION:
        if (b.kind == CEL_TIMESTAMP)
            return shift_time(b, a.i);
        if (b.kind == CEL_DURATION)
            return __builtin_add_overflow(a.i, b.i, &i) ? INT_OVERFLOW : cel_duration(i);
        break;
    case CEL_TIMESTAMP:
        if (b.kind == CEL_DURATION)
            return shift_time(a, b.i);
        break;
    default:
        return cel_not_supported(call);
    }
    return cel_no_such_overload();
}

static struct cel_value subtract(const struct cel_call *call)
{
    struct cel_value a = call->args[0], b = call->args[1];
    int64_t i;
    uint64_t u;
    switch (a.kind) {
    case CEL_INT:
        if (b.kind == CEL_INT)
            return __builtin_sub_overflow(a.i, b.i, &i) ? INT_OVERFLOW : cel_int(i);
        break;
    case CEL_UINT:
        if (b.kind == CEL_UINT)
            return __builtin_sub_overflow(a.u, b.u, &u) ? UINT_OVERFLOW : cel_uint(u);
        break;
    case CEL_DOUBLE:
        if (b.kind == CEL_DOUBLE)
            return cel_double(a.d - b.d);
        break;
    case CEL_DURATION:
        if (b.kind == CEL_DURATION)
            return __builtin_sub_overflow(a.i, b.i, &i) ? INT_OVERFLOW : cel_duration(i);
        break;
    case CEL_TIMESTAMP:
        if (b.kind == CEL_DURATION)
            return b.i == INT64_MIN ? INT_OVERFLOW : shift_time(a, -b.i);
        if (b.kind == CEL_TIMESTAMP)
            return between_times(a, b);
        break;
    default:
        return cel_not_supported(call);
    }
    return cel_no_such_overload();
}

static struct cel_value multiply(const struct cel_call *call)
{
    struct cel_value a = call->args[0], b = call->args[1];
    int64_t i;
    uint64_t u;
    if (a.kind != CEL_INT && a.kind != CEL_UINT && a.kind != CEL_DOUBLE)
        return cel_not_supported(call);
    if (a.kind != b.kind)
        return cel_no_such_overload();
    if (a.kind == CEL_INT)
        return __builtin_mul_overflow(a.i, b.i, &i) ? INT_OVERFLOW : cel_int(i);
    if (a.kind == CEL_UINT)
        return __builtin_mul_overflow(a.u, b.u, &u) ? UINT_OVERFLOW : cel_uint(u);
    return cel_double(a.d * b.d);
}

static struct cel_value divide(const struct cel_call *call)
{
    struct cel_value a = call->args[0], b = call->args[1];
    if (a.kind != CEL_INT && a.kind != CEL_UINT && a.kind != CEL_DOUBLE)
        return cel_not_supported(call);
    if (a.kind != b.kind)
        return cel_no_such_overload();
    if (a.kind == CEL_DOUBLE)
        return cel_double(a.d / b.d);
    if (b.u == 0)
        return text_error("division by zero");
    if (a.kind == CEL_UINT)
        return cel_uint(a.u / b.u);
    return a.i == INT64_MIN && b.i == -1 ? INT_OVERFLOW : cel_int(a.i / b.i);
}

static struct cel_value modulo(const struct cel_call *call)
{
    struct cel_value a = call->args[0], b = call->args[1];
    if (a.kind != CEL_INT && a.kind != CEL_UINT)
        return cel_not_supported(call);
    if (a.kind != b.kind)
        return cel_no_such_overload();
    if (b.u == 0)
        return text_error("modulus by zero");
    if (a.kind == CEL_UINT)
        return cel_uint(a.u % b.u);
    return a.i == INT64_MIN && b.i == -1 ? INT_OVERFLOW : cel_int(a.i % b.i);
}

static struct cel_value negate(const struct cel_call *call)
{
    struct cel_value a = call->args[0];
    switch (a.kind) {
    case CEL_INT:
        return a.i == INT64_MIN ? INT_OVERFLOW : cel_int(-a.i);
    case CEL_DOUBLE:
        return cel_double(-a.d);
    case CEL_DURATION:
        return a.i == INT64_MIN ? INT_OVERFLOW : cel_duration(-a.i);
    case CEL_BOOL:
        return cel_no_such_overload();
    default:
        return cel_not_supported(call);
    }
}

static struct cel_value not(const struct cel_call *call)
{
    return call->args[0].kind == CEL_BOOL ? cel_bool(!call->args[0].b) : cel_no_such_overload();
}

/* The condition under which a comprehension goes on: errors do not end it. */
static struct cel_value not_strictly_false(const struct cel_call *call)
{
    return call->args[0].kind == CEL_BOOL ? call->args[0] : cel_bool(true);
}

static struct cel_value in(const struct cel_call *call)
{
    struct cel_value x = call->args[0], of = call->args[1];
    if (of.kind == CEL_MAP)
        return cel_bool((of.map->n == 0 || of.map->strings || cel_hashable(call->eval, x)) &&
                        cel_map_has(of.map, x));
    if (of.kind != CEL_LIST)
        return cel_no_such_overload();
    if (of.list->n == 0)
        return cel_bool(false);
    const struct cel_value *items = cel_list_items(call->eval, of.list);
    for (uint64_t i = 0; items && i < of.list->n; i++) {
        if (cel_equal(call->eval, items[i], x))
            return cel_bool(true);
    }
    return cel_bool(false);
}

static struct cel_value size(const struct cel_call *call)
{
    struct cel_value v = call->args[0];
    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_LIST:
    case CEL_MAP:
        return cel_int((int64_t)MIN(cel_size_of(v), (uint64_t)INT64_MAX));
    case CEL_OBJECT:
        if (v.object->class->size)
            return cel_int((int64_t)v.object->class->size(v.object));
        return cel_not_supported(call);
    default:
        return cel_not_supported(call);
    }
}

/* --- costs ------------------------------------------------------------------------------------ */

static uint64_t cost_join(const struct cel_call *call, struct cel_value result)
{
    (void)result;
    return cel_cost_scaled(cel_size_of(call->args[0]) + cel_size_of(call->args[1]), CEL_TRAVERSAL);
}

static uint64_t cost_in_list(const struct cel_call *call, struct cel_value result)
{
    (void)result;
    return cel_size_of(call->args[1]);
}

static bool estimate_in_list(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    *ret = (struct cel_estimate){.cost = cel_range_scale(call->args[1].size, 1)};
    return true;
}

/* --- the table -------------------------------------------------------------------------------- */

#define OP2(fn_, name, id_, a, b, r)             \
    {.function = (name),                         \
     .id = (id_),                                \
     .flags = CEL_ANY_ARGS,                      \
     .n_args = 2,                                \
     .args = {&cel_##a##_type, &cel_##b##_type}, \
     .result = &cel_##r##_type,                  \
     .fn = (fn_)}
#define OP1(fn_, name, id_, a, r) \
    {.function = (name),          \
     .id = (id_),                 \
     .flags = CEL_ANY_ARGS,       \
     .n_args = 1,                 \
     .args = {&cel_##a##_type},   \
     .result = &cel_##r##_type,   \
     .fn = (fn_)}
#define JOIN(id_, a)                             \
    {.function = "_+_",                          \
     .id = (id_),                                \
     .flags = CEL_ANY_ARGS,                      \
     .n_args = 2,                                \
     .args = {&cel_##a##_type, &cel_##a##_type}, \
     .result = &cel_##a##_type,                  \
     .fn = add,                                  \
     .cost = cost_join}
#define SIZE(id_, flags_, a)           \
    {.function = "size",               \
     .id = (id_),                      \
     .flags = CEL_ANY_ARGS | (flags_), \
     .n_args = 1,                      \
     .args = {&cel_##a##_type},        \
     .result = &cel_int_type,          \
     .fn = size}
/* Known to the planner and the evaluator. */
#define BUILTIN(name, id_, n, a, b, c, r) \
    {.function = (name), .id = (id_), .n_args = (n), .args = {a, b, c}, .result = (r)}

static const struct cel_overload overloads[] = {
    BUILTIN("_?_:_", "conditional", 3, &cel_bool_type, &cel_param_a, &cel_param_a, &cel_param_a),
    BUILTIN("_&&_", "logical_and", 2, &cel_bool_type, &cel_bool_type, NULL, &cel_bool_type),
    BUILTIN("_||_", "logical_or", 2, &cel_bool_type, &cel_bool_type, NULL, &cel_bool_type),
    OP1(not, "!_", "logical_not", bool, bool),
    {.function = "@not_strictly_false",
     .id = "not_strictly_false",
     .flags = CEL_NON_STRICT,
     .n_args = 1,
     .args = {&cel_bool_type},
     .result = &cel_bool_type,
     .fn = not_strictly_false},
    BUILTIN("_==_", "equals", 2, &cel_param_a, &cel_param_a, NULL, &cel_bool_type),
    BUILTIN("_!=_", "not_equals", 2, &cel_param_a, &cel_param_a, NULL, &cel_bool_type),

    JOIN("add_bytes", bytes),
    OP2(add, "_+_", "add_double", double, double, double),
    OP2(add, "_+_", "add_duration_duration", duration, duration, duration),
    OP2(add, "_+_", "add_duration_timestamp", duration, timestamp, timestamp),
    OP2(add, "_+_", "add_timestamp_duration", timestamp, duration, timestamp),
    OP2(add, "_+_", "add_int64", int, int, int),
    OP2(add, "_+_", "add_list", list_a, list_a, list_a),
    JOIN("add_string", string),
    OP2(add, "_+_", "add_uint64", uint, uint, uint),
    OP2(divide, "_/_", "divide_double", double, double, double),
    OP2(divide, "_/_", "divide_int64", int, int, int),
    OP2(divide, "_/_", "divide_uint64", uint, uint, uint),
    OP2(modulo, "_%_", "modulo_int64", int, int, int),
    OP2(modulo, "_%_", "modulo_uint64", uint, uint, uint),
    OP2(multiply, "_*_", "multiply_double", double, double, double),
    OP2(multiply, "_*_", "multiply_int64", int, int, int),
    OP2(multiply, "_*_", "multiply_uint64", uint, uint, uint),
    OP1(negate, "-_", "negate_double", double, double),
    OP1(negate, "-_", "negate_int64", int, int),
    OP2(subtract, "_-_", "subtract_double", double, double, double),
    OP2(subtract, "_-_", "subtract_duration_duration", duration, duration, duration),
    OP2(subtract, "_-_", "subtract_int64", int, int, int),
    OP2(subtract, "_-_", "subtract_timestamp_duration", timestamp, duration, timestamp),
    OP2(subtract, "_-_", "subtract_timestamp_timestamp", timestamp, timestamp, duration),
    OP2(subtract, "_-_", "subtract_uint64", uint, uint, uint),

    BUILTIN("_[_]", "index_list", 2, &cel_list_a_type, &cel_int_type, NULL, &cel_param_a),
    BUILTIN("_[_]", "index_map", 2, &cel_map_ab_type, &cel_param_a, NULL, &cel_param_b),
    {.function = "@in",
     .id = "in_list",
     .flags = CEL_ANY_ARGS,
     .n_args = 2,
     .args = {&cel_param_a, &cel_list_a_type},
     .result = &cel_bool_type,
     .fn = in,
     .cost = cost_in_list,
     .estimate = estimate_in_list},
    {.function = "@in",
     .id = "in_map",
     .flags = CEL_ANY_ARGS,
     .n_args = 2,
     .args = {&cel_param_a, &cel_map_ab_type},
     .result = &cel_bool_type,
     .fn = in},
    SIZE("size_bytes", 0, bytes),
    SIZE("bytes_size", CEL_MEMBER, bytes),
    SIZE("size_list", 0, list_a),
    SIZE("list_size", CEL_MEMBER, list_a),
    SIZE("size_map", 0, map_ab),
    SIZE("map_size", CEL_MEMBER, map_ab),
    SIZE("size_string", 0, string),
    SIZE("string_size", CEL_MEMBER, string),
};

const struct cel_library cel_lib_operators = {.overloads = overloads, .n = ARRAY_LEN(overloads)};
