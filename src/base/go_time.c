/* SPDX-License-Identifier: Apache-2.0 */
#include "base/go_time.h"

/* --- layouts ---------------------------------------------------------------------------------- */

enum element {
    LITERAL, /* no element */
    YEAR,
    YEAR_OF_CENTURY,
    MONTH,
    MONTH_2, /* of two digits */
    MONTH_NAME,
    MONTH_LONG,
    WEEKDAY,
    WEEKDAY_LONG,
    DAY,
    DAY_2,
    DAY_PADDED, /* with a blank */
    DAY_OF_YEAR,
    DAY_OF_YEAR_PADDED,
    HOUR,
    HOUR_12,
    HOUR_12_2,
    MINUTE,
    MINUTE_2,
    SECOND,
    SECOND_2,
    AM_PM,
    AM_PM_SMALL,
    ZONE,
    OFFSET,   /* as the text of the element */
    FRACTION, /* that many digits */
    FRACTION_OR_NONE,
};

/* The first that the layout continues with counts. */
static const struct {
    const char *text;
    enum element element;
    const char *not_before; /* what follows must be none of these; "a": no small letter */
} elements[] = {
    {"January", MONTH_LONG, NULL},
    {"Jan", MONTH_NAME, "a"},
    {"Monday", WEEKDAY_LONG, NULL},
    {"Mon", WEEKDAY, "a"},
    {"MST", ZONE, NULL},
    {"002", DAY_OF_YEAR, NULL},
    {"01", MONTH_2, NULL},
    {"02", DAY_2, NULL},
    {"03", HOUR_12_2, NULL},
    {"04", MINUTE_2, NULL},
    {"05", SECOND_2, NULL},
    {"06", YEAR_OF_CENTURY, NULL},
    {"15", HOUR, NULL},
    {"1", MONTH, NULL},
    {"2006", YEAR, NULL},
    {"2", DAY, NULL},
    {"__2", DAY_OF_YEAR_PADDED, NULL},
    {"_2", DAY_PADDED, "006"},
    {"3", HOUR_12, NULL},
    {"4", MINUTE, NULL},
    {"5", SECOND, NULL},
    {"PM", AM_PM, NULL},
    {"pm", AM_PM_SMALL, NULL},
    {"-070000", OFFSET, NULL},
    {"-07:00:00", OFFSET, NULL},
    {"-0700", OFFSET, NULL},
    {"-07:00", OFFSET, NULL},
    {"-07", OFFSET, NULL},
    {"Z070000", OFFSET, NULL},
    {"Z07:00:00", OFFSET, NULL},
    {"Z0700", OFFSET, NULL},
    {"Z07:00", OFFSET, NULL},
    {"Z07", OFFSET, NULL},
};

static bool is_digit(struct str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

static bool is_point(struct str s)
{
    return s.n && (s.p[0] == '.' || s.p[0] == ',');
}

/* ".000" or ".999", which no digit follows. Returns its length, or 0. */
static size_t fraction_length(struct str s)
{
    size_t n = 1;
    if (!is_point(s) || s.n < 2 || (s.p[1] != '0' && s.p[1] != '9'))
        return 0;
    while (n < s.n && s.p[n] == s.p[1])
        n++;
    return is_digit(s, n) ? 0 : n;
}

static bool is_followed(struct str rest, const char *by)
{
    if (strcmp(by, "a") == 0)
        return rest.n && rest.p[0] >= 'a' && rest.p[0] <= 'z';
    return str_starts(rest, str_of(by));
}

static enum element element_at(struct str s, size_t *ret_n)
{
    *ret_n = fraction_length(s);
    if (*ret_n)
        return s.p[1] == '0' ? FRACTION : FRACTION_OR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(elements); i++) {
        struct str text = str_of(elements[i].text);
        if (!str_starts(s, text))
            continue;
        *ret_n = text.n;
        const char *not_before = elements[i].not_before;
        if (!not_before || !is_followed(str_slice(s, text.n, s.n), not_before))
            return elements[i].element;
    }
    *ret_n = 1;
    return LITERAL;
}

