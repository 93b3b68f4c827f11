/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in protobuf as trees, compared with upstream's JSON of the same objects. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dirent.h>

#include "api/schema.h"
#include "codec/json_edit.h"
#include "codec/proto.h"
#include "codec/schema_proto.h"
#include "golden.h"

#define OBJECTS "tests/golden/objects"

static void read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    char bytes[4096];
    size_t n;

    assert_non_null(f);
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
        buf_add(out, bytes, n);
    fclose(f);
}

/* Decodes the object; false: its kind has no schema. */
static bool decode(struct str bytes, struct arena *a, struct json_value *ret, bool *ret_ok)
{
    struct proto_envelope e;
    const struct schema_kind *kind;
    struct err err;

    assert_int_equal(proto_open_envelope(bytes, &e, &err), 0);
    kind = schema_kind_find(e.api_version, e.kind);
    if (!kind || !kind->type)
        return false;
    *ret_ok = schema_proto_decode(schema_types, kind->type, e.raw, a, ret, &err) == 0;
    json_set(ret, STR("kind"), json_text(e.kind), a);
    json_set(ret, STR("apiVersion"), json_text(e.api_version), a);
    return true;
}

/* Members of the JSON that are null, or a status of {}, are absent or empty here. */
static void drop_nulls(struct json_value *v)
{
    size_t kept = 0;

    if (v->kind == JSON_ARRAY)
        for (size_t i = 0; i < v->n; i++)
            drop_nulls(&v->items[i]);
    if (v->kind != JSON_OBJECT)
        return;
    for (size_t i = 0; i < v->n_members; i++) {
        if (v->members[i].value.kind == JSON_NULL)
            continue;
        drop_nulls(&v->members[i].value);
        v->members[kept++] = v->members[i];
    }
    v->n_members = kept;
}

static bool compare(const char *name)
{
    char path[512];
    struct buf bytes = BUF_INIT, got = BUF_INIT, want = BUF_INIT;
    struct json_value tree, expected;
    struct arena a;
    bool ok = false, known;

    arena_init(&a, 0);
    snprintf(path, sizeof(path), OBJECTS "/%s.pb", name);
    read_file(path, &bytes);
    known = decode(buf_str(&bytes), &a, &tree, &ok);
    if (known) {
        snprintf(path, sizeof(path), "objects/%s.json", name);
        expected = golden_tree(path, &a);
        drop_nulls(&expected);
        drop_nulls(&tree);
        json_write(&tree, &got);
        json_write(&expected, &want);
        if (!ok || !json_value_equal(&tree, &expected))
            fail_msg("%s:\n%s\n%s", name, buf_cstr(&got), buf_cstr(&want));
    }
    buf_release(&bytes);
    buf_release(&got);
    buf_release(&want);
    arena_release(&a);
    return known;
}

static void golden_objects(void **state)
{
    DIR *d = opendir(OBJECTS);
    size_t n = 0;

    (void)state;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        struct str name = str_of(e->d_name);
        char *stem;

        if (!str_ends(name, STR(".pb")) || str_starts(name, STR("watch-")))
            continue;
        stem = str_dup(str_slice(name, 0, name.n - 3));
        n += compare(stem);
        free(stem);
    }
    closedir(d);
    assert_true(n > 100);
}

/* Truncated and changed bytes give an error or an object, and nothing else. */
static void malformed(void **state)
{
    struct buf bytes = BUF_INIT;
    struct proto_envelope e;
    const struct schema_type *type = schema_kind_find(STR("v1"), STR("Pod"))->type;
    struct json_value v;
    struct err err;

    (void)state;
    read_file(OBJECTS "/pod-full.pb", &bytes);
    assert_int_equal(proto_open_envelope(buf_str(&bytes), &e, &err), 0);
    for (size_t n = 0; n < e.raw.n; n += 97) {
        struct arena a;

        arena_init(&a, 0);
        if (schema_proto_decode(schema_types, type, str_slice(e.raw, 0, n), &a, &v, &err) == 0)
            assert_int_equal(v.kind, JSON_OBJECT);
        ((char *)(uintptr_t)e.raw.p)[n] ^= 0x55;
        if (schema_proto_decode(schema_types, type, e.raw, &a, &v, &err) == 0)
            assert_int_equal(v.kind, JSON_OBJECT);
        ((char *)(uintptr_t)e.raw.p)[n] ^= 0x55;
        arena_release(&a);
    }
    buf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_objects),
        cmocka_unit_test(malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
