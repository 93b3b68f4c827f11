/* SPDX-License-Identifier: Apache-2.0 */
/* tests/cel compares with Go's regexp; here are the limits, and what must hold for all. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <errno.h>

#include "base/buf.h"
#include "cel/regex/regex.h"
#include "prop.h"

static const struct {
    const char *expression, *text;
    const char *found; /* the first match; NULL: none */
} cases[] = {
    {"", "", ""},
    {"a", "bab", "a"},
    {"^a+$", "aaa", "aaa"},
    {"^a+$", "aab", NULL},
    {"a|ab", "ab", "a"},
    {"(?:a|ab)(?:c|bcd)", "abcd", "abcd"},
    {"a*?", "aa", ""},
    {"a+?b", "aab", "aab"},
    {"(?i)straße", "STRAßE", "STRAßE"},
    {"(?i)k", "\xE2\x84\xAA", "\xE2\x84\xAA"}, /* Kelvin */
    {"\\p{Greek}+", "xΣσς", "Σσς"},
    {"\\bfoo\\b", "a foo b", "foo"},
    {"\\Qa.b\\E", "axb a.b", "a.b"},
    {"[^\\D]{2,3}", "x12345", "123"},
    {"(?s).+", "a\nb", "a\nb"},
    {".+", "a\nb", "a"},
    {"(?m)^b$", "a\nb", "b"},
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        const struct regex *re;
        struct regex_error error;
        struct regex_span span;
        arena_init(&a, 0);
        assert_int_equal(regex_new(str_of(cases[i].expression), &a, &re, &error), 0);
        struct str text = str_of(cases[i].text);
        bool found = regex_find(re, text, 0, &span, 1);
        assert_int_equal(found, cases[i].found != NULL);
        assert_int_equal(found, regex_match(re, text));
        if (found)
            assert_true(str_is(str_slice(text, span.from, span.to), cases[i].found));
        arena_release(&a);
    }
}

static const struct {
    const char *expression, *error;
} errors[] = {
    {"[a", "error parsing regexp: missing closing ]: `[a`"},
    {"a**", "error parsing regexp: invalid nested repetition operator: `**`"},
    {"(a", "error parsing regexp: missing closing ): `(a`"},
    {"a)", "error parsing regexp: unexpected ): `a)`"},
    {"*", "error parsing regexp: missing argument to repetition operator: `*`"},
    {"a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"},
    {"(a{500}){3}", "error parsing regexp: invalid repeat count: `{3}`"},
    {"\\8", "error parsing regexp: invalid escape sequence: `\\8`"},
    {"\\", "error parsing regexp: trailing backslash at end of expression: ``"},
    {"(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
    {"a\xff", "error parsing regexp: invalid UTF-8: `\xff`"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        struct arena a;
        const struct regex *re;
        struct regex_error error;
        arena_init(&a, 0);
        assert_int_equal(regex_new(str_of(errors[i].expression), &a, &re, &error), -EINVAL);
        assert_string_equal(regex_error_text(&error, &a).p, errors[i].error);
        arena_release(&a);
    }
}

/* Expressions that take a backtracking matcher forever. */
static void test_hostile(void **state)
{
    (void)state;
    static const char *const hostile[] = {"(x+x+)+y", "(a*)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)z",
                                          "(?:a?){1000}a{1000}"};
    char text[5000];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        struct arena a;
        const struct regex *re;
        struct regex_error error;
        arena_init(&a, 0);
        assert_int_equal(regex_new(str_of(hostile[i]), &a, &re, &error), 0);
        (void)regex_match(re, (struct str){text, sizeof(text)});
        arena_release(&a);
    }
}

static void test_depth(void **state)
{
    (void)state;
    for (size_t depth = 998; depth <= 1001; depth++) {
        struct arena a;
        const struct regex *re;
        struct regex_error error;
        struct buf b = BUF_INIT;
        arena_init(&a, 0);
        for (size_t i = 0; i < depth; i++)
            buf_add_char(&b, '(');
        buf_add_char(&b, 'a');
        for (size_t i = 0; i < depth; i++)
            buf_add_char(&b, ')');
        int r = regex_new(buf_str(&b), &a, &re, &error);
        assert_int_equal(r, depth + 1 <= 1000 ? 0 : -EINVAL);
        buf_release(&b);
        arena_release(&a);
    }
}

/* Random bytes, mostly operators: whatever compiles agrees with itself. */
static bool agrees(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static const char alphabet[] = "ab.*+?|()[]^$\\{}1,-dwpLi:\xC3\xA9";
    char expression[64], text[64];
    size_t n = rand_below(r, MIN(size, sizeof(expression)) + 1);
    size_t m = rand_below(r, MIN(size, sizeof(text)) + 1);
    for (size_t i = 0; i < n; i++)
        expression[i] = alphabet[rand_below(r, sizeof(alphabet) - 1)];
    for (size_t i = 0; i < m; i++)
        text[i] = "ab1\n\xC3\xA9"[rand_below(r, 6)];
    struct arena a;
    const struct regex *re;
    struct regex_error error;
    struct str s = {text, m};
    bool ok = true;
    arena_init(&a, 0);
    if (regex_new((struct str){expression, n}, &a, &re, &error) == 0) {
        struct regex_span span, all_span;
        bool found = regex_find(re, s, 0, &span, 1);
        struct regex_all all = {.re = re, .text = s};
        ok = found == regex_match(re, s) && found == regex_all_next(&all, &all_span);
        if (ok && found)
            ok = span.from <= span.to && span.to <= m && all_span.from == span.from &&
                 all_span.to == span.to;
        size_t last = 0;
        for (size_t k = 0; ok && k <= m && regex_all_next(&all, &all_span); k++) {
            ok = all_span.from >= last && k <= m;
            last = all_span.to;
        }
    }
    arena_release(&a);
    return ok;
}

static void test_agrees(void **state)
{
    (void)state;
    assert_true(prop_run("regex", 5000, agrees, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_errors), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_depth), cmocka_unit_test(test_agrees),
    };
    return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
