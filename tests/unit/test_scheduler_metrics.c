/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes with a known outcome, and the metrics that upstream would count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/bind/permit.h"
#include "engine/rooms.h"
#include "puppet.h"

/* Checks the value of a line of the page; NAN: no such line. */
static void expect(struct fixture *f, double value, const char *series)
{
    double found = fixture_metric(f, series);
    bool same = isnan(value) ? isnan(found) : fabs(found - value) < 1e-9;
    if (!same)
        fail_msg("%s is %g, not %g", series, found, value);
}

#define PROFILE "profile='default-scheduler'"

static void expect_attempts(struct fixture *f, const char *result, double n)
{
    expect(f, n, textf("scheduler_schedule_attempts_total{" PROFILE ",result='%s'}", result));
    expect(f, n,
           textf("scheduler_scheduling_attempt_duration_seconds_count{" PROFILE ",result='%s'}",
                 result));
}

static void expect_point(struct fixture *f, const char *point, const char *status, double n)
{
    expect(f, n,
           textf("scheduler_framework_extension_point_duration_seconds_count{extension_point='%s'"
                 "," PROFILE ",status='%s'}",
                 point, status));
}

static void expect_evaluations(struct fixture *f, const char *point, const char *plugin, double n)
{
    expect(f, n,
           textf("scheduler_plugin_evaluation_total{extension_point='%s',plugin='%s'," PROFILE "}",
                 point, plugin));
}

static void expect_incoming(struct fixture *f, const char *queue, const char *event, double n)
{
    expect(f, n, textf("scheduler_queue_incoming_pods_total{event='%s',queue='%s'}", event, queue));
}

static void expect_pending(struct fixture *f, double active, double backoff, double unschedulable,
                           double gated)
{
    expect(f, active, "scheduler_pending_pods{queue='active'}");
    expect(f, backoff, "scheduler_pending_pods{queue='backoff'}");
    expect(f, unschedulable, "scheduler_pending_pods{queue='unschedulable'}");
    expect(f, gated, "scheduler_pending_pods{queue='gated'}");
}

static void expect_blamed(struct fixture *f, const char *plugin, double n)
{
    expect(f, n, textf("scheduler_unschedulable_pods{plugin='%s'," PROFILE "}", plugin));
}

static void expect_handled(struct fixture *f, const char *event, double n)
{
    expect(f, n, textf("scheduler_event_handling_duration_seconds_count{event='%s'}", event));
}

/* --- families --------------------------------------------------------------------------------- */

static void the_table_is_upstreams(void **state)
{
    (void)state;
    static const struct {
        enum scheduler_family family;
        double start, factor;
        size_t n;
    } expected[] = {
        {FAMILY_ASYNC_API_CALL_DURATION, 0.001, 2, 15},
        {FAMILY_DRA_BINDING_CONDITIONS_WAIT, 0.1, 2, 14},
        {FAMILY_EVENT_HANDLING, 0.0001, 2, 12},
        {FAMILY_EXTENSION_POINT, 0.0001, 2, 12},
        {FAMILY_GET_NODE_HINT, 0.00001, 2, 12},
        {FAMILY_PERMIT_WAIT, 0.001, 2, 15},
        {FAMILY_PLUGIN_EXECUTION, 0.00001, 1.5, 20},
        {FAMILY_POD_SCHEDULING_ATTEMPTS, 1, 2, 5},
        {FAMILY_POD_SCHEDULING_SLI, 0.01, 2, 20},
        {FAMILY_POD_GROUP_ALGORITHM, 0.001, 2, 15},
        {FAMILY_POD_GROUP_ATTEMPT_DURATION, 0.001, 2, 15},
        {FAMILY_PREEMPTION_GOROUTINES_DURATION, 0.01, 2, 20},
        {FAMILY_PREEMPTION_VICTIMS, 1, 2, 7},
        {FAMILY_QUEUEING_HINT, 0.00001, 1.5, 20},
        {FAMILY_ALGORITHM, 0.001, 2, 15},
        {FAMILY_ATTEMPT_DURATION, 0.001, 2, 15},
        {FAMILY_STORE_SCHEDULE_RESULTS, 0.00001, 2, 12},
    };
    size_t histograms = 0;
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        const struct metric_desc *d = &scheduler_families[i].metric;
        assert_int_equal(strncmp(d->name, "scheduler_", 10), 0);
        assert_true(*d->help);
        histograms += d->kind == METRIC_HISTOGRAM;
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(d->name, scheduler_families[k].metric.name);
    }
    assert_int_equal(histograms, ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        const struct metric_desc *d = &scheduler_families[expected[i].family].metric;
        assert_int_equal(d->n_buckets, expected[i].n);
        /* By repeated multiplication, not by powers: the bounds must be the same doubles as
         * client_golang's. */
        double bound = expected[i].start;
        for (size_t k = 0; k < expected[i].n; k++, bound *= expected[i].factor)
            assert_memory_equal(&d->buckets[k], &bound, sizeof(bound));
    }
}

