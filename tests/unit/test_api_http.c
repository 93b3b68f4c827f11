/* SPDX-License-Identifier: Apache-2.0 */
/* The API over HTTP: objects, lists, forms, access, virtual resources, commits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api_world.h"

static const char config_map[] = "{\"metadata\":{\"name\":\"one\"},\"data\":{\"a\":\"b\"}}";
#define MAPS "/api/v1/namespaces/default/configmaps"

static void start_plain(struct api_world *w)
{
    api_world_start(w, &(struct api_world_options){0});
}

static bool has(struct str text, const char *part)
{
    return str_search(text, str_of(part)) < text.n;
}

static bool body_has(const struct api_world *w, const char *part)
{
    return has(buf_str(&w->body), part);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void objects(void **state)
{
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_post(&w, MAPS, config_map), 201);
    assert_string_equal(api_world_text(&w, "kind"), "ConfigMap");
    assert_string_equal(api_world_text(&w, "metadata.namespace"), "default");
    assert_true(has(w.headers, "audit-id: "));
    assert_true(has(w.headers, "cache-control: no-cache, private"));
    assert_int_equal(api_world_post(&w, MAPS, config_map), 409);
    assert_string_equal(api_world_text(&w, "message"), "configmaps \"one\" already exists");
    assert_int_equal(api_world_get(&w, MAPS "/one"), 200);
    assert_string_equal(api_world_text(&w, "data.a"), "b");
    assert_int_equal(api_world_get(&w, MAPS), 200);
    assert_string_equal(api_world_text(&w, "kind"), "ConfigMapList");
    assert_true(body_has(&w, "\"items\":[{"));
    assert_int_equal(api_world_send(&w, "PATCH", MAPS "/one",
                                    "content-type: application/merge-patch+json",
                                    "{\"data\":{\"a\":\"c\"}}"),
                     200);
    assert_string_equal(api_world_text(&w, "data.a"), "c");
    assert_int_equal(api_world_send(&w, "DELETE", MAPS "/one", NULL, NULL), 200);
    assert_string_equal(api_world_text(&w, "status"), "Success");
    assert_int_equal(api_world_get(&w, MAPS "/one"), 404);
    assert_string_equal(api_world_text(&w, "message"), "configmaps \"one\" not found");
    api_world_stop(&w);
}

static void forms(void **state)
{
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_send(&w, "POST", MAPS, "content-type: application/yaml",
                                    "metadata:\n  name: one\ndata:\n  a: b\n"),
                     201);
    assert_int_equal(api_world_send(&w, "GET", MAPS "/one", "accept: application/yaml", NULL), 200);
    assert_true(body_has(&w, "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\n"));
    assert_int_equal(api_world_send(&w, "GET", MAPS,
                                    "accept: application/json;as=Table;v=v1;g=meta.k8s.io,"
                                    "application/json",
                                    NULL),
                     200);
    assert_string_equal(api_world_text(&w, "kind"), "Table");
    assert_true(body_has(&w, "\"cells\":[\"one\""));
    assert_int_equal(
        api_world_send(&w, "GET", MAPS,
                       "accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                       NULL),
        200);
    assert_string_equal(api_world_text(&w, "kind"), "PartialObjectMetadataList");
    assert_false(body_has(&w, "\"data\""));
    assert_int_equal(api_world_get(&w, MAPS "/one?pretty=true"), 200);
    assert_true(body_has(&w, "{\n  \""));
    assert_int_equal(api_world_send(&w, "GET", MAPS, "accept: text/csv", NULL), 406);
    assert_string_equal(
        api_world_text(&w, "message"),
        "only the following media types are accepted: application/json, application/yaml");
    assert_int_equal(api_world_send(&w, "POST", MAPS, "content-type: text/csv", "a,b"), 415);
    assert_int_equal(
        api_world_send(&w, "PATCH", MAPS "/one", "content-type: application/json", "{}"), 415);
    api_world_stop(&w);
}

/* --- paths and options ------------------------------------------------------------------------ */

