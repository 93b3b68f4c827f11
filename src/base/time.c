/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"

#include <inttypes.h>

#define SEC_PER_DAY ((int64_t)86400)

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

int64_t time_mono(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t time_boot(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t time_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* Quotient and remainder with 0 <= remainder < by, also for times before 1970. */
static int64_t floor_div(int64_t value, int64_t by, int64_t *ret_rest)
{
    int64_t quotient = value / by, rest = value % by;
    if (rest < 0) {
        rest += by;
        quotient--;
    }
    *ret_rest = rest;
    return quotient;
}

struct timestamp timestamp_of(int64_t wall_ns)
{
    int64_t nsec;
    int64_t sec = floor_div(wall_ns, NSEC_PER_SEC, &nsec);
    return (struct timestamp){.sec = sec, .nsec = (int32_t)nsec, .set = true};
}

int64_t timestamp_ns(struct timestamp t)
{
    __int128 ns = (__int128)t.sec * NSEC_PER_SEC + t.nsec;
    return (int64_t)MIN(MAX(ns, (__int128)INT64_MIN), (__int128)INT64_MAX);
}

int timestamp_cmp(struct timestamp a, struct timestamp b)
{
    if (a.sec != b.sec)
        return a.sec < b.sec ? -1 : 1;
    return (a.nsec > b.nsec) - (a.nsec < b.nsec);
}

/* --- calendar: proleptic Gregorian, with a year 0 --------------------------------------------- */

struct date {
    int64_t year;
    int month, day; /* from 1 */
};

#define DAYS_PER_400_YEARS 146097
#define DAYS_TO_1970       719528 /* from 0000-01-01 */

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in(int month, int64_t year)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from January 1st of year 0 to that of year (0 … 400), leap years before it included. */
static int64_t days_before_year(int64_t year)
{
    return year * 365 + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

/* Days since 1970-01-01, for years from 0 on. */
static int64_t days_of_date(struct date date)
{
    int64_t days = days_before_year(date.year) - DAYS_TO_1970 + date.day - 1;
    for (int month = 1; month < date.month; month++)
        days += days_in(month, date.year);
    return days;
}

static struct date date_of_days(int64_t days)
{
    int64_t day;
    int64_t cycles = floor_div(days + DAYS_TO_1970, DAYS_PER_400_YEARS, &day);
    /* The mean year is a little longer than 365 days: the guess is right or one too high. */
    int64_t year = day / 365;
    if (days_before_year(year) > day)
        year--;
    day -= days_before_year(year);
    int month = 1;
    for (; day >= days_in(month, year); month++)
        day -= days_in(month, year);
    return (struct date){.year = cycles * 400 + year, .month = month, .day = (int)day + 1};
}

/* --- RFC 3339 --------------------------------------------------------------------------------- */

static bool is_digit(struct str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* Reads a number of exactly n digits, at most max. */
static bool take_number(struct str *rest, size_t n, int max, int *ret_value)
{
    int value = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(*rest, i))
            return false;
        value = value * 10 + (rest->p[i] - '0');
    }
    *rest = str_slice(*rest, n, rest->n);
    *ret_value = value;
    return value <= max;
}

static bool take_char(struct str *rest, char c)
{
    if (rest->n == 0 || rest->p[0] != c)
        return false;
    *rest = str_slice(*rest, 1, rest->n);
    return true;
}

static bool take_date(struct str *rest, struct date *ret_date)
{
    int year, month, day;
    if (!take_number(rest, 4, 9999, &year) || !take_char(rest, '-') ||
        !take_number(rest, 2, 12, &month) || !take_char(rest, '-') ||
        !take_number(rest, 2, 31, &day))
        return false;
    if (month < 1 || day < 1 || day > days_in(month, year))
        return false;
    *ret_date = (struct date){.year = year, .month = month, .day = day};
    return true;
}

/* As Go, accepts an hour of one digit. */
static bool take_clock(struct str *rest, int *ret_sec)
{
    int hour, minute, second;
    if (!take_number(rest, is_digit(*rest, 1) ? 2 : 1, 23, &hour) || !take_char(rest, ':') ||
        !take_number(rest, 2, 59, &minute) || !take_char(rest, ':') ||
        !take_number(rest, 2, 59, &second))
        return false;
    *ret_sec = (hour * 60 + minute) * 60 + second;
    return true;
}

/* As Go: a point or a comma, any number of digits of which nine count; may be absent. */
static int32_t take_fraction(struct str *rest)
{
    if (rest->n < 2 || (rest->p[0] != '.' && rest->p[0] != ',') || !is_digit(*rest, 1))
        return 0;
    int32_t nsec = 0;
    size_t i = 1;
    for (; is_digit(*rest, i); i++)
        if (i <= 9)
            nsec = nsec * 10 + (rest->p[i] - '0');
    for (size_t digits = i - 1; digits < 9; digits++)
        nsec *= 10;
    *rest = str_slice(*rest, i, rest->n);
    return nsec;
}

/* "Z" or "±hh:mm"; Go accepts 24 hours and 60 minutes. */
static bool take_offset(struct str *rest, int *ret_sec)
{
    *ret_sec = 0;
    if (take_char(rest, 'Z'))
        return true;
    bool negative = take_char(rest, '-');
    int hours, minutes;
    if ((!negative && !take_char(rest, '+')) || !take_number(rest, 2, 24, &hours) ||
        !take_char(rest, ':') || !take_number(rest, 2, 60, &minutes))
        return false;
    *ret_sec = (hours * 60 + minutes) * 60 * (negative ? -1 : 1);
    return true;
}

bool timestamp_parse(struct str text, struct timestamp *ret_time)
{
    struct date date;
    int clock, offset;
    if (!take_date(&text, &date) || !take_char(&text, 'T') || !take_clock(&text, &clock))
        return false;
    int32_t nsec = take_fraction(&text);
    if (!take_offset(&text, &offset) || text.n)
        return false;
    *ret_time = (struct timestamp){
        .sec = days_of_date(date) * SEC_PER_DAY + clock - offset,
        .nsec = nsec,
        .set = true,
    };
    return true;
}

void timestamp_format(struct timestamp t, int digits, struct buf *out)
{
    int64_t clock;
    struct date date = date_of_days(floor_div(t.sec, SEC_PER_DAY, &clock));
    buf_add_printf(out, "%04lld-%02d-%02dT%02d:%02d:%02d", (long long)date.year, date.month,
                   date.day, (int)(clock / 3600), (int)(clock / 60 % 60), (int)(clock % 60));
    if (digits > 0) {
        char fraction[16];
        snprintf(fraction, sizeof(fraction), ".%09d", (int)t.nsec);
        buf_add(out, fraction, (size_t)MIN(digits, 9) + 1);
    }
    buf_add_char(out, 'Z');
}

/* --- durations -------------------------------------------------------------------------------- */

#define DURATION_LIMIT ((uint64_t)1 << 63)

/* Reads the digits before a point; false if they exceed the limit. */
static bool take_whole(struct str *rest, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; is_digit(*rest, i); i++) {
        if (value > DURATION_LIMIT / 10)
            return false;
        value = value * 10 + (uint64_t)(rest->p[i] - '0');
        if (value > DURATION_LIMIT)
            return false;
    }
    *rest = str_slice(*rest, i, rest->n);
    *ret_value = value;
    return true;
}

/* Reads the digits after a point as value / scale; digits that do not fit are ignored. */
static uint64_t take_decimals(struct str *rest, double *ret_scale)
{
    uint64_t value = 0;
    double scale = 1;
    bool full = false;
    size_t i = 0;
    for (; is_digit(*rest, i); i++) {
        uint64_t longer = value * 10 + (uint64_t)(rest->p[i] - '0');
        full = full || value > (DURATION_LIMIT - 1) / 10 || longer > DURATION_LIMIT;
        if (full)
            continue;
        value = longer;
        scale *= 10;
    }
    *rest = str_slice(*rest, i, rest->n);
    *ret_scale = scale;
    return value;
}

static bool take_unit(struct str *rest, uint64_t *ret_unit)
{
    static const struct {
        struct str name;
        uint64_t ns;
    } units[] = {
        {STR_INIT("ns"), 1},
        {STR_INIT("us"), 1000},
        {STR_INIT("\xc2\xb5s"), 1000}, /* the micro sign */
        {STR_INIT("\xce\xbcs"), 1000}, /* the Greek letter */
        {STR_INIT("ms"), 1000000},
        {STR_INIT("s"), 1000000000},
        {STR_INIT("m"), (uint64_t)60 * 1000000000},
        {STR_INIT("h"), (uint64_t)3600 * 1000000000},
    };
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '.' && !is_digit(*rest, n))
        n++;
    struct str name = str_slice(*rest, 0, n);
    *rest = str_slice(*rest, n, rest->n);
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_eq(name, units[i].name)) {
            *ret_unit = units[i].ns;
            return true;
        }
    }
    return false;
}