static void gates_bring_families(void **state)
{
    (void)state;
    static const struct {
        const char *gates;
        bool queue, async_calls, groups, devices;
    } rows[] = {
        {NULL, true, false, false, true},
        {"SchedulerAsyncAPICalls=true,GenericWorkload=true", true, true, true, true},
        {"DRADeviceBindingConditions=false,DRAExtendedResource=false", true, false, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        fixture_init_features(&f, NULL, rows[i].gates);
        struct metric_family **families = f.engine->framework.metrics->families;
        assert_int_equal(families[FAMILY_INFLIGHT_EVENTS] != NULL, rows[i].queue);
        assert_int_equal(families[FAMILY_QUEUEING_HINT] != NULL, rows[i].queue);
        assert_int_equal(families[FAMILY_ASYNC_API_CALLS] != NULL, rows[i].async_calls);
        assert_int_equal(families[FAMILY_PENDING_ASYNC_API_CALLS] != NULL, rows[i].async_calls);
        assert_int_equal(families[FAMILY_RESOURCE_CLAIM_CREATES] != NULL, rows[i].devices);
        expect(&f, rows[i].groups ? 0 : NAN,
               "scheduler_podgroup_scheduling_algorithm_duration_seconds_count");
        fixture_release(&f);
    }
}

static void before_anything_happens(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    expect_pending(&f, 0, 0, 0, 0);
    expect(&f, 0, "scheduler_cache_size{type='nodes'}");
    expect(&f, 0, "scheduler_cache_size{type='pods'}");
    expect(&f, 0, "scheduler_cache_size{type='assumed_pods'}");
    expect(&f, 0, "scheduler_pod_scheduled_after_flush_total");
    expect(&f, 0, "scheduler_preemption_attempts_total");
    expect(&f, 0, "scheduler_preemption_victims_count");
    expect(&f, 0, "scheduler_pod_scheduling_attempts_count");
    expect(&f, 0, "scheduler_scheduling_algorithm_duration_seconds_count");
    expect_evaluations(&f, "PreFilter", "NodeAffinity", 0);
    expect_evaluations(&f, "Filter", "NodeResourcesFit", 0);
    expect_evaluations(&f, "PreScore", "TaintToleration", 0);
    expect_evaluations(&f, "Score", "ImageLocality", 0);
    /* Unused series are not shown. */
    expect_attempts(&f, "scheduled", NAN);
    expect_point(&f, "Filter", "Success", NAN);
    expect(&f, NAN, "scheduler_goroutines{operation='binding'}");
    fixture_release(&f);
}

/* --- attempts --------------------------------------------------------------------------------- */

static void a_pod_is_bound(void **state)
{
    (void)state;
    static const char *const points[] = {"PreEnqueue", "PreFilter", "Filter", "PreScore",
                                         "Score",      "Reserve",   "Permit", "PreBind",
                                         "Bind",       "PostBind"};
    struct fixture f;
    puppet_clear();
    struct puppet *skips = puppet_add("S", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE));
    puppet_add("A", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE));
    skips->code[PUPPET_PRE_FILTER] = skips->code[PUPPET_PRE_SCORE] = BERTH_SKIP;
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p");
    expect_pending(&f, 1, 0, 0, 0);
    fixture_schedule(&f);
    expect(&f, 1, "scheduler_goroutines{operation='binding'}");
    expect(&f, 1, "scheduler_cache_size{type='assumed_pods'}");
    expect_attempts(&f, "scheduled", NAN);
    fixture_settle(&f);
    expect_attempts(&f, "scheduled", 1);
    expect_attempts(&f, "unschedulable", NAN);
    for (size_t i = 0; i < ARRAY_LEN(points); i++)
        expect_point(&f, points[i], "Success", 1);
    expect_point(&f, "PreBindPreFlight", "Skip", 1);
    expect_point(&f, "PostFilter", "Unschedulable", NAN);
    expect_point(&f, "Unreserve", "Success", NAN);
    expect_evaluations(&f, "PreFilter", "A", 1);
    expect_evaluations(&f, "Filter", "A", 3);
    expect_evaluations(&f, "PreScore", "A", 1);
    expect_evaluations(&f, "Score", "A", 3);
    expect_evaluations(&f, "PreFilter", "S", 0);
    expect_evaluations(&f, "Filter", "S", 0);
    expect_evaluations(&f, "PreScore", "S", 0);
    expect_evaluations(&f, "Score", "S", 0);
    expect(&f, 1, "scheduler_scheduling_algorithm_duration_seconds_count");
    expect(&f, 1, "scheduler_pod_scheduling_attempts_bucket{le='1'}");
    expect(&f, 1, "scheduler_pod_scheduling_sli_duration_seconds_count{attempts='1'}");
    expect(&f, 0, "scheduler_pod_scheduled_after_flush_total");
    expect_incoming(&f, "active", "UnschedulablePodAdd", 1);
    expect_pending(&f, 0, 0, 0, 0);
    expect(&f, 3, "scheduler_cache_size{type='nodes'}");
    expect(&f, 1, "scheduler_cache_size{type='pods'}");
    expect(&f, 0, "scheduler_cache_size{type='assumed_pods'}");
    expect(&f, 0, "scheduler_goroutines{operation='binding'}");
    expect(&f, 0, "scheduler_goroutines{operation='Filter'}");
    fixture_release(&f);
}

