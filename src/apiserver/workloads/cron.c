/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: fields to sets of values, and the next time that is in all of them. */
#include "apiserver/workloads/cron.h"

#define DAY ((int64_t)86400)

struct field {
    unsigned first, last;
    const char *names; /* of three letters each; the first one is for `first`; NULL: none */
};
static const struct field fields[] = {
    {0, 59, NULL},
    {0, 23, NULL},
    {1, 31, NULL},
    {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {0, 6, "sunmontuewedthufrisat"},
};

static const struct {
    const char *name, *text;
} descriptors[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/* --- parsing ---------------------------------------------------------------------------------- */

static bool read_value(const struct field *f, struct str text, unsigned *ret_value)
{
    uint64_t n;
    for (unsigned i = 0; f->names && text.n == 3 && i <= f->last - f->first; i++)
        if (str_eq_fold(text, (struct str){f->names + (size_t)3 * i, 3})) {
            *ret_value = f->first + i;
            return true;
        }
    if (!str_to_u64(text, &n) || n > 99)
        return false;
    *ret_value = (unsigned)n;
    return true;
}

/* "*", "5", "1-5", "*" "/15", "10-40/5", "3/7". */
static int read_range(const struct field *f, struct str text, uint64_t *set, bool *ret_any,
                      struct err *reterr)
{
    struct str step_text = text, range, end;
    unsigned first, last, step = 1;
    str_split(&step_text, '/', &range);
    end = range;
    struct str begin;
    str_split(&end, '-', &begin);
    bool any = str_is(begin, "*") || str_is(begin, "?");
    if (any) {
        first = f->first;
        last = f->last;
    } else {
        if (!read_value(f, begin, &first))
            return err_set(reterr, -EINVAL, "failed to parse int from %.*s", STR_ARG(begin));
        last = first;
        if (end.p && !read_value(f, end, &last))
            return err_set(reterr, -EINVAL, "failed to parse int from %.*s", STR_ARG(end));
    }
    if (step_text.p) {
        uint64_t n;
        if (!str_to_u64(step_text, &n) || n > 1000)
            return err_set(reterr, -EINVAL, "failed to parse int from %.*s", STR_ARG(step_text));
        step = (unsigned)n;
        if (!any && !end.p)
            last = f->last;
    }
    if (first < f->first)
        return err_set(reterr, -EINVAL, "beginning of range (%u) below minimum (%u): %.*s", first,
                       f->first, STR_ARG(text));
    if (last > f->last)
        return err_set(reterr, -EINVAL, "end of range (%u) above maximum (%u): %.*s", last, f->last,
                       STR_ARG(text));
    if (first > last)
        return err_set(reterr, -EINVAL, "beginning of range (%u) beyond end of range (%u): %.*s",
                       first, last, STR_ARG(text));
    if (!step)
        return err_set(reterr, -EINVAL, "step of range should be a positive number: %.*s",
                       STR_ARG(text));
    for (unsigned v = first; v <= last; v += step)
        *set |= (uint64_t)1 << v;
    *ret_any = any && step == 1;
    return 0;
}

static int read_field(const struct field *f, struct str text, uint64_t *ret_set, bool *ret_any,
                      struct err *reterr)
{
    struct str part;
    *ret_set = 0;
    *ret_any = false;
    while (str_split(&text, ',', &part)) {
        bool any = false;
        if (str_empty(part))
            continue;
        int r = read_range(f, part, ret_set, &any, reterr);
        if (r < 0)
            return r;
        *ret_any |= any;
    }
    return 0;
}

static int read_fields(struct str text, struct cron *ret_cron, struct err *reterr)
{
    struct cron c = {0};
    uint64_t *sets[] = {&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays};
    struct str rest = text, word;
    size_t n = 0;
    while (str_split(&rest, ' ', &word)) {
        bool any;
        word = str_trim(word);
        if (str_empty(word))
            continue;
        if (n < ARRAY_LEN(sets)) {
            int r = read_field(&fields[n], word, sets[n], &any, reterr);
            if (r < 0)
                return r;
            c.any_day |= n == 2 && any;
            c.any_weekday |= n == 4 && any;
        }
        n++;
    }
    if (n != ARRAY_LEN(sets))
        return err_set(reterr, -EINVAL, "expected exactly 5 fields, found %zu: %.*s", n,
                       STR_ARG(text));
    *ret_cron = c;
    return 0;
}

int cron_parse(struct str text, struct cron *ret_cron, struct err *reterr)
{
    int64_t every;
    text = str_trim(text);
    if (str_empty(text))
        return err_set(reterr, -EINVAL, "empty spec string");
    if (text.p[0] != '@')
        return read_fields(text, ret_cron, reterr);
    for (size_t i = 0; i < ARRAY_LEN(descriptors); i++)
        if (str_is(text, descriptors[i].name))
            return read_fields(str_of(descriptors[i].text), ret_cron, reterr);
    if (str_starts(text, STR("@every ")) && duration_parse(str_slice(text, 7, text.n), &every)) {
        every -= every % NSEC_PER_SEC;
        *ret_cron = (struct cron){.every = MAX(every, NSEC_PER_SEC)};
        return 0;
    }
    return err_set(reterr, -EINVAL, "unrecognized descriptor: %.*s", STR_ARG(text));
}

bool cron_zone(struct str name, int64_t *ret_offset)
{
    static const char *const utc[] = {
        "",          "UTC",       "Etc/UTC",       "Etc/UCT", "UCT",     "GMT",
        "Etc/GMT",   "Etc/GMT0",  "GMT0",          "GMT+0",   "GMT-0",   "Etc/Greenwich",
        "Greenwich", "Universal", "Etc/Universal", "Zulu",    "Etc/Zulu"};
    int64_t hours;
    for (size_t i = 0; i < ARRAY_LEN(utc); i++)
        if (str_is(name, utc[i])) {
            *ret_offset = 0;
            return true;
        }
    /* Etc/GMT+5 is five hours behind. */
    if (!str_starts(name, STR("Etc/GMT")) || name.n < 9 ||
        !str_to_i64(str_slice(name, 8, name.n), &hours) || hours < 0 || hours > 14)
        return false;
    *ret_offset = (name.p[7] == '+' ? -hours : hours) * 3600;
    return name.p[7] == '+' || name.p[7] == '-';
}

/* --- the next time ---------------------------------------------------------------------------- */

/* Days since 1970 of a date of the Gregorian calendar; month 1 to 12. */
static int64_t days_of(int64_t year, unsigned month)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static unsigned month_length(int64_t year, unsigned month)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return lengths[month - 1] + (month == 2 && leap ? 1U : 0U);
}

static bool day_fits(const struct cron *c, unsigned day, int64_t days)
{
    unsigned weekday = (unsigned)((days + 4) % 7); /* 1970-01-01 was a Thursday */
    bool by_day = c->days >> day & 1, by_weekday = c->weekdays >> weekday & 1;
    /* If both are given, one of them is enough. */
    return c->any_day || c->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* The first minute of the day from `minute` on; -1 if there is none. */
static int64_t minute_of_day(const struct cron *c, int64_t minute)
{
    for (int64_t hour = minute / 60; hour < 24; hour++) {
        if (!(c->hours >> hour & 1))
            continue;
        int64_t first = hour == minute / 60 ? minute % 60 : 0;
        for (int64_t m = first; m < 60; m++)
            if (c->minutes >> m & 1)
                return hour * 60 + m;
    }
    return -1;
}

int64_t cron_next(const struct cron *cron, int64_t offset, int64_t after)
{
    if (cron->every)
        return (after / NSEC_PER_SEC) * NSEC_PER_SEC + cron->every;
    int64_t now = (after / NSEC_PER_SEC + offset) / 60 + 1; /* minutes, local */
    int64_t today = now * 60 / DAY, from = now % (DAY / 60);
    int64_t year = 1970 + today / 366;
    while (days_of(year + 1, 1) <= today)
        year++;
    for (int64_t end = year + 6; year < end; year++)
        for (unsigned month = 1; month <= 12; month++) {
            int64_t first = days_of(year, month);
            unsigned length = month_length(year, month);
            if (!(cron->months >> month & 1) || first + length <= today)
                continue;
            for (unsigned day = 1; day <= length; day++) {
                int64_t days = first + day - 1;
                if (days < today || !day_fits(cron, day, days))
                    continue;
                int64_t minute = minute_of_day(cron, days == today ? from : 0);
                if (minute >= 0)
                    return (days * DAY + minute * 60 - offset) * NSEC_PER_SEC;
            }
        }
    return 0;
}
