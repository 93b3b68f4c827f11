/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json.h"
#include "codec/proto.h"
#include "codec_random.h"
#include "codec_schema.h"
#include "objects.h"
#include "prop.h"

/* --- round trips ------------------------------------------------------------------------------ */

/* Without the fields that protobuf does not carry: kind and apiVersion. */
static void make(struct rand *r, size_t size, struct arena *a, struct everything *out);

static void forget_meta(struct everything *v)
{
    v->meta = (struct meta){0};
    if (v->child)
        forget_meta(v->child);
    for (size_t i = 0; i < v->children.n; i++)
        forget_meta(&v->children.v[i]);
}

static void make(struct rand *r, size_t size, struct arena *a, struct everything *out)
{
    *out = (struct everything){0};
    codec_random(r, &everything_type, size, a, out);
    forget_meta(out);
}

static bool round_trip(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct everything before, after, from_json;
    make(r, size, &a, &before);
    struct buf bytes = BUF_INIT, text = BUF_INIT;
    proto_encode(&everything_type, &before, &bytes);
    json_encode(&everything_type, &before, &text);
    struct err err = {.msg = "not equal"};
    bool ok = proto_decode(buf_str(&bytes), &everything_type, &a, &after, &err) == 0 &&
              json_decode(buf_str(&text), &everything_type, 0, &a, &from_json, &err) == 0 &&
              desc_equal(&everything_type, &before, &after) &&
              desc_equal(&everything_type, &from_json, &after);
    if (!ok)
        print_error("%s\n", err.msg);
    buf_release(&bytes);
    buf_release(&text);
    arena_release(&a);
    return ok;
}

static bool survives_damage(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct everything before, after;
    make(r, size, &a, &before);
    struct buf bytes = BUF_INIT;
    proto_encode(&everything_type, &before, &bytes);
    for (size_t n = 1 + rand_below(r, 3); n > 0 && bytes.n; n--)
        bytes.p[rand_below(r, bytes.n)] = (char)rand_u64(r);
    struct str part = {bytes.p, rand_below(r, bytes.n + 1)};
    struct err err;
    int ret = proto_decode(part, &everything_type, &a, &after, &err);
    bool ok = ret == 0 || (ret == -EBADMSG && strstr(err.msg, " at byte "));
    buf_release(&bytes);
    arena_release(&a);
    return ok;
}

/* Two concatenated messages are one message: scalars of the second win, lists are joined. */
static void test_merge(void **state)
{
    (void)state;
    int32_t one[] = {1}, two[] = {2, 3};
    struct str_entry first[] = {{STR("a"), STR("1")}, {STR("b"), STR("1")}};
    struct str_entry second[] = {{STR("a"), STR("2")}, {STR("c"), STR("2")}};
    struct leaf left = {.port = 7}, right = {.on = true};
    struct everything a = {.i32 = 1, .s = STR("x"), .leaf = {.name = STR("n")}, .pleaf = &left};
    struct everything b = {.i32 = 2, .leaf = {.port = 5}, .pleaf = &right};
    a.i32s.v = one, a.i32s.n = 1, b.i32s.v = two, b.i32s.n = 2;
    a.labels.v = first, a.labels.n = 2, b.labels.v = second, b.labels.n = 2;
    struct buf bytes = BUF_INIT;
    proto_encode(&everything_type, &a, &bytes);
    proto_encode(&everything_type, &b, &bytes);
    struct arena arena;
    arena_init(&arena, 0);
    struct everything v;
    struct err err;
    assert_int_equal(proto_decode(buf_str(&bytes), &everything_type, &arena, &v, &err), 0);
    buf_clear(&bytes);
    json_encode(&everything_type, &v, &bytes);
    assert_string_equal(buf_cstr(&bytes),
                        json_quotes("{'s':'x','i32':2,'leaf':{'name':'n','port':5},'count':0,"
                                    "'always':{},'pleaf':{'port':7,'on':true},'i32s':[1,2,3],"
                                    "'labels':{'a':'2','b':'1','c':'2'}}"));
    buf_release(&bytes);
    arena_release(&arena);
}

static void test_properties(void **state)
{
    (void)state;
    assert_true(prop_run("proto round trip", 2000, round_trip, NULL));
    assert_true(prop_run("proto damage", 5000, survives_damage, NULL));
}

/* --- input bytes ------------------------------------------------------------------------------ */

#define BYTES(lit) STR_INIT(lit)

