/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities: compared with a table made by apimachinery, and round trips. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/quantity.h"
#include "codec/json.h"
#include "codec/proto.h"
#include "golden.h"
#include "prop.h"

/* --- the table -------------------------------------------------------------------------------- */

struct parse_row {
    struct str in, err, out, canon, format;
    int32_t sign;
    bool zero;
    int64_t value, milli;
    int64_t *nano;
};
static const struct field parse_row_fields[] = {
    F_ONE(struct parse_row, in, "in", 1, STR),
    F_ONE(struct parse_row, err, "err", 2, STR),
    F_ONE(struct parse_row, out, "out", 3, STR),
    F_ONE(struct parse_row, canon, "canon", 4, STR),
    F_ONE(struct parse_row, format, "format", 5, STR),
    F_ONE(struct parse_row, sign, "sign", 6, INT32),
    F_ONE(struct parse_row, zero, "zero", 7, BOOL),
    F_ONE(struct parse_row, value, "value", 8, INT64),
    F_ONE(struct parse_row, milli, "milli", 9, INT64),
    F_PTR(struct parse_row, nano, "nano", 10, INT64),
};
static const struct type parse_row_type = TYPE("parse", struct parse_row, parse_row_fields);

struct pair_row {
    struct str a, b, add, sub;
    int32_t cmp;
};
static const struct field pair_row_fields[] = {
    F_ONE(struct pair_row, a, "a", 1, STR),       F_ONE(struct pair_row, b, "b", 2, STR),
    F_ONE(struct pair_row, add, "add", 3, STR),   F_ONE(struct pair_row, sub, "sub", 4, STR),
    F_ONE(struct pair_row, cmp, "cmp", 5, INT32),
};
static const struct type pair_row_type = TYPE("pair", struct pair_row, pair_row_fields);

struct json_row {
    struct str json, err, out;
};
static const struct field json_row_fields[] = {
    F_ONE(struct json_row, json, "json", 1, STR),
    F_ONE(struct json_row, err, "err", 2, STR),
    F_ONE(struct json_row, out, "out", 3, STR),
};
static const struct type json_row_type = TYPE("json", struct json_row, json_row_fields);

struct table {
    LIST(struct parse_row) parse;
    LIST(struct pair_row) pairs;
    LIST(struct json_row) json;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, parse, "parse", 1, struct parse_row, &parse_row_type),
    F_LIST_MSG(struct table, pairs, "pairs", 2, struct pair_row, &pair_row_type),
    F_LIST_MSG(struct table, json, "json", 3, struct json_row, &json_row_type),
};
static const struct type table_type = TYPE("table", struct table, table_fields);

struct fixture {
    struct arena a;
    struct table table;
};

static int set_up(void **state)
{
    struct fixture *f = xnew(struct fixture);
    arena_init(&f->a, 0);
    golden_load("quantity.json", &table_type, &f->a, &f->table);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_release(&f->a);
    free(f);
    return 0;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static struct str text_of(const struct quantity *q, struct arena *a)
{
    struct buf b = BUF_INIT;
    quantity_write(q, &b);
    struct str s = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return s;
}

static struct quantity parse(struct str text, struct arena *a)
{
    struct quantity q;
    struct err e;
    if (quantity_parse(text, a, &q, &e) < 0)
        fail_msg("%.*s: %s", STR_ARG(text), e.msg);
    return q;
}

static void same(struct str in, const char *what, struct str want, struct str got)
{
    if (!str_eq(want, got))
        fail_msg("%.*s: %s: want %.*s, got %.*s", STR_ARG(in), what, STR_ARG(want), STR_ARG(got));
}

static void same_int(struct str in, const char *what, int64_t want, int64_t got)
{
    if (want != got)
        fail_msg("%.*s: %s: want %lld, got %lld", STR_ARG(in), what, (long long)want,
                 (long long)got);
}

/* --- tests ------------------------------------------------------------------------------------ */

static const char *const formats[] = {
    [QUANTITY_DECIMAL_SI] = "DecimalSI",
    [QUANTITY_BINARY_SI] = "BinarySI",
    [QUANTITY_DECIMAL_EXPONENT] = "DecimalExponent",
};

static void check_parse_row(const struct parse_row *row, struct arena *a)
{
    struct quantity q;
    struct err e;
    int r = quantity_parse(row->in, a, &q, &e);
    if (!str_empty(row->err)) {
        if (r == 0)
            fail_msg("\"%.*s\" must be refused", STR_ARG(row->in));
        assert_int_equal(r, -EINVAL);
        same(row->in, "err", row->err, str_of(e.msg));
        return;
    }
    if (r < 0)
        fail_msg("\"%.*s\": %s", STR_ARG(row->in), e.msg);
    same(row->in, "text", row->out, text_of(&q, a));
    same(row->in, "format", row->format, str_of(formats[q.format]));
    same_int(row->in, "sign", row->sign, quantity_sign(&q));
    same_int(row->in, "zero", row->zero, quantity_is_zero(&q));
    same_int(row->in, "value", row->value, quantity_value(&q));
    same_int(row->in, "milli", row->milli, quantity_milli_value(&q));
    if (row->nano)
        same_int(row->in, "nano", *row->nano, quantity_scaled_value(&q, -9));
    /* Adding zero keeps the amount but drops the original format. */
    struct quantity zero = {0};
    quantity_add(&q, &zero);
    same(row->in, "canonical", str_empty(row->canon) ? row->out : row->canon, text_of(&q, a));
}

static void test_parse(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.parse.n > 1000);
    for (size_t i = 0; i < f->table.parse.n; i++)
        check_parse_row(&f->table.parse.v[i], &f->a);
}

