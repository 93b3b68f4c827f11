/* SPDX-License-Identifier: Apache-2.0 */
/* The rules from Reserve to PostBind, one test each. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/pod.h"
#include "base/time.h"
#include "engine/rooms.h"
#include "puppet.h"

/* Checks that no state of pod p's binding is left. */
static void assert_undone(struct fixture *f)
{
    struct engine_stats stats = engine_get_stats(f->engine);
    assert_int_equal(stats.binding, 0);
    assert_int_equal(stats.assumed_pods, 0);
    assert_int_equal(f->engine->bindings.by_write.n + f->engine->bindings.by_pod.n, 0);
    assert_int_equal(f->engine->bindings.ready.n, 0);
}

/* The node nominated before the binding; NULL if none was. */
static const char *told_node(const struct fixture *f, const char *pod)
{
    for (size_t i = f->writes.n; i-- > 0;) {
        const struct fixture_write *w = &f->writes.v[i];
        if (w->kind == WRITE_POD_STATUS && !w->sets_condition && w->sets_nomination &&
            str_is(object_meta(w->pod)->name, pod))
            return w->node;
    }
    return NULL;
}

/* --- messages and effects of failures --------------------------------------------------------- */

struct failure_case {
    enum puppet_point point;
    enum berth_code code;
    const char *reason, *message; /* of the condition; A's two reasons are "x" and "y" */
    bool blamed;
};

#define UNSUPPORTED(code) "PreBindPreFlight A returned \"" code "\", which is unsupported"

static const struct failure_case failure_cases[] = {
    {PUPPET_RESERVE, BERTH_UNSCHEDULABLE, "Unschedulable", "0/1 nodes are available: 1 x, 1 y.",
     true},
    {PUPPET_RESERVE, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, "Unschedulable",
     "0/1 nodes are available: 1 x, 1 y.", true},
    {PUPPET_RESERVE, BERTH_PENDING, "Unschedulable", "0/1 nodes are available: 1 x, 1 y.", true},
    {PUPPET_RESERVE, BERTH_ERROR, "SchedulerError", "running Reserve plugin \"A\": x, y", false},
    {PUPPET_RESERVE, BERTH_WAIT, "SchedulerError", "running Reserve plugin \"A\": x, y", false},
    {PUPPET_RESERVE, BERTH_SKIP, "SchedulerError",
     "running Reserve plugin \"A\": status Skip (5) without a reason", false},
    {PUPPET_PERMIT, BERTH_UNSCHEDULABLE, "Unschedulable", "0/1 nodes are available: 1 x, 1 y.",
     true},
    {PUPPET_PERMIT, BERTH_ERROR, "SchedulerError", "running Permit plugin \"A\": x, y", false},
    {PUPPET_PERMIT, BERTH_SKIP, "SchedulerError",
     "running Permit plugin \"A\": status Skip (5) without a reason", false},
    {PUPPET_PRE_FLIGHT, BERTH_ERROR, "SchedulerError", "running PreBindPreFlight \"A\": x, y",
     false},
    {PUPPET_PRE_FLIGHT, BERTH_UNSCHEDULABLE, "SchedulerError", UNSUPPORTED("Unschedulable"), false},
    {PUPPET_PRE_FLIGHT, BERTH_WAIT, "SchedulerError", UNSUPPORTED("Wait"), false},
    /* After Permit a pod is never unresolvable: it is retried. */
    {PUPPET_PRE_BIND, BERTH_UNSCHEDULABLE, "Unschedulable", "x, y", false},
    {PUPPET_PRE_BIND, BERTH_PENDING, "Unschedulable", "x, y", false},
    {PUPPET_PRE_BIND, BERTH_ERROR, "SchedulerError", "running PreBind plugin \"A\": x, y", false},
    {PUPPET_PRE_BIND, BERTH_SKIP, "SchedulerError",
     "running PreBind plugin \"A\": status Skip (5) without a reason", false},
    {PUPPET_BIND, BERTH_UNSCHEDULABLE, "Unschedulable", "x, y", false},
    {PUPPET_BIND, BERTH_ERROR, "SchedulerError", "running Bind plugin \"A\": x, y", false},
    {PUPPET_BIND, (enum berth_code)42, "SchedulerError", "running Bind plugin \"A\": x, y", false},
};

#define ALL_POINTS                                                                         \
    (AT(RESERVE) | AT(UNRESERVE) | AT(PERMIT) | AT(PRE_FLIGHT) | AT(PRE_BIND) | AT(BIND) | \
     AT(POST_BIND) | AT(HINT))

