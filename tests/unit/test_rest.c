/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <unistd.h>

#include "api/coordination.h"
#include "api/pod.h"
#include "fake_kube.h"
#include "live/pod_writes.h"
#include "objects.h"

#define POD_PATH "/api/v1/namespaces/ns/pods/a"
#define PODS     "/api/v1/pods"

static struct fake_kube k;

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_kube_end(&k);
    return 0;
}

/* --- sending and waiting ---------------------------------------------------------------------- */

struct outcome {
    int told;
    struct rest_result result; /* without its body */
    char reason[64], body[512];
    struct object *object;
};

static void on_done(void *ctx, const struct rest_result *result)
{
    struct outcome *o = ctx;
    struct err err;

    o->told++;
    o->result = *result;
    snprintf(o->reason, sizeof(o->reason), "%.*s", STR_ARG(result->reason));
    snprintf(o->body, sizeof(o->body), "%.*s", STR_ARG(result->body));
    object_unref(o->object);
    o->object = NULL;
    if (result->code == 0 && result->body.n > 0 && rest_result_object(result, &o->object, &err) < 0)
        o->object = NULL;
}

static bool is_told(void *ctx)
{
    return ((struct outcome *)ctx)->told > 0;
}

static struct outcome outcome;

static const struct outcome *wait_for(struct rest_call *call)
{
    assert_non_null(call);
    assert_int_equal(outcome.told, 0);
    assert_true(fake_run_until(k.loop, is_told, &outcome));
    assert_int_equal(outcome.told, 1);
    outcome.told = 0;
    return &outcome;
}

static const struct outcome *get_pod(void)
{
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};

    object_unref(outcome.object);
    outcome = (struct outcome){0};
    return wait_for(rest_send(k.client, &request, on_done, &outcome));
}

static void forget(void)
{
    outcome.object = object_unref(outcome.object);
    outcome = (struct outcome){0};
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static void test_get_in_json_and_protobuf(void **state)
{
    const struct outcome *o;

    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = POD_PATH,
                                          .type = FAKE_PROTO,
                                          .body = fake_proto(&k, KIND_POD, fake_pod(&k, "a", 7))});
    o = get_pod();
    assert_int_equal(o->result.code, 0);
    assert_int_equal(o->result.status, 200);
    assert_non_null(o->object);
    assert_true(str_is(object_meta(o->object)->resource_version, "7"));
    assert_string_equal(fake_api_request(k.api, 0)->method, "GET");
    assert_string_equal(fake_api_request(k.api, 0)->accept, FAKE_PROTO "," FAKE_JSON);
    assert_holds(fake_api_request(k.api, 0)->headers, "user-agent: berth/test\n");
    assert_false(rest_is_json_only(k.client, kind_get(KIND_POD)));

    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, fake_pod(&k, "a", 8).p);
    o = get_pod();
    assert_non_null(o->object);
    assert_true(str_is(object_meta(o->object)->resource_version, "8"));
    /* Remembered: the next request accepts only JSON. */
    assert_true(rest_is_json_only(k.client, kind_get(KIND_POD)));
    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, fake_pod(&k, "a", 9).p);
    get_pod();
    assert_string_equal(fake_api_request(k.api, 2)->accept, FAKE_JSON);
    forget();
}

static void test_bind_posts_protobuf(void **state)
{
    struct object_meta pod = {
        .namespace = STR_INIT("ns"), .name = STR_INIT("a"), .uid = STR_INIT("u-a")};
    struct wire wire = {.kind = kind_get(KIND_BINDING), .encoding = ENCODING_PROTO};
    const struct fake_request *r;
    struct object *binding;
    struct err err;

    (void)state;
    fake_api_json(k.api, "POST", POD_PATH "/binding", NULL, 201,
                  json_quotes("{'kind':'Status','apiVersion':'v1','status':'Success'}"));
    assert_int_equal(wait_for(pod_bind(k.client, &pod, STR("n1"), on_done, &outcome))->result.code,
                     0);
    r = fake_api_request(k.api, 0);
    assert_string_equal(r->content_type, FAKE_PROTO);
    assert_int_equal(object_decode(&wire, (struct str){r->body, r->body_n}, &binding, &err), 0);
    assert_true(str_is(object_meta(binding)->uid, "u-a"));
    object_unref(binding);
    forget();
}

