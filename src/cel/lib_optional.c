/* SPDX-License-Identifier: Apache-2.0 */
/* Optional values; and the inserts that the macros transformMap and transformMapEntry use. */
#include "cel/stdlib.h"

static struct cel_value of(const struct cel_call *call)
{
    return cel_optional_of(call->eval->arena, call->args[0]);
}

static bool is_zero(struct cel_value v)
{
    switch (v.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v.b;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v.i == 0;
    case CEL_DOUBLE:
        return v.d == 0;
    case CEL_STRING:
    case CEL_BYTES:
        return v.s.n == 0;
    case CEL_LIST:
        return v.list->n == 0;
    case CEL_MAP:
        return v.map->n == 0;
    case CEL_TIMESTAMP: /* Go's zero time */
        return v.sec == -62135596800 && v.nsec == 0;
    default:
        return false;
    }
}

static struct cel_value of_non_zero(const struct cel_call *call)
{
    return is_zero(call->args[0]) ? cel_none() : of(call);
}

static struct cel_value none(const struct cel_call *call)
{
    (void)call;
    return cel_none();
}

static struct cel_value value(const struct cel_call *call)
{
    const struct cel_value *v = call->args[0].optional;
    return v ? *v : (struct cel_value){.kind = CEL_ERROR, .s = STR("optional.none() dereference")};
}

static struct cel_value has_value(const struct cel_call *call)
{
    return cel_bool(call->args[0].optional != NULL);
}

static struct cel_value first(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    return list->n == 0 ? cel_none() : cel_optional_of(call->eval->arena, cel_list_at(list, 0));
}

static struct cel_value last(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    return list->n == 0 ? cel_none()
                        : cel_optional_of(call->eval->arena, cel_list_at(list, list->n - 1));
}

static struct cel_value unwrap(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    const struct cel_value *items = cel_list_items(call->eval, list);
    struct cel_value *values =
        arena_array(call->eval->arena, struct cel_value, items ? list->n : 0);
    size_t n = 0;
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (items[i].kind != CEL_OPTIONAL) {
            struct buf text;
            buf_init(&text, 1024);
            cel_value_write(items[i], &text);
            struct cel_value wrong =
                cel_error(call->eval->arena, "value %.*s is not optional", STR_ARG(buf_str(&text)));
            buf_release(&text);
            return wrong;
        }
        if (items[i].optional)
            values[n++] = *items[i].optional;
    }
    return cel_list_of(call->eval->arena, values, n);
}

/* --- cel.@mapInsert --------------------------------------------------------------------------- */

/* The map to insert into: the accumulator itself, or a copy. */
static struct cel_map *target_map(const struct cel_call *call)
{
    const struct cel_map *map = call->args[0].map;
    if (map->grows)
        return (struct cel_map *)map;
    struct cel_map *copy = cel_map_new(call->eval->arena, map->n + 1);
    for (size_t i = 0; i < map->n; i++)
        cel_map_put(call->eval->arena, copy, map->entries[i].key, map->entries[i].value);
    return copy;
}

static bool insert(const struct cel_call *call, struct cel_map *map, struct cel_value key,
                   struct cel_value v, struct cel_value *ret_error)
{
    if (cel_map_put(call->eval->arena, map, key, v))
        return true;
    struct buf text;
    buf_init(&text, 1024);
    cel_value_write(key, &text);
    *ret_error = cel_error(call->eval->arena, "insert failed: key %.*s already exists",
                           STR_ARG(buf_str(&text)));
    buf_release(&text);
    return false;
}

static struct cel_value insert_key(const struct cel_call *call)
{
    struct cel_map *map = target_map(call);
    struct cel_value wrong;
    return insert(call, map, call->args[1], call->args[2], &wrong) ? cel_map_value(map) : wrong;
}

static struct cel_value insert_map(const struct cel_call *call)
{
    struct cel_map *map = target_map(call);
    const struct cel_map *from = call->args[1].map;
    struct cel_value wrong;
    for (size_t i = 0; i < from->n; i++) {
        if (!insert(call, map, from->entries[i].key, from->entries[i].value, &wrong))
            return wrong;
    }
    return cel_map_value(map);
}

