/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate.h - what Kubernetes checks beyond types.
 *
 * Purpose:   literals of duration(), timestamp(), matches() and format() must be valid; elements of
 *            a literal have one type, dyn included, except for format(). Problems are reported to
 * the source. Ownership: borrows the tree. Threading: one thread at a time.
 */
#ifndef BERTH_CEL_VALIDATE_H
#define BERTH_CEL_VALIDATE_H

#include "cel/ast.h"
#include "cel/env.h"

/* False if a problem was reported. */
bool cel_validate(struct cel_source *source, const struct cel_ast *ast,
                  const struct cel_env *env) MUST_CHECK;

/* Checks e if it is "literal".format([...]). */
void cel_validate_format(struct cel_source *source, const struct cel_expr *e);

#endif