static void test_patches_and_deletes(void **state)
{
    static const struct {
        enum rest_verb verb;
        const char *type;
    } patches[] = {
        {REST_PATCH_STRATEGIC, "application/strategic-merge-patch+json"},
        {REST_PATCH_MERGE, "application/merge-patch+json"},
        {REST_PATCH_JSON, "application/json-patch+json"},
        {REST_APPLY, "application/apply-patch+yaml"},
    };
    struct object_meta pod = {.namespace = STR_INIT("ns"), .name = STR_INIT("a")};
    struct rest_request request = {.kind = kind_get(KIND_POD),
                                   .namespace = STR_INIT("ns"),
                                   .name = STR_INIT("a"),
                                   .subresource = STR_INIT("status"),
                                   .query = STR_INIT("fieldManager=x"),
                                   .text = STR_INIT("{}")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patches); i++) {
        fake_api_json(k.api, "PATCH", POD_PATH "/status", "fieldManager=x", 200,
                      fake_pod(&k, "a", 1).p);
        request.verb = patches[i].verb;
        assert_int_equal(wait_for(rest_send(k.client, &request, on_done, &outcome))->result.code,
                         0);
        assert_string_equal(fake_api_request(k.api, i)->content_type, patches[i].type);
        assert_string_equal(fake_api_request(k.api, i)->body, "{}");
    }
    fake_api_json(k.api, "DELETE", POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    assert_int_equal(wait_for(pod_delete(k.client, &pod, on_done, &outcome))->result.code, 0);
    forget();
}

static void test_names_are_escaped(void **state)
{
    struct rest_request request = {.verb = REST_GET,
                                   .kind = kind_get(KIND_LEASE),
                                   .namespace = STR_INIT("a/b"),
                                   .name = STR_INIT("c?d")};

    (void)state;
    fake_api_json(k.api, "GET", "/apis/coordination.k8s.io/v1/namespaces/a%2Fb/leases/c%3Fd", NULL,
                  200, json_quotes("{'kind':'Lease','apiVersion':'coordination.k8s.io/v1'}"));
    assert_int_equal(wait_for(rest_send(k.client, &request, on_done, &outcome))->result.code, 0);
    forget();
}

/* --- rejected requests ------------------------------------------------------------------------ */

static void test_status_becomes_an_error(void **state)
{
    const struct outcome *o;

    (void)state;
    fake_api_json(k.api, NULL, POD_PATH, NULL, 404,
                  fake_status(&k, 404, "NotFound", "pods \\\"a\\\" not found").p);
    o = get_pod();
    assert_int_equal(o->result.code, -ENOENT);
    assert_int_equal(o->result.status, 404);
    assert_string_equal(o->result.err.msg, "pods \"a\" not found");
    assert_string_equal(o->reason, "NotFound");
    /* The same in protobuf. */
    fake_api_answer(k.api, &(struct fake_answer){
                               .path = POD_PATH,
                               .status = 409,
                               .type = FAKE_PROTO,
                               .body = fake_proto(&k, KIND_STATUS,
                                                  fake_status(&k, 409, "AlreadyExists", "there"))});
    o = get_pod();
    assert_int_equal(o->result.code, -EEXIST);
    assert_string_equal(o->result.err.msg, "there");
    /* No Status at all: a proxy's page. */
    fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH,
                                                 .status = 502,
                                                 .type = "text/html",
                                                 .body = STR("<html>\nbad</html>")});
    o = get_pod();
    assert_int_equal(o->result.code, -EIO);
    assert_holds(o->result.err.msg, POD_PATH ": 502 Bad Gateway: <html> bad</html>");
    assert_holds(o->result.err.msg, "GET http://127.0.0.1:");
    forget();
}

static void test_retriable_errors(void **state)
{
    struct rest_result r = {.status = 500, .code = -EIO};

    (void)state;
    assert_true(rest_is_retriable(&r));
    r = (struct rest_result){.status = 409, .code = rest_status_errno(409, STR("Conflict"))};
    assert_true(rest_is_retriable(&r));
    r = (struct rest_result){.status = 409, .code = rest_status_errno(409, STR("AlreadyExists"))};
    assert_false(rest_is_retriable(&r));
    r = (struct rest_result){.code = -ECONNREFUSED};
    assert_true(rest_is_retriable(&r));
    r = (struct rest_result){.code = -ETIMEDOUT};
    assert_false(rest_is_retriable(&r));
    r = (struct rest_result){.status = 404, .code = -ENOENT};
    assert_false(rest_is_retriable(&r));
}

