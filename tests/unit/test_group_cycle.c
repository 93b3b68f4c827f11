/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of a group: placed together or not at all. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/pod.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "prop.h"

#define SECOND ((int64_t)1000000000)

static const char waits[] = "pod group is unschedulable, waiting for minCount pods from a gang to "
                            "be scheduled, one or more plugins asked to wait and no plugin "
                            "rejected pod";

static void add_gang(struct fixture *f, const char *name, int n, int min, const char *cpu)
{
    fixture_add(f, POD_GROUP(.name = name, .generation = 1, .min_count = min));
    for (int i = 0; i < n; i++)
        ADD_POD(f, .name = textf("%s-%d", name, i), .group = name, .cpu = cpu);
}

/* How many pods of the gang are bound or in their binding. */
static int bound(struct fixture *f, const char *name, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const char *pod = textf("%s-%d", name, i);
        count += fixture_node_of(f, pod) != NULL;
    }
    return count;
}

static const struct fixture_write *condition(struct fixture *f, const char *name)
{
    return fixture_last(f, WRITE_POD_GROUP_STATUS, name);
}

static void all_that_fit_together_are_bound(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    ADD_NODE(&f, .name = "b", .cpu = "2", .memory = "8Gi");
    add_gang(&f, "g", 4, 4, "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 4), 4);
    assert_string_equal(condition(&f, "g")->reason, "Scheduled");
    assert_true(condition(&f, "g")->scheduled);
    assert_string_equal(condition(&f, "g")->message, "");
    fixture_release(&f);
}

static void none_is_bound_where_not_enough_fit(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    add_gang(&f, "g", 3, 3, "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 0);
    assert_null(fixture_binding(&f, "g-0"));
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    assert_string_equal(fixture_last(&f, WRITE_EVENT, "g-0")->message, waits);
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "g-0")->reason, "Unschedulable");
    assert_string_equal(
        fixture_last(&f, WRITE_EVENT, "g-2")->message,
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 No preemption victims "
        "found for incoming pod.");
    assert_string_equal(condition(&f, "g")->reason, "Unschedulable");
    assert_string_equal(condition(&f, "g")->message, "pod group is unschedulable");
    assert_false(condition(&f, "g")->scheduled);
    /* Time requeues them, and free resources let them pass. */
    ADD_NODE(&f, .name = "b", .cpu = "2", .memory = "8Gi");
    fixture_pass(&f, 30 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    fixture_release(&f);
}

/* A single pod is bound while the gang waits: the gang's attempt released its resources. */
static void a_gang_that_waits_holds_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    add_gang(&f, "g", 3, 3, "1");
    fixture_settle(&f);
    ADD_POD(&f, .name = "alone", .cpu = "2", .memory = "1Gi");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "alone"), "a");
    fixture_release(&f);
}

static void no_member_enters_before_the_quorum(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "8", .memory = "8Gi");
    add_gang(&f, "g", 2, 3, "1");
    ADD_POD(&f, .name = "h-0", .group = "h", .cpu = "1"); /* its group does not exist */
    fixture_settle(&f);
    assert_int_equal(engine_get_stats(f.engine).gated, 3);
    assert_int_equal(f.decisions.n, 0);
    ADD_POD(&f, .name = "g-2", .group = "g", .cpu = "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    assert_int_equal(engine_get_stats(f.engine).gated, 1);
    fixture_add(&f, POD_GROUP(.name = "h", .generation = 1));
    fixture_settle(&f);
    assert_int_equal(bound(&f, "h", 1), 1);
    fixture_release(&f);
}

/* More than the quorum: the pods that fit are placed, the others wait. */
static void the_quorum_is_enough(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "3", .memory = "8Gi");
    add_gang(&f, "g", 5, 2, "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 5), 3);
    assert_string_equal(condition(&f, "g")->reason, "Scheduled");
    fixture_release(&f);
}

