/* SPDX-License-Identifier: Apache-2.0 */
/* NodeUnschedulable and NodeName: cordoned nodes, and pods with spec.nodeName. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define KEY "node.kubernetes.io/unschedulable"

static void cordoned_nodes_accept_pods_that_tolerate_it(void **state)
{
    (void)state;
    const struct {
        const struct toleration_args *tolerations;
        bool passes;
    } cases[] = {
        {NULL, false},
        {TOLERATIONS({KEY, .op = "Exists"}), true},
        {TOLERATIONS({KEY, .effect = "NoSchedule"}), true},
        {TOLERATIONS({KEY, .effect = "NoExecute"}), false},
        {TOLERATIONS({KEY, "x"}), false},
        {TOLERATIONS({KEY, "1", .op = "Lt"}), false},
        {TOLERATIONS({.op = "Exists"}), true},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "open");
    ADD_NODE(&f, .name = "closed", .unschedulable = true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, "NodeUnschedulable", POD(.tolerations = cases[i].tolerations));
        assert_int_equal(trial_filter(&t, "open"), BERTH_SUCCESS);
        assert_int_equal(trial_filter(&t, "closed"),
                         cases[i].passes ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
        assert_string_equal(t.text, cases[i].passes ? "" : "node(s) were unschedulable");
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
    }
    fixture_release(&f);
}

static void hints(void **state)
{
    (void)state;
    static const struct {
        int before; /* -1: no such node */
        bool after;
        enum berth_hint hint;
    } cases[] = {
        {-1, false, BERTH_QUEUE},        {-1, true, BERTH_QUEUE_SKIP},
        {true, false, BERTH_QUEUE},      {true, true, BERTH_QUEUE_SKIP},
        {false, true, BERTH_QUEUE_SKIP}, {false, false, BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            BERTH_RESOURCE_NODE,
            cases[i].before >= 0 ? BERTH_ACTION_UPDATE_NODE_TAINT : BERTH_ACTION_ADD,
            cases[i].before >= 0 ? NODE(.unschedulable = cases[i].before) : NULL,
            NODE(.unschedulable = cases[i].after)};
        assert_int_equal(trial_hint(&f, "NodeUnschedulable", POD(), change), cases[i].hint);
    }
    struct trial_change tolerates = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION, POD(),
                                     POD(.tolerations = TOLERATIONS({KEY, .op = "Exists"}))};
    assert_int_equal(trial_hint(&f, "NodeUnschedulable", POD(), tolerates), BERTH_QUEUE);
    struct trial_change another = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION, POD(),
                                   POD(.tolerations = TOLERATIONS({"x"}))};
    assert_int_equal(trial_hint(&f, "NodeUnschedulable", POD(), another), BERTH_QUEUE_SKIP);
    assert_true(trial_is_told(&f, "NodeName", BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    assert_false(trial_is_told(&f, "NodeName", BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE));
    fixture_release(&f);
}

static void a_pod_that_names_its_node_goes_there(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a");
    ADD_NODE(&f, .name = "b");
    trial_begin(&t, &f, "NodeName", POD());
    assert_int_equal(trial_filter(&t, "a"), BERTH_SUCCESS);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    trial_begin(&t, &f, "NodeName", POD(.node = "b"));
    assert_int_equal(trial_filter(&t, "b"), BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "a"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "node(s) didn't match the requested node name");
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    trial_begin(&t, &f, "NodeName", POD(.node = "c"));
    assert_int_equal(trial_filter(&t, "b"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {"NodeUnschedulable", NULL};
    assert_true(prop_run("NodeUnschedulable"
                         ": batch and single form",
                         300, node_random_agree, &plugin));
}

static void so_it_does_for_names(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {"NodeName", NULL};
    assert_true(prop_run("NodeName"
                         ": batch and single form",
                         300, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cordoned_nodes_accept_pods_that_tolerate_it),
        cmocka_unit_test(hints),
        cmocka_unit_test(a_pod_that_names_its_node_goes_there),
        cmocka_unit_test(batch_and_single_forms_agree),
        cmocka_unit_test(so_it_does_for_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
