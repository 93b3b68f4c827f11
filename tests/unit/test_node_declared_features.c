/* SPDX-License-Identifier: Apache-2.0 */
/* NodeDeclaredFeatures: features that pods need and nodes declare. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN   "NodeDeclaredFeatures"
#define RESTART  "'RestartAllContainersOnContainerExits'"
#define USERS    "'UserNamespacesHostNetworkSupport'"
#define RULE     "'restartPolicyRules':[{'action':'Restart'},{'action':'RestartAllContainers'}]"
#define MISMATCH "node(s) didn't match Pod's required features"

static void nodes_must_declare_what_pods_need(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *features;
        enum berth_code pre_filter, filter;
    } cases[] = {
        {"", "", BERTH_SKIP, BERTH_SUCCESS},
        {"'hostNetwork':true", "", BERTH_SKIP, BERTH_SUCCESS},
        {"'hostUsers':false", "", BERTH_SKIP, BERTH_SUCCESS},
        {"'hostNetwork':true,'hostUsers':true", "", BERTH_SKIP, BERTH_SUCCESS},
        {"'hostNetwork':true,'hostUsers':false", "", BERTH_SUCCESS,
         BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE},
        {"'hostNetwork':true,'hostUsers':false", USERS, BERTH_SUCCESS, BERTH_SUCCESS},
        {"'containers':[{'name':'c'," RULE "}]", USERS, BERTH_SUCCESS,
         BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE},
        {"'initContainers':[{'name':'c'," RULE "}]", "'A'," RESTART ",'Z'", BERTH_SUCCESS,
         BERTH_SUCCESS},
        {"'hostNetwork':true,'hostUsers':false,'containers':[{'name':'c'," RULE "}]", RESTART,
         BERTH_SUCCESS, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE},
        {"'hostNetwork':true,'hostUsers':false,'containers':[{'name':'c'," RULE "}]",
         RESTART "," USERS, BERTH_SUCCESS, BERTH_SUCCESS},
        /* Unsorted lists are supported. */
        {"'containers':[{'name':'c'," RULE "}]", USERS "," RESTART, BERTH_SUCCESS,
         BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        ADD_NODE(&f, .status = textf("'declaredFeatures':[%s]", cases[i].features));
        trial_begin(&t, &f, PLUGIN, POD(.spec = cases[i].spec));
        assert_int_equal(t.pre_filter, cases[i].pre_filter);
        if (t.pre_filter == BERTH_SUCCESS) {
            assert_int_equal(trial_filter(&t, "n"), cases[i].filter);
            assert_string_equal(t.text, cases[i].filter == BERTH_SUCCESS ? "" : MISMATCH);
            assert_true(trial_batches_agree(&t));
        }
        trial_end(&t);
        fixture_release(&f);
    }
}

static void with_the_gate_off_it_does_nothing(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .status = "'declaredFeatures':[]");
    f.engine->framework.features.on[FEATURE_NODE_DECLARED_FEATURES] = false;
    struct berth_handle *h = trial_instance(&f, PLUGIN);
    struct berth_error error;
    h->plugin->destroy(h->self);
    assert_int_equal(h->plugin->create(&engine_host, h, BERTH_STR(""), &h->self, &error), 0);
    trial_begin(&t, &f, PLUGIN, POD(.spec = "'hostNetwork':true,'hostUsers':false"));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    assert_int_equal(trial_filter(&t, "n"), BERTH_SUCCESS);
    assert_true(trial_batches_agree(&t));
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    trial_end(&t);
    fixture_release(&f);
}

static void hints(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    static const struct {
        const char *before, *after;
        enum berth_hint hint;
    } nodes[] = {
        {NULL, "", BERTH_QUEUE},
        {"", "", BERTH_QUEUE_SKIP},
        {"", RESTART, BERTH_QUEUE},
        {RESTART, "", BERTH_QUEUE},
        {RESTART "," USERS, RESTART "," USERS, BERTH_QUEUE_SKIP},
        {RESTART, USERS, BERTH_QUEUE},
    };
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        struct trial_change change = {
            BERTH_RESOURCE_NODE,
            nodes[i].before ? BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE : BERTH_ACTION_ADD,
            nodes[i].before ? NODE(.status = textf("'declaredFeatures':[%s]", nodes[i].before))
                            : NULL,
            NODE(.status = textf("'declaredFeatures':[%s]", nodes[i].after))};
        assert_int_equal(trial_hint(&f, PLUGIN, POD(.name = "p"), change), nodes[i].hint);
    }
    struct trial_change same = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_LABEL, POD(.name = "p"),
                                POD(.name = "p")};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.name = "p"), same), BERTH_QUEUE_SKIP);
    struct trial_change less = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_OTHER,
                                POD(.spec = "'hostNetwork':true,'hostUsers':false"),
                                POD(.name = "p")};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.name = "p"), less), BERTH_QUEUE);
    struct trial_change other = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_OTHER,
                                 POD(.spec = "'hostNetwork':true,'hostUsers':false"),
                                 POD(.name = "q", .cpu = "1", .memory = "1")};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.name = "p"), other), BERTH_QUEUE_SKIP);
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
        cmocka_unit_test(nodes_must_declare_what_pods_need),
        cmocka_unit_test(with_the_gate_off_it_does_nothing),
        cmocka_unit_test(hints),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
