/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/authorization.h"
#include "codec/json_value.h"
#include "fake_kube.h"
#include "objects.h"
#include "serve/authz.h"
#include "serve/reviews.h"

static struct fake_kube k;
static struct authz *authz;
static int64_t review_timeout; /* 0: the default */

static const struct str open_paths[] = {STR_INIT("/healthz"), STR_INIT("readyz"),
                                        STR_INIT("/open/*")};
static const struct str masters[] = {STR_INIT("system:masters")};

static void make(bool asks, int64_t ttl)
{
    struct authz_options options = {
        .kube = asks ? &k.config : NULL,
        .always_allow_paths = open_paths,
        .n_always_allow_paths = ARRAY_LEN(open_paths),
        .always_allow_groups = masters,
        .n_always_allow_groups = ARRAY_LEN(masters),
        .authorized_ttl = ttl,
        .unauthorized_ttl = ttl,
        .timeout = review_timeout,
    };
    struct err err;
    assert_int_equal(authz_new(k.loop, &options, &authz, &err), 0);
}

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    authz = authz_free(authz);
    fake_kube_end(&k);
    return 0;
}

struct verdict {
    int told;
    enum authz_verdict verdict;
    char why[256];
};

static void on_verdict(void *ctx, enum authz_verdict verdict, struct str why)
{
    struct verdict *v = ctx;
    v->told++;
    v->verdict = verdict;
    snprintf(v->why, sizeof(v->why), "%.*s", STR_ARG(why));
}

static bool is_told(void *ctx)
{
    return ((struct verdict *)ctx)->told > 0;
}

static struct str jane_groups[] = {STR_INIT("developers"), STR_INIT("system:authenticated")};
static const struct user_info jane = {.username = STR_INIT("jane"),
                                      .uid = STR_INIT("u1"),
                                      .groups = {jane_groups, 2},
                                      .extra = STR_INIT("{\"a\":[\"b\"]}")};

static struct authz_call *check(const struct user_info *user, const char *from, const char *path,
                                struct verdict *v)
{
    struct authz_request request = {
        .user = user, .from = str_of(from), .verb = STR("get"), .path = str_of(path)};
    return authz_check(authz, &request, on_verdict, v);
}

static struct verdict ask(const struct user_info *user, const char *path)
{
    struct verdict v = {0};
    struct authz_call *call = check(user, "10.0.0.1", path, &v);
    assert_int_equal(call == NULL, v.told == 1);
    assert_true(fake_run_until(k.loop, is_told, &v));
    assert_int_equal(v.told, 1);
    return v;
}

static void answer(const char *status, bool forever)
{
    struct fake_answer a = {.method = "POST",
                            .path = SUBJECT_ACCESS_REVIEWS_PATH,
                            .status = 201,
                            .body = arena_jsonf(&k.arena,
                                                "{'kind':'SubjectAccessReview',"
                                                "'status':%s}",
                                                status),
                            .forever = forever};
    fake_api_answer(k.api, &a);
}