/* Cuts the layout after its next element. */
static enum element next_element(struct str *layout, struct str *ret_literal, struct str *ret_text)
{
    for (size_t at = 0; at < layout->n; at++) {
        size_t n;
        enum element e = element_at(str_slice(*layout, at, layout->n), &n);
        if (e == LITERAL)
            continue;
        *ret_literal = str_slice(*layout, 0, at);
        *ret_text = str_slice(*layout, at, at + n);
        *layout = str_slice(*layout, at + n, layout->n);
        return e;
    }
    *ret_literal = *layout;
    *layout = STR("");
    return LITERAL;
}

/* --- values ----------------------------------------------------------------------------------- */

struct parts {
    int year, month, day, day_of_year; /* -1: not given */
    int hour, minute, second, nsec;
    bool am, pm;
    bool utc;   /* whatever the offset says */
    int offset; /* seconds east of UTC */
};

static struct str without_blanks(struct str s)
{
    while (s.n && s.p[0] == ' ')
        s = str_slice(s, 1, s.n);
    return s;
}

/* Blanks of the layout stand for any number of blanks. */
static bool skip(struct str *rest, struct str literal)
{
    while (literal.n) {
        if (literal.p[0] == ' ') {
            if (rest->n && rest->p[0] != ' ')
                return false;
            literal = without_blanks(literal);
            *rest = without_blanks(*rest);
            continue;
        }
        if (!rest->n || rest->p[0] != literal.p[0])
            return false;
        literal = str_slice(literal, 1, literal.n);
        *rest = str_slice(*rest, 1, rest->n);
    }
    return true;
}

/* A number of min to max digits, as many as there are. */
static bool take(struct str *rest, size_t min, size_t max, int *ret_value)
{
    size_t n = 0;
    int value = 0;
    for (; n < max && is_digit(*rest, n); n++)
        value = value * 10 + (rest->p[n] - '0');
    *rest = str_slice(*rest, n, rest->n);
    *ret_value = value;
    return n >= min;
}

/* Names are found whatever their case; the short ones are the first three letters. */
static int take_name(struct str *rest, const char *const *names, int n_names, bool whole)
{
    for (int i = 0; i < n_names; i++) {
        size_t n = whole ? strlen(names[i]) : 3;
        if (rest->n >= n && strncasecmp(rest->p, names[i], n) == 0) {
            *rest = str_slice(*rest, n, rest->n);
            return i;
        }
    }
    return -1;
}

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};

/* A point and digits, of which the first nine count. */
static void take_fraction(struct str *rest, size_t n, int *ret_nsec)
{
    int nsec = 0;
    for (size_t i = 1; i <= 9; i++)
        nsec = nsec * 10 + (i < n ? rest->p[i] - '0' : 0);
    *rest = str_slice(*rest, n, rest->n);
    *ret_nsec = nsec;
}

static size_t digits_after_point(struct str s)
{
    size_t n = 1;
    while (is_digit(s, n))
        n++;
    return n;
}

/* Seconds may have a fraction of which the layout says nothing. */
static bool take_second(struct str *rest, size_t min, struct str layout, struct parts *p)
{
    struct str literal, text;
    if (!take(rest, min, 2, &p->second) || p->second > 59)
        return false;
    if (!is_point(*rest) || !is_digit(*rest, 1))
        return true;
    enum element next = next_element(&layout, &literal, &text);
    if (next != FRACTION && next != FRACTION_OR_NONE)
        take_fraction(rest, digits_after_point(*rest), &p->nsec);
    return true;
}

static bool take_given_fraction(struct str *rest, struct str form, bool optional, struct parts *p)
{
    if (optional && (!is_point(*rest) || !is_digit(*rest, 1)))
        return true;
    size_t n = optional ? digits_after_point(*rest) : form.n;
    if (!is_point(*rest) || digits_after_point(*rest) < n || rest->n < n)
        return false;
    take_fraction(rest, n, &p->nsec);
    return true;
}

static bool take_half(struct str *rest, const char *am, const char *pm, struct parts *p)
{
    p->am = str_starts(*rest, str_of(am));
    p->pm = str_starts(*rest, str_of(pm));
    *rest = str_slice(*rest, p->am || p->pm ? 2 : 0, rest->n);
    return p->am || p->pm;
}

