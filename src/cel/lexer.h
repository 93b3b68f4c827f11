/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer.h - the tokens of an expression.
 *
 * Purpose:   the longest match of CEL's lexical rules; white space and // comments are skipped.
 *            Text that is no token is reported and skipped.
 * Ownership: borrows the source.
 * Threading: one thread at a time.
 */
#ifndef BERTH_CEL_LEXER_H
#define BERTH_CEL_LEXER_H

#include "cel/source.h"

enum cel_token_kind {
    CEL_TOK_EOF,
    CEL_TOK_IDENT,
    CEL_TOK_ESC_IDENT, /* `a-b` */
    CEL_TOK_INT,
    CEL_TOK_UINT,
    CEL_TOK_FLOAT,
    CEL_TOK_STRING,
    CEL_TOK_BYTES,
    CEL_TOK_TRUE,
    CEL_TOK_FALSE,
    CEL_TOK_NULL,
    CEL_TOK_IN,
    CEL_TOK_EQ,
    CEL_TOK_NE,
    CEL_TOK_LE,
    CEL_TOK_GE,
    CEL_TOK_AND,
    CEL_TOK_OR,
    /* one character each: the kind is the character */
};

struct cel_token {
    int kind; /* enum cel_token_kind, or a character of "<>[]{}().,-!?:+* /%" */
    uint32_t from, to;
};

struct cel_lexer {
    struct cel_source *source;
    uint32_t at;
    bool quiet; /* looks ahead: what is no token is not reported */
};

struct cel_token cel_lexer_next(struct cel_lexer *l);

#endif
