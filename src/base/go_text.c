/* SPDX-License-Identifier: Apache-2.0 */
#include "base/go_text.h"

#include <math.h>

#include "base/log.h"
#include "base/time.h"

static int fail(struct err *reterr, const char *function, struct str text, const char *why)
{
    struct buf quoted = BUF_INIT;
    log_quote(&quoted, text);
    int r =
        err_set(reterr, -EINVAL, "strconv.%s: parsing %s: %s", function, buf_cstr(&quoted), why);
    buf_release(&quoted);
    return r;
}

#define SYNTAX "invalid syntax"
#define RANGE  "value out of range"

int go_parse_bool(struct str text, bool *ret_value, struct err *reterr)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_is(text, yes[i]) || str_is(text, no[i])) {
            *ret_value = str_is(text, yes[i]);
            return 0;
        }
    }
    return fail(reterr, "ParseBool", text, SYNTAX);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Removes the prefix "0x", "0o", "0b" or "0" and returns its base. */
static unsigned take_base(struct str *digits)
{
    if (digits->n < 2 || digits->p[0] != '0')
        return 10;
    char letter = (char)(digits->p[1] | 0x20);
    unsigned base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    *digits = str_slice(*digits, base ? 2 : 1, digits->n);
    return base ? base : 8;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char letter = (char)(c | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 99;
}

enum outcome { GOOD, BAD_SYNTAX, TOO_LARGE };

/* Underscores are allowed between digits and after the prefix. */
static enum outcome read_digits(struct str digits, unsigned base, bool underscores, uint64_t *ret)
{
    uint64_t value = 0;
    bool large = false, after_digit = base != 10;
    if (!digits.n)
        return BAD_SYNTAX;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] == '_' && underscores && after_digit && i + 1 < digits.n) {
            after_digit = false;
            continue;
        }
        int digit = digit_of(digits.p[i]);
        if (digit >= (int)base)
            return BAD_SYNTAX;
        after_digit = true;
        large |= __builtin_mul_overflow(value, (uint64_t)base, &value);
        large |= __builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    *ret = value;
    return large ? TOO_LARGE : GOOD;
}