static void one_feasible_node_is_not_scored(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER) | AT(PRE_SCORE) | AT(SCORE));
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    expect_attempts(&f, "scheduled", 1);
    expect_point(&f, "Filter", "Success", 1);
    expect_point(&f, "Score", "Success", NAN);
    expect_evaluations(&f, "Score", "A", 0);
    fixture_release(&f);
}

static void a_refused_node_is_not_filtered_further(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER));
    puppet_add("B", AT(FILTER));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 4);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    expect_attempts(&f, "unschedulable", 1);
    expect_evaluations(&f, "Filter", "A", 4);
    expect_evaluations(&f, "Filter", "B", 0);
    /* Without a feasible node Filter has not failed. */
    expect_point(&f, "Filter", "Success", 1);
    expect_point(&f, "PostFilter", "Unschedulable", NAN);
    expect(&f, 1, "scheduler_scheduling_algorithm_duration_seconds_count");
    fixture_release(&f);
}

/* The nominated node is evaluated separately: first without success, then among all others. */
static void a_nominated_node_that_fails_is_counted_twice(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER));
    puppet_add("B", AT(FILTER));
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p", .nominated = "n1");
    fixture_settle(&f);
    assert_on(&f, "p", "n1");
    expect_evaluations(&f, "Filter", "A", 1);
    expect_evaluations(&f, "Filter", "B", 1);
    expect_point(&f, "Filter", "Success", 1);
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    ADD_POD(&f, .name = "q", .nominated = "n1");
    fixture_settle(&f);
    expect_evaluations(&f, "Filter", "A", 1 + 1 + 3);
    expect_evaluations(&f, "Filter", "B", 1);
    expect_point(&f, "Filter", "Success", 3);
    fixture_release(&f);
}

static void post_filter_is_timed_where_there_is_one(void **state)
{
    (void)state;
    static const struct {
        enum berth_code code;
        const char *status;
    } rows[] = {{BERTH_SUCCESS, "Success"},
                {BERTH_UNSCHEDULABLE, "Unschedulable"},
                {BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, "UnschedulableAndUnresolvable"},
                {BERTH_ERROR, "Error"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(FILTER) | AT(POST_FILTER));
        a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
        a->code[PUPPET_POST_FILTER] = rows[i].code;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        expect_point(&f, "PostFilter", rows[i].status, 1);
        expect_attempts(&f, "unschedulable", 1);
        fixture_release(&f);
    }
}

