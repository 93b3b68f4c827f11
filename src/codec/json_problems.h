/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_problems.h - everything that is wrong with the form of a tree.
 *
 * Purpose:   json_value_decode stops at the first unknown field or wrong type. Whoever shows a file
 *            to a person wants all of them, with lines and with the name that was meant. What is
 *            wrong is taken out of the tree, so that the rest can be decoded and looked at as well.
 * Ownership: the tree is the caller's and is changed; texts given to the callback hold until it
 *            returns.
 * Threading: any, one call at a time per tree.
 */
#ifndef BERTH_CODEC_JSON_PROBLEMS_H
#define BERTH_CODEC_JSON_PROBLEMS_H

#include "codec/json_value.h"

struct json_problem {
    uint32_t line;         /* 0: unknown */
    struct str path;       /* "profiles[0].plugins"; empty: the tree itself */
    struct str what;       /* "unknown field", "expected a string" */
    struct str suggestion; /* the known field that an unknown one resembles; or empty */
};
typedef void json_problem_fn(void *ctx, const struct json_problem *problem);

/*
 * Tells fn of all that a strict json_value_decode by this type would refuse, in the order of the
 * tree, and takes it out: members go, items of lists become null. Gives their number. flags: as for
 * json_value_decode; JSON_STRICT is implied. a: the tree's arena. The cost is linear in the tree.
 */
size_t json_take_problems(struct json_value *tree, const struct type *type, unsigned flags,
                          struct arena *a, json_problem_fn *fn, void *ctx);

#endif
