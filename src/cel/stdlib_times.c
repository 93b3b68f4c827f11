/* SPDX-License-Identifier: Apache-2.0 */
/* getFullYear() and the like, of timestamps in UTC or another zone, and of durations. */
#include "base/time.h"
#include "cel/stdlib.h"

/* [+-]digits as Go's Atoi reads them. */
static bool parse_number(struct str s, int64_t *ret)
{
    if (s.n > 0 && s.p[0] == '+')
        s = str_slice(s, 1, s.n);
    return s.n > 0 && s.n < 10 && str_to_i64(s, ret);
}

/*
 * The seconds east of UTC of "", "UTC" or "+02:00". Zones by name would need the database of time
 * zones; no file is read here.
 */
static bool zone_offset(const struct cel_call *call, int64_t *ret, struct cel_value *ret_error)
{
    struct str zone = call->args[1].s;
    size_t colon = str_find(zone, ':');
    *ret = 0;
    if (colon == zone.n) {
        if (str_empty(zone) || str_is(zone, "UTC"))
            return true;
        *ret_error = cel_error(call->eval->arena, "unknown time zone %.*s", STR_ARG(zone));
        return false;
    }
    int64_t hours, minutes;
    struct str parts[] = {str_slice(zone, 0, colon), str_slice(zone, colon + 1, zone.n)};
    if (!parse_number(parts[0], &hours) || !parse_number(parts[1], &minutes)) {
        struct str bad = parse_number(parts[0], &hours) ? parts[1] : parts[0];
        *ret_error = cel_error(call->eval->arena, "strconv.Atoi: parsing \"%.*s\": invalid syntax",
                               STR_ARG(bad));
        return false;
    }
    *ret = (hours * 60 + (zone.p[0] == '-' ? -minutes : minutes)) * 60;
    return true;
}

/* Days since 1970 to a date (Gregorian, also before 1582). */
struct date {
    int64_t year, month, day, year_day; /* from 0, except year and day */
};

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static struct date date_of(int64_t days)
{
    /* Years that begin in March, in eras of 400: the leap day is the last. */
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t march = (5 * of_year + 2) / 153;
    struct date d = {.day = of_year - (153 * march + 2) / 5 + 1,
                     .month = march < 10 ? march + 2 : march - 10};
    d.year = year + era * 400 + (d.month < 2);
    d.year_day = march < 10 ? of_year + 59 + is_leap(d.year) : of_year - 306;
    return d;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

typedef int64_t get_fn(struct date d, int64_t day, int64_t second, int32_t nsec);

static struct cel_value get(const struct cel_call *call, get_fn *part)
{
    struct cel_value t = call->args[0], wrong;
    int64_t offset = 0;
    if (call->n > 1 && !zone_offset(call, &offset, &wrong))
        return wrong;
    int64_t local = t.sec + offset, day = floor_divide(local, 86400);
    return cel_int(part(date_of(day), day, local - day * 86400, t.nsec));
}

#define PART(name, value)                                                                \
    static int64_t part_##name(struct date d, int64_t day, int64_t second, int32_t nsec) \
    {                                                                                    \
        (void)d, (void)day, (void)second, (void)nsec;                                    \
        return (value);                                                                  \
    }                                                                                    \
    static struct cel_value get_##name(const struct cel_call *call)                      \
    {                                                                                    \
        return get(call, part_##name);                                                   \
    }

PART(year, d.year)
PART(month, d.month)
PART(day_of_year, d.year_day)
PART(day_of_month, d.day - 1)
PART(date, d.day)
PART(day_of_week, ((day % 7) + 11) % 7)
PART(hours, second / 3600)
PART(minutes, second / 60 % 60)
PART(seconds, second % 60)
PART(milliseconds, nsec / NSEC_PER_MSEC)

static struct cel_value duration_hours(const struct cel_call *call)
{
    return cel_int(call->args[0].i / (3600 * NSEC_PER_SEC));
}

static struct cel_value duration_minutes(const struct cel_call *call)
{
    return cel_int(call->args[0].i / (60 * NSEC_PER_SEC));
}

static struct cel_value duration_seconds(const struct cel_call *call)
{
    return cel_int(call->args[0].i / NSEC_PER_SEC);
}

static struct cel_value duration_milliseconds(const struct cel_call *call)
{
    return cel_int(call->args[0].i / NSEC_PER_MSEC);
}

#define GET1(name, id_, a, fn_) \
    {.function = (name),        \
     .id = (id_),               \
     .flags = CEL_MEMBER,       \
     .n_args = 1,               \
     .args = {&cel_##a##_type}, \
     .result = &cel_int_type,   \
     .fn = (fn_)}
#define GET2(name, id_, fn_)                          \
    {.function = (name),                              \
     .id = (id_),                                     \
     .flags = CEL_MEMBER,                             \
     .n_args = 2,                                     \
     .args = {&cel_timestamp_type, &cel_string_type}, \
     .result = &cel_int_type,                         \
     .fn = (fn_)}
#define GET(name, id_, fn_) \
    GET1(name, "timestamp_to_" id_, timestamp, fn_), GET2(name, "timestamp_to_" id_ "_with_tz", fn_)

static const struct cel_overload overloads[] = {
    GET("getFullYear", "year", get_year),
    GET("getMonth", "month", get_month),
    GET("getDayOfYear", "day_of_year", get_day_of_year),
    GET("getDayOfMonth", "day_of_month", get_day_of_month),
    GET("getDate", "day_of_month_1_based", get_date),
    GET("getDayOfWeek", "day_of_week", get_day_of_week),
    GET("getHours", "hours", get_hours),
    GET1("getHours", "duration_to_hours", duration, duration_hours),
    GET("getMinutes", "minutes", get_minutes),
    GET1("getMinutes", "duration_to_minutes", duration, duration_minutes),
    GET("getSeconds", "seconds", get_seconds),
    GET1("getSeconds", "duration_to_seconds", duration, duration_seconds),
    GET("getMilliseconds", "milliseconds", get_milliseconds),
    GET1("getMilliseconds", "duration_to_milliseconds", duration, duration_milliseconds),
};

const struct cel_library cel_lib_times = {.overloads = overloads, .n = ARRAY_LEN(overloads)};