static void every_failure_is_reported_and_undone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failure_cases); i++) {
        const struct failure_case *c = &failure_cases[i];
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", ALL_POINTS);
        a->code[c->point] = c->code;
        a->reason = "x";
        a->second_reason = "y";
        puppet_add("B", ALL_POINTS);
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p", .nominated = "n0");
        fixture_schedule(&f);
        assert_undone(&f);
        assert_told(&f, "p", c->reason, c->message);
        /* In reverse, and also plugins that were not reached. */
        assert_string_equal(puppet_calls(AT(UNRESERVE)), "B.Unreserve A.Unreserve");
        assert_int_equal(puppet_count(AT(POST_BIND)), 0);
        /* The nomination that led here is cleared. */
        const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "p");
        assert_true(w->sets_nomination);
        assert_string_equal(w->node, "");
        const struct berth_queued_pod *qp = queue_get(&f.engine->queue, STR("p"));
        assert_int_equal(plugin_set_has(&qp->rejectors, a->handle->id) ||
                             plugin_set_has(&qp->pending, a->handle->id),
                         c->blamed);
        assert_int_equal(qp->place == QUEUE_UNSCHEDULABLE, c->blamed);
        a->code[c->point] = c->point == PUPPET_BIND ? BERTH_SKIP : BERTH_SUCCESS;
        ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
        fixture_pass(&f, 20 * NSEC_PER_SEC);
        fixture_settle(&f);
        assert_non_null(fixture_node_of(&f, "p"));
        fixture_release(&f);
    }
}

/* Released resources are an event for other pods, once the scheduling cycle is over. */
static void others_learn_that_the_room_is_free_again(void **state)
{
    (void)state;
    static const struct {
        enum puppet_point point;
        bool told;
    } cases[] = {{PUPPET_RESERVE, false},
                 {PUPPET_PERMIT, false},
                 {PUPPET_PRE_FLIGHT, true},
                 {PUPPET_PRE_BIND, true},
                 {PUPPET_BIND, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        /* Without registered events any event may help. */
        struct puppet *gate = puppet_add("F", AT(FILTER));
        struct puppet *a = puppet_add("A", ALL_POINTS);
        gate->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "waits");
        fixture_schedule(&f);
        assert_int_equal(engine_get_stats(f.engine).unschedulable, 1);
        gate->code[PUPPET_FILTER] = BERTH_SUCCESS;
        a->code[cases[i].point] = BERTH_ERROR;
        ADD_POD(&f, .name = "p");
        engine_schedule_one(f.engine);
        assert_int_equal(queue_get(&f.engine->queue, STR("waits"))->place != QUEUE_UNSCHEDULABLE,
                         cases[i].told);
        fixture_release(&f);
    }
}

static void all_goes_well_in_order(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", ALL_POINTS);
    puppet_add("B", ALL_POINTS);
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    assert_string_equal(
        puppet_calls(ALL_POINTS),
        "A.Reserve B.Reserve A.Permit B.Permit A.PreFlight B.PreFlight A.PreBind B.PreBind A.Bind "
        "B.Bind A.PostBind B.PostBind");
    assert_int_equal(engine_get_stats(f.engine).pods, 1);
    assert_int_equal(engine_get_stats(f.engine).binding, 0);
    fixture_release(&f);
}

/* --- Permit ----------------------------------------------------------------------------------- */

static struct berth_waiting_pod *held; /* the pod found last */
static size_t n_held;

static void find_held(void *ctx, struct berth_waiting_pod *w)
{
    (void)ctx;
    held = w;
    n_held++;
}

static size_t look_for_held(const struct puppet *p)
{
    held = NULL;
    n_held = 0;
    p->host->waiting_pods(p->handle, find_held, NULL);
    return n_held;
}

static struct puppet *hold_pod(struct fixture *f, struct puppet *a, int64_t timeout)
{
    a->code[PUPPET_PERMIT] = BERTH_WAIT;
    a->timeout = timeout;
    ADD_POD(f, .name = "p");
    fixture_schedule(f);
    assert_int_equal(look_for_held(a), 1);
    assert_true(str_is(str_abi(a->host->pod_name(a->host->waiting_pod(held))), "p"));
    assert_true(str_is(str_abi(a->host->pod_node_name(a->host->waiting_pod(held))), "n0"));
    assert_int_equal(engine_get_stats(f->engine).assumed_pods, 1);
    return a;
}

