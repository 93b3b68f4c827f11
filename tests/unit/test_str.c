/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "prop.h"

static const struct str none = {NULL, 0};

static void comparing(void **state)
{
    (void)state;
    assert_true(str_eq(STR("a"), STR("a")));
    assert_false(str_eq(STR("a"), STR("b")));
    assert_false(str_eq(STR("a"), STR("aa")));
    assert_true(str_eq(none, STR("")));
    assert_true(str_is(STR("abc"), "abc"));
    assert_true(str_is(none, NULL));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("b"), STR("a")) > 0);
    assert_true(str_cmp(STR("a"), STR("aa")) < 0);
    assert_int_equal(str_cmp(none, STR("")), 0);
    /* By unsigned bytes, as Go. */
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_true(str_eq_fold(STR("Content-Type"), STR("content-tYPE")));
    assert_false(str_eq_fold(STR("a["), STR("A{")));
    assert_true(str_starts(STR("kubernetes.io/x"), STR("kubernetes.io/")));
    assert_false(str_starts(STR("kub"), STR("kubernetes")));
    assert_true(str_starts(none, none));
    assert_true(str_ends(STR("a.json"), STR(".json")));
    assert_false(str_ends(STR("json"), STR(".json")));
    const struct str sorted[] = {STR("a"), STR("ab"), STR("b"), STR("c")};
    for (size_t n = 0; n <= ARRAY_LEN(sorted); n++)
        for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
            assert_int_equal(str_sorted_has(sorted, n, sorted[i]), i < n);
    assert_false(str_sorted_has(sorted, ARRAY_LEN(sorted), STR("aa")));
    assert_false(str_sorted_has(sorted, ARRAY_LEN(sorted), STR("")));
    assert_false(str_sorted_has(sorted, ARRAY_LEN(sorted), STR("d")));
}

static void searching(void **state)
{
    (void)state;
    assert_int_equal(str_find(STR("a/b"), '/'), 1);
    assert_int_equal(str_find(STR("ab"), '/'), 2);
    assert_int_equal(str_find(none, '/'), 0);
    assert_int_equal(str_search(STR("hello world"), STR("o w")), 4);
    assert_int_equal(str_search(STR("hello"), STR("world")), 5);
    assert_int_equal(str_search(STR("a"), STR("")), 0);
    assert_int_equal(str_search(none, STR("a")), 0);
    assert_true(str_eq(str_trim(STR(" \t\r\na b\v\f ")), STR("a b")));
    assert_true(str_eq(str_trim(STR("   ")), STR("")));
    assert_true(str_eq(str_trim(none), none));
    assert_true(str_eq(str_slice(STR("hello"), 1, 3), STR("el")));
    assert_true(str_eq(str_slice(STR("hello"), 3, 1), STR("")));
    assert_true(str_eq(str_slice(STR("hello"), 3, 99), STR("lo")));
    assert_true(str_eq(str_slice(STR("hello"), 99, 100), STR("")));
}

static void splitting(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *parts[5];
    } cases[] = {
        {"a,b,c", {"a", "b", "c"}}, {"a", {"a"}}, {"", {""}}, {",", {"", ""}}, {"a,", {"a", ""}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = str_of(cases[i].text), head;
        size_t n = 0;
        for (; str_split(&rest, ',', &head); n++) {
            assert_non_null(cases[i].parts[n]);
            assert_true(str_is(head, cases[i].parts[n]));
        }
        assert_null(cases[i].parts[n]);
    }
    struct str rest = none, head;
    assert_false(str_split(&rest, ',', &head));
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool i64, u64;
        int64_t value;
    } cases[] = {
        {"0", true, true, 0},
        {"42", true, true, 42},
        {"007", true, true, 7},
        {"-1", true, false, -1},
        {"-0", true, false, 0},
        {"9223372036854775807", true, true, INT64_MAX},
        {"-9223372036854775808", true, false, INT64_MIN},
        {"9223372036854775808", false, true, INT64_MIN},
        {"18446744073709551615", false, true, -1},
        {"18446744073709551616", false, false, 0},
        {"-9223372036854775809", false, false, 0},
        {"99999999999999999999999", false, false, 0},
        {"", false, false, 0},
        {"-", false, false, 0},
        {"+1", false, false, 0},
        {" 1", false, false, 0},
        {"1 ", false, false, 0},
        {"1a", false, false, 0},
        {"--1", false, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 99;
        uint64_t u = 99;
        if (str_to_i64(str_of(cases[i].text), &v) != cases[i].i64 ||
            str_to_u64(str_of(cases[i].text), &u) != cases[i].u64)
            fail_msg("\"%s\"", cases[i].text);
        assert_true(v == (cases[i].i64 ? cases[i].value : 99));
        assert_true(u == (cases[i].u64 ? (uint64_t)cases[i].value : 99));
    }
}

