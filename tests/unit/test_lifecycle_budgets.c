/* SPDX-License-Identifier: Apache-2.0 */
/* The status of PodDisruptionBudgets, and evictions that use it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lifecycle_scene.h"

#define SET                                                                                    \
    "{'metadata':{'name':'%s','labels':{'app':'%s'}},'spec':{'replicas':%d,'selector':{'match" \
    "Labels':{'app':'%s'}},'template':{'metadata':{'labels':{'app':'%s'}},'spec':{'containers" \
    "':[{'name':'c','image':'i'}]}}}}"

static void add_set(struct scene *s, const char *name, const char *app, int replicas)
{
    char *body = xasprintf(SET, name, app, replicas, app, app);
    scene_do(s, API_CREATE, "replicasets.apps", NULL, body);
    free(body);
}

/* set NULL: the pod has no controller. */
static void add_pod(struct scene *s, const char *name, const char *app, const char *set, bool ready)
{
    char *uid = xstrdup(set ? scene_at(s, "replicasets.apps", set, "metadata.uid") : "");
    char *owner = set ? xasprintf("{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'%s','uid':"
                                  "'%s','controller':true}",
                                  set, uid)
                      : xstrdup("");
    char *body = xasprintf("{'metadata':{'name':'%s','labels':{'app':'%s'},'ownerReferences':[%s]},"
                           "'spec':{'containers':[{'name':'c','image':'i'}]}}",
                           name, app, owner);
    scene_do(s, API_CREATE, "pods", NULL, body);
    free(body);
    body = xasprintf("{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'%s'}]}}",
                     ready ? "True" : "False");
    scene_do(s, API_PATCH_MERGE, "pods/status", name, body);
    free(body);
    free(owner);
    free(uid);
}

static void add_budget(struct scene *s, const char *spec)
{
    char *body = xasprintf("{'metadata':{'name':'b'},'spec':{%s,'selector':{'matchLabels':{'app':"
                           "'web'}}}}",
                           spec);
    scene_do(s, API_CREATE, "poddisruptionbudgets.policy", NULL, body);
    free(body);
}

#define BUDGET "poddisruptionbudgets.policy"

static void expect(struct scene *s, int expected, int desired, int healthy, int allowed)
{
    char *text = xasprintf("%d %d %d %d", expected, desired, healthy, allowed);
    char got[128];
    assert_true(scene_has(s, BUDGET, "b"));
    snprintf(got, sizeof(got), "%s %s %s %s", kit_at(&s->kit, "status.expectedPods"),
             kit_at(&s->kit, "status.desiredHealthy"), kit_at(&s->kit, "status.currentHealthy"),
             kit_at(&s->kit, "status.disruptionsAllowed"));
    assert_string_equal(got, text);
    free(text);
    assert_string_equal(scene_condition(s, BUDGET, "b", "DisruptionAllowed", false),
                        allowed ? "True/SufficientPods" : "False/InsufficientPods");
}

