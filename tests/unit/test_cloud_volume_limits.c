/* SPDX-License-Identifier: Apache-2.0 */
/* EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits: the disks of one cloud on a node. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "prop.h"

#define CONFIG                                          \
    "apiVersion: kubescheduler.config.k8s.io/v1beta3\n" \
    "kind: KubeSchedulerConfiguration\n"                \
    "profiles:\n"                                       \
    "- plugins:\n"                                      \
    "    multiPoint:\n"                                 \
    "      enabled:\n"                                  \
    "      - name: EBSLimits\n"                         \
    "      - name: GCEPDLimits\n"                       \
    "      - name: AzureDiskLimits\n"                   \
    "      - name: CinderLimits\n"

#define EXCEEDED "node(s) exceed max volume count"

static const struct cloud {
    const char *plugin, *source, *id, *provisioner, *resource;
    int max;
} clouds[] = {
    {"EBSLimits", "awsElasticBlockStore", "volumeID", "aws-ebs", "aws-ebs", 39},
    {"GCEPDLimits", "gcePersistentDisk", "pdName", "gce-pd", "gce-pd", 16},
    {"AzureDiskLimits", "azureDisk", "diskName", "azure-disk", "azure-disk", 16},
    {"CinderLimits", "cinder", "volumeID", "cinder", "cinder", 256},
};

/* A volume of the pod itself; an azureDisk also needs its URI. */
static const char *disk(const struct cloud *c, int id)
{
    return textf("{'name':'d%d','%s':{'%s':'d%d','diskURI':'u'}}", id, c->source, c->id, id);
}

static const char *claim(const char *name)
{
    return textf("{'name':'%s','persistentVolumeClaim':{'claimName':'%s'}}", name, name);
}

/* Fills the node with n disks, one pod each. */
static void fill(struct fixture *f, const struct cloud *c, int n)
{
    for (int i = 0; i < n; i++)
        ADD_POD(f, .name = textf("on-%d", i), .node = "n",
                .spec = textf("'volumes':[%s]", disk(c, i)));
}

static void assert_verdict(struct fixture *f, const struct cloud *c, const char *volumes,
                           enum berth_code code, const char *text)
{
    struct trial t;
    trial_begin(&t, f, c->plugin, POD(.spec = textf("'volumes':[%s]", volumes)));
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    assert_int_equal(trial_filter(&t, "n"), code);
    assert_string_equal(t.text, text);
    trial_end(&t);
}

static void each_cloud_has_its_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        const struct cloud *c = &clouds[i];
        struct fixture f;
        fixture_init(&f, CONFIG, NULL);
        ADD_NODE(&f, .name = "n");
        fill(&f, c, c->max - 1);
        assert_verdict(&f, c, disk(c, 1000), BERTH_SUCCESS, "");
        ADD_POD(&f, .name = "last", .node = "n", .spec = textf("'volumes':[%s]", disk(c, 1000)));
        assert_verdict(&f, c, disk(c, 1001), BERTH_UNSCHEDULABLE, EXCEEDED);
        /* A disk that is attached already, and those of other clouds. */
        assert_verdict(&f, c, disk(c, 3), BERTH_SUCCESS, "");
        const struct cloud *other = &clouds[(i + 1) % ARRAY_LEN(clouds)];
        assert_verdict(&f, other, disk(other, 1001), BERTH_SUCCESS, "");
        fixture_release(&f);
    }
}

static void a_node_may_say_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        const struct cloud *c = &clouds[i];
        struct fixture f;
        fixture_init(&f, CONFIG, NULL);
        ADD_NODE(&f, .name = "n", .cpu = "1", .memory = "1Gi",
                 .allocatable = textf("attachable-volumes-%s=2", c->resource));
        fill(&f, c, 1);
        assert_verdict(&f, c, disk(c, 1000), BERTH_SUCCESS, "");
        assert_verdict(&f, c, textf("%s,%s", disk(c, 1000), disk(c, 1001)), BERTH_UNSCHEDULABLE,
                       EXCEEDED);
        fixture_release(&f);
    }
}

