/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of all API types: compared with upstream's .proto files, with objects that upstream
 * encoded, and round trips of random objects.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dirent.h>

#include "api/quantity.h"
#include "api/watch.h"
#include "base/vec.h"
#include "codec/json.h"
#include "codec/proto.h"
#include "prop.h"

#define FIELDS_FILE "tests/golden/protofields.txt"
#define OBJECTS_DIR "tests/golden/objects"

/* --- all types, each once --------------------------------------------------------------------- */

typedef VEC(const struct type *) type_vec;

static void collect(const struct type *type, type_vec *types)
{
    for (size_t i = 0; i < types->n; i++)
        if (types->v[i] == type)
            return;
    vec_push(types, type);
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].kind == FIELD_MESSAGE)
            collect(type->fields[i].type, types);
}

static void collect_all(type_vec *types)
{
    for (int id = 0; id < KIND_COUNT; id++)
        collect(kind_get((enum kind_id)id)->type, types);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Reads the whole file; the caller frees p. Returns false if it does not exist. */
static bool read_file(const char *path, struct str *ret_bytes)
{
    struct buf b = BUF_INIT;
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    char chunk[4096];
    while (!feof(f) && !ferror(f))
        buf_add(&b, chunk, fread(chunk, 1, sizeof(chunk), f));
    fclose(f);
    size_t n = b.n;
    *ret_bytes = (struct str){buf_take(&b), n};
    return true;
}

static void free_str(struct str s)
{
    free((void *)(uintptr_t)s.p);
}

/* --- rows against upstream's .proto ----------------------------------------------------------- */

/* One line: message, field, number, type, label. */
struct proto_field {
    struct str message, name, number, type, label;
};

typedef VEC(struct proto_field) proto_field_vec;

static void parse_fields(struct str text, proto_field_vec *fields)
{
    for (struct str line; str_split(&text, '\n', &line);) {
        struct proto_field f = {0};
        if (str_split(&line, '\t', &f.message) && str_split(&line, '\t', &f.name) &&
            str_split(&line, '\t', &f.number) && str_split(&line, '\t', &f.type)) {
            if (!str_split(&line, '\t', &f.label))
                f.label = (struct str){0};
            vec_push(fields, f);
        }
    }
}

static const struct proto_field *find_field(const proto_field_vec *fields, const char *message,
                                            const char *name)
{
    for (size_t i = 0; i < fields->n; i++)
        if (str_is(fields->v[i].message, message) && str_is(fields->v[i].name, name))
            return &fields->v[i];
    return NULL;
}

/* Whether `text` of a .proto means the type `full`. Within its own package a name may be short. */
static bool is_type(struct str text, const char *full)
{
    if (str_starts(text, STR(".")))
        text = str_slice(text, 1, text.n);
    if (str_find(text, '.') < text.n)
        return str_is(text, full);
    const char *last = strrchr(full, '.');
    return str_is(text, last ? last + 1 : full);
}

static bool is_custom(struct str text, const struct custom *custom)
{
    if (custom == &quantity_custom)
        return is_type(text, "k8s.io.apimachinery.pkg.api.resource.Quantity");
    return is_type(text, custom->name);
}

static bool value_matches(const struct field *f, struct str text)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
        return str_is(text, "string");
    case FIELD_BYTES:
        return str_is(text, "bytes");
    case FIELD_BOOL:
        return str_is(text, "bool");
    case FIELD_INT32:
        return str_is(text, "int32");
    case FIELD_INT64:
        return str_is(text, "int64");
    case FIELD_DOUBLE:
        return str_is(text, "double");
    case FIELD_RAW:
        return is_type(text, "k8s.io.apimachinery.pkg.runtime.RawExtension");
    case FIELD_MESSAGE:
        return is_type(text, f->type->name);
    case FIELD_CUSTOM:
        return is_custom(text, f->custom);
    }
    return false;
}

/* Whether it is "map<string, X>" with an entry value of type X. */
static bool map_matches(const struct field *f, struct str text)
{
    if (!str_starts(text, STR("map<string,")) || !str_ends(text, STR(">")))
        return false;
    struct str value = str_trim(str_slice(text, sizeof("map<string,") - 1, text.n - 1));
    return value_matches(&f->type->fields[1], value);
}

