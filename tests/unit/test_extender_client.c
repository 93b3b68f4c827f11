/* SPDX-License-Identifier: Apache-2.0 */
/* Extenders over HTTP: every call is answered exactly once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "live/extender.h"
#include "objects.h"

static struct loop *loop;
static struct fake_api *api;
static struct extenders *x;
static struct object *pod, *nodes[2];
static const struct str names[] = {STR_INIT("a"), STR_INIT("b")};
static VEC(struct extender_answer *) answers;

static int set_up(void **state)
{
    (void)state;
    fake_log_begin();
    if (loop_new(&loop) < 0)
        return -1;
    api = fake_api_new(loop, NULL);
    pod = object_kept(KIND_POD, OBJECT_KEEP_JSON, "{'metadata':{'name':'p'},'spec':{}}");
    nodes[0] = object_kept(KIND_NODE, OBJECT_KEEP_JSON, "{'metadata':{'name':'a'}}");
    nodes[1] = object_kept(KIND_NODE, OBJECT_KEEP_JSON, "{'metadata':{'name':'b'}}");
    return 0;
}

static void drop_answers(void)
{
    for (size_t i = 0; i < answers.n; i++)
        extender_answer_free(answers.v[i]);
    vec_clear(&answers);
}

static int tear_down(void **state)
{
    (void)state;
    x = extenders_free(x);
    drop_answers();
    vec_release(&answers);
    object_unref(pod);
    object_unref(nodes[0]);
    object_unref(nodes[1]);
    fake_api_free(api);
    loop_free(loop);
    fake_log_end();
    return 0;
}

static void on_answer(void *ctx, struct extender_answer *answer)
{
    (void)ctx;
    vec_push(&answers, answer);
}

/* One extender at a path of the fake server, or at url if set. */
static struct extender_config config_at(const char *path)
{
    static char url[200];
    snprintf(url, sizeof(url), "%s%s", strchr(path, ':') ? "" : fake_api_url(api), path);
    return (struct extender_config){.url_prefix = str_of(url),
                                    .filter_verb = STR("filter"),
                                    .prioritize_verb = STR("prioritize"),
                                    .preempt_verb = STR("preempt"),
                                    .bind_verb = STR("bind"),
                                    .weight = 1};
}

static struct extender_config kept; /* outlives the test */
static bool bindings_wait;

static bool may_bind(void *ctx)
{
    (void)ctx;
    return !bindings_wait;
}

static void begin(const struct extender_config *config, uint64_t max_answer)
{
    kept = *config;
    struct extenders_options options = {
        .configs = &kept, .n = 1, .max_answer = max_answer, .may_bind = may_bind};
    struct err err;
    if (extenders_new(loop, &options, on_answer, NULL, &x, &err) < 0)
        fail_msg("%s", err.msg);
}

static void ask(enum extender_verb verb, uint64_t id)
{
    struct extender_call call = {.id = id,
                                 .verb = verb,
                                 .pod = pod,
                                 .node_names = names,
                                 .nodes = nodes,
                                 .n_nodes = verb == EXTENDER_BIND ? 1 : 2};
    extenders_call(x, &call);
}

static void wait_answers(size_t n)
{
    int64_t end = time_mono() + 20 * NSEC_PER_SEC;
    while (answers.n < n && time_mono() < end)
        loop_step(loop, 100 * NSEC_PER_MSEC);
    assert_int_equal(answers.n, n);
}

static const struct extender_result *only_answer(void)
{
    wait_answers(1);
    return &answers.v[0]->result;
}

static void assert_error(const char *part)
{
    struct str error = only_answer()->error;
    if (str_search(error, str_of(part)) == error.n)
        fail_msg("no %s in: %.*s", part, STR_ARG(error));
}

/* --- pending bindings ------------------------------------------------------------------------- */

static void answer_empty(const char *path)
{
    fake_api_answer(api, &(struct fake_answer){
                             .method = "POST", .path = path, .body = STR("{}"), .forever = true});
}

static void bindings_are_held_until_they_may_be_sent(void **state)
{
    (void)state;
    struct extender_config config = config_at("/v1");
    answer_empty("/v1/bind");
    answer_empty("/v1/filter");
    begin(&config, 0);
    bindings_wait = true;
    ask(EXTENDER_BIND, 1);
    ask(EXTENDER_BIND, 2);
    ask(EXTENDER_FILTER, 3);
    wait_answers(1);
    assert_int_equal(answers.v[0]->id, 3);
    extenders_resume(x);
    for (int i = 0; i < 10; i++)
        loop_step(loop, NSEC_PER_MSEC);
    assert_int_equal(fake_api_count(api), 1);
    bindings_wait = false;
    extenders_resume(x);
    wait_answers(3);
    assert_int_equal(fake_api_count(api), 3);
    /* A binding that is pending at the end is released. */
    bindings_wait = true;
    ask(EXTENDER_BIND, 4);
    for (int i = 0; i < 10; i++)
        loop_step(loop, NSEC_PER_MSEC);
    bindings_wait = false;
    assert_int_equal(fake_api_count(api), 3);
}

