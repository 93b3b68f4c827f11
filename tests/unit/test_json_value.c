/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json_value.h"
#include "codec_random.h"
#include "codec_schema.h"
#include "json_random.h"
#include "prop.h"

/* Parsing and writing again changes nothing. */
static bool round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct json_value before, after;
    json_random(r, size, &a, &before);
    struct buf text = BUF_INIT, again = BUF_INIT;
    json_write(&before, &text);
    struct err err;
    bool ok = json_parse(buf_str(&text), JSON_STRICT, &a, &after, &err) == 0;
    if (ok)
        json_write(&after, &again);
    ok = ok && json_value_equal(&before, &after) && str_eq(buf_str(&text), buf_str(&again));
    buf_release(&text);
    buf_release(&again);
    arena_release(&a);
    return ok;
}

/* Decoding a tree equals decoding its text. */
static bool typed_alike(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct everything before = {0}, after;
    codec_random(r, &everything_type, size, &a, &before);
    struct buf text = BUF_INIT;
    json_encode(&everything_type, &before, &text);
    struct json_value tree;
    bool ok = json_parse(buf_str(&text), JSON_STRICT, &a, &tree, NULL) == 0 &&
              json_value_decode(&tree, &everything_type, JSON_STRICT, &a, &after, NULL) == 0 &&
              desc_equal(&everything_type, &before, &after);
    buf_release(&text);
    arena_release(&a);
    return ok;
}

static void test_properties(void **state)
{
    (void)state;
    assert_true(prop_run("json tree", 1000, round_trip, NULL));
    assert_true(prop_run("typed from tree", 500, typed_alike, NULL));
}

static const struct {
    const char *in, *out;
    unsigned flags;
    bool refused; /* out is the error */
} parses[] = {
    {" [ 1 , 2.50e1 , \"\\u00e4\" , null , true , false , { } ] ",
     "[1,2.50e1,\"ä\",null,true,false,{}]", 0, false},
    {"{\"b\":1,\"a\":2,\"b\":3}", "{\"b\":3,\"a\":2}", 0, false},
    {"{\"b\":1,\n\"a\":2,\n\"b\":3}", "line 1, column 1: b: duplicate field", JSON_STRICT, true},
    {"\"\xff\"", "\"\xEF\xBF\xBD\"", 0, false},
    {"\"\xff\"", "line 1, column 2: not UTF-8", JSON_STRICT, true},
    {"[1,\n2,\nx]", "line 3, column 1: [2]: expected a value", 0, true},
    {"{\"a\":{\"b\":[1,tru]}}", "line 1, column 14: a.b[1]: expected a value", 0, true},
    {"[1", "line 1, column 3: unexpected end of input", 0, true},
    {"", "line 1, column 1: unexpected end of input", 0, true},
    {"1 1", "line 1, column 3: unexpected text after the value", 0, true},
    {"{1:2}", "line 1, column 2: expected a field name in quotes", 0, true},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(parses); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct json_value v;
        struct err err = {0};
        struct buf out = BUF_INIT;
        int ret = json_parse(str_of(parses[i].in), parses[i].flags, &a, &v, &err);
        if (ret == 0)
            json_write(&v, &out);
        else
            buf_add_cstr(&out, err.msg);
        assert_string_equal(buf_cstr(&out), parses[i].out);
        assert_int_equal(ret, parses[i].refused ? -EBADMSG : 0);
        buf_release(&out);
        arena_release(&a);
    }
}

static void test_many_duplicates(void **state)
{
    (void)state;
    struct buf b = BUF_INIT;
    buf_add_char(&b, '{');
    for (int i = 0; i < 30000; i++)
        buf_add_printf(&b, "%s\"%d\":%d", i ? "," : "", i % 10000, i);
    buf_add_char(&b, '}');
    struct arena a;
    arena_init(&a, 0);
    struct json_value v;
    struct err err;
    assert_int_equal(json_parse(buf_str(&b), 0, &a, &v, &err), 0);
    assert_int_equal(v.n_members, 10000);
    assert_true(str_is(json_get(&v, STR("17"))->text, "20017"));
    assert_null(json_get(&v, STR("10000")));
    assert_true(json_value_equal(&v, &v));
    assert_int_equal(json_parse(buf_str(&b), JSON_STRICT, &a, &v, &err), -EBADMSG);
    buf_release(&b);
    arena_release(&a);
}

static void test_equal(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},
        {"0", "-0", true},
        {"9007199254740993", "9007199254740992", false},
        {"1e2", "100", true},
        {"1", "\"1\"", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,2]", false},
        {"null", "false", false},
        {"[]", "{}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct json_value x, y;
        assert_int_equal(json_parse(str_of(cases[i].a), 0, &a, &x, NULL), 0);
        assert_int_equal(json_parse(str_of(cases[i].b), 0, &a, &y, NULL), 0);
        assert_int_equal(json_value_equal(&x, &y), cases[i].equal);
        arena_release(&a);
    }
}

static void test_typed_errors(void **state)
{
    (void)state;
    static const struct {
        const char *in, *message;
    } cases[] = {
        {"{\"s\":\"a\",\n\"leaves\":[\n{},\n{\"name\":\n1}]}",
         "line 5: leaves[1].name: expected a string"},
        {"{\"s\":\"a\",\n\n\"colour\":1}", "line 3: colour: unknown field"},
        {"{\"labels\":{\n\"a\":\"b\",\n\"c\":[]}}", "line 3: labels[c]: expected a string"},
        {"\n[]", "line 2: expected an object"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct json_value v;
        struct everything out;
        struct err err = {0};
        assert_int_equal(json_parse(str_of(cases[i].in), 0, &a, &v, &err), 0);
        assert_int_equal(json_value_decode(&v, &everything_type, JSON_STRICT, &a, &out, &err),
                         -EBADMSG);
        assert_string_equal(err.msg, cases[i].message);
        arena_release(&a);
    }
}

static void test_depth(void **state)
{
    (void)state;
    for (size_t deep = JSON_MAX_DEPTH; deep <= JSON_MAX_DEPTH + 1; deep++) {
        struct buf b = BUF_INIT;
        for (size_t i = 0; i < deep; i++)
            buf_add_char(&b, '[');
        for (size_t i = 0; i < deep; i++)
            buf_add_char(&b, ']');
        struct arena a;
        arena_init(&a, 0);
        struct json_value v;
        struct err err;
        assert_int_equal(json_parse(buf_str(&b), 0, &a, &v, &err),
                         deep > JSON_MAX_DEPTH ? -EBADMSG : 0);
        buf_release(&b);
        arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),      cmocka_unit_test(test_parse),
        cmocka_unit_test(test_many_duplicates), cmocka_unit_test(test_equal),
        cmocka_unit_test(test_typed_errors),    cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests_name("json_value", tests, NULL, NULL);
}