static void without_a_gang_each_goes_where_it_can(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    fixture_add(&f, POD_GROUP(.name = "g", .generation = 1));
    for (int i = 0; i < 3; i++) {
        const char *pod = textf("g-%d", i);
        ADD_POD(&f, .name = pod, .group = "g", .cpu = "1");
    }
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 2);
    fixture_release(&f);
}

/* The group's status is written once, and true conditions stay true. */
static void the_condition_is_written_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    struct object *told = POD_GROUP(
            .name = "g", .generation = 1, .min_count = 2,
            .status =
                "'conditions':[{'type':'PodGroupScheduled','status':'True','reason':'Scheduled','"
                "message':'','observedGeneration':1,'lastTransitionTime':'2026-01-01T00:00:00Z'}]");
    fixture_add(&f, told);
    ADD_POD(&f, .name = "g-0", .group = "g", .cpu = "1");
    ADD_POD(&f, .name = "g-1", .group = "g", .cpu = "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 2), 0);
    assert_null(condition(&f, "g"));
    fixture_release(&f);
}

static void gates_switch_it_off(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, "GenericWorkload=false");
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    add_gang(&f, "g", 3, 3, "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 2);
    assert_null(condition(&f, "g"));
    fixture_release(&f);
}

/* --- events and conditions -------------------------------------------------------------------- */

static bool was_logged(const struct fixture *f, const char *line)
{
    for (size_t i = 0; i < f->logs.n; i++)
        if (strcmp(f->logs.v[i], line) == 0)
            return true;
    return false;
}

static void groups_are_counted_and_logged(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, "GenericWorkload=true,GangScheduling=true");
    engine_set_verbosity(f.engine, 5);
    ADD_NODE(&f, .name = "a", .cpu = "3", .memory = "8Gi");
    add_gang(&f, "g", 4, 2, "1");
    fixture_settle(&f);
    add_gang(&f, "big", 2, 2, "1");
    fixture_settle(&f);
    assert_true(was_logged(&f, "3 Attempting to schedule pod group podGroup=default/g"));
    assert_true(was_logged(&f, "2 Successfully scheduled a pod group podGroup=default/g "
                               "scheduledPods=3 unschedulablePods=1"));
    assert_true(was_logged(&f, "2 Unable to schedule a pod group podGroup=default/big "
                               "unschedulablePods=2"));
    assert_true(fixture_metric(&f, "scheduler_podgroup_schedule_attempts_total{"
                                   "profile='default-scheduler',result='scheduled'}") == 1);
    assert_true(fixture_metric(&f, "scheduler_podgroup_schedule_attempts_total{"
                                   "profile='default-scheduler',result='unschedulable'}") == 1);
    assert_true(fixture_metric(&f, "scheduler_podgroup_scheduling_attempt_duration_seconds_count{"
                                   "profile='default-scheduler',result='scheduled'}") == 1);
    assert_true(
        fixture_metric(&f, "scheduler_podgroup_scheduling_algorithm_duration_seconds_count") == 2);
    fixture_release(&f);
}

/* Without the gate its metrics are not shown, as upstream. */
static void without_the_gate_nothing_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "3", .memory = "8Gi");
    add_gang(&f, "g", 2, 2, "1");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 2), 2);
    double n = fixture_metric(&f, "scheduler_podgroup_scheduling_algorithm_duration_seconds_count");
    assert_true(n != n);
    fixture_release(&f);
}

/* --- placements ------------------------------------------------------------------------------- */

