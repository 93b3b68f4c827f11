/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/macros.h"

/* One expansion. Every node it makes is where the call is. */
struct expansion {
    struct cel_source *source;
    struct cel_ast *ast;
    struct cel_expr *call, *target;
    struct cel_expr **args;
    size_t n;
    uint32_t at;
};

typedef struct cel_expr *expand_fn(struct expansion *x);

static struct cel_expr *problem(struct expansion *x, const struct cel_expr *where,
                                const char *message)
{
    cel_source_report(x->source, where->offset, "%s", message);
    return cel_ast_new(x->ast, CEL_E_NONE, where->offset);
}

static struct cel_expr *accu(struct expansion *x)
{
    return cel_ast_ident(x->ast, x->at, STR(CEL_ACCU));
}

static struct cel_expr *literal(struct expansion *x, struct cel_value v)
{
    return cel_ast_literal(x->ast, x->at, v);
}

static struct cel_expr *list1(struct expansion *x, struct cel_expr *item)
{
    return cel_ast_list(x->ast, x->at, &item, item ? 1 : 0);
}

/* The parts of a comprehension over the target, with the usual names. */
static struct cel_expr *fold(struct expansion *x, struct cel_expr *range, struct cel_expr *init,
                             struct cel_expr *condition, struct cel_expr *step,
                             struct cel_expr *result)
{
    struct cel_expr *e = cel_ast_new(x->ast, CEL_E_FOLD, x->at);
    e->fold.accu_var = STR(CEL_ACCU);
    e->fold.range = range;
    e->fold.init = init;
    e->fold.condition = condition;
    e->fold.step = step;
    e->fold.result = result;
    return e;
}

/* cel.bind: a comprehension over nothing whose accumulator is the variable, set when first read. */
static struct cel_expr *bind(struct expansion *x, struct str name, struct cel_expr *init,
                             struct cel_expr *result)
{
    struct cel_expr *e = fold(x, list1(x, NULL), init, literal(x, cel_bool(false)),
                              cel_ast_ident(x->ast, x->at, name), result);
    e->fold.iter_var = STR("#unused");
    e->fold.accu_var = name;
    return e;
}

static bool is_accu(struct str name)
{
    return str_is(name, CEL_ACCU) || str_is(name, "__result__");
}

#define OVERWRITES "iteration variable overwrites accumulator variable"

/* NULL, or the node of the problem that was reported. */
static struct cel_expr *check_variable(struct expansion *x, const struct cel_expr *arg,
                                       const char *not_a_name)
{
    if (arg->kind != CEL_E_IDENT)
        return problem(x, arg, not_a_name);
    return is_accu(arg->ident) ? problem(x, arg, OVERWRITES) : NULL;
}

static struct cel_expr *check_two_variables(struct expansion *x)
{
    for (size_t i = 0; i < 2; i++) {
        if (x->args[i]->kind != CEL_E_IDENT)
            return problem(x, x->args[i], "argument must be a simple name");
    }
    struct str first = x->args[0]->ident, second = x->args[1]->ident;
    if (str_eq(first, second)) {
        cel_source_report(x->source, x->args[1]->offset, "duplicate variable name: %.*s",
                          STR_ARG(first));
        return cel_ast_new(x->ast, CEL_E_NONE, x->at);
    }
    for (size_t i = 0; i < 2; i++) {
        if (is_accu(x->args[i]->ident))
            return problem(x, x->args[i], OVERWRITES);
    }
    return NULL;
}

/* Names the variables of a comprehension: one, or two if `two`. */
static struct cel_expr *with_variables(struct expansion *x, struct cel_expr *e, bool two)
{
    e->fold.iter_var = x->args[0]->ident;
    if (two)
        e->fold.iter_var2 = x->args[1]->ident;
    return e;
}

static struct cel_expr *expand_has(struct expansion *x)
{
    struct cel_expr *arg = x->args[0];
    if (arg->kind != CEL_E_SELECT || arg->select.test_only)
        return problem(x, arg, "invalid argument to has() macro");
    struct cel_expr *e = cel_ast_new(x->ast, CEL_E_SELECT, x->at);
    e->select = arg->select;
    e->select.test_only = true;
    return e;
}

/* all, exists, existsOne: the predicate is the last argument. */
enum quantifier { ALL, EXISTS, EXISTS_ONE };

