/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "prop.h"

/* Results of Go's time.ParseDuration and Duration.String; computed by Go 1.26. */
static const struct {
    const char *text;
    bool ok;
    int64_t ns;
    const char *canonical;
} durations[] = {
    {"0", true, 0, "0s"},
    {"+0", true, 0, "0s"},
    {"-0", true, 0, "0s"},
    {"0s", true, 0, "0s"},
    {"5s", true, 5000000000, "5s"},
    {"30s", true, 30000000000, "30s"},
    {"1478s", true, 1478000000000, "24m38s"},
    {"-5s", true, -5000000000, "-5s"},
    {"+5s", true, 5000000000, "5s"},
    {"5.0s", true, 5000000000, "5s"},
    {"5.6s", true, 5600000000, "5.6s"},
    {"5.", false, 0, "0s"},
    {"5.s", true, 5000000000, "5s"},
    {".5s", true, 500000000, "500ms"},
    {"1.0s", true, 1000000000, "1s"},
    {"1.00s", true, 1000000000, "1s"},
    {"1.004s", true, 1004000000, "1.004s"},
    {"1.0040s", true, 1004000000, "1.004s"},
    {"100.00100s", true, 100001000000, "1m40.001s"},
    {"10ns", true, 10, "10ns"},
    {"11us", true, 11000, "11\xc2\xb5s"},
    {"12\xc2\xb5s", true, 12000, "12\xc2\xb5s"},
    {"12\xce\xbcs", true, 12000, "12\xc2\xb5s"},
    {"13ms", true, 13000000, "13ms"},
    {"14s", true, 14000000000, "14s"},
    {"15m", true, 900000000000, "15m0s"},
    {"16h", true, 57600000000000, "16h0m0s"},
    {"3h30m", true, 12600000000000, "3h30m0s"},
    {"10.5s4m", true, 250500000000, "4m10.5s"},
    {"-2m3.4s", true, -123400000000, "-2m3.4s"},
    {"1h2m3s4ms5us6ns", true, 3723004005006, "1h2m3.004005006s"},
    {"39h9m14.425s", true, 140954425000000, "39h9m14.425s"},
    {"52763797000ns", true, 52763797000, "52.763797s"},
    {"0.3333333333333333333h", true, 1200000000000, "20m0s"},
    {"9007199254740993ns", true, 9007199254740993, "2501h59m59.254740993s"},
    {"9223372036854775807ns", true, 9223372036854775807, "2562047h47m16.854775807s"},
    {"9223372036854775.807us", true, 9223372036854775807, "2562047h47m16.854775807s"},
    {"9223372036s854ms775us807ns", true, 9223372036854775807, "2562047h47m16.854775807s"},
    {"-9223372036854775808ns", true, INT64_MIN, "-2562047h47m16.854775808s"},
    {"-9223372036854775.808us", true, INT64_MIN, "-2562047h47m16.854775808s"},
    {"-9223372036854.775808ms", true, INT64_MIN, "-2562047h47m16.854775808s"},
    {"-9223372036.854775808s", true, INT64_MIN, "-2562047h47m16.854775808s"},
    {"-2562047h47m16.854775808s", true, INT64_MIN, "-2562047h47m16.854775808s"},
    {"0.100000000000000000000h", true, 360000000000, "6m0s"},
    {"0.830103483285477580700h", true, 2988372539827, "49m48.372539827s"},
    {"0.9223372036854775807h", true, 3320413933267, "55m20.413933267s"},
    {"0.99999999999999999999s", true, 1000000000, "1s"},
    {"1.9999999999s", true, 1999999999, "1.999999999s"},
    {"2562047h47m16.854775807s", true, 9223372036854775807, "2562047h47m16.854775807s"},
    {"1h15m30.918s", true, 4530918000000, "1h15m30.918s"},
    {"-1.5h", true, -5400000000000, "-1h30m0s"},
    {"100ms", true, 100000000, "100ms"},
    {"", false, 0, "0s"},
    {"3", false, 0, "0s"},
    {"-", false, 0, "0s"},
    {"s", false, 0, "0s"},
    {".", false, 0, "0s"},
    {"-.", false, 0, "0s"},
    {".s", false, 0, "0s"},
    {"+.s", false, 0, "0s"},
    {"1d", false, 0, "0s"},
    {"\x85\x85", false, 0, "0s"},
    {"\xff"
     "ff",
     false, 0, "0s"},
    {"hello \xff"
     "ff world",
     false, 0, "0s"},
    {"3000000h", false, 0, "0s"},
    {"9223372036854775808ns", false, 0, "0s"},
    {"9223372036854775.808us", false, 0, "0s"},
    {"9223372036854ms775us808ns", false, 0, "0s"},
    {"-9223372036854775809ns", false, 0, "0s"},
    {"1 s", false, 0, "0s"},
    {" 1s", false, 0, "0s"},
    {"1s ", false, 0, "0s"},
    {"1S", false, 0, "0s"},
    {"1e3s", false, 0, "0s"},
    {"--1s", false, 0, "0s"},
    {"+-1s", false, 0, "0s"},
    {"1h-1m", false, 0, "0s"},
    {"0x1s", false, 0, "0s"},
    {"00s", true, 0, "0s"},
    {"01s", true, 1000000000, "1s"},
    {"9223372036854775808ns9223372036854775808ns", true, 0, "0s"},
    {"0.00000000000000000000000000000000000001h", true, 0, "0s"},
};

