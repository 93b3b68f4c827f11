/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "live/pod_writes.h"
#include "objects.h"

static struct pod_condition conditions[2];
static struct pod pod;
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    conditions[0] = (struct pod_condition){.type = STR_INIT("Ready"), .status = STR_INIT("False")};
    conditions[1] = (struct pod_condition){.type = STR_INIT("PodScheduled"),
                                           .status = STR_INIT("False"),
                                           .reason = STR_INIT("Unschedulable"),
                                           .message = STR_INIT("no room")};
    pod = (struct pod){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&out);
    return 0;
}

static const char *patch(const struct pod_condition *condition, const char *node)
{
    struct str name = str_of(node);
    struct pod_status_change change = {
        .pod = &pod, .condition = condition, .nominated_node_name = node ? &name : NULL};

    buf_clear(&out);
    return pod_status_patch(&change, timestamp_of(1700000000 * NSEC_PER_SEC + 5), &out)
               ? buf_cstr(&out)
               : NULL;
}

static void test_a_new_condition_is_written_whole(void **state)
{
    struct pod_condition c = conditions[1];

    (void)state;
    c.observed_generation = 3;
    assert_string_equal(
        patch(&c, NULL),
        json_quotes("{'status':{'$setElementOrder/conditions':[{'type':'PodScheduled'}],"
                    "'conditions':[{'lastProbeTime':null,"
                    "'lastTransitionTime':'2023-11-14T22:13:20Z','message':'no room',"
                    "'observedGeneration':3,'reason':'Unschedulable','status':'False',"
                    "'type':'PodScheduled'}]}}"));
}

static void test_only_what_differs_is_written(void **state)
{
    struct pod_condition c = conditions[1];

    (void)state;
    pod.status.conditions.v = conditions;
    pod.status.conditions.n = 2;
    assert_null(patch(&c, NULL));
    c.message = STR("still no \"room\"");
    assert_string_equal(patch(&c, NULL),
                        json_quotes("{'status':{'$setElementOrder/conditions':[{'type':'Ready'},"
                                    "{'type':'PodScheduled'}],'conditions':[{'message':"
                                    "'still no `room`','type':'PodScheduled'}]}}"));
    c.status = STR("True");
    c.message = c.reason = STR("");
    assert_string_equal(
        patch(&c, NULL),
        json_quotes("{'status':{'$setElementOrder/conditions':[{'type':'Ready'},"
                    "{'type':'PodScheduled'}],'conditions':["
                    "{'lastTransitionTime':'2023-11-14T22:13:20Z','message':null,'reason':null,"
                    "'status':'True','type':'PodScheduled'}]}}"));
}

static void test_nominated_node_name(void **state)
{
    (void)state;
    assert_null(patch(NULL, NULL));
    assert_null(patch(NULL, ""));
    assert_string_equal(patch(NULL, "n1"), json_quotes("{'status':{'nominatedNodeName':'n1'}}"));
    pod.status.nominated_node_name = STR("n1");
    assert_null(patch(NULL, "n1"));
    assert_string_equal(patch(NULL, ""), json_quotes("{'status':{'nominatedNodeName':null}}"));
}

/* --- writing ---------------------------------------------------------------------------------- */

struct outcome {
    bool told;
    int code, status;
};

static void on_done(void *ctx, const struct rest_result *result)
{
    struct outcome *o = ctx;

    o->told = true;
    o->code = result->code;
    o->status = result->status;
}

static bool is_told(void *ctx)
{
    return ((struct outcome *)ctx)->told;
}

#define STATUS "/api/v1/namespaces/ns/pods/a/status"

static struct outcome write_status(struct fake_kube *k, const char *node)
{
    struct str name = str_of(node);
    struct pod_status_change change = {.pod = &pod, .nominated_node_name = &name};
    struct outcome o = {0};

    pod.metadata.namespace = STR("ns");
    pod.metadata.name = STR("a");
    pod_status_write(k->client, &change, on_done, &o);
    assert_false(o.told);
    assert_true(fake_run_until(k->loop, is_told, &o));
    return o;
}

static void test_writes_are_retried_four_times_in_all(void **state)
{
    struct fake_kube k;
    struct outcome o;

    (void)state;
    fake_kube_begin(&k, NULL);
    fake_api_json(k.api, "PATCH", STATUS, NULL, 409, fake_status(&k, 409, "Conflict", "x").p);
    fake_api_json(k.api, "PATCH", STATUS, NULL, 500, fake_status(&k, 500, "InternalError", "x").p);
    fake_api_json(k.api, "PATCH", STATUS, NULL, 200, "{}");
    o = write_status(&k, "n1");
    assert_int_equal(o.code, 0);
    assert_int_equal(fake_api_count(k.api), 3);
    assert_string_equal(fake_api_request(k.api, 2)->body,
                        json_quotes("{'status':{'nominatedNodeName':'n1'}}"));
    /* Permanent errors are not retried. */
    fake_api_json(k.api, "PATCH", STATUS, NULL, 404, fake_status(&k, 404, "NotFound", "x").p);
    o = write_status(&k, "n1");
    assert_int_equal(o.code, -ENOENT);
    assert_int_equal(fake_api_count(k.api), 4);
    for (int i = 0; i < 5; i++)
        fake_api_json(k.api, "PATCH", STATUS, NULL, 503,
                      fake_status(&k, 503, "ServiceUnavailable", "x").p);
    o = write_status(&k, "n1");
    assert_int_equal(o.status, 503);
    assert_int_equal(fake_api_count(k.api), 8);
    /* No change: no request. */
    o = write_status(&k, "");
    assert_int_equal(o.code, 0);
    assert_int_equal(fake_api_count(k.api), 8);
    fake_kube_end(&k);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_new_condition_is_written_whole),
        TEST(test_only_what_differs_is_written),
        TEST(test_nominated_node_name),
        TEST(test_writes_are_retried_four_times_in_all),
    };

    return cmocka_run_group_tests_name("kube_pod_writes", tests, NULL, NULL);
}