static void something_breaks(void **state)
{
    (void)state;
    static const struct {
        unsigned at;
        enum puppet_point point;
        const char *label;
        bool unreserved;
    } rows[] = {
        {AT(PRE_FILTER), PUPPET_PRE_FILTER, "PreFilter", false},
        {AT(FILTER), PUPPET_FILTER, "Filter", false},
        {AT(PRE_SCORE) | AT(SCORE), PUPPET_PRE_SCORE, "PreScore", false},
        {AT(SCORE), PUPPET_SCORE, "Score", false},
        {AT(RESERVE), PUPPET_RESERVE, "Reserve", true},
        {AT(PERMIT), PUPPET_PERMIT, "Permit", true},
        {AT(PRE_FLIGHT) | AT(PRE_BIND), PUPPET_PRE_FLIGHT, "PreBindPreFlight", true},
        {AT(PRE_BIND), PUPPET_PRE_BIND, "PreBind", true},
        {AT(BIND), PUPPET_BIND, "Bind", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", rows[i].at);
        a->code[rows[i].point] = BERTH_ERROR;
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        expect_point(&f, rows[i].label, "Error", 1);
        expect_point(&f, rows[i].label, "Success", NAN);
        expect_point(&f, "Unreserve", "Success", rows[i].unreserved ? 1 : NAN);
        expect_attempts(&f, "error", 1);
        expect_incoming(&f, "backoff", "ScheduleAttemptFailure", 1);
        expect_pending(&f, 0, 1, 0, 0);
        expect_blamed(&f, "A", NAN);
        fixture_release(&f);
    }
}

static void the_api_server_refuses_a_binding(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    f.now += 3 * NSEC_PER_SEC;
    fixture_answer(&f, fixture_binding(&f, "p"), 409, "no");
    expect_point(&f, "Bind", "Error", 1);
    expect_attempts(&f, "error", 1);
    expect(&f, 0,
           "scheduler_scheduling_attempt_duration_seconds_bucket{" PROFILE
           ",result='error',le='2.048'}");
    expect(&f, 1,
           "scheduler_scheduling_attempt_duration_seconds_bucket{" PROFILE
           ",result='error',le='4.096'}");
    fixture_release(&f);
}

/* --- queue ------------------------------------------------------------------------------------ */

static void a_waiting_pod_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    struct puppet *b = puppet_add("B", AT(FILTER) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    expect_incoming(&f, "unschedulable", "ScheduleAttemptFailure", 1);
    expect_pending(&f, 0, 0, 1, 0);
    expect_blamed(&f, "A", 1);
    expect_blamed(&f, "B", NAN);

    a->code[PUPPET_HINT] = BERTH_SKIP; /* only the rejector's hint is called */
    b->code[PUPPET_HINT] = BERTH_SUCCESS;
    ADD_NODE(&f, .name = "w", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    expect(&f, 2,
           "scheduler_queueing_hint_execution_duration_seconds_count{event='NodeAdd',"
           "hint='QueueSkip',plugin='A'}");
    expect(&f, NAN,
           "scheduler_queueing_hint_execution_duration_seconds_count{event='NodeAdd',"
           "hint='Queue',plugin='B'}");
    expect_pending(&f, 0, 0, 1, 0);

    a->code[PUPPET_HINT] = BERTH_SUCCESS;
    ADD_NODE(&f, .name = "y", .cpu = "4", .memory = "8Gi");
    expect(&f, 1,
           "scheduler_queueing_hint_execution_duration_seconds_count{event='NodeAdd',"
           "hint='Queue',plugin='A'}");
    expect_incoming(&f, "backoff", "NodeAdd", 1);
    expect_pending(&f, 0, 1, 0, 0);
    expect_blamed(&f, "A", 1);

    a->code[PUPPET_FILTER] = BERTH_SUCCESS;
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    expect_incoming(&f, "active", "BackoffComplete", 1);
    fixture_settle(&f);
    expect_blamed(&f, "A", 0);
    expect_attempts(&f, "scheduled", 1);
    expect(&f, 1, "scheduler_pod_scheduling_sli_duration_seconds_count{attempts='2'}");
    expect(&f, 0, "scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts='2',le='10.24'}");
    expect(&f, 1, "scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts='2',le='20.48'}");
    expect(&f, 0, "scheduler_pod_scheduling_attempts_bucket{le='1'}");
    expect(&f, 1, "scheduler_pod_scheduling_attempts_bucket{le='2'}");
    fixture_release(&f);
}

static void a_pod_popped_early_was_active(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    a->code[PUPPET_FILTER] = BERTH_SUCCESS;
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    expect_pending(&f, 0, 1, 0, 0);
    fixture_settle(&f);
    expect_incoming(&f, "active", "PopFromBackoffQ", 1);
    expect_incoming(&f, "active", "BackoffComplete", NAN);
    expect_attempts(&f, "scheduled", 1);
    fixture_release(&f);
}

static void fifteen_attempts_and_more(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER));
    puppet_scene(&f, 1);
    for (int pod = 0; pod < 2; pod++) {
        a->code[PUPPET_FILTER] = BERTH_ERROR;
        ADD_POD(&f, .name = pod ? "p" : "q");
        for (int i = 0; i < 9 + pod * 12; i++) {
            fixture_schedule(&f);
            fixture_pass(&f, 60 * NSEC_PER_SEC);
        }
        a->code[PUPPET_FILTER] = BERTH_SUCCESS;
        fixture_settle(&f);
    }
    expect(&f, 1, "scheduler_pod_scheduling_sli_duration_seconds_count{attempts='10'}");
    expect(&f, 1, "scheduler_pod_scheduling_sli_duration_seconds_count{attempts='15+'}");
    expect(&f, 10 + 22, "scheduler_pod_scheduling_attempts_sum");
    fixture_release(&f);
}

