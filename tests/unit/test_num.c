/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "base/num.h"
#include "prop.h"

static void assert_formats(double value, enum num_style style, const char *want)
{
    struct buf out = BUF_INIT;
    num_format(value, style, &out);
    assert_string_equal(buf_cstr(&out), want);
    buf_release(&out);
}

/* strconv.FormatFloat(v, 'g' and 'f', -1, 64) and json.Marshal(v) of Go 1.26. */
static void as_go(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *g, *f, *json;
    } cases[] = {
        {1e-03, "0.001", "0.001", "0.001"},
        {1e-05, "1e-05", "0.00001", "0.00001"},
        {1e-04, "0.0001", "0.0001", "0.0001"},
        {1e+05, "100000", "100000", "100000"},
        {1e+06, "1e+06", "1000000", "1000000"},
        {1e+07, "1e+07", "10000000", "10000000"},
        {1.23456e+05, "123456", "123456", "123456"},
        {1.234567e+06, "1.234567e+06", "1234567", "1234567"},
        {1.048576, "1.048576", "1.048576", "1.048576"},
        {1e+20, "1e+20", "100000000000000000000", "100000000000000000000"},
        {1e+21, "1e+21", "1000000000000000000000", "1e+21"},
        {1e-06, "1e-06", "0.000001", "0.000001"},
        {1e-07, "1e-07", "0.0000001", "1e-7"},
        {1.5e-09, "1.5e-09", "0.0000000015", "1.5e-9"},
        {0x1p-44, "5.684341886080802e-14", "0.00000000000005684341886080802",
         "5.684341886080802e-14"},
        {0.1, "0.1", "0.1", "0.1"},
        {1.0 / 3, "0.3333333333333333", "0.3333333333333333", "0.3333333333333333"},
        {1e+22, "1e+22", "10000000000000000000000", "1e+22"},
        {-2.5, "-2.5", "-2.5", "-2.5"},
        {9007199254740992, "9.007199254740992e+15", "9007199254740992", "9007199254740992"},
        {1794733200123.456, "1.794733200123456e+12", "1794733200123.456", "1794733200123.456"},
        {0, "0", "0", "0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_formats(cases[i].value, NUM_STYLE_G, cases[i].g);
        assert_formats(cases[i].value, NUM_STYLE_F, cases[i].f);
        assert_formats(cases[i].value, NUM_STYLE_JSON, cases[i].json);
    }
    assert_formats(DBL_MAX, NUM_STYLE_G, "1.7976931348623157e+308");
    assert_formats(DBL_MIN, NUM_STYLE_G, "2.2250738585072014e-308");
    assert_formats(0x1p-1074, NUM_STYLE_G, "5e-324");
    assert_formats(NAN, NUM_STYLE_G, "NaN");
    assert_formats(INFINITY, NUM_STYLE_G, "+Inf");
    assert_formats(-INFINITY, NUM_STYLE_F, "-Inf");
}

/* Any double reads back as itself, in every style, and short decimals survive a round trip. */
static bool round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    (void)size;
    union {
        uint64_t bits;
        double value;
    } any = {.bits = rand_u64(r)};
    uint64_t kind = rand_below(r, 4);
    if (kind == 0)
        any.value = ldexp(1, (int)rand_below(r, 2098) - 1074);
    else if (kind == 1)
        any.value = (double)rand_below(r, 100000) / 1000;
    if (!isfinite(any.value))
        return true;
    bool ok = true;
    for (int style = NUM_STYLE_G; style <= NUM_STYLE_JSON; style++) {
        struct buf out = BUF_INIT;
        num_format(any.value, (enum num_style)style, &out);
        ok = ok && strtod(buf_cstr(&out), NULL) == any.value;
        if (kind == 1)
            ok = ok && out.n <= 6;
        buf_release(&out);
    }
    return ok;
}

/* Integers, also next to powers of ten and where doubles are coarse. */
static bool whole_numbers(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    (void)size;
    uint64_t power = 1;
    for (uint64_t i = rand_below(r, 17); i > 0; i--)
        power *= 10;
    uint64_t value = rand_below(r, 2) ? power + rand_below(r, 3) - 1 : rand_below(r, power) + 1;
    char want[32];
    struct buf out = BUF_INIT;
    num_format((double)value, NUM_STYLE_F, &out);
    snprintf(want, sizeof(want), "%.0f", (double)value);
    bool ok = value >= (uint64_t)1 << 53 || !strcmp(buf_cstr(&out), want);
    ok = ok && strtod(buf_cstr(&out), NULL) == (double)value;
    buf_release(&out);
    return ok;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("whole numbers", 20000, whole_numbers, NULL));
    assert_true(prop_run("number round trip", 20000, round_trip, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_go),
        cmocka_unit_test(properties),
    };
    return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