static void durations_as_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        int64_t ns = 42;
        bool ok = duration_parse(str_of(durations[i].text), &ns);
        if (ok != durations[i].ok || ns != (ok ? durations[i].ns : 42))
            fail_msg("\"%s\": %d, %lld", durations[i].text, ok, (long long)ns);
        if (!ok)
            continue;
        struct buf out = BUF_INIT;
        duration_format(ns, &out);
        assert_string_equal(buf_cstr(&out), durations[i].canonical);
        buf_release(&out);
    }
}

static bool duration_round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    (void)size;
    int64_t ns = (int64_t)(rand_u64(r) >> rand_below(r, 64));
    if (rand_below(r, 2))
        ns = (int64_t)(0 - (uint64_t)ns);
    struct buf out = BUF_INIT;
    duration_format(ns, &out);
    int64_t back = 0;
    bool same = duration_parse(buf_str(&out), &back) && back == ns;
    buf_release(&out);
    return same;
}

/* Results of Go's time.Parse(time.RFC3339Nano, …), as Unix seconds and nanoseconds. */
static const struct {
    const char *text;
    int64_t sec;
    int32_t nsec;
    bool ok;
} timestamps[] = {
    {"2026-11-15T09:00:00Z", 1794733200, 0, true},
    {"2026-11-15T09:00:00.5Z", 1794733200, 500000000, true},
    {"2026-11-15T09:00:00.123456789Z", 1794733200, 123456789, true},
    {"2026-11-15T09:00:00.1234567899999Z", 1794733200, 123456789, true},
    {"2026-11-15T09:00:00,25Z", 1794733200, 250000000, true},
    {"2026-11-15T9:00:00Z", 1794733200, 0, true},
    {"2026-11-15T09:00:00+05:30", 1794713400, 0, true},
    {"2026-11-15T09:00:00-08:00", 1794762000, 0, true},
    {"2026-11-15T09:00:00+24:00", 1794646800, 0, true},
    {"2026-11-15T09:00:00+24:60", 1794643200, 0, true},
    {"2026-11-15T09:00:00+00:00", 1794733200, 0, true},
    {"2026-11-15T09:00:00-00:00", 1794733200, 0, true},
    {"1969-12-31T23:59:59.999999999Z", -1, 999999999, true},
    {"0001-01-01T00:00:00Z", -62135596800, 0, true},
    {"0000-01-01T00:00:00Z", -62167219200, 0, true},
    {"0000-01-01T00:00:00+01:00", -62167222800, 0, true},
    {"9999-12-31T23:59:59Z", 253402300799, 0, true},
    {"2024-02-29T12:00:00Z", 1709208000, 0, true},
    {"2000-02-29T00:00:00Z", 951782400, 0, true},
    {"1900-03-01T00:00:00Z", -2203891200, 0, true},
    {"2262-04-11T23:47:16.854775807Z", 9223372036, 854775807, true},
    {"", 0, 0, false},
    {"2026", 0, 0, false},
    {"2026-11-15", 0, 0, false},
    {"2026-11-15T09:00:00", 0, 0, false},
    {"2026-11-15T09:00Z", 0, 0, false},
    {"2026-11-15 09:00:00Z", 0, 0, false},
    {"2026-11-15t09:00:00Z", 0, 0, false},
    {"2026-11-15T09:00:00z", 0, 0, false},
    {"2026-13-01T00:00:00Z", 0, 0, false},
    {"2026-00-01T00:00:00Z", 0, 0, false},
    {"2026-02-29T00:00:00Z", 0, 0, false},
    {"1900-02-29T00:00:00Z", 0, 0, false},
    {"2026-04-31T00:00:00Z", 0, 0, false},
    {"2026-11-00T00:00:00Z", 0, 0, false},
    {"2026-11-15T24:00:00Z", 0, 0, false},
    {"2026-11-15T09:60:00Z", 0, 0, false},
    {"2026-11-15T09:00:60Z", 0, 0, false},
    {"2026-11-15T09:00:00.Z", 0, 0, false},
    {"2026-11-15T09:00:00+25:00", 0, 0, false},
    {"2026-11-15T09:00:00+00:61", 0, 0, false},
    {"2026-11-15T09:00:00+0530", 0, 0, false},
    {"2026-11-15T09:00:00+05", 0, 0, false},
    {"2026-11-15T09:00:00Zx", 0, 0, false},
    {"2026-11-15T09:00:00 Z", 0, 0, false},
    {"+026-11-15T09:00:00Z", 0, 0, false},
    {"2026-1-15T09:00:00Z", 0, 0, false},
    {"2026-11-15T09:0:00Z", 0, 0, false},
    {"26-11-15T09:00:00Z", 0, 0, false},
    {"2026-11-15T009:00:00Z", 0, 0, false},
    {"2026-11-15T09:00:00Z+01:00", 0, 0, false},
    {"-001-11-15T09:00:00Z", 0, 0, false},
};