static struct cel_expr *quantify(struct expansion *x, enum quantifier q)
{
    bool two = x->n == 3;
    struct cel_expr *wrong = two ? check_two_variables(x)
                                 : check_variable(x, x->args[0], "argument must be a simple name");
    if (wrong)
        return wrong;
    struct cel_ast *ast = x->ast;
    struct cel_expr *predicate = x->args[x->n - 1], *init, *condition, *step, *result;
    if (q == ALL) {
        init = literal(x, cel_bool(true));
        condition = cel_ast_call(ast, x->at, "@not_strictly_false", accu(x), NULL);
        step = cel_ast_call(ast, x->at, "_&&_", accu(x), predicate, NULL);
        result = accu(x);
    } else if (q == EXISTS) {
        init = literal(x, cel_bool(false));
        condition = cel_ast_call(ast, x->at, "@not_strictly_false",
                                 cel_ast_call(ast, x->at, "!_", accu(x), NULL), NULL);
        step = cel_ast_call(ast, x->at, "_||_", accu(x), predicate, NULL);
        result = accu(x);
    } else {
        init = literal(x, cel_int(0));
        condition = literal(x, cel_bool(true));
        step = cel_ast_call(ast, x->at, "_+_", accu(x), literal(x, cel_int(1)), NULL);
        step = cel_ast_call(ast, x->at, "_?_:_", predicate, step, accu(x), NULL);
        result = cel_ast_call(ast, x->at, "_==_", accu(x), literal(x, cel_int(1)), NULL);
    }
    return with_variables(x, fold(x, x->target, init, condition, step, result), two);
}

static struct cel_expr *expand_all(struct expansion *x)
{
    return quantify(x, ALL);
}

static struct cel_expr *expand_exists(struct expansion *x)
{
    return quantify(x, EXISTS);
}

static struct cel_expr *expand_exists_one(struct expansion *x)
{
    return quantify(x, EXISTS_ONE);
}

/* step, or (filter ? step : accumulator). */
static struct cel_expr *filtered(struct expansion *x, struct cel_expr *filter,
                                 struct cel_expr *step)
{
    return filter ? cel_ast_call(x->ast, x->at, "_?_:_", filter, step, accu(x), NULL) : step;
}

/* A list of the items that `item` yields. */
static struct cel_expr *collect(struct expansion *x, struct cel_expr *range,
                                struct cel_expr *filter, struct cel_expr *item, bool two)
{
    struct cel_expr *init = list1(x, NULL), *condition = literal(x, cel_bool(true));
    struct cel_expr *step = cel_ast_call(x->ast, x->at, "_+_", accu(x), list1(x, item), NULL);
    struct cel_expr *e = fold(x, range, init, condition, filtered(x, filter, step), accu(x));
    return with_variables(x, e, two);
}

static struct cel_expr *expand_map(struct expansion *x)
{
    struct cel_expr *wrong = check_variable(x, x->args[0], "argument is not an identifier");
    return wrong ? wrong
                 : collect(x, x->target, x->n == 3 ? x->args[1] : NULL, x->args[x->n - 1], false);
}

static struct cel_expr *expand_filter(struct expansion *x)
{
    struct cel_expr *wrong = check_variable(x, x->args[0], "argument is not an identifier");
    return wrong ? wrong : collect(x, x->target, x->args[1], x->args[0], false);
}

static struct cel_expr *expand_transform_list(struct expansion *x)
{
    struct cel_expr *wrong = check_two_variables(x);
    return wrong ? wrong
                 : collect(x, x->target, x->n == 4 ? x->args[2] : NULL, x->args[x->n - 1], true);
}

static struct cel_expr *transform_map(struct expansion *x, bool entries)
{
    struct cel_expr *wrong = check_two_variables(x);
    if (wrong)
        return wrong;
    struct cel_expr *transform = x->args[x->n - 1], *step;
    if (entries) {
        step = cel_ast_call(x->ast, x->at, "cel.@mapInsert", accu(x), transform, NULL);
    } else {
        struct cel_expr *key = cel_ast_ident(x->ast, x->at, x->args[0]->ident);
        step = cel_ast_call(x->ast, x->at, "cel.@mapInsert", accu(x), key, transform, NULL);
    }
    step = filtered(x, x->n == 4 ? x->args[2] : NULL, step);
    struct cel_expr *init = cel_ast_new(x->ast, CEL_E_MAP, x->at);
    struct cel_expr *e = fold(x, x->target, init, literal(x, cel_bool(true)), step, accu(x));
    return with_variables(x, e, true);
}

static struct cel_expr *expand_transform_map(struct expansion *x)
{
    return transform_map(x, false);
}

static struct cel_expr *expand_transform_map_entry(struct expansion *x)
{
    return transform_map(x, true);
}

