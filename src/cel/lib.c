/* SPDX-License-Identifier: Apache-2.0 */
/* Costs: the rules of k8s.io/apiserver/pkg/cel/library, CostEstimator. */
#include "cel/lib.h"

static const struct cel_type param_t = {.kind = CEL_T_PARAM, .name = STR_INIT("T")};
const struct cel_type cel_list_t_type = CEL_LIST_OF(&param_t);
const struct cel_type cel_list_int_type = CEL_LIST_OF(&cel_int_type),
                      cel_list_uint_type = CEL_LIST_OF(&cel_uint_type),
                      cel_list_double_type = CEL_LIST_OF(&cel_double_type),
                      cel_list_bool_type = CEL_LIST_OF(&cel_bool_type),
                      cel_list_duration_type = CEL_LIST_OF(&cel_duration_type),
                      cel_list_timestamp_type = CEL_LIST_OF(&cel_timestamp_type),
                      cel_list_bytes_type = CEL_LIST_OF(&cel_bytes_type);

uint64_t cel_cost_read(const struct cel_call *call, struct cel_value result UNUSED)
{
    return cel_cost_scaled(cel_size_of(call->args[0]), CEL_TRAVERSAL);
}

uint64_t cel_cost_read_twice(const struct cel_call *call, struct cel_value result UNUSED)
{
    return cel_cost_scaled(cel_size_of(call->args[0]), 2 * CEL_TRAVERSAL);
}

bool cel_estimate_read_arg(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    ret->cost = cel_range_scale(call->args[0].size, CEL_TRAVERSAL);
    return true;
}

bool cel_estimate_read_target(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target)
        return false;
    ret->cost = cel_range_scale(call->target->size, CEL_TRAVERSAL);
    ret->sized = true;
    ret->size = call->target->size;
    return true;
}

/*
 * Bytes of strings by ten, rounded down, and 1 for each other value. The depth of values is limited
 * by that of expressions; what is not affordable is counted as far as it was.
 */
static uint64_t elements_cost(struct cel_eval *e, struct cel_value v)
{
    uint64_t cost = 0;
    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return (uint64_t)((double)v.s.n * CEL_TRAVERSAL);
    case CEL_LIST: {
        const struct cel_value *items = cel_list_items(e, v.list);
        for (uint64_t i = 0; items && i < v.list->n; i++)
            cost += elements_cost(e, items[i]);
        return cost;
    }
    case CEL_MAP:
        for (size_t i = 0; i < v.map->n; i++)
            cost +=
                elements_cost(e, v.map->entries[i].key) + elements_cost(e, v.map->entries[i].value);
        return cost;
    default:
        return 1;
    }
}

uint64_t cel_cost_elements(const struct cel_call *call, struct cel_value result UNUSED)
{
    return elements_cost(call->eval, call->args[0]);
}

bool cel_estimate_elements(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target)
        return false;
    const struct cel_type *type = call->target->type;
    if (type->n_params == 0) { /* a string, or of unknown type */
        ret->cost = cel_range_scale(call->target->size, CEL_TRAVERSAL);
        return true;
    }
    /* One for each element; the size of elements that are strings is not known. */
    struct cel_range element = cel_fixed(1);
    if (type->params[0]->kind == CEL_T_STRING || type->params[0]->kind == CEL_T_BYTES)
        element = cel_range_add(element, cel_range_scale(CEL_UNKNOWN_RANGE, CEL_TRAVERSAL));
    ret->cost = cel_range_multiply(call->target->size, element);
    return true;
}

bool cel_room(struct cel_eval *e, uint64_t bytes)
{
    if (!e->exceeded && bytes <= CEL_ROOM && e->arena->total <= CEL_ROOM - bytes)
        return true;
    e->exceeded = true;
    return false;
}

struct cel_value cel_error_text(struct arena *a, const struct buf *text)
{
    struct cel_value error = cel_error(a, "%s", "");
    error.s = arena_dup(a, buf_str(text));
    return error;
}

struct cel_value cel_string_take(struct arena *a, struct buf *b)
{
    struct cel_value v = cel_string(arena_dup(a, buf_str(b)));
    buf_release(b);
    return v;
}
