/* SPDX-License-Identifier: Apache-2.0 */
/* The engine as a whole: events in, writes out. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/node.h"
#include "api/pod.h"
#include "base/time.h"
#include "engine_fixture.h"
#include "prop.h"

static void assert_placed(struct fixture *f, const char *pod, const char *node)
{
    const char *got = fixture_node_of(f, pod);
    if (!got || strcmp(got, node) != 0)
        fail_msg("%s is on %s, expected %s", pod, got ? got : "no node", node);
}

static void assert_waits(struct fixture *f, const char *pod, const char *message)
{
    struct fixture_write *event = fixture_last(f, WRITE_EVENT, pod);
    struct fixture_write *condition = fixture_last(f, WRITE_POD_STATUS, pod);
    assert_non_null(event);
    assert_non_null(condition);
    assert_string_equal(event->reason, "FailedScheduling");
    assert_true(event->warning);
    assert_string_equal(event->message, message);
    assert_string_equal(condition->message, message);
}

/* The text that preemption adds. */
#define NOBODY_BELOW                                                                              \
    " no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims " \
    "found for incoming pod."
#define NOT_HELPFUL                                                                           \
    " no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not " \
    "helpful for scheduling."

/* --- placing ---------------------------------------------------------------------------------- */

static void binds_to_the_emptier_node(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "b", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "old", .cpu = "1", .memory = "1Gi", .node = "a");
    ADD_POD(&f, .name = "p", .cpu = "500m", .memory = "1Gi");
    fixture_settle(&f);
    assert_placed(&f, "p", "b");
    struct fixture_write *event = fixture_last(&f, WRITE_EVENT, "p");
    assert_string_equal(event->reason, "Scheduled");
    assert_false(event->warning);
    assert_string_equal(event->message, "Successfully assigned default/p to b");
    fixture_release(&f);
}

static void an_assumed_pod_counts_before_it_is_confirmed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    ADD_POD(&f, .name = "q", .cpu = "800m", .memory = "1Gi");
    fixture_schedule(&f);
    assert_non_null(fixture_binding(&f, "p"));
    assert_null(fixture_binding(&f, "q"));
    assert_waits(&f, "q", "0/1 nodes are available: 1 Insufficient cpu." NOBODY_BELOW);
    fixture_release(&f);
}

static void higher_priority_goes_first(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "low", .cpu = "800m", .memory = "1Gi");
    ADD_POD(&f, .name = "high", .priority = 10, .cpu = "800m");
    fixture_settle(&f);
    assert_placed(&f, "high", "a");
    assert_null(fixture_node_of(&f, "low"));
    fixture_release(&f);
}

static void leaves_pods_of_other_schedulers_alone(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "x", .scheduler = "other");
    fixture_settle(&f);
    assert_int_equal(f.writes.n, 0);
    fixture_release(&f);
}

static void profiles_serve_their_own_pods(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- schedulerName: default-scheduler\n"
                 "- schedulerName: careless\n"
                 "  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}\n",
                 NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "big", .cpu = "2", .memory = "1Gi");
    ADD_POD(&f, .name = "bold", .scheduler = "careless", .cpu = "2");
    fixture_settle(&f);
    assert_placed(&f, "bold", "a");
    assert_waits(&f, "big", "0/1 nodes are available: 1 Insufficient cpu." NOT_HELPFUL);
    fixture_release(&f);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void reasons_are_counted_and_sorted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "1Gi");
    ADD_NODE(&f, .name = "b", .cpu = "1", .memory = "64Gi");
    ADD_NODE(&f, .name = "c", .unschedulable = true, .cpu = "64");
    ADD_NODE(&f, .name = "d", .cpu = "64", .memory = "64Gi", .pods = "0");
    ADD_POD(&f, .name = "p", .cpu = "2", .memory = "2Gi");
    fixture_settle(&f);
    assert_waits(&f, "p",
                 "0/4 nodes are available: 1 Insufficient memory, 1 Too many pods, 1 node(s) were "
                 "unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/4 "
                 "nodes are available: 1 No "
                 "preemption victims found for incoming pod, 3 Preemption is not helpful for "
                 "scheduling.");
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->reason, "Unschedulable");
    fixture_release(&f);
}

