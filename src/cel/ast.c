/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/ast.h"

#include <stdarg.h>

struct cel_expr *cel_ast_new(struct cel_ast *ast, enum cel_expr_kind kind, uint32_t offset)
{
    struct cel_expr *e = arena_new(ast->arena, struct cel_expr);
    e->kind = kind;
    e->id = ++ast->n_ids;
    e->offset = offset;
    return e;
}

struct cel_expr *cel_ast_literal(struct cel_ast *ast, uint32_t offset, struct cel_value v)
{
    struct cel_expr *e = cel_ast_new(ast, CEL_E_LITERAL, offset);
    e->literal = v;
    return e;
}

struct cel_expr *cel_ast_ident(struct cel_ast *ast, uint32_t offset, struct str name)
{
    struct cel_expr *e = cel_ast_new(ast, CEL_E_IDENT, offset);
    e->ident = name;
    return e;
}

static struct cel_expr **copy_pointers(struct cel_ast *ast, struct cel_expr **from, size_t n)
{
    struct cel_expr **copy = arena_array(ast->arena, struct cel_expr *, n);
    if (n > 0)
        memcpy(copy, from, n * sizeof(struct cel_expr *));
    return copy;
}

struct cel_expr *cel_ast_list(struct cel_ast *ast, uint32_t offset, struct cel_expr **items,
                              size_t n)
{
    struct cel_expr *e = cel_ast_new(ast, CEL_E_LIST, offset);
    e->list.items = copy_pointers(ast, items, n);
    e->list.optional = arena_array(ast->arena, bool, n);
    e->list.n = n;
    return e;
}

static void take_args(struct cel_ast *ast, struct cel_expr *e, const char *function, va_list ap)
{
    struct cel_expr *args[CEL_MAX_ARGS], *arg;
    size_t n = 0;
    while ((arg = va_arg(ap, struct cel_expr *)) != NULL)
        args[n++] = arg;
    e->call.function = str_of(function);
    e->call.args = copy_pointers(ast, args, n);
    e->call.n = n;
}

struct cel_expr *cel_ast_call(struct cel_ast *ast, uint32_t offset, const char *function, ...)
{
    struct cel_expr *e = cel_ast_new(ast, CEL_E_CALL, offset);
    va_list ap;
    va_start(ap, function);
    take_args(ast, e, function, ap);
    va_end(ap);
    return e;
}

struct cel_expr *cel_ast_member(struct cel_ast *ast, uint32_t offset, const char *function,
                                struct cel_expr *target, ...)
{
    struct cel_expr *e = cel_ast_new(ast, CEL_E_CALL, offset);
    va_list ap;
    va_start(ap, target);
    take_args(ast, e, function, ap);
    va_end(ap);
    e->call.target = target;
    return e;
}

static struct cel_expr *copy_or_null(struct cel_ast *ast, const struct cel_expr *e)
{
    return e ? cel_ast_copy(ast, e) : NULL;
}

static void copy_all(struct cel_ast *ast, struct cel_expr ***items, size_t n)
{
    *items = copy_pointers(ast, *items, n);
    for (size_t i = 0; i < n; i++)
        (*items)[i] = cel_ast_copy(ast, (*items)[i]);
}

struct cel_expr *cel_ast_copy(struct cel_ast *ast, const struct cel_expr *e)
{
    struct cel_expr *copy = cel_ast_new(ast, e->kind, e->offset);
    uint32_t id = copy->id;
    *copy = *e;
    copy->id = id;
    switch (e->kind) {
    case CEL_E_SELECT:
        copy->select.operand = cel_ast_copy(ast, e->select.operand);
        break;
    case CEL_E_CALL:
        copy->call.target = copy_or_null(ast, e->call.target);
        copy_all(ast, &copy->call.args, e->call.n);
        break;
    case CEL_E_LIST:
        copy_all(ast, &copy->list.items, e->list.n);
        break;
    case CEL_E_MAP:
    case CEL_E_MESSAGE:
        copy->map.entries = arena_array(ast->arena, struct cel_entry, e->map.n);
        for (size_t i = 0; i < e->map.n; i++) {
            copy->map.entries[i] = e->map.entries[i];
            copy->map.entries[i].key = copy_or_null(ast, e->map.entries[i].key);
            copy->map.entries[i].value = copy_or_null(ast, e->map.entries[i].value);
        }
        break;
    case CEL_E_FOLD:
        copy->fold.range = cel_ast_copy(ast, e->fold.range);
        copy->fold.init = cel_ast_copy(ast, e->fold.init);
        copy->fold.condition = cel_ast_copy(ast, e->fold.condition);
        copy->fold.step = cel_ast_copy(ast, e->fold.step);
        copy->fold.result = cel_ast_copy(ast, e->fold.result);
        break;
    default:
        break;
    }
    return copy;
}
