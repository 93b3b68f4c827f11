/* SPDX-License-Identifier: Apache-2.0 */
/* NodeVolumeLimits: volumes on a node, volumes of a pod, and the limits of drivers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "prop.h"
#include "volume_random.h"

#define PLUGIN "NodeVolumeLimits"

#define DRIVER   "csi.example"
#define EXCEEDED "node(s) exceed max volume count"

#define CLAIM(name)   "{'name':'" name "','persistentVolumeClaim':{'claimName':'" name "'}}"
#define EBS(id)       "{'name':'" id "','awsElasticBlockStore':{'volumeID':'" id "'}}"
#define POD_WITH(...) POD(.spec = textf("'volumes':[%s]", __VA_ARGS__))

static struct object *csi_node(const char *driver, int limit)
{
    return object_jsonf(KIND_CSI_NODE,
                        "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'%s','allocatable':"
                        "{'count':%d}}]}}",
                        driver, limit);
}

static void add_volume(struct fixture *f, const char *name, const char *source)
{
    fixture_add(f, OBJECT(KIND_PERSISTENT_VOLUME, .name = name, .spec = source));
    fixture_add(f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = name,
                          .spec = textf("'volumeName':'%s'", name)));
}

static void add_csi_volume(struct fixture *f, const char *name)
{
    add_volume(f, name, textf("'csi':{'driver':'" DRIVER "','volumeHandle':'%s'}", name));
}

static void begin(struct fixture *f, int limit)
{
    fixture_init(f, NULL, NULL);
    ADD_NODE(f, .name = "n", .cpu = "8", .memory = "8Gi");
    fixture_add(f, csi_node(DRIVER, limit));
    for (int i = 0; i < 4; i++)
        add_csi_volume(f, textf("v%d", i));
    ADD_POD(f, .name = "old", .node = "n", .spec = "'volumes':[" CLAIM("v0") "," CLAIM("v1") "]");
}

static void assert_fits(struct fixture *f, struct object *pod, bool fits)
{
    struct trial t;
    trial_begin(&t, f, PLUGIN, pod);
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n"), fits ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE);
    assert_string_equal(t.text, fits ? "" : EXCEEDED);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
}

static void the_limit_of_a_driver(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    assert_fits(&f, POD_WITH(CLAIM("v2")), true);
    assert_fits(&f, POD_WITH(CLAIM("v2") "," CLAIM("v3")), false);
    /* A volume that a pod on the node uses is not new, even if the node has too many. */
    assert_fits(&f, POD_WITH(CLAIM("v1") "," CLAIM("v3")), true);
    fixture_update(&f, csi_node(DRIVER, 3), csi_node(DRIVER, 1));
    assert_fits(&f, POD_WITH(CLAIM("v0") "," CLAIM("v1")), true);
    assert_fits(&f, POD_WITH(CLAIM("v2")), false);
    /* Other drivers are not limited. */
    fixture_update(&f, csi_node(DRIVER, 1), csi_node("other.example", 0));
    assert_fits(&f, POD_WITH(CLAIM("v2") "," CLAIM("v3")), true);
    fixture_delete(&f, csi_node("other.example", 0));
    assert_fits(&f, POD_WITH(CLAIM("v2") "," CLAIM("v3")), true);
    fixture_release(&f);
}

static struct object *attachment(const char *volume)
{
    return object_jsonf(KIND_VOLUME_ATTACHMENT,
                        "{'metadata':{'name':'a-%s'},'spec':{'attacher':'" DRIVER
                        "','nodeName':'n','source':{'persistentVolumeName':'%s'}}}",
                        volume, volume);
}

static void attached_volumes_count(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    fixture_add(&f, attachment("v0")); /* used by a pod anyway */
    assert_fits(&f, POD_WITH(CLAIM("v2")), true);
    fixture_add(&f, attachment("v3"));
    assert_fits(&f, POD_WITH(CLAIM("v2")), false);
    /* As upstream, an attached volume that no pod uses counts as well as the pod's. */
    assert_fits(&f, POD_WITH(CLAIM("v3")), false);
    fixture_delete(&f, attachment("v3"));
    assert_fits(&f, POD_WITH(CLAIM("v2")), true);
    fixture_release(&f);
}

static void add_class(struct fixture *f, const char *name, const char *provisioner)
{
    fixture_add(f, object_jsonf(KIND_STORAGE_CLASS, "{'metadata':{'name':'%s'},'provisioner':'%s'}",
                                name, provisioner));
}

