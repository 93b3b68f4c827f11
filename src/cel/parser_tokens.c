/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of the parser, and what it says about those that it did not expect. */
#include "cel/parser_private.h"

void cel_parser_advance(struct cel_parser *p)
{
    if (p->looked_ahead)
        p->token = p->after;
    else
        p->token = cel_lexer_next(&p->lexer);
    p->looked_ahead = false;
}

struct cel_token cel_parser_look_ahead(struct cel_parser *p)
{
    if (!p->looked_ahead)
        p->after = cel_lexer_next(&p->lexer);
    p->looked_ahead = true;
    return p->after;
}

bool cel_parser_accept(struct cel_parser *p, int kind)
{
    if (p->token.kind != kind)
        return false;
    cel_parser_advance(p);
    return true;
}

struct str cel_parser_token_text(struct cel_parser *p, struct cel_token t)
{
    return t.kind == CEL_TOK_EOF ? STR("<EOF>") : cel_source_text(p->source, t.from, t.to);
}

void cel_parser_mismatch(struct cel_parser *p, const char *expected)
{
    if (!p->failed) {
        struct str text = cel_parser_token_text(p, p->token);
        cel_source_report(p->source, p->token.from,
                          "Syntax error: mismatched input '%.*s' expecting %s", STR_ARG(text),
                          expected);
    }
    p->failed = true;
}

void cel_parser_extraneous(struct cel_parser *p, const char *expected)
{
    struct str text = cel_parser_token_text(p, p->token);
    cel_source_report(p->source, p->token.from,
                      "Syntax error: extraneous input '%.*s' expecting %s", STR_ARG(text),
                      expected);
}

bool cel_parser_starts_expr(int kind)
{
    switch (kind) {
    case CEL_TOK_IDENT:
    case CEL_TOK_INT:
    case CEL_TOK_UINT:
    case CEL_TOK_FLOAT:
    case CEL_TOK_STRING:
    case CEL_TOK_BYTES:
    case CEL_TOK_TRUE:
    case CEL_TOK_FALSE:
    case CEL_TOK_NULL:
    case '(':
    case '[':
    case '{':
    case '.':
    case '-':
    case '!':
        return true;
    default:
        return false;
    }
}

/* Whether an operand that ends here may be followed by the token. */
static bool may_follow(const struct cel_parser *p, int kind)
{
    switch (kind) {
    case CEL_TOK_EOF:
        return strchr(p->follow, '$') != NULL;
    case CEL_TOK_IN:
    case CEL_TOK_EQ:
    case CEL_TOK_NE:
    case CEL_TOK_LE:
    case CEL_TOK_GE:
    case CEL_TOK_AND:
    case CEL_TOK_OR:
        return true;
    default:
        return kind > CEL_TOK_OR && (strchr(".[?<>+-*/%", kind) || strchr(p->follow, kind));
    }
}

/*
 * Consumes the token, or reports in the words of upstream's parser generator: one token too many if
 * the wanted one comes next, or one that is missing if what is there may come after it. The parser
 * then goes on and may find more.
 */
bool cel_parser_expect(struct cel_parser *p, int kind, const char *name)
{
    if (cel_parser_accept(p, kind))
        return true;
    if (cel_parser_look_ahead(p).kind == kind) {
        cel_parser_extraneous(p, name);
        cel_parser_advance(p);
        return cel_parser_accept(p, kind);
    }
    if (kind == ':' ? cel_parser_starts_expr(p->token.kind) : may_follow(p, p->token.kind)) {
        struct str text = cel_parser_token_text(p, p->token);
        cel_source_report(p->source, p->token.from, "Syntax error: missing %s at '%.*s'", name,
                          STR_ARG(text));
        return true;
    }
    cel_parser_mismatch(p, name);
    return false;
}

/* After an element: whether another comes. The end is consumed, and *done set. */
bool cel_parser_next_element(struct cel_parser *p, int end, const char *expected)
{
    int after = cel_parser_look_ahead(p).kind;
    if (p->token.kind != end && p->token.kind != ',' && (after == end || after == ',')) {
        cel_parser_extraneous(p, expected);
        cel_parser_advance(p);
    }
    if (cel_parser_accept(p, ','))
        return true;
    if (!cel_parser_accept(p, end))
        cel_parser_mismatch(p, expected);
    return false;
}

/* The tokens with which an expression may begin, in the order of upstream's grammar. */
static void write_expected(const struct cel_parser *p, struct buf *out)
{
    static const char order[] = "[]{}().,-!?";
    const char *instead = p->token.from == p->begin ? p->instead : "";
    for (size_t i = 0; order[i]; i++) {
        if (strchr("[{(.-!", order[i]) || strchr(instead, order[i]))
            buf_add_printf(out, "%s'%c'", i == 0 ? "{" : ", ", order[i]);
    }
    buf_add_cstr(out, ", 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
                      "IDENTIFIER}");
}

/* What is there is no expression. True if it comes after one token too many. */
bool cel_parser_skip_extraneous(struct cel_parser *p)
{
    struct buf expected = BUF_INIT;
    write_expected(p, &expected);
    bool skip =
        p->token.kind != CEL_TOK_EOF && cel_parser_starts_expr(cel_parser_look_ahead(p).kind);
    if (skip) {
        cel_parser_extraneous(p, buf_cstr(&expected));
        cel_parser_advance(p);
    } else {
        cel_parser_mismatch(p, buf_cstr(&expected));
    }
    buf_release(&expected);
    return skip;
}
