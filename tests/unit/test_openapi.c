/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of OpenAPI, compared with the structure of upstream's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/openapi/openapi.h"
#include "base/vec.h"
#include "codec/json_edit.h"
#include "codec/proto.h"

struct fixture {
    struct resources *rs;
    struct arena a;
    VEC(struct json_value) documents; /* of v3 */
};

static struct json_value parse(struct fixture *f, struct buf *text)
{
    struct json_value v;
    struct err err;
    if (json_parse(arena_dup(&f->a, buf_str(text)), JSON_STRICT, &f->a, &v, &err))
        fail_msg("%s", err.msg);
    buf_release(text);
    return v;
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    const struct resource *previous = NULL;
    f->rs = resources_new();
    arena_init(&f->a, 0);
    for (const struct resource *r = NULL; (r = resources_next(f->rs, r)); previous = r)
        if (!previous || !str_eq(previous->api_version, r->api_version)) {
            struct buf b = BUF_INIT;
            assert_true(openapi_v3(f->rs, r->group, r->version, &b));
            vec_push(&f->documents, parse(f, &b));
        }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    resources_free(f->rs);
    arena_release(&f->a);
    vec_release(&f->documents);
    free(f);
    return 0;
}

/* "string:byte", "@REF", "[TYPE]", "{TYPE}": see tests/kube/openapi_golden.py. */
static void write_form(const struct json_value *schema, struct buf *out)
{
    struct json_items all = json_items_at(schema, "allOf");
    struct str ref = json_get_text(schema, STR("$ref")), format = json_text_at(schema, "format");
    struct str type = json_text_at(schema, "type");
    const struct json_value *items = json_at(schema, "items");
    const struct json_value *values = json_at(schema, "additionalProperties");
    if (ref.n) {
        size_t slash = ref.n;
        while (slash && ref.p[slash - 1] != '/')
            slash--;
        buf_add_printf(out, "@%.*s", STR_ARG(str_slice(ref, slash, ref.n)));
    } else if (all.n) {
        write_form(&all.v[0], out);
    } else if (items || values) {
        buf_add_char(out, items ? '[' : '{');
        write_form(items ? items : values, out);
        buf_add_char(out, items ? ']' : '}');
    } else {
        buf_add_str(out, type.n ? type : STR("any"));
        if (format.n)
            buf_add_printf(out, ":%.*s", STR_ARG(format));
    }
}

static void write_or_dash(struct str s, struct buf *out)
{
    buf_add_char(out, ' ');
    buf_add_str(out, s.n ? s : STR("-"));
}

static int compare_texts(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void write_sorted(struct str *v, size_t n, struct buf *out)
{
    qsort(v, n, sizeof(*v), compare_texts);
    for (size_t i = 0; i < n; i++)
        buf_add_printf(out, "%s%.*s", i ? "," : " ", STR_ARG(v[i]));
    if (!n)
        buf_add_cstr(out, " -");
}

static void write_names(struct json_items list, bool sorted, struct buf *out)
{
    struct str v[64];
    for (size_t i = 0; i < list.n; i++)
        v[i] = list.v[i].text;
    if (sorted)
        write_sorted(v, list.n, out);
    for (size_t i = 0; !sorted && i < list.n; i++)
        buf_add_printf(out, "%s%.*s", i ? "," : " ", STR_ARG(v[i]));
    if (!sorted && !list.n)
        buf_add_cstr(out, " -");
}

static void write_property(struct str name, const struct json_value *v, struct buf *out)
{
    struct str list_type = json_get_text(v, STR("x-kubernetes-list-type"));
    const struct json_value *preset = json_at(v, "default");
    buf_add_printf(out, "P %.*s ", STR_ARG(name));
    write_form(v, out);
    write_or_dash(list_type.n ? list_type : json_get_text(v, STR("x-kubernetes-map-type")), out);
    write_names(json_items_at(v, "x-kubernetes-list-map-keys"), false, out);
    write_or_dash(json_get_text(v, STR("x-kubernetes-patch-merge-key")), out);
    write_or_dash(json_get_text(v, STR("x-kubernetes-patch-strategy")), out);
    buf_add_char(out, ' ');
    if (preset)
        json_write(preset, out);
    else
        buf_add_char(out, '-');
    buf_add_char(out, '\n');
}

static const struct json_value *find_type(const struct fixture *f, struct str name)
{
    for (size_t i = 0; i < f->documents.n; i++) {
        const struct json_value *v =
            json_get(json_at(&f->documents.v[i], "components.schemas"), name);
        if (v)
            return v;
    }
    return NULL;
}

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

/* --- types ------------------------------------------------------------------------------------ */

/* Types of upstream that describe no object of ours. */
static bool is_left_out(struct str name)
{
    static const char *const ends[] = {"APIResource", "APIResourceList", "WatchEvent",
                                       "StatusDetails", "StatusCause"};
    if (str_starts(name, STR("io.k8s.api.resource.v1beta2."))) /* one kind of it is served */
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_ends(name, str_of(ends[i])))
            return true;
    return false;
}

