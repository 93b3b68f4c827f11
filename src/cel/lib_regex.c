/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' regex library: find and findAll. matches is in stdlib_matches.c. */
#include <inttypes.h>

#include "base/vec.h"
#include "cel/lib.h"
#include "cel/regex/regex.h"

/* Compiles a literal once. */
static int prepare(struct cel_value literal, struct arena *a, const void **ret, struct err *reterr)
{
    const struct regex *re;
    struct regex_error error;
    if (regex_new(literal.s, a, &re, &error) < 0) {
        struct str text = regex_error_text(&error, a);
        return err_set(reterr, -EINVAL, "%.*s", STR_ARG(text));
    }
    *ret = re;
    return 0;
}

static struct cel_value find_all(const struct cel_call *call, const struct regex *re)
{
    struct regex_all all = {.re = re, .text = call->args[0].s};
    struct regex_span span;
    int64_t max = call->n > 2 ? call->args[2].i : -1;
    VEC(struct cel_value) found = {0};
    while ((max < 0 || (int64_t)found.n < max) && regex_all_next(&all, &span))
        vec_push(&found, cel_string(str_slice(all.text, span.from, span.to)));
    struct cel_value *items = arena_array(call->eval->arena, struct cel_value, found.n);
    if (found.n > 0)
        memcpy(items, found.v, found.n * sizeof(*items));
    struct cel_value list = cel_list_of(call->eval->arena, items, found.n);
    vec_release(&found);
    return list;
}

static struct cel_value find_one(const struct cel_call *call, const struct regex *re)
{
    struct regex_span span;
    if (!regex_find(re, call->args[0].s, 0, &span, 1))
        return cel_string(STR(""));
    return cel_string(str_slice(call->args[0].s, span.from, span.to));
}

static struct cel_value run(const struct cel_call *call,
                            struct cel_value (*fn)(const struct cel_call *, const struct regex *))
{
    if (call->prepared)
        return fn(call, call->prepared);
    struct arena scratch;
    const struct regex *re;
    struct regex_error problem;
    struct cel_value result;
    arena_init(&scratch, 0);
    if (regex_new(call->args[1].s, &scratch, &re, &problem) < 0) {
        struct buf b = BUF_INIT;
        buf_add_cstr(&b, "Illegal regex: ");
        buf_add_str(&b, regex_error_text(&problem, &scratch));
        result = cel_error_text(call->eval->arena, &b);
        buf_release(&b);
    } else {
        result = fn(call, re);
    }
    arena_release(&scratch);
    return result;
}

static struct cel_value find(const struct cel_call *call)
{
    return run(call, find_one);
}

static struct cel_value find_every(const struct cel_call *call)
{
    return run(call, find_all);
}

static uint64_t cost(const struct cel_call *call, struct cel_value result UNUSED)
{
    return cel_cost_scaled(1 + cel_size_of(call->args[0]), CEL_TRAVERSAL) *
           cel_cost_scaled(cel_size_of(call->args[1]), CEL_REGEX_UNIT);
}

static bool estimate(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target || call->n < 1)
        return false;
    struct cel_range text = cel_range_add(call->target->size, cel_fixed(1));
    ret->cost = cel_range_multiply(cel_range_scale(text, CEL_TRAVERSAL),
                                   cel_range_scale(call->args[0].size, CEL_REGEX_UNIT));
    ret->sized = true;
    ret->size = (struct cel_range){0, call->target->size.max};
    return true;
}

#define ROW(name, row_id, count, type, function_, ...) \
    {.function = name,                                 \
     .id = row_id,                                     \
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,           \
     .n_args = (count),                                \
     .args = {__VA_ARGS__},                            \
     .result = (type),                                 \
     .fn = (function_),                                \
     .cost = cost,                                     \
     .estimate = estimate,                             \
     .prepare = prepare,                               \
     .prepared_arg = 1}

static const struct cel_overload overloads[] = {
    ROW("find", "string_find_string", 2, &cel_string_type, find, &cel_string_type,
        &cel_string_type),
    ROW("findAll", "string_find_all_string", 2, &cel_list_string_type, find_every, &cel_string_type,
        &cel_string_type),
    ROW("findAll", "string_find_all_string_int", 3, &cel_list_string_type, find_every,
        &cel_string_type, &cel_string_type, &cel_int_type),
};
const struct cel_library cel_lib_regex = {overloads, ARRAY_LEN(overloads), NULL, 0};