static void runes(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        uint32_t rune;
        size_t left;
    } cases[] = {
        {STR_INIT("a"), 'a', 0},
        {STR_INIT("\0b"), 0, 1},
        {STR_INIT("\xc3\xa9x"), 0xe9, 1},
        {STR_INIT("\xe6\x97\xa5"), 0x65e5, 0},
        {STR_INIT("\xf0\x9f\x9a\x80"), 0x1f680, 0},
        {STR_INIT("\xf4\x8f\xbf\xbf"), 0x10ffff, 0},
        {STR_INIT("\x80"), STR_BAD_RUNE, 0},
        {STR_INIT("\xff\xff"), STR_BAD_RUNE, 1},
        {STR_INIT("\xc3"), STR_BAD_RUNE, 0},
        {STR_INIT("\xc3("), STR_BAD_RUNE, 1},
        {STR_INIT("\xe6\x97"), STR_BAD_RUNE, 1},
        {STR_INIT("\xc0\x80"), STR_BAD_RUNE, 1},
        {STR_INIT("\xe0\x80\x80"), STR_BAD_RUNE, 2},
        {STR_INIT("\xf0\x80\x80\x80"), STR_BAD_RUNE, 3},
        {STR_INIT("\xed\xa0\x80"), STR_BAD_RUNE, 2},
        {STR_INIT("\xf4\x90\x80\x80"), STR_BAD_RUNE, 3},
        {STR_INIT("\xf5\x80\x80\x80"), STR_BAD_RUNE, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = cases[i].text;
        assert_int_equal(str_next_rune(&rest), cases[i].rune);
        assert_int_equal(rest.n, cases[i].left);
    }
}

static void copies(void **state)
{
    (void)state;
    char *copy = str_dup(STR("a\0b"));
    assert_memory_equal(copy, "a\0b", 4);
    free(copy);
    copy = str_dup(none);
    assert_string_equal(copy, "");
    free(copy);
    copy = xasprintf("%d/%s", 1, "x");
    assert_string_equal(copy, "1/x");
    free(copy);
    copy = xstrdup("twice");
    assert_string_equal(copy, "twice");
    free(copy);
}

/* The hash depends only on the bytes, not on their address or on what follows. */
static bool hash_of_bytes(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    char a[200], b[200];
    size_t n = rand_below(r, size + 1), shift = rand_below(r, 8);
    memset(a, 1, sizeof(a));
    memset(b, 2, sizeof(b));
    for (size_t i = 0; i < n; i++)
        a[i] = b[i + shift] = (char)rand_u64(r);
    uint64_t h = str_hash((struct str){a, n});
    if (h != str_hash((struct str){b + shift, n}))
        return false;
    if (n == 0)
        return true;
    a[rand_below(r, n)] ^= (char)(1 << rand_below(r, 7));
    return h != str_hash((struct str){a, n}) && h != str_hash((struct str){b + shift, n - 1});
}

/* Typical names in clusters spread over a small table as well as random numbers. */
static void hash_spreads(void **state)
{
    (void)state;
    static unsigned char bucket[1024];
    unsigned most = 0;
    for (unsigned i = 0; i < 8192; i++) {
        char name[32];
        int n = snprintf(name, sizeof(name), "node-%05u.example", i);
        unsigned char *b = &bucket[str_hash((struct str){name, (size_t)n}) % ARRAY_LEN(bucket)];
        ++*b;
        most = MAX(most, *b);
    }
    /* The mean is 8; 30 would be extremely unlikely. */
    assert_true(most < 30);
    assert_true(hash_u64(1) != hash_u64(2));
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("hash of bytes", 5000, hash_of_bytes, NULL));
}

static void errors(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_set(NULL, -EINVAL, "x"), -EINVAL);
    assert_int_equal(err_prefix(NULL, -EINVAL, "x"), -EINVAL);
    assert_int_equal(err_set(&e, -EINVAL, "no such context \"%s\"", "a"), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_string_equal(e.msg, "no such context \"a\"");
    assert_int_equal(err_prefix(&e, -ENOENT, "%s", "config"), -ENOENT);
    assert_int_equal(e.code, -ENOENT);
    assert_string_equal(e.msg, "config: no such context \"a\"");
    /* The old message may be part of the new. */
    err_set(&e, -EIO, "<%s>", e.msg);
    assert_string_equal(e.msg, "<config: no such context \"a\">");
}

/* Too long texts are truncated and always terminated. */
static void long_errors(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, -EINVAL, "%*d", 2000, 1);
    assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
    err_prefix(&e, -EINVAL, "field");
    assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
    assert_memory_equal(e.msg, "field:  ", 8);
    for (int n = 500; n < 520; n++) {
        err_set(&e, -EINVAL, "why");
        err_prefix(&e, -EINVAL, "%*d", n, 1);
        assert_true(strlen(e.msg) < sizeof(e.msg));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing),   cmocka_unit_test(searching),    cmocka_unit_test(splitting),
        cmocka_unit_test(numbers),     cmocka_unit_test(runes),        cmocka_unit_test(copies),
        cmocka_unit_test(properties),  cmocka_unit_test(hash_spreads), cmocka_unit_test(errors),
        cmocka_unit_test(long_errors),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