/* Sums above 128 bits saturate; upstream's do not. */
static bool at_bound(struct str text)
{
    return str_search(text, STR("170141183460469231731687303715884105727")) < text.n;
}

static void test_pairs(void **state)
{
    struct fixture *f = *state;
    size_t bounded = 0;
    assert_true(f->table.pairs.n > 1000);
    for (size_t i = 0; i < f->table.pairs.n; i++) {
        const struct pair_row *row = &f->table.pairs.v[i];
        struct quantity x = parse(row->a, &f->a), y = parse(row->b, &f->a);
        same_int(row->a, "cmp", row->cmp, quantity_cmp(&x, &y));
        same_int(row->a, "cmp, turned", -row->cmp, quantity_cmp(&y, &x));
        struct quantity sum = x, difference = x;
        quantity_add(&sum, &y);
        quantity_sub(&difference, &y);
        struct str add = text_of(&sum, &f->a), sub = text_of(&difference, &f->a);
        if (at_bound(add) || at_bound(sub)) {
            assert_true(row->add.n >= 30 && row->sub.n >= 30);
            bounded++;
            continue;
        }
        same(row->a, "add", row->add, add);
        same(row->a, "sub", row->sub, sub);
    }
    assert_true(bounded < f->table.pairs.n / 4);
}

struct holder {
    struct quantity q;
};
static const struct field holder_fields[] = {
    F_ALWAYS_CUSTOM(struct holder, q, "q", 1, struct quantity, &quantity_custom),
};
static const struct type holder_type = TYPE("holder", struct holder, holder_fields);

static void test_json(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.json.n > 10);
    for (size_t i = 0; i < f->table.json.n; i++) {
        const struct json_row *row = &f->table.json.v[i];
        /* Upstream does not decode escapes in a quantity; berth's decoder always does. */
        if (str_find(row->json, '\\') < row->json.n)
            continue;
        struct holder h;
        struct err e;
        int r = json_decode(arena_printf(&f->a, "{\"q\":%.*s}", STR_ARG(row->json)), &holder_type,
                            0, &f->a, &h, &e);
        if (str_empty(row->err) != (r == 0))
            fail_msg("%.*s: want %s, got %s", STR_ARG(row->json),
                     str_empty(row->err) ? "a quantity" : "an error", r == 0 ? "one" : e.msg);
        if (r == 0)
            same(row->json, "json", row->out, text_of(&h.q, &f->a));
    }
}

static void test_codecs_agree(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->table.parse.n; i++) {
        const struct parse_row *row = &f->table.parse.v[i];
        if (!str_empty(row->err))
            continue;
        struct holder h = {parse(row->in, &f->a)}, from_json, from_proto;
        struct err e;
        struct buf json = BUF_INIT, proto = BUF_INIT;
        json_encode(&holder_type, &h, &json);
        proto_encode(&holder_type, &h, &proto);
        /* Upstream writes "1" for 1000E, so the amount may differ: the text decides. */
        assert_int_equal(json_decode(buf_str(&json), &holder_type, 0, &f->a, &from_json, &e), 0);
        assert_int_equal(proto_decode(buf_str(&proto), &holder_type, &f->a, &from_proto, &e), 0);
        same(row->in, "through JSON", row->out, text_of(&from_json.q, &f->a));
        same(row->in, "through protobuf", row->out, text_of(&from_proto.q, &f->a));
        buf_release(&json);
        buf_release(&proto);
    }
}

