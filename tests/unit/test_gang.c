/* SPDX-License-Identifier: Apache-2.0 */
/* berth's additions for gangs, each behind a gate: nodes n0, n1, … of 4 cpus. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/pod.h"
#include "engine/rooms.h"
#include "plugins/registry.h"
#include "puppet.h"

#define SECOND ((int64_t)1000000000)

static const char *const names[] = {"g-0", "g-1", "g-2", "g-3"};

static void add_nodes(struct fixture *f, int n)
{
    static const char *const nodes[] = {"n0", "n1", "n2", "n3"};
    for (int i = 0; i < n; i++)
        ADD_NODE(f, .name = nodes[i], .cpu = "4", .memory = "8Gi");
}

static void a_minute_later(struct fixture *f)
{
    fixture_pass(f, 60 * SECOND);
    fixture_settle(f);
}

static void add_gang(struct fixture *f, int n, int min, int cpu)
{
    fixture_add(f, POD_GROUP(.name = "g", .uid = "u", .min_count = min));
    for (int i = 0; i < n; i++)
        ADD_POD(f, .name = names[i], .priority = 10, .group = "g", .cpu = textf("%d", cpu));
}

static int bound(struct fixture *f, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += fixture_node_of(f, names[i]) != NULL;
    return count;
}

/* --- a gang preempts as a whole or not at all ------------------------------------------------- */

static size_t promises(struct fixture *f, int n)
{
    size_t count = 0;
    for (int i = 0; i < n; i++)
        count += !str_empty(nominator_node_of(&f->engine->queue.nominator, str_of(names[i])));
    return count;
}

static const char *condition(struct fixture *f)
{
    return fixture_last(f, WRITE_POD_GROUP_STATUS, "g")->message;
}

/* A victim on each of two nodes; only two of three members can be helped. */
static void no_eviction_for_a_gang_that_never_fits(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        fixture_init_features(&f, NULL, gate ? "BerthGangPreemption=true" : NULL);
        add_nodes(&f, 2);
        ADD_POD(&f, .name = "v0", .cpu = "4", .memory = "1Gi", .node = "n0");
        ADD_POD(&f, .name = "v1", .cpu = "4", .memory = "1Gi", .node = "n1");
        add_gang(&f, 3, 3, 4);
        fixture_schedule(&f);
        assert_string_equal(condition(&f), "pod group is unschedulable");
        assert_int_equal(promises(&f, 3), 0);
        const char *victims = fixture_evict(&f);
        assert_int_equal(strlen(victims), gate ? 0 : 5); /* "v0 v1", or reversed */
        fixture_release(&f);
    }
}

static void victims_go_when_all_of_the_gang_will_fit(void **state)
{
    (void)state;
    static const char *const gates[] = {"BerthGangPreemption=true",
                                        "BerthGangPreemption=true,SchedulerAsyncPreemption=false"};
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        struct fixture f;
        fixture_init_features(&f, NULL, gates[i]);
        add_nodes(&f, 3);
        ADD_POD(&f, .name = "v0", .cpu = "4", .memory = "1Gi", .node = "n0");
        ADD_POD(&f, .name = "v1", .cpu = "4", .memory = "1Gi", .node = "n1");
        add_gang(&f, 3, 3, 4);
        fixture_schedule(&f);
        assert_string_equal(
            condition(&f),
            "pod group is unschedulable, pod group is waiting for preemption to complete");
        assert_int_equal(promises(&f, 3), 3);
        assert_int_equal(strlen(fixture_evict(&f)), 5);
        a_minute_later(&f);
        assert_int_equal(bound(&f, 3), 3);
        fixture_release(&f);
    }
}

/* Two members need the same victims: each victim is evicted once. */
static void no_pod_is_evicted_twice(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, "BerthGangPreemption=true");
    add_nodes(&f, 1);
    ADD_POD(&f, .name = "v0", .cpu = "2", .memory = "1Gi", .node = "n0");
    ADD_POD(&f, .name = "v1", .cpu = "2", .memory = "1Gi", .node = "n0");
    add_gang(&f, 2, 2, 2);
    fixture_schedule(&f);
    assert_int_equal(strlen(fixture_evict(&f)), 5);
    a_minute_later(&f);
    assert_int_equal(bound(&f, 2), 2);
    fixture_release(&f);
}

/* --- pods kept out during evictions ----------------------------------------------------------- */

/* Two members have victims, the third fits nowhere, so that nothing happens; then the third is
 * bound by another scheduler. No plugin rejected the two, and no event concerns them. */