static void a_topology_key_keeps_the_group_in_one_domain(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL,
                          "GenericWorkload=true,GangScheduling=true,"
                          "TopologyAwareWorkloadScheduling=true");
    for (int i = 0; i < 6; i++) {
        const char *name = textf("n%d", i);
        const char *rack = textf("r%d", i / 2);
        /* Only the racks r1 and r2 fit all pods, and r2 has more room. */
        ADD_NODE(&f, .name = name, .labels = textf("rack=%s", rack),
                 .cpu = i < 2   ? "1"
                        : i < 4 ? "2"
                                : "4",
                 .memory = "8Gi");
    }
    fixture_add(&f, POD_GROUP(.name = "g", .min_count = 3, .topology = "rack"));
    for (int i = 0; i < 3; i++) {
        char pod[16];
        snprintf(pod, sizeof(pod), "g-%d", i);
        ADD_POD(&f, .name = pod, .group = "g", .cpu = "1");
    }
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    /* Both fit all three; the rack that is fuller afterwards is better (MostAllocated). */
    for (int i = 0; i < 3; i++) {
        const char *pod = textf("g-%d", i);
        const char *node = fixture_node_of(&f, pod);
        assert_true(strcmp(node, "n2") == 0 || strcmp(node, "n3") == 0);
    }
    /* A fourth pod goes where the others are if there is room, otherwise nowhere. */
    ADD_POD(&f, .name = "g-3", .group = "g", .cpu = "1");
    fixture_settle(&f);
    const char *node = fixture_node_of(&f, "g-3");
    assert_true(node && (strcmp(node, "n2") == 0 || strcmp(node, "n3") == 0));
    ADD_POD(&f, .name = "g-4", .group = "g", .cpu = "1");
    fixture_settle(&f);
    assert_null(fixture_node_of(&f, "g-4"));
    fixture_release(&f);
}

#define BY_TOPOLOGY "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"

static void add_group_in_a_rack(struct fixture *f, int min)
{
    fixture_add(f, POD_GROUP(.name = "g", .min_count = min, .topology = "rack"));
}

/* The second pod is nominated to a node outside of the rack that fits both. */
static void a_nomination_outside_the_placement_is_ignored(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, BY_TOPOLOGY);
    ADD_NODE(&f, .name = "a", .labels = "rack=r0", .cpu = "1", .memory = "8Gi");
    ADD_NODE(&f, .name = "b", .labels = "rack=r1", .cpu = "2", .memory = "8Gi");
    add_group_in_a_rack(&f, 2);
    ADD_POD(&f, .name = "g-0", .group = "g", .cpu = "1");
    ADD_POD(&f, .name = "g-1", .group = "g", .cpu = "1", .nominated = "a");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "g-0"), "b");
    assert_string_equal(fixture_node_of(&f, "g-1"), "b");
    fixture_release(&f);
}

/* The start node of the next attempt is counted within the placement. */
static void turns_are_taken_within_the_placement(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, BY_TOPOLOGY);
    ADD_NODE(&f, .name = "a", .labels = "rack=r0", .cpu = "2", .memory = "8Gi");
    ADD_NODE(&f, .name = "b", .labels = "rack=r0", .cpu = "2", .memory = "8Gi");
    ADD_NODE(&f, .name = "c", .cpu = "2", .memory = "8Gi");
    add_group_in_a_rack(&f, 1);
    ADD_POD(&f, .name = "g-0", .group = "g", .cpu = "1");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "g-0"));
    assert_int_equal(f.engine->cycles.next_start_node, 0);
    fixture_release(&f);
}

static void no_placement_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, BY_TOPOLOGY);
    ADD_NODE(&f, .name = "a", .cpu = "4", .memory = "8Gi");
    add_group_in_a_rack(&f, 1);
    ADD_POD(&f, .name = "g-0", .group = "g", .cpu = "1");
    fixture_settle(&f);
    assert_string_equal(condition(&f, "g")->message, "no feasible placements found");
    assert_string_equal(fixture_last(&f, WRITE_EVENT, "g-0")->message,
                        "no feasible placements found");
    fixture_release(&f);
}

