/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/checker.h"

#include "cel/unify.h"

/* A variable of a comprehension. */
struct local {
    struct str name;
    const struct cel_type *type;
    struct local *outer;
};

struct checker {
    struct cel_source *source;
    struct cel_ast *ast;
    const struct cel_env *env;
    struct cel_unifier types;
    struct local *locals;
};

static void check(struct checker *c, struct cel_expr *e);

static struct str type_text(struct checker *c, const struct cel_type *t)
{
    struct buf text;
    buf_init(&text, 4096); /* a type that is longer is cut */
    cel_type_write(t, &text);
    struct str s = arena_dup(c->ast->arena, buf_str(&text));
    buf_release(&text);
    return s;
}

static const struct cel_type *resolved(struct checker *c, const struct cel_type *t)
{
    return cel_substitute(&c->types, t, false);
}

static bool is_dyn(const struct cel_type *t)
{
    return t->kind == CEL_T_DYN || t->kind == CEL_T_ANY;
}

static void mismatch(struct checker *c, uint32_t offset, const struct cel_type *expected,
                     const struct cel_type *found)
{
    cel_source_report(c->source, offset, "expected type '%.*s' but found '%.*s'",
                      STR_ARG(type_text(c, expected)), STR_ARG(type_text(c, found)));
}

