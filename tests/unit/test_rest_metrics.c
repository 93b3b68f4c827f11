/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of clients, users and rights, and leader election. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/authorization.h"
#include "fake_kube.h"
#include "objects.h"
#include "serve/authn.h"
#include "serve/authz.h"
#include "serve/review_metrics.h"

#define POD_PATH "/api/v1/namespaces/ns/pods/a"

static struct fake_kube k;
static struct metrics *metrics;
static char host[64];

static int set_up(void **state)
{
    (void)state;
    metrics = metrics_new();
    fake_kube_begin(&k, &(struct rest_options){.metrics = metrics});
    snprintf(host, sizeof(host), "%s", fake_api_url(k.api) + strlen("https://"));
    if (!strncmp(fake_api_url(k.api), "http://", 7))
        snprintf(host, sizeof(host), "%s", fake_api_url(k.api) + strlen("http://"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_kube_end(&k);
    metrics = metrics_free(metrics);
    return 0;
}

/* name{labels} value, where HOST stands for the server's. */
static void assert_line(const char *line, bool there)
{
    struct buf page = BUF_INIT, want = BUF_INIT;
    line = json_quotes(line);
    const char *at = strstr(line, "HOST");
    buf_add_char(&want, '\n');
    if (at)
        buf_add_printf(&want, "%.*s%s%s", (int)(at - line), line, host, at + 4);
    else
        buf_add_cstr(&want, line);
    metrics_write(metrics, &page);
    if (!!strstr(buf_cstr(&page), buf_cstr(&want)) != there)
        fail_msg("%s %s\n%s", buf_cstr(&want), there ? "is not in" : "is in", buf_cstr(&page));
    buf_release(&page);
    buf_release(&want);
}

struct told {
    int n;
};

static void on_done(void *ctx, const struct rest_result *result)
{
    (void)result;
    ((struct told *)ctx)->n++;
}

static bool is_told(void *ctx)
{
    return ((struct told *)ctx)->n > 0;
}

static void send(enum rest_verb verb, const char *text)
{
    struct told told = {0};
    struct rest_request request = {.verb = verb,
                                   .kind = kind_get(KIND_POD),
                                   .namespace = STR("ns"),
                                   .name = STR("a"),
                                   .text = str_of(text)};
    rest_send(k.client, &request, on_done, &told);
    assert_true(fake_run_until(k.loop, is_told, &told));
}

/* --- clients ---------------------------------------------------------------------------------- */

static void calls_are_counted(void **state)
{
    (void)state;
    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, "{}");
    fake_api_json(k.api, "GET", POD_PATH, NULL, 404, "{}");
    fake_api_json(k.api, "PATCH", POD_PATH, NULL, 200, "{}");
    send(REST_GET, "");
    send(REST_GET, "");
    send(REST_PATCH_MERGE, "{'a':1}");
    assert_line("rest_client_requests_total{code='200',host='HOST',method='GET'} 1\n", true);
    assert_line("rest_client_requests_total{code='404',host='HOST',method='GET'} 1\n", true);
    assert_line("rest_client_requests_total{code='200',host='HOST',method='PATCH'} 1\n", true);
    assert_line("rest_client_request_duration_seconds_count{host='HOST',verb='GET'} 2\n", true);
    assert_line("rest_client_request_size_bytes_sum{host='HOST',verb='GET'} 0\n", true);
    assert_line("rest_client_request_size_bytes_sum{host='HOST',verb='PATCH'} 7\n", true);
    assert_line("rest_client_response_size_bytes_sum{host='HOST',verb='GET'} 4\n", true);
    assert_line("rest_client_response_size_bytes_count{host='HOST',verb='GET'} 2\n", true);
    assert_line("rest_client_transport_create_calls_total{result='uncacheable'} 2\n", true);
    assert_line("rest_client_exec_plugin_ttl_seconds +Inf\n", true);
    /* There is no rate limit here, and no retry. */
    assert_line("rest_client_rate_limiter_duration_seconds", false);
    assert_line("rest_client_request_retries_total", false);
}

static void further_tries_are_counted(void **state)
{
    (void)state;
    /* On a new connection: on a kept one the transport would retry by itself. */
    fake_api_answer(k.api, &(struct fake_answer){.path = POD_PATH, .manner = FAKE_ABORT});
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = POD_PATH, .status = 429, .retry_after = "1"});
    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, "{}");
    send(REST_GET, "");
    assert_line("rest_client_requests_total{code='429',host='HOST',method='GET'} 1\n", true);
    assert_line("rest_client_requests_total{code='<error>',host='HOST',method='GET'} 1\n", true);
    assert_line("rest_client_requests_total{code='200',host='HOST',method='GET'} 1\n", true);
    assert_line("rest_client_request_retries_total{code='429',host='HOST',verb='GET'} 1\n", true);
    assert_line("rest_client_request_retries_total{code='200',host='HOST',verb='GET'} 1\n", true);
    assert_line("rest_client_request_retries_total{code='<error>'", false);
    /* All three were one call. */
    assert_line("rest_client_request_duration_seconds_count{host='HOST',verb='GET'} 1\n", true);
    assert_line("rest_client_request_size_bytes_count{host='HOST',verb='GET'} 3\n", true);
    assert_line("rest_client_response_size_bytes_count{host='HOST',verb='GET'} 1\n", true);
}