static void check_line(const struct json_value *type, struct str name, struct str line)
{
    struct buf ours = BUF_INIT;
    if (line.p[0] == 'T') {
        buf_add_printf(&ours, "T %.*s", STR_ARG(name));
        write_or_dash(json_get_text(type, STR("x-kubernetes-map-type")), &ours);
        write_names(json_items_at(type, "required"), true, &ours);
        buf_add_char(&ours, '\n');
    } else {
        struct str rest = str_slice(line, 2, line.n), field;
        (void)!str_split(&rest, ' ', &field);
        const struct json_value *v = json_get(json_at(type, "properties"), field);
        if (!v)
            fail_msg("%.*s has no %.*s", STR_ARG(name), STR_ARG(field));
        write_property(field, v, &ours);
    }
    if (!str_eq(buf_str(&ours), str_slice(line, 0, line.n + 1)) &&
        !str_eq(str_slice(buf_str(&ours), 0, ours.n - 1), line))
        fail_msg("%.*s:\n%s%.*s", STR_ARG(name), buf_cstr(&ours), STR_ARG(line));
    buf_release(&ours);
}

static void test_types(void **state)
{
    struct fixture *f = *state;
    struct buf golden = read_file("tests/golden/openapi_types.txt");
    struct str rest = buf_str(&golden), line, name = {0};
    const struct json_value *type = NULL;
    size_t checked = 0;
    while (str_split(&rest, '\n', &line) && line.n) {
        if (line.p[0] == 'T') {
            struct str words = str_slice(line, 2, line.n);
            (void)!str_split(&words, ' ', &name);
            type = find_type(f, name);
            if (!type && !is_left_out(name))
                fail_msg("no %.*s", STR_ARG(name));
        }
        if (type && ++checked)
            check_line(type, name, line);
    }
    buf_release(&golden);
    assert_true(checked > 2000);
}

/* --- paths ------------------------------------------------------------------------------------ */

static const struct json_value *find_path(const struct fixture *f, struct str path)
{
    const struct json_value *v = NULL;
    for (size_t i = 0; i < f->documents.n && !v; i++)
        v = json_get(json_at(&f->documents.v[i], "paths"), path);
    return v;
}

/* Those of the operation and those of the path. */
static void write_parameters(const struct json_value *op, const struct json_value *item,
                             bool connects, struct buf *out)
{
    struct json_items lists[] = {json_items_at(op, "parameters"),
                                 json_items_at(item, "parameters")};
    struct str names[64];
    size_t n = 0;
    for (size_t l = 0; l < 2 && !connects; l++)
        for (size_t i = 0; i < lists[l].n; i++)
            names[n++] = json_text_at(&lists[l].v[i], "name");
    write_sorted(names, n, out);
}