static void test_nonsense_is_refused(void **state)
{
    const struct outcome *o;
    struct object *object;
    struct rest_result r;
    struct err err;

    (void)state;
    fake_api_answer(
        k.api, &(struct fake_answer){.path = POD_PATH, .type = "text/plain", .body = STR("hello")});
    o = get_pod();
    assert_int_equal(o->result.code, -EPROTO);
    assert_holds(o->result.err.msg, "neither JSON nor Kubernetes protobuf");
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, json_quotes("{'kind':"));
    o = get_pod();
    assert_int_equal(o->result.code, 0);
    r = o->result;
    r.body = json_quotes_str("{'kind':");
    assert_int_equal(rest_result_object(&r, &object, &err), -EBADMSG);
    r.encoding = ENCODING_PROTO;
    r.body = STR("k8s");
    assert_int_equal(rest_result_object(&r, &object, &err), -EBADMSG);
    forget();
}

/* --- retries ---------------------------------------------------------------------------------- */

static void test_retry_after_is_honoured(void **state)
{
    const struct outcome *o;

    (void)state;
    for (int i = 0; i < 2; i++)
        fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH,
                                                     .status = i ? 503 : 429,
                                                     .body = STR("{}"),
                                                     .retry_after = "1"});
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    o = get_pod();
    assert_int_equal(o->result.code, 0);
    assert_int_equal(fake_api_count(k.api), 3);
    /* Without the header the answer is final. */
    fake_api_json(k.api, NULL, POD_PATH, NULL, 429, fake_status(&k, 429, "TooManyRequests", "x").p);
    o = get_pod();
    assert_int_equal(o->result.code, -EAGAIN);
    assert_int_equal(fake_api_count(k.api), 4);
    forget();
}

static void test_retry_after_ends(void **state)
{
    const struct outcome *o;

    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH,
                                                 .status = 429,
                                                 .body = fake_status(&k, 429, "TooMany", "busy"),
                                                 .retry_after = "0",
                                                 .forever = true});
    o = get_pod();
    assert_int_equal(o->result.code, -EAGAIN);
    assert_string_equal(o->result.err.msg, "busy");
    assert_int_equal(fake_api_count(k.api), 1 + REST_MAX_RETRIES);
    forget();
}

static void test_415_and_406_fall_back_to_json(void **state)
{
    struct lease lease = {.metadata = {.name = STR_INIT("l"), .namespace = STR_INIT("ns")}};
    struct rest_request request = {.verb = REST_CREATE,
                                   .kind = kind_get(KIND_LEASE),
                                   .namespace = STR_INIT("ns"),
                                   .body_kind = kind_get(KIND_LEASE),
                                   .body = &lease};
    const char *path = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";

    (void)state;
    fake_api_json(k.api, "POST", path, NULL, 415, "{}");
    fake_api_json(k.api, "POST", path, NULL, 201, "{}");
    assert_int_equal(wait_for(rest_send(k.client, &request, on_done, &outcome))->result.code, 0);
    assert_string_equal(fake_api_request(k.api, 0)->content_type, FAKE_PROTO);
    assert_string_equal(fake_api_request(k.api, 1)->content_type, FAKE_JSON);
    assert_holds(fake_api_request(k.api, 1)->body, json_quotes("'name':'l'"));
    /* Only once. */
    fake_api_json(k.api, "POST", path, NULL, 415, "{}");
    assert_int_not_equal(wait_for(rest_send(k.client, &request, on_done, &outcome))->result.code,
                         0);
    assert_int_equal(fake_api_count(k.api), 3);
    fake_api_json(k.api, "GET", POD_PATH, NULL, 406, "{}");
    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    assert_int_equal(get_pod()->result.code, 0);
    assert_string_equal(fake_api_request(k.api, 4)->accept, FAKE_JSON);
    forget();
}

static void test_reads_survive_a_lost_connection_and_writes_fail(void **state)
{
    struct object_meta pod = {.namespace = STR_INIT("ns"), .name = STR_INIT("a")};
    const struct outcome *o;

    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH, .manner = FAKE_ABORT});
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    o = get_pod();
    if (o->result.code < 0)
        fail_msg("%s", o->result.err.msg);
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = POD_PATH "/binding", .manner = FAKE_ABORT});
    o = wait_for(pod_bind(k.client, &pod, STR("n1"), on_done, &outcome));
    assert_int_equal(o->result.code, -ECONNRESET);
    assert_int_equal(o->result.status, 0);
    assert_holds(o->result.err.msg, "POST http://127.0.0.1:");
    assert_int_equal(fake_api_unexpected(k.api), 0);
    forget();
}

/* --- credentials ------------------------------------------------------------------------------ */