static void a_gate_holds_a_pod(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PRE_ENQUEUE));
    a->code[PUPPET_PRE_ENQUEUE] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    struct object *p = POD(.name = "p");
    fixture_add(&f, object_ref(p));
    expect_pending(&f, 0, 0, 0, 1);
    expect_incoming(&f, "unschedulable", "UnschedulablePodAdd", 1);
    expect_blamed(&f, "A", 1);
    /* Upstream's name for it, whatever the plugins return. */
    expect_point(&f, "PreEnqueue", "Success", 1);
    expect_point(&f, "PreEnqueue", "Unschedulable", NAN);
    /* Rejected again: it stays in the same queue. */
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    expect_blamed(&f, "A", 1);
    expect_incoming(&f, "unschedulable", "NodeAdd", NAN);
    fixture_delete(&f, p);
    expect_pending(&f, 0, 0, 0, 0);
    expect_blamed(&f, "A", 0);
    fixture_release(&f);
}

static void the_longest_stay_ends(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    a->code[PUPPET_FILTER] = BERTH_SUCCESS;
    fixture_pass(&f, 6 * 60 * NSEC_PER_SEC);
    expect_incoming(&f, "active", "UnschedulableTimeout", 1);
    fixture_settle(&f);
    expect(&f, 1, "scheduler_pod_scheduled_after_flush_total");
    fixture_release(&f);
}

/* Deleted from any queue, it is no longer pending. */
static void a_pod_that_waited_is_deleted(void **state)
{
    (void)state;
    for (int to_backoff = 0; to_backoff < 2; to_backoff++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
        a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
        puppet_scene(&f, 1);
        struct object *p = POD(.name = "p");
        fixture_add(&f, object_ref(p));
        fixture_settle(&f);
        if (to_backoff)
            ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
        expect_pending(&f, 0, to_backoff, !to_backoff, 0);
        expect_blamed(&f, "A", 1);
        fixture_delete(&f, p);
        expect_pending(&f, 0, 0, 0, 0);
        expect_blamed(&f, "A", 0);
        fixture_release(&f);
    }
}

/* --- Permit, and events in flight ------------------------------------------------------------- */

static void permit_holds_a_pod(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PERMIT) | AT(RESERVE));
        a->code[PUPPET_PERMIT] = BERTH_WAIT;
        a->timeout = 10 * NSEC_PER_SEC;
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        expect_point(&f, "Permit", "Wait", 1);
        expect_point(&f, "PreBind", "Success", NAN);
        expect(&f, 1, "scheduler_inflight_events{event='PodPopped'}");
        ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
        expect(&f, 1, "scheduler_inflight_events{event='PodPopped'}");
        f.now += 5 * NSEC_PER_SEC;
        if (allowed) {
            permit_allow(f.engine->bindings.cycles.v[0], a->handle);
            engine_tick(f.engine);
            fixture_settle(&f);
        } else {
            fixture_pass(&f, 5 * NSEC_PER_SEC);
        }
        const char *result = allowed ? "Success" : "Unschedulable";
        char series[120];
        snprintf(series, sizeof(series),
                 "scheduler_permit_wait_duration_seconds_count{result='%s'}", result);
        expect(&f, 1, series);
        snprintf(series, sizeof(series),
                 "scheduler_permit_wait_duration_seconds_bucket{result='%s',le='4.096'}", result);
        expect(&f, 0, series);
        expect_attempts(&f, allowed ? "scheduled" : "unschedulable", 1);
        expect_point(&f, "Unreserve", "Success", allowed ? NAN : 1);
        expect_blamed(&f, "A", allowed ? NAN : 1);
        expect(&f, 0, "scheduler_inflight_events{event='PodPopped'}");
        fixture_release(&f);
    }
}

static void events_are_kept_for_pods_in_flight(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PERMIT) | AT(HINT));
    a->code[PUPPET_PERMIT] = BERTH_WAIT;
    a->timeout = 10 * NSEC_PER_SEC;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    ADD_NODE(&f, .name = "y", .cpu = "4", .memory = "8Gi");
    expect(&f, 2, "scheduler_inflight_events{event='NodeAdd'}");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    expect(&f, 0, "scheduler_inflight_events{event='NodeAdd'}");
    /* One event is enough: the first has requeued it. */
    expect(&f, 1,
           "scheduler_queueing_hint_execution_duration_seconds_count{event='NodeAdd',"
           "hint='Queue',plugin='A'}");
    expect_incoming(&f, "backoff", "ScheduleAttemptFailure", 1);
    fixture_release(&f);
}

/* --- events ----------------------------------------------------------------------------------- */

