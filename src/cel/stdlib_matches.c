/* SPDX-License-Identifier: Apache-2.0 */
/* matches(): a literal expression is compiled with the program, any other for each call. */
#include "cel/regex/regex.h"
#include "cel/stdlib.h"

static int prepare(struct cel_value literal, struct arena *a, const void **ret, struct err *reterr)
{
    const struct regex *re;
    struct regex_error error;
    if (regex_new(literal.s, a, &re, &error) < 0)
        return err_set(reterr, -EINVAL, "%.*s", STR_ARG(regex_error_text(&error, a)));
    *ret = re;
    return 0;
}

static struct cel_value matches(const struct cel_call *call)
{
    struct cel_value text = call->args[0], expression = call->args[1];
    if (call->prepared)
        return text.kind == CEL_STRING ? cel_bool(regex_match(call->prepared, text.s))
                                       : cel_no_such_overload();
    if (text.kind != CEL_STRING)
        return cel_not_supported(call);
    if (expression.kind != CEL_STRING)
        return cel_no_such_overload();
    struct arena scratch;
    const struct regex *re;
    struct regex_error error;
    struct cel_value result;
    arena_init(&scratch, 0);
    if (regex_new(expression.s, &scratch, &re, &error) < 0)
        result = cel_error(call->eval->arena, "%.*s",
                           STR_ARG(regex_error_text(&error, call->eval->arena)));
    else
        result = cel_bool(regex_match(re, text.s));
    arena_release(&scratch);
    return result;
}

/* One more than the text, so that an empty one does not make the expression free. */
static uint64_t cost(const struct cel_call *call, struct cel_value result)
{
    (void)result;
    return cel_cost_scaled(1 + cel_size_of(call->args[0]), CEL_TRAVERSAL) *
           cel_cost_scaled(cel_size_of(call->args[1]), CEL_REGEX_UNIT);
}

static bool estimate(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    struct cel_range text = cel_range_add(call->target->size, (struct cel_range){1, 1});
    *ret = (struct cel_estimate){
        .cost = cel_range_multiply(cel_range_scale(text, CEL_TRAVERSAL),
                                   cel_range_scale(call->args[0].size, CEL_REGEX_UNIT))};
    return true;
}

static const struct cel_overload overloads[] = {
    {.function = "matches",
     .id = "matches",
     .flags = CEL_ANY_ARGS,
     .n_args = 2,
     .args = {&cel_string_type, &cel_string_type},
     .result = &cel_bool_type,
     .fn = matches,
     .prepare = prepare,
     .prepared_arg = 1},
    {.function = "matches",
     .id = "matches_string",
     .flags = CEL_ANY_ARGS | CEL_MEMBER,
     .n_args = 2,
     .args = {&cel_string_type, &cel_string_type},
     .result = &cel_bool_type,
     .fn = matches,
     .cost = cost,
     .estimate = estimate,
     .prepare = prepare,
     .prepared_arg = 1},
};

const struct cel_library cel_lib_matches = {.overloads = overloads, .n = ARRAY_LEN(overloads)};