static void permit_times_out(void **state)
{
    (void)state;
    static const struct {
        int64_t timeout, wait;
        const char *message;
    } cases[] = {
        {10 * NSEC_PER_SEC, 10 * NSEC_PER_SEC,
         "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A."},
        {1500 * NSEC_PER_MSEC, 1500 * NSEC_PER_MSEC,
         "0/1 nodes are available: 1 rejected due to timeout after waiting 1.5s at plugin A."},
        {3600 * NSEC_PER_SEC, 900 * NSEC_PER_SEC,
         "0/1 nodes are available: 1 rejected due to timeout after waiting 15m0s at plugin A."},
        {INT64_MAX, 900 * NSEC_PER_SEC,
         "0/1 nodes are available: 1 rejected due to timeout after waiting 15m0s at plugin A."},
        {0, 0, "0/1 nodes are available: 1 rejected due to timeout after waiting 0s at plugin A."},
        {INT64_MIN, 0,
         "0/1 nodes are available: 1 rejected due to timeout after waiting 0s at plugin A."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PERMIT) | AT(UNRESERVE) | AT(HINT));
        puppet_scene(&f, 1);
        int64_t begin = f.now + 1; /* adding the pod advances the clock */
        hold_pod(&f, a, cases[i].timeout);
        assert_int_equal(engine_next_wake(f.engine), begin + cases[i].wait);
        if (cases[i].wait) {
            fixture_pass(&f, begin + cases[i].wait - 1 - f.now);
            assert_int_equal(look_for_held(a), 1);
        }
        fixture_pass(&f, MAX(begin + cases[i].wait - f.now, (int64_t)0));
        assert_told(&f, "p", "Unschedulable", cases[i].message);
        assert_undone(&f);
        assert_int_equal(look_for_held(a), 0);
        assert_int_equal(puppet_count(AT(UNRESERVE)), 1);
        fixture_release(&f);
    }
}

static void the_first_timeout_counts_however_late_the_tick(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PERMIT) | AT(HINT));
    struct puppet *b = puppet_add("B", AT(PERMIT) | AT(HINT));
    b->code[PUPPET_PERMIT] = BERTH_WAIT;
    b->timeout = 5 * NSEC_PER_SEC;
    puppet_scene(&f, 1);
    hold_pod(&f, a, 10 * NSEC_PER_SEC);
    fixture_pass(&f, 60 * NSEC_PER_SEC);
    assert_told(&f, "p", "Unschedulable",
                "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin B.");
    const struct berth_queued_pod *qp = queue_get(&f.engine->queue, STR("p"));
    assert_true(plugin_set_has(&qp->rejectors, b->handle->id));
    assert_false(plugin_set_has(&qp->rejectors, a->handle->id));
    fixture_release(&f);
}

static void every_plugin_that_holds_must_allow(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct fixture f;
        puppet_clear();
        struct puppet *p[] = {puppet_add("A", AT(PERMIT)), puppet_add("B", AT(PERMIT))};
        struct puppet *other = puppet_add("C", AT(PERMIT));
        p[1]->code[PUPPET_PERMIT] = BERTH_WAIT;
        p[1]->timeout = NSEC_PER_SEC;
        puppet_scene(&f, 1);
        hold_pod(&f, p[0], NSEC_PER_SEC);
        assert_string_equal(told_node(&f, "p"), "n0");
        const struct berth_host *host = other->host;
        assert_false(host->waiting_allow(other->handle, held)); /* does not hold it */
        assert_true(host->waiting_allow(p[first]->handle, held));
        assert_false(host->waiting_allow(p[first]->handle, held)); /* does not hold it any more */
        engine_tick(f.engine);
        assert_null(fixture_binding(&f, "p"));
        assert_true(host->waiting_allow(p[!first]->handle, held));
        assert_false(host->waiting_allow(p[!first]->handle, held));
        assert_false(host->waiting_reject(p[!first]->handle, held, BERTH_STR("too late")));
        assert_int_equal(look_for_held(other), 0);
        engine_tick(f.engine);
        assert_non_null(fixture_binding(&f, "p"));
        /* Its timeout is cancelled. */
        fixture_pass(&f, 60 * NSEC_PER_SEC);
        fixture_settle(&f);
        assert_on(&f, "p", "n0");
        fixture_release(&f);
    }
}

