/* SPDX-License-Identifier: Apache-2.0 */
/* CustomResourceDefinitions and their objects, through the registry. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/custom/custom_formats.h"
#include "apiserver_kit.h"

static void start(struct kit *k)
{
    kit_init(k, &(struct registry_options){.seed = 7, .without_admission = true});
}

#define CRDS    "customresourcedefinitions.apiextensions.k8s.io"
#define WIDGETS "widgets.example.com"

#define SCHEMA                                                                                  \
    "{'type':'object','properties':{'spec':{'type':'object','required':['size'],'properties':{" \
    "'size':{'type':'integer','minimum':1,'maximum':10},"                                       \
    "'color':{'type':'string','enum':['red','green'],'default':'red'},"                         \
    "'name':{'type':'string','pattern':'^[a-z]+$','maxLength':5,'minLength':2},"                \
    "'when':{'type':'string','format':'date-time'},"                                            \
    "'port':{'x-kubernetes-int-or-string':true},"                                               \
    "'tags':{'type':'array','items':{'type':'string'},'x-kubernetes-list-type':'set',"          \
    "'maxItems':3},"                                                                            \
    "'parts':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':"      \
    "['id'],'items':{'type':'object','required':['id'],'properties':{'id':{'type':'string'},"   \
    "'n':{'type':'integer','default':1}}}},"                                                    \
    "'labels':{'type':'object','additionalProperties':{'type':'string'}},"                      \
    "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true},"                     \
    "'maybe':{'type':'string','nullable':true},"                                                \
    "'step':{'type':'number','multipleOf':0.5},"                                                \
    "'replicas':{'type':'integer'}},"                                                           \
    "'oneOf':[{'required':['name']},{'required':['when']},{'not':{'anyOf':[{'required':"        \
    "['name']},{'required':['when']}]}}]},"                                                     \
    "'status':{'type':'object','properties':{'replicas':{'type':'integer'},'selector':{"        \
    "'type':'string'}}}}}"

#define DEFINITION(group, plural, kind, more)                                                      \
    "{'metadata':{'name':'" plural "." group "'},'spec':{'group':'" group                          \
    "','scope':'Namespaced',"                                                                      \
    "'names':{'plural':'" plural "','kind':'" kind "'" more "},'versions':[{'name':'v1','served':" \
    "true,'storage':true,'schema':{'openAPIV3Schema':" SCHEMA "},'subresources':{'status':{},"     \
    "'scale':{'specReplicasPath':'.spec.replicas','statusReplicasPath':'.status.replicas',"        \
    "'labelSelectorPath':'.status.selector'}}}]}}"

#define WIDGET(spec) "{'metadata':{'name':'w'},'spec':{" spec "}}"

static void define(struct kit *k)
{
    assert_int_equal(
        kit_serve(k, API_CREATE, CRDS, NULL,
                  DEFINITION("example.com", "widgets", "Widget", ",'shortNames':['wd']")),
        201);
}

/* --- definitions ------------------------------------------------------------------------------ */

static const struct json_value *condition(struct kit *k, const char *type)
{
    struct json_items list = json_items_at(kit_tree(k), "status.conditions");

    for (size_t i = 0; i < list.n; i++)
        if (str_is(json_text_at(&list.v[i], "type"), type))
            return &list.v[i];
    fail_msg("no condition %s", type);
    return NULL;
}

static void test_established(void **state)
{
    const struct resource *r;
    struct kit k;
    (void)state;

    start(&k);
    define(&k);
    assert_string_equal(kit_at(&k, "spec.names.singular"), "widget");
    assert_string_equal(kit_at(&k, "spec.names.listKind"), "WidgetList");
    assert_string_equal(kit_at(&k, "spec.conversion.strategy"), "None");
    assert_string_equal(kit_at(&k, "status.acceptedNames.plural"), "widgets");
    assert_string_equal(json_text_at(condition(&k, "Established"), "reason").p,
                        "InitialNamesAccepted");
    assert_string_equal(json_text_at(condition(&k, "NamesAccepted"), "message").p,
                        "no conflicts found");
    r = resources_find(registry_resources(k.reg), STR("example.com"), STR("v1"), STR("widgets"));
    assert_non_null(r);
    assert_string_equal(r->list_kind.p, "WidgetList");
    assert_string_equal(r->short_names[0], "wd");
    assert_int_equal(r->n_columns, 1);
    assert_string_equal(r->columns[0].name.p, "Age");
    assert_non_null(resource_subresource(r, STR("scale")));
    kit_free(&k);
}