static const struct cel_type list_of_optional = CEL_LIST_OF(&cel_optional_a_type),
                             optional_list = CEL_OPTIONAL_OF(&cel_list_a_type),
                             optional_map = CEL_OPTIONAL_OF(&cel_map_ab_type),
                             optional_b = CEL_OPTIONAL_OF(&cel_param_b);

static const struct cel_overload overloads[] = {
    {"optional.of", "optional_of", 0, 1, {&cel_param_a}, &cel_optional_a_type, .fn = of},
    {"optional.ofNonZeroValue",
     "optional_ofNonZeroValue",
     0,
     1,
     {&cel_param_a},
     &cel_optional_a_type,
     .fn = of_non_zero},
    {"optional.none", "optional_none", 0, 0, {NULL}, &cel_optional_a_type, .fn = none},
    {"value", "optional_value", CEL_MEMBER, 1, {&cel_optional_a_type}, &cel_param_a, .fn = value},
    {"hasValue",
     "optional_hasValue",
     CEL_MEMBER,
     1,
     {&cel_optional_a_type},
     &cel_bool_type,
     .fn = has_value},
    /* Known to the planner. */
    {"or",
     "optional_or_optional",
     CEL_MEMBER,
     2,
     {&cel_optional_a_type, &cel_optional_a_type},
     &cel_optional_a_type,
     .fn = NULL},
    {"orValue",
     "optional_orValue_value",
     CEL_MEMBER,
     2,
     {&cel_optional_a_type, &cel_param_a},
     &cel_param_a,
     .fn = NULL},
    {"_?._",
     "select_optional_field",
     0,
     2,
     {&cel_dyn_type, &cel_string_type},
     &cel_optional_a_type,
     .fn = NULL},
    {"_[?_]",
     "list_optindex_optional_int",
     0,
     2,
     {&cel_list_a_type, &cel_int_type},
     &cel_optional_a_type,
     .fn = NULL},
    {"_[?_]",
     "optional_list_optindex_optional_int",
     0,
     2,
     {&optional_list, &cel_int_type},
     &cel_optional_a_type,
     .fn = NULL},
    {"_[?_]",
     "map_optindex_optional_value",
     0,
     2,
     {&cel_map_ab_type, &cel_param_a},
     &optional_b,
     .fn = NULL},
    {"_[?_]",
     "optional_map_optindex_optional_value",
     0,
     2,
     {&optional_map, &cel_param_a},
     &optional_b,
     .fn = NULL},
    {"_[_]",
     "optional_list_index_int",
     0,
     2,
     {&optional_list, &cel_int_type},
     &cel_optional_a_type,
     .fn = NULL},
    {"_[_]",
     "optional_map_index_value",
     0,
     2,
     {&optional_map, &cel_param_a},
     &optional_b,
     .fn = NULL},
    {"last", "list_last", CEL_MEMBER, 1, {&cel_list_a_type}, &cel_optional_a_type, .fn = last},
    {"first", "list_first", CEL_MEMBER, 1, {&cel_list_a_type}, &cel_optional_a_type, .fn = first},
    {"optional.unwrap",
     "optional_unwrap",
     0,
     1,
     {&list_of_optional},
     &cel_list_a_type,
     .fn = unwrap},
    {"unwrapOpt",
     "optional_unwrapOpt",
     CEL_MEMBER,
     1,
     {&list_of_optional},
     &cel_list_a_type,
     .fn = unwrap},
};

const struct cel_library cel_lib_optional = {.overloads = overloads, .n = ARRAY_LEN(overloads)};

static const struct cel_overload inserts[] = {
    {"cel.@mapInsert",
     "@mapInsert_map_key_value",
     0,
     3,
     {&cel_map_ab_type, &cel_param_a, &cel_param_b},
     &cel_map_ab_type,
     .fn = insert_key},
    {"cel.@mapInsert",
     "@mapInsert_map_map",
     0,
     2,
     {&cel_map_ab_type, &cel_map_ab_type},
     &cel_map_ab_type,
     .fn = insert_map},
};

const struct cel_library cel_lib_comprehensions = {.overloads = inserts, .n = ARRAY_LEN(inserts)};
