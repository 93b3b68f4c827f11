/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for misspelt names. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/nearest.h"

static const char *const names[] = {"profiles", "profile-list",  "parallelism", "extenders",
                                    "kind",     "addedAffinity", "enableHTTPS"};

static void a_name_with_few_typos_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *written, *meant;
    } cases[] = {
        {"profile", "profiles"},
        {"porfiles", "profiles"},
        {"PROFILES", "profiles"},
        {"paralelizm", "parallelism"},
        {"extender", "extenders"},
        {"knid", "kind"},
        {"addedAffinities", "addedAffinity"},
        {"enableHttps", "enableHTTPS"},
        {"kin", "kind"},
        {"k", ""},
        {"", ""},
        {"nothing", ""},
        {"name", ""},
        {"par", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct nearest n;
        nearest_init(&n, str_of(cases[i].written));
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            nearest_consider(&n, str_of(names[k]));
        struct str found = nearest_suggestion(&n);
        if (!str_is(found, cases[i].meant))
            fail_msg("%s: %.*s", cases[i].written, STR_ARG(found));
    }
}

static void names_of_any_length_are_harmless(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'p', sizeof(text));
    for (size_t i = 0; i <= sizeof(text); i++) {
        struct nearest n;
        nearest_init(&n, (struct str){text, i});
        for (size_t k = 0; k <= sizeof(text); k += 7)
            nearest_consider(&n, (struct str){text, k});
        struct str found = nearest_suggestion(&n);
        assert_true(found.n <= 63);
    }
    struct nearest none;
    nearest_init(&none, STR("x"));
    assert_int_equal(nearest_suggestion(&none).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_with_few_typos_is_found),
        cmocka_unit_test(names_of_any_length_are_harmless),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