static void paths(void **state)
{
    static const struct {
        const char *method, *path;
        int status;
        const char *text;
    } cases[] = {
        {"GET", "/nothing", 404, "404 page not found"},
        {"GET", "/apis/none.example.com/v1", 404, "404 page not found"},
        {"GET", "/apis/none.example.com/v1/things", 404, "404 page not found"},
        {"GET", "/api/v1/things", 404, "the server could not find the requested resource"},
        {"GET", "/api/v1/namespaces/default/nodes", 404,
         "the server could not find the requested resource"},
        {"GET", "/api/v1/namespaces/default/pods/x/nothing", 404,
         "the server could not find the requested resource"},
        {"PUT", "/api/v1/nodes", 405,
         "the server does not allow this method on the requested resource"},
        {"DELETE", "/api/v1/namespaces", 405,
         "the server does not allow this method on the requested resource"},
        {"GET", "/api/v1/pods?limit=x", 400, "strconv.ParseInt"},
        {"GET", "/api/v1/pods?labelSelector=a%20b", 400, "unable to parse requirement"},
        {"GET", "/healthz", 200, "ok"},
        {"GET", "/readyz?verbose", 200, "[+]ping ok\n"},
        {"GET", "/livez/ping", 200, "ok"},
        {"GET", "/version", 200, "\"gitVersion\": \"v1.36.3\""},
        {"GET", "/api", 200, "APIVersions"},
        {"GET", "/apis", 200, "APIGroupList"},
        {"GET", "/api/v1", 200, "APIResourceList"},
        {"GET", "/apis/apps", 200, "APIGroup"},
        {"GET", "/apis/apps/v1", 200, "\"deployments\""},
        {"GET", "/metrics", 200, "apiserver_request_total{"},
        {"GET", "/openid/v1/jwks", 200, "\"crv\":\"P-256\""},
        {"GET", "/api/v1/componentstatuses", 200, "\"scheduler\""},
        {"GET", "/", 200, "\"/apis\""},
        {"GET", "/openapi/v2", 200, "\"swagger\""},
        {"GET", "/openapi/v3", 200, "\"serverRelativeURL\""},
        {"GET", "/openapi/v3/apis/apps/v1", 200, "io.k8s.api.apps.v1.Deployment"},
        {"GET", "/openapi/v3/apis/none/v1", 404, "404 page not found"},
        {"GET", "/openapi/v3/apis", 404, "404 page not found"},
    };
    struct api_world w;

    (void)state;
    start_plain(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int status = api_world_send(&w, cases[i].method, cases[i].path, NULL, NULL);

        if (status != cases[i].status || !body_has(&w, cases[i].text))
            fail_msg("%s %s: %d %.*s", cases[i].method, cases[i].path, status,
                     STR_ARG(buf_str(&w.body)));
    }
    api_world_stop(&w);
}

static void openapi_as_protobuf(void **state)
{
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_send(&w, "GET", "/openapi/v2",
                                    "accept: application/"
                                    "com.github.proto-openapi.spec.v2@v1.0+protobuf",
                                    NULL),
                     200);
    assert_true(has(w.headers, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"));
    assert_true(str_starts(buf_str(&w.body), STR("\n\0032.0")));
    assert_int_equal(api_world_send(&w, "GET", "/openapi/v2", "accept: text/csv", NULL), 406);
    assert_int_equal(api_world_send(&w, "GET", "/openapi/v2", "accept: */*", NULL), 200);
    assert_true(has(w.headers, "application/json"));
    assert_int_equal(api_world_send(&w, "GET", "/openapi/v2+protobuf", NULL, NULL), 404);
    api_world_stop(&w);
}

static void aggregated_discovery(void **state)
{
    static const char accept[] =
        "accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json";
    struct api_world w;
    char again[512];
    size_t at;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_send(&w, "GET", "/apis", accept, NULL), 200);
    assert_string_equal(api_world_text(&w, "kind"), "APIGroupDiscoveryList");
    at = str_search(w.headers, STR("etag: "));
    assert_true(at < w.headers.n);
    snprintf(again, sizeof(again), "%s\nif-none-match: %.*s", accept, 18, w.headers.p + at + 6);
    assert_int_equal(api_world_send(&w, "GET", "/apis", again, NULL), 304);
    api_world_stop(&w);
}