/* "+01:00" in the form of the layout's "-07:00", or "Z" for "Z07:00". */
static bool take_offset(struct str *rest, struct str form, struct parts *p)
{
    int v[3] = {0};
    if (form.p[0] == 'Z' && rest->n && rest->p[0] == 'Z') {
        *rest = str_slice(*rest, 1, rest->n);
        p->utc = true;
        return true;
    }
    if (!rest->n || (rest->p[0] != '+' && rest->p[0] != '-'))
        return false;
    int sign = rest->p[0] == '-' ? -1 : 1;
    *rest = str_slice(*rest, 1, rest->n);
    size_t n = 0;
    for (size_t i = 1; i < form.n; i += 2) {
        if (form.p[i] == ':' && !skip(rest, str_slice(form, i, i + 1)))
            return false;
        i += form.p[i] == ':';
        if (!take(rest, 2, 2, &v[n++]))
            return false;
    }
    p->offset = sign * (v[0] * 3600 + v[1] * 60 + v[2]);
    return v[0] <= 24 && v[1] <= 60 && v[2] <= 60;
}

static size_t count_capitals(struct str s)
{
    size_t n = 0;
    while (n < s.n && n < 6 && s.p[n] >= 'A' && s.p[n] <= 'Z')
        n++;
    return n;
}

/* "+3", "-11": hours from -23 to 23. Returns the length, or 0. */
static size_t signed_hours(struct str s)
{
    int hours;
    struct str digits = str_slice(s, 1, s.n);
    if (!s.n || (s.p[0] != '+' && s.p[0] != '-') || !take(&digits, 1, 9, &hours) || hours > 23)
        return 0;
    return s.n - digits.n;
}

/*
 * An abbreviation. Its offset is not known and counts as 0, also that of "GMT+3" and "+03". Go's
 * rule: three letters, four that end with T (or WITA), five that end with T, or ChST and MeST.
 */
static bool take_zone(struct str *rest, struct parts *p)
{
    size_t n = count_capitals(*rest);
    if (str_starts(*rest, STR("UTC"))) {
        p->utc = true;
        n = 3;
    } else if (str_starts(*rest, STR("ChST")) || str_starts(*rest, STR("MeST"))) {
        n = 4;
    } else if (str_starts(*rest, STR("GMT"))) {
        n = 3 + signed_hours(str_slice(*rest, 3, rest->n));
    } else if (rest->n && (rest->p[0] == '+' || rest->p[0] == '-')) {
        n = signed_hours(*rest);
    } else if (n == 5) {
        n = rest->p[4] == 'T' ? 5 : 0;
    } else if (n == 4) {
        n = rest->p[3] == 'T' || str_starts(*rest, STR("WITA")) ? 4 : 0;
    } else if (n != 3) {
        n = 0;
    }
    *rest = str_slice(*rest, n, rest->n);
    return n > 0;
}

static bool take_month(struct str *rest, enum element e, struct parts *p)
{
    if (e == MONTH || e == MONTH_2)
        return take(rest, e == MONTH ? 1 : 2, 2, &p->month) && p->month >= 1 && p->month <= 12;
    p->month = 1 + take_name(rest, months, ARRAY_LEN(months), e == MONTH_LONG);
    return p->month > 0;
}

static bool take_day(struct str *rest, enum element e, struct parts *p)
{
    size_t blanks = e == DAY_PADDED ? 1 : e == DAY_OF_YEAR_PADDED ? 2 : 0;
    for (; blanks && rest->n && rest->p[0] == ' '; blanks--)
        *rest = str_slice(*rest, 1, rest->n);
    if (e == DAY_OF_YEAR || e == DAY_OF_YEAR_PADDED)
        return take(rest, e == DAY_OF_YEAR ? 3 : 1, 3, &p->day_of_year);
    return take(rest, e == DAY_2 ? 2 : 1, 2, &p->day);
}