/* --- success ---------------------------------------------------------------------------------- */

static void every_verb_has_its_path_and_body(void **state)
{
    (void)state;
    static const struct {
        enum extender_verb verb;
        const char *path, *body, *answer;
    } cases[] = {
        {EXTENDER_FILTER, "/v1/filter", "{'Pod':{'metadata':{'name':'p'}",
         "{'Nodes':{'items':[{'metadata':{'name':'b'}}]}}"},
        {EXTENDER_PRIORITIZE, "/v1/prioritize", "{'Pod':", "[{'Host':'a','Score':2}]"},
        {EXTENDER_BIND, "/v1/bind", "{'PodName':'p'", "{}"},
        {EXTENDER_PREEMPT, "/v1/preempt", "{'Pod':", "{}"},
    };
    struct extender_config config = config_at("/v1//");
    begin(&config, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fake_api_json(api, "POST", cases[i].path, NULL, 200, json_quotes(cases[i].answer));
        ask(cases[i].verb, 7 + i);
        wait_answers(1);
        assert_int_equal(answers.v[0]->id, 7 + i);
        assert_int_equal(answers.v[0]->verb, cases[i].verb);
        assert_int_equal(answers.v[0]->result.error.n, 0);
        const struct fake_request *request = fake_api_request(api, i);
        assert_string_equal(request->path, cases[i].path);
        assert_string_equal(request->content_type, "application/json");
        assert_true(str_starts(str_of(request->body), json_quotes_str(cases[i].body)));
        if (cases[i].verb == EXTENDER_FILTER)
            assert_true(str_is(answers.v[0]->result.kept[0], "b"));
        if (cases[i].verb == EXTENDER_PRIORITIZE)
            assert_int_equal(answers.v[0]->result.scores[0].score, 2);
        drop_answers();
    }
}

static void a_user_in_the_url_is_sent_along(void **state)
{
    (void)state;
    const char *url = textf("http://us:p%%40a@%s/v1", fake_api_url(api) + strlen("http://"));
    struct extender_config config = config_at(url);
    begin(&config, 0);
    fake_api_json(api, "POST", "/v1/filter", NULL, 200, "{}");
    ask(EXTENDER_FILTER, 1);
    assert_int_equal(only_answer()->error.n, 0);
    assert_string_equal(fake_api_request(api, 0)->authorization, "Basic dXM6cEBh");
    /* The password is not sent to others. */
    drop_answers();
    fake_api_answer(api, &(struct fake_answer){.path = "/v1/filter", .manner = FAKE_ABORT});
    ask(EXTENDER_FILTER, 2);
    assert_error("Post \"http://us:***@");
    assert_int_equal(str_search(only_answer()->error, STR("p%40a")), only_answer()->error.n);
}

static void connections_are_kept_and_the_same_bytes_sent_again(void **state)
{
    (void)state;
    struct extender_config config = config_at("");
    struct http_server_stats stats;
    begin(&config, 0);
    for (int i = 0; i < 10; i++) {
        fake_api_json(api, "POST", i % 2 ? "/prioritize" : "/filter", NULL, 200,
                      i % 2 ? "[]" : "{}");
        ask(i % 2 ? EXTENDER_PRIORITIZE : EXTENDER_FILTER, (uint64_t)i + 1);
        wait_answers((size_t)i + 1);
        assert_string_equal(fake_api_request(api, (size_t)i)->body, fake_api_request(api, 0)->body);
    }
    http_server_get_stats(api->server, &stats);
    assert_int_equal(stats.accepted, 1);
    /* Another node in the same slot is another request. */
    object_unref(nodes[1]);
    nodes[1] = object_kept(KIND_NODE, OBJECT_KEEP_JSON, "{'metadata':{'name':'b'},'changed':true}");
    fake_api_json(api, "POST", "/filter", NULL, 200, "{}");
    ask(EXTENDER_FILTER, 99);
    wait_answers(11);
    assert_non_null(strstr(fake_api_request(api, 10)->body, "changed"));
}