int go_parse_int(struct str text, unsigned bits, int64_t *ret_value, struct err *reterr)
{
    bool negative = text.n && text.p[0] == '-';
    struct str digits = str_slice(text, negative || (text.n && text.p[0] == '+'), text.n);
    bool zero = digits.n == 1 && digits.p[0] == '0';
    unsigned base = zero ? 10 : take_base(&digits);
    uint64_t value = 0, limit = (UINT64_C(1) << (bits - 1)) - (negative ? 0 : 1);
    enum outcome outcome = read_digits(digits, base, true, &value);
    if (outcome == BAD_SYNTAX)
        return fail(reterr, "ParseInt", text, SYNTAX);
    if (outcome == TOO_LARGE || value > limit)
        return fail(reterr, "ParseInt", text, RANGE);
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

int go_parse_uint(struct str text, unsigned bits, uint64_t *ret_value, struct err *reterr)
{
    uint64_t value = 0;
    enum outcome outcome = read_digits(text, 10, false, &value);
    if (outcome == BAD_SYNTAX)
        return fail(reterr, "ParseUint", text, SYNTAX);
    if (outcome == TOO_LARGE || (bits < 64 && value >> bits))
        return fail(reterr, "ParseUint", text, RANGE);
    *ret_value = value;
    return 0;
}

/* Digits, with single underscores between them or after a prefix. Appends the digits to *out. */
static size_t take_digits(struct str text, size_t at, bool hex, bool prefixed, struct buf *out)
{
    size_t n = 0;
    bool after_digit = prefixed;
    for (; at + n < text.n; n++) {
        char c = text.p[at + n];
        int digit = digit_of(c);
        bool is_digit = digit >= 0 && digit < (hex ? 16 : 10);
        if (!is_digit && (c != '_' || !after_digit))
            break;
        after_digit = is_digit;
        if (is_digit)
            buf_add_char(out, c);
    }
    return n && text.p[at + n - 1] == '_' ? SIZE_MAX : n;
}

/* The syntax of ParseFloat: appends what strtod reads to *out. */
static bool read_float(struct str text, struct buf *out)
{
    size_t at = text.n && (text.p[0] == '+' || text.p[0] == '-');
    struct str rest = str_slice(text, at, text.n);
    if (str_eq_fold(rest, STR("inf")) || str_eq_fold(rest, STR("infinity")) ||
        str_eq_fold(text, STR("nan"))) {
        buf_add_str(out, text);
        return true;
    }
    bool hex = rest.n >= 2 && rest.p[0] == '0' && (rest.p[1] | 32) == 'x';
    size_t prefix = at + (hex ? 2 : 0);
    buf_add_str(out, str_slice(text, 0, prefix));
    at = prefix;
    size_t whole = take_digits(text, at, hex, hex, out), part = 0;
    if (whole == SIZE_MAX)
        return false;
    at += whole;
    if (at < text.n && text.p[at] == '.') {
        buf_add_char(out, '.');
        part = take_digits(text, ++at, hex, false, out);
        if (part == SIZE_MAX)
            return false;
        at += part;
    }
    if (whole + part == 0)
        return false;
    if (at < text.n && (text.p[at] | 32) == (hex ? 'p' : 'e')) {
        buf_add_char(out, text.p[at++]);
        if (at < text.n && (text.p[at] == '+' || text.p[at] == '-'))
            buf_add_char(out, text.p[at++]);
        size_t exponent = take_digits(text, at, false, false, out);
        if (exponent == 0 || exponent == SIZE_MAX)
            return false;
        at += exponent;
    } else if (hex) {
        return false;
    }
    return at == text.n;
}

int go_parse_float64(struct str text, double *ret_value, struct err *reterr)
{
    struct buf plain = BUF_INIT;
    bool good = read_float(text, &plain);
    double value = good ? strtod(buf_cstr(&plain), NULL) : 0;
    bool large = isinf(value) && !strpbrk(buf_cstr(&plain), "iI");
    buf_release(&plain);
    if (!good || large)
        return fail(reterr, "ParseFloat", text, good ? RANGE : SYNTAX);
    *ret_value = value;
    return 0;
}

int go_parse_float32(struct str text, float *ret_value, struct err *reterr)
{
    struct buf plain = BUF_INIT;
    bool good = read_float(text, &plain);
    float value = good ? strtof(buf_cstr(&plain), NULL) : 0;
    bool large = isinf(value) && !strpbrk(buf_cstr(&plain), "iI");
    buf_release(&plain);
    if (!good || large)
        return fail(reterr, "ParseFloat", text, good ? RANGE : SYNTAX);
    *ret_value = value;
    return 0;
}

void go_format_float32(float value, struct buf *out)
{
    char text[32];
    if (isnan(value) || isinf(value)) {
        buf_add_cstr(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    /* The fewest digits that parse to the same number. */
    int digits = 0;
    do
        snprintf(text, sizeof(text), "%.*e", digits, (double)value);
    while (strtof(text, NULL) != value && ++digits < 9);
    /* Go's 'g' with the shortest precision: exponent notation below 1e-4 and from 1e6. */
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 6)
        snprintf(text, sizeof(text), "%.*f", MAX(digits - exponent, 0), (double)value);
    buf_add_cstr(out, text);
}

/* --- durations -------------------------------------------------------------------------------- */

static size_t count_number(struct str text)
{
    size_t n = 0;
    while (n < text.n && ((text.p[n] >= '0' && text.p[n] <= '9') || text.p[n] == '.'))
        n++;
    return n;
}

static bool is_unit(struct str text)
{
    static const char *const units[] = {"ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h"};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_is(text, units[i]))
            return true;
    return false;
}

static int fail_duration(struct str text, struct err *reterr)
{
    struct str rest = str_slice(text, text.n && strchr("+-", text.p[0]) != NULL, text.n);
    struct buf quoted = BUF_INIT, unit_text = BUF_INIT;
    int r = 0;
    log_quote(&quoted, text);
    while (r == 0 && rest.n) {
        size_t n = count_number(rest), end = n;
        while (end < rest.n && count_number(str_slice(rest, end, rest.n)) == 0)
            end++;
        struct str unit = str_slice(rest, n, end);
        buf_clear(&unit_text);
        log_quote(&unit_text, unit);
        if (n == 0)
            break;
        if (!unit.n)
            r = err_set(reterr, -EINVAL, "time: missing unit in duration %s", buf_cstr(&quoted));
        else if (!is_unit(unit))
            r = err_set(reterr, -EINVAL, "time: unknown unit %s in duration %s",
                        buf_cstr(&unit_text), buf_cstr(&quoted));
        rest = str_slice(rest, end, rest.n);
    }
    if (r == 0)
        r = err_set(reterr, -EINVAL, "time: invalid duration %s", buf_cstr(&quoted));
    buf_release(&quoted);
    buf_release(&unit_text);
    return r;
}

int go_parse_duration(struct str text, int64_t *ret_ns, struct err *reterr)
{
    return duration_parse(text, ret_ns) ? 0 : fail_duration(text, reterr);
}

/* --- comma-separated values ------------------------------------------------------------------- */

void go_strings_push(struct go_strings *list, struct arena *a, struct str text)
{
    struct str *v = arena_array(a, struct str, list->n + 1);
    if (list->n)
        memcpy(v, list->v, list->n * sizeof(*v));
    v[list->n++] = arena_dup(a, text);
    list->v = v;
}

/* Reads a quoted field. *at moves to the comma after it, or to the end. */
static int read_quoted(struct str text, size_t *at, struct buf *field, struct err *reterr)
{
    size_t i = *at + 1;
    while (i < text.n) {
        if (text.p[i] != '"') {
            buf_add_char(field, text.p[i++]);
        } else if (i + 1 < text.n && text.p[i + 1] == '"') {
            buf_add_char(field, '"');
            i += 2;
        } else if (i + 1 == text.n || text.p[i + 1] == ',') {
            *at = i + 1;
            return 0;
        } else {
            break;
        }
    }
    return err_set(reterr, -EINVAL,
                   "parse error on line 1, column %zu: extraneous or missing \" in quoted-field",
                   i + 1);
}

static int read_plain(struct str text, size_t *at, struct buf *field, struct err *reterr)
{
    for (; *at < text.n && text.p[*at] != ','; ++*at) {
        if (text.p[*at] == '"')
            return err_set(reterr, -EINVAL,
                           "parse error on line 1, column %zu: bare \" in non-quoted-field",
                           *at + 1);
        buf_add_char(field, text.p[*at]);
    }
    return 0;
}

int go_parse_csv(struct str text, struct arena *a, struct go_strings *list, struct err *reterr)
{
    struct buf field = BUF_INIT;
    int r = 0;
    size_t at = 0;
    text = str_slice(text, 0, str_find(text, '\n'));
    while (r == 0 && text.n) {
        buf_clear(&field);
        r = at < text.n && text.p[at] == '"' ? read_quoted(text, &at, &field, reterr)
                                             : read_plain(text, &at, &field, reterr);
        if (r == 0)
            go_strings_push(list, a, buf_str(&field));
        if (at++ >= text.n)
            break;
    }
    buf_release(&field);
    return r;
}

static bool needs_quotes(struct str s)
{
    return str_is(s, "\\.") || (s.n && strchr(" \t", s.p[0])) || str_find(s, ',') < s.n ||
           str_find(s, '"') < s.n || str_find(s, '\n') < s.n || str_find(s, '\r') < s.n;
}

void go_format_csv(const struct go_strings *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        struct str s = list->v[i];
        if (i)
            buf_add_char(out, ',');
        if (!needs_quotes(s)) {
            buf_add_str(out, s);
            continue;
        }
        buf_add_char(out, '"');
        for (size_t j = 0; j < s.n; j++)
            buf_add_printf(out, s.p[j] == '"' ? "\"\"" : "%c", s.p[j]);
        buf_add_char(out, '"');
    }
}