static void a_pod_that_waits_for_an_eviction_comes_back_after_it(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    add_nodes(&f, 2);
    ADD_POD(&f, .name = "v0", .cpu = "4", .memory = "1Gi", .node = "n0");
    ADD_POD(&f, .name = "v1", .cpu = "4", .memory = "1Gi", .node = "n1");
    add_gang(&f, 2, 3, 4);
    ADD_POD(&f, .name = "g-2", .priority = 10, .group = "g", .cpu = "100");
    fixture_schedule(&f);
    assert_string_equal(condition(&f), "pod group is unschedulable");
    struct object *by_hand = POD(.name = "g-2", .priority = 10, .group = "g", .cpu = "100");
    ((struct pod *)object_body_mut(by_hand))->spec.node_name =
        arena_dup(object_arena(by_hand), STR("elsewhere"));
    fixture_update(&f, POD(.name = "g-2", .priority = 10, .group = "g", .cpu = "100"), by_hand);
    assert_int_equal(strlen(fixture_evict(&f)), 5);
    a_minute_later(&f);
    assert_int_equal(bound(&f, 2), 2);
    fixture_release(&f);
}

/* The lower of two is nominated to the node that the higher one preempts on. */
static void members_do_not_take_nominations_from_each_other(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    add_nodes(&f, 1);
    ADD_POD(&f, .name = "v", .cpu = "4", .memory = "1Gi", .node = "n0");
    fixture_add(&f, POD_GROUP(.name = "g", .uid = "u", .min_count = 1));
    ADD_POD(&f, .name = "g-0", .priority = 20, .group = "g", .cpu = "4");
    ADD_POD(&f, .name = "g-1", .priority = 10, .group = "g", .cpu = "4", .nominated = "n0");
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "v"));
    for (size_t i = 0; i < f.writes.n; i++)
        assert_false(f.writes.v[i].kind == WRITE_POD_STATUS && !f.writes.v[i].sets_condition);
    fixture_release(&f);
}

/* --- a gang does not hold resources it cannot use --------------------------------------------- */

/* X accepts all pods in the group's cycle; in the pods' own cycles see below. */
static const char *refused; /* this pod is rejected */
static enum berth_code how;
static bool holds_all; /* all pods are held */

static void permit(struct puppet_call *call)
{
    if (call->point != PUPPET_PERMIT || call->cycle->in_group)
        return;
    struct str name = call->pod->pod->metadata.name;
    if (refused && str_is(name, refused))
        call->code = how;
    else if (holds_all)
        call->code = BERTH_WAIT;
    call->timeout = 600 * SECOND;
}

static struct registry registry;

static void begin(struct fixture *f, bool gate)
{
    struct err err = {0};
    puppet_clear();
    puppet_add("X", AT(PERMIT))->hook = permit;
    registry_init(&registry, &in_tree_registry);
    const struct berth_plugin *x = registry_find(puppet_registry(), STR("X"));
    if (registry_register(&registry, x, &err) < 0)
        fail_msg("%s", err.msg);
    refused = NULL;
    holds_all = false;
    fixture_init_parts(f, &(struct fixture_parts){
                              .config = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "- plugins:\n"
                                        "    multiPoint: {disabled: [{name: GangScheduling}]}\n"
                                        "    preEnqueue: {enabled: [{name: GangScheduling}]}\n"
                                        "    permit: {enabled: [{name: X}, {name: "
                                        "GangScheduling}]}\n",
                              .registry = &registry,
                              .gates = gate ? "BerthGangsHoldNothing=true" : NULL});
    add_nodes(f, 3);
}

static void end(struct fixture *f)
{
    fixture_release(f);
    registry_release(&registry);
}

static void a_gang_with_a_rejected_member_is_unreserved(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        begin(&f, gate);
        refused = "g-2";
        how = BERTH_UNSCHEDULABLE;
        add_gang(&f, 3, 3, 4);
        fixture_settle(&f);
        assert_int_equal(bound(&f, 3), 0);
        assert_int_equal(engine_get_stats(f.engine).held, gate ? 0 : 2);
        assert_int_equal(engine_get_stats(f.engine).assumed_pods, gate ? 0 : 2);
        /* Other pods may use the resources. */
        ADD_POD(&f, .name = "alone", .cpu = "4", .memory = "1Gi");
        ADD_POD(&f, .name = "other", .cpu = "4", .memory = "1Gi");
        fixture_settle(&f);
        assert_non_null(fixture_node_of(&f, "alone"));
        assert_int_equal(fixture_node_of(&f, "other") != NULL, gate);
        end(&f);
    }
}

/* Not before all were tried: a later pod may complete the gang. */
static void a_quorum_without_the_lost_one_is_enough(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, true);
    refused = "g-1";
    how = BERTH_UNSCHEDULABLE;
    add_gang(&f, 3, 2, 4);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 3), 2);
    assert_null(fixture_node_of(&f, "g-1"));
    end(&f);
}

/* After an error the whole gang is retried soon. */
static void the_gang_comes_back_together(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, true);
    refused = "g-1";
    how = BERTH_ERROR;
    add_gang(&f, 3, 3, 4);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 3), 0);
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    refused = NULL;
    a_minute_later(&f);
    assert_int_equal(bound(&f, 3), 3);
    end(&f);
}

