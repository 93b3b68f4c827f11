/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser.h - CEL's grammar.
 *
 * Purpose:   makes the tree of an expression, macros expanded. Problems are reported to the source;
 *            the parser stops at the first one of syntax.
 * Ownership: the tree is in the arena of the source.
 * Threading: one thread at a time.
 *
 * Limits are upstream's: 100000 code points, 250 nested expressions, 250 nested operators,
 * selections and indexes; and one of our own, CEL_TREE_MAX nodes, since a macro can copy its target
 * (x.optMap(…).optMap(…)… doubles with each).
 */
#ifndef BERTH_CEL_PARSER_H
#define BERTH_CEL_PARSER_H

#include "cel/ast.h"

#define CEL_TREE_MAX 200000u

struct cel_parser;

/* False if a problem was reported. */
bool cel_parse(struct cel_source *source, struct cel_ast *ast) MUST_CHECK;

#endif