static void one_rejection_is_enough(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PERMIT) | AT(HINT));
    struct puppet *b = puppet_add("B", AT(PERMIT) | AT(HINT));
    b->code[PUPPET_PERMIT] = BERTH_WAIT;
    b->timeout = NSEC_PER_SEC;
    puppet_scene(&f, 1);
    hold_pod(&f, a, NSEC_PER_SEC);
    assert_true(a->host->waiting_allow(a->handle, held));
    assert_true(b->host->waiting_reject(b->handle, held, BERTH_STR("not today")));
    assert_false(b->host->waiting_reject(b->handle, held, BERTH_STR("never")));
    assert_false(b->host->waiting_allow(b->handle, held));
    engine_tick(f.engine);
    assert_told(&f, "p", "Unschedulable", "0/1 nodes are available: 1 not today.");
    const struct berth_queued_pod *qp = queue_get(&f.engine->queue, STR("p"));
    assert_true(plugin_set_has(&qp->rejectors, b->handle->id));
    assert_int_equal(qp->place, QUEUE_UNSCHEDULABLE);
    fixture_release(&f);
}

static void wait_after_a_denial_is_no_wait(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PERMIT) | AT(HINT));
    struct puppet *b = puppet_add("B", AT(PERMIT) | AT(HINT));
    a->code[PUPPET_PERMIT] = BERTH_WAIT;
    a->timeout = NSEC_PER_SEC;
    b->code[PUPPET_PERMIT] = BERTH_UNSCHEDULABLE;
    b->reason = "no";
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_told(&f, "p", "Unschedulable", "0/1 nodes are available: 1 no.");
    assert_undone(&f);
    assert_null(told_node(&f, "p"));
    fixture_release(&f);
}

/* Holds the first pods of a gang; the third allows all. */
static void gang_of_three(struct puppet_call *call)
{
    if (call->point != PUPPET_PERMIT)
        return;
    if (look_for_held(call->puppet) < 2) {
        call->code = BERTH_WAIT;
        call->timeout = 60 * NSEC_PER_SEC;
        return;
    }
    while (look_for_held(call->puppet))
        assert_true(call->puppet->host->waiting_allow(call->puppet->handle, held));
}

static void a_permit_may_let_others_go(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("Gang", AT(PERMIT))->hook = gang_of_three;
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "a");
    ADD_POD(&f, .name = "b");
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "a"));
    assert_null(fixture_binding(&f, "b"));
    ADD_POD(&f, .name = "c");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "a"));
    assert_non_null(fixture_node_of(&f, "b"));
    assert_non_null(fixture_node_of(&f, "c"));
    fixture_release(&f);
}

/* The second pod rejects the first one. */
static void jealous(struct puppet_call *call)
{
    if (call->point != PUPPET_PERMIT)
        return;
    if (look_for_held(call->puppet) == 0) {
        call->code = BERTH_WAIT;
        call->timeout = 60 * NSEC_PER_SEC;
    } else {
        call->puppet->host->waiting_reject(call->puppet->handle, held, BERTH_STR("mine"));
    }
}

static void a_permit_may_throw_others_out(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(PERMIT) | AT(HINT))->hook = jealous;
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "a");
    fixture_schedule(&f);
    ADD_POD(&f, .name = "b");
    fixture_settle(&f);
    assert_told(&f, "a", "Unschedulable", "0/1 nodes are available: 1 mine.");
    assert_non_null(fixture_node_of(&f, "b"));
    fixture_release(&f);
}

static void a_pod_deleted_while_it_waits_leaves_nothing(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PERMIT) | AT(UNRESERVE) | AT(HINT));
    puppet_scene(&f, 1);
    hold_pod(&f, a, 60 * NSEC_PER_SEC);
    fixture_delete(&f, POD(.name = "p"));
    assert_undone(&f);
    assert_int_equal(look_for_held(a), 0);
    assert_int_equal(puppet_count(AT(UNRESERVE)), 1);
    fixture_pass(&f, 900 * NSEC_PER_SEC);
    fixture_settle(&f);
    struct engine_stats stats = engine_get_stats(f.engine);
    assert_int_equal(stats.active + stats.backoff + stats.unschedulable + stats.pods, 0);
    assert_null(fixture_last(&f, WRITE_BINDING, "p"));
    fixture_release(&f);
}