/* Reads one number with its unit, in nanoseconds. */
static bool take_term(struct str *rest, uint64_t *ret_ns)
{
    uint64_t whole, decimals = 0, unit;
    double scale = 1;
    size_t before = rest->n;
    if (!take_whole(rest, &whole))
        return false;
    bool any_digit = rest->n != before;
    if (take_char(rest, '.')) {
        before = rest->n;
        decimals = take_decimals(rest, &scale);
        any_digit = any_digit || rest->n != before;
    }
    if (!any_digit || !take_unit(rest, &unit) || whole > DURATION_LIMIT / unit)
        return false;
    /* The same expression as Go's, so that the same digits give the same nanoseconds. */
    *ret_ns = whole * unit + (uint64_t)((double)decimals * ((double)unit / scale));
    return *ret_ns <= DURATION_LIMIT;
}

bool duration_parse(struct str text, int64_t *ret_ns)
{
    bool negative = take_char(&text, '-');
    if (!negative)
        (void)take_char(&text, '+');
    if (str_eq(text, STR("0"))) {
        *ret_ns = 0;
        return true;
    }
    if (!text.n)
        return false;
    uint64_t total = 0, ns;
    while (text.n) {
        if (!take_term(&text, &ns))
            return false;
        total += ns;
        if (total > DURATION_LIMIT)
            return false;
    }
    if (!negative && total == DURATION_LIMIT)
        return false;
    *ret_ns = (int64_t)(negative ? 0 - total : total);
    return true;
}

