/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json.h"
#include "codec_random.h"
#include "codec_schema.h"
#include "objects.h"
#include "prop.h"

/* --- round trips ------------------------------------------------------------------------------ */

static bool round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct everything before = {0}, after;
    codec_random(r, &everything_type, size, &a, &before);
    struct buf text = BUF_INIT;
    json_encode(&everything_type, &before, &text);
    struct err err;
    unsigned flags = rand_below(r, 2) ? JSON_STRICT : 0;
    bool ok = json_decode(buf_str(&text), &everything_type, flags, &a, &after, &err) == 0;
    if (!ok)
        print_error("%s\n%.*s\n", err.msg, STR_ARG(buf_str(&text)));
    ok = ok && desc_equal(&everything_type, &before, &after);
    buf_release(&text);
    arena_release(&a);
    return ok;
}

static void test_round_trip(void **state)
{
    (void)state;
    assert_true(prop_run("json round trip", 2000, round_trip, NULL));
}

/* Decodes a few fixed and many damaged texts without crashing. */
static bool survives_damage(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct everything before = {0}, after;
    codec_random(r, &everything_type, size, &a, &before);
    struct buf text = BUF_INIT;
    json_encode(&everything_type, &before, &text);
    for (size_t n = 1 + rand_below(r, 3); n > 0 && text.n; n--)
        text.p[rand_below(r, text.n)] = (char)rand_u64(r);
    struct err err;
    struct str part = {text.p, rand_below(r, text.n + 1)};
    int ret = json_decode(part, &everything_type, 0, &a, &after, &err);
    bool ok = ret == 0 || (ret == -EBADMSG && strncmp(err.msg, "line ", 5) == 0);
    buf_release(&text);
    arena_release(&a);
    return ok;
}

static void test_damage(void **state)
{
    (void)state;
    assert_true(prop_run("json damage", 3000, survives_damage, NULL));
}

/* --- accepted input and its meaning ----------------------------------------------------------- */

/* in is decoded and encoded again. NULL: rejected. */
struct accept_case {
    const char *in, *out;
    unsigned flags;
};

#define OUT(text) "{" text "\"count\":0,\"always\":{}}"