static void without_nodes_the_attempt_fails_and_is_retried(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
    fixture_schedule(&f);
    assert_waits(&f, "p", "no nodes available to schedule pods");
    ADD_NODE(&f, .name = "a", .cpu = "4", .memory = "8Gi");
    fixture_pass(&f, 3 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

static void a_long_note_is_cut_the_condition_is_not(void **state)
{
    (void)state;
    struct fixture f;
    struct buf names = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "1Gi");
    for (int i = 0; i < 20; i++)
        buf_add_printf(&names, "%s'example.com/%063d':'1'", i ? "," : "", i);
    ADD_POD(&f, .name = "p", .requests = buf_cstr(&names));
    fixture_schedule(&f);
    const char *note = fixture_last(&f, WRITE_EVENT, "p")->message;
    assert_int_equal(strlen(note), 1024);
    assert_string_equal(note + 1020, " ...");
    assert_true(strlen(fixture_last(&f, WRITE_POD_STATUS, "p")->message) > 1024);
    buf_release(&names);
    fixture_release(&f);
}

/* --- requeueing ------------------------------------------------------------------------------- */

static void a_new_node_helps_at_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "1Gi");
    ADD_POD(&f, .name = "p", .cpu = "2", .memory = "1Gi");
    fixture_settle(&f);
    assert_null(fixture_node_of(&f, "p"));
    /* Too small: the hint returns Skip. */
    size_t before = f.decisions.n;
    ADD_NODE(&f, .name = "b", .cpu = "1", .memory = "1Gi");
    fixture_settle(&f);
    assert_int_equal(f.decisions.n, before);
    ADD_NODE(&f, .name = "c", .cpu = "4", .memory = "4Gi");
    fixture_settle(&f);
    assert_placed(&f, "p", "c");
    fixture_release(&f);
}

static void uncordoning_helps(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .unschedulable = true, .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "1", .memory = "1Gi");
    fixture_settle(&f);
    assert_waits(&f, "p", "0/1 nodes are available: 1 node(s) were unschedulable." NOT_HELPFUL);
    fixture_update(&f, NODE(.name = "a", .unschedulable = true, .cpu = "4", .memory = "8Gi"),
                   NODE(.name = "a", .unschedulable = false, .cpu = "4", .memory = "8Gi"));
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

static void a_pod_that_goes_makes_room(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "old", .cpu = "800m", .memory = "1Gi", .node = "a");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_settle(&f);
    assert_null(fixture_node_of(&f, "p"));
    fixture_delete(&f, POD(.name = "old", .cpu = "800m", .memory = "1Gi", .node = "a"));
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

static void a_pod_that_has_ended_makes_room(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "old", .cpu = "800m", .memory = "1Gi", .node = "a");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_settle(&f);
    fixture_update(&f, POD(.name = "old", .cpu = "800m", .memory = "1Gi", .node = "a"),
                   POD(.name = "old", .node = "a", .phase = "Succeeded"));
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

static void waiting_too_long_is_trying_again(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "1Gi");
    ADD_POD(&f, .name = "p", .cpu = "2", .memory = "1Gi");
    fixture_settle(&f);
    size_t before = f.decisions.n;
    fixture_pass(&f, 4 * 60 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_int_equal(f.decisions.n, before);
    fixture_pass(&f, 2 * 60 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_int_equal(f.decisions.n, before + 1);
    fixture_release(&f);
}

/* --- failed bindings -------------------------------------------------------------------------- */

static void a_refused_binding_gives_the_room_back_and_is_tried_again(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_schedule(&f);
    fixture_answer(&f, fixture_binding(&f, "p"), 500, "etcdserver: request timed out");
    assert_waits(&f, "p", "running Bind plugin \"DefaultBinder\": etcdserver: request timed out");
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->reason, "SchedulerError");
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    assert_int_equal(engine_get_stats(f.engine).backoff, 1);
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "p"));
    fixture_pass(&f, 3 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

static void a_pod_deleted_while_it_is_bound_leaves_nothing(void **state)
{
    (void)state;
    int statuses[] = {201, 404};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        struct fixture f;
        fixture_init(&f, NULL, NULL);
        ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
        ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
        fixture_schedule(&f);
        fixture_delete(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi"));
        struct fixture_write *w = fixture_binding(&f, "p");
        w->answered = true;
        struct write_result result = {.status = statuses[i], .message = STR("x")};
        engine_write_done(f.engine, w->id, &result);
        struct engine_stats stats = engine_get_stats(f.engine);
        assert_int_equal(stats.assumed_pods + stats.pods + stats.binding, 0);
        assert_int_equal(stats.active + stats.backoff + stats.unschedulable, 0);
        fixture_release(&f);
    }
}

/* As after a restore of the API server's data: the UID is the same. */
static void a_pod_that_comes_back_while_it_is_bound_is_bound_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "2", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_schedule(&f);
    fixture_delete(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi"));
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_schedule(&f);
    assert_int_equal(engine_get_stats(f.engine).binding, 1);

    /* The binding in progress decides: it fails, and the pod is tried again. */
    fixture_answer(&f, fixture_binding(&f, "p"), 500, "etcdserver: request timed out");
    assert_int_equal(engine_get_stats(f.engine).backoff, 1);
    fixture_pass(&f, 3 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

static void a_pod_bound_elsewhere_leaves_the_queue(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_update(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi"),
                   POD(.name = "p", .cpu = "800m", .memory = "1Gi", .node = "a"));
    ADD_POD(&f, .name = "q", .cpu = "800m", .memory = "1Gi");
    fixture_settle(&f);
    assert_null(fixture_last(&f, WRITE_BINDING, "p"));
    assert_waits(&f, "q", "0/1 nodes are available: 1 Insufficient cpu." NOBODY_BELOW);
    fixture_release(&f);
}

static void the_watch_may_confirm_before_the_answer_comes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_schedule(&f);
    fixture_update(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi"),
                   POD(.name = "p", .cpu = "800m", .memory = "1Gi", .node = "a"));
    fixture_answer(&f, fixture_binding(&f, "p"), 201, "");
    struct engine_stats stats = engine_get_stats(f.engine);
    assert_int_equal(stats.pods, 1);
    assert_int_equal(stats.assumed_pods, 0);
    assert_int_equal(stats.binding, 0);
    fixture_release(&f);
}

static void a_pod_on_its_way_out_is_not_placed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .deleting = true);
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "p"));
    assert_string_equal(fixture_last(&f, WRITE_EVENT, "p")->message,
                        "skip schedule deleting pod: default/p");
    fixture_release(&f);
}

