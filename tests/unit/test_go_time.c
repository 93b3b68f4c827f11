/* SPDX-License-Identifier: Apache-2.0 */
/* Times in Go's layouts. tests/sigs compares more of them, also random ones, with Go. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/go_time.h"

static const struct {
    const char *layout, *text;
    int64_t sec;
    int32_t nsec;
} good[] = {
    {"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z", 1136214245, 0},
    {"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.25-07:00", 1136239445, 250000000},
    {"Mon, 02 Jan 2006 15:04:05 -0700", "Mon, 02 Jan 2006 15:04:05 +0100", 1136210645, 0},
    {"Mon Jan _2 15:04:05 MST 2006", "mon jan  2 15:04:05 CEST 2006", 1136214245, 0},
    {"Mon Jan _2 15:04:05 MST 2006", "Mon Jan  2 15:04:05 GMT-8 2006", 1136214245, 0},
    {"Monday, 02-Jan-06 15:04:05", "Monday, 02-Jan-06 15:04:05", 1136214245, 0},
    {"January 2, 2006 3:04PM", "January 2, 2006 12:04AM", 1136160240, 0},
    {"2006002 pm 03", "2024366 pm 11", 1735686000, 0},
    {"2006-01-02 15:04:05.000", "2006-01-02 15:04:05.125", 1136214245, 125000000},
    {"2006-01-02 15:04:05.999", "2006-01-02 15:04:05", 1136214245, 0},
    {"-0700 UTC", "-0700 UTC", -62167194000, 0},
    {"-0700 MST", "-0700 UTC", -62167219200, 0},
    {"_2006 2", "_2006 1", 1136073600, 0},
    {"", "", -62167219200, 0},
};

static const struct {
    const char *layout, *text;
} bad[] = {
    {"2006-01-02", "2006-02-30"},
    {"2006-01-02", "2006-1-02"},
    {"2006-01-02", "2006-01-02x"},
    {"2006-01-02", "2006-13-02"},
    {"15:04", "24:00"},
    {"3PM", "13PM"},
    {"Jan 2", "Jam 2"},
    {"2006 002", "2023 366"},
    {"2006 002 1", "2024 060 3"},
    {"-07:00", "-0700"},
    {"-07:00", "+25:00"},
    {"MST", "cet"},
    {"15:04:05.000", "15:04:05.1"},
    {"January 2006", "Januar 2006"},
    {"2006", ""},
    {"2006 01", "200601"},
};

static void what_go_accepts_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct timestamp t;
        if (!go_time_parse(str_of(good[i].layout), str_of(good[i].text), &t))
            fail_msg("%s is not accepted in the layout %s", good[i].text, good[i].layout);
        assert_int_equal(t.sec, good[i].sec);
        assert_int_equal(t.nsec, good[i].nsec);
    }
}

static void what_go_refuses_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct timestamp t;
        if (go_time_parse(str_of(bad[i].layout), str_of(bad[i].text), &t))
            fail_msg("%s is accepted in the layout %s", bad[i].text, bad[i].layout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_go_accepts_is_accepted),
        cmocka_unit_test(what_go_refuses_is_refused),
    };
    return cmocka_run_group_tests_name("go_time", tests, NULL, NULL);
}