static const struct accept_case accepted[] = {
    {"{}", OUT(""), 0},
    {" { 's' : 'x' , 'b' : true } ", OUT("'s':'x','b':true,"), 0},
    {"null", OUT(""), JSON_STRICT},
    {"{'s':null,'i32':null,'leaf':null,'leaves':null,'labels':null,'ps':null}", OUT(""),
     JSON_STRICT},
    {"{'kind':'Pod','apiVersion':'v1','url':'u','file':{'port':1}}",
     "{'kind':'Pod','apiVersion':'v1','count':0,'always':{},"
     "'file':{'port':1},'url':'u'}",
     JSON_STRICT},
    /* integers */
    {"{'i32':2147483647,'i64':-9223372036854775808}",
     OUT("'i32':2147483647,'i64':-9223372036854775808,"), 0},
    {"{'i32':-0}", OUT(""), 0},
    {"{'i32':2147483648}", NULL, 0},
    {"{'i64':9223372036854775808}", NULL, 0},
    {"{'i32':1.0}", NULL, 0},
    {"{'i32':1e3}", NULL, 0},
    {"{'i32':'1'}", NULL, 0},
    {"{'i32':01}", NULL, 0},
    {"{'i32':-}", NULL, 0},
    {"{'i32':+1}", NULL, 0},
    {"{'d':1e3}", "{'d':1000,'count':0,'always':{}}", 0},
    {"{'d':0.1}", "{'d':0.1,'count':0,'always':{}}", 0},
    {"{'d':1.}", NULL, 0},
    {"{'d':.5}", NULL, 0},
    {"{'d':1e}", NULL, 0},
    {"{'d':1e999}", NULL, 0},
    /* strings */
    {"{'s':'\\u0041\\n\\/`\\\\\\b\\f\\r\\t'}", OUT("'s':'A\\n/`\\\\\\b\\f\\r\\t',"), 0},
    {"{'s':'\\ud83d\\ude00'}", OUT("'s':'\xF0\x9F\x98\x80',"), JSON_STRICT},
    {"{'s':'\\ud83d'}", OUT("'s':'\xEF\xBF\xBD',"), JSON_STRICT},
    {"{'s':'\\ude00x\\ud83d\\u0041'}",
     OUT("'s':'\xEF\xBF\xBDx\xEF\xBF\xBD"
         "A',"),
     0},
    {"{'s':'a\xff\xc3('}", OUT("'s':'a\xEF\xBF\xBD\xEF\xBF\xBD(',"), 0},
    {"{'s':'a\xff'}", NULL, JSON_STRICT},
    {"{'s':'\xed\xa0\x80'}", NULL, JSON_STRICT},
    {"{'s':'<a&b>\\u2028'}", OUT("'s':'\\u003ca\\u0026b\\u003e\\u2028',"), 0},
    {"{'s':'\\u007f\\u0000\\u001f'}", OUT("'s':'\x7f\\u0000\\u001f',"), 0},
    {"{'s':'a\nb'}", NULL, 0},
    {"{'s':'\\x'}", NULL, 0},
    {"{'s':'\\u12g4'}", NULL, 0},
    {"{'s':'", NULL, 0},
    {"{\\'s\\':\\'\\", NULL, 0},
    {"{'s':'\\u12", NULL, 0},
    {"{'\\u0073':'escaped name'}", OUT("'s':'escaped name',"), JSON_STRICT},
    {"{'bytes':'aGk='}", OUT("'bytes':'aGk=',"), 0},
    {"{'bytes':'aGk'}", NULL, 0},
    {"{'bytes':'aG k'}", NULL, 0},
    /* type mismatches */
    {"{'s':1}", NULL, 0},
    {"{'b':'true'}", NULL, 0},
    {"{'b':tru}", NULL, 0},
    {"{'leaf':[]}", NULL, 0},
    {"{'leaves':{}}", NULL, 0},
    {"{'labels':[]}", NULL, 0},
    {"{'labels':{'a':1}}", NULL, 0},
    {"[]", NULL, 0},
    {"", NULL, 0},
    /* unknown fields are skipped, and still have to be JSON */
    {"{'x':[1,-2.5e-3,'\\u00e4',{'a':{}},[],true,false,null],'b':true}", OUT("'b':true,"), 0},
    {"{'x':[1,]}", NULL, 0},
    {"{'x':{'a'}}", NULL, 0},
    {"{'x':{,}}", NULL, 0},
    {"{'x':nul}", NULL, 0},
    {"{'x':1 2}", NULL, 0},
    {"{'x':'\\q'}", NULL, 0},
    {"{'x':1}", NULL, JSON_STRICT},
    {"{'b':true,}", NULL, 0},
    {"{'b':true} x", NULL, 0},
    {"{'b':true", NULL, 0},
    {"{b:true}", NULL, 0},
    {"{'b' true}", NULL, 0},
    /* lists and maps */
    {"{'i32s':[1,null,3],'strings':['a','']}",
     "{'count':0,'always':{},'strings':['a',''],'i32s':[1,0,3]}", 0},
    {"{'leaves':[{},{'on':true}]}", "{'count':0,'always':{},'leaves':[{},{'on':true}]}", 0},
    {"{'labels':{'b':'1','a':'2','b':'3','':'4'}}",
     "{'count':0,'always':{},'labels':{'':'4','a':'2','b':'3'}}", 0},
    {"{'labels':{'a':'1','a':'2'}}", NULL, JSON_STRICT},
    {"{'limits':{'cpu':'0x1f','memory':16}}",
     "{'count':0,'always':{},'limits':{'cpu':'0x1f','memory':'0x10'}}", 0},
    {"{'hex':true}", NULL, 0},
    {"{'hex':'12'}", NULL, 0},
    {"{'raw': {'a' : [ 1 ]} }", "{'raw':{'a' : [ 1 ]},'count':0,'always':{}}", 0},
    {"{'raw': {'a'  [ 1 ]} }", NULL, 0},
    {"{'raw': '\xff' }", NULL, 0},
    /* duplicates */
    {"{'s':'a','s':'b','leaf':{'port':1},'leaf':{'on':true}}",
     "{'s':'b','leaf':{'port':1,'on':true},'count':0,'always':{}}", 0},
    {"{'s':'a','s':'b'}", NULL, JSON_STRICT},
    {"{'url':'a','b':true,'url':'b'}", NULL, JSON_STRICT},
    {"{'leaf':{'name':'a'},'pleaf':{'name':'a'}}",
     "{'leaf':{'name':'a'},'count':0,'always':{},'pleaf':{'name':'a'}}", JSON_STRICT},
    /* case */
    {"{'LEAFMAP':{},'I32':3}", OUT("'i32':3,"), JSON_FOLD_CASE | JSON_STRICT},
    {"{'I32':3}", OUT(""), 0},
};

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        const struct accept_case *c = &accepted[i];
        struct arena a;
        arena_init(&a, 0);
        struct everything v;
        struct err err = {.msg = ""};
        int ret = json_decode(json_quotes_str(c->in), &everything_type, c->flags, &a, &v, &err);
        if (!c->out) {
            if (ret != -EBADMSG)
                print_error("accepted: %s\n", c->in);
            assert_int_equal(ret, -EBADMSG);
        } else {
            if (ret)
                print_error("%s: %s\n", c->in, err.msg);
            assert_int_equal(ret, 0);
            struct buf out = BUF_INIT;
            json_encode(&everything_type, &v, &out);
            assert_string_equal(buf_cstr(&out), json_quotes(c->out));
            buf_release(&out);
        }
        arena_release(&a);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