static void test_open_paths(void **state)
{
    (void)state;
    make(false, 0);
    static const struct {
        const char *path;
        bool open;
    } rows[] = {
        {"/healthz", true},  {"/readyz", true},    {"/open/", true},
        {"/open/a/b", true}, {"/healthz/", false}, {"/healthz/ping", false},
        {"/open", false},    {"/", false},         {"/metrics", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(ask(&jane, rows[i].path).verdict,
                         rows[i].open ? AUTHZ_ALLOWED : AUTHZ_FORBIDDEN);
    assert_int_equal(fake_api_count(k.api), 0);
}

static void test_stars_elsewhere(void **state)
{
    (void)state;
    struct str bad = STR("/a*/b");
    struct authz_options options = {.always_allow_paths = &bad, .n_always_allow_paths = 1};
    struct err err;
    assert_int_equal(authz_new(k.loop, &options, &authz, &err), -EINVAL);
    assert_string_equal(err.msg, "only trailing * allowed in \"a*/b\"");
    authz = NULL;
}

static void test_masters(void **state)
{
    (void)state;
    make(true, 0);
    struct str group = STR("system:masters");
    struct user_info admin = {.username = STR("admin"), .groups = {&group, 1}};
    assert_int_equal(ask(&admin, "/metrics").verdict, AUTHZ_ALLOWED);
    assert_int_equal(fake_api_count(k.api), 0);
}

static void test_what_is_asked(void **state)
{
    (void)state;
    make(true, 0);
    answer("{'allowed':true}", false);
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_ALLOWED);
    struct json_value got, want;
    struct err err;
    const struct fake_request *request = fake_api_request(k.api, 0);
    assert_string_equal(request->content_type, "application/json");
    assert_int_equal(json_parse(str_of(request->body), 0, &k.arena, &got, &err), 0);
    assert_int_equal(
        json_parse(json_quotes_str("{'kind':'SubjectAccessReview','apiVersion':"
                                   "'authorization.k8s.io/v1','metadata':{},'spec':{"
                                   "'nonResourceAttributes':{'path':'/metrics','verb':'get'},"
                                   "'user':'jane','groups':['developers','system:authenticated'],"
                                   "'extra':{'a':['b']},'uid':'u1'}}"),
                   0, &k.arena, &want, &err),
        0);
    assert_true(json_value_equal(&got, &want));
}

static void test_answers(void **state)
{
    (void)state;
    make(true, 0);
    answer("{'allowed':false,'reason':'not today'}", false);
    struct verdict v = ask(&jane, "/metrics");
    assert_int_equal(v.verdict, AUTHZ_FORBIDDEN);
    assert_string_equal(v.why, "not today");
    answer("{'allowed':false,'denied':true}", false);
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_DENIED);
    answer("{'allowed':true,'denied':true}", false);
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_FAILED);
    answer("7", false);
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_FAILED);
    fake_api_answer(k.api, &(struct fake_answer){.method = "POST",
                                                 .path = SUBJECT_ACCESS_REVIEWS_PATH,
                                                 .status = 403,
                                                 .body = fake_status(&k, 403, "Forbidden", "no")});
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_FAILED);
}

static void test_cache(void **state)
{
    (void)state;
    make(true, 50 * NSEC_PER_MSEC);
    answer("{'allowed':true}", true);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_ALLOWED);
    assert_int_equal(fake_api_count(k.api), 1);
    assert_int_equal(ask(&jane, "/configz").verdict, AUTHZ_ALLOWED);
    struct user_info joe = jane;
    joe.username = STR("joe");
    assert_int_equal(ask(&joe, "/metrics").verdict, AUTHZ_ALLOWED);
    assert_int_equal(fake_api_count(k.api), 3);
    int64_t end = time_mono() + 60 * NSEC_PER_MSEC;
    while (time_mono() < end)
        loop_step(k.loop, 10 * NSEC_PER_MSEC);
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_ALLOWED);
    assert_int_equal(fake_api_count(k.api), 4);
}

/* --- many requests ---------------------------------------------------------------------------- */

static struct str nobody_group = STR_INIT(GROUP_UNAUTHENTICATED);
static const struct user_info nobody = {.username = STR_INIT(USER_ANONYMOUS),
                                        .groups = {&nobody_group, 1}};

static void hang(void)
{
    fake_api_answer(k.api, &(struct fake_answer){.path = SUBJECT_ACCESS_REVIEWS_PATH,
                                                 .manner = FAKE_HANG,
                                                 .forever = true});
}

/* Requests n different paths; pending ones are in calls, the others were answered. */
static size_t ask_many(const struct user_info *user, const char *from, size_t n, struct verdict *v,
                       struct authz_call **calls)
{
    size_t waiting = 0;
    for (size_t i = 0; i < n; i++) {
        struct str path = arena_printf(&k.arena, "/%s/%zu", from, i);
        calls[waiting] = check(user, from, path.p, v);
        waiting += calls[waiting] != NULL;
    }
    return waiting;
}

static void turn(int n)
{
    for (int i = 0; i < n; i++)
        loop_step(k.loop, NSEC_PER_MSEC);
}