static void a_node_may_go_while_a_pod_waits(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PERMIT) | AT(HINT));
    puppet_scene(&f, 1);
    hold_pod(&f, a, 60 * NSEC_PER_SEC);
    fixture_delete(&f, NODE(.name = "n0", .cpu = "4", .memory = "8Gi"));
    a->host->waiting_allow(a->handle, held);
    engine_tick(f.engine);
    fixture_answer(&f, fixture_binding(&f, "p"), 404, "nodes \"n0\" not found");
    assert_undone(&f);
    assert_told(&f, "p", "SchedulerError",
                "running Bind plugin \"DefaultBinder\": nodes \"n0\" not found");
    fixture_release(&f);
}

/* --- PreBindPreFlight ------------------------------------------------------------------------- */

static void the_node_is_written_when_binding_takes_time(void **state)
{
    (void)state;
    static const struct {
        unsigned points_a, points_b;
        enum berth_code flight_a, flight_b, permit;
        bool told;
        const char *pre_binds;
    } cases[] = {
        {0, 0, 0, 0, 0, false, ""},
        {AT(PRE_FLIGHT) | AT(PRE_BIND), 0, BERTH_SKIP, 0, 0, false, ""},
        {AT(PRE_FLIGHT) | AT(PRE_BIND), 0, BERTH_SUCCESS, 0, 0, true, "A.PreBind"},
        {AT(PRE_FLIGHT) | AT(PRE_BIND), AT(PRE_FLIGHT) | AT(PRE_BIND), BERTH_SKIP, BERTH_SUCCESS, 0,
         true, "B.PreBind"},
        {AT(PRE_FLIGHT) | AT(PRE_BIND), AT(PRE_FLIGHT) | AT(PRE_BIND), BERTH_SKIP, BERTH_SKIP, 0,
         false, ""},
        /* A plugin without PreBindPreFlight is assumed to have work. */
        {AT(PRE_BIND), 0, 0, 0, 0, true, "A.PreBind"},
        {AT(PRE_FLIGHT) | AT(PRE_BIND), AT(PRE_BIND), BERTH_SKIP, 0, 0, true, "B.PreBind"},
        /* Waiting in Permit is sufficient. */
        {AT(PERMIT), 0, 0, 0, BERTH_WAIT, true, ""},
        {AT(PERMIT) | AT(PRE_FLIGHT) | AT(PRE_BIND), 0, BERTH_SKIP, 0, BERTH_WAIT, true, ""},
        {AT(PERMIT), 0, 0, 0, BERTH_SUCCESS, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", cases[i].points_a);
        struct puppet *b = puppet_add("B", cases[i].points_b);
        a->code[PUPPET_PRE_FLIGHT] = cases[i].flight_a;
        b->code[PUPPET_PRE_FLIGHT] = cases[i].flight_b;
        a->code[PUPPET_PERMIT] = cases[i].permit;
        a->timeout = NSEC_PER_SEC;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        const char *told = told_node(&f, "p");
        if (cases[i].told != (told && strcmp(told, "n0") == 0))
            fail_msg("case %zu: got %s", i, told ? told : "nothing");
        if (look_for_held(a))
            a->host->waiting_allow(a->handle, held);
        engine_tick(f.engine);
        assert_string_equal(puppet_calls(AT(PRE_BIND)), cases[i].pre_binds);
        fixture_settle(&f);
        assert_on(&f, "p", "n0");
        fixture_release(&f);
    }
}

/* --- asynchronous PreBind and Bind ------------------------------------------------------------ */

static berth_op kept_op;
static bool answers_at_once;

static void take_time(struct puppet_call *call)
{
    if (!call->op)
        return;
    kept_op = call->op;
    call->code = BERTH_ASYNC;
    if (answers_at_once) {
        call->puppet->host->op_done(call->puppet->handle, call->op, BERTH_SUCCESS, BERTH_STR(""));
        /* Once is enough. */
        call->puppet->host->op_done(call->puppet->handle, call->op, BERTH_ERROR,
                                    BERTH_STR("twice"));
    }
}

static void answers_may_come_later(void **state)
{
    (void)state;
    static const struct {
        unsigned point;
        enum berth_code code;
        const char *reason, *condition, *message; /* NULL: bound */
    } cases[] = {
        {AT(BIND), BERTH_SUCCESS, "", NULL, NULL},
        {AT(BIND), BERTH_ERROR, "no luck", "SchedulerError", "running Bind plugin \"A\": no luck"},
        {AT(BIND), BERTH_ERROR, "", "SchedulerError",
         "running Bind plugin \"A\": status Error (1) without a reason"},
        {AT(BIND), BERTH_UNSCHEDULABLE, "no room", "Unschedulable", "no room"},
        {AT(BIND), BERTH_SKIP, "", NULL, NULL}, /* the next binder binds */
        {AT(BIND), BERTH_ASYNC, "", "SchedulerError",
         "running Bind plugin \"A\": status Async (100) without a reason"},
        {AT(BIND), (enum berth_code) - 3, "", "SchedulerError",
         "running Bind plugin \"A\": status undefined (-3) without a reason"},
        {AT(PRE_BIND), BERTH_SUCCESS, "", NULL, NULL},
        {AT(PRE_BIND), BERTH_ERROR, "no luck", "SchedulerError",
         "running PreBind plugin \"A\": no luck"},
        {AT(PRE_BIND), BERTH_SKIP, "", "SchedulerError",
         "running PreBind plugin \"A\": status Skip (5) without a reason"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        answers_at_once = false;
        puppet_clear();
        struct puppet *a = puppet_add("A", cases[i].point | AT(POST_BIND));
        a->hook = take_time;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        assert_int_equal(engine_get_stats(f.engine).binding, 1);
        assert_int_equal(puppet_count(AT(POST_BIND)), 0);
        fixture_pass(&f, 3600 * NSEC_PER_SEC);
        a->host->op_done(a->handle, kept_op, cases[i].code, abi_str(str_of(cases[i].reason)));
        a->hook = NULL;
        engine_tick(f.engine);
        if (cases[i].message) {
            assert_undone(&f);
            assert_told(&f, "p", cases[i].condition, cases[i].message);
        } else {
            fixture_settle(&f);
            assert_on(&f, "p", "n0");
            assert_int_equal(puppet_count(AT(POST_BIND)), 1);
        }
        fixture_release(&f);
    }
}

static void an_answer_may_come_before_the_call_returns(void **state)
{
    (void)state;
    unsigned points[] = {AT(PRE_BIND), AT(BIND), AT(PRE_BIND) | AT(BIND)};
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        struct fixture f;
        answers_at_once = true;
        puppet_clear();
        puppet_add("A", points[i])->hook = take_time;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_on(&f, "p", "n0");
        assert_int_equal(engine_get_stats(f.engine).binding, 0);
        fixture_release(&f);
    }
}

/* --- PreBind plugins that run at the same time ------------------------------------------------ */

static berth_op kept_ops[3];
static char cancelled[8];

static void keep_each_op(struct puppet_call *call)
{
    if (!call->op)
        return;
    kept_ops[call->puppet->name[0] - 'A'] = call->op;
    call->code = BERTH_ASYNC;
}

static void note_cancelled(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                           berth_op op)
{
    (void)cycle, (void)pod;
    const struct puppet *p = self;
    assert_int_equal(op, kept_ops[p->name[0] - 'A']);
    size_t n = strlen(cancelled);
    snprintf(cancelled + n, sizeof(cancelled) - n, "%s", p->name);
}

/* A and B run together, C after them. */
static void begin_parallel(struct fixture *f, bool cancellable)
{
    puppet_clear();
    cancelled[0] = 0;
    memset(kept_ops, 0, sizeof(kept_ops));
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"A", "B", "C"};
        struct puppet *p = puppet_add(names[i], AT(PRE_BIND));
        p->hook = keep_each_op;
        p->plugin.flags |= BERTH_PLUGIN_NONBLOCKING | (i < 2 ? BERTH_PLUGIN_PARALLEL_PRE_BIND : 0);
        p->plugin.pre_bind_cancel = cancellable ? note_cancelled : NULL;
    }
    puppet_scene(f, 1);
    ADD_POD(f, .name = "p");
    fixture_schedule(f);
    assert_string_equal(puppet_calls(AT(PRE_BIND)), "A.PreBind B.PreBind");
}

