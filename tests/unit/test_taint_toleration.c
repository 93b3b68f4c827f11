/* SPDX-License-Identifier: Apache-2.0 */
/* TaintToleration: filter, scores, and which changes help. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "TaintToleration"

static void only_taints_that_bar_are_filtered_by(void **state)
{
    (void)state;
    const struct {
        const struct taint_args *taints;
        const struct toleration_args *tolerations;
        bool passes;
    } cases[] = {
        {NULL, NULL, true},
        {TAINTS({"k", .effect = "NoSchedule"}), NULL, false},
        {TAINTS({"k", .effect = "NoExecute"}), NULL, false},
        {TAINTS({"k", .effect = "PreferNoSchedule"}), NULL, true},
        {TAINTS({"k", .effect = "NoSchedule"}), TOLERATIONS({"k", .op = "Exists"}), true},
        {TAINTS({"k", "v", "NoSchedule"}), TOLERATIONS({"k", "v", .effect = "NoExecute"}), false},
        {TAINTS({"k", .effect = "NoSchedule"}, {"l", .effect = "NoExecute"}), TOLERATIONS({"k"}),
         false},
        {TAINTS({"k", .effect = "NoSchedule"}, {"l", .effect = "NoExecute"}),
         TOLERATIONS({.op = "Exists"}), true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        ADD_NODE(&f, .taints = cases[i].taints);
        trial_begin(&t, &f, PLUGIN, POD(.tolerations = cases[i].tolerations));
        assert_int_equal(trial_filter(&t, "n"),
                         cases[i].passes ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
        assert_string_equal(t.text, cases[i].passes ? "" : "node(s) had untolerated taint(s)");
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
        fixture_release(&f);
    }
}

static void comparison_waits_for_its_gate(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .taints = TAINTS({"k", "5", "NoSchedule"}));
    trial_begin(&t, &f, PLUGIN, POD(.tolerations = TOLERATIONS({"k", "4", .op = "Gt"})));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    trial_end(&t);
    /* As if the engine had been created with the gate on. */
    f.engine->framework.features.on[FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS] = true;
    struct berth_handle *h = trial_instance(&f, PLUGIN);
    struct berth_error error;
    h->plugin->destroy(h->self);
    assert_int_equal(h->plugin->create(&engine_host, h, BERTH_STR(""), &h->self, &error), 0);
    trial_begin(&t, &f, PLUGIN, POD(.tolerations = TOLERATIONS({"k", "4", .op = "Gt"})));
    assert_int_equal(trial_filter(&t, "n"), BERTH_SUCCESS);
    trial_end(&t);
    trial_begin(&t, &f, PLUGIN, POD(.tolerations = TOLERATIONS({"k", "5", .op = "Lt"})));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    trial_end(&t);
    fixture_release(&f);
}

static void scores_count_what_is_not_tolerated(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f,
             .taints = TAINTS({"k", .effect = "PreferNoSchedule"},
                              {"l", .effect = "PreferNoSchedule"}, {"m", .effect = "NoSchedule"}));
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(), "n"), 2);
    assert_int_equal(trial_score_of(&f, PLUGIN, POD(.tolerations = TOLERATIONS({"k"})), "n"), 1);
    assert_int_equal(
        trial_score_of(&f, PLUGIN, POD(.tolerations = TOLERATIONS({.op = "Exists"})), "n"), 0);
    assert_int_equal(
        trial_score_of(&f, PLUGIN,
                       POD(.tolerations = TOLERATIONS({.op = "Exists", .effect = "NoSchedule"})),
                       "n"),
        2);
    fixture_release(&f);
}

static void fewer_taints_are_better(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    const struct berth_handle *h = trial_instance(&f, PLUGIN);
    int64_t scores[] = {0, 1, 3, 2}, all_equal[] = {0, 0};
    h->plugin->normalize(h->self, NULL, NULL, NULL, scores, 4, NULL);
    h->plugin->normalize(h->self, NULL, NULL, NULL, all_equal, 2, NULL);
    assert_int_equal(scores[0], 100);
    assert_int_equal(scores[1], 67);
    assert_int_equal(scores[2], 0);
    assert_int_equal(scores[3], 34);
    assert_int_equal(all_equal[0], 100);
    assert_int_equal(all_equal[1], 100);
    fixture_release(&f);
}

static void score_without_prescore_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    int64_t score;
    struct buf text = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n");
    trial_begin(&t, &f, PLUGIN, POD());
    struct berth_cycle *fresh =
        cycle_new(&f.engine->cycles, f.engine->framework.setup->profiles.v[0]);
    status_clear(&f.engine->cycles.status);
    assert_int_equal(t.handle->plugin->score(t.handle->self, fresh, t.pod,
                                             cache_node(&f.engine->cache, STR("n")), &score,
                                             &f.engine->cycles.status),
                     BERTH_ERROR);
    status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
    assert_string_equal(buf_cstr(&text),
                        "failed to read \"PreScoreTaintToleration\" from cycleState: not found");
    buf_release(&text);
    cycle_free(fresh);
    trial_end(&t);
    fixture_release(&f);
}

#define NONE   TAINTS({0})
#define BARS   TAINTS({"k", .effect = "NoSchedule"})
#define PREFER TAINTS({"k", .effect = "PreferNoSchedule"})

static void hints(void **state)
{
    (void)state;
    const struct {
        const struct taint_args *before, *after; /* taints of the node; NULL: no such node */
        enum berth_hint hint;
    } cases[] = {
        {NULL, NONE, BERTH_QUEUE},      {NULL, BARS, BERTH_QUEUE_SKIP},
        {BARS, NONE, BERTH_QUEUE},      {BARS, PREFER, BERTH_QUEUE},
        {NONE, NONE, BERTH_QUEUE_SKIP}, {PREFER, NONE, BERTH_QUEUE_SKIP},
        {NONE, BARS, BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {BERTH_RESOURCE_NODE,
                                      cases[i].before ? BERTH_ACTION_UPDATE_NODE_TAINT
                                                      : BERTH_ACTION_ADD,
                                      cases[i].before ? NODE(.taints = cases[i].before) : NULL,
                                      NODE(.taints = cases[i].after)};
        assert_int_equal(trial_hint(&f, PLUGIN, POD(), change), cases[i].hint);
    }
    struct trial_change own = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION, POD(),
                               POD(.tolerations = TOLERATIONS({"k"}))};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(), own), BERTH_QUEUE);
    struct trial_change other = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION,
                                 POD(.name = "q", .cpu = "1", .memory = "1"),
                                 POD(.name = "q", .cpu = "1", .memory = "1")};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(), other), BERTH_QUEUE_SKIP);
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL));
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
        cmocka_unit_test(only_taints_that_bar_are_filtered_by),
        cmocka_unit_test(comparison_waits_for_its_gate),
        cmocka_unit_test(scores_count_what_is_not_tolerated),
        cmocka_unit_test(fewer_taints_are_better),
        cmocka_unit_test(score_without_prescore_is_an_error),
        cmocka_unit_test(hints),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