static void several_are_asked_at_the_same_time(void **state)
{
    (void)state;
    struct extender_config config = config_at("");
    begin(&config, 0);
    fake_api_answer(api, &(struct fake_answer){.path = "/filter", .manner = FAKE_HANG});
    fake_api_json(api, "POST", "/prioritize", NULL, 200, "[]");
    ask(EXTENDER_FILTER, 1);
    ask(EXTENDER_PRIORITIZE, 2);
    wait_answers(1);
    assert_int_equal(answers.v[0]->id, 2);
    /* The other call ends with the extenders, without a callback. */
}

static void over_tls(void **state)
{
    (void)state;
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct tls_cert_request request = {.names = "extender.test"};
    struct tls_config *tls;
    struct err err;
    assert_int_equal(tls_make_certificate(&request, &cert, &key, &err), 0);
    struct tls_options options = {.cert_pem = buf_str(&cert), .key_pem = buf_str(&key)};
    assert_int_equal(tls_config_new_server(&options, &tls, &err), 0);
    fake_api_free(api);
    api = fake_api_new(loop, tls);
    tls_config_unref(tls);

    struct extender_tls_config trusts = {.ca_data = buf_str(&cert),
                                         .server_name = STR("extender.test")};
    struct extender_tls_config careless = {.insecure = true};
    struct {
        bool https;
        struct extender_tls_config *tls;
        const char *error;
    } cases[] = {
        {true, &trusts, NULL},
        {true, NULL, NULL}, /* no CA: the server's certificate is not verified */
        {false, &careless, NULL},
        {false, NULL, "certificate"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct extender_config config = config_at("");
        config.enable_https = cases[i].https;
        config.tls_config = cases[i].tls;
        begin(&config, 0);
        fake_api_json(api, "POST", "/filter", NULL, 200, "{}");
        ask(EXTENDER_FILTER, 1);
        if (cases[i].error)
            assert_error(cases[i].error);
        else
            assert_int_equal(only_answer()->error.n, 0);
        drop_answers();
        x = extenders_free(x);
    }
    buf_release(&cert);
    buf_release(&key);
}

/* --- failure ---------------------------------------------------------------------------------- */

static void a_status_other_than_200_is_an_error(void **state)
{
    (void)state;
    static const int statuses[] = {201, 204, 302, 404, 500, 503};
    struct extender_config config = config_at("/x");
    begin(&config, 0);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        char want[200];
        fake_api_json(api, "POST", "/x/filter", NULL, statuses[i], statuses[i] == 204 ? "" : "{}");
        ask(EXTENDER_FILTER, 1);
        wait_answers(1);
        snprintf(want, sizeof(want), "failed filter with extender at URL %s/x/filter, code %d",
                 fake_api_url(api), statuses[i]);
        assert_true(str_is(answers.v[0]->result.error, want));
        drop_answers();
    }
}

static void rubbish_is_an_error(void **state)
{
    (void)state;
    struct extender_config config = config_at("");
    begin(&config, 0);
    fake_api_json(api, "POST", "/filter", NULL, 200, "<html>");
    ask(EXTENDER_FILTER, 1);
    assert_error("/filter, invalid response: line 1, column 1");
}

static void who_is_not_there_or_goes_away_is_told(void **state)
{
    (void)state;
    struct extender_config config = config_at("http://127.0.0.1:1");
    begin(&config, 0);
    ask(EXTENDER_FILTER, 1);
    assert_error("Post \"http://127.0.0.1:1/filter\": ");
    drop_answers();
    extenders_free(x);
    config = config_at("");
    begin(&config, 0);
    fake_api_answer(api, &(struct fake_answer){.path = "/filter", .manner = FAKE_ABORT});
    ask(EXTENDER_FILTER, 2);
    assert_error("/filter\": ");
}

static void who_is_slow_is_not_waited_for(void **state)
{
    (void)state;
    struct extender_config config = config_at("");
    config.http_timeout = 50 * NSEC_PER_MSEC;
    begin(&config, 0);
    fake_api_answer(api, &(struct fake_answer){.path = "/filter", .manner = FAKE_HANG});
    ask(EXTENDER_FILTER, 1);
    assert_error("timed out waiting for a response");
}

/* A self-signed server replaces the plain one. */
static void serve_tls(void)
{
    struct tls_config *tls;
    struct err err;
    assert_int_equal(tls_config_new_server(&(struct tls_options){0}, &tls, &err), 0);
    fake_api_free(api);
    api = fake_api_new(loop, tls);
    tls_config_unref(tls);
}

