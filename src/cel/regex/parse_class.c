/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/regex/parse.h"

/* --- named groups of ASCII characters --------------------------------------------------------- */

struct ascii_class {
    const char *name;
    unsigned char v[8]; /* pairs: first and last */
    size_t n;
};

static const struct ascii_class posix_classes[] = {
    {"alnum", {'0', '9', 'A', 'Z', 'a', 'z'}, 3},
    {"alpha", {'A', 'Z', 'a', 'z'}, 2},
    {"ascii", {0, 0x7F}, 1},
    {"blank", {'\t', '\t', ' ', ' '}, 2},
    {"cntrl", {0, 0x1F, 0x7F, 0x7F}, 2},
    {"digit", {'0', '9'}, 1},
    {"graph", {'!', '~'}, 1},
    {"lower", {'a', 'z'}, 1},
    {"print", {' ', '~'}, 1},
    {"punct", {'!', '/', ':', '@', '[', '`', '{', '~'}, 4},
    {"space", {'\t', '\r', ' ', ' '}, 2},
    {"upper", {'A', 'Z'}, 1},
    {"word", {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}, 4},
    {"xdigit", {'0', '9', 'A', 'F', 'a', 'f'}, 3},
};
static const struct ascii_class perl_classes[] = {
    {"d", {'0', '9'}, 1},
    {"s", {'\t', '\n', '\f', '\r', ' ', ' '}, 3},
    {"w", {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}, 4},
};

/* Adds a class or its complement. Case is ignored before the complement is taken. */
static void add_class(const struct parser *p, struct rune_set *set, struct rune_set *class,
                      bool negated)
{
    if (p->flags & FLAG_FOLD)
        rune_set_fold(class);
    if (negated)
        rune_set_negate(class);
    rune_set_add_set(set, class);
    vec_release(class);
}

static bool add_ascii(const struct parser *p, struct rune_set *set, const struct ascii_class *v,
                      size_t n, struct str name, bool negated)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_is(name, v[i].name))
            continue;
        struct rune_set class = {0};
        for (size_t k = 0; k < v[i].n; k++)
            rune_set_add(&class, v[i].v[2 * k], v[i].v[2 * k + 1]);
        add_class(p, set, &class, negated);
        return true;
    }
    return false;
}

/* \pN, \p{Name}, \p{^Name}, \PN... */
static int parse_unicode_class(struct parser *p, struct rune_set *set)
{
    struct str begin = p->rest, name;
    bool negated = begin.p[1] == 'P';
    uint32_t rune;
    p->rest = str_slice(begin, 2, begin.n);
    /* Go fails on the empty rest as on an invalid character, but with the class as text. */
    if (p->rest.n == 0)
        return parse_fail(p, "invalid character class range", begin);
    int r = parse_rune(p, &rune);
    if (r < 0)
        return r;
    if (rune != '{') {
        name = str_slice(parse_since(p, begin), 2, SIZE_MAX);
    } else {
        size_t end = str_find(begin, '}');
        if (end == begin.n) {
            r = parse_check_utf8(p, begin);
            return r < 0 ? r : parse_fail(p, "invalid character class range", begin);
        }
        name = str_slice(begin, 3, end);
        p->rest = str_slice(begin, end + 1, begin.n);
        r = parse_check_utf8(p, name);
        if (r < 0)
            return r;
    }
    if (name.n > 0 && name.p[0] == '^') {
        negated = !negated;
        name = str_slice(name, 1, name.n);
    }
    struct rune_set class = {0};
    if (!rune_set_add_class(&class, name)) {
        vec_release(&class);
        return parse_fail(p, "invalid character class range", parse_since(p, begin));
    }
    add_class(p, set, &class, negated);
    return 0;
}

int parse_class_escape(struct parser *p, struct rune_set *set, bool *ret_found)
{
    *ret_found = false;
    if (p->rest.n < 2 || p->rest.p[0] != '\\')
        return 0;
    char c = p->rest.p[1];
    if (c == 'p' || c == 'P') {
        int r = parse_unicode_class(p, set);
        if (r < 0)
            return r;
        *ret_found = true;
        return 0;
    }
    bool negated = c >= 'A' && c <= 'Z';
    char lower = negated ? (char)(c - 'A' + 'a') : c;
    if (add_ascii(p, set, perl_classes, ARRAY_LEN(perl_classes), (struct str){&lower, 1},
                  negated)) {
        p->rest = str_slice(p->rest, 2, p->rest.n);
        *ret_found = true;
    }
    return 0;
}

/* --- escapes ---------------------------------------------------------------------------------- */

static int hex_digit(uint32_t c)
{
    if (c >= '0' && c <= '9')
        return (int)c - '0';
    if (c >= 'a' && c <= 'f')
        return (int)c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return (int)c - 'A' + 10;
    return -1;
}

/* As Go's nextRune, which reads the empty string as an invalid character... of no bytes. */
static int next_or_end(struct parser *p, uint32_t *ret_rune)
{
    *ret_rune = STR_BAD_RUNE;
    return p->rest.n > 0 ? parse_rune(p, ret_rune) : 0;
}