static void test_401_reads_the_token_again_once(void **state)
{
    char path[] = "/tmp/test_rest.XXXXXX";
    int fd = mkstemp(path);
    struct rest_options options = {.retry_unit = 1};
    const struct outcome *o;
    struct err err;

    (void)state;
    assert_true(fd >= 0 && write(fd, "old", 3) == 3);
    rest_client_free(k.client);
    k.config.token_file = str_of(path);
    assert_int_equal(rest_client_new(k.loop, &k.config, &options, &k.client, &err), 0);
    fake_api_json(k.api, NULL, POD_PATH, NULL, 401, fake_status(&k, 401, "Unauthorized", "no").p);
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    assert_true(ftruncate(fd, 0) == 0 && pwrite(fd, "newer", 5, 0) == 5);
    o = get_pod();
    assert_int_equal(o->result.code, 0);
    assert_string_equal(fake_api_request(k.api, 0)->authorization, "Bearer old");
    assert_string_equal(fake_api_request(k.api, 1)->authorization, "Bearer newer");
    /* The same token again: no retry. */
    fake_api_json(k.api, NULL, POD_PATH, NULL, 401, fake_status(&k, 401, "Unauthorized", "no").p);
    o = get_pod();
    assert_int_equal(o->result.code, -EACCES);
    assert_holds(o->result.err.msg, "the server rejected the credentials from test");
    assert_int_equal(fake_api_count(k.api), 3);
    close(fd);
    unlink(path);
    forget();
}

static void test_plugin_failure_is_told(void **state)
{
    struct kubeconfig_exec plugin = {.api_version = STR_INIT("client.authentication.k8s.io/v1"),
                                     .command = STR_INIT("/nonexistent/plugin"),
                                     .interactive_mode = STR_INIT("Never")};
    const struct outcome *o;
    struct err err;

    (void)state;
    rest_client_free(k.client);
    k.config.exec = &plugin;
    assert_int_equal(rest_client_new(k.loop, &k.config, NULL, &k.client, &err), 0);
    o = get_pod();
    assert_int_equal(o->result.code, -ENOENT);
    assert_int_equal(o->result.status, 0);
    assert_holds(o->result.err.msg, "/nonexistent/plugin");
    assert_int_equal(fake_api_count(k.api), 0);
    forget();
}

/* --- bounds ----------------------------------------------------------------------------------- */

static bool is_open(void *ctx)
{
    return fake_api_is_open(k.api, ctx);
}

static void send_bind(void)
{
    static const struct object_meta pod = {.namespace = STR_INIT("ns"), .name = STR_INIT("a")};

    forget();
    pod_bind(k.client, &pod, STR("n1"), on_done, &outcome);
}

/* The body is cut off: a read is retried, a write fails with a clear error. */
static void test_truncated_replies(void **state)
{
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};

    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH "/binding",
                                                 .manner = FAKE_STREAM,
                                                 .body = json_quotes_str("{'kind':'Sta")});
    send_bind();
    assert_true(fake_run_until(k.loop, is_open, (void *)(uintptr_t)POD_PATH "/binding"));
    fake_api_cut(k.api, POD_PATH "/binding");
    assert_true(fake_run_until(k.loop, is_told, &outcome));
    assert_int_equal(outcome.result.code, -ECONNRESET);
    assert_holds(outcome.result.err.msg, POD_PATH "/binding");
    forget();
    fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH,
                                                 .manner = FAKE_STREAM,
                                                 .body = json_quotes_str("{'kind'")});
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    rest_send(k.client, &request, on_done, &outcome);
    assert_true(fake_run_until(k.loop, is_open, (void *)(uintptr_t)POD_PATH));
    fake_api_cut(k.api, POD_PATH);
    assert_true(fake_run_until(k.loop, is_told, &outcome));
    assert_int_equal(outcome.result.code, 0);
    assert_non_null(outcome.object);
    forget();
}

static void test_oversized_replies(void **state)
{
    struct rest_options options = {.retry_unit = 1, .max_reply = 1000};
    const struct outcome *o;
    struct err err;
    char *large = xcalloc(1, 2001);

    (void)state;
    memset(large, 'x', 2000);
    rest_client_free(k.client);
    assert_int_equal(rest_client_new(k.loop, &k.config, &options, &k.client, &err), 0);
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, large);
    o = get_pod();
    assert_int_equal(o->result.code, -EMSGSIZE);
    assert_holds(o->result.err.msg, POD_PATH);
    free(large);
    forget();
}

