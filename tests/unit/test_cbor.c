/* SPDX-License-Identifier: Apache-2.0 */
/* CBOR: compared with the examples of RFC 8949 and with bytes of apimachinery's serializer. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/cbor.h"
#include "golden.h"

static struct str hex_of(struct str json, bool tagged, struct arena *a)
{
    struct json_value tree;
    struct buf bytes = BUF_INIT, hex = BUF_INIT;
    struct err err;
    if (json_parse(json, 0, a, &tree, &err) < 0)
        fail_msg("%.*s: %s", STR_ARG(json), err.msg);
    assert_int_equal(tagged ? cbor_write(&tree, &bytes) : cbor_write_item(&tree, &bytes), 0);
    for (size_t i = 0; i < bytes.n; i++)
        buf_add_printf(&hex, "%02x", (unsigned char)bytes.p[i]);
    struct str text = arena_dup(a, buf_str(&hex));
    buf_release(&bytes);
    buf_release(&hex);
    return text;
}

static void expect(const char *json, const char *want)
{
    struct arena a;
    arena_init(&a, 0);
    struct str got = hex_of(str_of(json), false, &a);
    if (!str_is(got, want))
        fail_msg("%s: want %s, got %.*s", json, want, STR_ARG(got));
    arena_release(&a);
}

/* Appendix A; strings are byte strings here, and keys are sorted. */
static void test_rfc_examples(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"0", "00"},
        {"10", "0a"},
        {"23", "17"},
        {"24", "1818"},
        {"100", "1864"},
        {"1000", "1903e8"},
        {"1000000", "1a000f4240"},
        {"1000000000000", "1b000000e8d4a51000"},
        {"-1", "20"},
        {"-10", "29"},
        {"-100", "3863"},
        {"-1000", "3903e7"},
        {"1.1", "fb3ff199999999999a"},
        {"1.5", "f93e00"},
        {"65504.0", "f97bff"},
        {"100000.0", "fa47c35000"},
        {"3.4028234663852886e+38", "fa7f7fffff"},
        {"1.0e+300", "fb7e37e43c8800759c"},
        {"5.960464477539063e-8", "f90001"},
        {"0.00006103515625", "f90400"},
        {"-4.0", "f9c400"},
        {"-4.1", "fbc010666666666666"},
        {"false", "f4"},
        {"true", "f5"},
        {"null", "f6"},
        {"\"\"", "40"},
        {"\"IETF\"", "4449455446"},
        {"\"\\u6c34\"", "43e6b0b4"},
        {"[]", "80"},
        {"[1,[2,3],[4,5]]", "8301820203820405"},
        {"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]",
         "98190102030405060708090a0b0c0d0e0f101112131415161718181819"},
        {"{}", "a0"},
        {"{\"b\":[2,3],\"a\":1}", "a2416101416282"
                                  "0203"},
        {"{\"aa\":1,\"b\":2,\"\":3}", "a34003416202426161"
                                      "01"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        expect(rows[i][0], rows[i][1]);
}

static void test_numbers_out_of_range(void **state)
{
    (void)state;
    static const char *const bad[] = {"1e400", "-1e400", "[1,1e999]", "{\"a\":1e999}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct json_value tree;
        struct buf bytes = BUF_INIT;
        struct arena a;
        arena_init(&a, 0);
        if (json_parse(str_of(bad[i]), 0, &a, &tree, NULL) == 0)
            assert_int_equal(cbor_write(&tree, &bytes), -ERANGE);
        buf_release(&bytes);
        arena_release(&a);
    }
    /* An integer above 64 bits becomes a float, as in Go. */
    expect("9223372036854775808", "fa5f000000");
    expect("9223372036854775807", "1b7fffffffffffffff");
    expect("-9223372036854775808", "3b7fffffffffffffff");
}

/* --- upstream's bytes ------------------------------------------------------------------------- */

struct row {
    struct str json, cbor;
};
static const struct field row_fields[] = {
    F_ONE(struct row, json, "json", 1, STR),
    F_ONE(struct row, cbor, "cbor", 2, STR),
};
static const struct type row_type = TYPE("row", struct row, row_fields);

struct table {
    LIST(struct row) objects;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, objects, "objects", 1, struct row, &row_type),
};
static const struct type table_type = TYPE("table", struct table, table_fields);

static void test_upstreams_bytes(void **state)
{
    (void)state;
    struct arena a;
    struct table table;
    arena_init(&a, 0);
    golden_load("cbor.json", &table_type, &a, &table);
    assert_true(table.objects.n > 100);
    for (size_t i = 0; i < table.objects.n; i++) {
        const struct row *row = &table.objects.v[i];
        struct str got = hex_of(row->json, true, &a);
        if (!str_eq(got, row->cbor))
            fail_msg("%.*s: want %.*s, got %.*s", STR_ARG(row->json), STR_ARG(row->cbor),
                     STR_ARG(got));
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc_examples),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_upstreams_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
