/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/utf8.h"

static const struct {
    struct str text;
    bool valid;
} cases[] = {
    {STR_INIT(""), true},
    {STR_INIT("plain"), true},
    {STR_INIT("\0"), true},
    {STR_INIT("\x7f"), true},
    {STR_INIT("\x80"), false},
    {STR_INIT("\xC2\x80"), true},
    {STR_INIT("\xC1\xBF"), false}, /* overlong */
    {STR_INIT("\xC2"), false},
    {STR_INIT("\xC2\x41"), false},
    {STR_INIT("\xDF\xBF"), true},
    {STR_INIT("\xE0\xA0\x80"), true},
    {STR_INIT("\xE0\x9F\xBF"), false}, /* overlong */
    {STR_INIT("\xE2\x82"), false},
    {STR_INIT("\xED\x9F\xBF"), true},
    {STR_INIT("\xED\xA0\x80"), false}, /* surrogate */
    {STR_INIT("\xEE\x80\x80"), true},
    {STR_INIT("\xEF\xBF\xBF"), true},
    {STR_INIT("\xF0\x90\x80\x80"), true},
    {STR_INIT("\xF0\x8F\xBF\xBF"), false}, /* overlong */
    {STR_INIT("\xF4\x8F\xBF\xBF"), true},
    {STR_INIT("\xF4\x90\x80\x80"), false}, /* above U+10FFFF */
    {STR_INIT("\xF5\x80\x80\x80"), false},
    {STR_INIT("\xF0\x9F\x98"), false},
    {STR_INIT("\xFF"), false},
};

static void test_table(void **state)
{
    (void)state;
    /* At every offset in a longer text, so that the fast path is tested, too. */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t before = 0; before < 40; before++) {
            char text[100];
            memset(text, 'a', sizeof(text));
            if (cases[i].text.n)
                memcpy(text + before, cases[i].text.p, cases[i].text.n);
            assert_int_equal(utf8_valid((struct str){text, before + cases[i].text.n}),
                             cases[i].valid);
            assert_int_equal(utf8_valid((struct str){text, sizeof(text)}), cases[i].valid);
        }
    assert_true(utf8_valid((struct str){NULL, 0}));
}

static void test_put(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        char text[UTF8_MAX];
        size_t n = utf8_put(text, c);
        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        assert_int_equal(utf8_length(text, text + n), n);
        assert_int_equal(utf8_length(text, text + n - 1), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_put),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
