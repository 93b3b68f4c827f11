/* SPDX-License-Identifier: Apache-2.0 */
/* The score plugins of releases up to 1.22, which older configurations use. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "prop.h"
#include "resource_random.h"

#define LEAST "NodeResourcesLeastAllocated"
#define MOST  "NodeResourcesMostAllocated"
#define RATIO "RequestedToCapacityRatio"

/* As in such configurations: instead of the default scores. */
static void begin(struct fixture *f, const char *plugin, const char *args)
{
    const char *config =
        textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
              "kind: KubeSchedulerConfiguration\n"
              "profiles:\n"
              "- plugins: {score: {disabled: [{name: '*'}], enabled: [{name: %s, weight: 3}]}}\n"
              "  pluginConfig: [{name: %s, args: %s}]\n",
              plugin, plugin, args);
    fixture_init(f, config, NULL);
}

static void the_fullest_node_wins(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, MOST, "{}");
    ADD_NODE(&f, .name = "empty", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "used", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "q", .cpu = "2", .memory = "2Gi", .node = "used");
    ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "used");
    fixture_release(&f);
}

static void scores_by_table(void **state)
{
    (void)state;
    static const struct {
        const char *plugin, *args, *cpu, *memory;
        int64_t score;
    } cases[] = {
        {LEAST, "{}", "1", "5000", 62},
        {MOST, "{}", "1", "5000", 37},
        {LEAST, "{resources: [{name: cpu, weight: 3}, {name: memory, weight: 1}]}", "1", "5000",
         68},
        /* For a duplicate resource the last weight counts. */
        {LEAST,
         "{resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: cpu, weight: 3}]}",
         "1", "5000", 68},
        {RATIO, "{shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}", "1", "5000",
         38},
        {RATIO, "{shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}", "1", "5000",
         63},
        /* Weights have no upper bound here; 100 * 9223372036854775807 wraps. */
        {RATIO,
         "{shape: [{utilization: 0, score: 10}], resources: [{name: cpu, weight: "
         "9223372036854775807}]}",
         "1", "5000", 0},
        {RATIO,
         "{shape: [{utilization: 0, score: 10}], resources: [{name: cpu, weight: 90000000000}]}",
         "1", "5000", 100},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        begin(&f, cases[i].plugin, cases[i].args);
        ADD_NODE(&f, .name = "n", .cpu = "4", .memory = "10000");
        trial_begin(&t, &f, cases[i].plugin,
                    POD(.name = "p", .cpu = cases[i].cpu, .memory = cases[i].memory));
        assert_int_equal(trial_score(&t, "n"), cases[i].score);
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
        fixture_release(&f);
    }
}

static void arguments_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *plugin, *args, *message;
    } cases[] = {
        {LEAST,
         "{'kind':'NodeResourcesLeastAllocatedArgs','apiVersion':"
         "'kubescheduler.config.k8s.io/v1beta1'}",
         ""},
        {LEAST, "{'resources':[{'name':'cpu'}]}",
         "resources[0].weight: Invalid value: 0: resource weight of cpu not in valid range (0, "
         "100]"},
        {MOST, "{'resources':[{'name':'cpu','weight':101}]}",
         "resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, "
         "100]"},
        {RATIO, "", "shape: Required value: at least one point must be specified"},
        {RATIO, "{'shape':[{'utilization':0,'score':1}],'resources':[{'name':'cpu'}]}",
         "resources[0].weight: Invalid value: 0: resource weight of cpu not in valid range [1, "
         "inf)"},
        {RATIO,
         "{'shape':[{'utilization':0,'score':1}],'resources':[{'name':'cpu',"
         "'weight':1000}]}",
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct berth_error error;
        begin(&f, cases[i].plugin,
              strcmp(cases[i].plugin, RATIO) == 0 ? "{shape: [{utilization: 0, score: 1}]}" : "{}");
        assert_string_equal(trial_args_error(&f, cases[i].plugin, cases[i].args, &error),
                            cases[i].message);
        fixture_release(&f);
    }
}

static bool batches_agree(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static const char *const plugins[] = {LEAST, MOST, RATIO};
    const char *plugin = plugins[size % ARRAY_LEN(plugins)];
    struct fixture f;
    bool ok = true;
    begin(&f, plugin,
          plugin == plugins[2]
              ? "{shape: [{utilization: 0, score: 3}, {utilization: 77, score: 10}], resources: "
                "[{name: cpu, weight: 5000000000}, {name: x.io/a, weight: 3}]}"
              : "{resources: [{name: cpu, weight: 5}, {name: x.io/a, weight: 3}]}");
    resource_random_cluster(&f, r, 1 + size);
    for (size_t i = 0; ok && i < 5; i++) {
        struct trial t;
        trial_begin(&t, &f, plugin, resource_random_pod(r, 1000 + i, ""));
        ok = trial_batches_agree(&t);
        trial_end(&t);
    }
    fixture_release(&f);
    return ok;
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    assert_true(prop_run("score_many agrees with score", 100, batches_agree, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fullest_node_wins),
        cmocka_unit_test(scores_by_table),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests_name("node_resources_allocation", tests, NULL, NULL);
}
