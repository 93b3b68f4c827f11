/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/base64.h"
#include "prop.h"

static const struct {
    const char *text;
    const char *bytes; /* NULL: rejected */
} cases[] = {
    {"", ""},
    {"Zg==", "f"},
    {"Zm8=", "fo"},
    {"Zm9v", "foo"},
    {"Zm9vYg==", "foob"},
    {"Zm9v\nYg==\n", "foob"},
    {"Z\r\ng=\n=", "f"},
    {"Zg", NULL},
    {"Zg=", NULL},
    {"Z===", NULL},
    {"=", NULL},
    {"====", NULL},
    {"Zg==Zg==", NULL},
    {"Zg===", NULL},
    {"Zm9v=", NULL},
    {"Zm 9v", NULL},
    {"Zm-_", NULL},
    {"Zm9vZ", NULL},
    {"Zh==", "f"},
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[64];
        size_t n;
        bool ok = base64_decode(str_of(cases[i].text), out, &n);
        assert_int_equal(ok, cases[i].bytes != NULL);
        if (ok)
            assert_true(str_is((struct str){out, n}, cases[i].bytes));
    }
}

static bool round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    char bytes[200], again[BASE64_DECODED_MAX(280)];
    size_t n = rand_below(r, 2 * size), m;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)rand_u64(r);
    struct buf text = BUF_INIT;
    base64_encode((struct str){bytes, n}, &text);
    bool ok = text.n == (n + 2) / 3 * 4 && base64_decode(buf_str(&text), again, &m) && m == n &&
              memcmp(bytes, again, n) == 0;
    buf_release(&text);
    return ok;
}

static void test_round_trip(void **state)
{
    (void)state;
    assert_true(prop_run("base64", 1000, round_trip, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
