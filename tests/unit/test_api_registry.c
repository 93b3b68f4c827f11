/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver_kit.h"
#include "prop.h"

static void start(struct kit *k)
{
    kit_init(k, &(struct registry_options){.seed = 7, .without_admission = true});
}

#define MAP(name, data) "{'metadata':{'name':'" name "'},'data':{" data "}}"

/* --- create ----------------------------------------------------------------------------------- */

static void test_create(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "'x':'1'")), 201);
    assert_string_equal(kit_at(&k, "kind"), "ConfigMap");
    assert_string_equal(kit_at(&k, "apiVersion"), "v1");
    assert_string_equal(kit_at(&k, "metadata.namespace"), "ns");
    assert_string_equal(kit_at(&k, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
    assert_string_equal(kit_at(&k, "metadata.resourceVersion"), "2");
    assert_int_equal(strlen(kit_at(&k, "metadata.uid")), 36);
    assert_int_equal(kit_at(&k, "metadata.uid")[14], '4');
    assert_int_equal(store_version(registry_store(k.reg)), 2);

    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "")), 409);
    kit_message(&k, "configmaps \"a\" already exists");
    assert_string_equal(k.response.status.reason, "AlreadyExists");

    /* What only the server sets is ignored; a version is refused. */
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL,
                               "{'metadata':{'name':'b','uid':'mine','selfLink':'/x',"
                               "'creationTimestamp':'2001-01-01T00:00:00Z',"
                               "'deletionTimestamp':'2001-01-01T00:00:00Z'}}"),
                     201);
    assert_string_not_equal(kit_at(&k, "metadata.uid"), "mine");
    assert_string_equal(kit_at(&k, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
    assert_string_equal(kit_at(&k, "metadata.deletionTimestamp"), "");
    assert_string_equal(kit_at(&k, "metadata.selfLink"), "");
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL,
                               "{'metadata':{'name':'c','resourceVersion':'5'}}"),
                     500);
    kit_message(&k, "resourceVersion should not be set on objects to be created");
    kit_free(&k);
}

static void test_create_refused(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("A_b", "")), 422);
    kit_message(&k,
                "ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase "
                "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
                "regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{}}"), 422);
    kit_message(&k, "ConfigMap \"\" is invalid: metadata.name: Required value: name or "
                    "generateName is required");
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL,
                               "{'metadata':{'name':'a','namespace':'other'}}"),
                     400);
    kit_message(&k, "the namespace of the provided object does not match the namespace sent on "
                    "the request");
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL,
                               "{'apiVersion':'v2','metadata':{'name':'a'}}"),
                     400);
    kit_message(&k, "the API version in the data (v2) does not match the expected API version "
                    "(v1)");
    assert_int_equal(
        kit_serve(&k, API_CREATE, "configmaps", NULL, "{'kind':'Pod','metadata':{'name':'a'}}"),
        400);
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, NULL), 400);
    assert_int_equal(store_version(registry_store(k.reg)), 1);
    kit_free(&k);
}

static void test_field_validation(void **state)
{
    static const char body[] =
        "{'metadata':{'name':'a','foo':1,'labels':null},'data':{'x':'1'},'bar':{}}";
    struct kit k;
    (void)state;

    start(&k);
    k.request.field_validation = FIELD_VALIDATION_STRICT;
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, body), 400);
    kit_message(&k, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict "
                    "decoding error: unknown field \"metadata.foo\", unknown field \"bar\"");
    k.request.dry_run = true;
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, body), 201);
    assert_string_equal(k.response.warnings.p,
                        "unknown field \"metadata.foo\"\nunknown field \"bar\"");
    k.request.field_validation = FIELD_VALIDATION_IGNORE;
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, body), 201);
    assert_int_equal(k.response.warnings.n, 0);
    assert_string_equal(kit_at(&k, "metadata.labels"), "");
    assert_int_equal(
        kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'b'},'data':{'x':1}}"),
        400);
    kit_message(&k, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot "
                    "unmarshal number into Go struct field ConfigMap.data.x of type "
                    "map[string]string");
    kit_free(&k);
}