static void on_open(void *ctx)
{
    ((struct told *)ctx)->n++;
}

static void on_end(void *ctx, const struct rest_result *result)
{
    (void)ctx, (void)result;
}

/* When it is accepted, not when it ends; its length is not recorded. */
static void watches_are_counted(void **state)
{
    (void)state;
    static const struct rest_watch_handlers handlers = {.on_open = on_open, .on_end = on_end};
    struct told told = {0};
    struct rest_request request = {.verb = REST_LIST, .kind = kind_get(KIND_POD)};
    fake_api_answer(k.api, &(struct fake_answer){.path = "/api/v1/pods", .manner = FAKE_STREAM});
    struct rest_call *watch = rest_watch(k.client, &request, &handlers, &told);
    assert_true(fake_run_until(k.loop, is_told, &told));
    assert_line("rest_client_requests_total{code='200',host='HOST',method='GET'} 1\n", true);
    assert_line("rest_client_request_duration_seconds", false);
    assert_line("rest_client_request_size_bytes", false);
    rest_cancel(watch);
}

static void the_rate_limit_is_told_of(void **state)
{
    (void)state;
    struct rest_client *slow;
    struct err err;
    struct told told = {0};
    struct rest_request request = {
        .verb = REST_GET, .kind = kind_get(KIND_POD), .namespace = STR("ns"), .name = STR("a")};
    k.config.qps = 20;
    k.config.burst = 1;
    assert_int_equal(
        rest_client_new(k.loop, &k.config, &(struct rest_options){.metrics = metrics}, &slow, &err),
        0);
    for (int i = 0; i < 2; i++) {
        fake_api_json(k.api, "GET", POD_PATH, NULL, 200, "{}");
        rest_send(slow, &request, on_done, &told);
    }
    while (told.n < 2)
        loop_step(k.loop, NSEC_PER_SEC);
    assert_line("rest_client_rate_limiter_duration_seconds_bucket{host='HOST',verb='GET',"
                "le='0.005'} 1\n",
                true);
    assert_line("rest_client_rate_limiter_duration_seconds_bucket{host='HOST',verb='GET',"
                "le='0.1'} 2\n",
                true);
    rest_client_free(slow);
}

static void plugins_and_files_are_counted(void **state)
{
    (void)state;
    rest_metrics_exec(metrics, REST_EXEC_FAILED, 3);
    rest_metrics_exec(metrics, REST_EXEC_NOT_FOUND, 1);
    rest_metrics_ca_reload(metrics, REST_CA_BAD);
    assert_line("rest_client_exec_plugin_call_total{call_status='plugin_execution_error',"
                "code='3'} 1\n",
                true);
    assert_line("rest_client_exec_plugin_call_total{call_status='plugin_not_found_error',"
                "code='1'} 1\n",
                true);
    assert_line("rest_client_transport_ca_reload_total{reason='ca_parse_error',"
                "result='failure'} 1\n",
                true);
    /* The shortest one counts, until its owner has none any more. */
    int64_t now = time_wall() / NSEC_PER_SEC;
    rest_metrics_exec_expiry(metrics, &k, now - 100);
    rest_metrics_exec_expiry(metrics, metrics, now + 1000000);
    assert_line("rest_client_exec_plugin_ttl_seconds -100.", true);
    rest_metrics_exec_expiry(metrics, &k, 0);
    assert_line("rest_client_exec_plugin_ttl_seconds 99999", true);
}

static void nothing_is_counted_without_a_registry(void **state)
{
    (void)state;
    assert_null(rest_meter_new(NULL, STR("x")));
    assert_null(rest_meter_free(NULL));
    rest_meter_attempt(NULL, REST_M_GET, 200, true);
    rest_meter_done(NULL, REST_M_GET, 1);
    rest_metrics_transports(NULL, 1);
    rest_metrics_exec(NULL, REST_EXEC_OK, 0);
    rest_metrics_exec_rotated(NULL, 1);
    rest_metrics_exec_expiry(NULL, &k, 1);
    rest_metrics_ca_reload(NULL, REST_CA_UPDATED);
    review_metrics_init(NULL);
    review_metrics_answer(NULL, REVIEW_AUTHN, 200, 1);
    review_metrics_certificate(NULL, 1);
    review_metrics_token_hit(NULL);
    review_metrics_token_fetch(NULL);
    review_metrics_token_fetched(NULL, true, 1);
    workqueue_metrics_init(NULL, "q");
    workqueue_metrics_done(NULL, "q", 0, true);
}