/* One pod has an older nomination that does not fit: the node is free for the others. */
static void members_do_not_keep_nodes_from_each_other(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    fixture_add(&f, POD_GROUP(.name = "g", .generation = 1, .min_count = 2));
    ADD_POD(&f, .name = "g-0", .group = "g", .cpu = "1");
    ADD_POD(&f, .name = "g-1", .group = "g", .cpu = "1");
    ADD_POD(&f, .name = "g-2", .group = "g", .cpu = "3", .nominated = "a");
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 2);
    fixture_release(&f);
}

/* --- properties ------------------------------------------------------------------------------- */

/* Random gangs on a random cluster that changes: no gang is ever bound in part. */
static bool no_gang_is_ever_bound_in_part(struct rand *r, size_t size_hint, void *ctx)
{
    (void)size_hint, (void)ctx;
    struct fixture f;
    int gangs = 1 + (int)rand_below(r, 6), size[8], min[8];
    fixture_init(&f, NULL, NULL);
    for (int i = 0; i < gangs; i++) {
        const char *name = textf("g%d", i);
        size[i] = 1 + (int)rand_below(r, 6);
        min[i] = 1 + (int)rand_below(r, (uint64_t)size[i]);
        add_gang(&f, name, size[i], min[i], rand_below(r, 2) ? "1" : "2");
    }
    for (int step = 0; step < 8; step++) {
        if (rand_below(r, 2))
            ADD_NODE(&f, .name = textf("n%d", step), .cpu = rand_below(r, 2) ? "3" : "5",
                     .memory = "8Gi");
        fixture_pass(&f, (int64_t)rand_below(r, 20) * SECOND);
        fixture_settle(&f);
        assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
        for (int i = 0; i < gangs; i++) {
            int n = bound(&f, textf("g%d", i), size[i]);
            assert_true(n == 0 || n >= min[i]);
        }
    }
    /* With room for all, all run in the end. */
    ADD_NODE(&f, .name = "big", .cpu = "100", .memory = "80Gi");
    for (int i = 0; i < 8; i++) {
        fixture_pass(&f, 60 * SECOND);
        fixture_settle(&f);
    }
    for (int i = 0; i < gangs; i++)
        assert_int_equal(bound(&f, textf("g%d", i), size[i]), size[i]);
    fixture_release(&f);
    return true;
}

static void gangs_are_whole(void **state)
{
    (void)state;
    assert_true(prop_run("gangs", 200, no_gang_is_ever_bound_in_part, NULL));
}

/* --- while extenders are called --------------------------------------------------------------- */

#define MANY 8

static const struct extender slow[] = {{.name = STR_INIT("http://slow"),
                                        .filters = true,
                                        .prioritizes = true,
                                        .preempts = true,
                                        .weight = 1}};

/* The node of the first placement is deleted while an extender is called for it. */
static void a_placement_may_lose_all_its_nodes(void **state)
{
    (void)state;
    struct fixture f;
    struct fixture_call *call;
    fixture_init_parts(
        &f, &(struct fixture_parts){.extenders = slow, .n_extenders = 1, .gates = BY_TOPOLOGY});
    ADD_NODE(&f, .name = "a", .labels = "rack=r0", .cpu = "2", .memory = "8Gi");
    ADD_NODE(&f, .name = "b", .labels = "rack=r1", .cpu = "2", .memory = "8Gi");
    add_group_in_a_rack(&f, 2);
    ADD_POD(&f, .name = "g-0", .group = "g", .cpu = "1");
    ADD_POD(&f, .name = "g-1", .group = "g", .cpu = "1");
    fixture_schedule(&f);
    assert_string_equal(fixture_call(&f)->nodes, "a");
    fixture_delete(&f, NODE(.name = "a", .labels = "rack=r0", .cpu = "2", .memory = "8Gi"));
    while ((call = fixture_call(&f))) {
        struct str kept = str_of(call->nodes);
        fixture_extender_done(&f, call, &(struct extender_result){.kept = &kept, .n_kept = 1});
        fixture_schedule(&f);
    }
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "g-0"), "b");
    assert_string_equal(fixture_node_of(&f, "g-1"), "b");
    fixture_release(&f);
}

