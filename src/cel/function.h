/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function.h - the table by which libraries provide functions.
 *
 * Purpose:   a library (stdlib.c, lib_*.c) is an array of rows, one per overload: name, types,
 *            implementation, costs. library.c lists the libraries. Rows of one function may be in
 *            several libraries (indexOf of strings and of lists); they are tried in this order.
 *
 *                static const struct cel_overload overloads[] = {
 *                    {.function = "isQuantity", .id = "is_quantity_string", .n_args = 1,
 *                     .args = {&cel_string_type}, .result = &cel_bool_type, .fn = is_quantity,
 *                     .cost = cost_of_traversal, .estimate = estimate_traversal},
 *                };
 *                const struct cel_library cel_lib_quantity = {overloads, ARRAY_LEN(overloads)};
 *
 * Ownership: constants.
 * Threading: functions run in several evaluations at once: no state but call->eval.
 */
#ifndef BERTH_CEL_FUNCTION_H
#define BERTH_CEL_FUNCTION_H

#include "base/err.h"
#include "cel/eval.h"

#define CEL_MAX_ARGS 4 /* including the target */

struct cel_overload;

/* A call. args[0] is the target of a member function. No argument is an error. */
struct cel_call {
    struct cel_eval *eval;
    const struct cel_overload *overload;
    const struct cel_value *args;
    size_t n;
    const void *prepared; /* what prepare made of constant arguments; NULL: not constant */
};

typedef struct cel_value cel_fn(const struct cel_call *call);

/* --- costs ------------------------------------------------------------------------------------ */

/*
 * The charge of a call that was made, from its arguments and result. It replaces the default, 1.
 * An overload without its own is charged 1.
 */
typedef uint64_t cel_cost_fn(const struct cel_call *call, struct cel_value result);

/* A range of sizes or of costs. Sums and products saturate at UINT64_MAX. */
struct cel_range {
    uint64_t min, max;
};

#define CEL_UNKNOWN_RANGE ((struct cel_range){0, UINT64_MAX})

struct cel_range cel_range_add(struct cel_range a, struct cel_range b);
struct cel_range cel_range_multiply(struct cel_range a, struct cel_range b);
/* Multiplied and rounded up: CEL_TRAVERSAL per character of a string that is read. */
struct cel_range cel_range_scale(struct cel_range a, double factor);
struct cel_range cel_range_union(struct cel_range a, struct cel_range b);

#define CEL_TRAVERSAL  0.1  /* reading a character of a string */
#define CEL_REGEX_UNIT 0.25 /* a character of a regular expression */

/* ceil(size * factor) */
uint64_t cel_cost_scaled(uint64_t size, double factor);

/* An argument as the static estimate sees it. */
struct cel_estimate_arg {
    const struct cel_type *type;
    const struct cel_value *literal; /* NULL: not a literal */
    bool sized;
    struct cel_range size; /* CEL_UNKNOWN_RANGE if not sized */
};

struct cel_estimate_call {
    const struct cel_overload *overload;
    const struct cel_estimate_arg *target; /* NULL: not a member call */
    const struct cel_estimate_arg *args;   /* without the target */
    size_t n;
};

struct cel_estimate {
    struct cel_range cost;
    bool sized; /* the size of the result is known */
    struct cel_range size;
};

/* False: no opinion; the estimate is then {1, 1}. */
typedef bool cel_estimate_fn(const struct cel_estimate_call *call, struct cel_estimate *ret);

/* --- the table -------------------------------------------------------------------------------- */

enum {
    CEL_MEMBER = 1 << 0,   /* x.f(y): args[0] is the type of x */
    CEL_ANY_ARGS = 1 << 1, /* fn is called with values of any types and judges them itself */
    /* The cost is that of all overloads of this name, also if the checker left several to choose
     * from at run time (upstream: Kubernetes' CostEstimator.CallCost). Without this flag it applies
     * only if the checker chose this overload alone (upstream: costs by id); else a call costs 1.
     */
    CEL_COST_BY_NAME = 1 << 2,
    CEL_NON_STRICT = 1 << 3, /* fn is called with errors, too */
};

struct cel_overload {
    const char *function; /* "quantity", "_+_", "ip.isCanonical" */
    const char *id;       /* upstream's id of the overload */
    unsigned flags;
    size_t n_args;
    const struct cel_type *args[CEL_MAX_ARGS];
    const struct cel_type *result;
    /* NULL: declared for the checker only; a call is "no such overload". Unless CEL_ANY_ARGS, the
     * arguments have the declared types when it is called. */
    cel_fn *fn;
    cel_cost_fn *cost;
    cel_estimate_fn *estimate;
    /*
     * Called once when the expression is compiled, if argument `prepared_arg` is a literal: makes
     * in the program's arena what fn needs of it (a compiled regular expression). A failure ends
     * the compilation with "program instantiation failed: " and the message.
     */
    int (*prepare)(struct cel_value literal, struct arena *a, const void **ret, struct err *reterr);
    size_t prepared_arg;
};

struct cel_library {
    const struct cel_overload *overloads;
    size_t n;
    const struct cel_type *const *types; /* that expressions may name: type(x) == net.IP */
    size_t n_types;
};

#endif
