/* SPDX-License-Identifier: Apache-2.0 */
/* Deletion of namespaces, and what every namespace has. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lifecycle_scene.h"

static void test_empty(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    assert_true(scene_has(&s, "serviceaccounts", "default"));
    scene_do(&s, API_DELETE, "namespaces", "ns", NULL);
    assert_string_equal(scene_at(&s, "namespaces", "ns", "status.phase"), "Terminating");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "namespaces", "ns"));
    assert_false(scene_has(&s, "serviceaccounts", "default"));
    assert_false(scene_has(&s, "configmaps", "kube-root-ca.crt"));
    scene_end(&s);
}

#define POD                                                                                      \
    "{'metadata':{'name':'a','finalizers':[%s]},'spec':{'nodeName':'n1','terminationGracePeriod" \
    "Seconds':20,'containers':[{'name':'c','image':'i'}]}}"

/* Pods go first; then everything else. */
static void test_order(void **state UNUSED)
{
    struct scene s;
    char body[512];
    scene_begin(&s, false);
    snprintf(body, sizeof(body), POD, "");
    scene_do(&s, API_CREATE, "pods", NULL, body);
    scene_do(&s, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'c'}}");
    scene_do(&s, API_DELETE, "namespaces", "ns", NULL);
    scene_run_for(&s, 5 * NSEC_PER_SEC);
    assert_string_not_equal(scene_at(&s, "pods", "a", "metadata.deletionTimestamp"), "");
    assert_true(scene_has(&s, "configmaps", "c"));
    /* Upstream leaves pods out of the totals while they end. */
    assert_string_equal(scene_condition(&s, "namespaces", "ns", "NamespaceContentRemaining", false),
                        "False/ContentRemoved");
    assert_string_equal(
        scene_condition(&s, "namespaces", "ns", "NamespaceDeletionContentFailure", true),
        "All content successfully deleted, may be waiting on finalization");
    /* Its grace period is over and no kubelet is there to remove it. */
    scene_run_for(&s, 60 * NSEC_PER_SEC);
    if (scene_has(&s, "pods", "a")) {
        assert_string_equal(
            scene_condition(&s, "namespaces", "ns", "NamespaceDeletionContentFailure", true),
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in "
            "namespace: ns for gvr: /v1, Resource=pods");
        scene_do(&s, API_DELETE, "pods", "a", "{'gracePeriodSeconds':0}");
    }
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "c"));
    assert_false(scene_has(&s, "namespaces", "ns"));
    scene_end(&s);
}

static void test_finalizers(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "configmaps", NULL,
             "{'metadata':{'name':'c','finalizers':['test/b','test/a']}}");
    scene_do(&s, API_CREATE, "secrets", NULL, "{'metadata':{'name':'s','finalizers':['test/a']}}");
    scene_do(&s, API_DELETE, "namespaces", "ns", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(
        scene_condition(&s, "namespaces", "ns", "NamespaceContentRemaining", true),
        "Some resources are remaining: configmaps. has 1 resource instances, secrets. has 1 "
        "resource instances");
    assert_string_equal(
        scene_condition(&s, "namespaces", "ns", "NamespaceFinalizersRemaining", true),
        "Some content in the namespace has finalizers remaining: test/a in 2 resource instances, "
        "test/b in 1 resource instances");
    assert_string_equal(
        scene_condition(&s, "namespaces", "ns", "NamespaceFinalizersRemaining", false),
        "True/SomeFinalizersRemain");
    scene_do(&s, API_PATCH_MERGE, "configmaps", "c", "{'metadata':{'finalizers':null}}");
    scene_do(&s, API_PATCH_MERGE, "secrets", "s", "{'metadata':{'finalizers':null}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "namespaces", "ns"));
    scene_end(&s);
}

/* A finalizer of somebody else on the namespace is left alone, and the conditions say why. */
static void test_other_finalizer(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_namespace(&s, "held", "'test/hold',");
    scene_do(&s, API_DELETE, "namespaces", "held", NULL);
    scene_run_for(&s, 100 * NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "namespaces", "held", "spec.finalizers"), "[\"test/hold\"]");
    assert_string_equal(
        scene_condition(&s, "namespaces", "held", "NamespaceDeletionDiscoveryFailure", false),
        "False/ResourcesDiscovered");
    scene_end(&s);
}

static void test_many(void **state UNUSED)
{
    enum { N = 10000 };
    struct scene s;
    scene_begin(&s, false);
    for (size_t i = 0; i < N; i++) {
        char body[64];
        snprintf(body, sizeof(body), "{'metadata':{'name':'c%zu'}}", i);
        scene_do(&s, API_CREATE, "configmaps", NULL, body);
    }
    scene_do(&s, API_DELETE, "namespaces", "ns", NULL);
    size_t before = s.n_writes;
    scene_run_for(&s, 10 * NSEC_PER_SEC);
    assert_false(scene_has(&s, "namespaces", "ns"));
    /* One write per object, the conditions, the finalizer. */
    assert_in_range(s.n_writes - before, N, N + 10);
    scene_end(&s);
}

static void test_accounts(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    assert_true(scene_has(&s, "serviceaccounts", "default"));
    assert_string_equal(scene_at(&s, "configmaps", "kube-root-ca.crt", "data"),
                        "{\"ca.crt\":\"PEM\"}");
    /* Both come back. */
    scene_do(&s, API_DELETE, "serviceaccounts", "default", NULL);
    scene_do(&s, API_DELETE, "configmaps", "kube-root-ca.crt", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_true(scene_has(&s, "serviceaccounts", "default"));
    assert_true(scene_has(&s, "configmaps", "kube-root-ca.crt"));
    scene_do(&s, API_PATCH_MERGE, "configmaps", "kube-root-ca.crt",
             "{'metadata':{'labels':{'a':'b'}},'data':{'ca.crt':'forged','x':'y'}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_at(&s, "configmaps", "kube-root-ca.crt", "data"),
                        "{\"ca.crt\":\"PEM\"}");
    assert_string_equal(scene_at(&s, "configmaps", "kube-root-ca.crt", "metadata.labels"),
                        "{\"a\":\"b\"}");
    scene_end(&s);
}

#define TOKEN                                                                                   \
    "{'type':'kubernetes.io/service-account-token','metadata':{'name':'%s','annotations':{'kub" \
    "ernetes.io/service-account.name':'%s'}}}"

static void test_tokens(void **state UNUSED)
{
    struct scene s;
    char body[256];
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "serviceaccounts", NULL, "{'metadata':{'name':'robot'}}");
    snprintf(body, sizeof(body), TOKEN, "t1", "robot");
    scene_do(&s, API_CREATE, "secrets", NULL, body);
    snprintf(body, sizeof(body), TOKEN, "t2", "default");
    scene_do(&s, API_CREATE, "secrets", NULL, body);
    snprintf(body, sizeof(body), TOKEN, "t3", "absent");
    scene_do(&s, API_CREATE, "secrets", NULL, body);
    scene_do(&s, API_CREATE, "secrets", NULL, "{'metadata':{'name':'plain'}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_true(scene_has(&s, "secrets", "t1"));
    assert_false(scene_has(&s, "secrets", "t3"));
    scene_do(&s, API_DELETE, "serviceaccounts", "robot", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "secrets", "t1"));
    assert_true(scene_has(&s, "secrets", "t2"));
    assert_true(scene_has(&s, "secrets", "plain"));
    scene_end(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_finalizers), cmocka_unit_test(test_other_finalizer),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