static void test_conflict(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    define(&k);
    assert_int_equal(
        kit_serve(&k, API_CREATE, CRDS, NULL,
                  DEFINITION("example.com", "gadgets", "Widget", ",'shortNames':['wd']")),
        201);
    assert_string_equal(json_text_at(condition(&k, "NamesAccepted"), "reason").p,
                        "ListKindConflict");
    assert_string_equal(json_text_at(condition(&k, "NamesAccepted"), "message").p,
                        "\"WidgetList\" is already in use");
    assert_string_equal(json_text_at(condition(&k, "Established"), "status").p, "False");
    assert_null(
        resources_find(registry_resources(k.reg), STR("example.com"), STR("v1"), STR("gadgets")));
    kit_free(&k);
}

#define ADDITIONAL(value, more)                                                                   \
    "{'metadata':{'name':'as.g.io'},'spec':{'group':'g.io','scope':'Cluster','names':{'plural':'" \
    "as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3"  \
    "Schema':{'type':'object','properties':{'a':{'type':'object','properties':{'b':{'type':"      \
    "'string'}},'additionalProperties':" value more "}}}}}]}}"

static void test_refused(void **state)
{
    static const struct {
        const char *definition, *message;
    } rows[] = {
        {"{'metadata':{'name':'x'},'spec':{'group':'g.io','scope':'Namespaced','names':{'plural':"
         "'as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
         "'openAPIV3Schema':{'type':'object'}}}]}}",
         "metadata.name: Invalid value: \"x\": must be spec.names.plural+\".\"+spec.group"},
        {"{'metadata':{'name':'as.g.io'},'spec':{'group':'g.io','scope':'All','names':{'plural':"
         "'as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
         "'openAPIV3Schema':{'type':'object'}}}]}}",
         "spec.scope: Unsupported value: \"All\": supported values: \"Cluster\", \"Namespaced\""},
        {"{'metadata':{'name':'as.g.io'},'spec':{'group':'g.io','scope':'Cluster','names':{'plural'"
         ":'as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true}]}}",
         "spec.versions[0].schema.openAPIV3Schema: Required value"},
        {"{'metadata':{'name':'as.g.io'},'spec':{'group':'g.io','scope':'Cluster','names':{'plural'"
         ":'as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
         "'openAPIV3Schema':{'type':'object','properties':{'spec':{'properties':{}}}}}}]}}",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not "
         "be empty for specified object fields"},
        {"{'metadata':{'name':'as.g.io'},'spec':{'group':'g.io','scope':'Cluster','names':{'plural'"
         ":'as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
         "'openAPIV3Schema':{'type':'object','properties':{'a':{'type':'string','pattern':'('}}}}}"
         "]}}",
         "spec.versions[0].schema.openAPIV3Schema.properties[a].pattern: Invalid value: \"(\": "
         "must "
         "be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"},
        {ADDITIONAL("{'type':'string'}", ""),
         "spec.versions[0].schema.openAPIV3Schema.properties[a].additionalProperties: Forbidden: "
         "additionalProperties and properties are mutual exclusive"},
        {ADDITIONAL("false", ""), "additionalProperties and properties are mutual exclusive"},
        {ADDITIONAL("true", ",'x-kubernetes-embedded-resource':true"),
         "spec.versions[0].schema.openAPIV3Schema.properties[a].additionalProperties: Forbidden: "
         "must not be used if x-kubernetes-embedded-resource is set"},
    };
    struct kit k;
    (void)state;

    start(&k);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_serve(&k, API_CREATE, CRDS, NULL, rows[i].definition), 422);
        if (str_search(k.response.status.message, str_of(rows[i].message)) ==
            k.response.status.message.n)
            fail_msg("%s\nis not in\n%s", rows[i].message, k.response.status.message.p);
    }
    assert_int_equal(kit_serve(&k, API_CREATE, CRDS, NULL, ADDITIONAL("true", "")), 201);
    kit_free(&k);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void test_defaults_and_pruning(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    define(&k);
    assert_int_equal(
        kit_serve(&k, API_CREATE, WIDGETS, NULL,
                  WIDGET("'size':2,'foo':1,'free':{'x':{'y':1}},'parts':[{'id':'a','z':1}],'maybe':"
                         "null,'when':null,'labels':{'l':'1'}")),
        201);
    assert_string_equal(k.response.warnings.p,
                        "unknown field \"spec.foo\"\nunknown field \"spec.parts[0].z\"");
    assert_string_equal(kit_at(&k, "spec.color"), "red");
    assert_null(json_at(kit_tree(&k), "spec.foo"));
    assert_null(json_at(kit_tree(&k), "spec.when"));
    assert_non_null(json_at(kit_tree(&k), "spec.maybe"));
    assert_non_null(json_at(kit_tree(&k), "spec.free.x.y"));
    assert_int_equal(json_int_at(&json_at(kit_tree(&k), "spec.parts")->items[0], "n", 0), 1);
    assert_int_equal(json_int_at(kit_tree(&k), "metadata.generation", 0), 1);
    k.request.field_validation = FIELD_VALIDATION_STRICT;
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL, WIDGET("'size':2,'foo':1")), 400);
    kit_message(&k, "Widget in version \"v1\" cannot be handled as a Widget: strict decoding "
                    "error: unknown field \"spec.foo\"");
    kit_free(&k);
}

