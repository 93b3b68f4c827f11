/* SPDX-License-Identifier: Apache-2.0 */
/* Extenders are called for each member of a group, while the cluster changes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "engine_fixture.h"

#define SECOND ((int64_t)1000000000)
#define MANY   8

static const char *const names[] = {"g-0", "g-1", "g-2"};

static const struct extender extenders[] = {
    {.name = STR_INIT("http://x"), .filters = true, .prioritizes = true, .weight = 1000},
};

static void begin(struct fixture *f, int nodes, int n, int min, const char *gates)
{
    static const char *const all[] = {"n0", "n1", "n2", "n3"};
    fixture_init_parts(
        f, &(struct fixture_parts){.extenders = extenders, .n_extenders = 1, .gates = gates});
    for (int i = 0; i < nodes; i++)
        ADD_NODE(f, .name = all[i], .cpu = "1", .memory = "8Gi");
    fixture_add(f, POD_GROUP(.name = "g", .uid = "u", .min_count = min, .priority = 10));
    for (int i = 0; i < n; i++)
        ADD_POD(f, .name = names[i], .priority = 10, .group = "g", .cpu = "1");
}

static bool is_asked_about(const struct fixture_call *call, const char *pod)
{
    return str_is(object_meta(call->pod)->name, pod);
}

/* Answers a call: drops `out`, and scores nodes by name, the last best. */
static void answer(struct fixture *f, const char *out)
{
    struct fixture_call *call = fixture_call(f);
    struct str kept[MANY], left = str_of(call->nodes);
    struct extender_host_score scores[MANY];
    struct extender_refusal refusal = {str_of(out), STR("not that one")};
    struct extender_result result = {.kept = kept, .scores = scores, .failed = &refusal};
    while (left.n) {
        size_t n = MIN(str_search(left, STR(" ")), left.n);
        struct str name = str_slice(left, 0, n);
        left = n < left.n ? str_slice(left, n + 1, left.n) : STR("");
        if (str_is(name, out)) {
            result.n_failed = 1;
            continue;
        }
        kept[result.n_kept++] = name;
        scores[result.n_scores++] = (struct extender_host_score){name, name.p[1] - '0'};
    }
    if (call->verb == EXTENDER_FILTER)
        result.n_scores = 0;
    else
        result.n_kept = result.n_failed = 0;
    fixture_extender_done(f, call, &result);
}

/* Until there are no more calls. */
static void settle(struct fixture *f, const char *out)
{
    fixture_settle(f);
    while (fixture_call(f)) {
        answer(f, out);
        fixture_settle(f);
    }
}

static int bound(struct fixture *f)
{
    int count = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        count += fixture_node_of(f, names[i]) != NULL;
    return count;
}

static void extenders_choose_for_every_member(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4, 3, 3, NULL);
    settle(&f, "n0");
    assert_string_equal(fixture_node_of(&f, "g-0"), "n3");
    assert_string_equal(fixture_node_of(&f, "g-1"), "n2");
    assert_string_equal(fixture_node_of(&f, "g-2"), "n1");
    fixture_release(&f);
}

static void what_extenders_turn_down_is_missing(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3, 3, 3, NULL);
    settle(&f, "n0");
    assert_int_equal(bound(&f), 0);
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    assert_string_equal(fixture_last(&f, WRITE_POD_GROUP_STATUS, "g")->message,
                        "pod group is unschedulable");
    assert_non_null(strstr(fixture_last(&f, WRITE_EVENT, "g-2")->message, "not that one"));
    fixture_release(&f);
}

/* No other pod is tried while a member's extenders are called. */
static void the_queue_waits(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4, 3, 3, NULL);
    fixture_schedule(&f);
    assert_true(is_asked_about(fixture_call(&f), "g-0"));
    ADD_POD(&f, .name = "alone", .cpu = "1", .memory = "1Gi");
    fixture_schedule(&f);
    answer(&f, "");
    while (!is_asked_about(fixture_call(&f), "g-1"))
        answer(&f, "");
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 1);
    settle(&f, "");
    assert_int_equal(bound(&f), 3);
    assert_string_equal(fixture_node_of(&f, "alone"), "n0");
    fixture_release(&f);
}

