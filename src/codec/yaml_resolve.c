/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/yaml_resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/num.h"

/* --- words ------------------------------------------------------------------------------------ */

static const struct {
    const char *word;
    struct yaml_scalar scalar;
} words[] = {
#define WORD(w, ...)    \
    {                   \
        w,              \
        {               \
            __VA_ARGS__ \
        }               \
    }
#define TRUE_WORD(w)    WORD(w, .meaning = YAML_BOOL, .boolean = true)
#define FALSE_WORD(w)   WORD(w, .meaning = YAML_BOOL, .boolean = false)
#define NULL_WORD(w)    WORD(w, .meaning = YAML_NULL)
#define REAL_WORD(w, v) WORD(w, .meaning = YAML_FLOAT, .real = (v))
    TRUE_WORD("y"),
    TRUE_WORD("Y"),
    TRUE_WORD("yes"),
    TRUE_WORD("Yes"),
    TRUE_WORD("YES"),
    TRUE_WORD("true"),
    TRUE_WORD("True"),
    TRUE_WORD("TRUE"),
    TRUE_WORD("on"),
    TRUE_WORD("On"),
    TRUE_WORD("ON"),
    FALSE_WORD("n"),
    FALSE_WORD("N"),
    FALSE_WORD("no"),
    FALSE_WORD("No"),
    FALSE_WORD("NO"),
    FALSE_WORD("false"),
    FALSE_WORD("False"),
    FALSE_WORD("FALSE"),
    FALSE_WORD("off"),
    FALSE_WORD("Off"),
    FALSE_WORD("OFF"),
    NULL_WORD(""),
    NULL_WORD("~"),
    NULL_WORD("null"),
    NULL_WORD("Null"),
    NULL_WORD("NULL"),
    REAL_WORD(".nan", NAN),
    REAL_WORD(".NaN", NAN),
    REAL_WORD(".NAN", NAN),
    REAL_WORD(".inf", INFINITY),
    REAL_WORD(".Inf", INFINITY),
    REAL_WORD(".INF", INFINITY),
    REAL_WORD("+.inf", INFINITY),
    REAL_WORD("+.Inf", INFINITY),
    REAL_WORD("+.INF", INFINITY),
    REAL_WORD("-.inf", -INFINITY),
    REAL_WORD("-.Inf", -INFINITY),
    REAL_WORD("-.INF", -INFINITY),
};

static bool find_word(struct str text, struct yaml_scalar *ret_scalar)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(text, words[i].word)) {
            *ret_scalar = words[i].scalar;
            return true;
        }
    return false;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static bool to_unsigned(const char *digits, unsigned base, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!*digits)
        return false;
    for (; *digits; digits++) {
        char c = *digits;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 99;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

/* By the prefix, as strconv.ParseInt with base 0. */
static unsigned take_base(const char **digits)
{
    const char *p = *digits;
    char c = p[0] == '0' ? (char)(p[1] | 0x20) : '\0';
    unsigned base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
    if (base)
        *digits += 2;
    else if (p[0] == '0' && p[1])
        return *digits += 1, 8;
    return base ? base : 10;
}

static bool to_whole(const char *text, struct yaml_scalar *ret_scalar)
{
    bool negative = *text == '-', sign = negative || *text == '+';
    const char *digits = text + sign;
    unsigned base = take_base(&digits);
    /* "0b-1": accepted by go-yaml, so accepted here. */
    if (base == 2 && !sign && (*digits == '-' || *digits == '+'))
        negative = *digits++ == '-';
    uint64_t value;
    if (!to_unsigned(digits, base, &value))
        return false;
    if (value <= (uint64_t)INT64_MAX + negative) {
        *ret_scalar = (struct yaml_scalar){.meaning = YAML_INT,
                                           .whole = (int64_t)(negative ? -value : value)};
        return true;
    }
    *ret_scalar = (struct yaml_scalar){.meaning = YAML_UINT, .large = value};
    return !sign;
}

static const char *digits_end(const char *p)
{
    return p + strspn(p, "0123456789");
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_real(const char *p)
{
    p += *p == '-' || *p == '+';
    const char *whole = p;
    p = digits_end(p);
    if (*p == '.') {
        const char *fraction = p + 1;
        p = digits_end(fraction);
        if (whole == fraction - 1 && p == fraction)
            return false;
    } else if (p == whole) {
        return false;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        const char *exponent = p;
        p = digits_end(p);
        if (p == exponent)
            return false;
    }
    return *p == '\0';
}

static bool to_real(const char *text, struct yaml_scalar *ret_scalar)
{
    if (!looks_real(text))
        return false;
    double value = strtod(text, NULL);
    *ret_scalar = (struct yaml_scalar){.meaning = YAML_FLOAT, .real = value};
    return isfinite(value);
}

/* --- times ------------------------------------------------------------------------------------ */

/* One or two digits (exact: two) of at most max, then the character `after` unless it is NUL. */
static bool take_number(const char **p, bool exact, int max, char after, int *ret_value)
{
    size_t n = MIN(strspn(*p, "0123456789"), (size_t)2);
    if (n == 0 || (exact && n < 2))
        return false;
    int value = (*p)[0] - '0';
    if (n == 2)
        value = value * 10 + (*p)[1] - '0';
    *p += n;
    if (value > max || (after && *(*p)++ != after))
        return false;
    *ret_value = value;
    return true;
}

static bool take_clock(const char **p)
{
    int value;
    if (!take_number(p, false, 23, ':', &value) || !take_number(p, false, 59, ':', &value) ||
        !take_number(p, false, 59, '\0', &value))
        return false;
    if ((**p == '.' || **p == ',') && (*p)[1] >= '0' && (*p)[1] <= '9')
        *p = digits_end(*p + 1);
    return true;
}

static bool take_zone(const char **p)
{
    int value;
    if (**p == 'Z')
        return (*p)++, true;
    if (**p != '+' && **p != '-')
        return false;
    (*p)++;
    return take_number(p, true, 24, ':', &value) && take_number(p, true, 60, '\0', &value);
}

/* YYYY-M-D, then nothing, Th:m:s.fZ or " h:m:s.f". */
static bool is_timestamp(const char *p)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (strspn(p, "0123456789") != 4 || p[4] != '-')
        return false;
    int year = (int)strtol(p, NULL, 10), month, day;
    p += 5;
    if (!take_number(&p, false, 12, '-', &month) || !take_number(&p, false, 31, '\0', &day) ||
        month == 0 || day == 0)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > days[month - 1] + (leap && month == 2))
        return false;
    char c = *p;
    if (c == '\0')
        return true;
    p++;
    if (c == ' ')
        return take_clock(&p) && *p == '\0';
    return (c == 'T' || c == 't') && take_clock(&p) && take_zone(&p) && *p == '\0';
}