static void test_validation(void **state)
{
    static const struct {
        const char *object, *errors;
    } rows[] = {
        {WIDGET(""), "spec.size: Required value"},
        {WIDGET("'size':0"), "spec.size: Invalid value: 0: spec.size in body should be greater "
                             "than or equal to 1"},
        {WIDGET("'size':11"),
         "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"},
        {WIDGET("'size':'x'"), "spec.size: Invalid value: \"string\": spec.size in body must be "
                               "of type integer: \"string\""},
        {WIDGET("'size':1,'color':'blue'"),
         "spec.color: Unsupported value: \"blue\": supported values: \"red\", \"green\""},
        {WIDGET("'size':1,'name':'AB'"),
         "spec.name: Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'"},
        {WIDGET("'size':1,'name':'abcdef'"), "spec.name: Too long: may not be more than 5 bytes"},
        {WIDGET("'size':1,'name':'a'"),
         "spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long"},
        {WIDGET("'size':1,'when':'now'"), "spec.when: Invalid value: \"now\": spec.when in body "
                                          "must be of type date-time: \"now\""},
        {WIDGET("'size':1,'tags':['a','b','a']"), "spec.tags[2]: Duplicate value: \"a\""},
        {WIDGET("'size':1,'tags':['a','b','c','d']"),
         "spec.tags: Too many: 4: must have at most 3 items"},
        {WIDGET("'size':1,'parts':[{'id':'a'},{'id':'a'}]"),
         "spec.parts[1]: Duplicate value: {\"id\":\"a\"}"},
        {WIDGET("'size':1,'parts':[{}]"), "spec.parts[0].id: Required value"},
        {WIDGET("'size':1,'step':0.7"), "spec.step: Invalid value: 0.7: spec.step in body should "
                                        "be a multiple of 0.5"},
        {WIDGET("'size':1,'labels':{'a':1}"),
         "spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type string: "
         "\"integer\""},
        {WIDGET("'size':1,'name':'ab','when':'2026-01-01T00:00:00Z'"),
         "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). "
         "Found "
         "2 valid alternatives"},
    };
    struct kit k;
    (void)state;

    start(&k);
    define(&k);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL, rows[i].object), 422);
        kit_message(
            &k,
            arena_printf(&k.arena, "Widget.example.com \"w\" is invalid: %s", rows[i].errors).p);
    }
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL,
                               WIDGET("'size':1,'port':'x','name':'abc','step':1.5")),
                     201);
    kit_free(&k);
}

