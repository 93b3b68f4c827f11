/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json_patch.h"
#include "json_random.h"
#include "prop.h"

static const struct json_merge_list lists[] = {
    {"finalizers", ""},
    {"reservedFor", "uid"},
    {"conditions", "type"},
};

enum how { MERGE, STRATEGIC, JSON };

static int patch(enum how how, const char *target, const char *body, struct buf *out)
{
    struct arena a;
    struct err err;
    struct json_value t, p, result;
    int r = 0;
    arena_init(&a, 0);
    assert_int_equal(json_parse(str_of(target), 0, &a, &t, &err), 0);
    assert_int_equal(json_parse(str_of(body), 0, &a, &p, &err), 0);
    if (how == MERGE)
        json_patch_merge(&t, &p, &a, &result);
    else if (how == STRATEGIC)
        json_patch_strategic(&t, &p, lists, ARRAY_LEN(lists), &a, &result);
    else
        r = json_patch_apply(&t, &p, &a, &result, &err);
    buf_clear(out);
    if (r == 0)
        json_write(&result, out);
    arena_release(&a);
    return r;
}

struct row {
    enum how how;
    const char *target, *body, *result; /* NULL: refused */
};

static const struct row rows[] = {
    /* RFC 7396, appendix A */
    {MERGE, "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {MERGE, "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
    {MERGE, "{\"a\":\"b\"}", "{\"a\":null}", "{}"},
    {MERGE, "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
    {MERGE, "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {MERGE, "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
    {MERGE, "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
    {MERGE, "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
    {MERGE, "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
    {MERGE, "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
    {MERGE, "{\"a\":\"foo\"}", "null", "null"},
    {MERGE, "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
    {MERGE, "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
    {MERGE, "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    /* lists with a merge key, lists of strings, other lists */
    {STRATEGIC, "{\"reservedFor\":[{\"uid\":\"1\",\"name\":\"a\"}]}",
     "{\"reservedFor\":[{\"uid\":\"2\",\"name\":\"b\"}]}",
     "{\"reservedFor\":[{\"uid\":\"1\",\"name\":\"a\"},{\"uid\":\"2\",\"name\":\"b\"}]}"},
    {STRATEGIC, "{\"reservedFor\":[{\"uid\":\"1\",\"name\":\"a\"}]}",
     "{\"reservedFor\":[{\"uid\":\"1\",\"name\":\"b\"}]}",
     "{\"reservedFor\":[{\"uid\":\"1\",\"name\":\"b\"}]}"},
    {STRATEGIC, "{\"reservedFor\":[{\"uid\":\"1\"},{\"uid\":\"2\"}]}",
     "{\"reservedFor\":[{\"uid\":\"1\",\"$patch\":\"delete\"}]}",
     "{\"reservedFor\":[{\"uid\":\"2\"}]}"},
    {STRATEGIC, "{\"reservedFor\":[{\"uid\":\"1\"}]}",
     "{\"reservedFor\":[{\"$patch\":\"replace\"},{\"uid\":\"3\"}]}",
     "{\"reservedFor\":[{\"uid\":\"3\"}]}"},
    {STRATEGIC, "{\"finalizers\":[\"a\",\"b\"]}", "{\"finalizers\":[\"b\",\"c\"]}",
     "{\"finalizers\":[\"a\",\"b\",\"c\"]}"},
    {STRATEGIC, "{\"finalizers\":[\"a\",\"b\"]}",
     "{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}", "{\"finalizers\":[\"b\"]}"},
    {STRATEGIC, "{\"other\":[1]}", "{\"other\":[2]}", "{\"other\":[2]}"},
    {STRATEGIC, "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":null}}", "{\"a\":{\"c\":2}}"},
    {STRATEGIC, "{\"a\":{\"b\":1}}", "{\"a\":{\"$patch\":\"replace\",\"c\":2}}",
     "{\"a\":{\"c\":2}}"},
    {STRATEGIC, "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"c\":3,\"$retainKeys\":[\"c\"]}}",
     "{\"a\":{\"c\":3}}"},
    /* RFC 6902, appendix A */
    {JSON, "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
     "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
    {JSON, "{\"foo\":[\"bar\",\"baz\"]}",
     "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
     "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
    {JSON, "{\"foo\":[1]}", "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[2]}]",
     "{\"foo\":[1,[2]]}"},
    {JSON, "{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
     "{\"foo\":\"bar\"}"},
    {JSON, "{\"foo\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]", "{\"foo\":[1,3]}"},
    {JSON, "{\"baz\":\"qux\"}", "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":1}]",
     "{\"baz\":1}"},
    {JSON, "{\"foo\":{\"bar\":1,\"waldo\":2},\"qux\":{}}",
     "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
     "{\"foo\":{\"bar\":1},\"qux\":{\"thud\":2}}"},
    {JSON, "{\"a\":[1,2]}", "[{\"op\":\"copy\",\"from\":\"/a/0\",\"path\":\"/a/-\"}]",
     "{\"a\":[1,2,1]}"},
    {JSON, "{\"a/b\":1,\"m~n\":2}",
     "[{\"op\":\"test\",\"path\":\"/a~1b\",\"value\":1},{\"op\":\"remove\",\"path\":\"/m~0n\"}]",
     "{\"a/b\":1}"},
    {JSON, "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", NULL},
    {JSON, "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL},
    {JSON, "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":1}]", NULL},
    {JSON, "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":1}]", NULL},
    {JSON, "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b/c\",\"value\":1}]", NULL},
    {JSON, "{\"a\":1}", "[{\"op\":\"bad\",\"path\":\"/a\"}]", NULL},
    {JSON, "{\"a\":1}", "{}", NULL},
};

static void test_rows(void **state)
{
    (void)state;
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = patch(rows[i].how, rows[i].target, rows[i].body, &out);
        assert_int_equal(r == 0, rows[i].result != NULL);
        if (rows[i].result)
            assert_string_equal(buf_cstr(&out), rows[i].result);
    }
    buf_release(&out);
}

/* A merge patch applied twice changes nothing the second time; the target stays as it was. */
static bool merges_once(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct arena a;
    arena_init(&a, 0);
    struct json_value target, body, once, twice;
    struct buf before = BUF_INIT, after = BUF_INIT;
    json_random(r, size, &a, &target);
    json_random(r, size, &a, &body);
    json_write(&target, &before);
    json_patch_merge(&target, &body, &a, &once);
    json_patch_merge(&once, &body, &a, &twice);
    json_write(&target, &after);
    bool ok = json_value_equal(&once, &twice) && str_eq(buf_str(&before), buf_str(&after));
    buf_release(&before);
    buf_release(&after);
    arena_release(&a);
    return ok;
}

static void test_properties(void **state)
{
    (void)state;
    assert_true(prop_run("merge patch", 1000, merges_once, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests_name("json_patch", tests, NULL, NULL);
}