static void test_generate_name(void **state)
{
    struct kit k;
    char first[64];
    (void)state;

    start(&k);
    assert_int_equal(
        kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{'generateName':'job-'}}"), 201);
    snprintf(first, sizeof(first), "%s", kit_at(&k, "metadata.name"));
    assert_int_equal(strlen(first), 9);
    assert_int_equal(strspn(first + 4, "bcdfghjklmnpqrstvwxz2456789"), 5);
    assert_int_equal(
        kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{'generateName':'job-'}}"), 201);
    assert_string_not_equal(kit_at(&k, "metadata.name"), first);
    kit_free(&k);
}

static void test_dry_run(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    k.request.dry_run = true;
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "")), 201);
    assert_string_equal(kit_at(&k, "metadata.resourceVersion"), "");
    assert_int_equal(kit_serve(&k, API_GET, "configmaps", "a", NULL), 404);
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "")), 201);
    k.request.dry_run = true;
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", NULL), 200);
    k.request.dry_run = true;
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "configmaps", "a", "{'data':{'z':'1'}}"), 200);
    assert_string_equal(kit_at(&k, "data.z"), "1");
    assert_int_equal(kit_serve(&k, API_GET, "configmaps", "a", NULL), 200);
    assert_string_equal(kit_at(&k, "data.z"), "");
    assert_int_equal(store_version(registry_store(k.reg)), 2);
    kit_free(&k);
}

/* --- update ----------------------------------------------------------------------------------- */

static void test_update(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "'x':'1'"));
    assert_int_equal(kit_serve(&k, API_UPDATE, "configmaps", "a", MAP("a", "'x':'2'")), 200);
    assert_string_equal(kit_at(&k, "metadata.resourceVersion"), "3");
    assert_string_equal(kit_at(&k, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
    assert_int_equal(strlen(kit_at(&k, "metadata.uid")), 36);
    /* The same again changes nothing. */
    assert_int_equal(kit_serve(&k, API_UPDATE, "configmaps", "a", MAP("a", "'x':'2'")), 200);
    assert_string_equal(kit_at(&k, "metadata.resourceVersion"), "3");
    assert_int_equal(store_version(registry_store(k.reg)), 3);
    assert_int_equal(kit_serve(&k, API_UPDATE, "configmaps", "a",
                               "{'metadata':{'name':'a','resourceVersion':'2'}}"),
                     409);
    kit_message(&k, "Operation cannot be fulfilled on configmaps \"a\": the object has been "
                    "modified; please apply your changes to the latest version and try again");
    assert_string_equal(k.response.status.reason, "Conflict");
    assert_int_equal(
        kit_serve(&k, API_UPDATE, "configmaps", "a", "{'metadata':{'name':'a','uid':'u'}}"), 409);
    assert_int_equal(kit_serve(&k, API_UPDATE, "configmaps", "a", MAP("b", "")), 400);
    kit_message(&k, "the name of the object (b) does not match the name on the URL (a)");
    assert_int_equal(kit_serve(&k, API_UPDATE, "configmaps", "b", MAP("b", "")), 404);
    kit_message(&k, "configmaps \"b\" not found");
    kit_free(&k);
}

static void test_patch(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "'x':'1','y':'2'"));
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, "configmaps", "a", "{'data':{'x':null,'z':'3'}}"), 200);
    assert_string_equal(kit_at(&k, "data"), "{\"y\":\"2\",\"z\":\"3\"}");
    assert_string_equal(kit_at(&k, "metadata.resourceVersion"), "3");
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "configmaps", "a",
                               "{'metadata':{'resourceVersion':'2'},'data':{'z':'4'}}"),
                     409);
    assert_int_equal(kit_serve(&k, API_PATCH_JSON, "configmaps", "a",
                               "[{'op':'replace','path':'/data/y','value':'5'}]"),
                     200);
    assert_string_equal(kit_at(&k, "data.y"), "5");
    assert_int_equal(
        kit_serve(&k, API_PATCH_JSON, "configmaps", "a", "[{'op':'remove','path':'/data/none'}]"),
        422);
    kit_message(&k, "the server rejected our request due to an error in our request");
    assert_int_equal(kit_serve(&k, API_PATCH_JSON, "configmaps", "a", "{}"), 400);
    k.request.field_validation = FIELD_VALIDATION_STRICT;
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "configmaps", "a", "{'foo':'1'}"), 422);
    assert_non_null(
        strstr(k.response.status.message.p, "strict decoding error: unknown field \\\"foo\\\"") ||
                strstr(k.response.status.message.p, "strict decoding error: unknown field \"foo\"")
            ? ""
            : NULL);
    assert_int_equal(kit_serve(&k, API_PATCH_STRATEGIC, "configmaps", "a",
                               "{'metadata':{'labels':'invalid'},'immutable':true}"),
                     422);
    kit_message(&k, " \"\" is invalid: patch: Invalid value: \"map[immutable:true "
                    "metadata:map[labels:invalid]]\": cannot restore map from string");
    assert_int_equal(kit_serve(&k, API_PATCH_STRATEGIC, "configmaps", "a", "{'immutable':'yes'}"),
                     422);
    kit_message(&k, " \"\" is invalid: patch: Invalid value: \"map[immutable:yes]\": "
                    "cannot convert string to bool");
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "configmaps", "none", "{}"), 404);
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "configmaps", "a", "{'metadata':{'name':'b'}}"),
                     400);
    kit_free(&k);
}