static void events_have_upstreams_names(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n", .cpu = "4", .memory = "8Gi");
    fixture_update(&f, NODE(.name = "n", .cpu = "4", .memory = "8Gi"),
                   NODE(.name = "n", .labels = "a=b", .cpu = "4", .memory = "8Gi"));
    fixture_update(&f, NODE(.name = "n", .labels = "a=b", .cpu = "4", .memory = "8Gi"),
                   NODE(.name = "n", .labels = "a=b", .cpu = "4", .memory = "8Gi")); /* no change */
    expect_handled(&f, "NodeAdd", 1);
    expect_handled(&f, "NodeUpdateNodeLabel", 1);
    expect_handled(&f, "NodeUpdate", NAN);

    ADD_POD(&f, .name = "p", .version = "1");
    fixture_update(&f, POD(.name = "p", .version = "1"), POD(.name = "p", .version = "1"));
    fixture_update(&f, POD(.name = "p", .version = "1"),
                   POD(.name = "p", .version = "2", .labels = "a=b"));
    expect_handled(&f, "UnschedulablePodAdd", 1);
    expect_handled(&f, "UnschedulablePodUpdate", 1);
    expect_handled(&f, "UnschedulablePodUpdatePodLabel", 1);

    fixture_update(&f, POD(.name = "p", .version = "2", .labels = "a=b"),
                   POD(.name = "p", .version = "3", .labels = "a=b", .node = "n"));
    expect_handled(&f, "AssignedPodAdd", 1);
    expect_handled(&f, "UnschedulablePodDelete", 1);
    fixture_update(&f, POD(.name = "p", .version = "3", .labels = "a=b", .node = "n"),
                   POD(.name = "p", .version = "4", .node = "n"));
    expect_handled(&f, "AssignedPodUpdate", 1);
    expect_handled(&f, "AssignedPodUpdatePodLabel", 1);
    fixture_update(&f, POD(.name = "p", .version = "4", .node = "n"),
                   POD(.name = "p", .version = "5", .node = "n"));
    expect_handled(&f, "AssignedPodUpdate", 3); /* of no kind: upstream counts it twice */
    fixture_delete(&f, NODE(.name = "n", .labels = "a=b", .cpu = "4", .memory = "8Gi"));
    expect_handled(&f, "NodeDelete", 1);
    expect(&f, 1, "scheduler_cache_size{type='nodes'}"); /* it still has a pod */
    fixture_delete(&f, POD(.name = "p", .version = "5", .node = "n"));
    expect_handled(&f, "AssignedPodDelete", 1);
    expect(&f, 0, "scheduler_cache_size{type='nodes'}");
    /* Pods of other schedulers are ignored until they have a node. */
    ADD_POD(&f, .name = "o", .scheduler = "other");
    expect_handled(&f, "UnschedulablePodAdd", 1);
    fixture_release(&f);
}

/* --- sampling --------------------------------------------------------------------------------- */

static double executions(struct fixture *f, const char *plugin, const char *point,
                         const char *status)
{
    const char *series =
        textf("scheduler_plugin_execution_duration_seconds_count{extension_point='%s',"
              "plugin='%s',status='%s'}",
              point, plugin, status);
    return fixture_metric(f, series);
}

static void a_tenth_of_the_cycles_is_looked_at_closely(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(PRE_ENQUEUE) | AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE) |
                        AT(NORMALIZE) | AT(RESERVE) | AT(PERMIT) | AT(PRE_FLIGHT) | AT(PRE_BIND) |
                        AT(BIND) | AT(POST_BIND));
    puppet_scene(&f, 3);
    for (int i = 0; i < 1000; i++) {
        ADD_POD(&f, .name = textf("p%d", i));
        fixture_settle(&f);
        puppet_forget_calls();
    }
    double cycles = executions(&f, "A", "PreFilter", "Success");
    assert_in_range((int)cycles, 50, 200);
    assert_in_range((int)executions(&f, "A", "PreEnqueue", "Success"), 50, 200);
    assert_true(executions(&f, "A", "Filter", "Success") == 3 * cycles);
    assert_true(executions(&f, "A", "Score", "Success") == 3 * cycles);
    static const char *const once[] = {"PreScore", "ScoreExtensionNormalize", "Reserve",
                                       "Permit",   "PreBindPreFlight",        "PreBind",
                                       "PostBind"};
    for (size_t i = 0; i < ARRAY_LEN(once); i++)
        assert_true(executions(&f, "A", once[i], "Success") == cycles);
    assert_true(executions(&f, "A", "Bind", "Skip") == cycles);
    assert_true(executions(&f, "DefaultBinder", "Bind", "Success") == cycles);
    assert_true(isnan(executions(&f, "A", "PostFilter", "Success")));
    fixture_release(&f);
}

