/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/lexer.h"

static uint32_t peek(const struct cel_lexer *l, uint32_t at)
{
    return at < l->source->n ? l->source->runes[at] : 0;
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(uint32_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_ident_start(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_ident(uint32_t c)
{
    return is_ident_start(c) || is_digit(c);
}

static void skip_blank(struct cel_lexer *l)
{
    for (;;) {
        uint32_t c = peek(l, l->at);
        if (l->at < l->source->n &&
            (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f')) {
            l->at++;
        } else if (c == '/' && peek(l, l->at + 1) == '/') {
            while (l->at < l->source->n && l->source->runes[l->at] != '\n')
                l->at++;
        } else {
            return;
        }
    }
}

/*
 * The end of an escape sequence that begins at the backslash `at`; 0 if it is none, and then
 * *failed is the character that does not belong to one.
 */
static uint32_t escape_end(const struct cel_lexer *l, uint32_t at, uint32_t *failed)
{
    uint32_t c = peek(l, at + 1), n;
    *failed = at + 1;
    if (c != 0 && c < 0x80 && strchr("abfnrtv\"'\\?`", (int)c))
        return at + 2;
    bool octal = c >= '0' && c <= '3';
    uint32_t digits = octal || c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    for (n = 0; n < digits; n++) {
        uint32_t digit = peek(l, at + 2 + n);
        if (octal ? digit < '0' || digit > '7' : !is_hex(digit)) {
            *failed = at + 2 + n;
            return 0;
        }
    }
    return digits ? at + 2 + digits : 0;
}

static bool three(const struct cel_lexer *l, uint32_t at, uint32_t quote)
{
    return peek(l, at) == quote && peek(l, at + 1) == quote && peek(l, at + 2) == quote;
}

/*
 * The end of a string whose opening quote is at `at`; 0 if it does not end, and then *failed is
 * where the match broke off.
 */
static uint32_t string_end(const struct cel_lexer *l, uint32_t at, bool raw, uint32_t *failed)
{
    uint32_t quote = l->source->runes[at];
    bool triple = three(l, at, quote);
    uint32_t begin = at + (triple ? 3 : 1);
    for (at = begin; at < l->source->n;) {
        uint32_t c = l->source->runes[at];
        if (triple ? three(l, at, quote) : c == quote)
            return at + (triple ? 3 : 1);
        if (!triple && (c == '\n' || c == '\r'))
            break;
        if (c == '\\' && !raw) {
            uint32_t end = escape_end(l, at, failed);
            if (end == 0)
                return triple ? begin - 1 : 0;
            at = end;
        } else {
            at++;
        }
    }
    *failed = at;
    /* Three quotes that are not closed are an empty string and a quote. */
    return triple ? begin - 1 : 0;
}

static struct cel_token take(struct cel_lexer *l, int kind, uint32_t to)
{
    struct cel_token t = {kind, l->at, to};
    l->at = to;
    return t;
}

static uint32_t digits_end(const struct cel_lexer *l, uint32_t at)
{
    while (is_digit(peek(l, at)))
        at++;
    return at;
}

/* The end of an exponent at `at`, or `at`. */
static uint32_t exponent_end(const struct cel_lexer *l, uint32_t at)
{
    if (peek(l, at) != 'e' && peek(l, at) != 'E')
        return at;
    uint32_t digits = at + 1;
    if (peek(l, digits) == '+' || peek(l, digits) == '-')
        digits++;
    return is_digit(peek(l, digits)) ? digits_end(l, digits) : at;
}

static struct cel_token take_number(struct cel_lexer *l)
{
    uint32_t at = l->at;
    if (peek(l, at) == '0' && peek(l, at + 1) == 'x' && is_hex(peek(l, at + 2))) {
        at += 2;
        while (is_hex(peek(l, at)))
            at++;
    } else {
        at = digits_end(l, at);
        uint32_t end = at;
        if (peek(l, at) == '.' && is_digit(peek(l, at + 1)))
            end = digits_end(l, at + 1);
        end = exponent_end(l, end);
        if (end > at)
            return take(l, CEL_TOK_FLOAT, end);
    }
    if (peek(l, at) == 'u' || peek(l, at) == 'U')
        return take(l, CEL_TOK_UINT, at + 1);
    return take(l, CEL_TOK_INT, at);
}

static bool text_is(const struct cel_lexer *l, uint32_t to, const char *word)
{
    uint32_t at = l->at;
    for (; at < to && *word; at++, word++) {
        if (l->source->runes[at] != (unsigned char)*word)
            return false;
    }
    return at == to && !*word;
}

static struct cel_token take_word(struct cel_lexer *l)
{
    static const struct {
        const char *text;
        int kind;
    } words[] = {{"true", CEL_TOK_TRUE},
                 {"false", CEL_TOK_FALSE},
                 {"null", CEL_TOK_NULL},
                 {"in", CEL_TOK_IN}};
    uint32_t to = l->at;
    while (is_ident(peek(l, to)))
        to++;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (text_is(l, to, words[i].text))
            return take(l, words[i].kind, to);
    }
    return take(l, CEL_TOK_IDENT, to);
}

/* r"…", b'…', bR"…": true if a string with such a prefix begins here. */
static bool string_prefix(const struct cel_lexer *l, bool *ret_bytes, bool *ret_raw,
                          uint32_t *ret_quote)
{
    uint32_t at = l->at, c = peek(l, at);
    *ret_bytes = c == 'b' || c == 'B';
    at += *ret_bytes;
    c = peek(l, at);
    *ret_raw = c == 'r' || c == 'R';
    at += *ret_raw;
    *ret_quote = at;
    return peek(l, at) == '"' || peek(l, at) == '\'';
}

static bool take_escaped_ident(struct cel_lexer *l, struct cel_token *ret, uint32_t *failed)
{
    uint32_t at = l->at + 1;
    for (;; at++) {
        uint32_t c = peek(l, at);
        if (!is_ident(c) && c != '.' && c != '-' && c != '/' && c != ' ')
            break;
    }
    *failed = at;
    if (at == l->at + 1 || peek(l, at) != '`')
        return false;
    *ret = take(l, CEL_TOK_ESC_IDENT, at + 1);
    return true;
}

static bool take_operator(struct cel_lexer *l, struct cel_token *ret, uint32_t *failed)
{
    static const struct {
        char text[3];
        int kind;
    } pairs[] = {{"==", CEL_TOK_EQ}, {"!=", CEL_TOK_NE},  {"<=", CEL_TOK_LE},
                 {">=", CEL_TOK_GE}, {"&&", CEL_TOK_AND}, {"||", CEL_TOK_OR}};
    uint32_t c = peek(l, l->at), d = peek(l, l->at + 1);
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if (c == (unsigned char)pairs[i].text[0] && d == (unsigned char)pairs[i].text[1]) {
            *ret = take(l, pairs[i].kind, l->at + 2);
            return true;
        }
    }
    if (c != 0 && c < 0x80 && strchr("<>[]{}().,-!?:+*/%", (int)c)) {
        *ret = take(l, (int)c, l->at + 1);
        return true;
    }
    *failed = l->at + (c == '=' || c == '&' || c == '|');
    return false;
}

/* One token; false if there is none: *failed is the character where the match broke off. */
static bool try_token(struct cel_lexer *l, struct cel_token *ret, uint32_t *failed)
{
    uint32_t c = peek(l, l->at), quote;
    bool bytes, raw;
    if (string_prefix(l, &bytes, &raw, &quote)) {
        uint32_t end = string_end(l, quote, raw, failed);
        if (end != 0)
            *ret = take(l, bytes ? CEL_TOK_BYTES : CEL_TOK_STRING, end);
        else if (quote > l->at) /* the prefix is an identifier then */
            *ret = take(l, CEL_TOK_IDENT, quote);
        return end != 0 || quote > l->at;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(l, l->at + 1)))) {
        *ret = take_number(l);
        return true;
    }
    if (is_ident_start(c)) {
        *ret = take_word(l);
        return true;
    }
    if (c == '`')
        return take_escaped_ident(l, ret, failed);
    return take_operator(l, ret, failed);
}

struct cel_token cel_lexer_next(struct cel_lexer *l)
{
    struct cel_token t;
    for (;;) {
        skip_blank(l);
        if (l->at >= l->source->n)
            return take(l, CEL_TOK_EOF, l->source->n);
        uint32_t failed = l->at;
        if (try_token(l, &t, &failed))
            return t;
        uint32_t to = MIN(failed + 1, l->source->n);
        if (!l->quiet) {
            struct str text = cel_source_text(l->source, l->at, to);
            cel_source_report(l->source, l->at, "Syntax error: token recognition error at: '%.*s'",
                              STR_ARG(text));
        }
        l->at = to;
    }
}