static void test_bad_protobuf(void **state)
{
    struct fixture *f = *state;
    struct quantity q;
    struct err e;
    assert_int_equal(quantity_custom.from_proto(STR(""), &f->a, &q, &e), 0);
    assert_true(quantity_is_zero(&q));
    assert_true(quantity_custom.from_proto(STR("\x0a\x02"
                                               "1"),
                                           &f->a, &q, &e) < 0);
    assert_true(quantity_custom.from_proto(STR("\x0a"), &f->a, &q, &e) < 0);
    assert_true(quantity_custom.from_proto(STR("\x0a\x00"), &f->a, &q, &e) < 0);
    assert_true(quantity_custom.from_proto(STR("\x08\x01"), &f->a, &q, &e) < 0);
    /* An unknown field is skipped, the last text wins. */
    struct str message = STR("\x0a\x01"
                             "1"
                             "\x10\x05"
                             "\x0a\x02"
                             "7k");
    assert_int_equal(quantity_custom.from_proto(message, &f->a, &q, &e), 0);
    assert_int_equal(quantity_value(&q), 7000);
}

/* Text composed of parts of quantities, mostly valid. */
static struct str random_text(struct rand *r, size_t size, char *room)
{
    static const char *const tails[] = {"",   "n",  "u",  "m",   "k",    "M",  "G",
                                        "T",  "P",  "E",  "Ki",  "Mi",   "Gi", "Ti",
                                        "Pi", "Ei", "e3", "E-4", "e+12", "x"};
    size_t n = 0;
    if (rand_below(r, 4) == 0)
        room[n++] = "+-"[rand_below(r, 2)];
    size_t digits = 1 + rand_below(r, 1 + size / 2), point = rand_below(r, 2 * digits);
    for (size_t i = 0; i < digits; i++) {
        if (i == point)
            room[n++] = '.';
        room[n++] = (char)('0' + (rand_below(r, 3) ? rand_below(r, 10) : 0));
    }
    for (const char *t = tails[rand_below(r, ARRAY_LEN(tails))]; *t; t++)
        room[n++] = *t;
    return (struct str){room, n};
}

static bool within(const struct quantity *q, int32_t exponent)
{
    struct quantity low = {.lo = -1, .scale = exponent}, high = {.lo = 1, .scale = exponent};
    return quantity_cmp(q, &low) > 0 && quantity_cmp(q, &high) < 0;
}

/* The canonical text has the same amount and is its own canonical text, except for binary input:
 * 62.5Ki is written 64000, and that 64k. */
static bool canonical_is_stable(struct rand *r, size_t size, void *ctx)
{
    struct arena *a = ctx;
    char room[200];
    struct quantity q, again, zero = {0};
    arena_reset(a);
    if (quantity_parse(random_text(r, size, room), a, &q, NULL) < 0)
        return true;
    quantity_add(&q, &zero);
    struct str canonical = text_of(&q, a);
    if (quantity_parse(canonical, a, &again, NULL) < 0)
        return false;
    /* From 1000E on the text lacks a suffix. */
    if (within(&q, 21) && quantity_cmp(&again, &q) != 0)
        return false;
    return q.format == QUANTITY_BINARY_SI || str_eq(canonical, text_of(&again, a));
}

static bool arithmetic_is_sound(struct rand *r, size_t size, void *ctx)
{
    struct arena *a = ctx;
    char room[2][200];
    struct quantity x, y;
    arena_reset(a);
    if (quantity_parse(random_text(r, size / 2, room[0]), a, &x, NULL) < 0 ||
        quantity_parse(random_text(r, size / 2, room[1]), a, &y, NULL) < 0)
        return true;
    struct quantity sum = x, turned = y, back;
    quantity_add(&sum, &y);
    quantity_add(&turned, &x);
    back = sum;
    quantity_sub(&back, &y);
    bool commutes = quantity_cmp(&sum, &turned) == 0;
    bool bounded = within(&x, 28) && within(&y, 28);
    bool monotone = quantity_sign(&y) == quantity_cmp(&sum, &x);
    return commutes && (!bounded || (quantity_cmp(&back, &x) == 0 && monotone));
}

