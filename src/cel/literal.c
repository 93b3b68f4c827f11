/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/literal.h"

#include <math.h>

#include "codec/utf8.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \r\n and \r are \n in a literal. */
static struct str normalize_newlines(struct arena *a, struct str text)
{
    if (str_find(text, '\r') == text.n)
        return text;
    char *out = arena_alloc(a, text.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        out[n++] = text.p[i] == '\r' ? '\n' : text.p[i];
        if (text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            i++;
    }
    return (struct str){out, n};
}

/* Reads `digits` digits of the base after a backslash and its letter. */
static bool read_code(struct str *rest, size_t digits, uint32_t base, uint32_t *ret)
{
    if (rest->n < digits)
        return false;
    *ret = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = hex_digit(rest->p[i]);
        if (digit < 0 || (uint32_t)digit >= base)
            return false;
        *ret = *ret * base + (uint32_t)digit;
    }
    *rest = str_slice(*rest, digits, rest->n);
    return true;
}

/* One escape sequence, after the backslash. */
static const char *unescape(struct str *rest, bool bytes, char *out, size_t *n)
{
    static const char from[] = "abfnrtv\\'\"`?", to[] = "\a\b\f\n\r\t\v\\'\"`?";
    char c = rest->p[0];
    const char *plain = memchr(from, c, sizeof(from) - 1);
    if (plain) {
        *rest = str_slice(*rest, 1, rest->n);
        out[(*n)++] = to[plain - from];
        return NULL;
    }
    uint32_t code = 0;
    bool octal = c >= '0' && c <= '3', wide = c == 'u' || c == 'U';
    if (wide && bytes)
        return "unable to unescape string";
    if (!octal)
        *rest = str_slice(*rest, 1, rest->n);
    size_t digits = octal ? 3 : c == 'u' ? 4 : c == 'U' ? 8 : 2;
    if (!read_code(rest, digits, octal ? 8 : 16, &code))
        return "unable to unescape string";
    if (!bytes && (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)))
        return "invalid unicode code point";
    if (bytes)
        out[(*n)++] = (char)code;
    else
        *n += utf8_put(out + *n, code);
    return NULL;
}

const char *cel_unquote(struct arena *a, struct str text, bool bytes, struct str *ret)
{
    text = normalize_newlines(a, text);
    if (bytes)
        text = str_slice(text, 1, text.n);
    bool raw = text.p[0] == 'r' || text.p[0] == 'R';
    if (raw)
        text = str_slice(text, 1, text.n);
    size_t quotes =
        text.n >= 6 && (str_starts(text, STR("'''")) || str_starts(text, STR("\"\"\""))) ? 3 : 1;
    text = str_slice(text, quotes, text.n - quotes);
    *ret = text;
    if (raw || str_find(text, '\\') == text.n)
        return NULL;
    char *out = arena_alloc(a, text.n + 1, 1);
    size_t n = 0;
    while (text.n > 0) {
        char c = text.p[0];
        text = str_slice(text, 1, text.n);
        if (c != '\\' || text.n == 0) {
            out[n++] = c;
            continue;
        }
        const char *wrong = unescape(&text, bytes, out, &n);
        if (wrong)
            return wrong;
    }
    *ret = (struct str){out, n};
    return NULL;
}

bool cel_parse_uint(struct str text, uint64_t *ret)
{
    if (text.n > 0 && (text.p[text.n - 1] == 'u' || text.p[text.n - 1] == 'U'))
        text.n--;
    uint64_t base = 10;
    if (str_starts(text, STR("0x"))) {
        base = 16;
        text = str_slice(text, 2, text.n);
    }
    *ret = 0;
    for (size_t i = 0; i < text.n; i++) {
        uint64_t digit = (uint64_t)hex_digit(text.p[i]);
        if (__builtin_mul_overflow(*ret, base, ret) || __builtin_add_overflow(*ret, digit, ret))
            return false;
    }
    return true;
}

bool cel_parse_int(struct str text, bool negative, int64_t *ret)
{
    uint64_t magnitude;
    if (!cel_parse_uint(text, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = (int64_t)(negative ? -magnitude : magnitude);
    return true;
}

bool cel_parse_double(struct str text, double *ret)
{
    char *copy = str_dup(text);
    *ret = strtod(copy, NULL);
    free(copy);
    return isfinite(*ret);
}

static bool special_float(struct str text, double *ret)
{
    bool negative = text.p[0] == '-';
    if (negative || text.p[0] == '+')
        text = str_slice(text, 1, text.n);
    if (str_eq_fold(text, STR("inf")) || str_eq_fold(text, STR("infinity")))
        *ret = negative ? -INFINITY : INFINITY;
    else if (str_eq_fold(text, STR("nan")) && !negative)
        *ret = NAN;
    else
        return false;
    return true;
}

static size_t skip(struct str s, size_t at, bool hex)
{
    while (at < s.n && (hex ? hex_digit(s.p[at]) >= 0 : s.p[at] >= '0' && s.p[at] <= '9'))
        at++;
    return at;
}

/* [+-] digits [. digits] [exponent], at least one digit; a hexadecimal number needs its exponent.
 */
static bool is_float(struct str s)
{
    size_t at = s.n > 0 && (s.p[0] == '+' || s.p[0] == '-'), digits;
    bool hex = s.n > at + 1 && s.p[at] == '0' && (s.p[at + 1] | 0x20) == 'x';
    at += hex ? 2 : 0;
    size_t begin = at;
    at = skip(s, at, hex);
    digits = at - begin;
    if (at < s.n && s.p[at] == '.') {
        begin = ++at;
        at = skip(s, at, hex);
        digits += at - begin;
    }
    bool exponent = at < s.n && (s.p[at] | 0x20) == (hex ? 'p' : 'e');
    if (exponent) {
        at++;
        if (at < s.n && (s.p[at] == '+' || s.p[at] == '-'))
            at++;
        begin = at;
        at = skip(s, at, false);
        if (at == begin)
            return false;
    }
    return digits > 0 && at == s.n && (exponent || !hex);
}

/* Digits may be separated by single underscores: 1_000. */
static bool drop_underscores(struct str text, char *out, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '_')
            out[n++] = text.p[i];
        else if (i == 0 || i + 1 == text.n || hex_digit(text.p[i + 1]) < 0 ||
                 (hex_digit(text.p[i - 1]) < 0 && (text.p[i - 1] | 0x20) != 'x'))
            return false;
    }
    *ret_n = n;
    return true;
}

bool cel_parse_go_float(struct str text, double *ret)
{
    if (text.n == 0)
        return false;
    if (special_float(text, ret))
        return true;
    char *digits = xmalloc(text.n);
    size_t n;
    bool ok = drop_underscores(text, digits, &n) && is_float((struct str){digits, n}) &&
              cel_parse_double((struct str){digits, n}, ret);
    free(digits);
    return ok;
}