static void check_row(const proto_field_vec *fields, const struct type *type, const struct field *f)
{
    const struct proto_field *p = find_field(fields, type->name, f->json);
    if (!p)
        fail_msg("%s has no field %s", type->name, f->json);
    int64_t number;
    if (!str_to_i64(p->number, &number) || number != f->number)
        fail_msg("%s.%s is number %.*s, not %d", type->name, f->json, STR_ARG(p->number),
                 f->number);
    bool ok = f->shape == SHAPE_MAP ? map_matches(f, p->type)
                                    : value_matches(f, p->type) &&
                                          (f->shape == SHAPE_LIST) == str_is(p->label, "repeated");
    if (!ok)
        fail_msg("%s.%s is %.*s %.*s", type->name, f->json, STR_ARG(p->label), STR_ARG(p->type));
}

static void test_rows_are_upstreams(void **state UNUSED)
{
    struct str text;
    if (!read_file(FIELDS_FILE, &text))
        fail_msg("no %s", FIELDS_FILE);
    proto_field_vec fields = {0};
    type_vec types = {0};
    parse_fields(text, &fields);
    collect_all(&types);
    size_t rows = 0;
    for (size_t t = 0; t < types.n; t++) {
        const struct type *type = types.v[t];
        if (strncmp(type->name, "k8s.io.", 7) != 0)
            continue; /* entries of maps have no message of their own */
        for (size_t i = 0; i < type->n_fields; i++, rows++)
            check_row(&fields, type, &type->fields[i]);
    }
    assert_true(rows > 300);
    vec_release(&types);
    vec_release(&fields);
    free_str(text);
}

/* --- layout ----------------------------------------------------------------------------------- */

static size_t member_size(const struct field *f)
{
    switch ((enum field_shape)f->shape) {
    case SHAPE_ONE:
        return field_item_size(f);
    case SHAPE_PTR:
        return sizeof(void *);
    case SHAPE_LIST:
    case SHAPE_MAP:
        return sizeof(struct any_list);
    }
    return 0;
}

/* All members are described, and only the end of a struct is padded. */
static void test_structs_have_no_holes(void **state UNUSED)
{
    type_vec types = {0};
    collect_all(&types);
    for (size_t t = 0; t < types.n; t++) {
        const struct type *type = types.v[t];
        size_t used = 0;
        for (size_t i = 0; i < type->n_fields; i++)
            used += member_size(&type->fields[i]);
        if (type->n_fields && type->size - used >= type->align)
            fail_msg("%s: %zu of %zu bytes used", type->name, used, type->size);
    }
    vec_release(&types);
}

/* --- random objects --------------------------------------------------------------------------- */

struct filler {
    struct rand *r;
    struct arena *a;
    size_t size; /* 1 to 100: how many fields are filled */
};

static struct str random_str(struct filler *f)
{
    static const char *const pieces[] = {"a",  "Z", "0",    "-", ".", "/", "\"",   "\\",
                                         "\n", "<", "\x7f", "é", "€", "𝄞", "\x01", " "};
    struct str s = {0};
    for (uint64_t n = rand_below(f->r, 1 + f->size / 8); n > 0; n--)
        s = arena_printf(f->a, "%.*s%s", STR_ARG(s), pieces[rand_below(f->r, ARRAY_LEN(pieces))]);
    return s;
}