static const struct {
    struct str in;
    const char *out; /* as JSON, or the error */
    bool refused;
} wire[] = {
    {BYTES(""), "{'count':0,'always':{}}", false},
    {BYTES("\x0a\x02hi"), "{'s':'hi','count':0,'always':{}}", false},
    {BYTES("\x0a\x02hi\x0a\x01x"), "{'s':'x','count':0,'always':{}}", false},
    {BYTES("\x20\x01"), "{'i32':1,'count':0,'always':{}}", false},
    /* a negative int32 takes ten bytes; in five bytes it is cut to its low half, as everywhere */
    {BYTES("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "{'i32':-1,'count':0,'always':{}}",
     false},
    {BYTES("\x20\xff\xff\xff\xff\x0f"), "{'i32':-1,'count':0,'always':{}}", false},
    {BYTES("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "i32: malformed at byte 1", true},
    {BYTES("\x20\x80"), "i32: truncated at byte 1", true},
    /* unpacked, packed, mixed */
    {BYTES("\xa0\x01\x01\xa0\x01\x02"), "{'count':0,'always':{},'i32s':[1,2]}", false},
    {BYTES("\xa2\x01\x03\x01\x80\x01"), "{'count':0,'always':{},'i32s':[1,128]}", false},
    {BYTES("\xa2\x01\x01\x01\xa0\x01\x02"), "{'count':0,'always':{},'i32s':[1,2]}", false},
    {BYTES("\xa2\x01\x00"), "{'count':0,'always':{}}", false},
    {BYTES("\xa2\x01\x01\x80"), "i32s: truncated at byte 3", true},
    {BYTES("\xa2\x01\x02\x01\x80"), "i32s: truncated at byte 4", true},
    /* unknown fields: every wire type except groups */
    {BYTES("\xa0\x06\x01\xa1\x06"
           "12345678\xa2\x06\x01x\xa5\x06"
           "1234\x20\x05"),
     "{'i32':5,'count':0,'always':{}}", false},
    {BYTES("\xa3\x06\xa4\x06"), "unknown wire type at byte 2", true},
    {BYTES("\xa1\x06"
           "1234"),
     "truncated at byte 2", true},
    {BYTES("\xa2\x06\x7fx"), "truncated at byte 2", true},
    {BYTES("\x02\x00"), "malformed at byte 0", true},
    /* type mismatches */
    {BYTES("\x08\x01"), "s: unexpected wire type at byte 1", true},
    {BYTES("\x0a\x01\xff"), "s: not UTF-8 at byte 2", true},
    {BYTES("\x0a\x7fx"), "s: truncated at byte 1", true},
    {BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "s: truncated at byte 1", true},
    {BYTES("\x5a\x01\x08"), "hex: malformed hex at byte 2", true},
    {BYTES("\xba\x01\x02\x0a\x00\xba\x01\x03\x0a\x01\xff"), "leaves[1].name: not UTF-8 at byte 10",
     true},
    {BYTES("\x92\x01\x02\x42\x00"), "{'count':0,'always':{},'child':{'count':0,'always':{}}}",
     false},
    /* raw = RawExtension: {1: bytes} */
    {BYTES("\x3a\x04\x0a\x02{}"), "{'raw':{},'count':0,'always':{}}", false},
    {BYTES("\x3a\x02\x0a\x02"), "raw: truncated at byte 3", true},
    /* an inline message is not part of the path */
    {BYTES("\x52\x03\x12\x01u"), "{'count':0,'always':{},'url':'u'}", false},
    {BYTES("\x52\x03\x12\x01\xff"), "url: not UTF-8 at byte 4", true},
};

static void test_wire(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wire); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct everything v;
        struct err err = {0};
        struct buf out = BUF_INIT;
        int ret = proto_decode(wire[i].in, &everything_type, &a, &v, &err);
        if (ret == 0)
            json_encode(&everything_type, &v, &out);
        else
            buf_add_cstr(&out, err.msg);
        assert_string_equal(buf_cstr(&out), json_quotes(wire[i].out));
        assert_int_equal(ret, wire[i].refused ? -EBADMSG : 0);
        buf_release(&out);
        arena_release(&a);
    }
}

/* --- bounds ----------------------------------------------------------------------------------- */

static int decode_quietly(struct str bytes, size_t *ret_memory)
{
    struct arena a;
    arena_init(&a, 0);
    struct everything v;
    struct err err;
    int ret = proto_decode(bytes, &everything_type, &a, &v, &err);
    *ret_memory = a.total;
    arena_release(&a);
    return ret;
}

static void test_depth(void **state)
{
    (void)state;
    for (size_t deep = PROTO_MAX_DEPTH - 1; deep <= PROTO_MAX_DEPTH; deep++) {
        struct arena a;
        arena_init(&a, 0);
        struct everything *v = NULL;
        for (size_t i = 0; i < deep; i++) { /* and one for "always" within */
            struct everything *outer = arena_new(&a, struct everything);
            outer->child = v;
            v = outer;
        }
        struct buf bytes = BUF_INIT;
        size_t memory;
        proto_encode(&everything_type, v, &bytes);
        assert_int_equal(decode_quietly(buf_str(&bytes), &memory),
                         deep < PROTO_MAX_DEPTH ? 0 : -EBADMSG);
        buf_release(&bytes);
        arena_release(&a);
    }
}

/* Empty items, and items of two lists in turn (which joins each list again and again). */
static void test_memory_is_bounded(void **state)
{
    (void)state;
    static const struct str pieces[] = {BYTES("\xc2\x01\x00"), BYTES("\xba\x01\x00\xa0\x01\x01")};
    for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
        struct buf bytes = BUF_INIT;
        size_t memory;
        for (int i = 0; i < 100000; i++)
            buf_add_str(&bytes, pieces[k]);
        assert_int_equal(decode_quietly(buf_str(&bytes), &memory), -EBADMSG);
        assert_true(memory <= 2 * (bytes.n * DECODE_EXPANSION + DECODE_SLACK));
        buf_release(&bytes);
    }
}