/* The timeout expires while the request is being sent, by HTTP/1.1 and by HTTP/2. */
static void a_large_request_ends_in_the_middle(void **state)
{
    (void)state;
    struct buf json = BUF_INIT;
    buf_add_jsonf(&json, "{'x':'%*s'}", 6 << 20, "");
    object_unref(nodes[0]);
    nodes[0] = object_kept(KIND_NODE, OBJECT_KEEP_JSON, buf_cstr(&json));
    buf_release(&json);
    for (int tls = 0; tls < 2; tls++) {
        if (tls)
            serve_tls();
        struct extender_config config = config_at("");
        config.enable_https = tls;
        fake_api_answer(
            api, &(struct fake_answer){.path = "/filter", .body = STR("{}"), .forever = true});
        for (int i = 0; i < 12; i++) {
            config.http_timeout = NSEC_PER_MSEC << (11 - i);
            begin(&config, 0);
            ask(EXTENDER_FILTER, 1);
            ask(EXTENDER_PRIORITIZE, 2);
            wait_answers(2);
            drop_answers();
            x = extenders_free(x);
        }
    }
}

static void too_many_bytes_are_not_read(void **state)
{
    (void)state;
    struct extender_config config = config_at("");
    begin(&config, 100);
    fake_api_json(
        api, "POST", "/filter", NULL, 200,
        json_quotes("{'Error':'0123456789012345678901234567890123456789012345678901234567890123456"
                    "789012345678901234567890123456789'}"));
    ask(EXTENDER_FILTER, 1);
    assert_error("100 bytes");
}

static void a_url_that_is_none_fails_every_call(void **state)
{
    (void)state;
    static const char *const urls[] = {":nonsense", "ftp://h:2/", "http://"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct extender_config config = config_at(urls[i]);
        begin(&config, 0);
        ask(EXTENDER_BIND, 1);
        assert_error("Post \"");
        drop_answers();
        x = extenders_free(x);
    }
}

static void what_cannot_be_read_keeps_it_from_starting(void **state)
{
    (void)state;
    struct extender_tls_config both = {.insecure = true, .ca_data = STR("x")};
    struct extender_tls_config missing = {.ca_file = STR("/nowhere/ca.crt")};
    struct extender_tls_config broken = {.cert_data = STR("x"), .key_data = STR("y")};
    static const char *const want[] = {"insecure flag", "/nowhere/ca.crt", "couldn't build"};
    struct extender_tls_config *cases[] = {&both, &missing, &broken};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct extender_config config = config_at("");
        config.tls_config = cases[i];
        struct extenders_options options = {.configs = &config, .n = 1};
        struct err err = {0};
        assert_true(extenders_new(loop, &options, on_answer, NULL, &x, &err) < 0);
        if (!strstr(err.msg, want[i]))
            fail_msg("%s", err.msg);
    }
}

static void only_what_is_sent_is_kept(void **state)
{
    (void)state;
    struct extender_config config = config_at("");
    begin(&config, 0);
    assert_true(extenders_object_flags(x, KIND_NODE) & OBJECT_KEEP_JSON);
    assert_true(extenders_object_flags(x, KIND_POD) & OBJECT_KEEP_JSON);
    assert_int_equal(extenders_object_flags(x, KIND_SERVICE), 0);
    extenders_free(x);
    config.node_cache_capable = true;
    begin(&config, 0);
    assert_int_equal(extenders_object_flags(x, KIND_NODE), 0);
    assert_true(extenders_object_flags(x, KIND_POD) & OBJECT_KEEP_JSON);
    extenders_free(x);
    config = (struct extender_config){.url_prefix = config.url_prefix, .bind_verb = STR("bind")};
    begin(&config, 0);
    assert_int_equal(extenders_object_flags(x, KIND_POD), 0);
    assert_true(extenders_specs(x)[0].binds);
    assert_false(extenders_specs(x)[0].filters);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(bindings_are_held_until_they_may_be_sent),
        T(every_verb_has_its_path_and_body),
        T(a_user_in_the_url_is_sent_along),
        T(connections_are_kept_and_the_same_bytes_sent_again),
        T(several_are_asked_at_the_same_time),
        T(over_tls),
        T(a_status_other_than_200_is_an_error),
        T(rubbish_is_an_error),
        T(who_is_not_there_or_goes_away_is_told),
        T(who_is_slow_is_not_waited_for),
        T(a_large_request_ends_in_the_middle),
        T(too_many_bytes_are_not_read),
        T(a_url_that_is_none_fails_every_call),
        T(what_cannot_be_read_keeps_it_from_starting),
        T(only_what_is_sent_is_kept),
    };
    return cmocka_run_group_tests_name("extender_client", tests, NULL, NULL);
}