static void undeclared(struct checker *c, struct cel_expr *e, struct str name)
{
    cel_source_report(c->source, e->offset, "undeclared reference to '%.*s' (in container '')",
                      STR_ARG(name));
    e->type = &cel_error_type;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct str without_dot(struct str name)
{
    return name.n > 0 && name.p[0] == '.' ? str_slice(name, 1, name.n) : name;
}

/* Types that upstream's checker knows by this name, and its planner does not. */
static const struct cel_type *declared_only(const struct checker *c, struct str name)
{
    if (str_is(name, "timestamp"))
        return &cel_timestamp_type;
    if (str_is(name, "duration"))
        return &cel_duration_type;
    return str_eq(name, c->env->device->name) ? c->env->device : NULL;
}

/* Sets e to the variable or type of that name. */
static bool lookup(struct checker *c, struct cel_expr *e, struct str name)
{
    name = without_dot(name);
    const struct cel_type *type = NULL;
    const struct cel_value *constant = NULL;
    for (const struct local *l = c->locals; l && !type; l = l->outer) {
        if (str_eq(l->name, name))
            type = l->type;
    }
    if (!type && str_is(name, "device"))
        type = c->env->device;
    if (!type) {
        constant = cel_env_type(c->env, name);
        const struct cel_type *named = constant ? constant->type : declared_only(c, name);
        if (!named)
            return false;
        type = cel_new_type_type(c->ast->arena, named);
    }
    e->kind = CEL_E_IDENT;
    e->ident = name;
    e->type = type;
    e->constant = constant;
    return true;
}

/* a.b.c if e is identifiers and selections only. */
static bool qualified_name(const struct cel_expr *e, struct buf *out)
{
    if (e->kind == CEL_E_IDENT) {
        buf_add_str(out, e->ident);
        return true;
    }
    if (e->kind != CEL_E_SELECT || e->select.test_only || !qualified_name(e->select.operand, out))
        return false;
    buf_add_char(out, '.');
    buf_add_str(out, e->select.field);
    return true;
}

static void check_ident(struct checker *c, struct cel_expr *e)
{
    struct str name = e->ident;
    if (!lookup(c, e, name))
        undeclared(c, e, name);
}

/* --- selections ------------------------------------------------------------------------------- */

static const struct cel_type *field_type(struct checker *c, const struct cel_expr *e,
                                         const struct cel_type *target, struct str field)
{
    switch (target->kind) {
    case CEL_T_MAP:
        return target->params[1];
    case CEL_T_OBJECT: {
        const struct cel_type *type = cel_env_field(c->env, target, field);
        if (type)
            return type;
        if (target == c->env->device)
            cel_source_report(c->source, e->offset, "undefined field '%.*s'", STR_ARG(field));
        else
            cel_source_report(c->source, e->offset, "unexpected failed resolution of '%.*s'",
                              STR_ARG(target->name));
        return &cel_error_type;
    }
    case CEL_T_PARAM:
        cel_assignable(&c->types, &cel_dyn_type, target);
        return &cel_dyn_type;
    default:
        if (!is_dyn(target) && target->kind != CEL_T_ERROR)
            cel_source_report(c->source, e->offset, "type '%.*s' does not support field selection",
                              STR_ARG(type_text(c, target)));
        return &cel_dyn_type;
    }
}

static const struct cel_type *select_type(struct checker *c, struct cel_expr *e,
                                          struct cel_expr *operand, struct str field, bool optional)
{
    check(c, operand);
    const struct cel_type *target = resolved(c, operand->type);
    if (cel_type_is_optional(target)) {
        target = target->params[0];
        optional = true;
    }
    const struct cel_type *type = field_type(c, e, target, field);
    return optional ? cel_new_optional_type(c->ast->arena, type) : type;
}

static void check_select(struct checker *c, struct cel_expr *e)
{
    struct buf name = BUF_INIT;
    bool found = qualified_name(e, &name) && lookup(c, e, arena_dup(c->ast->arena, buf_str(&name)));
    buf_release(&name);
    if (found)
        return;
    const struct cel_type *type = select_type(c, e, e->select.operand, e->select.field, false);
    e->type = e->select.test_only ? &cel_bool_type : resolved(c, type);
}

/* x.?field: the parser made it a call with the name as a literal. */
static void check_optional_select(struct checker *c, struct cel_expr *e)
{
    struct str field = e->call.args[1]->literal.s;
    const struct cel_function *f = cel_env_function(c->env, e->call.function);
    e->overloads = f->overloads;
    e->n_overloads = f->n;
    e->call.args[1]->type = &cel_string_type;
    e->type = resolved(c, select_type(c, e, e->call.args[0], field, true));
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The parameters of one overload and the variables that stand for them. */
struct instance {
    struct str names[4];
    const struct cel_type *vars[4];
    size_t n;
};

static const struct cel_type *instantiate(struct checker *c, struct instance *in,
                                          const struct cel_type *t)
{
    if (t->kind == CEL_T_PARAM) {
        size_t i = 0;
        while (i < in->n && !str_eq(in->names[i], t->name))
            i++;
        if (i == in->n) {
            assert(in->n < ARRAY_LEN(in->names));
            in->names[i] = t->name;
            in->vars[i] = cel_new_var(&c->types);
            in->n++;
        }
        return in->vars[i];
    }
    struct cel_type copy = *t;
    bool changed = false;
    for (size_t i = 0; i < t->n_params; i++) {
        copy.params[i] = instantiate(c, in, t->params[i]);
        changed = changed || copy.params[i] != t->params[i];
    }
    if (!changed)
        return t;
    struct cel_type *made = arena_new(c->ast->arena, struct cel_type);
    *made = copy;
    return made;
}

struct call_types {
    const struct cel_type *args[CEL_MAX_ARGS + 1];
    size_t n;
    bool fits; /* in the array: no overload has more */
};

static void no_overload(struct checker *c, struct cel_expr *e)
{
    struct buf signature;
    buf_init(&signature, 16384);
    if (e->call.target)
        cel_type_write(cel_substitute(&c->types, e->call.target->type, true), &signature);
    buf_add_cstr(&signature, e->call.target ? ".(" : "(");
    for (size_t i = 0; i < e->call.n; i++) {
        if (i > 0)
            buf_add_cstr(&signature, ", ");
        cel_type_write(cel_substitute(&c->types, e->call.args[i]->type, true), &signature);
    }
    buf_add_char(&signature, ')');
    cel_source_report(c->source, e->offset,
                      "found no matching overload for '%.*s' applied to '%.*s'",
                      STR_ARG(e->call.function), STR_ARG(buf_str(&signature)));
    buf_release(&signature);
    e->type = &cel_error_type;
}

/* && and || tell which of their terms is not a bool. */
static void check_logic(struct checker *c, struct cel_expr *e, const struct cel_function *f)
{
    e->type = &cel_bool_type;
    e->overloads = f->overloads;
    e->n_overloads = 1;
    for (size_t i = 0; i < e->call.n; i++) {
        struct cel_expr *arg = e->call.args[i];
        if (cel_assignable(&c->types, arg->type, &cel_bool_type))
            continue;
        mismatch(c, arg->offset, &cel_bool_type, arg->type);
        e->type = &cel_error_type;
    }
}

/* Tries one overload; on success its result type, resolved. */
static const struct cel_type *try_overload(struct checker *c, const struct call_types *call,
                                           const struct cel_overload *o)
{
    struct instance in = {.n = 0};
    const struct cel_type *args[CEL_MAX_ARGS];
    /* Also if the number of arguments differs: messages show the numbers of variables. */
    for (size_t i = 0; i < o->n_args; i++)
        args[i] = instantiate(c, &in, o->args[i]);
    const struct cel_type *result = instantiate(c, &in, o->result);
    if (o->n_args != call->n || !cel_assignable_all(&c->types, call->args, args, call->n))
        return NULL;
    return resolved(c, result);
}

static void resolve(struct checker *c, struct cel_expr *e, const struct cel_function *f)
{
    if (str_is(f->name, "_&&_") || str_is(f->name, "_||_")) {
        check_logic(c, e, f);
        return;
    }
    struct call_types call = {.fits = e->call.n + (e->call.target != NULL) <= CEL_MAX_ARGS};
    if (e->call.target && call.fits)
        call.args[call.n++] = e->call.target->type;
    for (size_t i = 0; i < e->call.n && call.fits; i++)
        call.args[call.n++] = e->call.args[i]->type;
    const struct cel_type *type = NULL;
    e->overloads = arena_array(c->ast->arena, const struct cel_overload *, f->n);
    for (size_t i = 0; i < f->n && call.fits; i++) {
        const struct cel_overload *o = f->overloads[i];
        if (((o->flags & CEL_MEMBER) != 0) != (e->call.target != NULL))
            continue;
        const struct cel_type *result = try_overload(c, &call, o);
        if (!result)
            continue;
        e->overloads[e->n_overloads++] = o;
        if (!type)
            type = result;
        else if (!is_dyn(type) && !cel_same_type(&c->types, result, type))
            type = &cel_dyn_type;
    }
    if (type)
        e->type = type;
    else
        no_overload(c, e);
}

/* optional.of(x): a dotted name of a function and no target. */
static const struct cel_function *namespaced(struct checker *c, const struct cel_expr *e)
{
    struct buf name = BUF_INIT;
    const struct cel_function *f = NULL;
    if (qualified_name(e->call.target, &name)) {
        buf_add_char(&name, '.');
        buf_add_str(&name, e->call.function);
        f = cel_env_function(c->env, buf_str(&name));
    }
    buf_release(&name);
    return f;
}

static void check_call(struct checker *c, struct cel_expr *e)
{
    if (str_is(e->call.function, "_?._")) {
        check_optional_select(c, e);
        return;
    }
    for (size_t i = 0; i < e->call.n; i++)
        check(c, e->call.args[i]);
    const struct cel_function *f = e->call.target ? namespaced(c, e) : NULL;
    if (f)
        e->call.target = NULL;
    else if (e->call.target)
        check(c, e->call.target);
    if (!f)
        f = cel_env_function(c->env, e->call.function);
    if (!f) {
        undeclared(c, e, e->call.function);
        return;
    }
    e->call.function = f->name;
    resolve(c, e, f);
}

/* --- aggregates ------------------------------------------------------------------------------- */

/* Elements that do not agree make a literal dyn here; validate.c refuses most of these. */
static const struct cel_type *join(struct checker *c, const struct cel_type *before,
                                   const struct cel_type *type)
{
    if (!before)
        return type;
    if (cel_assignable(&c->types, before, type))
        return cel_most_general(&c->types, before, type);
    return &cel_dyn_type;
}

/* [?x] and {?k: x} take an optional and hold its value. */
static const struct cel_type *element_type(struct checker *c, const struct cel_expr *e,
                                           bool optional)
{
    const struct cel_type *type = e->type;
    if (!optional)
        return type;
    if (cel_type_is_optional(type))
        return type->params[0];
    if (!is_dyn(type))
        mismatch(c, e->offset, cel_new_optional_type(c->ast->arena, type), type);
    return type;
}

static void check_list(struct checker *c, struct cel_expr *e)
{
    const struct cel_type *type = NULL;
    for (size_t i = 0; i < e->list.n; i++) {
        struct cel_expr *item = e->list.items[i];
        check(c, item);
        type = join(c, type, element_type(c, item, e->list.optional[i]));
    }
    e->type = cel_new_list_type(c->ast->arena, type ? type : cel_new_var(&c->types));
}

static void check_map(struct checker *c, struct cel_expr *e)
{
    const struct cel_type *key = NULL, *value = NULL;
    for (size_t i = 0; i < e->map.n; i++) {
        struct cel_entry *entry = &e->map.entries[i];
        check(c, entry->key);
        key = join(c, key, entry->key->type);
        check(c, entry->value);
        value = join(c, value, element_type(c, entry->value, entry->optional));
    }
    if (!key) {
        key = cel_new_var(&c->types);
        value = cel_new_var(&c->types);
    }
    e->type = cel_new_map_type(c->ast->arena, key, value);
}

/* No type of the environment can be built with name{…}. */
static void check_message(struct checker *c, struct cel_expr *e)
{
    const struct cel_value *type = cel_env_type(c->env, e->map.name);
    e->type = &cel_error_type;
    if (!type)
        undeclared(c, e, e->map.name);
    else
        cel_source_report(c->source, e->offset, "'%.*s' is not a message type",
                          STR_ARG(type->type->name));
    for (size_t i = 0; i < e->map.n && type; i++)
        check(c, e->map.entries[i].value);
}

/* --- comprehensions --------------------------------------------------------------------------- */

static void range_types(struct checker *c, const struct cel_expr *e,
                        const struct cel_type **ret_first, const struct cel_type **ret_second)
{
    const struct cel_type *range = resolved(c, e->fold.range->type);
    bool two = !str_empty(e->fold.iter_var2);
    switch (range->kind) {
    case CEL_T_LIST:
        *ret_first = two ? &cel_int_type : range->params[0];
        *ret_second = range->params[0];
        return;
    case CEL_T_MAP:
        *ret_first = range->params[0];
        *ret_second = range->params[1];
        return;
    case CEL_T_DYN:
    case CEL_T_ERROR:
    case CEL_T_PARAM:
        cel_assignable(&c->types, &cel_dyn_type, range);
        *ret_first = *ret_second = &cel_dyn_type;
        return;
    default:
        cel_source_report(c->source, e->fold.range->offset,
                          "expression of type '%.*s' cannot be range of a comprehension (must be "
                          "list, map, or dynamic)",
                          STR_ARG(type_text(c, range)));
        *ret_first = *ret_second = &cel_error_type;
    }
}

static void require(struct checker *c, const struct cel_expr *e, const struct cel_type *type)
{
    if (!cel_assignable(&c->types, type, e->type))
        mismatch(c, e->offset, type, e->type);
}

static void check_fold(struct checker *c, struct cel_expr *e)
{
    check(c, e->fold.range);
    check(c, e->fold.init);
    const struct cel_type *first, *second;
    range_types(c, e, &first, &second);
    struct local accu = {e->fold.accu_var, e->fold.init->type, c->locals};
    struct local one = {e->fold.iter_var, first, &accu};
    struct local two = {e->fold.iter_var2, second, &one};
    c->locals = str_empty(e->fold.iter_var2) ? &one : &two;
    check(c, e->fold.condition);
    require(c, e->fold.condition, &cel_bool_type);
    check(c, e->fold.step);
    require(c, e->fold.step, accu.type);
    c->locals = &accu;
    check(c, e->fold.result);
    c->locals = accu.outer;
    e->type = resolved(c, e->fold.result->type);
}

static void check(struct checker *c, struct cel_expr *e)
{
    switch (e->kind) {
    case CEL_E_LITERAL:
        e->type = cel_type_of(e->literal);
        return;
    case CEL_E_IDENT:
        check_ident(c, e);
        return;
    case CEL_E_SELECT:
        check_select(c, e);
        return;
    case CEL_E_CALL:
        check_call(c, e);
        return;
    case CEL_E_LIST:
        check_list(c, e);
        return;
    case CEL_E_MAP:
        check_map(c, e);
        return;
    case CEL_E_MESSAGE:
        check_message(c, e);
        return;
    case CEL_E_FOLD:
        check_fold(c, e);
        return;
    case CEL_E_NONE:
        e->type = &cel_error_type;
    }
}

/* --- the end: variables become types ---------------------------------------------------------- */

static void settle(struct checker *c, struct cel_expr *e);

static void settle_all(struct checker *c, struct cel_expr **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        settle(c, v[i]);
}

static void settle(struct checker *c, struct cel_expr *e)
{
    if (!e)
        return;
    if (e->type)
        e->type = cel_substitute(&c->types, e->type, true);
    switch (e->kind) {
    case CEL_E_SELECT:
        settle(c, e->select.operand);
        return;
    case CEL_E_CALL:
        settle(c, e->call.target);
        settle_all(c, e->call.args, e->call.n);
        return;
    case CEL_E_LIST:
        settle_all(c, e->list.items, e->list.n);
        return;
    case CEL_E_MAP:
        for (size_t i = 0; i < e->map.n; i++) {
            settle(c, e->map.entries[i].key);
            settle(c, e->map.entries[i].value);
        }
        return;
    case CEL_E_FOLD:
        settle(c, e->fold.range);
        settle(c, e->fold.init);
        settle(c, e->fold.condition);
        settle(c, e->fold.step);
        settle(c, e->fold.result);
        return;
    default:
        return;
    }
}

bool cel_check(struct cel_source *source, struct cel_ast *ast, const struct cel_env *env)
{
    struct checker c = {.source = source, .ast = ast, .env = env};
    cel_unifier_init(&c.types, ast->arena);
    check(&c, ast->root);
    settle(&c, ast->root);
    if (c.types.steps > CEL_UNIFY_MAX && source->n_problems == 0)
        cel_source_report(source, CEL_NO_OFFSET, "types of the expression are too large");
    cel_unifier_release(&c.types);
    return source->n_problems == 0;
}