/* --- delete ----------------------------------------------------------------------------------- */

static void test_delete(void **state)
{
    struct kit k;
    char uid[64], body[128];
    (void)state;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", ""));
    snprintf(uid, sizeof(uid), "%s", kit_at(&k, "metadata.uid"));
    assert_int_equal(
        kit_serve(&k, API_DELETE, "configmaps", "a", "{'preconditions':{'uid':'other'}}"), 409);
    assert_non_null(strstr(k.response.status.message.p,
                           "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the "
                           "precondition (other) does not match the UID in record ("));
    assert_int_equal(
        kit_serve(&k, API_DELETE, "configmaps", "a", "{'preconditions':{'resourceVersion':'1'}}"),
        409);
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", "{'propagationPolicy':'No'}"),
                     422);
    kit_message(&k, "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported "
                    "value: \"No\": supported values: \"Foreground\", \"Background\", "
                    "\"Orphan\", \"nil\"");
    snprintf(body, sizeof(body), "{'preconditions':{'uid':'%s'}}", uid);
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", body), 200);
    assert_string_equal(kit_at(&k, "status"), "Success");
    assert_string_equal(kit_at(&k, "details.uid"), uid);
    assert_string_equal(kit_at(&k, "details.kind"), "configmaps");
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", NULL), 404);
    assert_int_equal(store_version(registry_store(k.reg)), 3);
    kit_free(&k);
}

static void test_finalizers(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL,
              "{'metadata':{'name':'a','finalizers':['x.io/f']}}");
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", NULL), 200);
    assert_string_equal(kit_at(&k, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
    assert_string_equal(kit_at(&k, "metadata.deletionGracePeriodSeconds"), "0");
    /* A second deletion changes nothing. */
    k.now += NSEC_PER_SEC;
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", NULL), 200);
    assert_string_equal(kit_at(&k, "metadata.resourceVersion"), "3");
    assert_int_equal(kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", "")), 409);
    kit_message(&k, "object is being deleted: configmaps \"a\" already exists");
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "configmaps", "a",
                               "{'metadata':{'finalizers':['x.io/f','y.io/g']}}"),
                     422);
    kit_message(&k, "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new "
                    "finalizers can be added if the object is being deleted, found new "
                    "finalizers []string{\"y.io/g\"}");
    assert_int_equal(
        kit_serve(&k, API_PATCH_MERGE, "configmaps", "a", "{'metadata':{'finalizers':null}}"), 200);
    assert_int_equal(kit_serve(&k, API_GET, "configmaps", "a", NULL), 404);
    kit_free(&k);
}

static void test_propagation(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", ""));
    assert_int_equal(
        kit_serve(&k, API_DELETE, "configmaps", "a", "{'propagationPolicy':'Foreground'}"), 200);
    assert_string_equal(kit_at(&k, "metadata.finalizers"), "[\"foregroundDeletion\"]");
    assert_int_equal(kit_serve(&k, API_DELETE, "configmaps", "a", "{'propagationPolicy':'Orphan'}"),
                     200);
    assert_string_equal(kit_at(&k, "metadata.finalizers"), "[\"orphan\"]");
    assert_int_equal(
        kit_serve(&k, API_DELETE, "configmaps", "a", "{'propagationPolicy':'Background'}"), 200);
    assert_int_equal(kit_serve(&k, API_GET, "configmaps", "a", NULL), 404);
    kit_free(&k);
}