/* The number of concurrent reviews is limited; requests above the limit fail at once. */
static void test_busy_and_cancel(void **state)
{
    (void)state;
    make(true, NSEC_PER_SEC);
    hang();
    struct verdict v = {0};
    struct authz_call *calls[300];
    size_t n = ask_many(&jane, "a", ARRAY_LEN(calls), &v, calls);
    assert_int_equal(n, REVIEWS_SENT_MAX + REVIEWS_WAITING_MAX);
    assert_int_equal(v.told, ARRAY_LEN(calls) - n);
    assert_int_equal(v.verdict, AUTHZ_BUSY);
    turn(5);
    for (size_t i = 0; i < 150; i++)
        authz_cancel(calls[i]);
    assert_int_equal(v.told, ARRAY_LEN(calls) - n);
}

/* Cancelled requests do not delay others: their reviews are not sent. */
static void test_cancelled_reviews_take_no_turn(void **state)
{
    (void)state;
    k.config.qps = 200;
    k.config.burst = 400;
    make(true, NSEC_PER_SEC);
    answer("{'allowed':true}", true);
    struct verdict gone = {0};
    struct authz_call *calls[100];
    for (int i = 0; i < 200; i++) {
        size_t n = ask_many(&nobody, "10.1.1.1", ARRAY_LEN(calls), &gone, calls);
        while (n)
            authz_cancel(calls[--n]);
    }
    assert_int_equal(gone.told, 0);
    int64_t before = time_mono();
    assert_int_equal(ask(&jane, "/metrics").verdict, AUTHZ_ALLOWED);
    /* 20,000 requests; at 200 a second they would take a hundred seconds. */
    assert_true(time_mono() - before < 20 * NSEC_PER_SEC);
    assert_true(fake_api_count(k.api) <= REVIEWS_SENT_MAX + 1);
}

/* Anonymous requests leave room for users, one user leaves room for another, and so do
 * addresses. */
static void test_turns(void **state)
{
    (void)state;
    make(true, NSEC_PER_SEC);
    hang();
    struct verdict strangers = {0}, users = {0};
    struct authz_call *calls[400];
    for (int i = 0; i < 8; i++) {
        const char *from = textf("10.0.0.%d", i);
        (void)ask_many(&nobody, from, 100, &strangers, calls);
    }
    assert_int_equal(strangers.told, 800 - REVIEWS_ANONYMOUS_MAX);
    assert_int_equal(strangers.verdict, AUTHZ_BUSY);
    /* Half of the limit is reserved for users. */
    size_t half = REVIEWS_SENT_MAX / 2;
    assert_int_equal(ask_many(&jane, "b", 400, &users, calls), half + REVIEWS_WAITING_MAX);
    assert_int_equal(users.verdict, AUTHZ_BUSY);
    struct user_info joe = jane;
    joe.username = STR("joe");
    assert_int_equal(ask_many(&joe, "c", 10, &users, calls), 10);
}

/* Equal concurrent requests share one review. */
static void test_same_question(void **state)
{
    (void)state;
    make(true, 0);
    answer("{'allowed':true}", true);
    struct verdict v = {0};
    for (int i = 0; i < 20; i++)
        assert_non_null(check(&jane, "a", "/metrics", &v));
    struct authz_call *one = check(&jane, "b", "/metrics", &v);
    authz_cancel(one);
    while (v.told < 20)
        loop_step(k.loop, 10 * NSEC_PER_MSEC);
    turn(3);
    assert_int_equal(v.told, 20);
    assert_int_equal(v.verdict, AUTHZ_ALLOWED);
    assert_int_equal(fake_api_count(k.api), 1);
}

/* A request that is not served in time gets an error. */
static void test_late(void **state)
{
    (void)state;
    review_timeout = 100 * NSEC_PER_MSEC;
    make(true, NSEC_PER_SEC);
    review_timeout = 0;
    hang();
    struct verdict v = {0}, last = {0};
    struct authz_call *calls[REVIEWS_SENT_MAX];
    assert_int_equal(ask_many(&jane, "a", ARRAY_LEN(calls), &v, calls), ARRAY_LEN(calls));
    turn(3);
    assert_non_null(check(&jane, "a", "/late", &last));
    assert_true(fake_run_until(k.loop, is_told, &last));
    assert_true(last.verdict == AUTHZ_BUSY || last.verdict == AUTHZ_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stars_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_masters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_busy_and_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancelled_reviews_take_no_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_question, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
