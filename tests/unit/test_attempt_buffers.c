/* SPDX-License-Identifier: Apache-2.0 */
/* attempt_buffers: rejected nodes are distinguished by their whole verdict. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/cycle/attempt_buffers.h"

/* A run ends where any member of the verdict differs. */
static void runs_are_of_the_same_verdict(void **state)
{
    (void)state;
    static const struct verdict said[] = {
        {1, 2, 3}, {1, 2, 3}, {4, 2, 3}, {4, 5, 3}, {4, 5, 6}, {4, 5, 6}, {1, 2, 3},
    };
    static const uint32_t lengths[] = {2, 1, 1, 2, 1};
    struct attempt_buffers s = {0};
    attempt_buffers_begin(&s, ARRAY_LEN(said));
    for (size_t i = 0, at = 0; i < ARRAY_LEN(lengths); i++)
        for (uint32_t k = 0; k < lengths[i]; k++, at++)
            assert_int_equal(attempt_buffers_add_refused(&s, said[at]), k == 0);
    assert_int_equal(s.runs.n, ARRAY_LEN(lengths));
    for (size_t i = 0, at = 0; i < s.runs.n; at += lengths[i++]) {
        assert_int_equal(s.runs.v[i].n, lengths[i]);
        assert_true(verdict_eq(&s.runs.v[i].verdict, &said[at]));
    }
    attempt_buffers_begin(&s, 1);
    assert_int_equal(s.runs.n, 0);
    attempt_buffers_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_of_the_same_verdict),
    };
    return cmocka_run_group_tests_name("attempt_buffers", tests, NULL, NULL);
}