/* Every budget against every number of replicas and of ready pods. */
static void test_table(void **state UNUSED)
{
    static const struct {
        const char *spec;
        bool most, percent;
        int value;
    } specs[] = {
        {"'minAvailable':0", false, false, 0},     {"'minAvailable':2", false, false, 2},
        {"'minAvailable':'30%'", false, true, 30}, {"'minAvailable':'100%'", false, true, 100},
        {"'maxUnavailable':0", true, false, 0},    {"'maxUnavailable':1", true, false, 1},
        {"'maxUnavailable':9", true, false, 9},    {"'maxUnavailable':'50%'", true, true, 50},
        {"'maxUnavailable':'0%'", true, true, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(specs); i++)
        for (int replicas = 0; replicas <= 3; replicas++)
            for (int pods = 0; pods <= replicas + 1; pods += 2) {
                struct scene s;
                scene_begin(&s, false);
                add_set(&s, "web", "web", replicas);
                for (int p = 0; p < pods; p++) {
                    char name[8];
                    snprintf(name, sizeof(name), "p%d", p);
                    add_pod(&s, name, "web", "web", p != 2);
                }
                add_budget(&s, specs[i].spec);
                scene_run_for(&s, NSEC_PER_SEC);
                int healthy = pods - (pods > 2);
                bool scale = specs[i].most || specs[i].percent;
                int expected = scale ? (pods ? replicas : 0) : pods;
                int value =
                    specs[i].percent ? (specs[i].value * expected + 99) / 100 : specs[i].value;
                int desired = specs[i].most ? MAX(expected - value, 0) : value;
                expect(&s, expected, desired, healthy,
                       expected > 0 ? MAX(healthy - desired, 0) : 0);
                scene_end(&s);
            }
}

/* The status follows readiness, deletion, the selector and the spec. */
static void test_follows(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add_set(&s, "web", "web", 3);
    add_budget(&s, "'maxUnavailable':1");
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 0, 0, 0, 0);
    add_pod(&s, "p1", "web", "web", true);
    add_pod(&s, "p2", "web", "web", true);
    add_pod(&s, "p3", "web", "web", false);
    add_pod(&s, "q", "other", NULL, true);
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 2, 2, 0);
    scene_do(&s, API_PATCH_MERGE, "pods/status", "p3",
             "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}");
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 2, 3, 1);
    scene_do(&s, API_PATCH_MERGE, "pods", "p1", "{'metadata':{'labels':{'app':'x'}}}");
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 2, 2, 0);
    scene_do(&s, API_PATCH_MERGE, BUDGET, "b", "{'spec':{'maxUnavailable':'50%'}}");
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 1, 2, 1);
    assert_string_equal(scene_at(&s, BUDGET, "b", "status.observedGeneration"),
                        scene_at(&s, BUDGET, "b", "metadata.generation"));
    scene_do(&s, API_DELETE, "pods", "p2", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 1, 1, 0);
    /* A budget at rest writes nothing. */
    size_t before = s.n_writes;
    scene_do(&s, API_PATCH_MERGE, "pods", "p3", "{'metadata':{'annotations':{'a':'b'}}}");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_int_equal(s.n_writes, before);
    scene_end(&s);
}

/* The deployment of a replica set has the scale. */
static void test_deployment(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "deployments.apps", NULL,
             "{'metadata':{'name':'d'},'spec':{'replicas':10,'selector':{'matchLabels':{'app':'web'"
             "}},'template':{'metadata':{'labels':{'app':'web'}},'spec':{'containers':[{'name':'c',"
             "'image':'i'}]}}}}");
    char *uid = xstrdup(kit_at(&s.kit, "metadata.uid"));
    add_set(&s, "old", "web", 4);
    add_set(&s, "new", "web", 6);
    static const char *const sets[] = {"old", "new"};
    for (size_t i = 0; i < 2; i++) {
        char *patch = xasprintf("{'metadata':{'ownerReferences':[{'apiVersion':'apps/v1','kind':"
                                "'Deployment','name':'d','uid':'%s','controller':true}]}}",
                                uid);
        scene_do(&s, API_PATCH_MERGE, "replicasets.apps", sets[i], patch);
        free(patch);
    }
    add_pod(&s, "p1", "web", "old", true);
    add_pod(&s, "p2", "web", "new", true);
    add_budget(&s, "'minAvailable':'10%'");
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 10, 1, 2, 1);
    free(uid);
    scene_end(&s);
}

static void test_failures(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'c'}}");
    char *uid = xstrdup(kit_at(&s.kit, "metadata.uid"));
    char *body = xasprintf("{'metadata':{'name':'p','labels':{'app':'web'},'ownerReferences':[{"
                           "'apiVersion':'v1','kind':'ConfigMap','name':'c','uid':'%s','controller'"
                           ":true}]},'spec':{'containers':[{'name':'c','image':'i'}]}}",
                           uid);
    scene_do(&s, API_CREATE, "pods", NULL, body);
    add_budget(&s, "'maxUnavailable':1");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(scene_condition(&s, BUDGET, "b", "DisruptionAllowed", false),
                        "False/SyncFailed");
    assert_string_equal(scene_condition(&s, BUDGET, "b", "DisruptionAllowed", true),
                        "configmaps does not implement the scale subresource");
    assert_string_equal(scene_at(&s, BUDGET, "b", "status.disruptionsAllowed"), "0");
    assert_int_equal(scene_events(&s, "CalculateExpectedPodCountFailed"), 1);
    free(body);
    free(uid);
    scene_end(&s);
}

