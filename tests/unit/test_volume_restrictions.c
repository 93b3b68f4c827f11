/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeRestrictions: disks of two pods, and claims for one pod. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "prop.h"
#include "volume_random.h"

#define PLUGIN "VolumeRestrictions"

#define DISK_TEXT "node(s) had no available disk"
#define CLAIM_TEXT                                                                                \
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already " \
    "in-use by another pod"

#define VOLUME(source) "'volumes':[{'name':'v'," source "}]"
#define USES(claim)    VOLUME("'persistentVolumeClaim':{'claimName':'" claim "'}")
#define GCE(name, ro)  VOLUME("'gcePersistentDisk':{'pdName':'" name "','readOnly':" ro "}")
#define EBS(id, ro)    VOLUME("'awsElasticBlockStore':{'volumeID':'" id "','readOnly':" ro "}")
#define ISCSI(iqn, ro) VOLUME("'iscsi':{'iqn':'" iqn "','readOnly':" ro "}")
#define RBD(monitors, pool, image, ro)                                               \
    VOLUME("'rbd':{'monitors':[" monitors "],'pool':'" pool "','image':'" image "'," \
           "'readOnly':" ro "}")
#define MANY_MONITORS "'1','2','3','4','5','6','7','8','9','10'"

static void disks_of_two_pods(void **state)
{
    (void)state;
    static const struct {
        const char *used, *wanted;
        bool conflict;
    } cases[] = {
        {GCE("d", "false"), GCE("d", "false"), true},
        {GCE("d", "true"), GCE("d", "false"), true},
        {GCE("d", "true"), GCE("d", "true"), false},
        {GCE("d", "false"), GCE("e", "false"), false},
        {EBS("d", "true"), EBS("d", "true"), true},
        {EBS("d", "true"), EBS("e", "true"), false},
        {EBS("d", "true"), GCE("d", "false"), false},
        {ISCSI("d", "true"), ISCSI("d", "true"), false},
        {ISCSI("d", "true"), ISCSI("d", "false"), true},
        {RBD("'a','b'", "p", "i", "false"), RBD("'b'", "p", "i", "true"), true},
        {RBD("'a','b'", "p", "i", "true"), RBD("'b'", "p", "i", "true"), false},
        {RBD("'a','b'", "p", "i", "false"), RBD("'c'", "p", "i", "false"), false},
        {RBD("'a'", "p", "i", "false"), RBD("'a'", "q", "i", "false"), false},
        {RBD("'a'", "p", "i", "false"), RBD("'a'", "p", "j", "false"), false},
        {RBD(MANY_MONITORS, "p", "i", "false"), RBD(MANY_MONITORS ",'x'", "p", "i", "false"), true},
        {RBD("'x'," MANY_MONITORS, "p", "i", "false"),
         RBD("'a','b','c','d','e','f','g','h','i','j','k','x'", "p", "i", "false"), true},
        {RBD("'y'," MANY_MONITORS, "p", "i", "false"),
         RBD("'a','b','c','d','e','f','g','h','i','j','k','x'", "p", "i", "false"), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        ADD_NODE(&f, .name = "n", .cpu = "1", .memory = "1Gi");
        ADD_POD(&f, .name = "old", .namespace = "other", .node = "n", .spec = cases[i].used);
        trial_begin(&t, &f, PLUGIN, POD(.spec = cases[i].wanted));
        assert_int_equal(t.pre_filter, BERTH_SUCCESS);
        assert_int_equal(trial_filter(&t, "n"),
                         cases[i].conflict ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS);
        assert_string_equal(t.text, cases[i].conflict ? DISK_TEXT : "");
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
        fixture_release(&f);
    }
}

static struct object *once_claim(const char *name)
{
    return OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = name,
                  .spec = "'accessModes':['ReadWriteOncePod']");
}

static void add_cluster(struct fixture *f)
{
    fixture_init(f, NULL, NULL);
    ADD_NODE(f, .name = "n", .cpu = "8", .memory = "8Gi");
    ADD_NODE(f, .name = "m", .cpu = "8", .memory = "8Gi");
    fixture_add(f, once_claim("one"));
    fixture_add(f, once_claim("two"));
    fixture_add(f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "many",
                          .spec = "'accessModes':['ReadWriteMany']"));
}

static enum berth_code pre_filter(struct fixture *f, const char *spec)
{
    struct trial t;
    trial_begin(&t, f, PLUGIN, POD(.spec = spec));
    enum berth_code code = t.pre_filter;
    if (code == BERTH_SUCCESS) {
        assert_int_equal(trial_filter(&t, "m"), BERTH_UNSCHEDULABLE);
        assert_string_equal(t.text, CLAIM_TEXT);
        assert_true(trial_batches_agree(&t));
    }
    trial_end(&t);
    return code;
}

