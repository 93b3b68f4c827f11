/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that were rejected for the same reason: how often they are tried, and that none is lost. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/rand.h"
#include "base/time.h"
#include "engine/queue/cohort.h"
#include "engine_fixture.h"
#include "prop.h"

#define N 50

static const char *numbered(const char *what, int i)
{
    static char names[4][32];
    static int at;
    at = (at + 1) % 4;
    snprintf(names[at], sizeof(names[at]), "%s-%d", what, i);
    return names[at];
}

/* N unschedulable pods, each tried once; from now on status writes are not answered. */
static void begin(struct fixture *f)
{
    fixture_init(f, NULL, NULL);
    f->now = 100 * NSEC_PER_SEC;
    ADD_NODE(f, .name = "n", .cpu = "4", .memory = "8Gi");
    for (int i = 0; i < N; i++)
        ADD_POD(f, .name = numbered("large", i), .cpu = "3900m", .memory = "16Gi");
    fixture_schedule(f);
    f->slow_status = true;
}

/* Completed attempts. */
static size_t attempts(const struct fixture *f)
{
    return f->decisions.n;
}

/* Deletes a pod: an event that requeues all pods that lack resources. */
static void somebody_leaves(struct fixture *f, const char *name)
{
    ADD_POD(f, .name = name, .cpu = "100m", .memory = "64Mi", .node = "n");
    fixture_schedule(f);
    fixture_delete(f, POD(.name = name, .cpu = "100m", .memory = "64Mi", .node = "n"));
    fixture_schedule(f);
}

static void one_of_many_is_tried_for_each_event(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_int_equal(attempts(&f), N);
    f.slow_status = false;
    for (int i = 0; i < 5; i++) {
        somebody_leaves(&f, "x");
        assert_int_equal(attempts(&f), N + i + 1);
    }
    fixture_release(&f);
}

static void no_attempt_before_the_status_is_written(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    somebody_leaves(&f, "x");
    assert_int_equal(attempts(&f), N + 1);
    for (int i = 0; i < 10; i++)
        somebody_leaves(&f, "x");
    assert_int_equal(attempts(&f), N + 1);
    /* The write took 20 ms: the server gets a pause of the same length. */
    fixture_pass(&f, 20 * NSEC_PER_MSEC);
    fixture_answer_statuses(&f);
    fixture_schedule(&f);
    assert_int_equal(attempts(&f), N + 1);
    fixture_pass(&f, 21 * NSEC_PER_MSEC);
    fixture_schedule(&f);
    assert_int_equal(attempts(&f), N + 2);
    fixture_release(&f);
}

/* Thirty seconds without any answer, with ten events in each. */
static void slow_writes_slow_retries_down(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 300; i++) {
        somebody_leaves(&f, "x");
        fixture_pass(&f, 100 * NSEC_PER_MSEC);
        fixture_schedule(&f);
    }
    assert_in_range(attempts(&f), N + 50, N + 160);
    fixture_release(&f);
}

/* The same with immediate answers: every pod is tried by the end of its backoff at the latest. */
static void backoff_still_ends(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.slow_status = false;
    for (int i = 0; i < 300; i++) {
        somebody_leaves(&f, "x");
        fixture_pass(&f, 100 * NSEC_PER_MSEC);
        fixture_schedule(&f);
    }
    for (int i = 0; i < N; i++) {
        size_t n = 0;
        for (size_t k = 0; k < f.writes.n; k++)
            n += f.writes.v[k].kind == WRITE_POD_STATUS &&
                 str_is(object_meta(f.writes.v[k].pod)->name, numbered("large", i));
        /* At 0, 1, 3, 7, 15 and 25 s, give or take a window, and sometimes earlier. */
        assert_in_range(n, 4, 20);
    }
    fixture_release(&f);
}

static void a_pod_of_another_shape_finds_room_while_many_are_held(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ADD_POD(&f, .name = "old", .cpu = "3", .memory = "1Gi", .node = "n");
    somebody_leaves(&f, "x");
    size_t before = attempts(&f);
    somebody_leaves(&f, "x");
    assert_int_equal(attempts(&f), before); /* they are held */
    ADD_POD(&f, .name = "medium", .cpu = "2", .memory = "1Gi");
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "medium"));
    fixture_delete(&f, POD(.name = "old", .cpu = "3", .memory = "1Gi", .node = "n"));
    fixture_schedule(&f);
    assert_non_null(fixture_binding(&f, "medium"));
    fixture_release(&f);
}