static void test_rate_limit_spaces_calls(void **state)
{
    struct outcome many[6] = {0};
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};
    int64_t began;
    struct err err;

    (void)state;
    rest_client_free(k.client);
    k.config.qps = 200;
    k.config.burst = 2;
    assert_int_equal(rest_client_new(k.loop, &k.config, NULL, &k.client, &err), 0);
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = POD_PATH, .body = STR("{}"), .forever = true});
    began = time_mono();
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        rest_send(k.client, &request, on_done, &many[i]);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        assert_true(fake_run_until(k.loop, is_told, &many[i]));
    /* Two at once, four more at 5 ms each. */
    assert_true(time_mono() - began >= 20 * NSEC_PER_MSEC);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        object_unref(many[i].object);
}

static bool is_over(void *ctx)
{
    return loop_now(k.loop) >= *(int64_t *)ctx;
}

/* One is in flight, the others wait for the rate limit, or are started later. */
static bool open_for_writes;
static bool may_write(void *ctx)
{
    (void)ctx;
    return open_for_writes;
}

static void create(const char *name, bool unguarded, struct outcome *o)
{
    struct rest_request request = {.verb = REST_PATCH_MERGE,
                                   .kind = kind_get(KIND_POD),
                                   .namespace = STR("ns"),
                                   .name = str_of(name),
                                   .text = STR("{}"),
                                   .unguarded = unguarded};

    fake_api_json(k.api, "PATCH", arena_printf(&k.arena, "/api/v1/namespaces/ns/pods/%s", name).p,
                  NULL, 200, fake_pod(&k, name, 1).p);
    rest_send(k.client, &request, on_done, o);
}

static void test_guarded_writes_wait_until_they_may_be_sent(void **state)
{
    struct outcome a = {0}, b = {0}, gone = {0}, told = {0}, read = {0};

    (void)state;
    open_for_writes = false;
    rest_client_guard_writes(k.client, may_write, NULL);
    create("a", false, &a);
    struct rest_call *cancelled = rest_send(k.client,
                                            &(struct rest_request){.verb = REST_DELETE,
                                                                   .kind = kind_get(KIND_POD),
                                                                   .namespace = STR("ns"),
                                                                   .name = STR("a")},
                                            on_done, &gone);
    create("b", false, &b);
    create("c", true, &told);
    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    rest_send(
        k.client,
        &(struct rest_request){
            .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")},
        on_done, &read);
    assert_true(fake_run_until(k.loop, is_told, &read));
    assert_true(fake_run_until(k.loop, is_told, &told));
    rest_client_resume_writes(k.client);
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    assert_int_equal(fake_api_count(k.api), 2);
    rest_cancel(cancelled);
    open_for_writes = true;
    rest_client_resume_writes(k.client);
    assert_true(fake_run_until(k.loop, is_told, &b));
    assert_true(fake_run_until(k.loop, is_told, &a));
    assert_int_equal(gone.told, 0);
    assert_int_equal(fake_api_count(k.api), 4);
    assert_int_equal(fake_api_unexpected(k.api), 0);
    object_unref(a.object);
    object_unref(b.object);
    object_unref(told.object);
    object_unref(read.object);
}

/* Guarded calls that are never released end with their client. */
static void test_a_held_write_goes_with_its_client(void **state)
{
    struct outcome o = {0};

    (void)state;
    open_for_writes = false;
    rest_client_guard_writes(k.client, may_write, NULL);
    create("a", false, &o);
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    assert_int_equal(o.told, 0);
    assert_int_equal(fake_api_count(k.api), 0);
}

static void test_a_hushed_client_sends_nothing(void **state)
{
    struct outcome many[6] = {0};
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};
    struct rest_call *last = NULL;
    int64_t end;
    struct err err;

    (void)state;
    rest_client_free(k.client);
    k.config.qps = 200;
    k.config.burst = 1;
    assert_int_equal(rest_client_new(k.loop, &k.config, NULL, &k.client, &err), 0);
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = POD_PATH, .body = STR("{}"), .forever = true});
    rest_send(k.client, &request, on_done, &many[0]);
    assert_true(fake_run_until(k.loop, is_told, &many[0]));
    for (size_t i = 1; i < 4; i++)
        rest_send(k.client, &request, on_done, &many[i]);
    rest_client_shutdown(k.client);
    for (size_t i = 4; i < ARRAY_LEN(many); i++)
        last = rest_send(k.client, &request, on_done, &many[i]);
    end = loop_now(k.loop) + 50 * NSEC_PER_MSEC;
    assert_true(fake_run_until(k.loop, is_over, &end));
    assert_int_equal(fake_api_count(k.api), 1);
    for (size_t i = 1; i < ARRAY_LEN(many); i++)
        assert_false(is_told(&many[i]));
    rest_cancel(last);
    object_unref(many[0].object);
}