static int64_t random_int(struct filler *f)
{
    static const int64_t edges[] = {0, 1, -1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    uint64_t pick = rand_below(f->r, 10);
    return pick < ARRAY_LEN(edges) ? edges[pick]
                                   : (int64_t)(rand_u64(f->r) >> rand_below(f->r, 64));
}

/* Texts that survive a round trip: canonical quantities, times with the precision of their type. */
static void fill_custom(struct filler *f, const struct custom *custom, void *out)
{
    static const char *const quantities[] = {"0", "1", "100m", "1Gi", "1500Mi", "12e6", "5n", "3k"};
    static const char *const units[] = {"%", "", "x"};
    int64_t number = random_int(f);
    struct str text;
    bool quoted = true;
    if (custom == &quantity_custom) {
        text = str_of(quantities[rand_below(f->r, ARRAY_LEN(quantities))]);
    } else if (custom == &int_or_string_custom) {
        quoted = rand_below(f->r, 2);
        text =
            arena_printf(f->a, "%d%s", (int32_t)number, quoted ? units[rand_below(f->r, 3)] : "");
    } else {
        bool micro = custom == &micro_time_custom;
        text = arena_printf(f->a, "2%03d-12-%02dT23:59:0%dZ", (int)rand_below(f->r, 1000),
                            1 + (int)rand_below(f->r, 31), (int)rand_below(f->r, 10));
        if (micro)
            text = arena_printf(f->a, "%.*s.%06dZ", (int)text.n - 1, text.p,
                                (int)rand_below(f->r, 1000000));
    }
    struct err err;
    if (custom->from_json(text, quoted, f->a, out, &err) != 0)
        fail_msg("%s: %s", custom->name, err.msg);
}

static void fill(struct filler *f, const struct type *type, void *out);

static void fill_item(struct filler *f, const struct field *field, void *out)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_BYTES:
        *(struct str *)out = random_str(f);
        break;
    case FIELD_RAW:
        *(struct str *)out = rand_below(f->r, 2) ? STR("{\"a\":[1,null,\"b\"]}") : STR("\"x\"");
        break;
    case FIELD_BOOL:
        *(bool *)out = rand_below(f->r, 2);
        break;
    case FIELD_INT32:
        *(int32_t *)out = (int32_t)random_int(f);
        break;
    case FIELD_INT64:
        *(int64_t *)out = random_int(f);
        break;
    case FIELD_DOUBLE:
        *(double *)out = (double)(int32_t)random_int(f);
        break;
    case FIELD_MESSAGE:
        fill(f, field->type, out);
        break;
    case FIELD_CUSTOM:
        fill_custom(f, field->custom, out);
        break;
    }
}

static void fill_list(struct filler *f, const struct field *field, struct any_list *out)
{
    size_t size = field_item_size(field);
    size_t n = rand_below(f->r, 2 + f->size / 40);
    out->v = arena_alloc_array(f->a, n, size, _Alignof(max_align_t));
    out->n = n;
    for (size_t i = 0; i < n; i++) {
        char *item = (char *)out->v + i * size;
        fill_item(f, field, item);
        if (field->shape == SHAPE_MAP)
            *(struct str *)(void *)(item + field->type->fields[0].offset) =
                arena_printf(f->a, "%02zu/%s", i, rand_below(f->r, 2) ? "é" : "");
    }
}

static void fill(struct filler *f, const struct type *type, void *out)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *field = &type->fields[i];
        void *at = (char *)out + field->offset;
        if (rand_below(f->r, 150) >= 50 + f->size)
            continue;
        switch ((enum field_shape)field->shape) {
        case SHAPE_ONE:
            fill_item(f, field, at);
            break;
        case SHAPE_PTR:
            *(void **)at = arena_alloc(f->a, field_item_size(field), _Alignof(max_align_t));
            fill_item(f, field, *(void **)at);
            break;
        case SHAPE_LIST:
        case SHAPE_MAP:
            fill_list(f, field, at);
            break;
        }
    }
}

/* Encodes body, decodes it again and expects the same; the encoded bytes stay in out. */
static bool survives(const struct kind *kind, const void *body, enum encoding encoding,
                     struct buf *out)
{
    struct wire wire = {.kind = kind, .encoding = encoding};
    struct object *o = NULL;
    struct err err = {0};
    object_encode(kind, body, encoding, out);
    if (object_decode(&wire, buf_str(out), &o, &err) != 0) {
        print_error("%.*s: %s\n%.*s\n", STR_ARG(kind->kind), err.msg,
                    encoding == ENCODING_JSON ? (int)out->n : 0, out->p);
        return false;
    }
    bool equal = desc_equal(kind->type, body, object_body(o));
    if (!equal)
        print_error("%.*s comes back changed: %.*s\n", STR_ARG(kind->kind),
                    encoding == ENCODING_JSON ? (int)out->n : 0, out->p);
    /* A second round trip returns the same bytes. */
    struct buf again = BUF_INIT;
    object_encode(kind, object_body(o), encoding, &again);
    equal = equal && str_eq(buf_str(out), buf_str(&again));
    buf_release(&again);
    object_unref(o);
    return equal;
}

static bool random_object_survives(struct rand *r, size_t size, void *ctx)
{
    const struct kind *kind = ctx;
    struct arena arena;
    struct buf json = BUF_INIT, proto = BUF_INIT;
    arena_init(&arena, 0);
    void *body = arena_alloc(&arena, kind->type->size, _Alignof(max_align_t));
    fill(&(struct filler){r, &arena, size}, kind->type, body);
    bool ok =
        survives(kind, body, ENCODING_JSON, &json) && survives(kind, body, ENCODING_PROTO, &proto);
    buf_release(&json);
    buf_release(&proto);
    arena_release(&arena);
    return ok;
}

