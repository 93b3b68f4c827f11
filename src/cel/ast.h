/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ast.h - the tree of an expression.
 *
 * Purpose:   what the parser makes, with macros expanded; the checker adds types and overloads, the
 *            planner turns it into a program. Operators are calls: _+_, _&&_, _[_], _?_:_.
 * Ownership: in the arena of the tree.
 * Threading: one thread at a time.
 *
 * Depth is bounded by the parser (250 nested expressions): functions may recurse over a tree.
 */
#ifndef BERTH_CEL_AST_H
#define BERTH_CEL_AST_H

#include "cel/function.h"
#include "cel/source.h"

enum cel_expr_kind {
    CEL_E_NONE, /* where an error was reported */
    CEL_E_LITERAL,
    CEL_E_IDENT,
    CEL_E_SELECT,
    CEL_E_CALL,
    CEL_E_LIST,
    CEL_E_MAP,
    CEL_E_MESSAGE, /* name{field: value} */
    CEL_E_FOLD,    /* a comprehension */
};

struct cel_expr;

/* An entry of a map, or a field of a message (then `field` instead of `key`). */
struct cel_entry {
    uint32_t offset;
    bool optional;
    struct str field;
    struct cel_expr *key, *value;
};

struct cel_expr {
    enum cel_expr_kind kind;
    uint32_t id;     /* unique in the tree, from 1 */
    uint32_t offset; /* where it is in the source */
    union {
        struct cel_value literal;
        struct str ident;
        struct {
            struct cel_expr *operand;
            struct str field;
            bool test_only; /* has(operand.field) */
        } select;
        struct {
            struct str function;
            struct cel_expr *target; /* NULL: f(args) */
            struct cel_expr **args;
            size_t n;
        } call;
        struct {
            struct cel_expr **items;
            bool *optional; /* [?x] */
            size_t n;
        } list;
        struct {
            struct str name; /* of a message */
            struct cel_entry *entries;
            size_t n;
        } map;
        struct {
            struct str iter_var, iter_var2, accu_var; /* iter_var2 empty: one variable */
            struct cel_expr *range, *init, *condition, *step, *result;
        } fold;
    };
    /* Set by the checker. */
    const struct cel_type *type;
    const struct cel_overload **overloads; /* that the arguments allow */
    size_t n_overloads;
    const struct cel_value *constant; /* an identifier that is a type */
    /* Set by the estimate of costs. */
    struct cel_estimate_memo *memo;
};

struct cel_ast {
    struct arena *arena;
    uint32_t n_ids; /* ids given so far */
    struct cel_expr *root;
};

struct cel_expr *cel_ast_new(struct cel_ast *ast, enum cel_expr_kind kind, uint32_t offset);
struct cel_expr *cel_ast_literal(struct cel_ast *ast, uint32_t offset, struct cel_value v);
struct cel_expr *cel_ast_ident(struct cel_ast *ast, uint32_t offset, struct str name);
struct cel_expr *cel_ast_list(struct cel_ast *ast, uint32_t offset, struct cel_expr **items,
                              size_t n);
/* Ends with a NULL. */
struct cel_expr *cel_ast_call(struct cel_ast *ast, uint32_t offset, const char *function, ...);
struct cel_expr *cel_ast_member(struct cel_ast *ast, uint32_t offset, const char *function,
                                struct cel_expr *target, ...);
/* A copy with ids of its own. */
struct cel_expr *cel_ast_copy(struct cel_ast *ast, const struct cel_expr *e);

#endif