struct storm {
    struct fixture f;
    struct rand *r;
    bool nodes[MANY], pods[2 * MANY];
    bool profile;
};

static struct object *storm_pod(size_t i)
{
    return POD(.name = textf("p%zu", i), .priority = (int)(i / 4 * 10),
               .group = textf("g%zu", i / 4), .cpu = "1");
}

static struct object *storm_node(size_t i)
{
    const char *name = textf("n%zu", i);
    return NODE(.name = name, .labels = textf("rack=%s", i % 2 ? "r1" : "r0"), .cpu = "2",
                .memory = "8Gi");
}

/* Keeps all nodes, or none, or fails. */
static void storm_answer(struct storm *s)
{
    struct fixture_call *call = fixture_call(&s->f);
    struct str kept[MANY], rest;
    struct extender_result result = {.kept = kept};
    if (!call)
        return;
    rest = str_of(call->nodes);
    for (struct str word; str_split(&rest, ' ', &word) && result.n_kept < MANY;)
        if (word.n)
            kept[result.n_kept++] = word;
    if (call->verb != EXTENDER_FILTER || rand_below(s->r, 4) == 0)
        result.n_kept = 0;
    if (rand_below(s->r, 8) == 0)
        result.error = STR("not now");
    fixture_extender_done(&s->f, call, &result);
}

static void storm_reload(struct storm *s)
{
    static const char other[] = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                "kind: KubeSchedulerConfiguration\n"
                                "profiles: [{schedulerName: other}]\n";
    struct reload_result result;
    struct err err;
    s->profile = rand_below(s->r, 3) > 0;
    struct fixture_reload to = {
        .config = s->profile ? NULL : other, .extenders = slow, .n_extenders = 1};
    assert_int_equal(fixture_reload(&s->f, &to, &result, &err), 0);
}

/* The API server has all pods that are not deleted, and evicts on request. */
static void storm_write(struct storm *s, struct fixture_write *w)
{
    bool *there = &s->pods[strtoul(object_meta(w->pod)->name.p + 1, NULL, 10)];
    if (rand_below(s->r, 4) == 0) {
        fixture_answer(&s->f, w, 500, "no");
    } else if (!*there) {
        fixture_answer(&s->f, w, 404, "gone");
    } else {
        *there = w->kind != WRITE_EVICTION;
        fixture_answer(&s->f, w, w->kind == WRITE_BINDING ? 201 : 200, "");
    }
}

static void storm_writes(struct storm *s)
{
    for (size_t i = 0; i < s->f.writes.n; i++)
        if (!s->f.writes.v[i].answered && s->f.writes.v[i].id && rand_below(s->r, 2))
            storm_write(s, &s->f.writes.v[i]);
}

static void storm_toggle_node(struct storm *s, size_t i)
{
    if (s->nodes[i])
        fixture_delete(&s->f, storm_node(i));
    else
        fixture_add(&s->f, storm_node(i));
    s->nodes[i] = !s->nodes[i];
}

static void storm_toggle_pod(struct storm *s, size_t i)
{
    if (s->pods[i])
        fixture_delete(&s->f, storm_pod(i));
    else
        fixture_add(&s->f, storm_pod(i));
    s->pods[i] = !s->pods[i];
}

static void storm_step(struct storm *s)
{
    size_t node = (size_t)rand_below(s->r, MANY), pod = (size_t)rand_below(s->r, 2 * MANY);
    switch (rand_below(s->r, 10)) {
    case 0:
        storm_toggle_node(s, node);
        break;
    case 1:
        storm_toggle_pod(s, pod);
        break;
    case 2:
        if (rand_below(s->r, 3) == 0)
            storm_reload(s);
        break;
    case 3:
        fixture_pass(&s->f, (int64_t)rand_below(s->r, 10) * SECOND);
        break;
    case 4:
        storm_writes(s);
        break;
    case 5:
    case 6:
        fixture_schedule(&s->f);
        break;
    default:
        storm_answer(s);
        break;
    }
}

