/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/unify.h"

void cel_unifier_init(struct cel_unifier *u, struct arena *a)
{
    *u = (struct cel_unifier){.arena = a};
    /* Variables 1 and 2 are the A and B of the type names list and map. */
    vec_push(&u->bound, NULL);
    vec_push(&u->bound, NULL);
    vec_push(&u->bound, NULL);
}

void cel_unifier_release(struct cel_unifier *u)
{
    vec_release(&u->bound);
    vec_release(&u->trail);
}

const struct cel_type *cel_new_var(struct cel_unifier *u)
{
    struct cel_type *t = arena_new(u->arena, struct cel_type);
    t->kind = CEL_T_PARAM;
    t->var = (uint32_t)u->bound.n;
    t->name = arena_printf(u->arena, "_var%u", t->var - 3);
    vec_push(&u->bound, NULL);
    return t;
}

static bool step(struct cel_unifier *u)
{
    return ++u->steps <= CEL_UNIFY_MAX;
}

static uint32_t var_of(const struct cel_type *t)
{
    if (t->kind != CEL_T_PARAM)
        return 0;
    return t->var ? t->var : str_is(t->name, "A") ? 1 : 2;
}

static const struct cel_type *find(struct cel_unifier *u, const struct cel_type *t)
{
    uint32_t var = var_of(t);
    return var ? u->bound.v[var] : NULL;
}

static void bind_var(struct cel_unifier *u, const struct cel_type *var, const struct cel_type *to)
{
    uint32_t n = var_of(var);
    vec_push(&u->trail, (struct cel_binding){n, u->bound.v[n]});
    u->bound.v[n] = to;
}

static bool is_dyn(const struct cel_type *t)
{
    return t->kind == CEL_T_DYN || t->kind == CEL_T_ANY;
}

bool cel_same_type(struct cel_unifier *u, const struct cel_type *a, const struct cel_type *b)
{
    if (a == b)
        return true;
    if (!step(u) || a->kind != b->kind || a->n_params != b->n_params || a->var != b->var ||
        !str_eq(a->name, b->name))
        return false;
    for (size_t i = 0; i < a->n_params; i++) {
        if (!cel_same_type(u, a->params[i], b->params[i]))
            return false;
    }
    return true;
}

/* Whether a is equal to b, or less specific: it has dyn or a variable where b has a type. */
static bool is_general(struct cel_unifier *u, const struct cel_type *a, const struct cel_type *b)
{
    if (!step(u))
        return false;
    if (is_dyn(a) || a->kind == CEL_T_PARAM)
        return true;
    if (is_dyn(b) || b->kind == CEL_T_PARAM || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CEL_T_OPAQUE:
    case CEL_T_LIST:
    case CEL_T_MAP:
        if (!str_eq(a->name, b->name) || a->n_params != b->n_params)
            return false;
        for (size_t i = 0; i < a->n_params; i++) {
            if (!is_general(u, a->params[i], b->params[i]))
                return false;
        }
        return true;
    case CEL_T_TYPE:
        return true;
    default:
        return cel_same_type(u, a, b);
    }
}

const struct cel_type *cel_most_general(struct cel_unifier *u, const struct cel_type *a,
                                        const struct cel_type *b)
{
    return is_general(u, a, b) ? a : b;
}

/* The occurs check: no type contains itself. */
static bool is_free_of(struct cel_unifier *u, const struct cel_type *var,
                       const struct cel_type *within)
{
    if (!step(u) || cel_same_type(u, var, within))
        return false;
    if (within->kind == CEL_T_PARAM) {
        const struct cel_type *to = find(u, within);
        return !to || is_free_of(u, var, to);
    }
    for (size_t i = 0; i < within->n_params; i++) {
        if (!is_free_of(u, var, within->params[i]))
            return false;
    }
    return true;
}

static bool assign(struct cel_unifier *u, const struct cel_type *from, const struct cel_type *to);