static void test_cancel_and_free_are_silent(void **state)
{
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};
    struct rest_call *call;

    (void)state;
    forget();
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = POD_PATH, .manner = FAKE_HANG, .forever = true});
    call = rest_send(k.client, &request, on_done, &outcome);
    rest_cancel(call);
    rest_send(k.client, &request, on_done, &outcome);
    for (int i = 0; i < 5; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
    k.client = rest_client_free(k.client);
    loop_step(k.loop, 0);
    assert_int_equal(outcome.told, 0);
}

static void free_client(void *ctx, const struct rest_result *result)
{
    (void)result;
    *(bool *)ctx = true;
    k.client = rest_client_free(k.client);
}

static bool is_true(void *ctx)
{
    return *(bool *)ctx;
}

static void test_a_callback_may_free_the_client(void **state)
{
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};
    bool freed = false;

    (void)state;
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, "{}");
    rest_send(k.client, &request, free_client, &freed);
    assert_true(fake_run_until(k.loop, is_true, &freed));
}

/* --- over TLS, with HTTP/2 -------------------------------------------------------------------- */

static void make_ca(struct buf *cert, struct buf *key)
{
    struct tls_cert_request request = {.common_name = "ca", .is_ca = true};
    struct err err;

    if (tls_make_certificate(&request, cert, key, &err) < 0)
        fail_msg("%s", err.msg);
}

/* Serves with a certificate of that CA; the client trusts `trusted`. */
static void use_tls(struct buf *ca, struct buf *ca_key, struct buf *trusted)
{
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct tls_cert_request request = {
        .names = "127.0.0.1", .ca_cert_pem = buf_str(ca), .ca_key_pem = buf_str(ca_key)};
    struct tls_config *tls;
    struct err err;

    if (tls_make_certificate(&request, &cert, &key, &err) < 0 ||
        tls_config_new_server(
            &(struct tls_options){.cert_pem = buf_str(&cert), .key_pem = buf_str(&key)}, &tls,
            &err) < 0)
        fail_msg("%s", err.msg);
    rest_client_free(k.client);
    fake_api_free(k.api);
    k.api = fake_api_new(k.loop, tls);
    k.config.server = arena_dup(&k.arena, str_of(fake_api_url(k.api)));
    k.config.tls = true;
    k.config.ca_data = arena_dup(&k.arena, buf_str(trusted));
    if (rest_client_new(k.loop, &k.config, NULL, &k.client, &err) < 0)
        fail_msg("%s", err.msg);
    tls_config_unref(tls);
    buf_release(&cert);
    buf_release(&key);
}

static void test_tls_is_verified(void **state)
{
    struct buf ca = BUF_INIT, ca_key = BUF_INIT, other = BUF_INIT, other_key = BUF_INIT;
    const struct outcome *o;

    (void)state;
    make_ca(&ca, &ca_key);
    make_ca(&other, &other_key);
    use_tls(&ca, &ca_key, &ca);
    fake_api_json(k.api, NULL, POD_PATH, NULL, 200, fake_pod(&k, "a", 1).p);
    o = get_pod();
    if (o->result.code < 0)
        fail_msg("%s", o->result.err.msg);
    use_tls(&ca, &ca_key, &other);
    o = get_pod();
    assert_int_equal(o->result.code, -EKEYREJECTED);
    assert_holds(o->result.err.msg, "GET https://127.0.0.1:");
    assert_holds(o->result.err.msg, "unknown authority");
    assert_int_equal(fake_api_count(k.api), 0);
    forget();
    buf_release(&ca);
    buf_release(&ca_key);
    buf_release(&other);
    buf_release(&other_key);
}

/* --- watches ---------------------------------------------------------------------------------- */

struct watching {
    struct rest_call *call;
    struct buf seen; /* "ADDED a@1 …" */
    bool opened, ended, cancel_on_event, free_on_event;
    struct rest_result result;
};

static void on_open(void *ctx)
{
    ((struct watching *)ctx)->opened = true;
}