static const struct {
    const char *in;
    unsigned flags;
    const char *message;
} errors[] = {
    {"{\n  \"leaves\": [{},\n {\"name\": 1}]}", 0,
     "line 3, column 11: leaves[1].name: expected a string"},
    {"{\"children\":[{\"child\":{\"i32\":1.5}}]}", 0,
     "line 1, column 30: children[0].child.i32: expected a whole number"},
    {"{\"i32\":3000000000}", 0, "line 1, column 8: i32: number out of range"},
    {"{\"labels\":{\"app\":\"x\",\"k8s.io/a\":7}}", 0,
     "line 1, column 33: labels[k8s.io/a]: expected a string"},
    {"{\"leaf\":{\n\"colour\":1}}", JSON_STRICT, "line 2, column 1: leaf.colour: unknown field"},
    {"{\"leaf\":{\"on\":true,\"on\":true}}", JSON_STRICT,
     "line 1, column 20: leaf.on: duplicate field"},
    {"{\"hex\":\"zz\"}", 0, "line 1, column 8: hex: expected hex"},
    {"{\"leaf\":{\"name\":\"x\"", 0, "line 1, column 20: leaf: unexpected end of input"},
    {"{\"s\":\"ä\",}", 0, "line 1, column 10: expected a field name in quotes"},
    {"{} {}", 0, "line 1, column 4: unexpected text after the value"},
    {"", 0, "line 1, column 1: unexpected end of input"},
    {"{\"bytes\":\"*\"}", 0, "line 1, column 10: bytes: expected base64"},
    {"{\"leaf\":7}", 0, "line 1, column 9: leaf: expected an object"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct everything v;
        struct err err = {0};
        assert_int_equal(
            json_decode(str_of(errors[i].in), &everything_type, errors[i].flags, &a, &v, &err),
            -EBADMSG);
        assert_string_equal(err.msg, errors[i].message);
        assert_int_equal(err.code, -EBADMSG);
        arena_release(&a);
    }
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void repeat(struct buf *b, const char *piece, size_t n)
{
    while (n-- > 0)
        buf_add_cstr(b, piece);
}

static int decode_quietly(struct str text, size_t *ret_memory)
{
    struct arena a;
    arena_init(&a, 0);
    struct everything v;
    struct err err;
    int ret = json_decode(text, &everything_type, 0, &a, &v, &err);
    *ret_memory = a.total;
    arena_release(&a);
    return ret;
}

static void test_depth(void **state)
{
    (void)state;
    static const char *const pieces[][2] = {
        {"{\"child\":", "}"}, {"{\"unknown\":", "}"}, {"{\"children\":[", "]}"}};
    for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
        size_t per_piece = k == 2 ? 2 : 1, limit = JSON_MAX_DEPTH / per_piece;
        for (size_t deep = limit - 1; deep <= limit; deep++) {
            struct buf b = BUF_INIT;
            size_t memory;
            repeat(&b, pieces[k][0], deep);
            buf_add_cstr(&b, "{}");
            repeat(&b, pieces[k][1], deep);
            assert_int_equal(decode_quietly(buf_str(&b), &memory), deep < limit ? 0 : -EBADMSG);
            buf_release(&b);
        }
    }
    /* Far above the limit: an error, not a stack overflow. */
    struct buf b = BUF_INIT;
    size_t memory;
    buf_add_cstr(&b, "{\"x\":");
    repeat(&b, "[", 1000000);
    assert_int_equal(decode_quietly(buf_str(&b), &memory), -EBADMSG);
    buf_release(&b);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct buf b = BUF_INIT;
    buf_add_cstr(&b, "{\"children\":[{}");
    repeat(&b, ",{}", 300000);
    buf_add_cstr(&b, "]}");
    size_t memory;
    assert_int_equal(decode_quietly(buf_str(&b), &memory), -EBADMSG);
    assert_true(memory <= 2 * (b.n * DECODE_EXPANSION + DECODE_SLACK));
    buf_release(&b);
    /* Real objects stay well below the limit. */
    buf_add_cstr(&b, "{\"leaves\":[{\"name\":\"a\"}");
    repeat(&b, ",{\"name\":\"b\"}", 300000);
    buf_add_cstr(&b, "]}");
    assert_int_equal(decode_quietly(buf_str(&b), &memory), 0);
    buf_release(&b);
}

