/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that fall silent, their taints, and what happens to their pods. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lifecycle_scene.h"

#define SECONDS(n) ((n) * NSEC_PER_SEC)

static void begin(struct scene *s)
{
    scene_begin(s, true);
    scene_do(s, API_CREATE, "nodes", NULL, "{'metadata':{'name':'n1'}}");
    scene_do(s, API_CREATE, "nodes", NULL, "{'metadata':{'name':'n2'}}");
    scene_run_for(s, SECONDS(5));
}

static void add_pod(struct scene *s, const char *name, const char *node, const char *more)
{
    char *body = xasprintf("{'metadata':{'name':'%s'},'spec':{'nodeName':'%s','"
                           "terminationGracePeriodSeconds':30,'containers':[{'name'"
                           ":'c','image':'i'}]%s}}",
                           name, node, more);
    scene_do(s, API_CREATE, "pods", NULL, body);
    free(body);
}

/* "key:effect key:effect" in their order. */
static const char *taints(struct scene *s, const char *node)
{
    struct buf b = BUF_INIT;
    assert_true(scene_has(s, "nodes", node));
    struct json_items list = json_items_at(kit_tree(&s->kit), "spec.taints");
    for (size_t i = 0; i < list.n; i++) {
        struct str key = json_get_text(&list.v[i], STR("key"));
        if (str_starts(key, STR("node.kubernetes.io/")))
            key = str_slice(key, strlen("node.kubernetes.io/"), key.n);
        buf_add_printf(&b, "%s%.*s:%.*s", i ? " " : "", STR_ARG(key),
                       STR_ARG(json_get_text(&list.v[i], STR("effect"))));
    }
    const char *text = arena_dup(&s->kit.arena, buf_str(&b)).p;
    buf_release(&b);
    return text;
}

static void kill_node(struct scene *s, const char *node, bool killed)
{
    char *patch = xasprintf("{'metadata':{'annotations':{'berth.dev/killed':'%s'}}}",
                            killed ? "true" : "false");
    scene_do(s, API_PATCH_MERGE, "nodes", node, patch);
    free(patch);
}

static void test_silent_node(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false), "True/KubeletReady");
    assert_string_equal(taints(&s, "n1"), "");
    scene_run_for(&s, SECONDS(600)); /* leases keep it alive */
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false), "True/KubeletReady");
    kill_node(&s, "n1", true);
    scene_run_for(&s, SECONDS(35));
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false), "True/KubeletReady");
    scene_run_for(&s, SECONDS(20));
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false),
                        "Unknown/NodeStatusUnknown");
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", true),
                        "Kubelet stopped posting node status.");
    assert_string_equal(scene_condition(&s, "nodes", "n1", "PIDPressure", false),
                        "Unknown/NodeStatusUnknown");
    assert_string_equal(taints(&s, "n1"), "unreachable:NoSchedule unreachable:NoExecute");
    assert_string_equal(taints(&s, "n2"), "");
    assert_int_equal(scene_events(&s, "NodeNotReady"), 0); /* of pods in this namespace */
    /* It comes back. */
    kill_node(&s, "n1", false);
    scene_run_for(&s, SECONDS(20));
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false), "True/KubeletReady");
    assert_string_equal(taints(&s, "n1"), "");
    scene_end(&s);
}

/* A node whose kubelet never reported. */
static void test_never_reported(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "nodes", NULL, "{'metadata':{'name':'n1'}}");
    scene_run_for(&s, SECONDS(55));
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false), "");
    scene_run_for(&s, SECONDS(10));
    assert_string_equal(scene_condition(&s, "nodes", "n1", "Ready", false),
                        "Unknown/NodeStatusNeverUpdated");
    assert_string_equal(scene_condition(&s, "nodes", "n1", "DiskPressure", true),
                        "Kubelet never posted node status.");
    assert_string_equal(taints(&s, "n1"), "unreachable:NoSchedule unreachable:NoExecute");
    scene_end(&s);
}

static void test_conditions(void **state UNUSED)
{
    static const struct {
        const char *type, *status, *taints;
    } rows[] = {
        {"Ready", "False", "not-ready:NoSchedule not-ready:NoExecute"},
        {"Ready", "True", ""},
        {"MemoryPressure", "True", "memory-pressure:NoSchedule"},
        {"DiskPressure", "True", "disk-pressure:NoSchedule"},
        {"PIDPressure", "True", "pid-pressure:NoSchedule"},
        {"NetworkUnavailable", "True", "network-unavailable:NoSchedule"},
        {"NetworkUnavailable", "False", ""},
        {"MemoryPressure", "Unknown", ""},
    };
    struct scene s;
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "nodes", NULL,
             "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':'mine','effect':'NoSchedule'}]}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *patch =
            xasprintf("{'status':{'conditions':[%s{'type':'%s','status':'%s'}]}}",
                      strcmp(rows[i].type, "Ready") == 0 ? "" : "{'type':'Ready','status':'True'},",
                      rows[i].type, rows[i].status);
        char *expected =
            xasprintf("mine:NoSchedule%s%s", *rows[i].taints ? " " : "", rows[i].taints);
        scene_do(&s, API_PATCH_MERGE, "nodes/status", "n1", patch);
        scene_run_for(&s, SECONDS(1));
        assert_string_equal(taints(&s, "n1"), expected);
        free(expected);
        free(patch);
    }
    scene_do(&s, API_PATCH_MERGE, "nodes", "n1", "{'spec':{'unschedulable':true}}");
    scene_run_for(&s, SECONDS(1));
    assert_string_equal(taints(&s, "n1"), "mine:NoSchedule unschedulable:NoSchedule");
    scene_do(&s, API_PATCH_MERGE, "nodes", "n1", "{'spec':{'unschedulable':null}}");
    scene_run_for(&s, SECONDS(1));
    assert_string_equal(taints(&s, "n1"), "mine:NoSchedule");
    scene_end(&s);
}

