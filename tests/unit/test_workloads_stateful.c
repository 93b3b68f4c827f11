/* SPDX-License-Identifier: Apache-2.0 */
/* StatefulSets on the real registry with kubelets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "workload_host.h"

#define SECOND NSEC_PER_SEC
#define TEMPLATE(image)                                                                     \
    "'template':{'metadata':{'labels':{'app':'db'},'annotations':{'berth.dev/ready-delay':" \
    "'2s'}},'spec':{'restartPolicy':'Always','containers':[{'name':'c','image':'" image "'}]}}"
#define SET(replicas, more)                                                                \
    "{'metadata':{'name':'db'},'spec':{'replicas':" #replicas                              \
    ",'serviceName':'dbs','podManagementPolicy':'OrderedReady','revisionHistoryLimit':10," \
    "'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'partition':0}},"           \
    "'selector':{'matchLabels':{'app':'db'}}," more TEMPLATE("a") "}}"
#define CLAIMS                                                                    \
    "'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':[" \
    "'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}],"
#define DB "statefulsets.apps db"

static void assert_at(struct host *h, const char *what, const char *path, const char *expected)
{
    assert_string_equal(host_at(h, what, path), expected);
}

static void begin(struct host *h, const char *set)
{
    host_begin(h);
    host_add_nodes(h, 3);
    assert_int_equal(host_create(h, "statefulsets.apps", set), 201);
}

static void test_in_order_with_claims(void **state UNUSED)
{
    struct host h;
    begin(&h, SET(3, CLAIMS));
    host_run_for(&h, SECOND);
    assert_string_equal(host_names(&h, "pods"), "db-0");
    host_run_for(&h, 2 * SECOND);
    assert_string_equal(host_names(&h, "pods"), "db-0 db-1");
    host_run_for(&h, 10 * SECOND);
    assert_string_equal(host_names(&h, "pods"), "db-0 db-1 db-2");
    assert_string_equal(host_names(&h, "persistentvolumeclaims"), "data-db-0 data-db-1 data-db-2");
    assert_at(&h, DB, "status.readyReplicas", "3");
    assert_at(&h, DB, "status.currentReplicas", "3");
    assert_at(&h, DB, "status.updatedReplicas", "3");
    assert_at(&h, DB, "status.availableReplicas", "3");
    assert_string_equal(host_at(&h, DB, "status.currentRevision"),
                        host_names(&h, "controllerrevisions.apps"));
    const struct json_value *labels = json_at(host_get(&h, "pods db-1"), "metadata.labels");
    assert_true(str_is(json_get_text(labels, STR("statefulset.kubernetes.io/pod-name")), "db-1"));
    assert_true(str_is(json_get_text(labels, STR("apps.kubernetes.io/pod-index")), "1"));
    assert_at(&h, "pods db-1", "spec.hostname", "db-1");
    assert_at(&h, "pods db-1", "spec.subdomain", "dbs");
    assert_true(
        host_has_event(&h, "SuccessfulCreate", "create Pod db-1 in StatefulSet db successful"));
    assert_true(host_has_event(&h, "SuccessfulCreate",
                               "create Claim data-db-1 Pod db-1 in StatefulSet db success"));
    /* Down from the highest; claims stay. */
    host_patch(&h, DB, "{'spec':{'replicas':1}}");
    host_run_for(&h, 60 * SECOND);
    assert_string_equal(host_names(&h, "pods"), "db-0");
    assert_int_equal(host_count(&h, "persistentvolumeclaims", "", NULL), 3);
    assert_true(
        host_has_event(&h, "SuccessfulDelete", "delete Pod db-2 in StatefulSet db successful"));
    /* A pod that is deleted comes back with its name. */
    host_delete(&h, "pods db-0");
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, "pods db-0", "status.phase", "Running");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

/* At most one pod is not ready at any time. */
static void check_one_by_one(struct host *h, const struct store_event *event)
{
    bool *on = h->ctx;
    static const struct resource pods = {.plural = STR_INIT("pods")};
    if (!*on || !str_is(event->after->resource->plural, "pods"))
        return;
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    size_t deleting = 0, n = 0;
    store_range_init(&range, s, &pods, STR(""), NULL);
    while ((rev = store_range_next(&range))) {
        n++;
        deleting += str_search(rev->text, STR("deletionTimestamp")) < rev->text.n;
    }
    snapshot_unref(s);
    if (n - deleting < 3 || n > 4)
        fail_msg("%zu pods, %zu of them end", n, deleting);
}