static struct cel_expr *expand_bind(struct expansion *x)
{
    if (x->target->kind != CEL_E_IDENT || !str_is(x->target->ident, "cel"))
        return x->call;
    if (x->args[0]->kind != CEL_E_IDENT)
        return problem(x, x->args[0], "cel.bind() variable names must be simple identifiers");
    return bind(x, x->args[0]->ident, x->args[1], x->args[2]);
}

/* target.hasValue() ? optional.of(bind(name, target.value(), body)) : optional.none() */
static struct cel_expr *optional_map(struct expansion *x, bool flat)
{
    struct cel_ast *ast = x->ast;
    struct cel_expr *has = cel_ast_member(ast, x->at, "hasValue", x->target, NULL);
    struct cel_expr *value =
        cel_ast_member(ast, x->at, "value", cel_ast_copy(ast, x->target), NULL);
    struct cel_expr *body = bind(x, x->args[0]->ident, value, x->args[1]);
    if (!flat)
        body = cel_ast_call(ast, x->at, "optional.of", body, NULL);
    return cel_ast_call(ast, x->at, "_?_:_", has, body,
                        cel_ast_call(ast, x->at, "optional.none", NULL), NULL);
}

static struct cel_expr *expand_opt_map(struct expansion *x)
{
    if (x->args[0]->kind != CEL_E_IDENT)
        return problem(x, x->args[0], "optMap() variable name must be a simple identifier");
    return optional_map(x, false);
}

static struct cel_expr *expand_opt_flat_map(struct expansion *x)
{
    if (x->args[0]->kind != CEL_E_IDENT)
        return problem(x, x->args[0], "optFlatMap() variable name must be a simple identifier");
    return optional_map(x, true);
}

/* bind(input, target, input.@sortByAssociatedKeys(input.map(name, key))) */
static struct cel_expr *expand_sort_by(struct expansion *x)
{
    const struct str input = STR("@__sortBy_input__");
    switch (x->target->kind) {
    case CEL_E_LIST:
    case CEL_E_SELECT:
    case CEL_E_IDENT:
    case CEL_E_FOLD:
    case CEL_E_CALL:
        break;
    default:
        return problem(x, x->target,
                       "sortBy can only be applied to a list, identifier, comprehension, call or "
                       "select expression");
    }
    struct cel_expr *wrong = check_variable(x, x->args[0], "argument is not an identifier");
    if (wrong)
        return wrong;
    struct cel_expr *keys =
        collect(x, cel_ast_ident(x->ast, x->at, input), NULL, x->args[1], false);
    struct cel_expr *sorted = cel_ast_member(x->ast, x->at, "@sortByAssociatedKeys",
                                             cel_ast_ident(x->ast, x->at, input), keys, NULL);
    return bind(x, input, x->target, sorted);
}

static const struct macro {
    const char *name;
    size_t n;
    bool member;
    expand_fn *expand;
} macros[] = {
    {"has", 1, false, expand_has},
    {"all", 2, true, expand_all},
    {"exists", 2, true, expand_exists},
    {"exists_one", 2, true, expand_exists_one},
    {"map", 2, true, expand_map},
    {"map", 3, true, expand_map},
    {"filter", 2, true, expand_filter},
    {"bind", 3, true, expand_bind},
    {"optMap", 2, true, expand_opt_map},
    {"optFlatMap", 2, true, expand_opt_flat_map},
    {"all", 3, true, expand_all},
    {"exists", 3, true, expand_exists},
    {"existsOne", 3, true, expand_exists_one},
    {"exists_one", 3, true, expand_exists_one},
    {"transformList", 3, true, expand_transform_list},
    {"transformList", 4, true, expand_transform_list},
    {"transformMap", 3, true, expand_transform_map},
    {"transformMap", 4, true, expand_transform_map},
    {"transformMapEntry", 3, true, expand_transform_map_entry},
    {"transformMapEntry", 4, true, expand_transform_map_entry},
    {"sortBy", 2, true, expand_sort_by},
};

struct cel_expr *cel_expand_macro(struct cel_source *source, struct cel_ast *ast,
                                  struct cel_expr *call)
{
    struct expansion x = {source,          ast,          call,        call->call.target,
                          call->call.args, call->call.n, call->offset};
    for (size_t i = 0; i < ARRAY_LEN(macros); i++) {
        const struct macro *m = &macros[i];
        if (m->n == x.n && m->member == (x.target != NULL) && str_is(call->call.function, m->name))
            return m->expand(&x);
    }
    return call;
}