static void test_random_objects_survive_both_codecs(void **state UNUSED)
{
    for (int id = 0; id < KIND_COUNT; id++) {
        const struct kind *kind = kind_get((enum kind_id)id);
        char *name = str_dup(kind->kind);
        assert_true(prop_run(name, 100, random_object_survives, (void *)(uintptr_t)kind));
        free(name);
    }
}

/* --- objects encoded by upstream -------------------------------------------------------------- */

struct type_meta {
    struct str kind, api_version;
};
static const struct field type_meta_fields[] = {
    F_ONE(struct type_meta, kind, "kind", 0, STR),
    F_ONE(struct type_meta, api_version, "apiVersion", 0, STR),
};
static const struct type type_meta_type = TYPE("TypeMeta", struct type_meta, type_meta_fields);

/* One object, list or watch in both encodings. */
struct golden {
    const char *name;
    struct str json, proto;
    const struct kind *kind; /* of a list: its items' */
    bool is_list, is_full;
};

typedef VEC(struct object *) object_vec;

static void release_objects(object_vec *objects)
{
    for (size_t i = 0; i < objects->n; i++)
        object_unref(objects->v[i]);
    vec_release(objects);
}

static int keep_object(void *ctx, struct object *o)
{
    object_vec *objects = ctx;
    vec_push(objects, o);
    return 0;
}

static void find_kind(struct golden *g)
{
    struct arena arena;
    struct type_meta meta;
    struct err err;
    arena_init(&arena, 0);
    if (json_decode(g->json, &type_meta_type, 0, &arena, &meta, &err) != 0)
        fail_msg("%s: %s", g->name, err.msg);
    g->is_list = str_ends(meta.kind, STR("List"));
    g->kind = kind_find(meta.api_version,
                        g->is_list ? str_slice(meta.kind, 0, meta.kind.n - 4) : meta.kind);
    if (!g->kind)
        fail_msg("%s: unknown kind %.*s", g->name, STR_ARG(meta.kind));
    arena_release(&arena);
}

static void decode_golden(const struct golden *g, enum encoding encoding, object_vec *out)
{
    struct wire wire = {.kind = g->kind, .encoding = encoding};
    struct str bytes = encoding == ENCODING_JSON ? g->json : g->proto;
    struct object_list list;
    struct object *o = NULL;
    struct err err = {0};
    int r;
    if (g->is_list) {
        r = object_decode_list(&wire, bytes, keep_object, out, &list, &err);
        if (r == 0)
            object_list_release(&list);
    } else {
        r = object_decode(&wire, bytes, &o, &err);
        if (r == 0)
            vec_push(out, o);
    }
    if (r != 0)
        fail_msg("%s: %s", g->name, err.msg);
}

/* The path of an empty pointer, list or map in an object that upstream filled; NULL if none. */
static const char *find_empty(const struct type *type, const char *value)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        const char *at = value + f->offset;
        if (f->shape == SHAPE_PTR)
            at = *(const char *const *)(const void *)at;
        if (f->shape == SHAPE_LIST || f->shape == SHAPE_MAP) {
            const struct any_list *list = (const void *)at;
            at = list->n ? list->v : NULL;
        }
        if (!at)
            return f->json;
        const char *deeper = f->kind == FIELD_MESSAGE ? find_empty(f->type, at) : NULL;
        if (deeper)
            return deeper;
    }
    return NULL;
}

static void check_same(const struct golden *g, const struct object *a, const struct object *b)
{
    struct buf out = BUF_INIT;
    if (!desc_equal(g->kind->type, object_body(a), object_body(b)))
        fail_msg("%s: JSON and protobuf differ", g->name);
    assert_true(survives(g->kind, object_body(a), ENCODING_JSON, &out));
    buf_clear(&out);
    assert_true(survives(g->kind, object_body(b), ENCODING_PROTO, &out));
    buf_release(&out);
    const char *empty = g->is_full ? find_empty(g->kind->type, object_body(a)) : NULL;
    if (empty)
        fail_msg("%s: %s was not read", g->name, empty);
}

/* An object's memory is estimated from its wire size: little is left over. */
static void check_size(const struct golden *g, const struct object *o, size_t wire)
{
    if (object_size(o) > 4 * wire + 2 * g->kind->type->size + 1024)
        fail_msg("%s: %zu bytes for %zu on the wire", g->name, object_size(o), wire);
}