static void a_claim_for_one_pod(void **state)
{
    (void)state;
    struct fixture f;
    add_cluster(&f);
    assert_int_equal(pre_filter(&f, "'volumes':[]"), BERTH_SKIP);
    assert_int_equal(pre_filter(&f, USES("one")), BERTH_SKIP);
    assert_int_equal(pre_filter(&f, USES("none")), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    struct object *user = POD(.name = "user", .node = "n", .spec = USES("one"));
    ADD_POD(&f, .name = "other", .node = "n", .spec = USES("many"));
    ADD_POD(&f, .name = "stranger", .namespace = "b", .node = "n", .spec = USES("two"));
    fixture_add(&f, object_ref(user));
    assert_int_equal(pre_filter(&f, USES("one")), BERTH_SUCCESS);
    assert_int_equal(pre_filter(&f, USES("two")), BERTH_SKIP);
    assert_int_equal(pre_filter(&f, USES("many")), BERTH_SKIP);
    /* The pods of a node that is gone do not count, until it is there again. */
    fixture_delete(&f, NODE(.name = "n", .cpu = "8", .memory = "8Gi"));
    assert_int_equal(pre_filter(&f, USES("one")), BERTH_SKIP);
    ADD_NODE(&f, .name = "n", .cpu = "8", .memory = "8Gi");
    assert_int_equal(pre_filter(&f, USES("one")), BERTH_SUCCESS);
    fixture_delete(&f, user);
    assert_int_equal(pre_filter(&f, USES("one")), BERTH_SKIP);
    fixture_release(&f);
}

/* A dry run removes pods and adds them again: the verdict is the same as before. */
static void removed_and_added_again(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    struct berth_status status = {0};
    add_cluster(&f);
    ADD_POD(&f, .name = "user", .node = "n", .spec = USES("one"));
    ADD_POD(&f, .name = "stranger", .namespace = "b", .node = "m", .spec = USES("one"));
    trial_begin(&t, &f, PLUGIN, POD(.spec = USES("one")));
    const struct berth_plugin *p = t.handle->plugin;
    const struct berth_node *n = cache_node(&f.engine->cache, STR("n"));
    const struct berth_node *m = cache_node(&f.engine->cache, STR("m"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE);
    p->remove_pod(t.handle->self, t.cycle, t.pod, n->pods.v[0], n, &status);
    assert_int_equal(trial_filter(&t, "n"), BERTH_SUCCESS);
    assert_true(trial_batches_agree(&t));
    p->add_pod(t.handle->self, t.cycle, t.pod, n->pods.v[0], n, &status);
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE);
    /* As upstream, a claim of the same name in another namespace counts here. */
    p->remove_pod(t.handle->self, t.cycle, t.pod, m->pods.v[0], m, &status);
    assert_int_equal(trial_filter(&t, "n"), BERTH_SUCCESS);
    trial_end(&t);
    fixture_release(&f);
}

/* A pod of higher priority takes the claim over. */
static void a_pod_with_the_claim_is_preempted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
                 "profiles: [{plugins: {multiPoint: {disabled: [{name: VolumeBinding}]}}}]}",
                 NULL);
    ADD_NODE(&f, .name = "n", .cpu = "8", .memory = "8Gi");
    fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME, .name = "v"));
    fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "one",
                           .spec = "'accessModes':['ReadWriteOncePod'],'volumeName':'v'"));
    ADD_POD(&f, .name = "low", .node = "n", .spec = USES("one"));
    ADD_POD(&f, .name = "high", .priority = 10, .spec = USES("one"));
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "low"));
    fixture_release(&f);
}

static void hints(void **state)
{
    (void)state;
    struct fixture f;
    add_cluster(&f);
    const struct {
        const char *pod, *gone, *namespace;
        enum berth_hint hint;
    } cases[] = {
        {USES("one"), USES("one"), "default", BERTH_QUEUE},
        {USES("one"), USES("two"), "default", BERTH_QUEUE_SKIP},
        {USES("one"), USES("one"), "other", BERTH_QUEUE_SKIP},
        {GCE("d", "true"), GCE("d", "false"), "default", BERTH_QUEUE},
        {GCE("d", "true"), GCE("d", "true"), "default", BERTH_QUEUE_SKIP},
        {GCE("d", "true"), GCE("d", "false"), "other", BERTH_QUEUE_SKIP},
        {VOLUME("'ephemeral':{}"), USES("p-v"), "default", BERTH_QUEUE_SKIP},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            BERTH_RESOURCE_POD, BERTH_ACTION_DELETE,
            POD(.name = "q", .namespace = cases[i].namespace, .spec = cases[i].gone), NULL};
        assert_int_equal(trial_hint(&f, PLUGIN, POD(.spec = cases[i].pod), change), cases[i].hint);
    }
    struct trial_change added = {BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL,
                                 once_claim("one")};
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.spec = USES("one")), added), BERTH_QUEUE);
    added.after = once_claim("two");
    assert_int_equal(trial_hint(&f, PLUGIN, POD(.spec = USES("one")), added), BERTH_QUEUE_SKIP);
    assert_true(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE));
    assert_false(
        trial_is_told(&f, PLUGIN, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_UPDATE));
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
        cmocka_unit_test(disks_of_two_pods),
        cmocka_unit_test(a_claim_for_one_pod),
        cmocka_unit_test(removed_and_added_again),
        cmocka_unit_test(a_pod_with_the_claim_is_preempted),
        cmocka_unit_test(hints),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