static void a_member_is_deleted_while_it_is_asked_about(void **state)
{
    (void)state;
    for (int min = 2; min <= 3; min++) {
        struct fixture f;
        begin(&f, 4, 3, min, NULL);
        fixture_schedule(&f);
        while (!is_asked_about(fixture_call(&f), "g-1"))
            answer(&f, "");
        struct fixture_call *late = fixture_call(&f);
        fixture_delete(&f, POD(.name = "g-1", .priority = 10, .group = "g", .cpu = "1"));
        fixture_schedule(&f); /* on to the next one */
        size_t i = 0;
        while (i < f.calls.n && !is_asked_about(&f.calls.v[i], "g-2"))
            i++;
        assert_true(i < f.calls.n);
        late = &f.calls.v[(size_t)(late - f.calls.v)];
        struct extender_result nothing = {.error = STR("too late")};
        fixture_extender_done(&f, late, &nothing);
        settle(&f, "");
        assert_int_equal(bound(&f), min == 2 ? 2 : 0);
        assert_null(fixture_node_of(&f, "g-1"));
        assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
        fixture_release(&f);
    }
}

/* A member that was tried already: it is not bound, and the others notice in Permit at the
 * latest. */
static void a_member_is_deleted_after_it_was_tried(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4, 3, 3, "BerthGangsHoldNothing=true");
    fixture_schedule(&f);
    while (!is_asked_about(fixture_call(&f), "g-2"))
        answer(&f, "");
    fixture_delete(&f, POD(.name = "g-0", .priority = 10, .group = "g", .cpu = "1"));
    settle(&f, "");
    assert_int_equal(bound(&f), 0);
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    ADD_POD(&f, .name = "g-0", .priority = 10, .group = "g", .cpu = "1");
    fixture_pass(&f, 60 * SECOND);
    settle(&f, "");
    assert_int_equal(bound(&f), 3);
    fixture_release(&f);
}

static void a_node_goes_that_is_asked_about(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4, 3, 3, NULL);
    fixture_schedule(&f);
    assert_string_equal(fixture_call(&f)->nodes, "n0 n1 n2 n3");
    fixture_delete(&f, NODE(.name = "n3", .cpu = "1", .memory = "8Gi"));
    settle(&f, "");
    assert_int_equal(bound(&f), 3);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_not_equal(fixture_node_of(&f, names[i]), "n3");
    fixture_release(&f);
}

/* The node of another member is deleted. That member fails, and the gang is not bound in part. */
static void a_node_goes_that_was_chosen(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        begin(&f, 4, 3, 3, gate ? "BerthGangsHoldNothing=true" : NULL);
        fixture_schedule(&f);
        while (!is_asked_about(fixture_call(&f), "g-1"))
            answer(&f, "");
        fixture_delete(&f, NODE(.name = "n3", .cpu = "1", .memory = "8Gi")); /* g-0's */
        while (is_asked_about(fixture_call(&f), "g-1") || is_asked_about(fixture_call(&f), "g-2")) {
            answer(&f, "");
            if (!fixture_call(&f))
                break;
        }
        /* The others waited in Permit and wake g-0; or they have released their reservations. */
        assert_string_equal(fixture_last(&f, WRITE_EVENT, "g-0")->message,
                            "the node went away while extenders were asked");
        assert_int_equal(bound(&f), 0);
        assert_int_equal(engine_get_stats(f.engine).held, gate ? 0 : 2);
        fixture_pass(&f, 30 * SECOND);
        settle(&f, "");
        assert_int_equal(bound(&f), 3);
        fixture_release(&f);
    }
}

/* Workload-aware preemption uses dry runs: extenders are not called. */
static void dry_tries_do_not_ask(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2, 2, 2, "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true");
    ADD_POD(&f, .name = "v", .cpu = "1", .memory = "1Gi", .node = "n0");
    settle(&f, "");
    assert_int_equal(f.calls.n, 1); /* the filter call of the member for which n1 is free */
    fixture_answer(&f, fixture_eviction(&f, "v"), 200, "");
    fixture_pass(&f, 60 * SECOND);
    settle(&f, "");
    assert_int_equal(bound(&f), 2);
    assert_true(f.calls.n > 1);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extenders_choose_for_every_member),
        cmocka_unit_test(what_extenders_turn_down_is_missing),
        cmocka_unit_test(the_queue_waits),
        cmocka_unit_test(a_member_is_deleted_while_it_is_asked_about),
        cmocka_unit_test(a_member_is_deleted_after_it_was_tried),
        cmocka_unit_test(a_node_goes_that_is_asked_about),
        cmocka_unit_test(a_node_goes_that_was_chosen),
        cmocka_unit_test(dry_tries_do_not_ask),
    };
    return cmocka_run_group_tests_name("group_extenders", tests, NULL, NULL);
}
