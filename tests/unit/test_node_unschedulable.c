/* SPDX-License-Identifier: Apache-2.0 */
/* NodeUnschedulable and NodeName: cordoned nodes, and pods that name theirs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

static struct object *node(const char *name, const char *unschedulable)
{
    return object_jsonf(KIND_NODE, "{'metadata':{'name':'%s'},'spec':{'unschedulable':%s}}", name,
                        unschedulable);
}

static struct object *pod(const char *spec)
{
    return POD(.name = "p", .spec = spec);
}

#define TOLERATES(what) "\"tolerations\":[{\"key\":\"node.kubernetes.io/unschedulable\"," what "}]"

static void cordoned_nodes_take_who_tolerates_it(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool passes;
    } cases[] = {
        {"", false},
        {TOLERATES("\"operator\":\"Exists\""), true},
        {TOLERATES("\"effect\":\"NoSchedule\""), true},
        {TOLERATES("\"effect\":\"NoExecute\""), false},
        {TOLERATES("\"value\":\"x\""), false},
        {TOLERATES("\"operator\":\"Lt\",\"value\":\"1\""), false},
        {"\"tolerations\":[{\"operator\":\"Exists\"}]", true},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, node("open", "false"));
    fixture_add(&f, node("closed", "true"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, "NodeUnschedulable", pod(cases[i].spec));
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
        const char *before, *after;
        enum berth_hint hint;
    } cases[] = {
        {NULL, "false", BERTH_QUEUE},        {NULL, "true", BERTH_QUEUE_SKIP},
        {"true", "false", BERTH_QUEUE},      {"true", "true", BERTH_QUEUE_SKIP},
        {"false", "true", BERTH_QUEUE_SKIP}, {"false", "false", BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            BERTH_RESOURCE_NODE,
            cases[i].before ? BERTH_ACTION_UPDATE_NODE_TAINT : BERTH_ACTION_ADD,
            cases[i].before ? node("n", cases[i].before) : NULL, node("n", cases[i].after)};
        assert_int_equal(trial_hint(&f, "NodeUnschedulable", pod(""), change), cases[i].hint);
    }
    struct trial_change tolerates = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION,
                                     pod(""), pod(TOLERATES("\"operator\":\"Exists\""))};
    assert_int_equal(trial_hint(&f, "NodeUnschedulable", pod(""), tolerates), BERTH_QUEUE);
    struct trial_change another = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION, pod(""),
                                   pod("\"tolerations\":[{\"key\":\"x\"}]")};
    assert_int_equal(trial_hint(&f, "NodeUnschedulable", pod(""), another), BERTH_QUEUE_SKIP);
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
    fixture_add(&f, node("a", "false"));
    fixture_add(&f, node("b", "false"));
    trial_begin(&t, &f, "NodeName", pod(""));
    assert_int_equal(trial_filter(&t, "a"), BERTH_SUCCESS);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    trial_begin(&t, &f, "NodeName", pod("\"nodeName\":\"b\""));
    assert_int_equal(trial_filter(&t, "b"), BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "a"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "node(s) didn't match the requested node name");
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    trial_begin(&t, &f, "NodeName", pod("\"nodeName\":\"c\""));
    assert_int_equal(trial_filter(&t, "b"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    fixture_release(&f);
}

static void the_batch_says_what_the_single_form_says(void **state)
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
        cmocka_unit_test(cordoned_nodes_take_who_tolerates_it),
        cmocka_unit_test(hints),
        cmocka_unit_test(a_pod_that_names_its_node_goes_there),
        cmocka_unit_test(the_batch_says_what_the_single_form_says),
        cmocka_unit_test(so_it_does_for_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