static bool is_connection(struct str path)
{
    static const char *const parts[] = {"/proxy", "/exec", "/attach", "/portforward", "/log"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (str_search(path, str_of(parts[i])) < path.n)
            return true;
    return false;
}

static void check_operation(const struct fixture *f, struct str line)
{
    struct str rest = line, path, method;
    struct buf ours = BUF_INIT;
    (void)!str_split(&rest, ' ', &path);
    (void)!str_split(&rest, ' ', &method);
    const struct json_value *item = find_path(f, path), *op = json_get(item, method);
    if (!op && is_connection(path)) /* upstream has more methods, and {path} */
        return;
    if (!op && str_starts(path, STR("/apis/resource.k8s.io/v1beta2/")) &&
        str_search(path, STR("devicetaintrules")) == path.n)
        return;
    if (!op)
        fail_msg("no %.*s", STR_ARG(line));
    const struct json_value *kind = json_get(op, STR("x-kubernetes-group-version-kind"));
    struct str action = json_get_text(op, STR("x-kubernetes-action"));
    buf_add_printf(&ours, "%.*s %.*s %.*s %.*s/%.*s/%.*s %.*s", STR_ARG(path), STR_ARG(method),
                   STR_ARG(action), STR_ARG(json_text_at(kind, "group")),
                   STR_ARG(json_text_at(kind, "version")), STR_ARG(json_text_at(kind, "kind")),
                   STR_ARG(json_text_at(op, "operationId")));
    write_parameters(op, item, is_connection(path), &ours);
    if (!str_eq(buf_str(&ours), line))
        fail_msg("\n%s\n%.*s", buf_cstr(&ours), STR_ARG(line));
    buf_release(&ours);
}

static void test_paths(void **state)
{
    struct buf golden = read_file("tests/golden/openapi_paths.txt");
    struct str rest = buf_str(&golden), line;
    size_t n = 0;
    while (str_split(&rest, '\n', &line) && line.n) {
        check_operation(*state, line);
        n++;
    }
    buf_release(&golden);
    assert_true(n > 500);
}

/* --- documents -------------------------------------------------------------------------------- */

static struct str index_url(struct fixture *f, struct str group_version)
{
    struct buf b = BUF_INIT;
    openapi_v3_index(f->rs, &b);
    struct json_value index = parse(f, &b);
    const struct json_value *entry = json_get(json_at(&index, "paths"), group_version);
    return json_text_at(entry, "serverRelativeURL");
}

static void test_index(void **state)
{
    struct fixture *f = *state;
    struct buf b = BUF_INIT;
    openapi_v3_index(f->rs, &b);
    struct json_value index = parse(f, &b);
    assert_int_equal(json_members_at(&index, "paths").n, f->documents.n);
    struct str core = index_url(f, STR("api/v1")), apps = index_url(f, STR("apis/apps/v1"));
    assert_true(str_starts(core, STR("/openapi/v3/api/v1?hash=")));
    assert_true(str_starts(apps, STR("/openapi/v3/apis/apps/v1?hash=")));
    assert_false(
        str_eq(str_slice(core, core.n - 32, core.n), str_slice(apps, apps.n - 32, apps.n)));
    assert_true(str_eq(core, index_url(f, STR("api/v1"))));
    assert_false(openapi_v3(f->rs, STR("example.com"), STR("v1"), &b));
}

/* No reference of v2 or v3 leads nowhere. */
static void check_refs(const struct json_value *v, const struct json_value *types)
{
    if (v->kind == JSON_ARRAY)
        for (size_t i = 0; i < v->n; i++)
            check_refs(&v->items[i], types);
    if (v->kind != JSON_OBJECT)
        return;
    for (size_t i = 0; i < v->n_members; i++) {
        const struct json_value *m = &v->members[i].value;
        if (str_is(v->members[i].key, "$ref") && m->kind == JSON_STRING) {
            struct buf form = BUF_INIT;
            write_form(v, &form);
            if (!json_get(types, str_slice(buf_str(&form), 1, form.n)))
                fail_msg("no %s", buf_cstr(&form));
            buf_release(&form);
        }
        check_refs(m, types);
    }
}

static void test_references(void **state)
{
    struct fixture *f = *state;
    struct buf b = BUF_INIT;
    openapi_v2(f->rs, &b);
    struct json_value v2 = parse(f, &b);
    check_refs(&v2, json_at(&v2, "definitions"));
    for (size_t i = 0; i < f->documents.n; i++)
        check_refs(&f->documents.v[i], json_at(&f->documents.v[i], "components.schemas"));
    assert_true(json_members_at(&v2, "definitions").n > 400);
}

/* The bytes of a field, the n-th of this number; empty if there is none. */
static struct str bytes_of(struct str message, uint32_t number, size_t n)
{
    uint32_t found;
    enum proto_wire wire;
    struct str bytes;
    for (size_t at = 0; at < message.n;) {
        assert_true(proto_read_tag(message, &at, &found, &wire));
        if (wire != PROTO_BYTES) {
            assert_true(proto_skip(message, &at, wire));
            continue;
        }
        assert_true(proto_read_bytes(message, &at, &bytes));
        if (found == number && n-- == 0)
            return bytes;
    }
    return STR("");
}

/* The value of the pair of this name: field 1 is the name, 2 the value. */
static struct str named(struct str pairs, uint32_t number, const char *name)
{
    for (size_t i = 0;; i++) {
        struct str pair = bytes_of(pairs, number, i);
        if (str_empty(pair))
            fail_msg("no %s", name);
        if (str_is(bytes_of(pair, 1, 0), name))
            return bytes_of(pair, 2, 0);
    }
}

/* gnostic's numbers: of Document, of Schema (type 22, properties 25, extensions 31) and others. */
static void test_proto(void **state)
{
    struct fixture *f = *state;
    struct json_value schema = json_literal(
        "{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"number\","
        "\"minimum\":0.5,\"maxLength\":300,\"enum\":[1,\"b\"]},\"any\":{\"type\":\"object\","
        "\"additionalProperties\":true}}}",
        &f->a);
    struct resource widget = {.group = STR("example.com"),
                              .version = STR("v1"),
                              .api_version = STR("example.com/v1"),
                              .plural = STR("widgets"),
                              .kind = STR("Widget"),
                              .verbs = VERB_GET,
                              .schema = &schema};
    struct buf b = BUF_INIT;
    resources_add(f->rs, &widget);
    assert_true(openapi_v2_proto(f->rs, &b));
    struct str document = buf_str(&b), definitions = bytes_of(document, 9, 0);
    assert_true(str_is(bytes_of(document, 1, 0), "2.0"));
    struct str pod = named(definitions, 1, "io.k8s.api.core.v1.Pod");
    assert_true(str_is(bytes_of(bytes_of(pod, 22, 0), 1, 0), "object"));
    assert_true(str_is(bytes_of(named(bytes_of(pod, 25, 0), 1, "spec"), 1, 0),
                       "#/definitions/io.k8s.api.core.v1.PodSpec"));
    assert_true(str_is(bytes_of(named(pod, 31, "x-kubernetes-group-version-kind"), 2, 0),
                       "- group: \"\"\n  kind: Pod\n  version: v1\n"));
    struct str path = named(bytes_of(document, 8, 0), 2, "/api/v1/namespaces/{namespace}/pods");
    assert_true(str_is(bytes_of(bytes_of(path, 2, 0), 5, 0), "listCoreV1NamespacedPod"));
    struct str parameter = bytes_of(bytes_of(bytes_of(path, 4, 0), 8, 0), 1, 0);
    assert_true(str_is(bytes_of(bytes_of(parameter, 1, 0), 3, 0), "body"));
    parameter = bytes_of(bytes_of(bytes_of(path, 9, 0), 1, 0), 2, 0);
    parameter = bytes_of(parameter, 4, 0);
    assert_true(str_is(bytes_of(parameter, 4, 0), "namespace"));
    assert_true(str_ends(parameter, STR("\x98\x01\x01"))); /* uniqueItems = 19 */

    struct str properties = bytes_of(named(definitions, 1, "com.example.v1.Widget"), 25, 0);
    struct str size = named(properties, 1, "size");
    static const char limits[] = "\x49\0\0\0\0\0\0\xe0\x3f\x58\xac\x02";
    assert_true(str_search(size, (struct str){limits, sizeof(limits) - 1}) < size.n);
    assert_true(str_is(bytes_of(bytes_of(size, 20, 1), 2, 0), "b\n"));
    assert_true(str_is(bytes_of(named(properties, 1, "any"), 21, 0), "\x10\x01"));
    buf_release(&b);
}

/* What v2 cannot say of a custom resource is left out, as upstream does. */
static void test_custom_v2(void **state)
{
    static const char schema[] =
        "{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"properties\":{\"a\":{\"type\":\"array\","
        "\"nullable\":true,\"items\":{\"type\":\"string\"}},\"b\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{}},\"c\":{\"type\":"
        "\"array\",\"items\":{\"type\":\"string\",\"anyOf\":[]}}}}";
    struct fixture *f = *state;
    struct json_value trees[] = {
        json_literal(schema, &f->a),
        json_literal("{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
                     "\"properties\":{\"a\":{\"type\":\"string\"}}}",
                     &f->a)};
    static const char *const kinds[] = {"Widget", "Gadget"}, *const plurals[] = {"ws", "gs"};
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++)
        resources_add(f->rs, &(struct resource){.group = STR("example.com"),
                                                .version = STR("v1"),
                                                .api_version = STR("example.com/v1"),
                                                .plural = str_of(plurals[i]),
                                                .kind = str_of(kinds[i]),
                                                .verbs = VERB_GET,
                                                .schema = &trees[i]});
    openapi_v2(f->rs, &b);
    struct json_value document = parse(f, &b);
    const struct json_value *types = json_at(&document, "definitions");
    const struct json_value *widget = json_get(types, STR("com.example.v1.Widget"));
    const struct json_value *gadget = json_get(types, STR("com.example.v1.Gadget"));
    json_write(json_at(widget, "required"), &b);
    json_write(json_at(widget, "properties.a"), &b);
    json_write(json_at(widget, "properties.b"), &b);
    json_write(json_at(widget, "properties.c"), &b);
    assert_string_equal(buf_cstr(&b), "[\"b\"]{}{\"x-kubernetes-preserve-unknown-fields\":true}"
                                      "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
    buf_release(&b);
    assert_null(json_at(gadget, "properties"));
    assert_non_null(json_get(gadget, STR("x-kubernetes-group-version-kind")));
}

static void test_custom(void **state)
{
    struct fixture *f = *state;
    struct json_value schema =
        json_literal("{\"type\":\"object\",\"description\":\"A widget.\",\"properties\":{\"spec\":"
                     "{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"integer\"}}}}}",
                     &f->a);
    struct resource r = {.group = STR_INIT("stable.example.com"),
                         .version = STR_INIT("v1"),
                         .api_version = STR_INIT("stable.example.com/v1"),
                         .plural = STR_INIT("widgets"),
                         .singular = STR_INIT("widget"),
                         .kind = STR_INIT("Widget"),
                         .list_kind = STR_INIT("WidgetList"),
                         .namespaced = true,
                         .verbs = VERBS_ALL,
                         .schema = &schema};
    struct buf b = BUF_INIT;
    resources_add(f->rs, &r);
    assert_true(openapi_v3(f->rs, r.group, r.version, &b));
    struct json_value v = parse(f, &b);
    const struct json_value *types = json_at(&v, "components.schemas");
    const struct json_value *widget = json_get(types, STR("com.example.stable.v1.Widget"));
    assert_true(str_is(json_text_at(widget, "properties.spec.properties.size.type"), "integer"));
    assert_true(str_is(json_text_at(widget, "description"), "A widget."));
    assert_non_null(json_get(types, STR("com.example.stable.v1.WidgetList")));
    check_refs(&v, types);
    const struct json_value *path =
        json_get(json_at(&v, "paths"),
                 STR("/apis/stable.example.com/v1/namespaces/{namespace}/widgets/{name}"));
    const struct json_value *content = json_at(path, "patch.requestBody.content");
    assert_non_null(json_get(content, STR("application/merge-patch+json")));
    assert_null(json_get(content, STR("application/strategic-merge-patch+json")));
    struct str before = index_url(f, STR("apis/stable.example.com/v1"));
    r.schema = NULL;
    resources_add(f->rs, &r);
    assert_false(str_eq(before, index_url(f, STR("apis/stable.example.com/v1"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_references, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_proto, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_custom_v2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_custom, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
