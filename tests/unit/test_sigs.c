/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugins of sigs.k8s.io/scheduler-plugins that need nothing but pods and nodes. tests/sigs
 * compares them with the originals on random clusters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/pod_qos.h"
#include "node_random.h"
#include "plugin_trial.h"
#include "plugins/sigs/score_range.h"
#include "prop.h"

static const char config[] =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n"
    "profiles:\n"
    "- plugins:\n"
    "    queueSort: {disabled: [{name: '*'}], enabled: [{name: QOSSort}]}\n"
    "    score: {enabled: [{name: NodeResourcesAllocatable}, {name: PodState}]}\n"
    "  pluginConfig:\n"
    "  - name: NodeResourcesAllocatable\n"
    "    args: {mode: Most, resources: [{name: cpu, weight: 1}, {name: example.com/gpu, weight: "
    "9},\n"
    "                                   {name: example.com/gpu, weight: 3}, {name: pods, weight: "
    "1}]}\n";

/* --- NodeResourcesAllocatable ----------------------------------------------------------------- */

#define ALLOCATABLE "NodeResourcesAllocatable"

static void allocatable_is_a_weighted_mean(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, config, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "4");
    ADD_NODE(&f, .name = "b", .cpu = "2500m",
             .status = "'allocatable':{'cpu':'2500m','example.com/gpu':'7','pods':'9'}");
    /* Of a repeated name the last weight counts; "pods" counts as nothing. */
    assert_int_equal(trial_score_of(&f, ALLOCATABLE, POD(.name = "p"), "a"), 4000 / 5);
    assert_int_equal(trial_score_of(&f, ALLOCATABLE, POD(.name = "p"), "b"), (2500 + 3 * 7) / 5);
    fixture_release(&f);
}

static void allocatable_refuses_bad_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *args, *error;
    } rows[] = {
        {"{}", ""},
        {"{'mode':'Most','resources':[]}", ""},
        {"{'mode':'most'}", "mode: Invalid value: \"most\": invalid support ModeType"},
        {"{'resources':[{'name':'cpu','weight':-1}]}",
         "resources[0].weight: Invalid value: -1: resource weight of cpu should be a positive "
         "value, got :-1"},
        {"{'modus':'Most'}", "unknown field"},
    };
    struct fixture f;
    fixture_init(&f, config, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct berth_error error;
        const char *got = trial_args_error(&f, ALLOCATABLE, rows[i].args, &error);
        if (*rows[i].error ? !strstr(got, rows[i].error) : *got)
            fail_msg("%s: got %s, want %s", rows[i].args, got, rows[i].error);
    }
    fixture_release(&f);
}

static void allocatable_batch_and_single_form_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {ALLOCATABLE, config};
    assert_true(prop_run(ALLOCATABLE ": batch and single form", 200, node_random_agree, &plugin));
}

