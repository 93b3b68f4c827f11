/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all fields compared with upstream's .proto files, and the errors about objects. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/schema.h"
#include "base/vec.h"
#include "objects.h"

#define FIELDS_FILE "tests/golden/protofields.txt"

/* --- the tables ------------------------------------------------------------------------------- */

struct proto_field {
    struct str message, name, type, label;
    int64_t number;
};
typedef VEC(struct proto_field) proto_fields;

static char *read_fields(proto_fields *ret_fields)
{
    struct buf b = BUF_INIT;
    FILE *f = fopen(FIELDS_FILE, "rb");
    assert_non_null(f);
    char chunk[4096];
    while (!feof(f) && !ferror(f))
        buf_add(&b, chunk, fread(chunk, 1, sizeof(chunk), f));
    fclose(f);
    struct str text = buf_str(&b), line, number;
    while (str_split(&text, '\n', &line)) {
        struct proto_field field = {0};
        if (str_split(&line, '\t', &field.message) && str_split(&line, '\t', &field.name) &&
            str_split(&line, '\t', &number) && str_split(&line, '\t', &field.type) &&
            str_split(&line, '\t', &field.label) && str_to_i64(number, &field.number))
            vec_push(ret_fields, field);
    }
    return buf_take(&b);
}

/* outer: of the inline message, or 0. */
static const struct schema_field *find(const struct schema_type *type, int64_t outer,
                                       int64_t number)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].outer == outer && type->fields[i].number == number)
            return &type->fields[i];
    return NULL;
}

static const char *wire_type(const struct schema_field *f)
{
    static const char *const names[] = {
        [SCHEMA_WIRE_VARINT] = "int64",
        [SCHEMA_WIRE_INT32] = "int32",
        [SCHEMA_WIRE_BOOL] = "bool",
        [SCHEMA_WIRE_STRING] = "string",
        [SCHEMA_WIRE_BYTES] = "bytes",
        [SCHEMA_WIRE_DOUBLE] = "double",
        [SCHEMA_WIRE_QUANTITY] = "Quantity",
        [SCHEMA_WIRE_INT_OR_STRING] = "IntOrString",
        [SCHEMA_WIRE_TIME] = "Time",
        [SCHEMA_WIRE_MICRO_TIME] = "MicroTime",
        [SCHEMA_WIRE_DURATION] = "Duration",
        [SCHEMA_WIRE_RAW] = "RawExtension",
        [SCHEMA_WIRE_FIELDS_V1] = "FieldsV1",
        [SCHEMA_WIRE_JSON] = "JSON",
        [SCHEMA_WIRE_STRING_LIST] = "ExtraValue",
        [SCHEMA_WIRE_SCHEMA_OR_ARRAY] = "JSONSchemaPropsOrArray",
        [SCHEMA_WIRE_SCHEMA_OR_BOOL] = "JSONSchemaPropsOrBool",
        [SCHEMA_WIRE_SCHEMA_OR_STRINGS] = "JSONSchemaPropsOrStringArray",
    };
    return f->wire == SCHEMA_WIRE_MESSAGE ? schema_types[f->type].name : names[f->wire];
}

static void compare_field(const struct proto_field *field, const struct schema_field *f)
{
    /* Options of JSON schemas have dashes and dollars in JSON. */
    bool option = str_ends(field->message, STR(".JSONSchemaProps"));
    if (!option && !str_eq_fold(field->name, str_of(f->name))) /* uID and uid */
        fail_msg("%.*s.%.*s is %s", STR_ARG(field->message), STR_ARG(field->name), f->name);
    struct str type = field->type;
    if (f->shape == SCHEMA_MAP) /* map<string,TYPE> */
        type = str_slice(type, 0, type.n - 1);
    if (!str_ends(type, str_of(wire_type(f))))
        fail_msg("%.*s.%.*s: %.*s and %s", STR_ARG(field->message), STR_ARG(field->name),
                 STR_ARG(field->type), wire_type(f));
    static const char *const labels[] = {"optional", "repeated", "map"};
    assert_true(str_is(field->label, labels[f->shape]));
}

/* Fields of a message that Go embeds inline are in its parent. Counts the existing ones. */
static size_t match_message(const proto_fields *all, struct str message, int64_t outer,
                            const struct schema_type *type)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct proto_field *field = &all->v[i];
        if (!str_eq(field->message, message))
            continue;
        const struct schema_field *f = find(type, outer, field->number);
        if (f) {
            compare_field(field, f);
            n++;
            continue;
        }
        size_t inner = outer ? 0 : match_message(all, field->type, field->number, type);
        if (inner == 0)
            fail_msg("%s has no %.*s", type->name, STR_ARG(field->name));
        n += inner;
    }
    return n;
}

static void the_tables_are_those_of_upstream(void **state)
{
    (void)state;
    proto_fields fields = {0};
    char *text = read_fields(&fields);
    assert_true(n_schema_types > 400);
    for (size_t i = 0; i < n_schema_types; i++) {
        const struct schema_type *type = &schema_types[i];
        size_t n = match_message(&fields, str_of(type->name), 0, type);
        /* apiVersion and kind of objects are in the envelope of protobuf. */
        if (n != type->n_order || (n != type->n_fields && n + 2 != type->n_fields))
            fail_msg("%s: %zu fields, upstream has %zu", type->name, type->n_fields, n);
    }
    vec_release(&fields);
    free(text);
}