static void done(struct fixture *f, int which, enum berth_code code, const char *reason)
{
    engine_host.op_done(fixture_handle(f), kept_ops[which], code, abi_str(str_of(reason)));
    engine_tick(f->engine);
}

static void plugins_that_allow_it_run_together(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct fixture f;
        begin_parallel(&f, true);
        done(&f, first, BERTH_SUCCESS, "");
        assert_int_equal(kept_ops[2], 0);
        done(&f, 1 - first, BERTH_SUCCESS, "");
        assert_int_not_equal(kept_ops[2], 0);
        assert_null(fixture_binding(&f, "p"));
        done(&f, 2, BERTH_SUCCESS, "");
        fixture_settle(&f);
        assert_on(&f, "p", "n0");
        assert_string_equal(cancelled, "");
        fixture_release(&f);
    }
}

static void one_that_fails_ends_the_others(void **state)
{
    (void)state;
    for (int cancellable = 0; cancellable < 2; cancellable++) {
        struct fixture f;
        begin_parallel(&f, cancellable);
        done(&f, 1, BERTH_ERROR, "no luck");
        if (!cancellable) {
            assert_int_equal(engine_get_stats(f.engine).binding, 1);
            done(&f, 0, BERTH_ERROR, "too late");
        }
        assert_undone(&f);
        assert_int_equal(kept_ops[2], 0);
        assert_string_equal(cancelled, cancellable ? "A" : "");
        assert_told(&f, "p", "SchedulerError", "running PreBind plugin \"B\": no luck");
        fixture_release(&f);
    }
}