static void nitro_instances_attach_fewer(void **state)
{
    (void)state;
    static const struct {
        const char *labels;
        bool fits;
    } cases[] = {
        {"node.kubernetes.io/instance-type=m5.large", false},
        {"beta.kubernetes.io/instance-type=z1d.metal", false},
        {"node.kubernetes.io/instance-type=t3.micro", false},
        {"node.kubernetes.io/instance-type=m4.large", true},
        {"node.kubernetes.io/instance-type=xm5", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init(&f, CONFIG, NULL);
        ADD_NODE(&f, .name = "n", .labels = cases[i].labels);
        fill(&f, &clouds[0], 25);
        assert_verdict(&f, &clouds[0], disk(&clouds[0], 1000),
                       cases[i].fits ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE,
                       cases[i].fits ? "" : EXCEEDED);
        fixture_release(&f);
    }
}

/* Bound to a disk, and not bound: of a class of this cloud or of another. */
static void claims_count_by_volume_or_class(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        const struct cloud *c = &clouds[i];
        struct fixture f;
        fixture_init(&f, CONFIG, NULL);
        ADD_NODE(&f, .name = "n");
        fill(&f, c, c->max);
        fixture_add(&f, object_jsonf(KIND_STORAGE_CLASS,
                                     "{'metadata':{'name':'own'},'provisioner':'kubernetes.io/%s'}",
                                     c->provisioner));
        fixture_add(&f, object_jsonf(KIND_STORAGE_CLASS,
                                     "{'metadata':{'name':'other'},'provisioner':'x.y'}"));
        fixture_add(&f, OBJECT(KIND_PERSISTENT_VOLUME, .name = "pv",
                               .spec = textf("'%s':{'%s':'d3','diskURI':'u'}", c->source, c->id)));
        static const char *const specs[][2] = {{"bound", "'volumeName':'pv'"},
                                               {"lost", "'volumeName':'gone',"
                                                        "'storageClassName':'own'"},
                                               {"own", "'storageClassName':'own'"},
                                               {"other", "'storageClassName':'other'"},
                                               {"none", ""}};
        for (size_t k = 0; k < ARRAY_LEN(specs); k++)
            fixture_add(
                &f, OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = specs[k][0], .spec = specs[k][1]));
        assert_verdict(&f, c, claim("bound"), BERTH_SUCCESS, ""); /* disk d3 is attached */
        assert_verdict(&f, c, claim("lost"), BERTH_UNSCHEDULABLE, EXCEEDED);
        assert_verdict(&f, c, claim("own"), BERTH_UNSCHEDULABLE, EXCEEDED);
        assert_verdict(&f, c, claim("other"), BERTH_SUCCESS, "");
        assert_verdict(&f, c, claim("none"), BERTH_SUCCESS, "");
        assert_verdict(&f, c, claim("missing"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                       "looking up PVC default/missing: persistentvolumeclaim \"missing\" not "
                       "found");
        fixture_release(&f);
    }
}

static void migrated_nodes_are_left_to_the_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        const struct cloud *c = &clouds[i];
        struct fixture f;
        fixture_init(&f, CONFIG, NULL);
        ADD_NODE(&f, .name = "n");
        fill(&f, c, c->max);
        fixture_add(&f, object_jsonf(KIND_CSI_NODE,
                                     "{'metadata':{'name':'n','annotations':{"
                                     "'storage.alpha.kubernetes.io/migrated-plugins':"
                                     "'kubernetes.io/x,kubernetes.io/%s'}},'spec':{}}",
                                     c->provisioner));
        assert_verdict(&f, c, disk(c, 1000), BERTH_SUCCESS, "");
        fixture_release(&f);
    }
}

static void pods_without_disks_are_skipped(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, CONFIG, NULL);
    ADD_NODE(&f, .name = "n");
    trial_begin(&t, &f, "EBSLimits", POD(.spec = textf("'volumes':[%s]", disk(&clouds[1], 1))));
    assert_int_equal(t.pre_filter, BERTH_SKIP);
    trial_end(&t);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cloud_has_its_limit),
        cmocka_unit_test(a_node_may_say_its_own),
        cmocka_unit_test(nitro_instances_attach_fewer),
        cmocka_unit_test(claims_count_by_volume_or_class),
        cmocka_unit_test(migrated_nodes_are_left_to_the_driver),
        cmocka_unit_test(pods_without_disks_are_skipped),
    };
    return cmocka_run_group_tests_name("cloud_volume_limits", tests, NULL, NULL);
}