/* The cluster changes while a group waits in the middle of its cycle. */
static bool whatever_happens_meanwhile(struct rand *r, size_t size_hint, void *ctx)
{
    (void)size_hint, (void)ctx;
    struct storm s = {.r = r, .profile = true};
    fixture_init_extenders(&s.f, NULL, slow, ARRAY_LEN(slow));
    bool *gates = s.f.engine->framework.features.on;
    gates[FEATURE_SCHEDULER_ASYNC_PREEMPTION] = rand_below(r, 2);
    gates[FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING] = rand_below(r, 2);
    for (size_t i = 0; i < MANY; i++) {
        const char *name = textf("g%zu", i);
        fixture_add(
            &s.f, POD_GROUP(.name = name, .generation = 1, .min_count = rand_below(r, 2) ? 3 : 0));
        fixture_add(&s.f, storm_node(i));
        s.nodes[i] = true;
    }
    for (size_t i = 0; i < 2 * MANY; i++) {
        fixture_add(&s.f, storm_pod(i));
        s.pods[i] = true;
    }
    for (int i = 0; i < 200; i++)
        storm_step(&s);
    /* At rest no pod waits for an event that never comes. */
    for (int i = 0; i < 200; i++) {
        fixture_schedule(&s.f);
        while (fixture_call(&s.f))
            storm_answer(&s);
        storm_writes(&s);
    }
    fixture_pass(&s.f, 3600 * SECOND);
    for (size_t i = 0; i < 2 * MANY; i++)
        if (s.pods[i])
            storm_toggle_pod(&s, i);
    while (fixture_call(&s.f))
        storm_answer(&s);
    fixture_schedule(&s.f);
    for (int i = 0; i < 20; i++)
        storm_writes(&s);
    assert_null(s.f.engine->attempt.queued);
    assert_false(s.f.engine->groups.cycle.active);
    assert_int_equal(s.f.engine->bindings.cycles.n, 0);
    assert_int_equal(s.f.engine->cluster.pod_groups.members.n, 0);
    assert_int_equal(engine_get_stats(s.f.engine).assumed_pods, 0);
    assert_null(s.f.engine->framework.replaced);
    fixture_release(&s.f);
    return true;
}

static void groups_weather_a_storm(void **state)
{
    (void)state;
    assert_true(prop_run("storm", 60, whatever_happens_meanwhile, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_fit_together_are_bound),
        cmocka_unit_test(none_is_bound_where_not_enough_fit),
        cmocka_unit_test(a_gang_that_waits_holds_nothing),
        cmocka_unit_test(no_member_enters_before_the_quorum),
        cmocka_unit_test(the_quorum_is_enough),
        cmocka_unit_test(without_a_gang_each_goes_where_it_can),
        cmocka_unit_test(the_condition_is_written_once),
        cmocka_unit_test(gates_switch_it_off),
        cmocka_unit_test(groups_are_counted_and_logged),
        cmocka_unit_test(without_the_gate_nothing_is_counted),
        cmocka_unit_test(a_topology_key_keeps_the_group_in_one_domain),
        cmocka_unit_test(a_nomination_outside_the_placement_is_ignored),
        cmocka_unit_test(turns_are_taken_within_the_placement),
        cmocka_unit_test(no_placement_is_reported),
        cmocka_unit_test(a_placement_may_lose_all_its_nodes),
        cmocka_unit_test(members_do_not_keep_nodes_from_each_other),
        cmocka_unit_test(gangs_are_whole),
        cmocka_unit_test(groups_weather_a_storm),
    };
    return cmocka_run_group_tests_name("group_cycle", tests, NULL, NULL);
}