static void test_delete_collection(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'a','labels':{'app':'x'}}}");
    kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'b','labels':{'app':'y'}}}");
    kit_serve(&k, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'c','labels':{'app':'x'}}}");
    k.request.label_selector = STR("app=x");
    assert_int_equal(kit_serve(&k, API_DELETE_COLLECTION, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 2);
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 1);
    assert_true(str_is(k.response.items[0]->name, "b"));
    kit_free(&k);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void make_maps(struct kit *k, const char *namespace, int n)
{
    for (int i = 0; i < n; i++) {
        char body[128];

        snprintf(body, sizeof(body), "{'metadata':{'name':'m%02d','labels':{'n':'%d'}}}", i, i % 3);
        k->request.namespace = str_of(namespace);
        assert_int_equal(kit_serve(k, API_CREATE, "configmaps", NULL, body), 201);
    }
}

static void test_list(void **state)
{
    struct kit k;
    (void)state;

    start(&k);
    make_maps(&k, "ns", 6);
    make_maps(&k, "other", 2);
    k.request.label_selector = STR("n in (1,2),n!=2");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 2);
    assert_int_equal(snapshot_version(k.response.snapshot), 9);
    k.request.namespace = STR("");
    k.request.field_selector = STR("metadata.name=m01");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 2);
    k.request.field_selector = STR("metadata.name=m01,metadata.namespace!=other");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 1);
    k.request.field_selector = STR("spec.x=1");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 400);
    kit_message(&k, "\"spec.x\" is not a known field selector: only \"metadata.name\", "
                    "\"metadata.namespace\"");
    k.request.label_selector = STR("a in");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 400);
    k.request.resource_version = STR("99");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 504);
    kit_message(&k, "Timeout: Too large resource version: 99, current: 9");
    k.request.resource_version_match = STR("Exact");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 422);
    kit_message(&k, "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                    "resourceVersionMatch is forbidden unless resourceVersion is provided");
    k.request.resource_version = STR("3");
    k.request.resource_version_match = STR("Exact");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 410);
    kit_free(&k);
}

static void test_pages(void **state)
{
    struct kit k;
    char token[512];
    (void)state;

    start(&k);
    make_maps(&k, "ns", 5);
    k.request.limit = 2;
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 2);
    assert_int_equal(k.response.remaining, 3);
    snprintf(token, sizeof(token), "%s", k.response.continue_token.p);
    /* The second page is of the same moment. */
    kit_serve(&k, API_DELETE, "configmaps", "m03", NULL);
    kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("m02a", ""));
    k.request.limit = 2;
    k.request.continue_token = str_of(token);
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 2);
    assert_true(str_is(k.response.items[1]->name, "m03"));
    assert_int_equal(snapshot_version(k.response.snapshot), 6);
    assert_int_equal(k.response.remaining, 1);
    k.request.continue_token = STR("nonsense");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 400);
    kit_message(&k, "continue key is not valid");
    /* {"v":"meta.k8s.io/v1","rv":3,"start":"m01\u0000"}: that moment is not kept. */
    k.request.continue_token = STR("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mywic3RhcnQiOiJtMDFcdTAwMDA"
                                   "ifQ");
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 410);
    assert_string_equal(k.response.status.reason, "Expired");
    snprintf(token, sizeof(token), "%s", kit_at(&k, "metadata.continue"));
    k.request.continue_token = str_of(token);
    assert_int_equal(kit_serve(&k, API_LIST, "configmaps", NULL, NULL), 200);
    assert_int_equal(k.response.n_items, 3);
    assert_true(str_is(k.response.items[1]->name, "m02a"));
    kit_free(&k);
}

