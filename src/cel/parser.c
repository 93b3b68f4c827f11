/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By recursive descent; operators by precedence climbing, with the nesting counted as upstream's
 * parser generator counts it: each rule on its own.
 */
#include "base/vec.h"
#include "cel/parser_private.h"

#define SOURCE_MAX 100000u
#define DEPTH_MAX  250

typedef VEC(struct cel_expr *) expr_vec;

static struct cel_parsed parse_expr(struct cel_parser *p);

struct cel_parsed cel_parser_fail(struct cel_parser *p)
{
    p->failed = true;
    return (struct cel_parsed){NULL, 0};
}

struct cel_parsed cel_parser_limit(struct cel_parser *p, const char *what)
{
    if (!p->failed)
        cel_source_report(p->source, CEL_NO_OFFSET, "%s", what);
    return cel_parser_fail(p);
}

static bool enter(struct cel_parser *p, int *depth)
{
    if (++*depth <= DEPTH_MAX)
        return true;
    cel_parser_limit(p, "expression recursion limit exceeded: 250");
    return false;
}

struct cel_parsed cel_parser_within(struct cel_parser *p, const char *follow, const char *instead)
{
    const char *outer = p->follow;
    p->follow = follow;
    p->instead = instead;
    p->begin = p->token.from;
    struct cel_parsed x = parse_expr(p);
    p->follow = outer;
    return x;
}

struct cel_parsed cel_parser_operator(struct cel_parser *p, uint32_t offset, const char *name,
                                      struct cel_parsed left, struct cel_parsed right)
{
    if (p->failed)
        return cel_parser_fail(p);
    struct cel_expr *call = cel_ast_call(p->ast, offset, name, left.expr, right.expr, NULL);
    return (struct cel_parsed){call, MAX(left.height, right.height)};
}

struct cel_parsed cel_parsed_higher(struct cel_parsed x)
{
    x.height++;
    return x;
}

/* --- operators -------------------------------------------------------------------------------- */

static struct cel_parsed parse_unary(struct cel_parser *p)
{
    int kind = p->token.kind;
    if ((kind != '!' && kind != '-') || cel_parser_at_negative_number(p))
        return cel_parse_member(p);
    uint32_t offset = p->token.from;
    bool odd = false;
    while (cel_parser_accept(p, kind))
        odd = !odd;
    struct cel_parsed x = cel_parse_member(p);
    if (p->failed || !odd)
        return x;
    x.expr = cel_ast_call(p->ast, offset, kind == '!' ? "!_" : "-_", x.expr, NULL);
    return x;
}

static const char *calc_operator(int kind, int *precedence)
{
    *precedence = kind == '+' || kind == '-' ? 1 : 2;
    switch (kind) {
    case '*':
        return "_*_";
    case '/':
        return "_/_";
    case '%':
        return "_%_";
    case '+':
        return "_+_";
    case '-':
        return "_-_";
    default:
        return NULL;
    }
}

static struct cel_parsed parse_calc(struct cel_parser *p, int floor)
{
    if (!enter(p, &p->calcs))
        return cel_parser_fail(p);
    struct cel_parsed x = parse_unary(p);
    while (!p->failed) {
        int precedence;
        const char *name = calc_operator(p->token.kind, &precedence);
        if (!name || precedence < floor)
            break;
        uint32_t offset = p->token.from;
        cel_parser_advance(p);
        x = cel_parsed_higher(
            cel_parser_operator(p, offset, name, x, parse_calc(p, precedence + 1)));
    }
    p->calcs--;
    return p->failed ? cel_parser_fail(p) : x;
}

static const char *relation_operator(int kind)
{
    switch (kind) {
    case '<':
        return "_<_";
    case '>':
        return "_>_";
    case CEL_TOK_LE:
        return "_<=_";
    case CEL_TOK_GE:
        return "_>=_";
    case CEL_TOK_EQ:
        return "_==_";
    case CEL_TOK_NE:
        return "_!=_";
    case CEL_TOK_IN:
        return "@in";
    default:
        return NULL;
    }
}

