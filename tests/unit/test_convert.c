/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that several resources share. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/types/convert.h"
#include "objects.h"

struct fixture {
    struct resources *rs;
    struct arena a;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->rs = resources_new();
    arena_init(&f->a, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    resources_free(f->rs);
    arena_release(&f->a);
    free(f);
    return 0;
}

static struct json_value parse(struct fixture *f, const char *json)
{
    struct json_value v;
    struct err err;
    assert_int_equal(json_parse(json_quotes_str(json), JSON_STRICT, &f->a, &v, &err), 0);
    return v;
}

/* Converts there and back. */
static void check(struct fixture *f, const struct resource *from, const struct resource *to,
                  const char *json, const char *expected)
{
    struct json_value in = parse(f, json), want = parse(f, expected), untouched = parse(f, json);
    struct json_value got = convert_object(from, to, &in, &f->a);
    struct buf text = BUF_INIT;
    json_write(&got, &text);
    if (!json_value_equal(&got, &want))
        fail_msg("%.*s", STR_ARG(buf_str(&text)));
    assert_true(json_value_equal(&in, &untouched));
    struct json_value back = convert_object(to, from, &got, &f->a);
    buf_clear(&text);
    json_write(&back, &text);
    if (!json_value_equal(&back, &in))
        fail_msg("back: %.*s", STR_ARG(buf_str(&text)));
    buf_release(&text);
}

static void events_of_both_groups(void **state)
{
    struct fixture *f = *state;
    check(
        f, resources_named(f->rs, STR(""), STR("events")),
        resources_named(f->rs, STR("events.k8s.io"), STR("events")),
        "{'apiVersion':'v1','kind':'Event','metadata':{'name':'e'},'involvedObject':{'kind':'Pod'},"
        "'message':'m','source':{'component':'c'},'count':2,'firstTimestamp':null,"
        "'lastTimestamp':null,'type':'Normal','reason':'r','reportingComponent':'x',"
        "'reportingInstance':'i','eventTime':null,'action':'Binding'}",
        "{'apiVersion':'events.k8s.io/v1','kind':'Event','metadata':{'name':'e'},"
        "'regarding':{'kind':'Pod'},'note':'m','deprecatedSource':{'component':'c'},"
        "'deprecatedCount':2,'deprecatedFirstTimestamp':null,'deprecatedLastTimestamp':null,"
        "'type':'Normal','reason':'r','reportingController':'x','reportingInstance':'i',"
        "'eventTime':null,'action':'Binding'}");
}

static void autoscalers_of_both_versions(void **state)
{
    struct fixture *f = *state;
    const struct resource *v2 =
        resources_named(f->rs, STR("autoscaling"), STR("horizontalpodautoscalers"));
    const struct resource *v1 = resources_find(f->rs, v2->group, STR("v1"), v2->plural);
    check(f, v1, v2,
          "{'apiVersion':'autoscaling/v1','kind':'HorizontalPodAutoscaler','metadata':{'name':'a'},"
          "'spec':{'maxReplicas':3,'targetCPUUtilizationPercentage':50},'status':{}}",
          "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'a'},"
          "'spec':{'maxReplicas':3,'metrics':[{'type':'Resource','resource':{'name':'cpu','target':"
          "{'type':'Utilization','averageUtilization':50}}}]},'status':{}}");
    check(
        f, v2, v1,
        "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'a'},"
        "'spec':{'maxReplicas':3,'metrics':[{'type':'Pods','pods':{}}],'behavior':{'scaleUp':{}}},"
        "'status':{'conditions':[{'type':'x'}]}}",
        "{'apiVersion':'autoscaling/v1','kind':'HorizontalPodAutoscaler','metadata':{'name':'a',"
        "'annotations':{'autoscaling.alpha.kubernetes.io/metrics':"
        "'[{`type`:`Pods`,`pods`:{}}]',"
        "'autoscaling.alpha.kubernetes.io/behavior':'{`scaleUp`:{}}',"
        "'autoscaling.alpha.kubernetes.io/conditions':'[{`type`:`x`}]'}},"
        "'spec':{'maxReplicas':3},'status':{}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_of_both_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(autoscalers_of_both_versions, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
