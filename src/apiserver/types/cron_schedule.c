/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/cron_schedule.h"

#include "apiserver/types/api_status.h"
#include "base/go_text.h"

struct bounds {
    unsigned min, max;
    const char *const *names; /* of min, min + 1, …; ends with NULL */
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct bounds bounds_of[] = {
    {0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, months}, {0, 6, days},
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int fail(struct buf *error, const char *text, struct str expr)
{
    buf_add_printf(error, "%s: %.*s", text, STR_ARG(expr));
    return -EINVAL;
}

/* Go's strconv.Atoi, with its message. */
static int parse_number(struct str s, int64_t *ret_number, struct buf *error)
{
    struct str digits = s.n > 1 && s.p[0] == '+' ? str_slice(s, 1, s.n) : s;
    bool decimal = digits.n > 0;
    int64_t n;

    if (!str_to_i64(digits, &n) || (digits.p != s.p && digits.p[0] == '-')) {
        for (size_t i = digits.n > 1 && digits.p[0] == '-'; i < digits.n; i++)
            decimal = decimal && digits.p[i] >= '0' && digits.p[i] <= '9';
        buf_add_printf(error, "failed to parse int from %.*s: strconv.Atoi: parsing ", STR_ARG(s));
        go_quote(error, s);
        buf_add_cstr(error, decimal ? ": value out of range" : ": invalid syntax");
        return -EINVAL;
    }
    if (n < 0) {
        buf_add_printf(error, "negative number (%lld) not allowed: %.*s", (long long)n, STR_ARG(s));
        return -EINVAL;
    }
    *ret_number = n;
    return 0;
}

static int parse_value(struct str s, const struct bounds *b, int64_t *ret_number, struct buf *error)
{
    for (size_t i = 0; b->names && b->names[i]; i++) {
        if (str_eq_fold(s, str_of(b->names[i]))) {
            *ret_number = (int64_t)(b->min + i);
            return 0;
        }
    }
    return parse_number(s, ret_number, error);
}

static int check_range(const struct bounds *b, int64_t start, int64_t end, struct str expr,
                       struct buf *error)
{
    if (start < b->min)
        buf_add_printf(error, "beginning of range (%lld) below minimum (%u): %.*s",
                       (long long)start, b->min, STR_ARG(expr));
    else if (end > b->max)
        buf_add_printf(error, "end of range (%lld) above maximum (%u): %.*s", (long long)end,
                       b->max, STR_ARG(expr));
    else if (start > end)
        buf_add_printf(error, "beginning of range (%lld) beyond end of range (%lld): %.*s",
                       (long long)start, (long long)end, STR_ARG(expr));
    else
        return 0;
    return -EINVAL;
}

/* start-end, start, * or ?. */
static int parse_ends(struct str range, struct str expr, const struct bounds *b, int64_t ends[2],
                      struct buf *error)
{
    struct str low, high;
    int code;

    str_split(&range, '-', &low);
    if (str_is(low, "*") || str_is(low, "?")) {
        ends[0] = b->min;
        ends[1] = b->max;
        return 0;
    }
    code = parse_value(low, b, &ends[0], error);
    if (code)
        return code;
    ends[1] = ends[0];
    if (!str_split(&range, '-', &high))
        return 0;
    if (range.p)
        return fail(error, "too many hyphens", expr);
    return parse_value(high, b, &ends[1], error);
}

static int parse_range(struct str expr, const struct bounds *b, uint64_t *bits, struct buf *error)
{
    struct str rest = expr, range, step_text;
    int64_t ends[2], step = 1;
    bool star, single;
    int code;

    str_split(&rest, '/', &range);
    single = str_find(range, '-') == range.n;
    star = str_starts(range, STR("*")) || str_starts(range, STR("?"));
    star = star && (range.n == 1 || range.p[1] == '-');
    code = parse_ends(range, expr, b, ends, error);
    if (code)
        return code;
    if (str_split(&rest, '/', &step_text)) {
        if (rest.p)
            return fail(error, "too many slashes", expr);
        code = parse_number(step_text, &step, error);
        if (code)
            return code;
        if (single)
            ends[1] = b->max;
        star = star && step <= 1;
    }
    code = check_range(b, ends[0], ends[1], expr, error);
    if (code)
        return code;
    if (step == 0)
        return fail(error, "step of range should be a positive number", expr);
    for (int64_t i = ends[0]; i <= ends[1] && i < 64; i += MIN(step, 64))
        *bits |= (uint64_t)1 << i;
    if (star)
        *bits |= CRON_STAR;
    return 0;
}

static int parse_field(struct str field, const struct bounds *b, uint64_t *bits, struct buf *error)
{
    struct str expr;

    *bits = 0;
    while (str_split(&field, ',', &expr)) {
        int code = str_empty(expr) ? 0 : parse_range(expr, b, bits, error);

        if (code)
            return code;
    }
    return 0;
}

static int parse_descriptor(struct str text, struct cron_schedule *s, struct buf *error)
{
    static const struct {
        const char *name;
        const char *fields;
    } known[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    struct err err;
    int64_t ns;

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(text, known[i].name))
            return cron_schedule_parse(str_of(known[i].fields), s, error);
    if (!str_starts(text, STR("@every ")))
        return fail(error, "unrecognized descriptor", text);
    if (go_parse_duration(str_slice(text, 7, text.n), &ns, &err)) {
        buf_add_printf(error, "failed to parse duration %.*s: %s", STR_ARG(text), err.msg);
        return -EINVAL;
    }
    s->every = MAX(ns / 1000000000, 1);
    return 0;
}

/* The part before the first space is a time zone. Without a space upstream's parser panics. */
static int take_zone(struct str *text, struct cron_schedule *s, struct buf *error)
{
    size_t space = str_find(*text, ' ');
    size_t eq = str_find(*text, '=');

    if (!str_starts(*text, STR("TZ=")) && !str_starts(*text, STR("CRON_TZ=")))
        return 0;
    if (space == text->n) {
        buf_add_printf(error,
                       "invalid schedule format: runtime error: slice bounds out of range [:-1]");
        return -EINVAL;
    }
    s->zone = str_slice(*text, eq + 1, space);
    *text = str_trim(str_slice(*text, space, text->n));
    return 0;
}

static size_t split_fields(struct str text, struct str *fields, size_t max)
{
    size_t n = 0, i = 0;

    while (i < text.n) {
        size_t start;

        while (i < text.n && is_space(text.p[i]))
            i++;
        start = i;
        while (i < text.n && !is_space(text.p[i]))
            i++;
        if (i > start) {
            if (n < max)
                fields[n] = str_slice(text, start, i);
            n++;
        }
    }
    return n;
}

static int wrong_count(struct str text, size_t n, struct buf *error)
{
    bool first = true;
    struct str word;

    buf_add_printf(error, "expected exactly 5 fields, found %zu: [", n);
    for (size_t i = 0; i < text.n; i += MAX(word.n, 1)) {
        word = (struct str){text.p + i, 0};
        while (i + word.n < text.n && !is_space(text.p[i + word.n]))
            word.n++;
        if (word.n == 0)
            continue;
        buf_add_printf(error, "%s%.*s", first ? "" : " ", STR_ARG(word));
        first = false;
    }
    buf_add_char(error, ']');
    return -EINVAL;
}

int cron_schedule_parse(struct str text, struct cron_schedule *ret_schedule, struct buf *error)
{
    struct cron_schedule s = {0};
    uint64_t *const bits[] = {&s.minute, &s.hour, &s.day_of_month, &s.month, &s.day_of_week};
    struct str fields[ARRAY_LEN(bits)];
    size_t n;
    int code;

    if (str_empty(text)) {
        buf_add_cstr(error, "empty spec string");
        return -EINVAL;
    }
    code = take_zone(&text, &s, error);
    if (!code && str_starts(text, STR("@"))) {
        struct str zone = s.zone;

        code = parse_descriptor(text, &s, error);
        s.zone = zone;
    } else if (!code) {
        n = split_fields(text, fields, ARRAY_LEN(fields));
        if (n != ARRAY_LEN(fields))
            return wrong_count(text, n, error);
        for (size_t i = 0; !code && i < ARRAY_LEN(fields); i++)
            code = parse_field(fields[i], &bounds_of[i], bits[i], error);
    }
    if (!code)
        *ret_schedule = s;
    return code;
}