/* Whether `var` may stand for t. *ret_bound: it was bound before. */
static bool stands_for(struct cel_unifier *u, const struct cel_type *t, const struct cel_type *var,
                       bool *ret_bound)
{
    *ret_bound = true;
    if (cel_same_type(u, t, var))
        return true;
    const struct cel_type *bound = find(u, var);
    if (!bound) {
        *ret_bound = false;
        if (!is_free_of(u, var, t))
            return false;
        bind_var(u, var, t);
        return true;
    }
    if (cel_same_type(u, t, bound))
        return true;
    if (!assign(u, t, bound))
        return false;
    const struct cel_type *general = cel_most_general(u, t, bound);
    if (is_free_of(u, var, general))
        bind_var(u, var, general);
    return true;
}

static bool takes_null(const struct cel_type *t)
{
    switch (t->kind) {
    case CEL_T_OPAQUE:
    case CEL_T_OBJECT:
    case CEL_T_ANY:
    case CEL_T_DURATION:
    case CEL_T_TIMESTAMP:
    case CEL_T_NULL:
        return true;
    default:
        return false;
    }
}

static bool assign_params(struct cel_unifier *u, const struct cel_type *from,
                          const struct cel_type *to)
{
    if (from->kind != to->kind || from->n_params != to->n_params || !str_eq(from->name, to->name))
        return false;
    for (size_t i = 0; i < from->n_params; i++) {
        if (!assign(u, from->params[i], to->params[i]))
            return false;
    }
    return true;
}

static bool assign(struct cel_unifier *u, const struct cel_type *from, const struct cel_type *to)
{
    bool bound;
    if (!step(u))
        return false;
    if (to->kind == CEL_T_PARAM) {
        if (stands_for(u, from, to, &bound))
            return true;
        if (bound)
            return false;
    }
    if (from->kind == CEL_T_PARAM)
        return stands_for(u, to, from, &bound);
    if (is_dyn(from) || is_dyn(to) || from->kind == CEL_T_ERROR || to->kind == CEL_T_ERROR)
        return true;
    if (from->kind == CEL_T_NULL)
        return takes_null(to);
    if (to->kind == CEL_T_NULL)
        return takes_null(from);
    switch (from->kind) {
    case CEL_T_TYPE:
        return to->kind == CEL_T_TYPE;
    case CEL_T_OPAQUE:
    case CEL_T_LIST:
    case CEL_T_MAP:
        return assign_params(u, from, to);
    default:
        return from->kind == to->kind && str_eq(from->name, to->name);
    }
}

bool cel_assignable_all(struct cel_unifier *u, const struct cel_type *const *from,
                        const struct cel_type *const *to, size_t n)
{
    size_t mark = u->trail.n;
    for (size_t i = 0; i < n; i++) {
        if (assign(u, from[i], to[i]))
            continue;
        while (u->trail.n > mark) {
            struct cel_binding b = vec_pop(&u->trail);
            u->bound.v[b.var] = b.before;
        }
        return false;
    }
    return true;
}

bool cel_assignable(struct cel_unifier *u, const struct cel_type *from, const struct cel_type *to)
{
    return cel_assignable_all(u, &from, &to, 1);
}

const struct cel_type *cel_substitute(struct cel_unifier *u, const struct cel_type *t,
                                      bool free_to_dyn)
{
    if (!step(u))
        return &cel_error_type;
    if (t->kind == CEL_T_PARAM) {
        const struct cel_type *to = find(u, t);
        if (to)
            return cel_substitute(u, to, free_to_dyn);
        return free_to_dyn ? &cel_dyn_type : t;
    }
    struct cel_type copy = *t;
    bool changed = false;
    for (size_t i = 0; i < t->n_params; i++) {
        copy.params[i] = cel_substitute(u, t->params[i], free_to_dyn);
        changed = changed || copy.params[i] != t->params[i];
    }
    if (!changed)
        return t;
    struct cel_type *made = arena_new(u->arena, struct cel_type);
    *made = copy;
    return made;
}
