/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "kube/backoff.h"

static void test_backoff_doubles_up_to_max(void **state)
{
    static const struct backoff_options options = {100, 1000, 2, 0, 0};
    static const int64_t expected[] = {100, 200, 400, 800, 1000, 1000};
    struct backoff b;

    (void)state;
    backoff_init(&b, &options, 1);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_int_equal(backoff_next(&b, 0), expected[i]);
    backoff_reset(&b);
    assert_int_equal(backoff_next(&b, 0), 100);
}

static void test_backoff_forgets_after_a_healthy_while(void **state)
{
    static const struct backoff_options options = {100, 1000, 2, 0, 5000};
    struct backoff b;

    (void)state;
    backoff_init(&b, &options, 1);
    assert_int_equal(backoff_next(&b, 10000), 100);
    assert_int_equal(backoff_next(&b, 11000), 200);
    assert_int_equal(backoff_next(&b, 16000), 400);
    assert_int_equal(backoff_next(&b, 21001), 100);
}

static void test_backoff_jitter_is_bounded_and_varies(void **state)
{
    static const struct backoff_options options = {1000000, 1000000, 1, 1, 0};
    struct backoff b;
    int64_t low = INT64_MAX, high = 0;

    (void)state;
    backoff_init(&b, &options, 7);
    for (int i = 0; i < 1000; i++) {
        int64_t d = backoff_next(&b, i);

        low = MIN(low, d);
        high = MAX(high, d);
    }
    assert_true(low >= 1000000 && low < 1100000);
    assert_true(high <= 2000000 && high > 1900000);
}

static void test_ratelimit_burst_then_rate(void **state)
{
    struct ratelimit rl;

    (void)state;
    ratelimit_init(&rl, 10, 3, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ratelimit_take(&rl, 0), 0);
    assert_int_equal(ratelimit_take(&rl, 0), 100 * NSEC_PER_MSEC);
    assert_int_equal(ratelimit_take(&rl, 0), 200 * NSEC_PER_MSEC);
    /* Half a second later: both are paid off and three tokens are saved, no more. */
    assert_int_equal(ratelimit_take(&rl, 500 * NSEC_PER_MSEC), 0);
    assert_int_equal(ratelimit_take(&rl, 500 * NSEC_PER_MSEC), 0);
    assert_int_equal(ratelimit_take(&rl, 500 * NSEC_PER_MSEC), 0);
    assert_int_equal(ratelimit_take(&rl, 500 * NSEC_PER_MSEC), 100 * NSEC_PER_MSEC);
}

static void test_ratelimit_none_when_not_configured(void **state)
{
    struct ratelimit rl;

    (void)state;
    ratelimit_init(&rl, 0, 0, 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ratelimit_take(&rl, 0), 0);
    ratelimit_init(&rl, -1, 100, 0);
    assert_int_equal(ratelimit_take(&rl, 0), 0);
    /* Extreme values. */
    ratelimit_init(&rl, 1e-30, INT64_MAX, 0);
    assert_int_equal(ratelimit_take(&rl, 0), 0);
    ratelimit_init(&rl, 1e30, 1, 0);
    assert_int_equal(ratelimit_take(&rl, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff_doubles_up_to_max),
        cmocka_unit_test(test_backoff_forgets_after_a_healthy_while),
        cmocka_unit_test(test_backoff_jitter_is_bounded_and_varies),
        cmocka_unit_test(test_ratelimit_burst_then_rate),
        cmocka_unit_test(test_ratelimit_none_when_not_configured),
    };

    return cmocka_run_group_tests_name("kube_backoff", tests, NULL, NULL);
}
