/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, compared with those that upstream's printers make of the same objects. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <glob.h>

#include "apiserver/print/table.h"
#include "base/time.h"
#include "codec/json_edit.h"
#include "codec/json_patch.h"

#define GOLDEN "tests/golden/tables/"

/* 2026-01-01T00:00:00.5Z, see tests/kube/cmd/tables. */
static const int64_t now = 1767225600 * NSEC_PER_SEC + NSEC_PER_SEC / 2;

struct fixture {
    struct resources *rs;
    struct arena a;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->rs = resources_new();
    arena_init(&f->a, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    resources_free(f->rs);
    arena_release(&f->a);
    free(f);
    return 0;
}

static struct json_value parse(struct fixture *f, struct str text)
{
    struct json_value v;
    struct err err;
    if (json_parse(text, JSON_STRICT, &f->a, &v, &err))
        fail_msg("%s in %.*s", err.msg, STR_ARG(text));
    return v;
}

static struct json_value read_golden(struct fixture *f, const char *path)
{
    struct buf b = BUF_INIT;
    char chunk[4096];
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s", path);
    while (!feof(file) && !ferror(file))
        buf_add(&b, chunk, fread(chunk, 1, sizeof(chunk), file));
    fclose(file);
    struct json_value v = parse(f, arena_dup(&f->a, buf_str(&b)));
    buf_release(&b);
    return v;
}

static void same(const struct json_value *ours, const struct json_value *theirs, const char *what)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    if (ours)
        json_write(ours, &a);
    if (theirs)
        json_write(theirs, &b);
    if ((ours == NULL) != (theirs == NULL) || (ours && !json_value_equal(ours, theirs)))
        fail_msg("%s:\n%s\n%s", what, buf_cstr(&a), buf_cstr(&b));
    buf_release(&a);
    buf_release(&b);
}

/* The table of one object. */
static struct json_value table_of(struct fixture *f, const struct resource *r,
                                  const struct json_value *object, enum table_object what)
{
    struct buf b = BUF_INIT;
    table_begin(r, true, STR("7"), STR(""), -1, &b);
    table_row(r, object, what, now, &b);
    table_end(&b);
    struct json_value v = parse(f, arena_dup(&f->a, buf_str(&b)));
    buf_release(&b);
    return v;
}

static void check_row(struct fixture *f, const struct resource *r, const struct json_value *object,
                      const struct json_value *expected, const char *what)
{
    struct json_value table = table_of(f, r, object, TABLE_OBJECT_NONE);
    struct json_items rows = json_items_at(&table, "rows");
    assert_int_equal(rows.n, 1);
    same(json_at(&rows.v[0], "cells"), json_at(expected, "cells"), what);
    same(json_at(&rows.v[0], "conditions"), json_at(expected, "conditions"), what);
}

static struct json_value without(struct fixture *f, const struct json_value *object,
                                 struct str path)
{
    struct json_value result, patch;
    struct err err;
    struct buf b = BUF_INIT;
    buf_add_cstr(&b, "[{\"op\":\"remove\",\"path\":");
    json_write_str(&b, path);
    buf_add_cstr(&b, "}]");
    patch = parse(f, arena_dup(&f->a, buf_str(&b)));
    buf_release(&b);
    if (json_patch_apply(object, &patch, &f->a, &result, &err))
        fail_msg("%s", err.msg);
    return result;
}

static void check_example(struct fixture *f, const struct resource *r,
                          const struct json_value *example, const char *file)
{
    const struct json_value *object = json_at(example, "object");
    struct json_items cases = json_items_at(example, "without");
    char what[512];
    check_row(f, r, object, example, file);
    for (size_t i = 0; i < cases.n; i++) {
        struct str path = json_text_at(&cases.v[i], "path");
        struct json_value changed = without(f, object, path);
        bool differs = json_at(&cases.v[i], "cells") != NULL;
        snprintf(what, sizeof(what), "%s: %.*s without %.*s", file,
                 STR_ARG(json_text_at(object, "metadata.name")), STR_ARG(path));
        check_row(f, r, &changed, differs ? &cases.v[i] : example, what);
    }
}

static void check_columns(struct fixture *f, const struct resource *r,
                          const struct json_value *columns, const char *file)
{
    struct json_value object = json_literal("{\"metadata\":{\"name\":\"x\"}}", &f->a);
    struct json_value table = table_of(f, r, &object, TABLE_OBJECT_NONE);
    struct json_items ours = json_items_at(&table, "columnDefinitions");
    assert_int_equal(ours.n, columns->n);
    for (size_t i = 0; i < ours.n; i++) {
        const struct json_value *theirs = columns->items[i].items;
        same(json_at(&ours.v[i], "name"), &theirs[0], file);
        same(json_at(&ours.v[i], "type"), &theirs[1], file);
        same(json_at(&ours.v[i], "format"), &theirs[2], file);
        same(json_at(&ours.v[i], "priority"), &theirs[3], file);
        assert_true(json_text_at(&ours.v[i], "description").n > 0);
    }
}

/* --- built-in kinds --------------------------------------------------------------------------- */

