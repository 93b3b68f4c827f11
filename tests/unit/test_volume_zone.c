/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeZone: zones of volumes and of nodes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "prop.h"
#include "volume_random.h"

#define PLUGIN "VolumeZone"

#define ZONE        "topology.kubernetes.io/zone"
#define REGION      "topology.kubernetes.io/region"
#define BETA_ZONE   "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

#define USES(claim) "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]"

static struct object *volume(const char *labels)
{
    return OBJECT(KIND_PERSISTENT_VOLUME, .name = "v", .labels = labels);
}

static void zones_of_volumes_and_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *volume, *node;
        bool fits; /* or is not asked */
    } cases[] = {
        {ZONE "=a", ZONE "=a", true},
        {ZONE "=a", ZONE "=b", false},
        {ZONE "=a__b", ZONE "=b", true},
        {ZONE "=a__b", ZONE "=c", false},
        {ZONE "=a", "", true}, /* a node without labels is in every zone */
        {ZONE "=a", REGION "=a", false},
        {ZONE "=a," REGION "=r", ZONE "=a," REGION "=r", true},
        {ZONE "=a," REGION "=r", ZONE "=a," REGION "=s", false},
        {BETA_ZONE "=a", ZONE "=a", true}, /* the stable label will do */
        {BETA_ZONE "=a", ZONE "=b", false},
        {BETA_ZONE "=a", BETA_ZONE "=b," ZONE "=a", false},
        {BETA_REGION "=r", REGION "=r", true},
        {ZONE "=a", BETA_ZONE "=a", false}, /* but not the other way round */
        {ZONE "=", ZONE "=b", true},        /* invalid: ignored */
        {ZONE "=a__", ZONE "=b", true},
        {"app=x", ZONE "=b", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        ADD_NODE(&f, .name = "n", .labels = cases[i].node, .cpu = "1", .memory = "1Gi");
        fixture_add(&f, volume(cases[i].volume));
        fixture_add(&f,
                    OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "c", .spec = "'volumeName':'v'"));
        trial_begin(&t, &f, PLUGIN, POD(.spec = USES("c")));
        if (t.pre_filter == BERTH_SUCCESS) {
            assert_int_equal(trial_filter(&t, "n"),
                             cases[i].fits ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
            assert_string_equal(t.text,
                                cases[i].fits ? "" : "node(s) had no available volume zone");
            assert_true(trial_batches_agree(&t));
        } else {
            assert_int_equal(t.pre_filter, BERTH_SKIP);
            assert_true(cases[i].fits);
        }
        trial_end(&t);
        fixture_release(&f);
    }
}

static void claims_without_a_volume(void **state)
{
    (void)state;
    static const struct {
        const char *claim, *message; /* "": skipped */
    } cases[] = {
        {"none", "persistentvolumeclaim \"none\" not found"},
        {"", "PersistentVolumeClaim had no name"},
        {"lost", "persistentvolume \"gone\" not found"},
        {"plain", "PersistentVolumeClaim had no pv name and storageClass name"},
        {"classless", "storageclass.storage.k8s.io \"gone\" not found"},
        {"immediate", "PersistentVolume had no name"},
        {"unset", "VolumeBindingMode not set for StorageClass \"unset\""},
        {"late", ""},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n", .cpu = "1", .memory = "1Gi");
    const char *const classes[] = {"Immediate", "", "WaitForFirstConsumer"};
    const char *const names[] = {"immediate", "unset", "late"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        fixture_add(&f, object_jsonf(KIND_STORAGE_CLASS,
                                     "{'metadata':{'name':'%s'},'volumeBindingMode':'%s'}",
                                     names[i], classes[i]));
        fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = names[i],
                               .spec = textf("'storageClassName':'%s'", names[i])));
    }
    fixture_add(
        &f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "lost", .spec = "'volumeName':'gone'"));
    fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "plain"));
    fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "classless",
                           .spec = "'storageClassName':'gone'"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        struct buf text = BUF_INIT;
        trial_begin(&t, &f, PLUGIN,
                    POD(.spec = textf("'volumes':[{'name':'v','persistentVolumeClaim':"
                                      "{'claimName':'%s'}}]",
                                      cases[i].claim)));
        assert_int_equal(t.pre_filter,
                         *cases[i].message ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE : BERTH_SKIP);
        status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
        assert_string_equal(buf_cstr(&text), cases[i].message);
        buf_release(&text);
        trial_end(&t);
    }
    fixture_release(&f);
}

static struct object *class_of_mode(const char *mode)
{
    return object_jsonf(KIND_STORAGE_CLASS, "{'metadata':{'name':'s'},'volumeBindingMode':'%s'}",
                        mode);
}

static void hints(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    const struct {
        struct trial_change change;
        enum berth_hint hint;
    } cases[] = {
        {{BERTH_RESOURCE_STORAGE_CLASS, BERTH_ACTION_ADD, NULL,
          class_of_mode("WaitForFirstConsumer")},
         BERTH_QUEUE},
        {{BERTH_RESOURCE_STORAGE_CLASS, BERTH_ACTION_ADD, NULL, class_of_mode("Immediate")},
         BERTH_QUEUE_SKIP},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL,
          OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "c")},
         BERTH_QUEUE},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_UPDATE_OTHER,
          OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "c"),
          OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "c")},
         BERTH_QUEUE},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL,
          OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "d")},
         BERTH_QUEUE_SKIP},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL,
          OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "c", .namespace = "other")},
         BERTH_QUEUE_SKIP},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME, BERTH_ACTION_ADD, NULL, volume("")}, BERTH_QUEUE},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME, BERTH_ACTION_UPDATE_OTHER, volume(ZONE "=a"),
          volume(ZONE "=a,app=x")},
         BERTH_QUEUE_SKIP},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME, BERTH_ACTION_UPDATE_OTHER, volume(ZONE "=a__b"),
          volume(ZONE "=b__a")},
         BERTH_QUEUE_SKIP},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME, BERTH_ACTION_UPDATE_OTHER, volume(ZONE "=a"),
          volume(ZONE "=a__b")},
         BERTH_QUEUE},
        {{BERTH_RESOURCE_PERSISTENT_VOLUME, BERTH_ACTION_UPDATE_OTHER, volume(ZONE "=a"),
          volume(BETA_ZONE "=a")},
         BERTH_QUEUE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(trial_hint(&f, PLUGIN, POD(.spec = USES("c")), cases[i].change),
                         cases[i].hint);
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL));
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_TAINT));
    assert_false(
        trial_is_told(&f, PLUGIN, BERTH_RESOURCE_STORAGE_CLASS, BERTH_ACTION_UPDATE_OTHER));
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    char plugin[] = PLUGIN;
    assert_true(prop_run(PLUGIN ": batch and single form", 100, volume_random_agree, plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_of_volumes_and_nodes),
        cmocka_unit_test(claims_without_a_volume),
        cmocka_unit_test(hints),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