static void a_pod_made_anew_under_its_name_is_another_pod(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi", .node = "a");
    struct object *again = POD(.name = "p", .uid = "p2", .cpu = "800m");
    fixture_update(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi", .node = "a"), again);
    fixture_settle(&f);
    assert_placed(&f, "p", "a");
    fixture_release(&f);
}

/* --- late additions and early deletions of nodes ---------------------------------------------- */

static void pods_may_come_before_their_node(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_POD(&f, .name = "old", .cpu = "800m", .memory = "1Gi", .node = "a");
    assert_int_equal(engine_get_stats(f.engine).nodes, 0);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_settle(&f);
    assert_waits(&f, "p", "0/1 nodes are available: 1 Insufficient cpu." NOBODY_BELOW);
    fixture_release(&f);
}

static void pods_may_outlive_their_node(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "a", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "old", .cpu = "800m", .memory = "1Gi", .node = "a");
    fixture_delete(&f, NODE(.name = "a", .cpu = "1", .memory = "8Gi"));
    ADD_NODE(&f, .name = "b", .cpu = "1", .memory = "8Gi");
    ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
    fixture_settle(&f);
    assert_placed(&f, "p", "b");
    fixture_delete(&f, POD(.name = "old", .cpu = "800m", .memory = "1Gi", .node = "a"));
    assert_int_equal(engine_get_stats(f.engine).pods, 1);
    fixture_release(&f);
}

/* --- properties ------------------------------------------------------------------------------- */

/* A random run of a small cluster; logs everything to *log. */
struct life {
    struct fixture f;
    struct rand *r;
    bool nodes[8];
    int pods;
    int cpu[512];           /* request of pod i in tenths of a core */
    const char *where[512]; /* node by the test's own records; NULL: none */
};

static const char *const node_names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};

static struct object *life_pod(const struct life *l, int i, const char *node)
{
    return POD(.name = textf("p%d", i), .cpu = textf("%dm", l->cpu[i] * 100), .memory = "64Mi",
               .node = node);
}

static bool overcommitted(const struct life *l)
{
    for (size_t n = 0; n < ARRAY_LEN(node_names); n++) {
        int sum = 0;
        for (int i = 0; i < l->pods; i++)
            if (l->where[i] == node_names[n])
                sum += l->cpu[i];
        if (sum > 40)
            return true;
    }
    return false;
}

/* Answers the oldest open binding and updates the test's own records. */
static void answer_one(struct life *l)
{
    for (size_t i = 0; i < l->f.writes.n; i++) {
        struct fixture_write *w = &l->f.writes.v[i];
        if (w->kind != WRITE_BINDING || w->answered)
            continue;
        int64_t pod = 0;
        if (!str_to_i64(str_slice(object_meta(w->pod)->name, 1, SIZE_MAX), &pod))
            fail();
        bool taken = rand_below(l->r, 5) > 0;
        for (size_t n = 0; taken && n < ARRAY_LEN(node_names); n++)
            if (strcmp(w->node, node_names[n]) == 0)
                l->where[pod] = node_names[n];
        fixture_answer(&l->f, w, taken ? 201 : 409, "conflict");
        return;
    }
}

