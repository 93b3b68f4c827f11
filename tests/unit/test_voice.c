/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's log lines and dumps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/dump.h"
#include "puppet.h"

static void clear(struct fixture *f)
{
    for (size_t i = 0; i < f->logs.n; i++)
        free(f->logs.v[i]);
    f->logs.n = 0;
}

/* Checks that exactly these lines were logged since the last call. */
static void assert_said(struct fixture *f, const char *const *want)
{
    for (size_t i = 0; i < f->logs.n || want[i]; i++) {
        const char *got = i < f->logs.n ? f->logs.v[i] : "(silence)";
        if (!want[i] || strcmp(got, want[i]) != 0)
            fail_msg("line %zu: want %s\n    got %s", i, want[i] ? want[i] : "(silence)", got);
    }
    clear(f);
}
#define SAID(f, ...) assert_said(f, (const char *const[]){__VA_ARGS__, NULL})

static void scene(struct fixture *f, int verbosity)
{
    fixture_init(f, NULL, NULL);
    engine_set_verbosity(f->engine, verbosity);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void a_pod_that_is_bound(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 5);
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    SAID(&f, "3 Add event for node node=/n0", "2 Added node to NodeTree node=/n0 zone=");
    ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
    SAID(&f, "3 Add event for unscheduled pod pod=default/p",
         "5 Pod moved to an internal scheduling queue pod=default/p event=UnschedulablePodAdd "
         "queue=Active");
    fixture_schedule(&f);
    SAID(&f, "4 About to try and schedule pod pod=default/p",
         "3 Attempting to schedule pod pod=default/p",
         "5 pod resource claims logger=PreFilter.DynamicResources pod=default/p resourceclaims=",
         "3 Attempting to bind pod to node logger=Bind.DefaultBinder pod=default/p node=/n0");
    fixture_answer(&f, fixture_binding(&f, "p"), 201, "");
    SAID(&f,
         "2 Successfully bound pod to node pod=default/p node=n0 evaluatedNodes=1 feasibleNodes=1",
         "3 Add event for scheduled pod pod=default/p",
         "3 Delete event for unscheduled pod pod=default/p");
    fixture_delete(&f, POD(.name = "p", .cpu = "1", .memory = "1Gi", .node = "n0"));
    SAID(&f, "3 Delete event for scheduled pod pod=default/p");
    fixture_delete(&f, NODE(.name = "n0", .cpu = "4", .memory = "8Gi"));
    SAID(&f, "3 Delete event for node node=/n0", "2 Removed node from NodeTree node=/n0 zone=");
    fixture_release(&f);
}

static void a_pod_that_fits_nowhere(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 2);
    ADD_POD(&f, .name = "p", .cpu = "9", .memory = "1Gi");
    fixture_schedule(&f);
    SAID(&f, "2 Unable to schedule pod; no nodes are registered to the cluster; waiting "
             "pod=default/p");
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    clear(&f);
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    engine_set_verbosity(f.engine, 3);
    fixture_schedule(&f);
    assert_int_equal(f.logs.n > 2, true);
    char *first = f.logs.v[0], *last = f.logs.v[f.logs.n - 1], *before = f.logs.v[f.logs.n - 2];
    assert_string_equal(first, "3 Attempting to schedule pod pod=default/p");
    assert_non_null(strstr(before, "3 Pod moved to an internal scheduling queue pod=default/p "
                                   "event=ScheduleAttemptFailure queue=Unschedulable "
                                   "schedulingCycle=2 hint=0 unschedulable plugins="
                                   "{\"NodeResourcesFit\":{}}"));
    assert_non_null(strstr(last, "3 Updating pod condition and nominated node name pod=default/p "
                                 "conditionType=PodScheduled conditionStatus=False "
                                 "conditionReason=Unschedulable nominatedNodeName= "));
    size_t told = 0;
    for (size_t i = 0; i < f.logs.n; i++)
        told += strstr(f.logs.v[i], "2 Unable to schedule pod; no fit; waiting pod=default/p "
                                    "err=0/1 nodes are available: 1 Insufficient cpu.") != NULL;
    assert_int_equal(told, 1);
    fixture_release(&f);
}

static void a_pod_behind_a_gate(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 5);
    ADD_POD(&f, .name = "p", .gates = "x", .containers = "{}");
    SAID(&f, "3 Add event for unscheduled pod pod=default/p",
         "4 Status after running PreEnqueue plugin pod=default/p plugin=SchedulingGates "
         "status=waiting for scheduling gates: [x]",
         "5 Pod moved to an internal scheduling queue, because the pod is gated pod=default/p "
         "event=UnschedulablePodAdd queue=Unschedulable");
    fixture_release(&f);
}