static void test_rolling_update(void **state UNUSED)
{
    struct host h;
    bool on = false;
    begin(&h, SET(4, ""));
    h.observe = check_one_by_one;
    h.ctx = &on;
    host_run_for(&h, 30 * SECOND);
    on = true;
    /* The partition leaves db-0 and db-1. */
    host_patch(&h, DB,
               "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':2}}," TEMPLATE("b") "}}");
    host_run_for(&h, 120 * SECOND);
    assert_at(&h, DB, "status.updatedReplicas", "2");
    assert_at(&h, DB, "status.currentReplicas", "2");
    assert_string_not_equal(host_at(&h, DB, "status.currentRevision"),
                            host_at(&h, DB, "status.updateRevision"));
    host_patch(&h, DB, "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':0}}}}");
    host_run_for(&h, 120 * SECOND);
    assert_at(&h, DB, "status.updatedReplicas", "4");
    assert_string_equal(host_at(&h, DB, "status.currentRevision"),
                        host_at(&h, DB, "status.updateRevision"));
    assert_int_equal(host_count(&h, "controllerrevisions.apps", "revision", "2"), 1);
    /* Back: the first revision gets the number 3. */
    host_patch(&h, DB, "{'spec':{" TEMPLATE("a") "}}");
    host_run_for(&h, 200 * SECOND);
    assert_int_equal(host_count(&h, "controllerrevisions.apps", "", NULL), 2);
    assert_int_equal(host_count(&h, "controllerrevisions.apps", "revision", "3"), 1);
    assert_at(&h, DB, "status.updatedReplicas", "4");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_parallel_with_start(void **state UNUSED)
{
    struct host h;
    begin(&h, SET(3, "'ordinals':{'start':5},'minReadySeconds':10,"));
    host_delete(&h, DB);
    host_run_for(&h, SECOND);
    host_end(&h);
    host_begin(&h);
    host_add_nodes(&h, 3);
    host_create(&h, "statefulsets.apps",
                "{'metadata':{'name':'db'},'spec':{'replicas':3,'podManagementPolicy':'Parallel',"
                "'ordinals':{'start':5},'minReadySeconds':10,'updateStrategy':{'type':"
                "'RollingUpdate'},'selector':{'matchLabels':{'app':'db'}}," TEMPLATE("a") "}}");
    host_run_for(&h, SECOND);
    assert_string_equal(host_names(&h, "pods"), "db-5 db-6 db-7");
    host_run_for(&h, 5 * SECOND);
    assert_at(&h, DB, "status.readyReplicas", "3");
    assert_at(&h, DB, "status.availableReplicas", "0");
    host_run_for(&h, 10 * SECOND);
    assert_at(&h, DB, "status.availableReplicas", "3");
    host_patch(&h, DB, "{'spec':{'replicas':0}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 0);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_retention_policy(void **state UNUSED)
{
    struct host h;
    begin(&h, SET(2, CLAIMS "'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete',"
                            "'whenScaled':'Delete'},"));
    host_run_for(&h, 30 * SECOND);
    struct json_items refs =
        json_items_at(host_get(&h, "persistentvolumeclaims data-db-1"), "metadata.ownerReferences");
    assert_int_equal(refs.n, 1);
    assert_true(str_is(json_get_text(&refs.v[0], STR("kind")), "StatefulSet"));
    host_patch(&h, DB, "{'spec':{'replicas':1}}");
    host_run_for(&h, 60 * SECOND);
    refs =
        json_items_at(host_get(&h, "persistentvolumeclaims data-db-1"), "metadata.ownerReferences");
    assert_int_equal(refs.n, 1);
    assert_true(str_is(json_get_text(&refs.v[0], STR("kind")), "Pod"));
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order_with_claims),
        cmocka_unit_test(test_rolling_update),
        cmocka_unit_test(test_parallel_with_start),
        cmocka_unit_test(test_retention_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