static void test_built_in(void **state)
{
    struct fixture *f = *state;
    glob_t files;
    size_t rows = 0;
    assert_int_equal(glob(GOLDEN "*.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct json_value golden = read_golden(f, files.gl_pathv[i]);
        struct json_items examples = json_items_at(&golden, "rows");
        const struct json_value *columns = json_at(&golden, "columns");
        if (!columns) /* a custom resource */
            continue;
        const struct json_value *first = json_at(&examples.v[0], "object");
        const struct resource *r = resources_find_kind(f->rs, json_text_at(first, "apiVersion"),
                                                       json_text_at(first, "kind"));
        assert_non_null(r);
        check_columns(f, r, columns, files.gl_pathv[i]);
        for (size_t j = 0; j < examples.n; j++)
            check_example(f, r, &examples.v[j], files.gl_pathv[i]);
        rows += examples.n;
    }
    globfree(&files);
    assert_true(rows > 80);
}

/* Every resource that can be listed has golden tables, or upstream's default. */
static void test_every_resource(void **state)
{
    static const char *const without_printer[] = {"limitranges", "roles", "clusterroles",
                                                  "customresourcedefinitions"};
    struct fixture *f = *state;
    for (const struct resource *r = NULL; (r = resources_next(f->rs, r));) {
        bool plain = false;
        char path[256];
        if (!(r->verbs & VERB_LIST))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(without_printer); i++)
            plain = plain || str_is(r->plural, without_printer[i]);
        snprintf(path, sizeof(path), GOLDEN "%.*s%s%.*s_%.*s.json", STR_ARG(r->group),
                 r->group.n ? "_" : "", STR_ARG(r->version), STR_ARG(r->kind));
        FILE *file = fopen(path, "rb");
        if (!file != plain)
            fail_msg("%s", path);
        if (file)
            fclose(file);
    }
}

static void test_default(void **state)
{
    struct fixture *f = *state;
    const struct resource *r =
        resources_find(f->rs, STR("rbac.authorization.k8s.io"), STR("v1"), STR("roles"));
    struct json_value object = json_literal(
        "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":\"2025-03-01T01:02:03Z\"}}", &f->a);
    struct json_value table = table_of(f, r, &object, TABLE_OBJECT_METADATA);
    struct json_value expected =
        json_literal("[{\"cells\":[\"x\",\"2025-03-01T01:02:03Z\"],\"object\":{\"kind\":"
                     "\"PartialObjectMetadata\","
                     "\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"x\","
                     "\"creationTimestamp\":\"2025-03-01T01:02:03Z\"}}}]",
                     &f->a);
    same(json_at(&table, "rows"), &expected, "rows");
    struct json_items columns = json_items_at(&table, "columnDefinitions");
    assert_int_equal(columns.n, 2);
    assert_true(str_is(json_text_at(&columns.v[1], "name"), "Created At"));
    assert_true(str_is(json_text_at(&columns.v[1], "type"), "date"));
}

/* --- custom resources ------------------------------------------------------------------------- */

static void test_custom(void **state)
{
    struct fixture *f = *state;
    struct json_value golden = read_golden(f, GOLDEN "example.com_v1_Widget.json");
    struct json_items examples = json_items_at(&golden, "rows");
    for (size_t i = 0; i < examples.n; i++) {
        struct json_items columns = json_items_at(&examples.v[i], "columns");
        struct printer_column *own = arena_array(&f->a, struct printer_column, columns.n);
        struct resource r = {.group = STR_INIT("example.com"),
                             .version = STR_INIT("v1"),
                             .plural = STR_INIT("widgets"),
                             .columns = own,
                             .n_columns = columns.n};
        for (size_t j = 0; j < columns.n; j++)
            own[j] = (struct printer_column){
                json_text_at(&columns.v[j], "name"),
                json_text_at(&columns.v[j], "type"),
                json_text_at(&columns.v[j], "format"),
                json_text_at(&columns.v[j], "description"),
                json_text_at(&columns.v[j], "jsonPath"),
                (int32_t)json_int_at(&columns.v[j], "priority", 0),
            };
        check_example(f, &r, &examples.v[i], "Widget");
        struct json_value table =
            table_of(f, &r, json_at(&examples.v[i], "object"), TABLE_OBJECT_NONE);
        struct json_items heads = json_items_at(&table, "columnDefinitions");
        assert_int_equal(heads.n, columns.n + 1);
        assert_true(str_is(json_text_at(&heads.v[1], "description"), "Its size"));
        assert_true(str_is(json_text_at(&heads.v[2], "description"),
                           "Custom resource definition column (in JSONPath format): .spec.ratio"));
    }
}

/* --- the document ----------------------------------------------------------------------------- */

static void test_document(void **state)
{
    struct fixture *f = *state;
    const struct resource *r = resources_find(f->rs, STR(""), STR("v1"), STR("serviceaccounts"));
    struct json_value object =
        json_literal("{\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"x\"}}", &f->a);
    struct buf b = BUF_INIT;
    table_begin(r, false, STR("7"), STR("abc"), 3, &b);
    table_row(r, &object, TABLE_OBJECT_FULL, now, &b);
    buf_add_char(&b, ',');
    table_row(r, &object, TABLE_OBJECT_NONE, now, &b);
    table_end(&b);
    assert_string_equal(
        buf_cstr(&b),
        "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
        "v1\",\"metadata\":{\"resourceVersion\":\"7\","
        "\"continue\":\"abc\",\"remainingItemCount\":3},\"columnDefinitions\":null,\"rows\":["
        "{\"cells\":[\"x\",\"\\u003cunknown\\u003e\"],\"object\":{\"kind\":\"ServiceAccount\","
        "\"metadata\":{\"name\":\"x\"}}},"
        "{\"cells\":[\"x\",\"\\u003cunknown\\u003e\"],\"object\":null}]}");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_built_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_resource, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_default, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_custom, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_document, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