/* \x7F or \x{10FFFF}; p->rest is behind the x. 1: not valid. */
static int parse_hex(struct parser *p, uint32_t *ret_rune)
{
    uint32_t c, c2, value = 0;
    if (p->rest.n == 0)
        return 1;
    int r = parse_rune(p, &c);
    if (r < 0)
        return r;
    if (c != '{') {
        r = next_or_end(p, &c2);
        if (r < 0)
            return r;
        if (hex_digit(c) < 0 || hex_digit(c2) < 0)
            return 1;
        *ret_rune = (uint32_t)hex_digit(c) * 16 + (uint32_t)hex_digit(c2);
        return 0;
    }
    for (size_t n = 0;; n++) {
        if (p->rest.n == 0)
            return 1;
        r = parse_rune(p, &c);
        if (r < 0)
            return r;
        if (c == '}') {
            *ret_rune = value;
            return n == 0;
        }
        if (hex_digit(c) < 0)
            return 1;
        value = value * 16 + (uint32_t)hex_digit(c);
        if (value > RUNE_MAX)
            return 1;
    }
}

static bool octal_next(const struct parser *p)
{
    return p->rest.n > 0 && p->rest.p[0] >= '0' && p->rest.p[0] <= '7';
}

/* \012, up to three digits; \1 alone would be a back reference and is not valid. */
static int parse_octal(struct parser *p, uint32_t c, uint32_t *ret_rune)
{
    if (c != '0' && !octal_next(p))
        return 1;
    uint32_t value = c - '0';
    for (int i = 0; i < 2 && octal_next(p); i++) {
        value = value * 8 + (uint32_t)(p->rest.p[0] - '0');
        p->rest = str_slice(p->rest, 1, p->rest.n);
    }
    *ret_rune = value;
    return 0;
}

int parse_escape(struct parser *p, uint32_t *ret_rune)
{
    static const char named[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    struct str begin = p->rest;
    uint32_t c;
    int r;
    p->rest = str_slice(begin, 1, begin.n);
    if (p->rest.n == 0)
        return parse_fail(p, "trailing backslash at end of expression", STR(""));
    r = parse_rune(p, &c);
    if (r < 0)
        return r;
    const char *at = c != 0 && c < 128 ? strchr(named, (int)c) : NULL;
    if (at) {
        *ret_rune = (uint32_t)values[at - named];
        return 0;
    }
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c < 128 && !letter) {
        *ret_rune = c;
        return 0;
    }
    if (c >= '0' && c <= '7')
        r = parse_octal(p, c, ret_rune);
    else
        r = c == 'x' ? parse_hex(p, ret_rune) : 1;
    return r == 1 ? parse_fail(p, "invalid escape sequence", parse_since(p, begin)) : r;
}

/* --- brackets --------------------------------------------------------------------------------- */

/* [:alpha:] and [:^alpha:]. */
static int parse_posix_class(struct parser *p, struct rune_set *set, bool *ret_found)
{
    *ret_found = false;
    if (p->rest.n <= 2 || p->rest.p[0] != '[' || p->rest.p[1] != ':')
        return 0;
    struct str inner = str_slice(p->rest, 2, p->rest.n);
    size_t end = str_search(inner, STR(":]"));
    if (end == inner.n)
        return 0;
    struct str name = str_slice(inner, 0, end), all = str_slice(p->rest, 0, end + 4);
    bool negated = name.n > 0 && name.p[0] == '^';
    if (!add_ascii(p, set, posix_classes, ARRAY_LEN(posix_classes),
                   str_slice(name, negated, name.n), negated))
        return parse_fail(p, "invalid character class range", all);
    p->rest = str_slice(p->rest, all.n, p->rest.n);
    *ret_found = true;
    return 0;
}

static int parse_class_rune(struct parser *p, struct str bracket, uint32_t *ret_rune)
{
    if (p->rest.n == 0)
        return parse_fail(p, "missing closing ]", bracket);
    if (p->rest.p[0] == '\\')
        return parse_escape(p, ret_rune);
    return parse_rune(p, ret_rune);
}

static int parse_class_range(struct parser *p, struct str bracket, struct rune_set *set)
{
    struct str begin = p->rest;
    uint32_t lo, hi;
    int r = parse_class_rune(p, bracket, &lo);
    if (r < 0)
        return r;
    hi = lo;
    if (p->rest.n >= 2 && p->rest.p[0] == '-' && p->rest.p[1] != ']') {
        p->rest = str_slice(p->rest, 1, p->rest.n);
        r = parse_class_rune(p, bracket, &hi);
        if (r < 0)
            return r;
        if (hi < lo)
            return parse_fail(p, "invalid character class range", parse_since(p, begin));
    }
    rune_set_add(set, lo, hi);
    return 0;
}

int parse_bracket(struct parser *p, struct rune_set *set)
{
    struct str bracket = p->rest;
    bool negated = bracket.n > 1 && bracket.p[1] == '^';
    p->rest = str_slice(bracket, negated ? 2 : 1, bracket.n);
    /* A ] in front is a character like others. */
    for (bool first = true; first || p->rest.n == 0 || p->rest.p[0] != ']'; first = false) {
        bool found;
        int r = parse_posix_class(p, set, &found);
        if (r == 0 && !found)
            r = parse_class_escape(p, set, &found);
        if (r == 0 && !found)
            r = parse_class_range(p, bracket, set);
        if (r < 0)
            return r;
    }
    p->rest = str_slice(p->rest, 1, p->rest.n);
    /* Classes inside are closed under case folding already, their complements too. */
    if (p->flags & FLAG_FOLD)
        rune_set_fold(set);
    rune_set_clean(set);
    if (negated)
        rune_set_negate(set);
    return 0;
}