/* --- lists and envelopes ---------------------------------------------------------------------- */

static int on_item(void *ctx, struct str item)
{
    buf_add_str(ctx, item);
    buf_add_char(ctx, ';');
    return str_is(item, "stop") ? -ECANCELED : 0;
}

static void test_list(void **state)
{
    (void)state;
    static const struct {
        struct str in;
        int ret;
        const char *seen;
    } cases[] = {
        {BYTES("\x0a\x01n\x12\x01"
               "a\x12\x02"
               "bc"),
         0, "a;bc;"},
        {BYTES(""), 0, ""},
        {BYTES("\x12\x04stop\x12\x01x"), -ECANCELED, "stop;"},
        {BYTES("\x12\x01"
               "a\x12\x05x"),
         -EBADMSG, "a;"},
        {BYTES("\x0a\x05n"), -EBADMSG, ""},
        {BYTES("\x80"), -EBADMSG, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a, 0);
        struct leaf leaf;
        struct buf seen = BUF_INIT;
        struct err err;
        int ret = proto_decode_list(cases[i].in, &leaf_type, &a, &leaf, on_item, &seen, &err);
        assert_int_equal(ret, cases[i].ret);
        assert_string_equal(buf_cstr(&seen), cases[i].seen);
        if (i == 0)
            assert_true(str_is(leaf.name, "n"));
        buf_release(&seen);
        arena_release(&a);
    }
}

static void test_envelope(void **state)
{
    (void)state;
    struct leaf leaf = {.name = STR("n"), .port = -1};
    struct buf bytes = BUF_INIT;
    struct err err;
    proto_encode_envelope(STR("v1"), STR("Leaf"), &leaf_type, &leaf, &bytes);
    static const struct str want =
        BYTES("k8s\0\x0a\x0a\x0a\x02v1\x12\x04Leaf\x12\x0e\x0a\x01n\x10"
              "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x00\x22\x00");
    assert_true(str_eq(buf_str(&bytes), want));
    struct proto_envelope envelope;
    assert_int_equal(proto_open_envelope(buf_str(&bytes), &envelope, &err), 0);
    assert_true(str_is(envelope.api_version, "v1"));
    assert_true(str_is(envelope.kind, "Leaf"));
    assert_int_equal(envelope.raw.n, 14);
    for (size_t n = 0; n < 20; n++)
        assert_int_equal(proto_open_envelope(str_slice(want, 0, n), &envelope, &err),
                         n == 4 || n == 16 ? 0 : -EBADMSG);
    static const struct str gzip = BYTES("k8s\0\x1a\x04gzip");
    assert_int_equal(proto_open_envelope(gzip, &envelope, &err), -EBADMSG);
    assert_string_equal(err.msg, "protobuf envelope with content encoding \"gzip\"");
    buf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_wire),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_envelope),
    };
    return cmocka_run_group_tests_name("proto", tests, NULL, NULL);
}
