/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checker.h - types and overloads of a tree.
 *
 * Purpose:   sets type, overloads and constant of each node; resolves dotted names. Problems are
 *            reported to the source.
 * Ownership: types are in the arena of the tree.
 * Threading: one thread at a time.
 */
#ifndef BERTH_CEL_CHECKER_H
#define BERTH_CEL_CHECKER_H

#include "cel/ast.h"
#include "cel/env.h"

/* False if a problem was reported. */
bool cel_check(struct cel_source *source, struct cel_ast *ast,
               const struct cel_env *env) MUST_CHECK;

#endif