static void the_first_binder_that_does_not_skip_binds(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(BIND)), *b = puppet_add("B", AT(BIND));
    struct puppet *c = puppet_add("C", AT(BIND));
    a->code[PUPPET_BIND] = BERTH_SKIP;
    b->code[PUPPET_BIND] = BERTH_SUCCESS;
    c->code[PUPPET_BIND] = BERTH_ERROR;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_string_equal(puppet_calls(AT(BIND)), "A.Bind B.Bind");
    assert_on(&f, "p", "n0");
    /* The plugin bound the pod itself: nothing is written. */
    assert_null(fixture_last(&f, WRITE_BINDING, "p"));
    assert_string_equal(fixture_last(&f, WRITE_EVENT, "p")->message,
                        "Successfully assigned default/p to n0");
    fixture_release(&f);
}

static void a_bind_plugin_is_required(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(BIND));
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {bind: {disabled: [{name: DefaultBinder}]}}\n",
                 puppet_registry());
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_told(&f, "p", "SchedulerError", "every Bind plugin skipped the pod");
    assert_undone(&f);
    fixture_release(&f);
}

static void a_binding_that_the_api_refuses_is_tried_again(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *text;
    } cases[] = {{409, "pod p is already assigned"},
                 {404, "pods \"p\" not found"},
                 {500, "etcdserver: timed out"},
                 {0, "connection refused"},
                 {403, "forbidden"},
                 {301, "moved"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        char text[128];
        puppet_clear();
        puppet_add("A", AT(RESERVE) | AT(UNRESERVE) | AT(POST_BIND));
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        fixture_answer(&f, fixture_binding(&f, "p"), cases[i].status, cases[i].text);
        snprintf(text, sizeof(text), "running Bind plugin \"DefaultBinder\": %s", cases[i].text);
        assert_told(&f, "p", "SchedulerError", text);
        assert_undone(&f);
        assert_int_equal(puppet_count(AT(UNRESERVE)), 1);
        fixture_pass(&f, 20 * NSEC_PER_SEC);
        fixture_settle(&f);
        assert_on(&f, "p", "n0");
        assert_int_equal(puppet_count(AT(POST_BIND)), 1);
        fixture_release(&f);
    }
}

/* A write that cannot be cancelled does not keep the resources of a deleted pod. */
static void a_pod_that_goes_while_it_is_bound_frees_its_room(void **state)
{
    (void)state;
    for (int deleted = 0; deleted < 2; deleted++)
        for (int status = 201; status <= 404; status += 203) {
            struct fixture f;
            fixture_init(&f, NULL, NULL);
            ADD_NODE(&f, .name = "n0", .cpu = "1", .memory = "8Gi");
            ADD_POD(&f, .name = "p", .cpu = "800m", .memory = "1Gi");
            ADD_POD(&f, .name = "q", .cpu = "800m", .memory = "1Gi");
            fixture_schedule(&f);
            assert_told(&f, "q", "Unschedulable",
                        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
                        "preemption: 0/1 nodes are "
                        "available: 1 No preemption victims found for incoming pod.");
            fixture_binding(&f, "p")->answered = true; /* below */
            uint64_t id = fixture_last(&f, WRITE_BINDING, "p")->id;
            if (deleted) {
                fixture_delete(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi"));
            } else {
                struct object *leaving = POD(.name = "p", .cpu = "800m", .memory = "1Gi");
                struct pod *body = object_body_mut(leaving);
                body->metadata.deletion_timestamp.set = true;
                fixture_update(&f, POD(.name = "p", .cpu = "800m", .memory = "1Gi"), leaving);
            }
            assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
            fixture_schedule(&f);
            assert_non_null(fixture_binding(&f, "q"));
            struct write_result result = {.status = status, .message = STR("x")};
            engine_write_done(f.engine, id, &result);
            fixture_settle(&f);
            assert_on(&f, "q", "n0");
            assert_int_equal(engine_get_stats(f.engine).pods, 1);
            assert_int_equal(engine_get_stats(f.engine).binding, 0);
            fixture_release(&f);
        }
}

/* --- pods to activate ------------------------------------------------------------------------- */

static enum puppet_point activates_at;
static const struct berth_pod *sleeper;

static void activate(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER &&
        str_is(str_abi(call->puppet->host->pod_name(call->pod)), "sleeper"))
        call->code = BERTH_UNSCHEDULABLE;
    else if (call->point == activates_at)
        call->puppet->host->activate(call->cycle, sleeper);
}