static void on_event(void *ctx, const struct watch_event *event)
{
    static const char letters[] = "AMDBE";
    struct watching *w = ctx;

    if (event->type == WATCH_ERROR)
        buf_add_cstr(&w->seen, "E ");
    else
        buf_add_printf(&w->seen, "%c%.*s@%.*s ", letters[event->type],
                       STR_ARG(object_meta(event->object)->name),
                       STR_ARG(object_meta(event->object)->resource_version));
    if (w->cancel_on_event)
        w->call = rest_cancel(w->call);
    if (w->free_on_event)
        k.client = rest_client_free(k.client);
}

static void on_end(void *ctx, const struct rest_result *result)
{
    struct watching *w = ctx;

    w->ended = true;
    w->result = *result;
}

static const struct rest_watch_handlers handlers = {on_open, on_event, on_end};
static struct watching watching;

static void start_watch(void)
{
    struct rest_request request = {
        .verb = REST_LIST, .kind = kind_get(KIND_POD), .query = STR("resourceVersion=1")};

    buf_release(&watching.seen);
    watching = (struct watching){0};
    watching.call = rest_watch(k.client, &request, &handlers, &watching);
}

static bool has_ended(void *ctx)
{
    return ((struct watching *)ctx)->ended;
}

static size_t wanted_bytes;
static bool has_seen(void *ctx)
{
    return ((struct watching *)ctx)->seen.n >= wanted_bytes;
}

static void wait_seen(const char *text)
{
    wanted_bytes = strlen(text);
    assert_true(fake_run_until(k.loop, has_seen, &watching));
    assert_string_equal(buf_cstr(&watching.seen), text);
}

static void end_watch(void)
{
    assert_true(fake_run_until(k.loop, has_ended, &watching));
    buf_release(&watching.seen);
}

static void test_watch_of_json_in_pieces(void **state)
{
    struct str frame = fake_frame(&k, "MODIFIED", fake_pod(&k, "a", 3));

    (void)state;
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = PODS,
                                          .query = "resourceVersion=1&watch=true",
                                          .manner = FAKE_STREAM,
                                          .body = fake_frame(&k, "ADDED", fake_pod(&k, "a", 2))});
    start_watch();
    wait_seen("Aa@2 ");
    assert_true(watching.opened);
    for (size_t i = 0; i < frame.n; i += 7) {
        fake_api_push(k.api, PODS, str_slice(frame, i, i + 7));
        loop_step(k.loop, 0);
    }
    wait_seen("Aa@2 Ma@3 ");
    fake_api_push(k.api, PODS, fake_bookmark(&k, 9, false));
    fake_api_push(k.api, PODS, fake_frame(&k, "ERROR", fake_status(&k, 410, "Expired", "old")));
    wait_seen("Aa@2 Ma@3 B@9 E ");
    fake_api_end(k.api, PODS);
    assert_true(fake_run_until(k.loop, has_ended, &watching));
    assert_int_equal(watching.result.code, 0);
    end_watch();
}

static void test_watch_of_protobuf_in_pieces(void **state)
{
    struct str one = fake_proto_frame(&k, "ADDED", fake_proto(&k, KIND_POD, fake_pod(&k, "a", 2)));
    struct str two =
        fake_proto_frame(&k, "DELETED", fake_proto(&k, KIND_POD, fake_pod(&k, "b", 3)));
    struct str three = fake_proto_frame(
        &k, "ERROR", fake_proto(&k, KIND_STATUS, fake_status(&k, 410, "Expired", "old")));

    (void)state;
    fake_api_answer(k.api, &(struct fake_answer){.path = PODS,
                                                 .type = FAKE_PROTO ";stream=watch",
                                                 .manner = FAKE_STREAM,
                                                 .body = one});
    start_watch();
    wait_seen("Aa@2 ");
    for (size_t i = 0; i < two.n; i++) {
        fake_api_push(k.api, PODS, str_slice(two, i, i + 1));
        loop_step(k.loop, 0);
    }
    fake_api_push(k.api, PODS, three);
    wait_seen("Aa@2 Db@3 E ");
    fake_api_push(k.api, PODS, str_slice(one, 0, 10));
    fake_api_end(k.api, PODS);
    assert_true(fake_run_until(k.loop, has_ended, &watching));
    assert_int_equal(watching.result.code, -EBADMSG);
    assert_holds(watching.result.err.msg, "ended within an event");
    end_watch();
}

static void expect_broken(const char *type, struct str body, int code, const char *text)
{
    fake_api_answer(k.api, &(struct fake_answer){
                               .path = PODS, .type = type, .manner = FAKE_STREAM, .body = body});
    start_watch();
    assert_true(fake_run_until(k.loop, has_ended, &watching));
    assert_int_equal(watching.result.code, code);
    assert_holds(watching.result.err.msg, text);
    assert_holds(watching.result.err.msg, PODS);
    end_watch();
}