static void claims_without_a_volume_count_for_their_class(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    add_class(&f, "fast", DRIVER);
    add_class(&f, "gce", "kubernetes.io/gce-pd");
    const char *const names[] = {"new", "newer", "local", "odd", "none"};
    const char *const classes[] = {"fast", "fast", "gce", "missing", ""};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = names[i],
                               .spec = textf("'storageClassName':'%s'", classes[i])));
    assert_fits(&f, POD_WITH(CLAIM("new")), true);
    assert_fits(&f, POD_WITH(CLAIM("new") "," CLAIM("newer")), false);
    assert_fits(&f, POD_WITH(CLAIM("new") "," CLAIM("local")), true);
    assert_fits(&f, POD_WITH(CLAIM("new") "," CLAIM("odd") "," CLAIM("none")), true);
    ADD_POD(&f, .name = "user", .node = "n", .spec = "'volumes':[" CLAIM("new") "]");
    assert_fits(&f, POD_WITH(CLAIM("new")), true);
    assert_fits(&f, POD_WITH(CLAIM("newer")), false);
    /* Its class appears: now it counts. */
    add_class(&f, "missing", DRIVER);
    fixture_update(&f, csi_node(DRIVER, 3), csi_node(DRIVER, 4));
    assert_fits(&f, POD_WITH(CLAIM("newer")), true);
    assert_fits(&f, POD_WITH(CLAIM("newer") "," CLAIM("odd")), false);
    fixture_release(&f);
}

static void in_tree_volumes_are_those_of_their_driver(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    ADD_POD(&f, .name = "disk", .node = "n", .spec = "'volumes':[" EBS("vol-1") "]");
    add_volume(&f, "same", "'awsElasticBlockStore':{'volumeID':'aws://zone/vol-1'}");
    add_volume(&f, "another", "'awsElasticBlockStore':{'volumeID':'vol-2'}");
    add_volume(&f, "file", "'azureFile':{'secretName':'s','shareName':'f'}");
    fixture_update(&f, csi_node(DRIVER, 3), csi_node("ebs.csi.aws.com", 1));
    assert_fits(&f, POD_WITH(EBS("vol-1")), true);
    assert_fits(&f, POD_WITH(CLAIM("same")), true);
    assert_fits(&f, POD_WITH(CLAIM("another")), false);
    assert_fits(&f, POD_WITH(EBS("vol-3")), false);
    assert_fits(&f, POD_WITH(CLAIM("file")), true);
    fixture_delete(&f, csi_node("ebs.csi.aws.com", 1));
    assert_fits(&f, POD_WITH(EBS("vol-3")), true);
    fixture_release(&f);
}

#define EPHEMERAL "{'name':'e','ephemeral':{'volumeClaimTemplate':{}}}"

static struct object *claim_of(const char *pod, const char *owner)
{
    return object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                        "{'metadata':{'name':'%s-e','namespace':'default','ownerReferences':[{"
                        "'kind':'Pod','name':'%s','uid':'%s','controller':true}]},'spec':{"
                        "'storageClassName':'fast'}}",
                        pod, pod, owner);
}

static void assert_verdict(struct fixture *f, struct object *pod, enum berth_code code,
                           const char *text)
{
    struct trial t;
    trial_begin(&t, f, PLUGIN, pod);
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n"), code);
    assert_string_equal(t.text, text);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
}

static void ephemeral_volumes_have_an_owner(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    add_class(&f, "fast", DRIVER);
    assert_verdict(&f, POD_WITH(EPHEMERAL), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                   "looking up PVC default/p-e: persistentvolumeclaim \"p-e\" not found");
    fixture_add(&f, claim_of("p", "another"));
    assert_verdict(&f, POD_WITH(EPHEMERAL), BERTH_ERROR,
                   "PVC default/p-e was not created for pod default/p (pod is not owner)");
    fixture_update(&f, claim_of("p", "another"), claim_of("p", "p"));
    assert_verdict(&f, POD_WITH(EPHEMERAL), BERTH_UNSCHEDULABLE, EXCEEDED);
    /* A pod on the node whose claim is another's: nobody knows how many volumes there are. */
    fixture_add(&f, claim_of("q", "another"));
    ADD_POD(&f, .name = "q", .node = "n", .spec = "'volumes':[" EPHEMERAL "]");
    assert_verdict(&f, POD_WITH(CLAIM("v2")), BERTH_ERROR,
                   "PVC default/q-e was not created for pod default/q (pod is not owner)");
    fixture_release(&f);
}