static bool is_awake(const struct fixture *f)
{
    return queue_get(&f->engine->queue, STR("sleeper"))->place == QUEUE_ACTIVE;
}

static void pods_are_activated_after_permit_and_after_binding(void **state)
{
    (void)state;
    static const struct {
        enum puppet_point at;
        bool before_binding, after_binding;
    } cases[] = {{PUPPET_RESERVE, true, true},
                 {PUPPET_PERMIT, true, true},
                 {PUPPET_PRE_BIND, false, true},
                 {PUPPET_POST_BIND, false, true},
                 {PUPPET_UNRESERVE, false, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        activates_at = PUPPET_POINTS;
        puppet_clear();
        puppet_add("A", AT(FILTER) | ALL_POINTS)->hook = activate;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "sleeper");
        fixture_schedule(&f);
        sleeper = queue_get(&f.engine->queue, STR("sleeper"))->pod;
        activates_at = cases[i].at;
        ADD_POD(&f, .name = "p");
        engine_schedule_one(f.engine);
        assert_int_equal(is_awake(&f), cases[i].before_binding);
        fixture_answer(&f, fixture_binding(&f, "p"), 201, "");
        assert_int_equal(is_awake(&f), cases[i].after_binding);
        fixture_release(&f);
    }
}

static void a_failed_attempt_activates_no_pod(void **state)
{
    (void)state;
    struct fixture f;
    activates_at = PUPPET_POINTS;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | ALL_POINTS);
    a->hook = activate;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "sleeper");
    fixture_schedule(&f);
    sleeper = queue_get(&f.engine->queue, STR("sleeper"))->pod;
    activates_at = PUPPET_RESERVE;
    a->code[PUPPET_PERMIT] = BERTH_UNSCHEDULABLE;
    ADD_POD(&f, .name = "p");
    engine_schedule_one(f.engine);
    assert_false(is_awake(&f));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_is_reported_and_undone),
        cmocka_unit_test(others_learn_that_the_room_is_free_again),
        cmocka_unit_test(all_goes_well_in_order),
        cmocka_unit_test(permit_times_out),
        cmocka_unit_test(the_first_timeout_counts_however_late_the_tick),
        cmocka_unit_test(every_plugin_that_holds_must_allow),
        cmocka_unit_test(one_rejection_is_enough),
        cmocka_unit_test(wait_after_a_denial_is_no_wait),
        cmocka_unit_test(a_permit_may_let_others_go),
        cmocka_unit_test(a_permit_may_throw_others_out),
        cmocka_unit_test(a_pod_deleted_while_it_waits_leaves_nothing),
        cmocka_unit_test(a_node_may_go_while_a_pod_waits),
        cmocka_unit_test(the_node_is_written_when_binding_takes_time),
        cmocka_unit_test(answers_may_come_later),
        cmocka_unit_test(an_answer_may_come_before_the_call_returns),
        cmocka_unit_test(plugins_that_allow_it_run_together),
        cmocka_unit_test(one_that_fails_ends_the_others),
        cmocka_unit_test(the_first_binder_that_does_not_skip_binds),
        cmocka_unit_test(a_bind_plugin_is_required),
        cmocka_unit_test(a_binding_that_the_api_refuses_is_tried_again),
        cmocka_unit_test(a_pod_that_goes_while_it_is_bound_frees_its_room),
        cmocka_unit_test(pods_are_activated_after_permit_and_after_binding),
        cmocka_unit_test(a_failed_attempt_activates_no_pod),
    };
    return cmocka_run_group_tests_name("points_binding", tests, NULL, NULL);
}
