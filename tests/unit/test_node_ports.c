/* SPDX-License-Identifier: Apache-2.0 */
/* NodePorts: which ports conflict, and which deletions help. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "NodePorts"

#define INIT_CONTAINER(policy) \
    "'initContainers':[{'name':'c','restartPolicy':'" policy "','ports':[{'hostPort':80}]}]"

static void ports_collide(void **state)
{
    (void)state;
    const struct {
        const struct port_args *used, *wanted;
        bool collide;
    } cases[] = {
        {PORTS({80}), PORTS({80}), true},
        {PORTS({80}), PORTS({81}), false},
        {PORTS({80}), PORTS({80, "UDP"}), false},
        {PORTS({80, .ip = "10.0.0.1"}), PORTS({80}), true},
        {PORTS({80}), PORTS({80, .ip = "10.0.0.1"}), true},
        {PORTS({80, .ip = "10.0.0.2"}), PORTS({80, .ip = "10.0.0.1"}), false},
        {PORTS({80, .ip = "10.0.0.1"}), PORTS({80, "TCP", .ip = "10.0.0.1"}), true},
        {PORTS({80}), PORTS({81}, {80}), true},
        {NULL, PORTS({80}), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        ADD_NODE(&f, .name = "n", .cpu = "1", .memory = "1Gi");
        ADD_POD(&f, .name = "old", .node = "n", .ports = cases[i].used);
        trial_begin(&t, &f, PLUGIN, POD(.ports = cases[i].wanted));
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

static void pods_without_host_ports_skip(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n", .cpu = "1", .memory = "1Gi");
    trial_begin(&t, &f, PLUGIN, POD(.containers = "{'name':'c','ports':[{'containerPort':80}]}"));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    trial_end(&t);
    /* Of the init containers only sidecars keep their ports. */
    trial_begin(&t, &f, PLUGIN, POD(.spec = INIT_CONTAINER("")));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    trial_end(&t);
    trial_begin(&t, &f, PLUGIN, POD(.spec = INIT_CONTAINER("Always")));
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
    ADD_NODE(&f, .name = "n", .cpu = "1", .memory = "1Gi");
    ADD_POD(&f, .ports = PORTS({80}));
    fixture_schedule(&f);
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->message,
                        "running \"NodePorts\" filter plugin: reading \"PreFilterNodePorts\" from "
                        "cycleState: not found");
    fixture_release(&f);
}

static void hints(void **state)
{
    (void)state;
    const struct port_args *wants = PORTS({80, .ip = "10.0.0.1"});
    const struct {
        const char *node;
        const struct port_args *ports;
        enum berth_hint hint;
    } cases[] = {
        {"n", PORTS({80}), BERTH_QUEUE},
        {"", PORTS({80}), BERTH_QUEUE_SKIP},
        {"n", NULL, BERTH_QUEUE_SKIP},
        {"n", PORTS({81}), BERTH_QUEUE_SKIP},
        {"n", PORTS({80, .ip = "10.0.0.1"}), BERTH_QUEUE},
        {"n", PORTS({80, .ip = "10.0.0.2"}), BERTH_QUEUE_SKIP},
        {"n", PORTS({80, "SCTP", .ip = "10.0.0.1"}), BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            BERTH_RESOURCE_POD, BERTH_ACTION_DELETE,
            POD(.name = "q", .node = cases[i].node, .ports = cases[i].ports), NULL};
        assert_int_equal(trial_hint(&f, PLUGIN, POD(.ports = wants), change), cases[i].hint);
    }
    struct trial_change sidecar = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE,
                                   POD(.name = "q", .node = "n", .spec = INIT_CONTAINER("Always")),
                                   NULL};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.ports = wants), sidecar), BERTH_QUEUE);
    struct trial_change init = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE,
                                POD(.name = "q", .node = "n", .spec = INIT_CONTAINER("")), NULL};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.ports = wants), init), BERTH_QUEUE_SKIP);
    struct object *nominated = POD(.name = "q", .ports = PORTS({80}), .nominated = "n");
    struct trial_change promised = {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, nominated, NULL};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.ports = wants), promised), BERTH_QUEUE);
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE));
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN, NULL};
    assert_true(prop_run(PLUGIN ": batch and single form", 300, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_collide),
        cmocka_unit_test(pods_without_host_ports_skip),
        cmocka_unit_test(filter_without_prefilter_is_an_error),
        cmocka_unit_test(hints),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