static void test_properties(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    bool stable = prop_run("the canonical text is stable", 20000, canonical_is_stable, &a);
    bool sound = prop_run("sums and differences", 20000, arithmetic_is_sound, &a);
    arena_release(&a);
    assert_true(stable && sound);
}

static void test_map(void **state)
{
    (void)state;
    struct quantity_entry entries[] = {
        {STR("cpu"), quantity_of_milli(1500, QUANTITY_DECIMAL_SI)},
        {STR("hugepages-2Mi"), quantity_of(0, QUANTITY_BINARY_SI)},
        {STR("memory"), quantity_of(1 << 20, QUANTITY_BINARY_SI)},
    };
    quantity_map map = {entries, ARRAY_LEN(entries)}, empty = {0};
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        assert_ptr_equal(quantity_map_get(&map, entries[i].key), &entries[i].value);
    assert_null(quantity_map_get(&map, STR("disk")));
    assert_null(quantity_map_get(&map, STR("")));
    assert_null(quantity_map_get(&empty, STR("cpu")));
    assert_int_equal(sizeof(struct quantity), 24);
}

/* Upstream's surprising results. */
static void test_oddities(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        int64_t value, milli;
    } cases[] = {
        {"0.9765625Ki", "1k", 1000, 1000000},
        {"-0.9765625Ki", "-1k", -1000, -1000000},
        {"62.5Ki", "64000", 64000, 64000000},
        {"1000E", "1", 0, 0},
        {"1.500", "1.500", 2, 1500},
        {"1.5", "1500m", 2, 1500},
        {".", "0", 0, 0},
        {"Ki", "0", 0, 0},
        {"1e2147483647", "10e2147483646", 0, 1},
        {"1e4294967299", "1e4294967299", 1000, 1000000},
        {"123456789012345678901234567890123456789012345678901234567890",
         "123456789012345678901234567890123456789012345678901234567890", -8300149958212908334,
         884874956389893200},
        {"0.99999999999999999999999", "1", 1, 1000},
        {"-9223372036854775809", "-9223372036854775809", -1, -1000},
        {"1e18", "1e18", 1000000000000000000, 0},
        {"1e16", "10e15", 10000000000000000, 0},
    };
    struct arena a;
    arena_init(&a, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str in = str_of(cases[i].in);
        struct quantity q = parse(in, &a);
        same(in, "text", str_of(cases[i].out), text_of(&q, &a));
        same_int(in, "value", cases[i].value, quantity_value(&q));
        same_int(in, "milli", cases[i].milli, quantity_milli_value(&q));
    }
    struct quantity q;
    assert_int_equal(quantity_parse(STR("Ei"), &a, &q, NULL), -EINVAL);
    arena_release(&a);
}

/* Above 128 bits sums saturate on both sides, and can return from there. */
static void test_bound(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct quantity huge = parse(STR("1e50"), &a), one = parse(STR("1n"), &a), q = one;
    struct quantity digits = parse(STR("123456789012345678901234567890123456789012345"), &a);
    struct quantity zero = {0};
    quantity_sub(&q, &huge);
    assert_true(at_bound(text_of(&q, &a)));
    assert_int_equal(quantity_sign(&q), -1);
    quantity_sub(&q, &one);
    quantity_sub(&zero, &q);
    assert_true(at_bound(text_of(&q, &a)) && at_bound(text_of(&zero, &a)));
    assert_int_equal(quantity_sign(&zero), 1);
    quantity_sub(&zero, &one);
    assert_false(at_bound(text_of(&zero, &a)));

    q = digits;
    quantity_sub(&q, &digits);
    assert_true(quantity_is_zero(&q));
    quantity_sub(&q, &digits);
    assert_int_equal(quantity_sign(&q), -1);
    assert_int_equal(quantity_cmp(&q, &digits), -1);
    quantity_add(&q, &digits);
    assert_true(quantity_is_zero(&q));
    arena_release(&a);
}

