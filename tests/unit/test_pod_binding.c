/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "live/pod_binding.h"
#include "objects.h"

#define POD_PATH "/api/v1/namespaces/ns/pods/p"
#define BINDING  POD_PATH "/binding"

static struct fake_kube k;
static struct pod_binding *binding;
static int done, code, status;

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    binding = NULL;
    done = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pod_binding_cancel(binding);
    assert_int_equal(fake_api_unexpected(k.api), 0);
    fake_kube_end(&k);
    return 0;
}

static void on_done(void *ctx, const struct rest_result *result)
{
    assert_ptr_equal(ctx, &k);
    binding = NULL;
    done++;
    code = result->code;
    status = result->status;
}

static bool is_done(void *ctx)
{
    (void)ctx;
    return done > 0;
}

static void bind_and_wait(void)
{
    struct object_meta pod = {
        .namespace = STR_INIT("ns"), .name = STR_INIT("p"), .uid = STR_INIT("u")};

    binding = pod_binding_start(k.client, &pod, STR("n1"), on_done, &k);
    assert_true(fake_run_until(k.loop, is_done, NULL));
    assert_int_equal(done, 1);
}

static void pod_is(const char *uid, const char *node)
{
    struct str pod = arena_jsonf(&k.arena,
                                 "{'kind':'Pod','apiVersion':'v1','metadata':{"
                                 "'name':'p','uid':'%s'},'spec':{'nodeName':'%s'}}",
                                 uid, node);

    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, pod.p);
}

static void answer_is_lost(void)
{
    fake_api_answer(k.api, &(struct fake_answer){.path = BINDING, .manner = FAKE_ABORT});
}

static void test_a_clear_answer_needs_no_question(void **state)
{
    (void)state;
    fake_api_json(k.api, "POST", BINDING, NULL, 201,
                  json_quotes("{'kind':'Status','apiVersion':'v1'}"));
    bind_and_wait();
    assert_int_equal(code, 0);
    assert_int_equal(fake_api_count(k.api), 1);
}

static void test_a_refusal_needs_no_question(void **state)
{
    (void)state;
    fake_api_json(k.api, "POST", BINDING, NULL, 403,
                  json_quotes("{'kind':'Status','apiVersion':'v1'}"));
    bind_and_wait();
    assert_true(code < 0);
    assert_int_equal(status, 403);
    assert_int_equal(fake_api_count(k.api), 1);
}

static void test_a_lost_answer_of_a_binding_that_was_written_is_a_success(void **state)
{
    (void)state;
    answer_is_lost();
    pod_is("u", "n1");
    bind_and_wait();
    assert_int_equal(code, 0);
    assert_int_equal(status, 201);
}

static void test_a_lost_answer_of_a_binding_that_was_not_written_is_a_failure(void **state)
{
    (void)state;
    answer_is_lost();
    pod_is("u", "");
    bind_and_wait();
    assert_true(code < 0);
    assert_int_equal(status, 0);
}

static void test_it_goes_on_asking_until_the_server_tells(void **state)
{
    (void)state;
    fake_api_json(k.api, "POST", BINDING, NULL, 500, "");
    /* A denial while roles are not loaded yet, and an invalid answer. */
    fake_api_json(k.api, "GET", POD_PATH, NULL, 403,
                  json_quotes("{'kind':'Status','apiVersion':'v1'}"));
    fake_api_json(k.api, "GET", POD_PATH, NULL, 200, "{");
    pod_is("u", "n1");
    bind_and_wait();
    assert_int_equal(code, 0);
    assert_int_equal(fake_api_count(k.api), 4);
}

static void test_a_question_that_stays_forbidden_ends(void **state)
{
    (void)state;
    fake_api_json(k.api, "POST", BINDING, NULL, 500, "");
    for (int i = 0; i < 10; i++)
        fake_api_json(k.api, "GET", POD_PATH, NULL, 403,
                      json_quotes("{'kind':'Status','apiVersion':'v1'}"));
    bind_and_wait();
    assert_true(code < 0);
    assert_int_equal(status, 500);
    assert_int_equal(fake_api_count(k.api), 11);
}

static void test_a_conflict_on_another_node_stays_a_conflict(void **state)
{
    (void)state;
    fake_api_json(k.api, "POST", BINDING, NULL, 409,
                  json_quotes("{'kind':'Status','apiVersion':'v1','reason':'Conflict'}"));
    pod_is("u", "n2");
    bind_and_wait();
    assert_int_equal(code, -EBUSY);
    assert_int_equal(status, 409);
}

static void test_another_pod_of_the_same_name_is_no_success(void **state)
{
    (void)state;
    answer_is_lost();
    pod_is("v", "n1");
    bind_and_wait();
    assert_true(code < 0);
}

static void test_a_pod_that_is_gone_is_not_found(void **state)
{
    (void)state;
    answer_is_lost();
    fake_api_json(k.api, "GET", POD_PATH, NULL, 404,
                  json_quotes("{'kind':'Status','apiVersion':'v1'}"));
    bind_and_wait();
    assert_int_equal(code, -ENOENT);
    assert_int_equal(status, 404);
}

static void test_cancelled_while_it_asks_it_says_nothing(void **state)
{
    struct object_meta pod = {
        .namespace = STR_INIT("ns"), .name = STR_INIT("p"), .uid = STR_INIT("u")};

    (void)state;
    fake_kube_end(&k);
    fake_kube_begin(&k, &(struct rest_options){.retry_unit = 3600 * NSEC_PER_SEC});
    answer_is_lost();
    binding = pod_binding_start(k.client, &pod, STR("n1"), on_done, &k);
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, 10 * NSEC_PER_MSEC);
    binding = pod_binding_cancel(binding);
    assert_null(binding);
    assert_int_equal(done, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_clear_answer_needs_no_question),
        TEST(test_a_refusal_needs_no_question),
        TEST(test_a_lost_answer_of_a_binding_that_was_written_is_a_success),
        TEST(test_a_lost_answer_of_a_binding_that_was_not_written_is_a_failure),
        TEST(test_it_goes_on_asking_until_the_server_tells),
        TEST(test_a_question_that_stays_forbidden_ends),
        TEST(test_a_conflict_on_another_node_stays_a_conflict),
        TEST(test_another_pod_of_the_same_name_is_no_success),
        TEST(test_a_pod_that_is_gone_is_not_found),
        TEST(test_cancelled_while_it_asks_it_says_nothing),
    };

    return cmocka_run_group_tests_name("pod_binding", tests, NULL, NULL);
}
