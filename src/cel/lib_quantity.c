/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' quantity library. */
#include "cel/lib.h"

const struct cel_type cel_quantity_type = CEL_OBJECT_TYPE("kubernetes.Quantity");

struct quantity_object {
    struct cel_object base;
    struct quantity quantity;
};

static const struct quantity *quantity_in(struct cel_value v)
{
    return &((const struct quantity_object *)(const void *)v.object)->quantity;
}

static enum cel_equality quantities_equal(const struct cel_object *a, struct cel_value b);

/*
 * Upstream returns sums and differences as a pointer. This shows: an equality with one on the right
 * is "no such overload".
 */
static const struct cel_object_class quantity_class = {&cel_quantity_type, quantities_equal, NULL};
static const struct cel_object_class sum_class = {&cel_quantity_type, quantities_equal, NULL};

static enum cel_equality quantities_equal(const struct cel_object *a, struct cel_value b)
{
    if (b.kind != CEL_OBJECT || b.object->class != &quantity_class)
        return CEL_NOT_COMPARABLE;
    const struct quantity *x = &((const struct quantity_object *)(const void *)a)->quantity;
    return quantity_cmp(x, quantity_in(b)) == 0 ? CEL_EQUAL : CEL_UNEQUAL;
}

static struct cel_value new_quantity(struct arena *a, const struct cel_object_class *class,
                                     struct quantity quantity)
{
    struct quantity_object *o = arena_new(a, struct quantity_object);
    o->base.class = class;
    o->quantity = quantity;
    return cel_object(&o->base);
}

struct cel_value cel_quantity(struct arena *a, struct quantity quantity)
{
    return new_quantity(a, &quantity_class, quantity);
}

static struct cel_value to_quantity(const struct cel_call *call)
{
    struct quantity q;
    struct err err;
    if (quantity_parse(call->args[0].s, call->eval->arena, &q, &err) < 0)
        return cel_error(call->eval->arena, "%s", err.msg);
    return cel_quantity(call->eval->arena, q);
}

static struct cel_value is_quantity(const struct cel_call *call)
{
    struct quantity q;
    return cel_bool(quantity_parse(call->args[0].s, call->eval->arena, &q, NULL) == 0);
}

static struct cel_value sign(const struct cel_call *call)
{
    return cel_int(quantity_sign(quantity_in(call->args[0])));
}

static int compare(const struct cel_call *call)
{
    return quantity_cmp(quantity_in(call->args[0]), quantity_in(call->args[1]));
}

static struct cel_value is_greater(const struct cel_call *call)
{
    return cel_bool(compare(call) > 0);
}

static struct cel_value is_less(const struct cel_call *call)
{
    return cel_bool(compare(call) < 0);
}

static struct cel_value compare_to(const struct cel_call *call)
{
    return cel_int(compare(call));
}

static struct cel_value as_float(const struct cel_call *call)
{
    return cel_double(quantity_approximate(quantity_in(call->args[0])));
}

static struct cel_value as_integer(const struct cel_call *call)
{
    int64_t value;
    if (!quantity_as_int64(quantity_in(call->args[0]), &value))
        return cel_error(call->eval->arena, "cannot convert value to integer");
    return cel_int(value);
}

static struct cel_value is_integer(const struct cel_call *call)
{
    int64_t value;
    return cel_bool(quantity_as_int64(quantity_in(call->args[0]), &value));
}

/* The second operand may be an integer. */
static struct quantity operand(const struct cel_call *call)
{
    if (call->args[1].kind == CEL_INT)
        return quantity_of(call->args[1].i, QUANTITY_DECIMAL_EXPONENT);
    return *quantity_in(call->args[1]);
}

static struct cel_value add(const struct cel_call *call)
{
    struct quantity q = *quantity_in(call->args[0]), y = operand(call);
    quantity_add(&q, &y);
    return new_quantity(call->eval->arena, &sum_class, q);
}

static struct cel_value sub(const struct cel_call *call)
{
    struct quantity q = *quantity_in(call->args[0]), y = operand(call);
    quantity_sub(&q, &y);
    return new_quantity(call->eval->arena, &sum_class, q);
}

#define Q &cel_quantity_type
#define ROW(name, row_id, count, type, function_, ...) \
    {.function = name,                                 \
     .id = row_id,                                     \
     .flags = CEL_MEMBER,                              \
     .n_args = (count),                                \
     .args = {__VA_ARGS__},                            \
     .result = (type),                                 \
     .fn = (function_)}
#define READ_ROW(name, row_id, type, function_) \
    {.function = name,                          \
     .id = row_id,                              \
     .flags = CEL_COST_BY_NAME,                 \
     .n_args = 1,                               \
     .args = {&cel_string_type},                \
     .result = (type),                          \
     .fn = (function_),                         \
     .cost = cel_cost_read,                     \
     .estimate = cel_estimate_read_arg}

static const struct cel_overload overloads[] = {
    READ_ROW("quantity", "string_to_quantity", Q, to_quantity),
    READ_ROW("isQuantity", "is_quantity_string", &cel_bool_type, is_quantity),
    {.function = "sign",
     .id = "quantity_sign",
     .n_args = 1,
     .args = {Q},
     .result = &cel_int_type,
     .fn = sign},
    ROW("isGreaterThan", "quantity_is_greater_than", 2, &cel_bool_type, is_greater, Q, Q),
    ROW("isLessThan", "quantity_is_less_than", 2, &cel_bool_type, is_less, Q, Q),
    ROW("compareTo", "quantity_compare_to", 2, &cel_int_type, compare_to, Q, Q),
    ROW("asApproximateFloat", "quantity_get_float", 1, &cel_double_type, as_float, Q),
    ROW("asInteger", "quantity_get_int", 1, &cel_int_type, as_integer, Q),
    ROW("isInteger", "quantity_is_integer", 1, &cel_bool_type, is_integer, Q),
    ROW("add", "quantity_add", 2, Q, add, Q, Q),
    ROW("add", "quantity_add_int", 2, Q, add, Q, &cel_int_type),
    ROW("sub", "quantity_sub", 2, Q, sub, Q, Q),
    ROW("sub", "quantity_sub_int", 2, Q, sub, Q, &cel_int_type),
};
const struct cel_library cel_lib_quantity = {overloads, ARRAY_LEN(overloads), NULL, 0};
