/* SPDX-License-Identifier: Apache-2.0 */
/* reason: numbers for texts and for lists of texts, both with a limit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/framework/reason.h"

static void assert_text(const struct reasons *r, berth_reason reason, const char *expected)
{
    struct buf text = BUF_INIT;
    reasons_write(r, reason, &text);
    assert_string_equal(buf_cstr(&text), expected);
    buf_release(&text);
}

static void the_same_text_has_the_same_number(void **state)
{
    (void)state;
    struct reasons r;
    reasons_init(&r);
    berth_reason a = reasons_text(&r, STR("a")), b = reasons_text(&r, STR("b"));
    assert_true(a && b && a != b);
    assert_int_equal(reasons_text(&r, STR("a")), a);
    assert_int_equal(reasons_foreign(&r, STR("a")), a);
    assert_text(&r, a, "a");
    assert_text(&r, 0, "");
    assert_int_equal(reasons_count(&r, 0), 0);
    assert_int_equal(reasons_count(&r, a), 1);
    reasons_release(&r);
}

static void a_list_has_a_number_of_its_own(void **state)
{
    (void)state;
    struct reasons r;
    reasons_init(&r);
    berth_reason ab[] = {reasons_text(&r, STR("a")), reasons_text(&r, STR("b"))};
    berth_reason ba[] = {ab[1], ab[0]};
    berth_reason list = reasons_list(&r, ab, 2);
    assert_int_equal(reasons_list(&r, ab, 2), list);
    assert_int_not_equal(reasons_list(&r, ba, 2), list);
    assert_int_equal(reasons_list(&r, ab, 1), ab[0]);
    assert_int_equal(reasons_list(&r, ab, 0), 0);
    assert_int_equal(reasons_count(&r, list), 2);
    assert_text(&r, list, "a, b");
    reasons_release(&r);
}

static berth_reason numbered(struct reasons *r, const char *what, size_t i, bool foreign)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%s %zu", what, i);
    struct str s = {text, (size_t)n};
    return foreign ? reasons_foreign(r, s) : reasons_text(r, s);
}

static void beyond_the_bound_all_share_one_text(void **state)
{
    (void)state;
    struct reasons r;
    reasons_init(&r);
    for (size_t i = 0; i < REASONS_MAX + 10; i++)
        numbered(&r, "own", i, false);
    assert_int_equal(r.entries.n, REASONS_MAX);
    assert_text(&r, numbered(&r, "own", REASONS_MAX + 5, false), "(too many different reasons)");
    assert_text(&r, numbered(&r, "own", 7, false), "own 7");
    reasons_release(&r);
}

/* Texts from outside leave room for plugins. */
static void foreign_texts_do_not_displace_others(void **state)
{
    (void)state;
    struct reasons r;
    reasons_init(&r);
    for (size_t i = 0; i < 2 * REASONS_MAX; i++)
        numbered(&r, "foreign", i, true);
    assert_text(&r, numbered(&r, "foreign", 0, true), "foreign 0");
    assert_text(&r, numbered(&r, "foreign", REASONS_FOREIGN_MAX, true),
                "(too many different reasons)");
    for (size_t i = 0; i < REASONS_MAX / 2; i++)
        numbered(&r, "own", i, false);
    assert_text(&r, numbered(&r, "own", REASONS_MAX / 2 - 1, false), "own 32767");
    /* A text that a plugin has used is accepted. */
    assert_text(&r, numbered(&r, "own", 3, true), "own 3");
    reasons_release(&r);
}

/* No text from outside is mistaken for a list. */
static void a_text_ends_at_its_first_nul(void **state)
{
    (void)state;
    struct reasons r;
    reasons_init(&r);
    berth_reason ab[] = {reasons_text(&r, STR("a")), reasons_text(&r, STR("b"))};
    berth_reason list = reasons_list(&r, ab, 2);
    char bytes[1 + sizeof(ab)] = {0};
    memcpy(bytes + 1, ab, sizeof(ab));
    berth_reason foreign = reasons_foreign(&r, (struct str){bytes, sizeof(bytes)});
    assert_int_not_equal(foreign, list);
    assert_text(&r, foreign, "");
    assert_int_equal(reasons_foreign(&r, (struct str){"a\0b", 3}), ab[0]);
    reasons_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_text_has_the_same_number),
        cmocka_unit_test(a_list_has_a_number_of_its_own),
        cmocka_unit_test(beyond_the_bound_all_share_one_text),
        cmocka_unit_test(foreign_texts_do_not_displace_others),
        cmocka_unit_test(a_text_ends_at_its_first_nul),
    };
    return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