/* value / 10^digits, without trailing zeros. */
static void add_fraction(struct buf *out, uint64_t value, int digits)
{
    uint64_t scale = 1;
    for (int i = 0; i < digits; i++)
        scale *= 10;
    buf_add_printf(out, "%llu", (unsigned long long)(value / scale));
    uint64_t rest = value % scale;
    if (!rest)
        return;
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    buf_add_printf(out, ".%0*llu", digits, (unsigned long long)rest);
}

void duration_format(int64_t ns, struct buf *out)
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        buf_add_char(out, '-');
    if (u == 0) {
        buf_add_cstr(out, "0s");
    } else if (u < (uint64_t)NSEC_PER_USEC) {
        buf_add_printf(out, "%lluns", (unsigned long long)u);
    } else if (u < (uint64_t)NSEC_PER_MSEC) {
        add_fraction(out, u, 3);
        buf_add_cstr(out, "\xc2\xb5s");
    } else if (u < (uint64_t)NSEC_PER_SEC) {
        add_fraction(out, u, 6);
        buf_add_cstr(out, "ms");
    } else {
        uint64_t minutes = u / ((uint64_t)NSEC_PER_SEC * 60);
        if (minutes >= 60)
            buf_add_printf(out, "%lluh", (unsigned long long)(minutes / 60));
        if (minutes)
            buf_add_printf(out, "%llum", (unsigned long long)(minutes % 60));
        add_fraction(out, u % ((uint64_t)NSEC_PER_SEC * 60), 9);
        buf_add_char(out, 's');
    }
}

/* "4m5s": the part of the smaller unit is left out if it is zero. */
static void write_units(struct buf *out, int64_t large, char unit, int64_t small, char small_unit)
{
    buf_add_printf(out, "%" PRId64 "%c", large, unit);
    if (small)
        buf_add_printf(out, "%" PRId64 "%c", small, small_unit);
}

void duration_format_human(int64_t ns, struct buf *out)
{
    int64_t seconds = ns / NSEC_PER_SEC, minutes = seconds / 60, hours = minutes / 60;
    int64_t days = hours / 24;
    if (seconds < -1)
        buf_add_cstr(out, "<invalid>");
    else if (seconds < 120)
        write_units(out, MAX(seconds, 0), 's', 0, 0);
    else if (minutes < 10)
        write_units(out, minutes, 'm', seconds % 60, 's');
    else if (minutes < 180)
        write_units(out, minutes, 'm', 0, 0);
    else if (hours < 8)
        write_units(out, hours, 'h', minutes % 60, 'm');
    else if (hours < 48)
        write_units(out, hours, 'h', 0, 0);
    else if (days < 8)
        write_units(out, days, 'd', hours % 24, 'h');
    else if (days < 365 * 2)
        write_units(out, days, 'd', 0, 0);
    else
        write_units(out, days / 365, 'y', days < 365 * 8 ? days % 365 : 0, 'd');
}
