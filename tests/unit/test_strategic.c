/* SPDX-License-Identifier: Apache-2.0 */
/* Strategic merge patches: what upstream's strategicpatch answers, and the limits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/schema.h"
#include "apiserver/patch/strategic.h"
#include "base/err.h"
#include "codec/json_edit.h"
#include "golden.h"

struct fixture {
    struct arena a;
};

static int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);

    arena_init(&f->a, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_release(&f->a);
    free(f);
    return 0;
}

static const struct schema_type *type_named(struct str kind)
{
    const struct schema_kind *k = schema_kind_named(kind);

    assert_non_null(k);
    assert_non_null(k->type);
    return k->type;
}

static struct str text_of(const struct json_value *v, struct arena *a)
{
    struct buf out = BUF_INIT;
    struct str text;

    json_write(v, &out);
    text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

/* The errors that upstream answers with a code. */
static int code_of(int r)
{
    return r == -EINVAL ? 400 : r == -ENOTSUP ? 422 : r == -EBADMSG ? 500 : 0;
}

static void check_row(const struct json_value *row, struct arena *a)
{
    const struct json_value *want = json_get(row, STR("want"));
    struct json_value none = json_object(), got;
    struct str error = json_get_text(row, STR("error"));
    struct err err = {0};
    int r =
        strategic_patch(schema_types, type_named(json_get_text(row, STR("kind"))),
                        json_get(row, STR("target")), json_get(row, STR("patch")), a, &got, &err);

    if (!str_empty(error)) {
        if (r == 0 || !str_eq(str_slice(error, 0, 511), str_of(err.msg)))
            fail_msg("patch: %s\nerror: %s\nwant:  %s\n", text_of(json_get(row, STR("patch")), a).p,
                     r ? err.msg : "none", error.p);
        assert_int_equal(code_of(r), json_int_at(row, "code", 0));
        return;
    }
    if (r < 0)
        fail_msg("patch: %s\nerror: %s", text_of(json_get(row, STR("patch")), a).p, err.msg);
    if (!want)
        want = &none;
    if (!json_value_equal(&got, want))
        fail_msg("target: %s\npatch: %s\ngot:  %s\nwant: %s",
                 text_of(json_get(row, STR("target")), a).p,
                 text_of(json_get(row, STR("patch")), a).p, text_of(&got, a).p, text_of(want, a).p);
}

static void test_golden(void **state)
{
    struct fixture *f = *state;
    struct json_value table = golden_tree("strategic.json", &f->a);
    struct json_members sections = json_members_at(&table, "");
    size_t n = 0;

    for (size_t i = 0; i < sections.n; i++)
        for (size_t j = 0; j < sections.v[i].value.n; j++, n++)
            check_row(&sections.v[i].value.items[j], &f->a);
    assert_true(n >= 300);
}

struct row {
    const char *kind, *target, *patch;
    const char *want; /* the result, or the error after its code */
    int code;
};

/* What the random patches do not have. */
static const struct row rows[] = {
    {"Pod", "{}", "{\"$retainKeys\":\"x\"}", "invalid patch format of retainKeys", 400},
    {"Pod", "{}", "{\"$retainKeys\":[\"a\"],\"b\":1}", "invalid patch format of retainKeys", 400},
    {"Pod", "{\"a\":1,\"b\":2}", "{\"$retainKeys\":[\"a\"],\"b\":null}", "{\"a\":1}", 0},
    {"Pod", "{}", "{\"$deleteFromPrimitiveList\":[]}", "invalid patch format of primitive list",
     400},
    {"Pod", "{}", "{\"$setElementOrder\":[]}", "invalid patch format of setElementOrder list", 400},
    {"Pod", "{}", "{\"$setElementOrder/x\":1}", "expected a []interface {}, but received a int64",
     500},
    {"Pod", "{\"metadata\":{\"finalizers\":[[1]]}}", "{\"metadata\":{\"finalizers\":[\"a\"]}}",
     "lists of lists are not supported", 422},
    {"Pod", "{\"metadata\":{\"finalizers\":[1]}}", "{\"metadata\":{\"finalizers\":[\"a\"]}}",
     "list element types are not identical: [[1] [a]]", 500},
    {"Pod", "{\"spec\":{\"containers\":[]}}", "{\"spec\":{\"containers\":[{\"image\":\"x\"}]}}",
     "map: map[image:x] does not contain declared merge key: name", 500},
    {"Pod", "{\"spec\":{\"containers\":[]}}",
     "{\"spec\":{\"containers\":[{\"$patch\":\"merge\"}]}}",
     "merging lists cannot yet be specified in the patch", 500},
    {"Pod", "{\"spec\":{\"x\":{}}}", "{\"spec\":{\"x\":{\"y\":1}}}",
     "unable to find api field in struct PodSpec for the json field \"x\"", 500},
    {"Pod", "{\"spec\":{\"nodeSelector\":{\"a\":{}}}}", "{\"spec\":{\"nodeSelector\":{\"a\":{}}}}",
     "merging an object in json but data type is not struct, instead is: map", 500},
    {"Pod", "{\"spec\":{}}", "{\"spec\":{\"$patch\":\"x\"}}",
     "unknown patch type: x in map: map[$patch:x]", 500},
    {"PodDisruptionBudget", "{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"1\"}}}}",
     "{\"spec\":{\"selector\":{\"matchLabels\":{\"b\":\"1\"}}}}",
     "{\"spec\":{\"selector\":{\"matchLabels\":{\"b\":\"1\"}}}}", 0},
    {"Pod", "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
     "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":"
     "\"a\"}],\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}",
     "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"c\",\"image\":\"x\"},{\"name\":\"a\"}"
     "]}}",
     0},
};

static void test_rows(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct json_value target = json_literal(row->target, &f->a);
        struct json_value patch = json_literal(row->patch, &f->a), got;
        struct err err = {0};
        int r = strategic_patch(schema_types, type_named(str_of(row->kind)), &target, &patch, &f->a,
                                &got, &err);

        assert_int_equal(code_of(r), row->code);
        assert_string_equal(r < 0 ? err.msg : text_of(&got, &f->a).p, row->want);
    }
}

/* Lists and maps of 20,000 are merged in moments: the time is not quadratic. */
static void test_long(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT;
    struct json_value target, patch, got;
    struct err err = {0};

    buf_add_cstr(&text, "{\"metadata\":{\"labels\":{");
    for (int i = 0; i < 20000; i++)
        buf_add_printf(&text, "%s\"l%d\":\"\"", i ? "," : "", i);
    buf_add_cstr(&text, "}},\"spec\":{\"containers\":[");
    for (int i = 0; i < 20000; i++)
        buf_add_printf(&text, "%s{\"name\":\"c%d\"}", i ? "," : "", i);
    buf_add_cstr(&text, "]}}");
    target = json_literal(buf_cstr(&text), &f->a);
    patch = json_copy(&target, &f->a);
    assert_int_equal(
        strategic_patch(schema_types, type_named(STR("Pod")), &target, &patch, &f->a, &got, &err),
        0);
    assert_true(json_value_equal(&got, &target));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