static void a_gang_with_a_deleted_member_is_unreserved(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        begin(&f, gate);
        holds_all = true;
        add_gang(&f, 3, 3, 4);
        fixture_settle(&f);
        assert_int_equal(engine_get_stats(f.engine).held, 3);
        fixture_delete(&f, POD(.name = "g-1", .priority = 10, .group = "g", .cpu = "4"));
        assert_int_equal(engine_get_stats(f.engine).held, gate ? 0 : 2);
        assert_int_equal(engine_get_stats(f.engine).assumed_pods, gate ? 0 : 2);
        /* A replacement completes the gang. */
        holds_all = false;
        ADD_POD(&f, .name = "g-3", .priority = 10, .group = "g", .cpu = "4");
        a_minute_later(&f);
        if (gate)
            assert_int_equal(bound(&f, 4), 3);
        end(&f);
    }
}

/* The node without pods of the gang. */
static const char *free_node(struct fixture *f)
{
    static const char *const nodes[] = {"n0", "n1", "n2"};
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        if (!cache_node(&f->engine->cache, str_of(nodes[i]))->pods.n)
            return nodes[i];
    fail_msg("there is none");
    return NULL;
}

/* Two wait in Permit. The third completes the gang only when its victim is gone. */
static void no_pod_is_released_during_a_trial(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, false);
    refused = "g-2";
    how = BERTH_UNSCHEDULABLE;
    add_gang(&f, 3, 3, 4);
    fixture_settle(&f);
    assert_int_equal(engine_get_stats(f.engine).held, 2);
    ADD_POD(&f, .name = "v", .cpu = "4", .memory = "1Gi", .node = free_node(&f));
    refused = NULL;
    fixture_pass(&f, 60 * SECOND);
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "v"));
    assert_int_equal(engine_get_stats(f.engine).held, 2);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 3), 0);
    fixture_evict(&f);
    a_minute_later(&f);
    assert_int_equal(bound(&f, 3), 3);
    end(&f);
}

static void a_gang_without_its_group_lets_go(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        begin(&f, gate);
        holds_all = true;
        add_gang(&f, 3, 3, 4);
        fixture_settle(&f);
        fixture_delete(&f, POD_GROUP(.name = "g", .uid = "u", .min_count = 3));
        assert_int_equal(engine_get_stats(f.engine).held, gate ? 0 : 3);
        holds_all = false;
        fixture_add(&f, POD_GROUP(.name = "g", .uid = "u", .min_count = 3));
        a_minute_later(&f);
        assert_int_equal(bound(&f, 3), gate ? 3 : 0);
        end(&f);
    }
}

static const char *last_nomination(struct fixture *f, const char *pod)
{
    const char *last = "nothing";
    for (size_t i = 0; i < f->writes.n; i++)
        if (f->writes.v[i].kind == WRITE_POD_STATUS && f->writes.v[i].sets_nomination &&
            str_is(object_meta(f->writes.v[i].pod)->name, pod))
            last = f->writes.v[i].node;
    return last;
}

/* Both members are nominated when one of them is deleted: the other does not need its
 * nomination. */
static void a_gang_below_min_count_drops_its_nominations(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        fixture_init_features(&f, NULL, gate ? "BerthGangsHoldNothing=true" : NULL);
        add_nodes(&f, 2);
        ADD_POD(&f, .name = "v0", .cpu = "4", .memory = "1Gi", .node = "n0");
        ADD_POD(&f, .name = "v1", .cpu = "4", .memory = "1Gi", .node = "n1");
        add_gang(&f, 2, 2, 4);
        fixture_schedule(&f);
        assert_int_equal(promises(&f, 2), 2);
        fixture_delete(&f, POD(.name = "g-1", .priority = 10, .group = "g", .cpu = "4"));
        assert_int_equal(promises(&f, 1), gate ? 0 : 1);
        assert_int_equal(strlen(last_nomination(&f, "g-0")), gate ? 0 : 2);
        assert_int_equal(strlen(fixture_evict(&f)), 5);
        ADD_POD(&f, .name = "alone", .cpu = "4", .memory = "1Gi");
        ADD_POD(&f, .name = "other", .cpu = "4", .memory = "1Gi");
        a_minute_later(&f);
        assert_non_null(fixture_node_of(&f, "alone"));
        assert_int_equal(fixture_node_of(&f, "other") != NULL, gate);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_eviction_for_a_gang_that_never_fits),
        cmocka_unit_test(victims_go_when_all_of_the_gang_will_fit),
        cmocka_unit_test(no_pod_is_evicted_twice),
        cmocka_unit_test(a_pod_that_waits_for_an_eviction_comes_back_after_it),
        cmocka_unit_test(members_do_not_take_nominations_from_each_other),
        cmocka_unit_test(no_pod_is_released_during_a_trial),
        cmocka_unit_test(a_gang_with_a_rejected_member_is_unreserved),
        cmocka_unit_test(a_quorum_without_the_lost_one_is_enough),
        cmocka_unit_test(the_gang_comes_back_together),
        cmocka_unit_test(a_gang_with_a_deleted_member_is_unreserved),
        cmocka_unit_test(a_gang_without_its_group_lets_go),
        cmocka_unit_test(a_gang_below_min_count_drops_its_nominations),
    };
    return cmocka_run_group_tests_name("gang", tests, NULL, NULL);
}
