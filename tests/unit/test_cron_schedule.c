/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of CronJobs: what is accepted, and the messages of robfig/cron. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/types/cron_schedule.h"

#include <errno.h>

#define ALL(from, to) (((((uint64_t)1 << ((to) - (from) + 1)) - 1) << (from)) | CRON_STAR)

static const struct {
    const char *text;
    struct cron_schedule want;
} valid[] = {
    {"*/20 1-3 1,15 jan-mar MON-fri/2",
     {1 | 1 << 20 | (uint64_t)1 << 40,
      0xe,
      1 << 1 | 1 << 15,
      0xe,
      1 << 1 | 1 << 3 | 1 << 5,
      0,
      {0}}},
    {"5/30 ? * * *",
     {1 << 5 | (uint64_t)1 << 35, ALL(0, 23), ALL(1, 31), ALL(1, 12), ALL(0, 6), 0, {0}}},
    {"  0 0 31 12 sat ", {1, 1, (uint64_t)1 << 31, 1 << 12, 1 << 6, 0, {0}}},
    {"@weekly", {1, 1, ALL(1, 31), ALL(1, 12), 1, 0, {0}}},
    {"@annually", {1, 1, 1 << 1, 1 << 1, ALL(0, 6), 0, {0}}},
    {"@every 1m30s", {.every = 90}},
    {"@every 10ms", {.every = 1}},
    {"CRON_TZ=Asia/Tokyo 0 0 1 1 0", {1, 1, 2, 2, 1, 0, STR_INIT("Asia/Tokyo")}},
};

static void test_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
        struct cron_schedule s;
        struct buf error = BUF_INIT;

        assert_int_equal(cron_schedule_parse(str_of(valid[i].text), &s, &error), 0);
        assert_true(s.minute == valid[i].want.minute);
        assert_true(s.hour == valid[i].want.hour);
        assert_true(s.day_of_month == valid[i].want.day_of_month);
        assert_true(s.month == valid[i].want.month);
        assert_true(s.day_of_week == valid[i].want.day_of_week);
        assert_true(s.every == valid[i].want.every);
        assert_true(str_eq(s.zone, valid[i].want.zone));
        buf_release(&error);
    }
}

static const struct {
    const char *text, *error;
} invalid[] = {
    {"", "empty spec string"},
    {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
    {"a  b", "expected exactly 5 fields, found 2: [a b]"},
    {"60 * * * *", "end of range (60) above maximum (59): 60"},
    {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
    {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
    {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
    {"1/2/3 * * * *", "too many slashes: 1/2/3"},
    {"*/0 * * * *", "step of range should be a positive number: */0"},
    {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
    {"99999999999999999999 * * * *",
     "failed to parse int from 99999999999999999999: strconv.Atoi: parsing "
     "\"99999999999999999999\": value out of range"},
    {"@never", "unrecognized descriptor: @never"},
    {"@every x", "failed to parse duration @every x: time: invalid duration \"x\""},
    {"TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"},
};

static void test_invalid(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(invalid); i++) {
        struct cron_schedule s;
        struct buf error = BUF_INIT;

        assert_int_equal(cron_schedule_parse(str_of(invalid[i].text), &s, &error), -EINVAL);
        assert_string_equal(buf_cstr(&error), invalid[i].error);
        buf_release(&error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
