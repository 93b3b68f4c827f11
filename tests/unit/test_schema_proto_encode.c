/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as protobuf, compared with the bytes of upstream's encoder for the same objects. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <glob.h>

#include "api/schema.h"
#include "codec/json_edit.h"
#include "codec/proto.h"
#include "codec/schema_proto.h"

static struct buf read_file(const char *path)
{
    struct buf b = BUF_INIT;
    char chunk[4096];
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s", path);
    while (!feof(file) && !ferror(file))
        buf_add(&b, chunk, fread(chunk, 1, sizeof(chunk), file));
    fclose(file);
    return b;
}

static void show(struct str bytes, size_t around, struct buf *out)
{
    for (size_t i = around > 24 ? around - 24 : 0; i < bytes.n && i < around + 24; i++)
        buf_add_printf(out, i == around ? "|%02x" : " %02x", (unsigned char)bytes.p[i]);
}

static void same_bytes(struct str ours, struct str theirs, const char *what)
{
    size_t at = 0;
    if (str_eq(ours, theirs))
        return;
    while (at < ours.n && at < theirs.n && ours.p[at] == theirs.p[at])
        at++;
    struct buf a = BUF_INIT, b = BUF_INIT;
    show(ours, at, &a);
    show(theirs, at, &b);
    fail_msg("%s at %zu of %zu and %zu:\n%s\n%s", what, at, ours.n, theirs.n, buf_cstr(&a),
             buf_cstr(&b));
}

/* The object of a file NAME.json as bytes is NAME.pb. True if its kind has a schema. */
static bool check_pair(const char *json_path)
{
    char path[512];
    struct arena a;
    struct json_value v;
    struct proto_envelope envelope;
    struct err err;
    struct buf json = read_file(json_path), ours = BUF_INIT, theirs;
    snprintf(path, sizeof(path), "%.*s.pb", (int)strlen(json_path) - 5, json_path);
    theirs = read_file(path);
    arena_init(&a, 0);
    assert_int_equal(json_parse(buf_str(&json), JSON_STRICT, &a, &v, &err), 0);
    const struct schema_kind *kind =
        schema_kind_find(json_text_at(&v, "apiVersion"), json_text_at(&v, "kind"));
    bool known = kind && kind->type && proto_open_envelope(buf_str(&theirs), &envelope, &err) == 0;
    if (known) {
        schema_proto_encode(schema_types, kind->type, &v, &ours);
        same_bytes(buf_str(&ours), envelope.raw, path);
    }
    arena_release(&a);
    buf_release(&json);
    buf_release(&ours);
    buf_release(&theirs);
    return known;
}

static void check_folder(const char *pattern, size_t at_least)
{
    glob_t files;
    size_t n = 0;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (!strstr(files.gl_pathv[i], "/watch")) /* a stream of events */
            n += check_pair(files.gl_pathv[i]);
    globfree(&files);
    assert_true(n >= at_least);
}

static void test_objects(void **state)
{
    (void)state;
    check_folder("tests/golden/objects/*.json", 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