static void bad_bodies(void **state)
{
    struct api_world w;
    size_t n = ((size_t)3 << 20) + 1;
    char *large = xmalloc(n + 1);

    (void)state;
    memset(large, ' ', n);
    large[n] = 0;
    start_plain(&w);
    assert_int_equal(api_world_post(&w, MAPS, ""), 400);
    assert_true(body_has(&w, "the object provided is unrecognized (must be of type ConfigMap)"));
    assert_true(body_has(&w, "(\\u003cempty\\u003e)"));
    assert_int_equal(api_world_post(&w, MAPS, "{"), 400);
    assert_int_equal(api_world_post(&w, MAPS, "[]"), 400);
    assert_int_equal(api_world_post(&w, MAPS, large), 413);
    assert_string_equal(api_world_text(&w, "message"),
                        "Request entity too large: limit is 3145728");
    assert_int_equal(api_world_post(&w, MAPS "?dryRun=some", config_map), 422);
    assert_true(body_has(&w, "Unsupported value"));
    assert_int_equal(api_world_post(&w, MAPS "?fieldValidation=no", config_map), 422);
    assert_int_equal(api_world_send(&w, "PATCH", MAPS "/one",
                                    "content-type: application/apply-patch+yaml", "{}"),
                     422);
    assert_string_equal(api_world_text(&w, "message"),
                        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: "
                        "is required for apply patch");
    assert_int_equal(api_world_post(&w, MAPS "?dryRun=All", config_map), 201);
    assert_int_equal(api_world_get(&w, MAPS "/one"), 404);
    free(large);
    api_world_stop(&w);
}

static void long_lists(void **state)
{
    struct api_world w;
    size_t items = 0, from = 0;
    char body[4096];

    (void)state;
    start_plain(&w);
    for (int i = 0; i < 500; i++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"m%d\"},\"data\":{\"x\":\"%02000d\"}}", i, i);
        assert_int_equal(api_world_post(&w, MAPS, body), 201);
    }
    assert_int_equal(api_world_get(&w, MAPS), 200);
    assert_true(w.body.n > (size_t)1 << 20);
    assert_int_equal(json_items_at(&w.json, "items").n, 500);
    assert_int_equal(api_world_get(&w, MAPS "?pretty=true"), 200);
    assert_int_equal(json_items_at(&w.json, "items").n, 500);
    assert_int_equal(api_world_get(&w, MAPS "?limit=200"), 200);
    assert_int_equal(json_items_at(&w.json, "items").n, 200);
    assert_int_equal(json_int_at(&w.json, "metadata.remainingItemCount", 0), 300);
    while (from < 10 && !str_empty(json_text_at(&w.json, "metadata.continue"))) {
        snprintf(body, sizeof(body), MAPS "?limit=200&continue=%s",
                 api_world_text(&w, "metadata.continue"));
        items += json_items_at(&w.json, "items").n;
        assert_int_equal(api_world_get(&w, body), 200);
        from++;
    }
    assert_int_equal(items + json_items_at(&w.json, "items").n, 500);
    api_world_stop(&w);
}

/* --- access ----------------------------------------------------------------------------------- */