#define TOLERATES(seconds)                                                                     \
    ",'tolerations':[{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':'No" \
    "Execute'" seconds "}]"

/* Pods of a killed node go after their tolerationSeconds; the default is 300. */
static void test_evictions(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_pod(&s, "short", "n1", TOLERATES(",'tolerationSeconds':30"));
    add_pod(&s, "usual", "n1", "");
    add_pod(&s, "ever", "n1", TOLERATES(""));
    add_pod(&s, "other", "n2", "");
    scene_run_for(&s, SECONDS(5));
    assert_string_equal(scene_at(&s, "pods", "short", "status.phase"), "Running");
    kill_node(&s, "n1", true);
    scene_run_for(&s, SECONDS(52));
    assert_string_equal(taints(&s, "n1"), "unreachable:NoSchedule unreachable:NoExecute");
    /* Pods of the node are not ready. */
    assert_true(strncmp(scene_condition(&s, "pods", "usual", "Ready", false), "False", 5) == 0);
    assert_true(strncmp(scene_condition(&s, "pods", "other", "Ready", false), "True", 4) == 0);
    assert_int_equal(scene_events(&s, "NodeNotReady"), 3);
    assert_string_equal(scene_at(&s, "pods", "short", "metadata.deletionTimestamp"), "");
    scene_run_for(&s, SECONDS(32));
    assert_string_not_equal(scene_at(&s, "pods", "short", "metadata.deletionTimestamp"), "");
    assert_string_equal(scene_condition(&s, "pods", "short", "DisruptionTarget", false),
                        "True/DeletionByTaintManager");
    assert_string_equal(scene_at(&s, "pods", "usual", "metadata.deletionTimestamp"), "");
    assert_int_equal(scene_events(&s, "TaintManagerEviction"), 1);
    scene_run_for(&s, SECONDS(300));
    assert_string_not_equal(scene_at(&s, "pods", "usual", "metadata.deletionTimestamp"), "");
    assert_string_equal(scene_at(&s, "pods", "ever", "metadata.deletionTimestamp"), "");
    assert_string_equal(scene_at(&s, "pods", "other", "metadata.deletionTimestamp"), "");
    scene_end(&s);
}

/* The node comes back in time, and the pods stay. */
static void test_cancelled(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_pod(&s, "p", "n1", TOLERATES(",'tolerationSeconds':30"));
    scene_run_for(&s, SECONDS(5));
    kill_node(&s, "n1", true);
    scene_run_for(&s, SECONDS(60));
    kill_node(&s, "n1", false);
    scene_run_for(&s, SECONDS(60));
    assert_string_equal(scene_at(&s, "pods", "p", "metadata.deletionTimestamp"), "");
    assert_int_equal(scene_events(&s, "TaintManagerEviction"), 1);
    /* A taint that it does not tolerate. */
    scene_do(&s, API_PATCH_MERGE, "nodes", "n1",
             "{'spec':{'taints':[{'key':'away','effect':'NoExecute'}]}}");
    scene_run_for(&s, SECONDS(2));
    assert_string_not_equal(scene_at(&s, "pods", "p", "metadata.deletionTimestamp"), "x");
    scene_run_for(&s, SECONDS(60));
    assert_false(scene_has(&s, "pods", "p"));
    scene_end(&s);
}

static void test_deleted_node(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_pod(&s, "a", "n1", "");
    add_pod(&s, "b", "n2", "");
    scene_run_for(&s, SECONDS(5));
    scene_do(&s, API_DELETE, "nodes", "n1", NULL);
    scene_run_for(&s, SECONDS(30));
    assert_true(scene_has(&s, "pods", "a"));
    scene_run_for(&s, SECONDS(30));
    assert_false(scene_has(&s, "pods", "a"));
    assert_true(scene_has(&s, "pods", "b"));
    /* A pod that is bound to a node that never was. */
    add_pod(&s, "c", "nowhere", "");
    scene_run_for(&s, SECONDS(60));
    assert_false(scene_has(&s, "pods", "c"));
    scene_end(&s);
}

static void test_out_of_service(void **state UNUSED)
{
    struct scene s;
    begin(&s);
    add_pod(&s, "a", "n1", TOLERATES(""));
    scene_run_for(&s, SECONDS(5));
    kill_node(&s, "n1", true);
    scene_run_for(&s, SECONDS(60));
    scene_do(&s, API_DELETE, "pods", "a", NULL);
    scene_run_for(&s, SECONDS(100));
    assert_true(scene_has(&s, "pods", "a")); /* no kubelet removes it */
    assert_true(scene_has(&s, "nodes", "n1"));
    scene_do(&s, API_PATCH_MERGE, "nodes", "n1",
             "{'spec':{'taints':[{'key':'node.kubernetes.io/out-of-service','effect':'NoExecute'}]}"
             "}");
    scene_run_for(&s, SECONDS(100));
    assert_false(scene_has(&s, "pods", "a"));
    scene_end(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_node),    cmocka_unit_test(test_never_reported),
        cmocka_unit_test(test_conditions),     cmocka_unit_test(test_evictions),
        cmocka_unit_test(test_cancelled),      cmocka_unit_test(test_deleted_node),
        cmocka_unit_test(test_out_of_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
