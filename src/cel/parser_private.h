/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser_private.h - what the files of the parser share.
 *
 * Purpose:   parser.c has the operators, parser_member.c what stands between them, parser_tokens.c
 *            the tokens and the messages about them, in the words of upstream's parser generator.
 *            As there, a token too many and a missing one are reported and the parser goes on; at
 *            anything else it stops.
 * Ownership: as parser.h.
 * Threading: one thread at a time.
 */
#ifndef BERTH_CEL_PARSER_PRIVATE_H
#define BERTH_CEL_PARSER_PRIVATE_H

#include "cel/lexer.h"
#include "cel/parser.h"

struct cel_parser {
    struct cel_source *source;
    struct cel_ast *ast;
    struct cel_lexer lexer;
    struct cel_token token; /* the next one */
    struct cel_token after; /* the one after it, if looked_ahead */
    bool looked_ahead;
    bool failed; /* at a problem of syntax or a limit: everything returns NULL */
    int exprs, relations, calcs;
    /* For messages: the tokens that may come after the expression, $ is the end; and what else than
     * an expression may begin at the token `begin`. */
    const char *follow, *instead;
    uint32_t begin;
};

/* A tree and how many operators, selections and indexes are nested in it. */
struct cel_parsed {
    struct cel_expr *expr; /* NULL: failed */
    int height;
};

/* --- grammar ---------------------------------------------------------------------------------- */

struct cel_parsed cel_parser_fail(struct cel_parser *p);
/* Stops the parser: a limit is exceeded. */
struct cel_parsed cel_parser_limit(struct cel_parser *p, const char *what);
/* An expression that ends before one of `follow`; `instead` may be there in its place. */
struct cel_parsed cel_parser_within(struct cel_parser *p, const char *follow, const char *instead);
struct cel_parsed cel_parser_operator(struct cel_parser *p, uint32_t offset, const char *name,
                                      struct cel_parsed left, struct cel_parsed right);
struct cel_parsed cel_parsed_higher(struct cel_parsed x);
/* A single minus before a number belongs to the literal, also after '!'. */
bool cel_parser_at_negative_number(struct cel_parser *p);
/* What stands between operators. */
struct cel_parsed cel_parse_member(struct cel_parser *p);

/* --- tokens ----------------------------------------------------------------------------------- */

void cel_parser_advance(struct cel_parser *p);
struct cel_token cel_parser_look_ahead(struct cel_parser *p);
bool cel_parser_accept(struct cel_parser *p, int kind);
/* "<EOF>" at the end. */
struct str cel_parser_token_text(struct cel_parser *p, struct cel_token t);

/* Whether an expression may begin with the token. */
bool cel_parser_starts_expr(int kind);

/* Stops the parser: "mismatched input 'x' expecting y". */
void cel_parser_mismatch(struct cel_parser *p, const char *expected);
/* Reports the current token as one too many. */
void cel_parser_extraneous(struct cel_parser *p, const char *expected);
/* Consumes the token, or reports that it is missing or comes one too late; false: stops. */
bool cel_parser_expect(struct cel_parser *p, int kind, const char *name);
/* After an element: true after a comma; the end is consumed. */
bool cel_parser_next_element(struct cel_parser *p, int end, const char *expected);
/* What is there is no expression. True if one comes after one token too many, which is skipped. */
bool cel_parser_skip_extraneous(struct cel_parser *p);

#endif
