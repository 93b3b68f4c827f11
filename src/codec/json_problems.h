/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_problems.h - reports all structural errors of a tree.
 *
 * Purpose:   json_value_decode stops at the first unknown field or wrong type. For files that users
 *            read, all errors are wanted, with lines and suggestions. Invalid parts are removed
 *            from the tree, so that the rest can be decoded and checked as well.
 * Ownership: the caller owns the tree, which is changed; strings passed to the callback are valid
 *            until it returns.
 * Threading: any thread, one call at a time per tree.
 */
#ifndef BERTH_CODEC_JSON_PROBLEMS_H
#define BERTH_CODEC_JSON_PROBLEMS_H

#include "codec/json_value.h"

struct json_problem {
    uint32_t line;         /* 0: unknown */
    struct str path;       /* "profiles[0].plugins"; empty: the tree itself */
    struct str what;       /* "unknown field", "expected a string" */
    struct str suggestion; /* the known field that an unknown one resembles, or empty */
};
typedef void json_problem_fn(void *ctx, const struct json_problem *problem);

/*
 * Calls fn for everything that a strict json_value_decode with this type would refuse, in the order
 * of the tree, and removes it: members are dropped, items of lists become null. Returns the number
 * of errors. flags: as for json_value_decode; JSON_STRICT is implied. a: the tree's arena. Linear
 * in the size of the tree.
 */
size_t json_take_problems(struct json_value *tree, const struct type *type, unsigned flags,
                          struct arena *a, json_problem_fn *fn, void *ctx);

#endif