static void access_of_users(void **state)
{
    struct api_world w;

    (void)state;
    api_world_start(&w, &(struct api_world_options){.tls = true, .user = "jane", .groups = "dev"});
    assert_int_equal(api_world_get(&w, "/api/v1/namespaces/default/pods"), 403);
    assert_string_equal(api_world_text(&w, "message"),
                        "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API "
                        "group \"\" in the namespace \"default\"");
    assert_int_equal(api_world_get(&w, "/healthz"), 200);
    assert_int_equal(api_world_post(&w, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"),
                     201);
    assert_string_equal(api_world_text(&w, "status.userInfo.username"), "jane");
    assert_int_equal(api_world_post(&w, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                    "{\"spec\":{\"resourceAttributes\":{\"verb\":\"list\","
                                    "\"resource\":\"pods\",\"namespace\":\"default\"}}}"),
                     201);
    assert_false(json_bool_at(&w.json, "status.allowed", true));
    assert_int_equal(api_world_send(&w, "GET", "/api/v1/nodes", "impersonate-user: admin", NULL),
                     403);
    assert_true(body_has(&w, "users \\\"admin\\\" is forbidden: User \\\"jane\\\" cannot "
                             "impersonate resource"));
    assert_int_equal(api_world_send(&w, "GET", "/api/v1/nodes", "authorization: Bearer abc", NULL),
                     403); /* the certificate counts */
    api_world_stop(&w);
}

static void anonymous(void **state)
{
    struct api_world w;

    (void)state;
    api_world_start(&w, &(struct api_world_options){.anonymous = true});
    assert_int_equal(api_world_get(&w, "/api/v1/nodes"), 403);
    assert_true(body_has(&w, "User \\\"system:anonymous\\\" cannot list resource"));
    assert_int_equal(api_world_get(&w, "/livez"), 200);
    assert_int_equal(api_world_send(&w, "GET", "/livez", "authorization: Bearer abc", NULL), 401);
    assert_string_equal(api_world_text(&w, "message"), "Unauthorized");
    assert_string_equal(api_world_text(&w, "reason"), "Unauthorized");
    api_world_stop(&w);
}

static void impersonation(void **state)
{
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_send(&w, "GET", "/api/v1/nodes", "impersonate-user: jane", NULL),
                     403);
    assert_true(body_has(&w, "User \\\"jane\\\" cannot list resource"));
    assert_int_equal(api_world_send(&w, "GET", "/api/v1/nodes",
                                    "impersonate-user: jane\nimpersonate-group: system:masters",
                                    NULL),
                     200);
    assert_int_equal(api_world_send(&w, "GET", "/api/v1/nodes", "impersonate-group: x", NULL), 400);
    /* A request for a certificate names its maker, not whom it says. */
    assert_int_equal(
        api_world_send(
            &w, "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            "content-type: application/json\nimpersonate-user: jane\n"
            "impersonate-group: system:masters",
            "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"request\":\"eA==\",\"signerName\":"
            "\"a.io/b\",\"usages\":[\"client auth\"],\"username\":\"root\",\"uid\":\"1\"}}"),
        201);
    assert_true(body_has(&w, "\"username\":\"jane\",\"groups\":[\"system:masters\""));
    assert_false(body_has(&w, "\"uid\":\"1\""));
    api_world_stop(&w);
}

/* A user may not grant what it does not have. */
static void escalation(void **state)
{
    static const char role[] = "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"verbs\":[\"get\"],"
                               "\"apiGroups\":[\"\"],\"resources\":[\"secrets\"]}]}";
    static const char binding[] =
        "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
        "\"kind\":\"ClusterRole\",\"name\":\"roles\"},\"subjects\":[{\"kind\":\"User\","
        "\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"jane\"}]}";
    static const char roles[] =
        "{\"metadata\":{\"name\":\"roles\"},\"rules\":[{\"verbs\":[\"create\"],\"apiGroups\":["
        "\"rbac.authorization.k8s.io\"],\"resources\":[\"clusterroles\"]}]}";
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_post(&w, "/apis/rbac.authorization.k8s.io/v1/clusterroles", roles),
                     201);
    assert_int_equal(
        api_world_post(&w, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding), 201);
    assert_int_equal(api_world_send(&w, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                                    "content-type: application/json\nimpersonate-user: jane", role),
                     403);
    assert_true(body_has(&w, "is attempting to grant RBAC permissions not currently held"));
    assert_int_equal(api_world_get(&w, "/apis/rbac.authorization.k8s.io/v1/clusterroles/r"), 404);
    api_world_stop(&w);
}