static void some_nodes_refuse(struct puppet_call *call)
{
    if (call->point != PUPPET_FILTER)
        return;
    if (strcmp(call->node->name, "n0") == 0)
        call->code = BERTH_UNSCHEDULABLE;
    else if (strcmp(call->node->name, "n1") == 0)
        call->code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static void each_verdict_is_an_execution(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER) | AT(PRE_FILTER))->hook = some_nodes_refuse;
    puppet_add("B", AT(FILTER));
    puppet_scene(&f, 5);
    for (int i = 0; i < 300; i++) {
        ADD_POD(&f, .name = textf("p%d", i));
        fixture_settle(&f);
        puppet_forget_calls();
    }
    double cycles = executions(&f, "A", "PreFilter", "Success");
    assert_true(cycles > 0);
    assert_true(executions(&f, "A", "Filter", "Success") == 3 * cycles);
    assert_true(executions(&f, "A", "Filter", "Unschedulable") == cycles);
    assert_true(executions(&f, "A", "Filter", "UnschedulableAndUnresolvable") == cycles);
    expect_evaluations(&f, "Filter", "A", 5 * 300);
    expect_evaluations(&f, "Filter", "B", 3 * 300);
    fixture_release(&f);
}

/* --- time ------------------------------------------------------------------------------------- */

/* The clock advances by a millisecond at every reading: no stage took less, none all of it. */
static void stages_take_their_own_time(void **state)
{
    (void)state;
    static const char *const points[] = {"PreFilter", "Filter", "PreScore", "Score", "Bind"};
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE));
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    f.step = NSEC_PER_SEC / 1000;
    fixture_settle(&f);
    f.step = 0;
    double sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        const char *series =
            textf("scheduler_framework_extension_point_duration_seconds_sum{extension_point='%"
                  "s'," PROFILE ",status='Success'}",
                  points[i]);
        double took = fixture_metric(&f, series);
        assert_true(took >= 0.001);
        sum += took;
    }
    double algorithm = fixture_metric(&f, "scheduler_scheduling_algorithm_duration_seconds_sum");
    double attempt = fixture_metric(&f, "scheduler_scheduling_attempt_duration_seconds_sum{" PROFILE
                                        ",result='scheduled'}");
    double sli =
        fixture_metric(&f, "scheduler_pod_scheduling_sli_duration_seconds_sum{attempts='1'}");
    assert_true(sum < attempt + 1e-9);
    assert_true(algorithm < attempt);
    assert_true(sli >= algorithm);
    fixture_release(&f);
}

static void counting_changes_nothing(void **state)
{
    (void)state;
    struct fixture a, b;
    fixture_init(&a, NULL, NULL);
    fixture_init_uncounted(&b, NULL, NULL);
    struct fixture *both[] = {&a, &b};
    for (size_t k = 0; k < 2; k++) {
        for (int i = 0; i < 20; i++)
            ADD_NODE(both[k], .name = textf("n%d", i), .cpu = i % 3 ? "2" : "4", .memory = "8Gi");

        for (int i = 0; i < 100; i++) {
            ADD_POD(both[k], .name = textf("p%d", i), .cpu = i % 4 ? "500m" : "1500m",
                    .memory = "100Mi");
            if (i % 7 == 0)
                fixture_settle(both[k]);
        }
        fixture_settle(both[k]);
        fixture_pass(both[k], 400 * NSEC_PER_SEC);
        fixture_settle(both[k]);
    }
    assert_int_equal(a.decisions.n, b.decisions.n);
    for (size_t i = 0; i < a.decisions.n; i++)
        assert_string_equal(a.decisions.v[i], b.decisions.v[i]);
    assert_true(engine_publish_metrics(b.engine) == INT64_MAX);
    fixture_release(&a);
    fixture_release(&b);
}

/* --- publishing, profiles, plugins ------------------------------------------------------------ */

static void it_is_published_a_few_times_a_second(void **state)
{
    (void)state;
    struct fixture f;
    struct buf page = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n", .cpu = "4", .memory = "8Gi");
    assert_true(engine_publish_metrics(f.engine) == INT64_MAX);
    assert_true(engine_publish_metrics(f.engine) == INT64_MAX); /* no change since then */
    int64_t published = f.now;
    ADD_NODE(&f, .name = "m", .cpu = "4", .memory = "8Gi");
    int64_t due = engine_publish_metrics(f.engine);
    assert_true(due > f.now && due <= published + NSEC_PER_SEC);
    metrics_write(f.metrics, &page);
    assert_non_null(strstr(buf_cstr(&page), json_quotes("scheduler_cache_size{type='nodes'} 1\n")));
    f.now = due;
    assert_true(engine_publish_metrics(f.engine) == INT64_MAX);
    buf_clear(&page);
    metrics_write(f.metrics, &page);
    assert_non_null(strstr(buf_cstr(&page), json_quotes("scheduler_cache_size{type='nodes'} 2\n")));
    buf_release(&page);
    fixture_release(&f);
}

