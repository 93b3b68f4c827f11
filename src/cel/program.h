/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a planned expression.
 *
 * Purpose:   the checked tree in the form in which it is evaluated. plan.c makes it, eval.c and
 *            attribute.c run it. The shape is upstream's, because the costs are: what counts as an
 *            attribute and what as a call, what is folded into a constant.
 * Ownership: everything is in the arena of the program.
 * Threading: immutable once planned.
 */
#ifndef BERTH_CEL_PROGRAM_H
#define BERTH_CEL_PROGRAM_H

#include "cel/ast.h"
#include "cel/env.h"

struct cel_node;

/* A variable: device, or one of a comprehension. */
enum cel_var_kind { CEL_VAR_DEVICE, CEL_VAR_ACCU, CEL_VAR_ITER, CEL_VAR_ITER2 };

/* One step of a path: .field, [index], [?index] */
struct cel_qualifier {
    uint32_t id;
    enum { CEL_QUAL_CONST, CEL_QUAL_ATTR, CEL_QUAL_NODE } kind;
    bool optional, test_only;
    struct cel_value value;      /* CEL_QUAL_CONST */
    const struct cel_attr *attr; /* CEL_QUAL_ATTR: resolved, not charged as an attribute */
    const struct cel_node *node; /* CEL_QUAL_NODE */
};

/* A path that begins at a variable, at a value, or at one of two attributes. */
struct cel_attr {
    uint32_t id; /* without qualifiers; see cel_attr_id */
    enum { CEL_ATTR_VAR, CEL_ATTR_NODE, CEL_ATTR_CONDITIONAL } kind;
    enum cel_var_kind var;
    uint32_t frame;
    const struct cel_node *node; /* the value, or the condition */
    struct cel_attr *yes, *no;   /* qualifiers of a conditional are theirs */
    const struct cel_qualifier **qualifiers;
    size_t n, capacity;
};

enum cel_node_kind {
    CEL_N_CONST,
    CEL_N_ATTR,
    CEL_N_TEST, /* has() */
    CEL_N_AND,
    CEL_N_OR,
    CEL_N_EQUAL,
    CEL_N_NOT_EQUAL,
    CEL_N_CALL,
    CEL_N_OPTIONAL_OR,
    CEL_N_OPTIONAL_OR_VALUE,
    CEL_N_LIST,
    CEL_N_MAP,
    CEL_N_FOLD,
    CEL_N_IN_SET, /* x in [constants] */
};

struct cel_node {
    enum cel_node_kind kind;
    uint32_t id; /* of attributes: see cel_node_id */
    /* Arguments, terms or elements; of maps key, value, key, value. */
    const struct cel_node **args;
    size_t n;
    union {
        struct cel_value value;
        struct cel_attr *attr;
        const struct cel_map *set;
        const bool *optional; /* of lists by element, of maps by entry; NULL: none is */
        struct {
            struct str name;
            const struct cel_function *function;
            const struct cel_overload
                *overload;     /* the only one possible; NULL: chosen at run time */
            cel_cost_fn *cost; /* NULL: 1 */
            const void *prepared;
            bool one_by_one; /* arguments after an error are not evaluated */
        } call;
        struct {
            const struct cel_node *range, *init, *condition, *step, *result;
            bool two;
            uint32_t frame;
        } fold;
    };
};

struct cel_program {
    struct arena arena;
    const struct cel_env *env;
    const struct cel_node *root;
    uint32_t n_ids, n_frames;
    uint64_t max_cost;
};

/* The id under which a value of the node or attribute is on the stack of costs. */
uint32_t cel_attr_id(const struct cel_attr *attr);
uint32_t cel_node_id(const struct cel_node *node);

/* -EINVAL with upstream's text if the plan is not possible: a constant that cannot be converted. */
int cel_plan(struct cel_program *program, const struct cel_ast *ast, struct err *reterr) MUST_CHECK;

#endif