static void a_new_pod_is_tried_at_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    somebody_leaves(&f, "x");
    size_t before = attempts(&f);
    ADD_POD(&f, .name = "large-new", .cpu = "3900m", .memory = "16Gi");
    fixture_schedule(&f);
    assert_int_equal(attempts(&f), before + 1);
    fixture_release(&f);
}

static size_t bound(struct fixture *f)
{
    size_t n = 0;
    for (int i = 0; i < N; i++)
        n += fixture_node_of(f, numbered("large", i)) != NULL;
    return n;
}

static void room_for_all_is_used_by_all(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct fixture f;
        begin(&f);
        f.slow_status = slow;
        somebody_leaves(&f, "x");
        ADD_NODE(&f, .name = "big", .cpu = "400", .memory = "1000Gi");
        if (slow)
            fixture_pass(&f, COHORT_PATIENCE);
        fixture_settle(&f);
        assert_int_equal(bound(&f), N);
        fixture_release(&f);
    }
}

static void few_reports_are_under_way(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    f.now = 100 * NSEC_PER_SEC;
    ADD_NODE(&f, .name = "n", .cpu = "4", .memory = "8Gi");
    for (int i = 0; i < N; i++) {
        const char *memory = textf("%dGi", 20 + i);
        ADD_POD(&f, .name = numbered("own", i), .cpu = "1", .memory = memory);
    }
    fixture_schedule(&f);
    f.slow_status = true;
    size_t before = attempts(&f);
    fixture_pass(&f, 20 * NSEC_PER_SEC); /* all backoffs are over */
    somebody_leaves(&f, "x");
    assert_int_equal(attempts(&f), before + COHORT_MAX_REPORTS);
    somebody_leaves(&f, "x");
    assert_int_equal(attempts(&f), before + COHORT_MAX_REPORTS);
    /* As their writes end, other pods are tried. */
    fixture_answer_statuses(&f);
    fixture_schedule(&f);
    assert_int_equal(attempts(&f), before + 2 * COHORT_MAX_REPORTS);
    fixture_release(&f);
}

/* In any order of answers: in the end there is room, and no pod is lost. */
static bool nobody_is_forgotten(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < 2 * size; i++) {
        switch (rand_below(r, 6)) {
        case 0:
            fixture_answer_statuses(&f);
            break;
        case 1:
            fixture_pass(&f, (int64_t)rand_below(r, 1500) * NSEC_PER_MSEC);
            break;
        case 2:
            fixture_schedule(&f);
            break;
        case 3: {
            int one = (int)rand_below(r, N);
            struct object *pod =
                POD(.name = numbered("large", one), .cpu = "3900m", .memory = "16Gi");
            fixture_delete(&f, pod);
            ADD_POD(&f, .name = numbered("large", one), .cpu = "3900m", .memory = "16Gi");
            break;
        }
        default:
            somebody_leaves(&f, "x");
        }
    }
    ADD_NODE(&f, .name = "big", .cpu = "400", .memory = "1000Gi");
    f.slow_status = rand_below(r, 2);
    for (int i = 0; i < 30; i++) {
        fixture_settle(&f);
        fixture_pass(&f, NSEC_PER_SEC);
    }
    bool all = bound(&f) == N;
    fixture_release(&f);
    return all;
}

static void no_pod_is_lost_whatever_the_answers(void **state)
{
    (void)state;
    assert_true(prop_run("nobody is forgotten", 60, nobody_is_forgotten, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_many_is_tried_for_each_event),
        cmocka_unit_test(no_attempt_before_the_status_is_written),
        cmocka_unit_test(slow_writes_slow_retries_down),
        cmocka_unit_test(backoff_still_ends),
        cmocka_unit_test(a_pod_of_another_shape_finds_room_while_many_are_held),
        cmocka_unit_test(a_new_pod_is_tried_at_once),
        cmocka_unit_test(room_for_all_is_used_by_all),
        cmocka_unit_test(few_reports_are_under_way),
        cmocka_unit_test(no_pod_is_lost_whatever_the_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