static int evict(struct scene *s, const char *pod)
{
    char *body = xasprintf("{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'%s',"
                           "'namespace':'ns'}}",
                           pod);
    int code = kit_serve(&s->kit, API_CREATE, "pods/eviction", pod, body);
    free(body);
    return code;
}

/* Evictions take what is allowed; a pod that is not deleted after two minutes is given back. */
static void test_evictions(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add_set(&s, "web", "web", 3);
    for (size_t i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof(name), "p%zu", i);
        add_pod(&s, name, "web", "web", true);
    }
    add_budget(&s, "'minAvailable':2");
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 2, 3, 1);
    assert_int_equal(evict(&s, "p0"), 201);
    assert_int_equal(evict(&s, "p1"), 429);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "pods", "p0"));
    expect(&s, 2, 2, 2, 0);
    assert_string_equal(scene_at(&s, BUDGET, "b", "status.disruptedPods"), "");
    assert_int_equal(evict(&s, "p1"), 429);
    add_pod(&s, "p3", "web", "web", true);
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, 3, 2, 3, 1);
    /* An eviction that was allowed and did not happen. */
    assert_true(scene_has(&s, BUDGET, "b"));
    struct buf time = BUF_INIT;
    timestamp_format(timestamp_of(s.kit.now), 0, &time);
    char *patch = xasprintf("{'status':{'disruptionsAllowed':0,'disruptedPods':{'p3':'%s'}}}",
                            buf_cstr(&time));
    scene_do(&s, API_PATCH_MERGE, BUDGET "/status", "b", patch);
    free(patch);
    buf_release(&time);
    scene_run_for(&s, 60 * NSEC_PER_SEC);
    expect(&s, 3, 2, 2, 0);
    scene_run_for(&s, 70 * NSEC_PER_SEC);
    expect(&s, 3, 2, 3, 1);
    assert_int_equal(scene_events(&s, "NotDeleted"), 1);
    scene_end(&s);
}

static void test_stale_target(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add_pod(&s, "p", "web", NULL, true);
    scene_do(&s, API_PATCH_MERGE, "pods/status", "p",
             "{'status':{'conditions':[{'type':'DisruptionTarget','status':'True','reason':"
             "'EvictionByEvictionAPI','lastTransitionTime':'2023-11-14T22:13:20Z'}]}}");
    scene_run_for(&s, 60 * NSEC_PER_SEC);
    assert_string_equal(scene_condition(&s, "pods", "p", "DisruptionTarget", false),
                        "True/EvictionByEvictionAPI");
    scene_run_for(&s, 70 * NSEC_PER_SEC);
    assert_string_equal(scene_condition(&s, "pods", "p", "DisruptionTarget", false), "False/");
    scene_end(&s);
}

/* The number of looks at a budget does not grow with the square of its pods. */
static void test_many(void **state UNUSED)
{
    enum { N = 5000 };
    struct scene s;
    scene_begin(&s, false);
    add_set(&s, "web", "web", N);
    add_budget(&s, "'maxUnavailable':1");
    for (size_t i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%zu", i);
        add_pod(&s, name, "web", "web", true);
        lifecycle_run(s.l, s.kit.now);
        while (s.writes.n)
            scene_serve(&s);
        s.kit.now += NSEC_PER_USEC;
    }
    scene_run_for(&s, NSEC_PER_SEC);
    expect(&s, N, N - 1, N, 1);
    assert_in_range(s.n_writes, 1, N);
    scene_end(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_follows),
        cmocka_unit_test(test_deployment), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_evictions),  cmocka_unit_test(test_stale_target),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