/* --- scalars ---------------------------------------------------------------------------------- */

/* Longer than any number that is not mostly underscores or zeros. */
#define NUMBER_MAX 400

/* A NUL-terminated copy; without: characters to omit. */
static bool copy_number(struct str text, char without, char out[NUMBER_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == without)
            continue;
        if (n == NUMBER_MAX - 1 || text.p[i] == '\0')
            return false;
        out[n++] = text.p[i];
    }
    out[n] = '\0';
    return true;
}

/* strconv.ParseFloat allows '_' between digits. */
static bool underscores_ok(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '_' &&
            (i == 0 || i + 1 == text.n || !strchr("0123456789", text.p[i - 1]) ||
             !strchr("0123456789", text.p[i + 1])))
            return false;
    return true;
}

struct yaml_scalar yaml_resolve(struct str text)
{
    struct yaml_scalar scalar = {.meaning = YAML_STR};
    char first = text.n ? text.p[0] : '\0', number[NUMBER_MAX];
    if (find_word(text, &scalar))
        return scalar;
    if (first == '.') {
        if (underscores_ok(text) && copy_number(text, '_', number) && to_real(number, &scalar))
            return scalar;
    } else if (first == '+' || first == '-' || (first >= '0' && first <= '9')) {
        if (copy_number(text, '\0', number) && is_timestamp(number))
            return (struct yaml_scalar){.meaning = YAML_TIMESTAMP};
        if (copy_number(text, '_', number) &&
            (to_whole(number, &scalar) || to_real(number, &scalar)))
            return scalar;
    }
    return (struct yaml_scalar){.meaning = YAML_STR};
}

/* [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)? */
bool yaml_is_base60(struct str text)
{
    char copy[NUMBER_MAX];
    if (!copy_number(text, '\0', copy))
        return false;
    const char *p = copy;
    p += *p == '-' || *p == '+';
    if (*p < '0' || *p > '9')
        return false;
    p += strspn(p, "0123456789_");
    if (*p != ':')
        return false;
    while (*p == ':') {
        size_t n = strspn(p + 1, "0123456789");
        if (n == 0 || n > 2 || (n == 2 && p[1] > '5'))
            return false;
        p += 1 + n;
    }
    if (*p == '.')
        p += 1 + strspn(p + 1, "0123456789_");
    return *p == '\0';
}

/* The fewest digits that identify it among 32-bit floats, as sigs.k8s.io/yaml writes keys. */
static void write_float32(double value, struct buf *out)
{
    char text[32];
    if (!isfinite(value) || !isfinite((float)value)) {
        buf_add_cstr(out, isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)(float)value);
        if (strtof(text, NULL) == (float)value)
            break;
    }
    num_format(strtod(text, NULL), NUM_STYLE_G, out);
}

bool yaml_key(const struct yaml_scalar *scalar, struct str text, struct buf *out)
{
    switch (scalar->meaning) {
    case YAML_NULL:
    case YAML_UINT:
        return false;
    case YAML_BOOL:
        buf_add_cstr(out, scalar->boolean ? "true" : "false");
        return true;
    case YAML_INT:
        buf_add_printf(out, "%" PRId64, scalar->whole);
        return true;
    case YAML_FLOAT:
        write_float32(scalar->real, out);
        return true;
    default:
        buf_add_str(out, text);
        return true;
    }
}
