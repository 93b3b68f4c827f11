/* SPDX-License-Identifier: Apache-2.0 */
/* NodePreferAvoidPods: nodes with an annotation that names controllers to avoid. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "NodePreferAvoidPods"
#define CONFIG                                     \
    "apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "kind: KubeSchedulerConfiguration\n"           \
    "profiles:\n"                                  \
    "- plugins:\n"                                 \
    "    multiPoint:\n"                            \
    "      enabled:\n"                             \
    "      - name: NodePreferAvoidPods\n"          \
    "        weight: 10000\n"

#define AVOID(kind, uid)                                               \
    "{`preferAvoidPods`:[{`reason`:`x`,`podSignature`:{`podController" \
    "`:{`kind`:`" kind "`,`uid`:`" uid "`}}}]}"

static void only_named_pods_are_avoided(void **state)
{
    (void)state;
    static const struct {
        const char *annotation, *kind, *uid, *controller;
        int64_t score;
    } cases[] = {
        {AVOID("ReplicaSet", "u"), "ReplicaSet", "u", "true", 0},
        {AVOID("ReplicationController", "u"), "ReplicationController", "u", "true", 0},
        {AVOID("ReplicaSet", "u"), "ReplicaSet", "v", "true", 100},
        {AVOID("ReplicationController", "u"), "ReplicaSet", "u", "true", 100},
        /* Another controller than the pod's, or another kind. */
        {AVOID("ReplicaSet", "u"), "ReplicaSet", "u", "false", 100},
        {AVOID("Job", "u"), "Job", "u", "true", 100},
        /* An invalid annotation names no controller. */
        {"{", "ReplicaSet", "u", "true", 100},
        {"", "ReplicaSet", "u", "true", 100},
        {"{`preferAvoidPods`:[{}]}", "ReplicaSet", "u", "true", 100},
        {"{`PreferAvoidPods`:[{`podsignature`:{`podController`:{`kind`:"
         "`ReplicaSet`,`UID`:`u`}}}]}",
         "ReplicaSet", "u", "true", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, CONFIG, NULL);
        ADD_NODE(&f, .name = "n",
                 .meta =
                     textf("'annotations':{'scheduler.alpha.kubernetes.io/preferAvoidPods':'%s'}",
                           cases[i].annotation));
        ADD_NODE(&f, .name = "m", .cpu = "1", .memory = "1");
        trial_begin(
            &t, &f, PLUGIN,
            POD(.meta = textf("'ownerReferences':[{'kind':'%s','uid':'%s','controller':%s}]",
                              cases[i].kind, cases[i].uid, cases[i].controller)));
        assert_int_equal(trial_score(&t, "n"), cases[i].score);
        assert_int_equal(trial_score(&t, "m"), 100);
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
        fixture_release(&f);
    }
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN, CONFIG};
    assert_true(prop_run(PLUGIN ": batch and single form", 200, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_named_pods_are_avoided),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