static void check_golden(const struct golden *g)
{
    object_vec by_json = {0}, by_proto = {0};
    decode_golden(g, ENCODING_JSON, &by_json);
    decode_golden(g, ENCODING_PROTO, &by_proto);
    assert_int_equal(by_json.n, by_proto.n);
    for (size_t i = 0; i < by_json.n && i < by_proto.n; i++) {
        check_same(g, by_json.v[i], by_proto.v[i]);
        check_size(g, by_proto.v[i], g->proto.n);
    }
    release_objects(&by_json);
    release_objects(&by_proto);
}

static void read_pair(const char *name, struct golden *ret_golden)
{
    char *json = xasprintf("%s/%s.json", OBJECTS_DIR, name);
    char *proto = xasprintf("%s/%s.pb", OBJECTS_DIR, name);
    struct golden g = {.name = name, .is_full = strstr(name, "-full") != NULL};
    if (!read_file(json, &g.json) || !read_file(proto, &g.proto))
        fail_msg("no %s or no %s", json, proto);
    free(json);
    free(proto);
    *ret_golden = g;
}

static void test_golden_objects_agree(void **state UNUSED)
{
    bool seen[KIND_COUNT] = {false};
    DIR *dir = opendir(OBJECTS_DIR);
    if (!dir) {
        fail_msg("no %s", OBJECTS_DIR);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct str name = str_of(e->d_name);
        if (!str_ends(name, STR(".json")) || str_starts(name, STR("watch-")))
            continue;
        char *stem = str_dup(str_slice(name, 0, name.n - 5));
        struct golden g;
        read_pair(stem, &g);
        find_kind(&g);
        check_golden(&g);
        seen[g.kind->id] = true;
        free_str(g.json);
        free_str(g.proto);
        free(stem);
    }
    closedir(dir);
    for (int id = 0; id < KIND_COUNT; id++)
        if (!seen[id] && id != KIND_DELETE_OPTIONS)
            fail_msg("no golden %.*s", STR_ARG(kind_get((enum kind_id)id)->kind));
}

/* Takes the next frame: a line of JSON, or protobuf after its length. */
static bool next_frame(struct str *rest, enum encoding encoding, struct str *ret_frame)
{
    if (encoding == ENCODING_JSON)
        return str_split(rest, '\n', ret_frame) && ret_frame->n > 0;
    if (rest->n < 4)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < 4; i++)
        n = n << 8 | (unsigned char)rest->p[i];
    *ret_frame = str_slice(*rest, 4, 4 + n);
    *rest = str_slice(*rest, 4 + n, rest->n);
    return true;
}

static void decode_frame(struct str frame, enum encoding encoding, struct watch_event *ret_event)
{
    struct wire wire = {.kind = kind_get(KIND_POD), .encoding = encoding};
    struct err err = {0};
    if (watch_event_decode(&wire, frame, ret_event, &err) != 0)
        fail_msg("watch-pods: %s", err.msg);
}

static void test_golden_watch_agrees(void **state UNUSED)
{
    struct golden g = {0};
    read_pair("watch-pods", &g);
    struct str json = g.json, proto = g.proto, json_frame = {0}, proto_frame = {0};
    bool seen[WATCH_ERROR + 1] = {false};
    while (next_frame(&json, ENCODING_JSON, &json_frame)) {
        struct watch_event a, b;
        assert_true(next_frame(&proto, ENCODING_PROTO, &proto_frame));
        decode_frame(json_frame, ENCODING_JSON, &a);
        decode_frame(proto_frame, ENCODING_PROTO, &b);
        assert_int_equal(a.type, b.type);
        seen[a.type] = true;
        g.kind = object_kind(a.object);
        assert_ptr_equal(g.kind, object_kind(b.object));
        check_same(&g, a.object, b.object);
        watch_event_release(&a);
        watch_event_release(&b);
    }
    assert_int_equal(proto.n, 0);
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        assert_true(seen[i]);
    free_str(g.json);
    free_str(g.proto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_upstreams),
        cmocka_unit_test(test_structs_have_no_holes),
        cmocka_unit_test(test_random_objects_survive_both_codecs),
        cmocka_unit_test(test_golden_objects_agree),
        cmocka_unit_test(test_golden_watch_agrees),
    };
    return cmocka_run_group_tests_name("api_types", tests, NULL, NULL);
}