/* Pages of any size together are the list at the moment of the first. */
static bool pages_are_one_snapshot(struct rand *r, size_t size, void *ctx)
{
    struct kit k;
    struct buf seen = BUF_INIT, whole = BUF_INIT;
    char token[512] = "";
    bool ok;
    (void)ctx;

    start(&k);
    make_maps(&k, "ns", (int)(size % 40));
    make_maps(&k, "b", (int)rand_below(r, 10));
    k.request.namespace = STR("");
    kit_serve(&k, API_LIST, "configmaps", NULL, NULL);
    for (size_t i = 0; i < k.response.n_items; i++)
        buf_add_printf(&whole, "%.*s/%.*s@%llu ", STR_ARG(k.response.items[i]->namespace),
                       STR_ARG(k.response.items[i]->name),
                       (unsigned long long)k.response.items[i]->version);
    do {
        char name[16], body[64];

        k.request.namespace = STR("");
        k.request.limit = 1 + (int64_t)rand_below(r, 7);
        k.request.continue_token = str_of(token);
        if (kit_serve(&k, API_LIST, "configmaps", NULL, NULL) != 200)
            break;
        for (size_t i = 0; i < k.response.n_items; i++)
            buf_add_printf(&seen, "%.*s/%.*s@%llu ", STR_ARG(k.response.items[i]->namespace),
                           STR_ARG(k.response.items[i]->name),
                           (unsigned long long)k.response.items[i]->version);
        snprintf(token, sizeof(token), "%.*s", STR_ARG(k.response.continue_token));
        snprintf(name, sizeof(name), "m%02d", (int)rand_below(r, 50));
        snprintf(body, sizeof(body), "{'metadata':{'name':'%s'},'data':{'x':'%d'}}", name,
                 (int)rand_below(r, 9));
        if (rand_below(r, 2))
            kit_serve(&k, API_DELETE, "configmaps", name, NULL);
        else if (kit_serve(&k, API_UPDATE, "configmaps", name, body) == 404)
            kit_serve(&k, API_CREATE, "configmaps", NULL, body);
    } while (*token);
    ok = str_eq(buf_str(&seen), buf_str(&whole));
    buf_release(&seen);
    buf_release(&whole);
    kit_free(&k);
    return ok;
}

static void test_pages_property(void **state)
{
    (void)state;
    assert_true(prop_run("pages are one snapshot", 100, pages_are_one_snapshot, NULL));
}

/* Of writers that read the same version, the first wins; others are told so. */
static bool one_writer_wins(struct rand *r, size_t size, void *ctx)
{
    struct kit k;
    unsigned long long read[4] = {2, 2, 2, 2}, current = 2;
    bool ok = true;
    (void)ctx;

    start(&k);
    kit_serve(&k, API_CREATE, "configmaps", NULL, MAP("a", ""));
    for (size_t i = 0; i < size && ok; i++) {
        size_t who = rand_below(r, 4);

        if (rand_below(r, 3) == 0) {
            read[who] = current;
        } else {
            char body[128];
            int code;

            snprintf(body, sizeof(body),
                     "{'metadata':{'name':'a','resourceVersion':'%llu'},'data':{'i':'%zu'}}",
                     read[who], i);
            code = kit_serve(&k, API_UPDATE, "configmaps", "a", body);
            ok = code == (read[who] == current ? 200 : 409);
            if (code == 200)
                read[who] = current = store_version(registry_store(k.reg));
        }
    }
    kit_free(&k);
    return ok;
}

static void test_concurrency_property(void **state)
{
    (void)state;
    assert_true(prop_run("one writer wins", 100, one_writer_wins, NULL));
}

/* --- events ----------------------------------------------------------------------------------- */

static void test_event_expiry(void **state)
{
    static const char body[] = "{'metadata':{'name':'e'},'involvedObject':{'namespace':'ns'},"
                               "'reason':'R','type':'Normal'}";
    struct kit k;
    (void)state;

    start(&k);
    assert_int_equal(kit_serve(&k, API_CREATE, "events", NULL, body), 201);
    assert_true(registry_tick(k.reg, k.now) == k.now + 3600 * NSEC_PER_SEC);
    k.now += 1800 * NSEC_PER_SEC;
    assert_int_equal(kit_serve(&k, API_PATCH_MERGE, "events", "e", "{'count':2}"), 200);
    registry_tick(k.reg, KIT_NOW + 3600 * NSEC_PER_SEC);
    assert_int_equal(kit_serve(&k, API_GET, "events", "e", NULL), 200);
    assert_true(registry_tick(k.reg, k.now + 3600 * NSEC_PER_SEC) == INT64_MAX);
    assert_int_equal(kit_serve(&k, API_GET, "events", "e", NULL), 404);
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_create_refused),
        cmocka_unit_test(test_field_validation),
        cmocka_unit_test(test_generate_name),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_patch),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_finalizers),
        cmocka_unit_test(test_propagation),
        cmocka_unit_test(test_delete_collection),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_pages_property),
        cmocka_unit_test(test_concurrency_property),
        cmocka_unit_test(test_event_expiry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