static void tokens(void **state)
{
    struct api_world w;
    char header[2048];
    const char *token;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_post(&w, "/api/v1/namespaces/default/serviceaccounts",
                                    "{\"metadata\":{\"name\":\"bot\"}}"),
                     201);
    assert_int_equal(
        api_world_post(&w, "/api/v1/namespaces/default/serviceaccounts/bot/token", "{}"), 201);
    token = api_world_text(&w, "status.token");
    assert_true(strlen(token) > 100);
    snprintf(header, sizeof(header), "authorization: Bearer %s", token);
    assert_int_equal(api_world_send(&w, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                    header, "{}"),
                     201);
    assert_string_equal(api_world_text(&w, "status.userInfo.username"),
                        "system:serviceaccount:default:bot");
    assert_int_equal(
        api_world_send(&w, "DELETE", "/api/v1/namespaces/default/serviceaccounts/bot", NULL, NULL),
        200);
    assert_int_equal(api_world_send(&w, "GET", "/healthz", header, NULL), 401);
    assert_int_equal(
        api_world_post(&w, "/api/v1/namespaces/default/serviceaccounts/none/token", "{}"), 404);
    api_world_stop(&w);
}

/* --- commits ---------------------------------------------------------------------------------- */

static void commits(void **state)
{
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_post(&w, MAPS, config_map), 201);
    assert_int_equal(w.commits, 1);
    assert_int_equal(api_world_get(&w, MAPS), 200);
    assert_int_equal(w.commits, 1);
    w.commit_result = -ENOSPC;
    assert_int_equal(api_world_send(&w, "PATCH", MAPS "/one",
                                    "content-type: application/merge-patch+json",
                                    "{\"data\":{\"a\":\"c\"}}"),
                     507);
    assert_string_equal(api_world_text(&w, "message"), "the disk is full");
    assert_int_equal(api_world_get(&w, MAPS), 200);
    w.commit_result = -EIO;
    assert_int_equal(api_world_send(&w, "DELETE", MAPS "/one", NULL, NULL), 500);
    w.commit_result = 0;
    assert_int_equal(api_world_post(&w, MAPS, config_map), 201);
    api_world_stop(&w);
}

static void connections(void **state)
{
    struct api_world w;

    (void)state;
    start_plain(&w);
    assert_int_equal(api_world_get(&w, "/api/v1/namespaces/default/pods/x/log"), 404);
    assert_int_equal(api_world_post(&w, "/api/v1/namespaces/default/serviceaccounts",
                                    "{\"metadata\":{\"name\":\"default\"}}"),
                     201);
    assert_int_equal(
        api_world_post(&w, "/api/v1/namespaces/default/pods",
                       "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"automountServiceAccountToken\":"
                       "false,\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
        201);
    assert_int_equal(api_world_get(&w, "/api/v1/namespaces/default/pods/x/log"), 501);
    assert_string_equal(api_world_text(&w, "message"),
                        "the containers of this cluster are simulated and write no logs");
    assert_int_equal(
        api_world_send(&w, "POST", "/api/v1/namespaces/default/pods/x/exec?command=sh", NULL, NULL),
        501);
    api_world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects),         cmocka_unit_test(forms),
        cmocka_unit_test(paths),           cmocka_unit_test(openapi_as_protobuf),
        cmocka_unit_test(paths),           cmocka_unit_test(aggregated_discovery),
        cmocka_unit_test(bad_bodies),      cmocka_unit_test(long_lists),
        cmocka_unit_test(access_of_users), cmocka_unit_test(anonymous),
        cmocka_unit_test(impersonation),   cmocka_unit_test(escalation),
        cmocka_unit_test(tokens),          cmocka_unit_test(commits),
        cmocka_unit_test(connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
