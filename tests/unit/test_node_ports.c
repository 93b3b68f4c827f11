/* SPDX-License-Identifier: Apache-2.0 */
/* NodePorts: which ports collide, and whose leaving helps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "NodePorts"

/* A pod with one port; sidecar: an init container that goes on running has it. */
static struct object *pod(const char *name, const char *node, const char *port)
{
    return POD(.name = name, .node = node, .containers = textf("{'name':'c','ports':[%s]}", port));
}

static struct object *init_pod(const char *name, const char *node, const char *policy)
{
    return POD(.name = name, .node = node,
               .spec = textf(
                   "'initContainers':[{'name':'c','restartPolicy':'%s','ports':[{'hostPort':80}]}]",
                   policy));
}

static void ports_collide(void **state)
{
    (void)state;
    static const struct {
        const char *used, *wanted;
        bool collide;
    } cases[] = {
        {"{\"hostPort\":80}", "{\"hostPort\":80}", true},
        {"{\"hostPort\":80}", "{\"hostPort\":81}", false},
        {"{\"hostPort\":80}", "{\"hostPort\":80,\"protocol\":\"UDP\"}", false},
        {"{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}", "{\"hostPort\":80}", true},
        {"{\"hostPort\":80}", "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}", true},
        {"{\"hostPort\":80,\"hostIP\":\"10.0.0.2\"}", "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}",
         false},
        {"{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}",
         "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\",\"protocol\":\"TCP\"}", true},
        {"{\"hostPort\":80}", "{\"hostPort\":81},{\"hostPort\":80}", true},
        {"{\"containerPort\":80}", "{\"hostPort\":80}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        fixture_add(&f, NODE(.name = "n", .cpu = "1", .memory = "1Gi"));
        fixture_add(&f, pod("old", "n", cases[i].used));
        trial_begin(&t, &f, PLUGIN, pod("p", "", cases[i].wanted));
        assert_int_equal(t.pre_filter, BERTH_SUCCESS);
        assert_int_equal(trial_filter(&t, "n"),
                         cases[i].collide ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS);
        assert_string_equal(t.text, cases[i].collide ? "node(s) didn't have free ports for the "
                                                       "requested pod ports"
                                                     : "");
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
        fixture_release(&f);
    }
}

static void who_wants_no_port_is_not_asked(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, NODE(.name = "n", .cpu = "1", .memory = "1Gi"));
    trial_begin(&t, &f, PLUGIN, pod("p", "", "{\"containerPort\":80}"));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    trial_end(&t);
    /* Of the init containers only sidecars hold their ports. */
    trial_begin(&t, &f, PLUGIN, init_pod("p", "", ""));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    trial_end(&t);
    trial_begin(&t, &f, PLUGIN, init_pod("p", "", "Always"));
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    trial_end(&t);
    fixture_release(&f);
}

static void filter_without_prefilter_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins:\n"
                 "    preFilter:\n"
                 "      disabled:\n"
                 "      - name: NodePorts\n",
                 NULL);
    fixture_add(&f, NODE(.name = "n", .cpu = "1", .memory = "1Gi"));
    fixture_add(&f, pod("p", "", "{\"hostPort\":80}"));
    fixture_schedule(&f);
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->message,
                        "running \"NodePorts\" filter plugin: reading \"PreFilterNodePorts\" from "
                        "cycleState: not found");
    fixture_release(&f);
}

static void hints(void **state)
{
    (void)state;
    static const char *const wants = "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}";
    static const struct {
        const char *node, *port;
        enum berth_hint hint;
    } cases[] = {
        {"n", "{\"hostPort\":80}", BERTH_QUEUE},
        {"", "{\"hostPort\":80}", BERTH_QUEUE_SKIP},
        {"n", "", BERTH_QUEUE_SKIP},
        {"n", "{\"hostPort\":81}", BERTH_QUEUE_SKIP},
        {"n", "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}", BERTH_QUEUE},
        {"n", "{\"hostPort\":80,\"hostIP\":\"10.0.0.2\"}", BERTH_QUEUE_SKIP},
        {"n", "{\"hostPort\":80,\"hostIP\":\"10.0.0.1\",\"protocol\":\"SCTP\"}", BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE,
                                      pod("q", cases[i].node, cases[i].port), NULL};
        assert_int_equal(trial_hint(&f, PLUGIN, pod("p", "", wants), change), cases[i].hint);
    }
    struct trial_change sidecar = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE,
                                   init_pod("q", "n", "Always"), NULL};
    assert_int_equal(trial_hint(&f, PLUGIN, pod("p", "", wants), sidecar), BERTH_QUEUE);
    struct trial_change init = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, init_pod("q", "n", ""),
                                NULL};
    assert_int_equal(trial_hint(&f, PLUGIN, pod("p", "", wants), init), BERTH_QUEUE_SKIP);
    struct object *nominated =
        POD(.name = "q", .containers = "{'name':'c','ports':[{'hostPort':80}]}", .nominated = "n");
    struct trial_change promised = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, nominated, NULL};
    assert_int_equal(trial_hint(&f, PLUGIN, pod("p", "", wants), promised), BERTH_QUEUE);
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE));
    fixture_release(&f);
}

static void the_batch_says_what_the_single_form_says(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN, NULL};
    assert_true(prop_run(PLUGIN ": batch and single form", 300, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_collide),
        cmocka_unit_test(who_wants_no_port_is_not_asked),
        cmocka_unit_test(filter_without_prefilter_is_an_error),
        cmocka_unit_test(hints),
        cmocka_unit_test(the_batch_says_what_the_single_form_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
