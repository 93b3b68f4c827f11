/* SPDX-License-Identifier: Apache-2.0 */
/* NodeLabel: labels that the profile requires to be present or absent. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "NodeLabel"
#define CONFIG(args)                               \
    "apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "kind: KubeSchedulerConfiguration\n"           \
    "profiles:\n"                                  \
    "- plugins:\n"                                 \
    "    multiPoint:\n"                            \
    "      enabled:\n"                             \
    "      - name: NodeLabel\n"                    \
    "  pluginConfig:\n"                            \
    "  - name: NodeLabel\n"                        \
    "    args: " args "\n"

static void nodes_have_and_lack_labels(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, CONFIG("{presentLabels: [a, b], absentLabels: [c]}"), NULL);
    ADD_NODE(&f, .name = "good", .labels = "a=1,b=");
    ADD_NODE(&f, .name = "lacks", .labels = "a=1");
    ADD_NODE(&f, .name = "has", .labels = "a=1,b=,c=1");
    trial_begin(&t, &f, PLUGIN, POD(.name = "p", .cpu = "1", .memory = "1"));
    assert_int_equal(trial_filter(&t, "good"), BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "lacks"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "node(s) didn't have the requested labels");
    assert_int_equal(trial_filter(&t, "has"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_true(trial_batches_agree(&t));
    /* No preferences. */
    assert_int_equal(trial_score(&t, "good"), 0);
    trial_end(&t);
    fixture_release(&f);
}

static void preferences_are_averaged(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, CONFIG("{presentLabelsPreference: [a, b], absentLabelsPreference: [c]}"),
                 NULL);
    ADD_NODE(&f, .name = "all", .labels = "a=1,b=");
    ADD_NODE(&f, .name = "two", .labels = "a=1");
    ADD_NODE(&f, .name = "one", .labels = "b=1,c=1");
    ADD_NODE(&f, .name = "none", .labels = "c=1");
    trial_begin(&t, &f, PLUGIN, POD(.name = "p", .cpu = "1", .memory = "1"));
    assert_int_equal(trial_filter(&t, "none"), BERTH_SUCCESS);
    assert_int_equal(trial_score(&t, "all"), 100);
    assert_int_equal(trial_score(&t, "two"), 66);
    assert_int_equal(trial_score(&t, "one"), 33);
    assert_int_equal(trial_score(&t, "none"), 0);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    fixture_release(&f);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    struct fixture f;
    struct berth_error error;
    fixture_init(&f, CONFIG("{}"), NULL);
    assert_string_equal(trial_args_error(&f, PLUGIN,
                                         "{'presentLabels':['a','b'],'absentLabels':['c','b']}",
                                         &error),
                        "presentLabels[1]: Invalid value: \"b\": conflict with absentLabels[1]");
    assert_string_equal(
        trial_args_error(&f, PLUGIN,
                         "{'presentLabels':['a'],'absentLabels':['a'],"
                         "'presentLabelsPreference':['b'],'absentLabelsPreference':['b']}",
                         &error),
        "[presentLabels[0]: Invalid value: \"a\": conflict with absentLabels[0], "
        "presentLabelsPreference[0]: Invalid value: \"b\": conflict with "
        "absentLabelsPreference[0]]");
    assert_string_equal(trial_args_error(&f, PLUGIN,
                                         "{'presentLabels':['a'],'absentLabelsPreference':['a']}",
                                         &error),
                        "");
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL));
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {
        PLUGIN, CONFIG("{presentLabels: [k], absentLabels: [l], presentLabelsPreference: [m], "
                       "absentLabelsPreference: ['n']}")};
    assert_true(prop_run(PLUGIN ": batch and single form", 200, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_and_lack_labels),
        cmocka_unit_test(preferences_are_averaged),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
