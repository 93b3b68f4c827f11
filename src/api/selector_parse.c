/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "api/labels.h"
#include "api/selector.h"
#include "base/vec.h"

/*
 * selector ::= "" | requirement { "," requirement }
 * requirement ::= key | "!" key | key op value | key ("in" | "notin") "(" value { "," value } ")"
 * where a value may be empty. `in` and `notin` are operators only where one is expected.
 */

enum token {
    TOKEN_END,
    TOKEN_WORD, /* a key, a value, in, notin */
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_NOT,
    TOKEN_EQUALS,
    TOKEN_DOUBLE_EQUALS,
    TOKEN_NOT_EQUALS,
    TOKEN_GT,
    TOKEN_LT,
};

struct parser {
    struct str rest; /* not yet read */
    enum token token;
    struct str text; /* of the token */
    VEC(struct requirement) requirements;
    VEC(struct str) values;
    struct arena *a;
    struct err *reterr;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c != '\0' && strchr("=!(),><", c);
}

static enum token symbol(struct str s, size_t *ret_n)
{
    *ret_n = 1;
    if (str_starts(s, STR("==")) || str_starts(s, STR("!="))) {
        *ret_n = 2;
        return s.p[0] == '=' ? TOKEN_DOUBLE_EQUALS : TOKEN_NOT_EQUALS;
    }
    switch (s.p[0]) {
    case '=':
        return TOKEN_EQUALS;
    case '!':
        return TOKEN_NOT;
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    case ',':
        return TOKEN_COMMA;
    case '>':
        return TOKEN_GT;
    default:
        return TOKEN_LT;
    }
}

/* A NUL byte ends the text, but is ignored right after a token, as in upstream's lexer. */
static void next(struct parser *p)
{
    size_t n = 0;
    while (n < p->rest.n && is_space(p->rest.p[n]))
        n++;
    struct str s = str_slice(p->rest, n, p->rest.n);
    n = 0;
    if (s.n == 0 || s.p[0] == '\0') {
        p->token = TOKEN_END;
    } else if (is_symbol(s.p[0])) {
        p->token = symbol(s, &n);
    } else {
        p->token = TOKEN_WORD;
        while (n < s.n && s.p[n] != '\0' && !is_symbol(s.p[n]) && !is_space(s.p[n]))
            n++;
    }
    p->text = str_slice(s, 0, n);
    if (p->token != TOKEN_END && n < s.n && s.p[n] == '\0')
        n++;
    p->rest = str_slice(s, n, s.n);
}

static int unexpected(struct parser *p, const char *wanted)
{
    if (p->token == TOKEN_END)
        return err_set(p->reterr, -EINVAL,
                       "unable to parse requirement: unexpected end, expected %s", wanted);
    return err_set(p->reterr, -EINVAL, "unable to parse requirement: found '%.*s', expected %s",
                   STR_ARG(p->text), wanted);
}

static bool read_op(struct parser *p, enum selector_op *ret_op)
{
    static const struct {
        const char *word;
        enum token token;
        enum selector_op op;
    } table[] = {
        {NULL, TOKEN_EQUALS, SELECTOR_EQUALS},
        {NULL, TOKEN_DOUBLE_EQUALS, SELECTOR_DOUBLE_EQUALS},
        {NULL, TOKEN_NOT_EQUALS, SELECTOR_NOT_EQUALS},
        {NULL, TOKEN_GT, SELECTOR_GT},
        {NULL, TOKEN_LT, SELECTOR_LT},
        {"in", TOKEN_WORD, SELECTOR_IN},
        {"notin", TOKEN_WORD, SELECTOR_NOT_IN},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (p->token == table[i].token && (!table[i].word || str_is(p->text, table[i].word))) {
            *ret_op = table[i].op;
            next(p);
            return true;
        }
    }
    return false;
}

/* A word, or nothing, which is the empty value. */
static void read_value(struct parser *p)
{
    struct str value = STR("");
    if (p->token == TOKEN_WORD) {
        value = p->text;
        next(p);
    }
    vec_push(&p->values, value);
}

static int read_set(struct parser *p)
{
    if (p->token != TOKEN_OPEN)
        return unexpected(p, "'('");
    do {
        next(p);
        read_value(p);
    } while (p->token == TOKEN_COMMA);
    if (p->token != TOKEN_CLOSE)
        return unexpected(p, "',' or ')'");
    next(p);
    return 0;
}

/* requirement_compile sorts; remove duplicates, since values are a set. */
static void drop_doubles(struct requirement *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->values.n; i++)
        if (n == 0 || !str_eq(r->values.v[n - 1], r->values.v[i]))
            r->values.v[n++] = r->values.v[i];
    r->values.n = n;
}

static int finish(struct parser *p, struct requirement *r)
{
    r->values.v = p->values.n > 0 ? p->values.v : NULL;
    r->values.n = p->values.n;
    int code = requirement_compile(r, p->a, p->reterr);
    if (code < 0)
        return err_prefix(p->reterr, code, "unable to parse requirement");
    drop_doubles(r);
    vec_push(&p->requirements, *r);
    return 0;
}

static int read_requirement(struct parser *p)
{
    struct requirement r = {.op = SELECTOR_EXISTS};
    vec_clear(&p->values);
    if (p->token == TOKEN_NOT) {
        r.op = SELECTOR_DOES_NOT_EXIST;
        next(p);
    }
    if (p->token != TOKEN_WORD)
        return unexpected(p, "a key");
    r.key = p->text;
    next(p);
    if (r.op == SELECTOR_DOES_NOT_EXIST || p->token == TOKEN_END || p->token == TOKEN_COMMA)
        return finish(p, &r);
    if (!read_op(p, &r.op))
        return unexpected(p, "one of = == != in notin > <");
    if (r.op == SELECTOR_IN || r.op == SELECTOR_NOT_IN) {
        int code = read_set(p);
        if (code < 0)
            return code;
    } else {
        read_value(p);
    }
    return finish(p, &r);
}

static int read_selector(struct parser *p)
{
    next(p);
    if (p->token == TOKEN_END)
        return 0;
    for (;;) {
        int code = read_requirement(p);
        if (code < 0)
            return code;
        if (p->token == TOKEN_END)
            return 0;
        if (p->token != TOKEN_COMMA)
            return unexpected(p, "',' or the end");
        next(p);
    }
}

int selector_parse(struct str text, struct arena *a, struct selector *ret_selector,
                   struct err *reterr)
{
    struct parser p = {.rest = text, .a = a, .reterr = reterr};
    int r = read_selector(&p);
    if (r == 0) {
        size_t n = p.requirements.n;
        requirements_sort(p.requirements.v, n);
        struct requirement *rs = arena_array(a, struct requirement, n);
        if (n > 0)
            memcpy(rs, p.requirements.v, n * sizeof(*rs));
        *ret_selector = (struct selector){.requirements = {rs, n}};
    }
    vec_release(&p.requirements);
    vec_release(&p.values);
    return r;
}