static void test_large_map(void **state)
{
    (void)state;
    struct buf b = BUF_INIT;
    buf_add_cstr(&b, "{\"labels\":{");
    for (int i = 0; i < 20000; i++)
        buf_add_printf(&b, "%s\"%d\":\"%d\"", i ? "," : "", i % 15000, i);
    buf_add_cstr(&b, "}}");
    struct arena a;
    arena_init(&a, 0);
    struct everything v;
    struct err err;
    assert_int_equal(json_decode(buf_str(&b), &everything_type, 0, &a, &v, &err), 0);
    assert_int_equal(v.labels.n, 15000);
    for (size_t i = 1; i < v.labels.n; i++)
        assert_true(str_cmp(v.labels.v[i - 1].key, v.labels.v[i].key) < 0);
    assert_true(str_is(*str_map_get(&v.labels, STR("7")), "15007"));
    assert_true(str_is(*str_map_get(&v.labels, STR("14999")), "14999"));
    assert_null(str_map_get(&v.labels, STR("15000")));
    buf_release(&b);
    arena_release(&a);
}

/* --- lists item by item ----------------------------------------------------------------------- */

struct items {
    struct buf seen;
    int stop_at;
    int n;
};

static int on_item(void *ctx, struct str item)
{
    struct items *items = ctx;
    buf_add_str(&items->seen, item);
    buf_add_char(&items->seen, ';');
    return ++items->n == items->stop_at ? -ECANCELED : 0;
}

static void test_list(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        int stop_at, ret;
        const char *seen;
    } cases[] = {
        {"{\"kind\":\"L\",\"items\":[{\"a\":\"]}\\\"\"} , {} ,[1]],\"apiVersion\":\"v1\"}", 0, 0,
         "{\"a\":\"]}\\\"\"};{};[1];"},
        {"{\"items\":[]}", 0, 0, ""},
        {"{\"items\":null}", 0, 0, ""},
        {"{}", 0, 0, ""},
        {"{\"items\":[{},{},{}]}", 2, -ECANCELED, "{};{};"},
        {"{\"items\":[{},{}", 0, -EBADMSG, "{};{};"},
        {"{\"items\":[{},{\"a\":", 0, -EBADMSG, "{};"},
        {"{\"items\":[{},7]}", 0, -EBADMSG, "{};"},
        {"{\"items\":{}}", 0, -EBADMSG, ""},
        {"{\"items\":[{}]} x", 0, -EBADMSG, "{};"},
        {"", 0, -EBADMSG, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct meta meta;
        struct err err;
        struct items items = {.stop_at = cases[i].stop_at};
        int ret =
            json_decode_list(str_of(cases[i].in), &meta_type, &a, &meta, on_item, &items, &err);
        assert_int_equal(ret, cases[i].ret);
        assert_string_equal(buf_cstr(&items.seen), cases[i].seen);
        if (i == 0) {
            assert_true(str_is(meta.kind, "L"));
            assert_true(str_is(meta.api_version, "v1"));
        }
        buf_release(&items.seen);
        arena_release(&a);
    }
}

/* --- streams ---------------------------------------------------------------------------------- */

/* Fed in chunks of any size, a stream is split into the same values. */
static bool scan_in_pieces(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct buf text = BUF_INIT;
    size_t ends[4];
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct everything v = {0};
        codec_random(r, &everything_type, size, &a, &v);
        buf_add_cstr(&text, i % 2 ? "\n" : "");
        json_encode(&everything_type, &v, &text);
        ends[i] = text.n;
    }
    size_t begin = 0, i = 0, known = 0;
    struct json_scan scan = {0};
    bool ok = true;
    while (i < ARRAY_LEN(ends) && ok) {
        known += 1 + rand_below(r, 200);
        known = MIN(text.n, known);
        for (ssize_t n; known > begin; scan = (struct json_scan){0}, i++) {
            n = json_scan_value(&scan, (struct str){text.p + begin, known - begin});
            if (n == 0)
                break;
            ok = ok && n > 0 && begin + (size_t)n == ends[i];
            begin += (size_t)MAX(n, 1);
        }
    }
    buf_release(&text);
    arena_release(&a);
    return ok;
}

static void test_scan(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        ssize_t n;
    } cases[] = {
        {"", 0},       {"  \n", 0},        {"{", 0},        {"{}", 2},        {" {} {}", 3},
        {"[{}]", 4},   {"\"a\\\"b\"x", 6}, {"\"a", 0},      {"12", 0},        {"12 ", 2},
        {"true\n", 4}, {"x", -EBADMSG},    {"}", -EBADMSG}, {"{\"}\":1}", 7}, {"1{}", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_scan scan = {0};
        assert_int_equal(json_scan_value(&scan, str_of(cases[i].in)), cases[i].n);
    }
    assert_true(prop_run("scan in pieces", 500, scan_in_pieces, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_accepted),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),      cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_large_map),  cmocka_unit_test(test_list),
        cmocka_unit_test(test_scan),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