/* A freed engine has no queue; its counts stay. */
static void an_engine_ends(void **state)
{
    (void)state;
    struct fixture f;
    struct buf page = BUF_INIT;
    puppet_clear();
    puppet_add("A", AT(FILTER))->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    expect_pending(&f, 0, 0, 1, 0);
    f.engine = engine_free(f.engine);
    metrics_write(f.metrics, &page);
    assert_non_null(
        strstr(buf_cstr(&page), json_quotes("scheduler_pending_pods{queue='unschedulable'} 0\n")));
    assert_non_null(strstr(
        buf_cstr(&page), json_quotes("scheduler_unschedulable_pods{plugin='A'," PROFILE "} 0\n")));
    assert_non_null(strstr(buf_cstr(&page), json_quotes("result='unschedulable'} 1\n")));
    buf_release(&page);
    fixture_release(&f);
}

static void profiles_count_for_themselves(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- schedulerName: default-scheduler\n"
                 "- schedulerName: other\n",
                 NULL);
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "o", .scheduler = "other");
    fixture_settle(&f);
    expect(&f, 1, "scheduler_schedule_attempts_total{profile='other',result='scheduled'}");
    expect_attempts(&f, "scheduled", NAN);
    expect(&f, 1,
           "scheduler_plugin_evaluation_total{extension_point='Filter',plugin='NodeName',"
           "profile='other'}");
    expect_evaluations(&f, "Filter", "NodeName", 0);
    fixture_release(&f);
}

static void plugins_count_what_happens_seldom(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER));
    puppet_scene(&f, 1);
    struct scheduler_metrics *m = handle_metrics(a->handle);
    scheduler_metrics_preemption_attempt(m);
    scheduler_metrics_preemption_victims(m, 3);
    scheduler_metrics_preemption_done(m, true, 20 * NSEC_PER_SEC);
    struct str operation = STR("bind");
    scheduler_metrics_add(m, FAMILY_VOLUME_STAGE_ERRORS, &operation, 2);
    scheduler_metrics_add(m, FAMILY_ASYNC_API_CALLS, NULL, 1); /* its gate is off */
    expect(&f, 1, "scheduler_preemption_attempts_total");
    expect(&f, 0, "scheduler_preemption_victims_bucket{le='2'}");
    expect(&f, 1, "scheduler_preemption_victims_bucket{le='4'}");
    expect(&f, 1, "scheduler_preemption_goroutines_execution_total{result='success'}");
    expect(&f, 20, "scheduler_preemption_goroutines_duration_seconds_sum{result='success'}");
    expect(&f, 2, "scheduler_volume_scheduling_stage_error_total{operation='bind'}");
    fixture_release(&f);
    /* Without metrics. */
    scheduler_metrics_preemption_attempt(NULL);
    scheduler_metrics_preemption_victims(NULL, 1);
    scheduler_metrics_preemption_done(NULL, true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_upstreams),
        cmocka_unit_test(gates_bring_families),
        cmocka_unit_test(before_anything_happens),
        cmocka_unit_test(a_pod_is_bound),
        cmocka_unit_test(one_feasible_node_is_not_scored),
        cmocka_unit_test(a_refused_node_is_not_filtered_further),
        cmocka_unit_test(a_nominated_node_that_fails_is_counted_twice),
        cmocka_unit_test(post_filter_is_timed_where_there_is_one),
        cmocka_unit_test(something_breaks),
        cmocka_unit_test(the_api_server_refuses_a_binding),
        cmocka_unit_test(a_waiting_pod_is_reported),
        cmocka_unit_test(a_pod_popped_early_was_active),
        cmocka_unit_test(fifteen_attempts_and_more),
        cmocka_unit_test(a_gate_holds_a_pod),
        cmocka_unit_test(the_longest_stay_ends),
        cmocka_unit_test(a_pod_that_waited_is_deleted),
        cmocka_unit_test(permit_holds_a_pod),
        cmocka_unit_test(events_are_kept_for_pods_in_flight),
        cmocka_unit_test(events_have_upstreams_names),
        cmocka_unit_test(a_tenth_of_the_cycles_is_looked_at_closely),
        cmocka_unit_test(each_verdict_is_an_execution),
        cmocka_unit_test(stages_take_their_own_time),
        cmocka_unit_test(counting_changes_nothing),
        cmocka_unit_test(it_is_published_a_few_times_a_second),
        cmocka_unit_test(an_engine_ends),
        cmocka_unit_test(profiles_count_for_themselves),
        cmocka_unit_test(plugins_count_what_happens_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