static struct cel_parsed parse_relation(struct cel_parser *p, bool chain)
{
    if (!enter(p, &p->relations))
        return cel_parser_fail(p);
    struct cel_parsed x = parse_calc(p, 0);
    while (!p->failed && chain) {
        const char *name = relation_operator(p->token.kind);
        if (!name)
            break;
        uint32_t offset = p->token.from;
        cel_parser_advance(p);
        x = cel_parsed_higher(cel_parser_operator(p, offset, name, x, parse_relation(p, false)));
    }
    p->relations--;
    return p->failed ? cel_parser_fail(p) : x;
}

/* && and || make a balanced tree, so that a long chain is not deep. */
struct chain {
    expr_vec terms;
    VEC(uint32_t) offsets;
    const char *name;
};

static struct cel_expr *balance(struct cel_parser *p, const struct chain *c, size_t low,
                                size_t high)
{
    size_t middle = (low + high + 1) / 2;
    struct cel_expr *left = middle == low ? c->terms.v[middle] : balance(p, c, low, middle - 1);
    struct cel_expr *right =
        middle == high ? c->terms.v[middle + 1] : balance(p, c, middle + 1, high);
    return cel_ast_call(p->ast, c->offsets.v[middle], c->name, left, right, NULL);
}

static struct cel_parsed parse_chain(struct cel_parser *p, int kind)
{
    struct chain c = {.name = kind == CEL_TOK_AND ? "_&&_" : "_||_"};
    int height = 0;
    for (;;) {
        struct cel_parsed x =
            kind == CEL_TOK_AND ? parse_relation(p, true) : parse_chain(p, CEL_TOK_AND);
        height = MAX(height, x.height);
        vec_push(&c.terms, x.expr);
        if (p->failed || p->token.kind != kind)
            break;
        vec_push(&c.offsets, p->token.from);
        cel_parser_advance(p);
    }
    struct cel_parsed result = {NULL, height};
    if (!p->failed)
        result.expr = c.terms.n == 1 ? c.terms.v[0] : balance(p, &c, 0, c.offsets.n - 1);
    vec_release(&c.terms);
    vec_release(&c.offsets);
    return result;
}

static struct cel_parsed parse_conditional(struct cel_parser *p, struct cel_parsed condition)
{
    uint32_t offset = p->token.from;
    cel_parser_advance(p);
    const char *outer = p->follow;
    p->follow = ":";
    struct cel_parsed yes = parse_chain(p, CEL_TOK_OR);
    p->follow = outer;
    if (p->failed || !cel_parser_expect(p, ':', "':'"))
        return cel_parser_fail(p);
    struct cel_parsed no = parse_expr(p);
    if (p->failed)
        return cel_parser_fail(p);
    struct cel_expr *e =
        cel_ast_call(p->ast, offset, "_?_:_", condition.expr, yes.expr, no.expr, NULL);
    int height = MAX(condition.height, MAX(yes.height, no.height));
    return cel_parsed_higher((struct cel_parsed){e, height});
}

static struct cel_parsed parse_expr(struct cel_parser *p)
{
    if (p->failed || !enter(p, &p->exprs))
        return cel_parser_fail(p);
    struct cel_parsed x = parse_chain(p, CEL_TOK_OR);
    if (!p->failed && p->token.kind == '?')
        x = parse_conditional(p, x);
    p->exprs--;
    return p->failed ? cel_parser_fail(p) : x;
}

bool cel_parse(struct cel_source *source, struct cel_ast *ast)
{
    *ast = (struct cel_ast){.arena = source->arena};
    if (source->n > SOURCE_MAX) {
        cel_source_report(source, CEL_NO_OFFSET,
                          "expression code point size exceeds limit: size: %u, limit %u", source->n,
                          SOURCE_MAX);
        return false;
    }
    struct cel_parser p = {
        .source = source, .ast = ast, .lexer = {.source = source}, .follow = "$", .instead = ""};
    cel_parser_advance(&p);
    struct cel_parsed x = parse_expr(&p);
    if (!p.failed && p.token.kind != CEL_TOK_EOF) {
        if (cel_parser_look_ahead(&p).kind == CEL_TOK_EOF)
            cel_parser_extraneous(&p, "<EOF>");
        else
            cel_parser_mismatch(&p, "<EOF>");
        return false;
    }
    if (!p.failed && x.height > DEPTH_MAX)
        cel_parser_limit(&p, "max recursion depth exceeded");
    ast->root = x.expr;
    return !p.failed && source->n_problems == 0;
}
