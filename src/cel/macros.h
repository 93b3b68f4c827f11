/* SPDX-License-Identifier: Apache-2.0 */
/*
 * macros.h - calls that stand for other expressions.
 *
 * Purpose:   has, all, exists, exists_one, map and filter of the language; cel.bind;
 *            optMap and optFlatMap of optionals; the forms with two variables (all, exists,
 *            existsOne, transformList, transformMap, transformMapEntry); sortBy of lists.
 * Ownership: in the arena of the tree.
 * Threading: one thread at a time.
 */
#ifndef BERTH_CEL_MACROS_H
#define BERTH_CEL_MACROS_H

#include "cel/ast.h"

/* The variable in which a comprehension accumulates its result. */
#define CEL_ACCU "@result"

/* What the call stands for; the call itself if it is no macro. */
struct cel_expr *cel_expand_macro(struct cel_source *source, struct cel_ast *ast,
                                  struct cel_expr *call);

#endif
