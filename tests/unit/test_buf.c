/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/vec.h"
#include "prop.h"

static void adding(void **state)
{
    (void)state;
    struct buf b = BUF_INIT;
    buf_add_cstr(&b, "a");
    buf_add_str(&b, STR("bc"));
    buf_add_str(&b, (struct str){0});
    buf_add_char(&b, 'd');
    buf_add_printf(&b, "%d%s", 42, "");
    buf_add_printf(&b, "%s", "");
    assert_string_equal(buf_cstr(&b), "abcd42");
    assert_int_equal(b.n, 6);
    buf_consume(&b, 2);
    assert_true(str_is(buf_str(&b), "cd42"));
    buf_consume(&b, 4);
    assert_int_equal(b.n, 0);
    buf_add_char(&b, 'x');
    buf_clear(&b);
    assert_string_equal(buf_cstr(&b), "");
    buf_release(&b);
}

static void taking(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    char *empty = buf_take(&b);
    assert_string_equal(empty, "");
    free(empty);
    buf_add_cstr(&b, "hello");
    char *text = buf_take(&b);
    assert_string_equal(text, "hello");
    assert_int_equal(b.n, 0);
    assert_null(b.p);
    assert_int_equal(b.max, 100);
    free(text);
}

/* The maximum is exact, by every function that appends. */
static void maximum(void **state)
{
    (void)state;
    for (size_t max = 1; max < 200; max++) {
        struct buf b;
        buf_init(&b, max);
        for (size_t i = 0; i < max; i++)
            buf_add_char(&b, 'x');
        assert_false(b.overflow);
        assert_int_equal(b.n, max);
        /* The NUL does not count. */
        assert_int_equal(strlen(buf_cstr(&b)), max);
        buf_add_char(&b, 'y');
        assert_true(b.overflow);
        buf_add(&b, "yy", 2);
        buf_add_printf(&b, "%d", 5);
        assert_int_equal(b.n, max);
        assert_null(strchr(buf_cstr(&b), 'y'));
        buf_clear(&b);
        assert_false(b.overflow);
        buf_add_printf(&b, "%*d", (int)max, 1);
        assert_false(b.overflow);
        buf_add_printf(&b, "%d", 1);
        assert_true(b.overflow);
        buf_release(&b);
    }
    struct buf b;
    buf_init(&b, 10);
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_true(b.overflow);
    buf_release(&b);
}

static bool as_model(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static char model[20000];
    size_t n = 0;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < size; i++) {
        char piece[200];
        size_t len = rand_below(r, sizeof(piece));
        memset(piece, (int)rand_below(r, 256), len);
        if (n && rand_below(r, 4) == 0) {
            size_t drop = rand_below(r, n + 1);
            memmove(model, model + drop, n - drop);
            n -= drop;
            buf_consume(&b, drop);
            continue;
        }
        memcpy(model + n, piece, len);
        n += len;
        buf_add(&b, piece, len);
    }
    bool same = str_eq(buf_str(&b), (struct str){model, n}) && !b.overflow;
    buf_release(&b);
    return same;
}

static void properties(void **state)
{
    (void)state;
    assert_true(prop_run("buf as model", 500, as_model, NULL));
}

static void vectors(void **state)
{
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 100; i++)
        vec_push(&v, i);
    vec_insert(&v, 0, -1);
    vec_insert(&v, v.n, 100);
    vec_insert(&v, 51, -2);
    assert_int_equal(v.n, 103);
    assert_int_equal(v.v[0], -1);
    assert_int_equal(v.v[51], -2);
    assert_int_equal(v.v[52], 50);
    assert_int_equal(vec_last(&v), 100);
    vec_remove(&v, 51);
    vec_remove(&v, 0);
    assert_int_equal(vec_pop(&v), 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(v.v[i], i);
    vec_remove(&v, v.n - 1);
    assert_int_equal(v.n, 99);
    vec_swap_remove(&v, 0);
    assert_int_equal(v.v[0], 98);
    vec_clear(&v);
    assert_int_equal(v.n, 0);
    vec_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding),     cmocka_unit_test(taking),  cmocka_unit_test(maximum),
        cmocka_unit_test(properties), cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