/* --- users and rights ------------------------------------------------------------------------- */

static void on_user(void *ctx, enum authn_verdict verdict, const struct user_info *user)
{
    (void)verdict, (void)user;
    ((struct told *)ctx)->n++;
}

static void ask_token(struct authn *authn, const char *header)
{
    struct told told = {0};
    struct http_exchange x = {0};
    vec_push(&x.headers.list, HTTP_HEADER("authorization", str_of(header)));
    (void)authn_check(authn, &x, on_user, &told);
    assert_true(fake_run_until(k.loop, is_told, &told));
    vec_release(&x.headers.list);
}

static void tokens_are_counted(void **state)
{
    (void)state;
    struct authn *authn;
    struct err err;
    struct authn_options options = {
        .kube = &k.config, .skip_lookup = true, .token_ttl = 10 * NSEC_PER_SEC, .metrics = metrics};
    assert_int_equal(authn_new(k.loop, &options, &authn, &err), 0);
    assert_line("apiserver_client_certificate_expiration_seconds_count 0\n", true);
    fake_api_json(k.api, "POST", TOKEN_REVIEWS_PATH, NULL, 201,
                  json_quotes("{'status':{'authenticated':true,'user':{'username':'jane'}}}"));
    ask_token(authn, "Bearer good");
    ask_token(authn, "Bearer good");
    fake_api_json(k.api, "POST", TOKEN_REVIEWS_PATH, NULL, 201, json_quotes("{'status':{}}"));
    ask_token(authn, "Bearer bad");
    assert_line("apiserver_delegated_authn_request_total{code='201'} 2\n", true);
    assert_line("apiserver_delegated_authn_request_duration_seconds_count{code='201'} 2\n", true);
    assert_line("authentication_token_cache_request_total{status='hit'} 1\n", true);
    assert_line("authentication_token_cache_request_total{status='miss'} 2\n", true);
    assert_line("authentication_token_cache_fetch_total{status='ok'} 1\n", true);
    assert_line("authentication_token_cache_fetch_total{status='error'} 1\n", true);
    assert_line("authentication_token_cache_active_fetch_count{status='in_flight'} 0\n", true);
    authn_free(authn);
}

static void on_right(void *ctx, enum authz_verdict verdict, struct str why)
{
    (void)verdict, (void)why;
    ((struct told *)ctx)->n++;
}

static void rights_are_counted(void **state)
{
    (void)state;
    struct authz *authz;
    struct err err;
    struct told told = {0};
    struct user_info jane = {.username = STR_INIT("jane")};
    struct authz_options options = {.kube = &k.config, .metrics = metrics};
    assert_int_equal(authz_new(k.loop, &options, &authz, &err), 0);
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = SUBJECT_ACCESS_REVIEWS_PATH, .status = 403});
    struct authz_request request = {.user = &jane, .verb = STR("get"), .path = STR("/metrics")};
    (void)authz_check(authz, &request, on_right, &told);
    assert_true(fake_run_until(k.loop, is_told, &told));
    assert_line("apiserver_delegated_authz_request_total{code='403'} 1\n", true);
    authz_free(authz);
}

static void chores_are_counted(void **state)
{
    (void)state;
    workqueue_metrics_init(metrics, "q");
    assert_line("workqueue_depth{name='q'} 0\n", true);
    assert_line("workqueue_retries_total{name='q'} 0\n", true);
    workqueue_metrics_done(metrics, "q", time_mono() - NSEC_PER_SEC, true);
    workqueue_metrics_done(metrics, "q", time_mono(), false);
    assert_line("workqueue_adds_total{name='q'} 2\n", true);
    assert_line("workqueue_retries_total{name='q'} 1\n", true);
    assert_line("workqueue_work_duration_seconds_bucket{name='q',le='0.1'} 1\n", true);
    assert_line("workqueue_work_duration_seconds_count{name='q'} 2\n", true);
    assert_line("workqueue_queue_duration_seconds_count{name='q'} 2\n", true);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_are_counted),
        TEST(further_tries_are_counted),
        TEST(watches_are_counted),
        TEST(the_rate_limit_is_told_of),
        TEST(plugins_and_files_are_counted),
        TEST(nothing_is_counted_without_a_registry),
        TEST(tokens_are_counted),
        TEST(rights_are_counted),
        TEST(chores_are_counted),
    };
    return cmocka_run_group_tests_name("rest_metrics", tests, NULL, NULL);
}