static void timestamps_as_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(timestamps); i++) {
        struct timestamp t = {0};
        bool ok = timestamp_parse(str_of(timestamps[i].text), &t);
        if (ok != timestamps[i].ok || t.set != ok || t.sec != timestamps[i].sec ||
            t.nsec != timestamps[i].nsec)
            fail_msg("\"%s\": %d, %lld, %d", timestamps[i].text, ok, (long long)t.sec, t.nsec);
    }
}

/* A text that is truncated anywhere is rejected, without reading past its end. */
static void truncated_timestamps(void **state)
{
    (void)state;
    struct str whole = STR("2026-11-15T09:00:00.5+05:30");
    for (size_t n = 0; n < whole.n; n++) {
        char *copy = xmalloc(n);
        memcpy(copy, whole.p, n);
        struct timestamp t;
        assert_false(timestamp_parse((struct str){copy, n}, &t));
        free(copy);
    }
}

static void assert_formats(struct timestamp t, int digits, const char *want)
{
    struct buf out = BUF_INIT;
    timestamp_format(t, digits, &out);
    assert_string_equal(buf_cstr(&out), want);
    buf_release(&out);
}

static void timestamp_digits(void **state)
{
    (void)state;
    struct timestamp t = {.sec = 1794733200, .nsec = 123456789, .set = true};
    assert_formats(t, 0, "2026-11-15T09:00:00Z");
    assert_formats(t, 3, "2026-11-15T09:00:00.123Z");
    assert_formats(t, 6, "2026-11-15T09:00:00.123456Z");
    assert_formats(t, 9, "2026-11-15T09:00:00.123456789Z");
    t.nsec = 0;
    assert_formats(t, 6, "2026-11-15T09:00:00.000000Z");
    assert_formats((struct timestamp){.sec = -62135596800}, 0, "0001-01-01T00:00:00Z");
    assert_formats((struct timestamp){.sec = 253402300799}, 0, "9999-12-31T23:59:59Z");
    assert_formats((struct timestamp){.sec = -1}, 0, "1969-12-31T23:59:59Z");
}

static bool timestamp_round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    (void)size;
    /* Any second of the years 0 to 9999. */
    struct timestamp t = {
        .sec = (int64_t)rand_below(r, 315569520000) - 62167219200,
        .nsec = (int32_t)rand_below(r, 1000000000),
        .set = true,
    };
    struct buf out = BUF_INIT;
    timestamp_format(t, 9, &out);
    struct timestamp back;
    bool same = timestamp_parse(buf_str(&out), &back) && timestamp_cmp(t, back) == 0;
    buf_release(&out);
    /* libc's calendar agrees. */
    struct tm tm;
    time_t sec = (time_t)t.sec;
    char text[64];
    gmtime_r(&sec, &tm);
    snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return same && timestamp_parse(str_of(text), &back) && back.sec == t.sec;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("duration round trip", 20000, duration_round_trip, NULL));
    assert_true(prop_run("timestamp round trip", 20000, timestamp_round_trip, NULL));
}

static void nanoseconds(void **state)
{
    (void)state;
    struct timestamp t = timestamp_of(-1);
    assert_int_equal(t.sec, -1);
    assert_int_equal(t.nsec, 999999999);
    assert_true(t.set);
    assert_int_equal(timestamp_ns(t), -1);
    assert_true(timestamp_ns(timestamp_of(INT64_MIN)) == INT64_MIN);
    assert_true(timestamp_ns(timestamp_of(INT64_MAX)) == INT64_MAX);
    assert_true(timestamp_ns((struct timestamp){.sec = 253402300799}) == INT64_MAX);
    assert_true(timestamp_ns((struct timestamp){.sec = -62135596800}) == INT64_MIN);
}

static void order(void **state)
{
    (void)state;
    struct timestamp a = timestamp_of(999999999), b = timestamp_of(1000000000);
    assert_true(timestamp_cmp(a, b) < 0);
    assert_true(timestamp_cmp(b, a) > 0);
    assert_int_equal(timestamp_cmp(a, a), 0);
}

static void clocks(void **state)
{
    (void)state;
    int64_t before = time_mono();
    assert_true(time_mono() >= before);
    /* After 2020 and below the integer's maximum. */
    assert_true(time_wall() > 1577836800 * NSEC_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_as_go),
        cmocka_unit_test(timestamps_as_go),
        cmocka_unit_test(truncated_timestamps),
        cmocka_unit_test(timestamp_digits),
        cmocka_unit_test(properties),
        cmocka_unit_test(nanoseconds),
        cmocka_unit_test(order),
        cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