static void test_status_and_scale(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    define(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL,
                               "{'metadata':{'name':'w'},'spec':{'size':1,'replicas':3},'status':{"
                               "'replicas':9}}"),
                     201);
    assert_null(json_at(kit_tree(&k), "status"));
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, WIDGETS "/status", "w",
                               "{'spec':{'size':5},'status':{'replicas':2,'selector':'a=b'}}"),
                     200);
    assert_int_equal(json_int_at(kit_tree(&k), "spec.size", 0), 1);
    assert_int_equal(json_int_at(kit_tree(&k), "metadata.generation", 0), 1);
    assert_int_equal(kit_serve(&k, API_GET, WIDGETS "/scale", "w", NULL), 200);
    assert_string_equal(kit_at(&k, "kind"), "Scale");
    assert_int_equal(json_int_at(kit_tree(&k), "spec.replicas", 0), 3);
    assert_int_equal(json_int_at(kit_tree(&k), "status.replicas", 0), 2);
    assert_string_equal(kit_at(&k, "status.selector"), "a=b");
    kit_free(&k);
}

#define TWO_VERSIONS(first, second)                                                             \
    "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':"         \
    "'Namespaced','names':{'plural':'widgets','kind':'Widget'},'versions':[{'name':'v1'," first \
    ",'schema':{'openAPIV3Schema':{'type':'object','x-kubernetes-preserve-unknown-fields':"     \
    "true}}},{'name':'v2'," second ",'schema':{'openAPIV3Schema':{'type':'object',"             \
    "'x-kubernetes-preserve-unknown-fields':true}}}]}}"

static void test_versions(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(
        kit_serve(&k, API_CREATE, CRDS, NULL,
                  TWO_VERSIONS("'served':true,'storage':true", "'served':true,'storage':false")),
        201);
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL, WIDGET("'a':1")), 201);
    assert_int_equal(kit_serve(&k, API_GET, WIDGETS, "w", NULL), 200);
    assert_string_equal(kit_at(&k, "apiVersion"), "example.com/v2");
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, CRDS, "widgets.example.com",
                  TWO_VERSIONS("'served':false,'storage':false", "'served':true,'storage':true")),
        200);
    assert_int_equal(json_items_at(kit_tree(&k), "status.storedVersions").n, 2);
    assert_null(
        resources_find(registry_resources(k.reg), STR("example.com"), STR("v1"), STR("widgets")));
    assert_int_equal(kit_serve(&k, API_GET, WIDGETS, "w", NULL), 200);
    assert_int_equal(json_int_at(kit_tree(&k), "spec.a", 0), 1);
    kit_free(&k);
}

static void get_version(struct kit *k, const char *version)
{
    struct api_response response;

    arena_reset(&k->arena);
    assert_int_equal(registry_serve(k->reg,
                                    &(struct api_request){
                                        .verb = API_LIST,
                                        .resource = resources_find(registry_resources(k->reg),
                                                                   STR("example.com"),
                                                                   str_of(version), STR("widgets")),
                                        .namespace = STR("ns"),
                                        .now = k->now,
                                        .arena = &k->arena,
                                    },
                                    &response),
                     200);
    buf_clear(&k->text);
    buf_add_str(&k->text, response.warnings);
    registry_response_release(&response);
}

static void test_deprecated(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, CRDS, NULL,
                               TWO_VERSIONS("'served':true,'storage':true,'deprecated':true",
                                            "'served':true,'storage':false")),
                     201);
    get_version(&k, "v1");
    assert_string_equal(buf_cstr(&k.text),
                        "example.com/v1 Widget is deprecated; use example.com/v2 Widget");
    get_version(&k, "v2");
    assert_string_equal(buf_cstr(&k.text), "");
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, CRDS, "widgets.example.com",
                               TWO_VERSIONS("'served':true,'storage':true,'deprecated':true,"
                                            "'deprecationWarning':'v1 ends'",
                                            "'served':true,'storage':false,'deprecated':true")),
                     200);
    get_version(&k, "v1");
    assert_string_equal(buf_cstr(&k.text), "v1 ends");
    get_version(&k, "v2");
    assert_string_equal(buf_cstr(&k.text), "example.com/v2 Widget is deprecated");
    kit_free(&k);
}

