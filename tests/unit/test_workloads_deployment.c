/* SPDX-License-Identifier: Apache-2.0 */
/* ReplicaSets, ReplicationControllers and Deployments on the real registry with kubelets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "workload_host.h"

#define SECOND NSEC_PER_SEC
#define TEMPLATE(image)                                                                 \
    "'template':{'metadata':{'labels':{'app':'web'}},'spec':{'restartPolicy':'Always'," \
    "'terminationGracePeriodSeconds':30,'containers':[{'name':'c','image':'" image "'}]}}"
#define RS(name, replicas)                                          \
    "{'metadata':{'name':'" name "'},'spec':{'replicas':" #replicas \
    ",'selector':{'matchLabels':{'app':'web'}}," TEMPLATE("a") "}}"
#define DEPLOYMENT(replicas, more)                                                 \
    "{'metadata':{'name':'web'},'spec':{'replicas':" #replicas                     \
    ",'revisionHistoryLimit':10,'progressDeadlineSeconds':600,'strategy':{'type':" \
    "'RollingUpdate','rollingUpdate':{'maxSurge':'25%','maxUnavailable':'25%'}},"  \
    "'selector':{'matchLabels':{'app':'web'}}," more TEMPLATE("a") "}}"
#define WEB "deployments.apps web"

static void assert_at(struct host *h, const char *what, const char *path, const char *expected)
{
    assert_string_equal(host_at(h, what, path), expected);
}

static void test_replica_set(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 3);
    assert_int_equal(host_create(&h, "replicasets.apps", RS("web", 3)), 201);
    host_run_for(&h, SECOND);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Running"), 3);
    assert_at(&h, "replicasets.apps web", "status.replicas", "3");
    assert_at(&h, "replicasets.apps web", "status.fullyLabeledReplicas", "3");
    assert_at(&h, "replicasets.apps web", "status.readyReplicas", "3");
    assert_at(&h, "replicasets.apps web", "status.availableReplicas", "3");
    assert_at(&h, "replicasets.apps web", "status.terminatingReplicas", "0");
    assert_at(&h, "replicasets.apps web", "status.observedGeneration", "1");
    char *message = xasprintf("Created pod: %.9s", host_names(&h, "pods"));
    assert_true(host_has_event(&h, "SuccessfulCreate", message));
    free(message);
    assert_true(host_is_idle(&h));
    /* Down, and to zero. */
    assert_int_equal(host_patch(&h, "replicasets.apps web", "{'spec':{'replicas':1}}"), 200);
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 1);
    assert_int_equal(host_patch(&h, "replicasets.apps web", "{'spec':{'replicas':0}}"), 200);
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 0);
    assert_at(&h, "replicasets.apps web", "status.replicas", "0");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_adoption_and_release(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 1);
    assert_int_equal(host_create(&h, "pods",
                                 "{'metadata':{'name':'alone','labels':{'app':'web'}},'spec':{"
                                 "'containers':[{'name':'c','image':'i'}]}}"),
                     201);
    assert_int_equal(host_create(&h, "replicationcontrollers",
                                 "{'metadata':{'name':'rc'},'spec':{'replicas':2,'selector':{"
                                 "'app':'web'}," TEMPLATE("a") "}}"),
                     201);
    host_run_for(&h, SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 2);
    const struct json_value *pod = host_get(&h, "pods alone");
    struct json_items refs = json_items_at(pod, "metadata.ownerReferences");
    assert_int_equal(refs.n, 1);
    assert_true(str_is(json_get_text(&refs.v[0], STR("kind")), "ReplicationController"));
    assert_at(&h, "replicationcontrollers rc", "status.terminatingReplicas", "");
    /* A pod whose labels no longer match is released and replaced. */
    host_patch(&h, "pods alone", "{'metadata':{'labels':{'app':'other'}}}");
    host_run_for(&h, SECOND);
    assert_at(&h, "pods alone", "metadata.ownerReferences", "");
    assert_int_equal(host_count(&h, "pods", "", NULL), 3);
    assert_at(&h, "replicationcontrollers rc", "status.replicas", "2");
    /* And taken back: one too many. */
    host_patch(&h, "pods alone", "{'metadata':{'labels':{'app':'web'}}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 2);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_min_ready_seconds(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 1);
    host_create(&h, "replicasets.apps",
                "{'metadata':{'name':'web'},'spec':{'replicas':2,'minReadySeconds':10,'selector':{"
                "'matchLabels':{'app':'web'}}," TEMPLATE("a") "}}");
    host_run_for(&h, 5 * SECOND);
    assert_at(&h, "replicasets.apps web", "status.readyReplicas", "2");
    assert_at(&h, "replicasets.apps web", "status.availableReplicas", "");
    host_run_for(&h, 6 * SECOND);
    assert_at(&h, "replicasets.apps web", "status.availableReplicas", "2");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_large_replica_set(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    h.without_scheduler = true;
    host_create(&h, "replicasets.apps", RS("web", 10000));
    host_run_for(&h, SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 10000);
    assert_at(&h, "replicasets.apps web", "status.replicas", "10000");
    /* Events are bounded, and so are status updates. */
    assert_in_range(h.n_events, 10, 30);
    assert_in_range(h.n_writes, 10000, 10200);
    host_end(&h);
}

static void test_deployment_comes_up(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 5);
    assert_int_equal(host_create(&h, "deployments.apps", DEPLOYMENT(10, "")), 201);
    host_run_for(&h, SECOND);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Running"), 10);
    assert_at(&h, WEB, "status.readyReplicas", "10");
    assert_at(&h, WEB, "status.updatedReplicas", "10");
    assert_at(&h, WEB, "status.availableReplicas", "10");
    assert_at(&h, WEB, "status.unavailableReplicas", "");
    assert_at(&h, WEB, "status.observedGeneration", "1");
    assert_string_equal(host_condition(&h, WEB, "Available"), "True MinimumReplicasAvailable");
    assert_string_equal(host_condition(&h, WEB, "Progressing"), "True NewReplicaSetAvailable");
    assert_int_equal(host_count(&h, "replicasets.apps", "", NULL), 1);
    char *message =
        xasprintf("Scaled up replica set %s from 0 to 10", host_names(&h, "replicasets.apps"));
    assert_true(host_has_event(&h, "ScalingReplicaSet", message));
    free(message);
    /* To zero and back. */
    host_patch(&h, WEB, "{'spec':{'replicas':0}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 0);
    host_patch(&h, WEB, "{'spec':{'replicas':3}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Running"), 3);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

/* --- rolling updates -------------------------------------------------------------------------- */

struct limits {
    size_t least_ready, most;
    bool on;
    size_t n_seen;
};

/* At every change of a pod: enough are ready, and not too many exist. */
static void check_limits(struct host *h, const struct store_event *event)
{
    struct limits *l = h->ctx;
    if (!l->on || !str_is(event->after->resource->plural, "pods"))
        return;
    static const struct resource pods = {.plural = STR_INIT("pods")};
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    size_t n = 0, ready = 0;
    store_range_init(&range, s, &pods, STR(""), NULL);
    while ((rev = store_range_next(&range))) {
        if (str_search(rev->text, STR("deletionTimestamp")) < rev->text.n)
            continue;
        n++;
        struct str is_ready = STR("\"type\":\"Ready\"");
        size_t at = str_search(rev->text, is_ready);
        struct str after = str_slice(rev->text, at, at + 200);
        size_t end = str_find(after, '}');
        ready += str_search(str_slice(after, 0, end), STR("\"status\":\"True\"")) < end;
    }
    snapshot_unref(s);
    l->n_seen++;
    if (n > l->most || ready < l->least_ready)
        fail_msg("%zu pods, %zu ready", n, ready);
}

static void test_rolling_update(void **state UNUSED)
{
    struct host h;
    struct limits limits = {.least_ready = 8, .most = 13};
    host_begin(&h);
    h.observe = check_limits;
    h.ctx = &limits;
    host_add_nodes(&h, 5);
    host_create(&h, "deployments.apps", DEPLOYMENT(10, ""));
    host_run_for(&h, SECOND);
    limits.on = true;
    host_patch(&h, WEB, "{'spec':{" TEMPLATE("b") "}}");
    host_run_for(&h, 120 * SECOND);
    assert_true(limits.n_seen > 20);
    assert_int_equal(host_count(&h, "pods", "", NULL), 10);
    assert_at(&h, WEB, "status.updatedReplicas", "10");
    assert_at(&h, WEB, "status.replicas", "10");
    assert_at(&h, WEB, "metadata.annotations", "{\"deployment.kubernetes.io/revision\":\"2\"}");
    assert_string_equal(host_condition(&h, WEB, "Progressing"), "True NewReplicaSetAvailable");
    assert_int_equal(host_count(&h, "replicasets.apps", "", NULL), 2);
    assert_int_equal(host_count(&h, "replicasets.apps", "spec.replicas", "0"), 1);
    /* Back to the first template, as kubectl rollout undo does. */
    host_patch(&h, WEB, "{'spec':{" TEMPLATE("a") "}}");
    host_run_for(&h, 120 * SECOND);
    assert_int_equal(host_count(&h, "replicasets.apps", "", NULL), 2);
    assert_at(&h, WEB, "metadata.annotations", "{\"deployment.kubernetes.io/revision\":\"3\"}");
    assert_int_equal(host_count(&h, "pods", "", NULL), 10);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_recreate(void **state UNUSED)
{
    struct host h;
    struct limits limits = {.most = 3};
    host_begin(&h);
    h.observe = check_limits;
    h.ctx = &limits;
    host_add_nodes(&h, 2);
    host_create(&h, "deployments.apps", DEPLOYMENT(3, ""));
    host_run_for(&h, SECOND);
    limits.on = true;
    host_patch(&h, WEB,
               "{'spec':{'strategy':{'type':'Recreate','rollingUpdate':null}," TEMPLATE("b") "}}");
    host_run_for(&h, 120 * SECOND);
    assert_at(&h, WEB, "status.updatedReplicas", "3");
    assert_int_equal(host_count(&h, "pods", "", NULL), 3);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_pause_and_deadline(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 2);
    host_create(&h, "deployments.apps", DEPLOYMENT(4, ""));
    host_run_for(&h, SECOND);
    host_patch(&h, WEB, "{'spec':{'paused':true," TEMPLATE("b") "}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "replicasets.apps", "", NULL), 1);
    assert_string_equal(host_condition(&h, WEB, "Progressing"), "Unknown DeploymentPaused");
    /* Pods that never get a node: the deadline passes. */
    h.without_scheduler = true;
    host_patch(&h, WEB, "{'spec':{'paused':false}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "replicasets.apps", "", NULL), 2);
    assert_string_equal(host_condition(&h, WEB, "Progressing"), "True ReplicaSetUpdated");
    host_run_for(&h, 700 * SECOND);
    assert_string_equal(host_condition(&h, WEB, "Progressing"), "False ProgressDeadlineExceeded");
    assert_string_equal(host_condition(&h, WEB, "Available"), "True MinimumReplicasAvailable");
    h.without_scheduler = false;
    host_run_for(&h, 60 * SECOND);
    assert_string_equal(host_condition(&h, WEB, "Progressing"), "True NewReplicaSetAvailable");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_proportional_scaling(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 2);
    host_create(&h, "deployments.apps", DEPLOYMENT(10, ""));
    host_run_for(&h, SECOND);
    h.without_scheduler = true;
    host_patch(&h, WEB, "{'spec':{" TEMPLATE("b") "}}");
    host_run_for(&h, 60 * SECOND);
    /* 8 of the old, 5 of the new. */
    assert_int_equal(host_count(&h, "replicasets.apps", "spec.replicas", "8"), 1);
    assert_int_equal(host_count(&h, "replicasets.apps", "spec.replicas", "5"), 1);
    host_patch(&h, WEB, "{'spec':{'replicas':20}}");
    host_run_for(&h, SECOND);
    /* 25 in total: 8 * 25/13 = 15.4, 5 * 25/13 = 9.6. */
    assert_int_equal(host_count(&h, "replicasets.apps", "spec.replicas", "15"), 1);
    assert_int_equal(host_count(&h, "replicasets.apps", "spec.replicas", "10"), 1);
    host_end(&h);
}

static void test_history_limit_and_collision(void **state UNUSED)
{
    struct host h;
    host_begin(&h);
    host_add_nodes(&h, 2);
    host_create(&h, "deployments.apps", DEPLOYMENT(1, ""));
    host_run_for(&h, SECOND);
    host_patch(&h, WEB, "{'spec':{'revisionHistoryLimit':1}}");
    static const char *const updates[] = {"{'spec':{" TEMPLATE("b") "}}",
                                          "{'spec':{" TEMPLATE("c") "}}",
                                          "{'spec':{" TEMPLATE("d") "}}"};
    for (size_t i = 0; i < ARRAY_LEN(updates); i++) {
        host_patch(&h, WEB, updates[i]);
        host_run_for(&h, 90 * SECOND);
    }
    assert_int_equal(host_count(&h, "replicasets.apps", "", NULL), 2);
    assert_true(host_is_idle(&h));
    /* The name of the next ReplicaSet is taken. */
    const char *names = host_names(&h, "replicasets.apps");
    host_patch(&h, WEB, "{'spec':{" TEMPLATE("e") "}}");
    host_run_for(&h, 90 * SECOND);
    assert_string_not_equal(names, host_names(&h, "replicasets.apps"));
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replica_set),
        cmocka_unit_test(test_adoption_and_release),
        cmocka_unit_test(test_min_ready_seconds),
        cmocka_unit_test(test_large_replica_set),
        cmocka_unit_test(test_deployment_comes_up),
        cmocka_unit_test(test_rolling_update),
        cmocka_unit_test(test_recreate),
        cmocka_unit_test(test_pause_and_deadline),
        cmocka_unit_test(test_proportional_scaling),
        cmocka_unit_test(test_history_limit_and_collision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