static void scores_are_normalized_by_their_range(void **state)
{
    (void)state;
    static const struct {
        int64_t scores[3], want[3];
    } rows[] = {
        {{5, 5, 5}, {0, 0, 0}},
        {{-3, 0, 3}, {0, 50, 100}},
        {{0, 1, 3}, {0, 33, 100}},
        {{INT64_MIN, 0, INT64_MAX}, {0, 50, 100}},
        {{INT64_MAX, INT64_MAX - 1, INT64_MAX - 2}, {100, 50, 0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t scores[3];
        memcpy(scores, rows[i].scores, sizeof(scores));
        assert_int_equal(normalize_range(NULL, NULL, NULL, NULL, scores, 3, NULL), BERTH_SUCCESS);
        assert_memory_equal(scores, rows[i].want, sizeof(scores));
    }
    assert_int_equal(normalize_range(NULL, NULL, NULL, NULL, NULL, 0, NULL), BERTH_SUCCESS);
}

/* --- PodState --------------------------------------------------------------------------------- */

static void terminating_pods_attract_and_nominated_ones_repel(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, config, NULL);
    ADD_NODE(&f, .name = "a");
    ADD_NODE(&f, .name = "b");
    for (int i = 0; i < 5; i++)
        ADD_POD(&f, .name = textf("gone%d", i), .node = i < 3 ? "a" : "b",
                .meta = i == 4 ? NULL : "'deletionTimestamp':'2026-01-01T00:00:00Z'");
    ADD_POD(&f, .name = "nominated", .status = "'nominatedNodeName':'b'");
    ADD_POD(&f, .name = "another", .status = "'nominatedNodeName':'b'");
    assert_int_equal(trial_score_of(&f, "PodState", POD(.name = "p"), "a"), 3);
    assert_int_equal(trial_score_of(&f, "PodState", POD(.name = "p"), "b"), 1 - 2);
    fixture_release(&f);
}

/* --- QOSSort ---------------------------------------------------------------------------------- */

#define REQUESTS(r, l) "'containers':[{'resources':{'requests':{" r "},'limits':{" l "}}}]"

static void classes_of_pods(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *status;
        enum pod_qos want;
    } rows[] = {
        {"'containers':[{}]", NULL, POD_QOS_BEST_EFFORT},
        {REQUESTS("'cpu':'0'", ""), NULL, POD_QOS_BEST_EFFORT},
        {REQUESTS("'example.com/gpu':'1'", "'example.com/gpu':'1'"), NULL, POD_QOS_BEST_EFFORT},
        {REQUESTS("'cpu':'1'", ""), NULL, POD_QOS_BURSTABLE},
        {REQUESTS("", "'cpu':'1'"), NULL, POD_QOS_BURSTABLE},
        {REQUESTS("'cpu':'1','memory':'1Gi'", "'cpu':'1000m','memory':'1024Mi'"), NULL,
         POD_QOS_GUARANTEED},
        {REQUESTS("'cpu':'1','memory':'1Gi'", "'cpu':'1','memory':'2Gi'"), NULL, POD_QOS_BURSTABLE},
        {REQUESTS("'cpu':'1'", "'cpu':'1','memory':'2Gi'"), NULL, POD_QOS_BURSTABLE},
        {"'containers':[{}],'initContainers':[{'resources':{'requests':{'cpu':1}}}]", NULL,
         POD_QOS_BURSTABLE},
        {"'containers':[{}],'resources':{'requests':{'cpu':1,'memory':1},'limits':{'cpu':1,"
         "'memory':1}}",
         NULL, POD_QOS_GUARANTEED},
        {"'containers':[{}],'resources':{'limits':{'cpu':1}}", NULL, POD_QOS_BURSTABLE},
        {"'containers':[{}]", "'qosClass':'Guaranteed'", POD_QOS_GUARANTEED},
        {"'containers':[{}]", "'qosClass':'Burstable'", POD_QOS_BURSTABLE},
        {"'containers':[{}]", "'qosClass':'Other'", POD_QOS_UNKNOWN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *pod = POD(.name = "p", .spec = rows[i].spec, .status = rows[i].status);
        if (pod_qos_of(object_pod(pod)) != rows[i].want)
            fail_msg("%s: %d", rows[i].spec, (int)pod_qos_of(object_pod(pod)));
        object_unref(pod);
    }
}

/* One pod fits: the first of the queue. */
static void guaranteed_pods_come_first(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, config, NULL);
    ADD_POD(&f, .name = "best-effort", .spec = "'containers':[{}]");
    ADD_POD(&f, .name = "burstable", .spec = REQUESTS("'cpu':'1'", ""));
    ADD_POD(&f, .name = "guaranteed",
            .spec = REQUESTS("'cpu':'1','memory':'1'", "'cpu':'1','memory':'1'"));
    ADD_POD(&f, .name = "later",
            .spec = REQUESTS("'cpu':'1','memory':'1'", "'cpu':'1','memory':'1'"));
    ADD_NODE(&f, .name = "n", .status = "'allocatable':{'cpu':'8','memory':'8Gi','pods':'1'}");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "guaranteed"));
    assert_null(fixture_node_of(&f, "best-effort"));
    assert_null(fixture_node_of(&f, "burstable"));
    assert_null(fixture_node_of(&f, "later"));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocatable_is_a_weighted_mean),
        cmocka_unit_test(allocatable_refuses_bad_arguments),
        cmocka_unit_test(allocatable_batch_and_single_form_agree),
        cmocka_unit_test(scores_are_normalized_by_their_range),
        cmocka_unit_test(terminating_pods_attract_and_nominated_ones_repel),
        cmocka_unit_test(classes_of_pods),
        cmocka_unit_test(guaranteed_pods_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