static void a_binding_that_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 1);
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
    fixture_schedule(&f);
    fixture_answer(&f, fixture_binding(&f, "p"), 409, "it is taken");
    SAID(&f, "E Plugin failed err=it is taken plugin=DefaultBinder pod=default/p node=n0",
         "1 Failed to bind pod pod=default/p",
         "E Error scheduling pod; retrying err=running Bind plugin \"DefaultBinder\": it is taken "
         "logger=UnhandledError pod=default/p");
    fixture_release(&f);
}

static void pods_of_others_and_silence(void **state)
{
    (void)state;
    struct fixture f;
    scene(&f, 10);
    ADD_POD(&f, .name = "p", .scheduler = "other", .containers = "{}");
    assert_int_equal(f.logs.n, 0);
    engine_set_verbosity(f.engine, 0);
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "q", .cpu = "1", .memory = "1Gi");
    fixture_settle(&f);
    assert_int_equal(f.logs.n, 0);
    fixture_release(&f);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void the_dump_shows_nodes_and_the_queue(void **state)
{
    (void)state;
    struct fixture f;
    struct buf text = BUF_INIT;
    scene(&f, 0);
    ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "n0", .cpu = "2", .pods = "9", .allocatable = "b.x/y=3,a.x/y=2");
    ADD_POD(&f, .name = "ghost", .cpu = "1", .memory = "1Gi", .node = "gone");
    ADD_POD(&f, .name = "p", .cpu = "9", .memory = "1Gi");
    fixture_schedule(&f);
    dump_nodes(f.engine, &text);
    assert_string_equal(
        buf_cstr(&text),
        "Node name: gone\nDeleted: true\nRequested Resources: &{MilliCPU:1000 Memory:1073741824 "
        "EphemeralStorage:0 AllowedPodNumber:0 ScalarResources:map[]}\nAllocatable Resources:&{"
        "MilliCPU:0 Memory:0 EphemeralStorage:0 AllowedPodNumber:0 ScalarResources:map[]}\n"
        "Scheduled Pods(number: 1):\nname: ghost, namespace: default, uid: ghost, phase: , "
        "nominated node: \n\n\n"
        "Node name: n0\nDeleted: false\nRequested Resources: &{MilliCPU:0 Memory:0 "
        "EphemeralStorage:0 AllowedPodNumber:0 ScalarResources:map[]}\nAllocatable Resources:&{"
        "MilliCPU:2000 Memory:0 EphemeralStorage:0 AllowedPodNumber:9 "
        "ScalarResources:map[a.x/y:2 b.x/y:3]}\nScheduled Pods(number: 0):\n\n\n"
        "Node name: n1\nDeleted: false\nRequested Resources: &{MilliCPU:0 Memory:0 "
        "EphemeralStorage:0 AllowedPodNumber:0 ScalarResources:map[]}\nAllocatable Resources:&{"
        "MilliCPU:4000 Memory:8589934592 EphemeralStorage:0 AllowedPodNumber:110 "
        "ScalarResources:map[]}\nScheduled Pods(number: 0):\n");
    buf_clear(&text);
    dump_queue_summary(f.engine, &text);
    assert_string_equal(buf_cstr(&text), "activeQ:0; backoffQ:0; unschedulablePods:1");
    buf_clear(&text);
    dump_queue(f.engine, &text);
    assert_string_equal(buf_cstr(&text),
                        "name: p, namespace: default, uid: p, phase: , nominated node: \n");
    dump_list nodes = {0}, pods = {0};
    dump_list_nodes(f.engine, &nodes);
    dump_list_pods(f.engine, &pods);
    assert_int_equal(nodes.n, 3);
    assert_int_equal(pods.n, 2);
    vec_release(&nodes);
    vec_release(&pods);
    buf_release(&text);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_that_is_bound),
        cmocka_unit_test(a_pod_that_fits_nowhere),
        cmocka_unit_test(a_pod_behind_a_gate),
        cmocka_unit_test(a_binding_that_is_refused),
        cmocka_unit_test(pods_of_others_and_silence),
        cmocka_unit_test(the_dump_shows_nodes_and_the_queue),
    };
    return cmocka_run_group_tests_name("voice", tests, NULL, NULL);
}
