/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/rand.h"

/* The published generators: splitmix64 and xoshiro256**, the first outputs for seed 0. */
static void known_values(void **state)
{
    (void)state;
    struct rand r;
    rand_seed(&r, 0);
    assert_true(r.s[0] == 0xe220a8397b1dcdafu);
    assert_true(r.s[1] == 0x6e789e6aa1b965f4u);
    assert_true(r.s[2] == 0x06c45d188009454fu);
    assert_true(r.s[3] == 0xf88bb8a8724c81ecu);
    r = (struct rand){{1, 2, 3, 4}};
    assert_true(rand_u64(&r) == 11520);
    assert_true(rand_u64(&r) == 0);
    assert_true(rand_u64(&r) == 1509978240);
    assert_true(rand_u64(&r) == 1215971899390074240);
}

static void repeats(void **state)
{
    (void)state;
    struct rand a, b, c;
    rand_seed(&a, 7);
    rand_seed(&b, 7);
    rand_seed(&c, 8);
    size_t equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rand_u64(&a);
        assert_true(x == rand_u64(&b));
        equal += x == rand_u64(&c);
    }
    assert_int_equal(equal, 0);
    assert_true(rand_entropy() != rand_entropy());
}

static void ranges(void **state)
{
    (void)state;
    struct rand r;
    rand_seed(&r, 1);
    size_t seen[6] = {0};
    double sum = 0;
    for (int i = 0; i < 60000; i++) {
        uint64_t v = rand_below(&r, 6);
        assert_true(v < 6);
        seen[v]++;
        double d = rand_double(&r);
        assert_true(d >= 0 && d < 1);
        sum += d;
    }
    /* Five standard deviations around 10000, and around a half. */
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 9540, 10460);
    assert_true(sum / 60000 > 0.494 && sum / 60000 < 0.506);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rand_below(&r, 1), 0);
        assert_true(rand_below(&r, UINT64_MAX) < UINT64_MAX);
    }
}

/* Three quarters of 2^64: without redrawing, the first of every three neighbours occurs twice as
 * often as the others; by the remainder alone, the lowest third does. */
static void large_ranges_are_even(void **state)
{
    (void)state;
    struct rand r;
    rand_seed(&r, 2);
    const uint64_t quarter = (uint64_t)1 << 62;
    size_t thirds[3] = {0}, neighbours[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint64_t v = rand_below(&r, 3 * quarter);
        thirds[v / quarter]++;
        neighbours[v % 3]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(thirds[i], 9600, 10400);
        assert_in_range(neighbours[i], 9600, 10400);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(repeats),
        cmocka_unit_test(ranges),
        cmocka_unit_test(large_ranges_are_even),
    };
    return cmocka_run_group_tests_name("rand", tests, NULL, NULL);
}