static void the_tables_are_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_schema_types; i++) {
        const struct schema_type *type = &schema_types[i];
        assert_in_range(type->n_fields, 0, SCHEMA_MAX_FIELDS);
        for (size_t k = 0; k < type->n_fields; k++) {
            const struct schema_field *f = &type->fields[k];
            assert_int_equal(f->name_len, strlen(f->name));
            assert_true(k == 0 || strcmp(type->fields[k - 1].name, f->name) < 0);
            assert_true(f->type < n_schema_types);
            assert_true((f->merge == SCHEMA_MERGE_MAP) == (f->keys != NULL));
            assert_true(f->shape == SCHEMA_LIST || !f->patch_key);
        }
        int last = 0;
        for (size_t k = 0; k < type->n_order; k++) {
            const struct schema_field *f = &type->fields[(uint8_t)type->order[k]];
            int now = (f->outer ? f->outer : f->number) * 1024 + (f->outer ? f->number : 0);
            assert_true(now > last);
            last = now;
        }
    }
}

/* Every kind that berth reads has a table of fields. */
static void every_kind_has_a_schema(void **state)
{
    (void)state;
    for (int id = 0; id < KIND_COUNT; id++) {
        const struct kind *kind = kind_get((enum kind_id)id);
        const struct schema_kind *schema = schema_kind_find(kind->api_version, kind->kind);
        if (kind->has_metadata && (!schema || !schema->type))
            fail_msg("%.*s has none", STR_ARG(kind->kind));
    }
    assert_null(schema_kind_find(STR("v1"), STR("Deployment")));
    assert_string_equal(schema_kind_named(STR("Deployment"))->api_version.p, "apps/v1");
    assert_string_equal(schema_kind_near(STR("v1"), STR("Pdo"))->kind.p, "Pod");
    assert_null(schema_kind_near(STR("v1"), STR("Widget")));
}

/* --- errors ----------------------------------------------------------------------------------- */

static void note(void *ctx, const struct schema_problem *problem)
{
    struct buf *out = ctx;
    buf_add_printf(out, "%zu ", problem->offset);
    schema_problem_write(problem, out);
    buf_add_char(out, '\n');
}

static void problems_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *json, *problems;
    } cases[] = {
        {"{}", ""},
        {"{'apiVersion':'v1','kind':'Pod','metadata':null,'spec':{'containers':"
         "[{'name':'c','ports':[{'containerPort':80}],'resources':{'requests':"
         "{'cpu':1,'memory':'1Gi'}},'livenessProbe':{'httpGet':{'port':'http'}}}],"
         "'volumes':[{'name':'v','emptyDir':{}}]},'status':{'startTime':null}}",
         ""},
        {"{'spec':{'container':[]}}",
         "9 unknown field \"spec.container\"; did you mean \"containers\"?\n"},
        {"{'spec':{'somethingElse':{'a':[1]}},'Spec':{}}",
         "9 unknown field \"spec.somethingElse\"\n"
         "36 unknown field \"Spec\"; did you mean \"spec\"?\n"},
        {"{'spec':{'nodeName':'a','nodeName':'b'}}", "24 duplicate field \"spec.nodeName\"\n"},
        {"{'metadata':{'labels':{'b':'1','a':'2','b':'3'}}}",
         "39 duplicate field \"metadata.labels.b\"\n"},
        {"{'spec':{'containers':[{},{'image':3,'ports':[{'hostPort':1.5}]}]}}",
         "35 spec.containers[1].image: expected a string\n"
         "58 spec.containers[1].ports[0].hostPort: expected a whole number\n"},
        {"{'spec':[],'metadata':{'labels':[],'finalizers':{}}}",
         "8 spec: expected an object\n32 metadata.labels: expected an object\n"
         "48 metadata.finalizers: expected an array\n"},
        {"{'spec':{'hostNetwork':'yes','overhead':{'cpu':true}}}",
         "23 spec.hostNetwork: expected true or false\n47 spec.overhead.cpu: expected a "
         "quantity\n"},
    };
    const struct schema_type *pod = schema_kind_find(STR("v1"), STR("Pod"))->type;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out = BUF_INIT;
        struct err err;
        assert_int_equal(
            schema_check(schema_types, pod, json_quotes_str(cases[i].json), note, &out, &err), 0);
        assert_string_equal(buf_cstr(&out), cases[i].problems);
        buf_release(&out);
    }
}

static void what_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "[]", "{", "{'spec':{'x':}}", "{'spec':{}} x", "{'metadata':{'labels':{'a':'b',}}}"};
    const struct schema_type *pod = schema_kind_find(STR("v1"), STR("Pod"))->type;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf out = BUF_INIT;
        struct err err;
        assert_int_equal(schema_check(schema_types, pod, json_quotes_str(bad[i]), note, &out, &err),
                         -EBADMSG);
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_are_those_of_upstream),
        cmocka_unit_test(the_tables_are_in_order),
        cmocka_unit_test(every_kind_has_a_schema),
        cmocka_unit_test(problems_are_reported),
        cmocka_unit_test(what_is_no_json_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