static void test_multiply(void **state)
{
    (void)state;
    static const struct {
        const char *x, *y, *product;
    } cases[] = {
        {"1Gi", "2", "2Gi"},      {"1Gi", "0.5", "512Mi"}, {"3Ki", "500m", "1536"},
        {"1500m", "2", "3"},      {"2", "1500m", "3"},     {"100m", "100m", "10m"},
        {"1e3", "2Ki", "2048e3"}, {"-2", "3", "-6"},       {"4", "0", "0"},
    };
    struct arena a;
    arena_init(&a, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct quantity x = parse(str_of(cases[i].x), &a), y = parse(str_of(cases[i].y), &a);
        quantity_multiply(&x, &y);
        same(str_of(cases[i].x), "product", str_of(cases[i].product), text_of(&x, &a));
    }
    /* Beyond 128 bits. */
    struct quantity huge = parse(STR("-99999999999999999999999"), &a), other = huge;
    quantity_multiply(&huge, &other);
    assert_true(at_bound(text_of(&huge, &a)));
    assert_int_equal(quantity_sign(&huge), 1);
    arena_release(&a);
}

/* A text of a megabyte is parsed in linear time and freed. */
static void test_long(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct buf b = BUF_INIT;
    buf_add_char(&b, '9');
    for (size_t i = 0; i < 1 << 20; i++)
        buf_add_char(&b, '9');
    struct quantity q = parse(buf_str(&b), &a);
    same(STR("999…"), "text", buf_str(&b), text_of(&q, &a));
    buf_add_cstr(&b, ".0000000001");
    q = parse(buf_str(&b), &a);
    assert_int_equal(quantity_sign(&q), 1);
    buf_clear(&b);
    buf_add_cstr(&b, "0.");
    for (size_t i = 0; i < 1 << 20; i++)
        buf_add_char(&b, '3');
    buf_add_cstr(&b, "Mi");
    q = parse(buf_str(&b), &a);
    assert_int_equal(quantity_value(&q), 349526);
    buf_release(&b);
    arena_release(&a);
}

/* How 1e18 cores overflow depends on whether it was compared with an amount outside of int64. */
static void test_raise(void **state)
{
    struct fixture *f = *state;
    struct quantity small = parse(STR("1"), &f->a), large = parse(STR("1e18"), &f->a);
    struct quantity wide = parse(STR("9223372036854775808m"), &f->a), q = small;
    quantity_raise(&q, &large);
    assert_int_equal(quantity_cmp(&q, &large), 0);
    assert_int_equal(quantity_milli_value(&q), quantity_milli_value(&large));
    quantity_raise(&q, &small);
    assert_int_equal(quantity_cmp(&q, &large), 0);
    q = wide;
    quantity_raise(&q, &large);
    assert_int_equal(quantity_cmp(&q, &large), 0);
    assert_true(quantity_milli_value(&q) == INT64_MIN);
    assert_int_not_equal(quantity_milli_value(&large), quantity_milli_value(&q));
}

/* The results of AsApproximateFloat64, to the bit for amounts of up to 128 bits. */
static void test_approximate(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"0", 0},
        {"100m", 0.1},
        {"1.5", 1.5},
        {"123456789n", 0.12345678900000001},
        {"1536Mi", 1.610612736e+09},
        {"3Ei", 3.458764513820541e+18},
        {"-2k", -2000},
        {"7u", 7e-06},
        {"333333333333333333333333333", 3.333333333333333e+26},
        {"1e30", 1e+30},
        {"0.000000001", 1e-09},
        {"999m", 0.999},
        {"1.1Gi", 1.1811160064e+09},
        {"-1500m", -1.5},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = parse(str_of(rows[i].text), &f->a);
        if (quantity_approximate(&q) != rows[i].want)
            fail_msg("%s: %.17g", rows[i].text, quantity_approximate(&q));
    }
    struct quantity big = parse(STR("12345678901234567890123456789012345678901234567890"), &f->a);
    double ratio = quantity_approximate(&big) / 1.234567890123457e+49;
    assert_true(ratio > 1 - 1e-15 && ratio < 1 + 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_codecs_agree),
        cmocka_unit_test(test_bad_protobuf), cmocka_unit_test(test_properties),
        cmocka_unit_test(test_raise),        cmocka_unit_test(test_map),
        cmocka_unit_test(test_long),         cmocka_unit_test(test_oddities),
        cmocka_unit_test(test_bound),        cmocka_unit_test(test_multiply),
        cmocka_unit_test(test_approximate),
    };
    return cmocka_run_group_tests_name("quantity", tests, set_up, tear_down);
}
