/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated kubelets on a model of the API server. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/kubelet/kubelets.h"
#include "base/time.h"
#include "model_world.h"
#include "prop.h"

static void changed(void *ctx, const struct store_event *event)
{
    kubelets_changed(ctx, event);
}
static void write_done(void *ctx, uint64_t id, int status, int64_t now)
{
    kubelets_write_done(ctx, id, status, now);
}
static void run(void *ctx, int64_t now)
{
    kubelets_run(ctx, now);
}
static int64_t next(const void *ctx)
{
    return kubelets_next(ctx);
}

struct scene {
    struct world m;
    struct kubelets *k;
};

static void begin(struct scene *w, bool without_leases)
{
    world_init(&w->m);
    struct kubelets_options options = {
        .writer = world_writer(&w->m), .without_leases = without_leases, .seed = 1};
    w->k = kubelets_new(&options);
    world_add(&w->m, &(struct world_party){w->k, changed, write_done, run, next});
    world_create(&w->m, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':"
                        "'kube-node-lease'}}");
}

static void end(struct scene *w)
{
    kubelets_free(w->k);
    world_release(&w->m);
}

static void add_node(struct scene *w)
{
    assert_int_equal(
        world_create(&w->m, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'}}"), 201);
}

static void add_pod(struct scene *w, const char *name, const char *annotations, const char *spec)
{
    char *json = xasprintf("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','annotations':{"
                           "%s}},'spec':{'nodeName':'n1',%s}}",
                           name, annotations, spec);
    assert_int_equal(world_create(&w->m, json), 201);
    free(json);
}

#define ONE "'containers':[{'name':'c','image':'i'}]"
#define POD "pods default/a"

static bool condition_is(struct scene *w, const char *what, const char *type, const char *status)
{
    const struct json_value *list = json_at(world_get(&w->m, what), "status.conditions");
    for (size_t i = 0; list && i < list->n; i++)
        if (str_is(json_get_text(&list->items[i], STR("type")), type))
            return str_is(json_get_text(&list->items[i], STR("status")), status);
    return false;
}

/* A path into the first container's status. */
static const char *container(struct scene *w, const char *what, const char *list, const char *path)
{
    const struct json_value *v = json_at(world_get(&w->m, what), list);
    v = v && v->n ? json_at(&v->items[0], path) : NULL;
    return v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER)
               ? arena_dup(&w->m.arena, v->text).p
               : "";
}
#define CS "status.containerStatuses"

static void test_running(void **state UNUSED)
{
    struct scene w;
    begin(&w, true);
    add_pod(&w, "a", "", ONE);
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Pending"); /* no node */
    add_node(&w);
    size_t before = w.m.n_writes;
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Running");
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady", "PodScheduled"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        assert_true(condition_is(&w, POD, types[i], "True"));
    assert_string_equal(world_text(&w.m, POD, "status.podIP"), "10.128.0.1");
    assert_string_equal(world_text(&w.m, POD, "status.hostIP"), "172.16.0.1");
    assert_string_equal(container(&w, POD, CS, "restartCount"), "0");
    assert_true(condition_is(&w, "nodes n1", "Ready", "True"));
    assert_string_equal(world_text(&w.m, "nodes n1", "status.allocatable.pods"), "110");
    /* One write for the pod, one for the node. */
    assert_int_equal(w.m.n_writes - before, 2);
    end(&w);
}

static void test_finish_and_restart(void **state UNUSED)
{
    struct scene w;
    begin(&w, true);
    add_node(&w);
    add_pod(&w, "a", "'berth.dev/run-time':'5s'", "'restartPolicy':'Never'," ONE);
    add_pod(&w, "b", "'berth.dev/run-time':'5s','berth.dev/exit-code':'3'",
            "'restartPolicy':'OnFailure'," ONE);
    add_pod(&w, "c", "'berth.dev/run-time.c':'5s','berth.dev/exit-code.c':'3'",
            "'restartPolicy':'Never'," ONE);
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Running");
    world_run_for(&w.m, 4500 * NSEC_PER_MSEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Succeeded");
    assert_true(condition_is(&w, POD, "Ready", "False"));
    assert_string_equal(container(&w, POD, CS, "state.terminated.exitCode"), "0");
    assert_string_equal(world_text(&w.m, "pods default/c", "status.phase"), "Failed");
    assert_string_equal(world_text(&w.m, "pods default/b", "status.phase"), "Running");
    assert_string_equal(container(&w, "pods default/b", CS, "restartCount"), "1");
    world_run_for(&w.m, 5 * NSEC_PER_SEC);
    assert_string_equal(container(&w, "pods default/b", CS, "state.waiting.reason"),
                        "CrashLoopBackOff");
    assert_string_equal(container(&w, "pods default/b", CS, "lastState.terminated.exitCode"), "3");
    world_run_for(&w.m, 10 * NSEC_PER_SEC);
    assert_string_equal(container(&w, "pods default/b", CS, "restartCount"), "2");
    end(&w);
}

static void test_init_containers(void **state UNUSED)
{
    struct scene w;
    begin(&w, true);
    add_node(&w);
    add_pod(&w, "a", "'berth.dev/init-run-time':'2s','berth.dev/start-delay':'1s'",
            "'initContainers':[{'name':'s','image':'i','restartPolicy':'Always'},{'name':'x',"
            "'image':'i'},{'name':'y','image':'i'}]," ONE);
    world_run_for(&w.m, 500 * NSEC_PER_MSEC);
    assert_string_equal(container(&w, POD, CS, "state.waiting.reason"), "PodInitializing");
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Pending");
    assert_true(condition_is(&w, POD, "Initialized", "False"));
    assert_true(*container(&w, POD, "status.initContainerStatuses", "state.running.startedAt"));
    world_run_for(&w.m, 4 * NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Running");
    assert_true(condition_is(&w, POD, "Ready", "True"));
    end(&w);
}

static void test_deletion(void **state UNUSED)
{
    struct scene w;
    begin(&w, true);
    add_node(&w);
    add_pod(&w, "a", "", ONE);
    add_pod(&w, "b", "'berth.dev/stop-delay':'grace'", ONE);
    world_run_for(&w.m, NSEC_PER_SEC);
    world_delete(&w.m, POD, "");
    world_delete(&w.m, "pods default/b", "");
    world_run_for(&w.m, 20 * NSEC_PER_SEC);
    assert_null(world_get(&w.m, POD));
    assert_non_null(world_get(&w.m, "pods default/b"));
    world_run_for(&w.m, 20 * NSEC_PER_SEC);
    assert_null(world_get(&w.m, "pods default/b"));
    /* A finalizer keeps the object: its status must say how it ended. */
    add_pod(&w, "a", "", ONE);
    world_patch(&w.m, POD, "", "{'metadata':{'finalizers':['x/y']}}");
    world_run_for(&w.m, NSEC_PER_SEC);
    world_delete(&w.m, POD, "");
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Succeeded");
    world_patch(&w.m, POD, "", "{'metadata':{'finalizers':null}}");
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_null(world_get(&w.m, POD));
    end(&w);
}

static void test_deadline(void **state UNUSED)
{
    struct scene w;
    begin(&w, true);
    add_node(&w);
    add_pod(&w, "a", "", "'activeDeadlineSeconds':3," ONE);
    world_run_for(&w.m, 2 * NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Running");
    world_run_for(&w.m, 2 * NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Failed");
    assert_string_equal(world_text(&w.m, POD, "status.reason"), "DeadlineExceeded");
    end(&w);
}

static void test_leases(void **state UNUSED)
{
    struct scene w;
    static const char lease[] = "coordination.k8s.io/leases kube-node-lease/n1";
    begin(&w, false);
    add_node(&w);
    world_run_for(&w.m, NSEC_PER_SEC);
    const char *first = world_text(&w.m, lease, "spec.renewTime");
    assert_true(*first);
    world_run_for(&w.m, 21 * NSEC_PER_SEC);
    const char *second = world_text(&w.m, lease, "spec.renewTime");
    assert_true(strcmp(first, second) < 0);
    world_patch(&w.m, "nodes n1", "", "{'metadata':{'annotations':{'berth.dev/killed':'true'}}}");
    add_pod(&w, "a", "", ONE);
    world_run_for(&w.m, 100 * NSEC_PER_SEC);
    const char *third = world_text(&w.m, lease, "spec.renewTime");
    world_run_for(&w.m, 100 * NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, lease, "spec.renewTime"), third);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Pending");
    /* It comes back. */
    world_patch(&w.m, "nodes n1", "", "{'metadata':{'annotations':{'berth.dev/killed':null}}}");
    world_run_for(&w.m, NSEC_PER_SEC);
    assert_string_equal(world_text(&w.m, POD, "status.phase"), "Running");
    assert_true(strcmp(third, world_text(&w.m, lease, "spec.renewTime")) < 0);
    end(&w);
}

/* Whatever fails on the way, pods come to the end that their spec says. */
static bool check_faults(struct rand *r, size_t size, void *ctx UNUSED)
{
    struct scene w;
    char name[64];
    begin(&w, false);
    w.m.faults = r;
    add_node(&w);
    size_t n = 1 + size / 10;
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "p%zu", i);
        add_pod(&w, name, i % 2 ? "'berth.dev/run-time':'3s'" : "", "'restartPolicy':'Never'," ONE);
    }
    world_run_for(&w.m, 200 * NSEC_PER_SEC);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "pods default/p%zu", i);
        const char *phase = world_text(&w.m, name, "status.phase");
        good = good && strcmp(phase, i % 2 ? "Succeeded" : "Running") == 0;
        world_delete(&w.m, name, "");
    }
    world_run_for(&w.m, 200 * NSEC_PER_SEC);
    good = good && world_count(&w.m, "pods", "") == 0;
    end(&w);
    return good;
}

static void test_faults(void **state UNUSED)
{
    assert_true(prop_run("pods end as their spec says", 30, check_faults, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running),         cmocka_unit_test(test_finish_and_restart),
        cmocka_unit_test(test_init_containers), cmocka_unit_test(test_deletion),
        cmocka_unit_test(test_deadline),        cmocka_unit_test(test_leases),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