static void a_driver_that_is_not_installed(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct fixture f;
        fixture_init_features(&f, NULL, on ? "VolumeLimitScaling=true" : "");
        ADD_NODE(&f, .name = "n", .cpu = "8", .memory = "8Gi");
        add_csi_volume(&f, "v0");
        assert_verdict(&f, POD_WITH(CLAIM("v0")), BERTH_SUCCESS, "");
        fixture_add(&f, object_jsonf(KIND_CSI_DRIVER,
                                     "{'metadata':{'name':'" DRIVER
                                     "'},'spec':{'preventPodSchedulingIfMissing':true}}"));
        enum berth_code code = on ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
        const char *text = on ? DRIVER " CSI driver is not installed on the node" : "";
        assert_verdict(&f, POD_WITH(CLAIM("v0")), code, text);
        fixture_add(&f, csi_node("other.example", 1));
        assert_verdict(&f, POD_WITH(CLAIM("v0")), code, text);
        fixture_update(&f, csi_node("other.example", 1), csi_node(DRIVER, 1));
        assert_verdict(&f, POD_WITH(CLAIM("v0")), BERTH_SUCCESS, "");
        fixture_release(&f);
    }
}

static void hints(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    const char *const claim = "'volumes':[" CLAIM("v") "]",
                      *const disk = "'volumes':[" EBS("d") "]",
                      *const ephemeral = "'volumes':[" EPHEMERAL "]",
                      *const empty = "'volumes':[{'name':'v','emptyDir':{}}]";
    struct object *foreign = object_jsonf(
        KIND_VOLUME_ATTACHMENT, "{'metadata':{'name':'x'},'spec':{'attacher':'ebs.csi.aws.com'}}");
    const struct {
        const char *pod;
        struct trial_change change;
        enum berth_hint hint;
    } cases[] = {
        {claim,
         {BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_ADD, NULL, csi_node(DRIVER, 0)},
         BERTH_QUEUE},
        {claim,
         {BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_UPDATE_OTHER, csi_node(DRIVER, 1),
          csi_node(DRIVER, 2)},
         BERTH_QUEUE},
        {claim,
         {BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_UPDATE_OTHER, csi_node(DRIVER, 2),
          csi_node(DRIVER, 2)},
         BERTH_QUEUE_SKIP},
        {claim,
         {BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_UPDATE_OTHER, csi_node("x", 2),
          csi_node(DRIVER, 1)},
         BERTH_QUEUE},
        {claim,
         {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, POD(.name = "q", .node = "n", .spec = claim),
          NULL},
         BERTH_QUEUE},
        {claim,
         {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, POD(.name = "q", .spec = claim), NULL},
         BERTH_QUEUE_SKIP},
        {claim,
         {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, POD(.name = "q", .nominated = "n", .spec = disk),
          NULL},
         BERTH_QUEUE},
        {claim,
         {BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, POD(.name = "q", .node = "n", .spec = empty),
          NULL},
         BERTH_QUEUE_SKIP},
        {claim,
         {BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL,
          OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "v")},
         BERTH_QUEUE},
        {ephemeral,
         {BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL, claim_of("p", "p")},
         BERTH_QUEUE},
        {claim,
         {BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL, claim_of("p", "p")},
         BERTH_QUEUE_SKIP},
        {claim,
         {BERTH_RESOURCE_VOLUME_ATTACHMENT, BERTH_ACTION_DELETE, attachment("v"), NULL},
         BERTH_QUEUE},
        {disk,
         {BERTH_RESOURCE_VOLUME_ATTACHMENT, BERTH_ACTION_DELETE, attachment("v"), NULL},
         BERTH_QUEUE_SKIP},
        {disk, {BERTH_RESOURCE_VOLUME_ATTACHMENT, BERTH_ACTION_DELETE, foreign, NULL}, BERTH_QUEUE},
        {ephemeral,
         {BERTH_RESOURCE_VOLUME_ATTACHMENT, BERTH_ACTION_DELETE, attachment("v"), NULL},
         BERTH_QUEUE_SKIP},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(trial_hint(&f, PLUGIN, POD(.spec = cases[i].pod), cases[i].change),
                         cases[i].hint);
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    fixture_release(&f);
}

static void pods_without_such_volumes_skip(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, 0);
    trial_begin(&t, &f, PLUGIN,
                POD_WITH("{'name':'v','emptyDir':{}},{'name':'c','csi':{'driver':'x'}}"));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    trial_end(&t);
    fixture_release(&f);
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    char plugin[] = PLUGIN;
    assert_true(prop_run(PLUGIN ": batch and single form", 200, volume_random_agree, plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_of_a_driver),
        cmocka_unit_test(attached_volumes_count),
        cmocka_unit_test(claims_without_a_volume_count_for_their_class),
        cmocka_unit_test(in_tree_volumes_are_those_of_their_driver),
        cmocka_unit_test(ephemeral_volumes_have_an_owner),
        cmocka_unit_test(a_driver_that_is_not_installed),
        cmocka_unit_test(hints),
        cmocka_unit_test(pods_without_such_volumes_skip),
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