static void test_formats(void **state)
{
    static const struct {
        const char *format, *text;
        bool matches;
    } rows[] = {
        {"ipv4", "1.2.3.4", true},
        {"ipv4", "1.2.3", false},
        {"ipv4", "1.2.3.256", false},
        {"ipv4", "01.2.3.4", false},
        {"ipv6", "::", true},
        {"ipv6", "::1", true},
        {"ipv6", "1::", true},
        {"ipv6", "1:2:3:4:5:6:7:8", true},
        {"ipv6", "1:2:3:4:5:6:7", false},
        {"ipv6", "::ffff:1.2.3.4", true},
        {"ipv6", "1::2::3", false},
        {"ipv6", "12345::", false},
        {"cidr", "10.0.0.0/8", true},
        {"cidr", "10.0.0.0/33", false},
        {"cidr", "fd00::/64", true},
        {"cidr", "10.0.0.0", false},
        {"uuid", "123e4567-e89b-12d3-a456-426614174000", true},
        {"uuid", "123e4567", false},
        {"date", "2026-02-28", true},
        {"date", "2026-02-30", false},
        {"date-time", "2026-01-01T00:00:00.5+01:00", true},
        {"byte", "YQ==", true},
        {"byte", "?", false},
        {"hostname", "a.example", true},
        {"hostname", "-a", false},
        {"email", "a@b.c", true},
        {"email", "a", false},
        {"mac", "01:23:45:67:89:ab", true},
        {"mac", "01:23", false},
        {"duration", "1h30m", true},
        {"duration", "x", false},
        {"uri", "https://x", true},
        {"uri", "x", false},
        {"unheard-of", "x", true},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (custom_format_matches(str_of(rows[i].format), str_of(rows[i].text)) != rows[i].matches)
            fail_msg("%s %s", rows[i].format, rows[i].text);
}

/* --- deletion --------------------------------------------------------------------------------- */

static void test_delete(void **state)
{
    const struct resource *r;
    struct kit k;
    (void)state;

    start(&k);
    define(&k);
    r = resources_find(registry_resources(k.reg), STR("example.com"), STR("v1"), STR("widgets"));
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL, WIDGET("'size':1")), 201);
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL,
                               "{'metadata':{'name':'v','finalizers':['a/b']},'spec':{'size':1}}"),
                     201);
    assert_int_equal(kit_serve(&k, API_DELETE, CRDS, "widgets.example.com", NULL), 200);
    assert_int_equal(store_count(registry_store(k.reg), r), 1);
    assert_int_equal(kit_serve(&k, API_GET, CRDS, "widgets.example.com", NULL), 200);
    assert_string_equal(json_text_at(condition(&k, "Terminating"), "status").p, "True");
    /* The last object's finalizer goes, and so does the definition. */
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, WIDGETS, "v", "{'metadata':{'finalizers':null}}"), 200);
    assert_int_equal(store_count(registry_store(k.reg), r), 0);
    assert_int_equal(kit_serve(&k, API_GET, CRDS, "widgets.example.com", NULL), 404);
    assert_null(
        resources_find(registry_resources(k.reg), STR("example.com"), STR("v1"), STR("widgets")));
    /* Defined again, it is served again. */
    define(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, WIDGETS, NULL, WIDGET("'size':1")), 201);
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_established), cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_defaults_and_pruning),
        cmocka_unit_test(test_validation),  cmocka_unit_test(test_status_and_scale),
        cmocka_unit_test(test_versions),    cmocka_unit_test(test_formats),
        cmocka_unit_test(test_delete),      cmocka_unit_test(test_deprecated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