static void live_one_step(struct life *l)
{
    size_t n = (size_t)rand_below(l->r, ARRAY_LEN(node_names));
    int i = l->pods ? (int)rand_below(l->r, (uint64_t)l->pods) : 0;
    switch (rand_below(l->r, 8)) {
    case 0:
        if (!l->nodes[n])
            ADD_NODE(&l->f, .name = node_names[n], .cpu = "4", .memory = "8Gi");
        else if (rand_below(l->r, 4) == 0)
            fixture_delete(&l->f, NODE(.name = node_names[n], .cpu = "4", .memory = "8Gi"));
        else
            break;
        l->nodes[n] = !l->nodes[n];
        break;
    case 1:
    case 2:
        if (l->pods == (int)ARRAY_LEN(l->cpu))
            break;
        l->cpu[l->pods] = 1 + (int)rand_below(l->r, 25);
        fixture_add(&l->f, life_pod(l, l->pods++, NULL));
        break;
    case 3:
        if (l->where[i]) {
            fixture_delete(&l->f, life_pod(l, i, l->where[i]));
            l->where[i] = NULL;
            l->cpu[i] = 0;
        }
        break;
    case 4:
        fixture_pass(&l->f, (int64_t)rand_below(l->r, 20) * NSEC_PER_SEC);
        break;
    case 5:
        answer_one(l);
        break;
    default:
        engine_schedule_one(l->f.engine);
        l->f.now++;
        break;
    }
}

static bool run_life(uint64_t seed, size_t steps, struct buf *log)
{
    struct rand r;
    struct life *l = xnew(struct life);
    bool ok = true;
    rand_seed(&r, seed);
    fixture_init(&l->f, NULL, NULL);
    l->r = &r;
    for (size_t i = 0; ok && i < steps; i++) {
        live_one_step(l);
        ok = !overcommitted(l);
    }
    for (size_t i = 0; i < l->f.decisions.n; i++)
        buf_add_printf(log, "%s\n", l->f.decisions.v[i]);
    fixture_release(&l->f);
    free(l);
    return ok;
}

static bool no_node_is_overcommitted(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct buf first = BUF_INIT, second = BUF_INIT;
    uint64_t seed = rand_u64(r);
    bool ok = run_life(seed, size * 20, &first) && run_life(seed, size * 20, &second) &&
              str_eq(buf_str(&first), buf_str(&second));
    buf_release(&first);
    buf_release(&second);
    return ok;
}

static void random_lives_keep_the_books_and_repeat(void **state)
{
    (void)state;
    assert_true(prop_run("no node is overcommitted, same seed same decisions", 60,
                         no_node_is_overcommitted, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_to_the_emptier_node),
        cmocka_unit_test(an_assumed_pod_counts_before_it_is_confirmed),
        cmocka_unit_test(higher_priority_goes_first),
        cmocka_unit_test(leaves_pods_of_other_schedulers_alone),
        cmocka_unit_test(profiles_serve_their_own_pods),
        cmocka_unit_test(reasons_are_counted_and_sorted),
        cmocka_unit_test(without_nodes_the_attempt_fails_and_is_retried),
        cmocka_unit_test(a_long_note_is_cut_the_condition_is_not),
        cmocka_unit_test(a_new_node_helps_at_once),
        cmocka_unit_test(uncordoning_helps),
        cmocka_unit_test(a_pod_that_goes_makes_room),
        cmocka_unit_test(a_pod_that_has_ended_makes_room),
        cmocka_unit_test(waiting_too_long_is_trying_again),
        cmocka_unit_test(a_refused_binding_gives_the_room_back_and_is_tried_again),
        cmocka_unit_test(a_pod_deleted_while_it_is_bound_leaves_nothing),
        cmocka_unit_test(a_pod_that_comes_back_while_it_is_bound_is_bound_once),
        cmocka_unit_test(a_pod_bound_elsewhere_leaves_the_queue),
        cmocka_unit_test(the_watch_may_confirm_before_the_answer_comes),
        cmocka_unit_test(a_pod_on_its_way_out_is_not_placed),
        cmocka_unit_test(a_pod_made_anew_under_its_name_is_another_pod),
        cmocka_unit_test(pods_may_come_before_their_node),
        cmocka_unit_test(pods_may_outlive_their_node),
        cmocka_unit_test(random_lives_keep_the_books_and_repeat),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
