/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/validate.h"

#include "cel/regex/regex.h"
#include "cel/unify.h"

struct validator {
    struct cel_source *source;
    const struct cel_env *env;
    struct cel_unifier types;
    int formats; /* calls of format() around the current node: their lists may be mixed */
};

static void validate(struct validator *v, const struct cel_expr *e);

/* Whether duration(literal) or timestamp(literal) has a value. */
static bool converts(struct validator *v, struct str function, struct cel_value literal)
{
    const struct cel_function *f = cel_env_function(v->env, function);
    struct cel_eval eval = {.arena = v->source->arena, .limit = UINT64_MAX};
    for (size_t i = 0; i < f->n; i++) {
        const struct cel_overload *o = f->overloads[i];
        if (cel_value_has_type(literal, o->args[0])) {
            struct cel_call call = {&eval, o, &literal, 1, NULL};
            return !cel_is_error(o->fn(&call));
        }
    }
    return false;
}

static void validate_call(struct validator *v, const struct cel_expr *e)
{
    struct str name = e->call.function;
    const struct cel_expr *arg = e->call.n > 0 ? e->call.args[0] : NULL;
    if (!arg || arg->kind != CEL_E_LITERAL)
        return;
    bool valid = true;
    if (str_is(name, "duration") || str_is(name, "timestamp")) {
        valid = converts(v, name, arg->literal);
    } else if (str_is(name, "matches") && arg->literal.kind == CEL_STRING) {
        /* The first argument, even of matches(text, expression): so does upstream. */
        const struct regex *re;
        struct regex_error error;
        valid = regex_new(arg->literal.s, v->source->arena, &re, &error) == 0;
    }
    if (!valid)
        cel_source_report(v->source, arg->offset, "invalid %.*s argument", STR_ARG(name));
}

static void validate_args(struct validator *v, const struct cel_expr *e)
{
    bool format = str_is(e->call.function, "format");
    validate_call(v, e);
    cel_validate_format(v->source, e);
    v->formats += format;
    if (e->call.target)
        validate(v, e->call.target);
    for (size_t i = 0; i < e->call.n; i++)
        validate(v, e->call.args[i]);
    v->formats -= format;
}

static void mismatch(struct validator *v, const struct cel_expr *e, const struct cel_type *expected,
                     const struct cel_type *found)
{
    struct buf text;
    buf_init(&text, 8192);
    buf_add_cstr(&text, "expected type '");
    cel_type_write(expected, &text);
    buf_add_cstr(&text, "' but found '");
    cel_type_write(found, &text);
    buf_add_char(&text, '\'');
    cel_source_report(v->source, e->offset, "%s", buf_cstr(&text));
    buf_release(&text);
}

static const struct cel_type *held_type(const struct cel_expr *e, bool optional)
{
    return optional && cel_type_is_optional(e->type) ? e->type->params[0] : e->type;
}

/* Reports e unless its type is the expected one. */
static bool agrees(struct validator *v, const struct cel_expr *e, const struct cel_type *type,
                   const struct cel_type *expected)
{
    if (v->formats > 0 || cel_same_type(&v->types, expected, type))
        return true;
    mismatch(v, e, expected, type);
    return false;
}

static void validate_list(struct validator *v, const struct cel_expr *e)
{
    const struct cel_type *first = NULL;
    bool same = true;
    for (size_t i = 0; i < e->list.n; i++) {
        const struct cel_expr *item = e->list.items[i];
        const struct cel_type *type = held_type(item, e->list.optional[i]);
        if (!first)
            first = type;
        else if (same)
            same = agrees(v, item, type, first);
        validate(v, item);
    }
}

static void validate_map(struct validator *v, const struct cel_expr *e)
{
    const struct cel_type *key = NULL, *value = NULL;
    for (size_t i = 0; i < e->map.n; i++) {
        const struct cel_entry *entry = &e->map.entries[i];
        const struct cel_type *type = held_type(entry->value, entry->optional);
        if (i == 0) {
            key = entry->key->type;
            value = type;
        } else {
            agrees(v, entry->key, entry->key->type, key);
            agrees(v, entry->value, type, value);
        }
        validate(v, entry->key);
        validate(v, entry->value);
    }
}

static void validate(struct validator *v, const struct cel_expr *e)
{
    switch (e->kind) {
    case CEL_E_SELECT:
        validate(v, e->select.operand);
        return;
    case CEL_E_CALL:
        validate_args(v, e);
        return;
    case CEL_E_LIST:
        validate_list(v, e);
        return;
    case CEL_E_MAP:
        validate_map(v, e);
        return;
    case CEL_E_FOLD:
        validate(v, e->fold.range);
        validate(v, e->fold.init);
        validate(v, e->fold.condition);
        validate(v, e->fold.step);
        validate(v, e->fold.result);
        return;
    default:
        return;
    }
}

bool cel_validate(struct cel_source *source, const struct cel_ast *ast, const struct cel_env *env)
{
    struct validator v = {.source = source, .env = env};
    cel_unifier_init(&v.types, source->arena);
    validate(&v, ast->root);
    cel_unifier_release(&v.types);
    return source->n_problems == 0;
}