static void test_broken_watches_end(void **state)
{
    struct rest_options options = {.max_frame = 1000};
    struct err err;
    char *large = xcalloc(1, 3001);

    (void)state;
    memset(large, 'x', 3000);
    large[0] = '"';
    rest_client_free(k.client);
    assert_int_equal(rest_client_new(k.loop, &k.config, &options, &k.client, &err), 0);
    expect_broken(FAKE_JSON, STR("}"), -EBADMSG, "not a sequence of JSON values");
    expect_broken(FAKE_JSON, json_quotes_str("{'type':'ODD','object':{}}"), -EBADMSG, "watch:");
    expect_broken(FAKE_JSON, str_of(large), -EMSGSIZE, "larger than the limit");
    expect_broken(FAKE_PROTO ";stream=watch", STR("\xff\xff\xff\xff"), -EMSGSIZE, "larger");
    expect_broken(FAKE_PROTO ";stream=watch", STR("\0\0\0\3abc"), -EBADMSG, "watch:");
    expect_broken("text/plain", STR("hello"), -EPROTO, "neither JSON nor");
    free(large);
}

static void test_a_watch_refused_or_cut(void **state)
{
    (void)state;
    fake_api_json(k.api, NULL, PODS, NULL, 403, fake_status(&k, 403, "Forbidden", "no").p);
    start_watch();
    assert_true(fake_run_until(k.loop, has_ended, &watching));
    assert_int_equal(watching.result.code, -EPERM);
    assert_string_equal(watching.result.err.msg, "no");
    assert_false(watching.opened);
    end_watch();
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = PODS,
                                          .manner = FAKE_STREAM,
                                          .body = fake_frame(&k, "ADDED", fake_pod(&k, "a", 2))});
    start_watch();
    wait_seen("Aa@2 ");
    fake_api_cut(k.api, PODS);
    assert_true(fake_run_until(k.loop, has_ended, &watching));
    assert_int_equal(watching.result.code, -ECONNRESET);
    assert_int_equal(watching.result.status, 0);
    end_watch();
}

static void test_a_watch_may_be_cancelled_by_its_event(void **state)
{
    struct buf two = BUF_INIT;

    (void)state;
    buf_add_str(&two, fake_frame(&k, "ADDED", fake_pod(&k, "a", 2)));
    buf_add_str(&two, fake_frame(&k, "ADDED", fake_pod(&k, "b", 3)));
    for (int i = 0; i < 2; i++) {
        fake_api_answer(k.api, &(struct fake_answer){
                                   .path = PODS, .manner = FAKE_STREAM, .body = buf_str(&two)});
        start_watch();
        watching.cancel_on_event = i == 0;
        watching.free_on_event = i == 1;
        wait_seen("Aa@2 ");
        loop_step(k.loop, 0);
        assert_string_equal(buf_cstr(&watching.seen), "Aa@2 ");
        assert_false(watching.ended);
    }
    buf_release(&watching.seen);
    buf_release(&two);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_get_in_json_and_protobuf),
        TEST(test_bind_posts_protobuf),
        TEST(test_patches_and_deletes),
        TEST(test_names_are_escaped),
        TEST(test_status_becomes_an_error),
        TEST(test_retriable_errors),
        TEST(test_nonsense_is_refused),
        TEST(test_retry_after_is_honoured),
        TEST(test_retry_after_ends),
        TEST(test_415_and_406_fall_back_to_json),
        TEST(test_reads_survive_a_lost_connection_and_writes_fail),
        TEST(test_401_reads_the_token_again_once),
        TEST(test_plugin_failure_is_told),
        TEST(test_truncated_replies),
        TEST(test_oversized_replies),
        TEST(test_tls_is_verified),
        TEST(test_rate_limit_spaces_calls),
        TEST(test_guarded_writes_wait_until_they_may_be_sent),
        TEST(test_a_held_write_goes_with_its_client),
        TEST(test_a_hushed_client_sends_nothing),
        TEST(test_cancel_and_free_are_silent),
        TEST(test_a_callback_may_free_the_client),
        TEST(test_watch_of_json_in_pieces),
        TEST(test_watch_of_protobuf_in_pieces),
        TEST(test_broken_watches_end),
        TEST(test_a_watch_refused_or_cut),
        TEST(test_a_watch_may_be_cancelled_by_its_event),
    };

    return cmocka_run_group_tests_name("rest", tests, NULL, NULL);
}
