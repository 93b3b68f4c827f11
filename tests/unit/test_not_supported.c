/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicResources: pods that need it are unschedulable, with a clear reason. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine_fixture.h"

#define DISABLE(p)                                                                              \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: " \
    "[{plugins: {multiPoint: {disabled: [{name: " p "}]}}}]}"

static const struct {
    const char *plugin, *spec, *message; /* NULL: the pod is placed */
} cases[] = {
    {"VolumeBinding",
     "'volumes':[{'name':'e','emptyDir':{}},{'name':'c','configMap':{'name':"
     "'x'}}]",
     NULL},
    {"DynamicResources", "'resourceClaims':[{'name':'gpu','resourceClaimTemplateName':'t'}]",
     "0/1 nodes are available: berth does not support resource claims yet: pod has resource claim "
     "\"gpu\". preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
    {"DynamicResources",
     "'initContainers':[{'name':'i'}],'containers':[{'name':'c','resources':"
     "{'requests':{'deviceclass.resource.kubernetes.io/gpu':'1'}}}]",
     "0/1 nodes are available: berth does not support resource claims yet: pod requests "
     "\"deviceclass.resource.kubernetes.io/gpu\". preemption: 0/1 nodes are available: 1 "
     "Preemption is not helpful for scheduling."},
};

static void play(struct fixture *f, const char *config, const char *spec)
{
    fixture_init(f, config, NULL);
    ADD_NODE(f, .cpu = "4", .memory = "4Gi", .pods = "10");
    ADD_POD(f, .spec = spec);
    fixture_settle(f);
}

static void pods_that_need_them_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        play(&f, NULL, cases[i].spec);
        const char *placed = fixture_node_of(&f, "p");
        assert_string_equal(placed ? placed : "", cases[i].message ? "" : "n");
        if (cases[i].message) {
            assert_string_equal(fixture_last(&f, WRITE_EVENT, "p")->message, cases[i].message);
            assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->message, cases[i].message);
        }
        fixture_release(&f);
    }
}

/* As upstream: a disabled plugin checks nothing. */
static void a_disabled_plugin_does_not_reject_these_pods(void **state)
{
    (void)state;
    struct fixture f;
    play(&f, DISABLE("DynamicResources"), cases[1].spec);
    assert_string_equal(fixture_node_of(&f, "p"), "n");
    fixture_release(&f);
}

/* A configuration may name them wherever 1.36 has them. */
static void configurations_name_them_at_all_their_points(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
                 "profiles: [{plugins: {reserve: {enabled: [{name: VolumeBinding}]}, score: "
                 "{enabled: [{name: DynamicResources, weight: 3}]}}}]}",
                 NULL);
    ADD_NODE(&f, .cpu = "4", .memory = "4Gi", .pods = "10");
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_that_need_them_wait),
        cmocka_unit_test(a_disabled_plugin_does_not_reject_these_pods),
        cmocka_unit_test(configurations_name_them_at_all_their_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