static bool take_year(struct str *rest, enum element e, struct parts *p)
{
    if (e == YEAR)
        return take(rest, 4, 4, &p->year);
    /* Two characters, of which the first may be a sign. */
    bool negative = rest->n && rest->p[0] == '-', sign = negative || (rest->n && rest->p[0] == '+');
    *rest = str_slice(*rest, sign, rest->n);
    bool ok = take(rest, sign ? 1 : 2, sign ? 1 : 2, &p->year);
    p->year = negative ? -p->year : p->year;
    p->year += p->year >= 69 ? 1900 : 2000;
    return ok;
}

static bool take_element(struct str *rest, enum element e, struct str text, struct str layout,
                         struct parts *p)
{
    switch (e) {
    case LITERAL:
        return rest->n == 0;
    case YEAR:
    case YEAR_OF_CENTURY:
        return take_year(rest, e, p);
    case MONTH:
    case MONTH_2:
    case MONTH_NAME:
    case MONTH_LONG:
        return take_month(rest, e, p);
    case WEEKDAY:
    case WEEKDAY_LONG:
        return take_name(rest, weekdays, ARRAY_LEN(weekdays), e == WEEKDAY_LONG) >= 0;
    case DAY:
    case DAY_2:
    case DAY_PADDED:
    case DAY_OF_YEAR:
    case DAY_OF_YEAR_PADDED:
        return take_day(rest, e, p);
    case HOUR:
        return take(rest, 1, 2, &p->hour) && p->hour <= 23;
    case HOUR_12:
    case HOUR_12_2:
        return take(rest, e == HOUR_12 ? 1 : 2, 2, &p->hour) && p->hour <= 12;
    case MINUTE:
    case MINUTE_2:
        return take(rest, e == MINUTE ? 1 : 2, 2, &p->minute) && p->minute <= 59;
    case SECOND:
    case SECOND_2:
        return take_second(rest, e == SECOND ? 1 : 2, layout, p);
    case AM_PM:
        return take_half(rest, "AM", "PM", p);
    case AM_PM_SMALL:
        return take_half(rest, "am", "pm", p);
    case ZONE:
        return take_zone(rest, p);
    case OFFSET:
        return take_offset(rest, text, p);
    case FRACTION:
    case FRACTION_OR_NONE:
        return take_given_fraction(rest, text, e == FRACTION_OR_NONE, p);
    }
    return false;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Month and day from the day of the year; false if they contradict each other. */
static bool resolve_day_of_year(struct parts *p)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    bool leap = p->year % 4 == 0 && (p->year % 100 != 0 || p->year % 400 == 0);
    int month = 12;
    if (p->day_of_year < 1 || p->day_of_year > 365 + leap)
        return false;
    while (p->day_of_year <= before[month - 1] + (leap && month > 2))
        month--;
    int day = p->day_of_year - before[month - 1] - (leap && month > 2);
    if ((p->month >= 0 && p->month != month) || (p->day >= 0 && p->day != day))
        return false;
    p->month = month;
    p->day = day;
    return true;
}

static bool timestamp_of_parts(struct parts *p, struct timestamp *ret_time)
{
    struct buf text = BUF_INIT;
    if (p->day_of_year >= 0 && !resolve_day_of_year(p))
        return false;
    p->month = p->month < 0 ? 1 : p->month;
    p->day = p->day < 0 ? 1 : p->day;
    if (p->pm && p->hour < 12)
        p->hour += 12;
    else if (p->am && p->hour == 12)
        p->hour = 0;
    buf_add_printf(&text, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", p->year, p->month, p->day, p->hour,
                   p->minute, p->second, p->nsec);
    bool ok = timestamp_parse(buf_str(&text), ret_time); /* checks the day */
    buf_release(&text);
    ret_time->sec -= p->utc ? 0 : p->offset;
    return ok;
}

bool go_time_parse(struct str layout, struct str text, struct timestamp *ret_time)
{
    struct parts p = {.month = -1, .day = -1, .day_of_year = -1};
    struct str literal, form;
    enum element e;
    do {
        e = next_element(&layout, &literal, &form);
        if (!skip(&text, literal) || !take_element(&text, e, form, layout, &p))
            return false;
    } while (e != LITERAL);
    return timestamp_of_parts(&p, ret_time);
}
