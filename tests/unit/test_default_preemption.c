/* SPDX-License-Identifier: Apache-2.0 */
/* DefaultPreemption, and the engine's part of it: nodes n0, n1, …, each with 4 cpus. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/pod.h"
#include "base/time.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "plugins/registry.h"
#include "puppet.h"

#define ALL_NODES                                  \
    "apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "kind: KubeSchedulerConfiguration\n"           \
    "profiles:\n"                                  \
    "- pluginConfig:\n"                            \
    "  - name: DefaultPreemption\n"                \
    "    args: {minCandidateNodesPercentage: 100}\n"

/* --- fixtures --------------------------------------------------------------------------------- */

static void add_nodes(struct fixture *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ADD_NODE(f, .name = textf("n%zu", i), .cpu = "4", .memory = "8Gi");
}

static void begin(struct fixture *f, size_t nodes)
{
    fixture_init(f, ALL_NODES, NULL);
    add_nodes(f, nodes);
}

/* The pod's last nomination; "": cleared, NULL: never written. */
static const char *promised(struct fixture *f, const char *pod)
{
    const struct fixture_write *w = fixture_last(f, WRITE_POD_STATUS, pod);
    return w && w->sets_nomination ? w->node : NULL;
}

/* The unanswered evictions in order: "a b". */
static const char *evicted(const struct fixture *f)
{
    static char text[256];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < f->writes.n; i++)
        if (f->writes.v[i].kind == WRITE_EVICTION && !f->writes.v[i].answered)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", at ? " " : "",
                                   STR_ARG(object_meta(f->writes.v[i].pod)->name));
    return text;
}

static const char *place_of(struct fixture *f, const char *uid)
{
    static const char *const names[] = {
        "", "active", "backoff", "errorBackoff", "unschedulable", "inFlight", "binding"};
    const struct berth_queued_pod *qp = queue_get(&f->engine->queue, str_of(uid));
    if (!qp)
        return "nowhere";
    return qp->gate ? "gated" : names[qp->place];
}

/* The part of the pod's message after that of the filters. */
static void assert_says(struct fixture *f, const char *pod, const char *text)
{
    const struct fixture_write *w = fixture_last(f, WRITE_POD_STATUS, pod);
    assert_non_null(w);
    const char *at = strstr(w->message, " preemption: ");
    assert_string_equal(at ? at + 1 : "", text);
}

/* --- which pods may preempt ------------------------------------------------------------------- */

static void the_least_important_pod_makes_room(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    ADD_POD(&f, .name = "mid", .node = "n0", .priority = 2, .cpu = "2");
    ADD_POD(&f, .name = "low", .node = "n0", .priority = 1, .cpu = "2");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "low");
    assert_string_equal(promised(&f, "high"), "n0");
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "high")->message,
                        "0/1 nodes are available: 1 Insufficient cpu.");
    struct fixture_write *w = fixture_eviction(&f, "low");
    assert_string_equal(w->reason, "PreemptionByScheduler");
    assert_string_equal(w->message,
                        "default-scheduler: preempting to accommodate a higher priority pod");
    assert_null(fixture_last(&f, WRITE_EVENT, "low"));
    fixture_answer(&f, w, 200, "");
    w = fixture_last(&f, WRITE_EVENT, "low");
    assert_string_equal(w->reason, "Preempted");
    assert_string_equal(w->action, "Preempting");
    assert_string_equal(w->message, "Preempted by pod uid-high on node n0");
    assert_false(w->warning);
    assert_true(str_is(object_meta(w->related)->name, "high"));
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "high"), "n0");
    fixture_release(&f);
}

static void some_pods_never_preempt(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    ADD_POD(&f, .name = "low", .node = "n0", .cpu = "4");
    ADD_POD(&f, .name = "p", .priority = 9, .cpu = "2", .preemption_policy = "Never");
    ADD_POD(&f, .name = "q", .cpu = "2");
    ADD_POD(&f, .name = "r", .priority = 9, .cpu = "5");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "");
    assert_says(&f, "p", "preemption: not eligible due to preemptionPolicy=Never.");
    assert_says(&f, "q",
                "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming "
                "pod.");
    assert_says(&f, "r",
                "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
    /* A pod that cannot be helped loses its nomination; one that may not preempt keeps it. */
    assert_null(promised(&f, "p"));
    assert_string_equal(promised(&f, "q"), "");
    fixture_release(&f);
}

static void victims_that_take_their_time_are_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    ADD_POD(&f, .name = "slow", .node = "n0", .priority = 1, .cpu = "4", .deleting = true,
            .preempted = true);
    ADD_POD(&f, .name = "low", .node = "n1", .priority = 1, .cpu = "4");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2", .nominated = "n0");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "");
    assert_says(&f, "high",
                "preemption: not eligible due to a terminating pod on the nominated node.");
    assert_null(promised(&f, "high"));
    fixture_release(&f);
    /* Not on a node that no longer helps. */
    begin(&f, 0);
    ADD_NODE(&f, .name = "n0", .unschedulable = true, .cpu = "4", .pods = "10");
    ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "slow", .node = "n0", .priority = 1, .cpu = "4", .deleting = true,
            .preempted = true);
    ADD_POD(&f, .name = "low", .node = "n1", .priority = 1, .cpu = "4");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2", .nominated = "n0");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "low");
    assert_string_equal(promised(&f, "high"), "n1");
    fixture_release(&f);
}

/* The write of the nomination may take longer than the evictions. */
static void a_nomination_counts_before_it_is_written(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    ADD_POD(&f, .name = "slow", .node = "n0", .priority = 2, .cpu = "2");
    ADD_POD(&f, .name = "slower", .node = "n0", .priority = 1, .cpu = "2");
    ADD_POD(&f, .name = "low", .node = "n1", .priority = 3, .cpu = "4");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_string_equal(promised(&f, "high"), "n0");
    fixture_answer(&f, fixture_eviction(&f, "slow"), 404, "gone");
    fixture_update(&f, POD(.name = "slower", .node = "n0", .priority = 1, .cpu = "2"),
                   POD(.name = "slower", .node = "n0", .priority = 1, .cpu = "2", .deleting = true,
                       .preempted = true));
    fixture_answer(&f, fixture_eviction(&f, "slower"), 404, "gone");
    fixture_delete(&f, POD(.name = "slow", .node = "n0", .priority = 2, .cpu = "2"));
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "");
    assert_says(&f, "high",
                "preemption: not eligible due to a terminating pod on the nominated node.");
    fixture_release(&f);
}

/* --- which node and which victims ------------------------------------------------------------- */

static void the_rules_decide_in_their_order(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        struct pod_args pods[6];
        const char *node;
    } cases[] = {
        {"violations",
         {{.name = "a", .node = "n0", .priority = 1, .cpu = "4", .labels = "app=kept"},
          {.name = "b", .node = "n1", .priority = 5, .cpu = "4"},
          {.name = "c", .node = "n2", .priority = 5, .cpu = "4", .labels = "app=kept"}},
         "n1"},
        {"highest priority",
         {{.name = "a", .node = "n0", .priority = 3, .cpu = "4"},
          {.name = "b", .node = "n1", .priority = 2, .cpu = "2"},
          {.name = "c", .node = "n1", .priority = 2, .cpu = "2"}},
         "n1"},
        {"sum of priorities",
         {{.name = "a", .node = "n0", .priority = 3, .cpu = "2"},
          {.name = "b", .node = "n0", .priority = 2, .cpu = "2"},
          {.name = "c", .node = "n1", .priority = 3, .cpu = "2"},
          {.name = "d", .node = "n1", .priority = 1, .cpu = "2"}},
         "n1"},
        {"negative priorities add up",
         {{.name = "a", .node = "n0", .priority = -3, .cpu = "2"},
          {.name = "b", .node = "n0", .priority = -3, .cpu = "2"},
          {.name = "c", .node = "n1", .priority = -3, .cpu = "4"}},
         "n1"},
        {"start of the oldest",
         {{.name = "a", .node = "n0", .priority = 3, .cpu = "4", .started = "2026-01-01T00:00:00Z"},
          {.name = "b",
           .node = "n1",
           .priority = 3,
           .cpu = "4",
           .started = "2026-01-02T00:00:00Z"}},
         "n1"},
        {"one that has not started is the youngest",
         {{.name = "a", .node = "n0", .priority = 3, .cpu = "4", .started = "2026-01-01T00:00:00Z"},
          {.name = "b", .node = "n1", .priority = 3, .cpu = "4"}},
         "n1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        begin(&f, 3);
        fixture_add_budget(&f, "kept", 0);
        bool third = false;
        for (size_t k = 0; k < 6 && cases[i].pods[k].name; k++) {
            fixture_add(&f, object_from_pod_args(&cases[i].pods[k]));
            third |= strcmp(cases[i].pods[k].node, "n2") == 0;
        }
        if (!third)
            ADD_POD(&f, .name = "equal", .node = "n2", .priority = 9, .cpu = "4");
        ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
        fixture_schedule(&f);
        if (!promised(&f, "high") || strcmp(promised(&f, "high"), cases[i].node) != 0)
            fail_msg("%s: nominated to %s", cases[i].rule, promised(&f, "high"));
        fixture_release(&f);
    }
}

static void budgets_are_spared_first(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    fixture_add(&f, POD_DISRUPTION_BUDGET(.name = "web", .selector = "app=web", .allowed = 1,
                                          .disrupted = "d"));
    /* One of a and b may be evicted, c is in no budget, d is counted as disrupted already. */
    ADD_POD(&f, .name = "a", .node = "n0", .priority = 3, .cpu = "1", .labels = "app=web");
    ADD_POD(&f, .name = "b", .node = "n0", .priority = 2, .cpu = "1", .labels = "app=web");
    ADD_POD(&f, .name = "c", .node = "n0", .priority = 4, .cpu = "1");
    ADD_POD(&f, .name = "d", .node = "n0", .priority = 1, .cpu = "1", .labels = "app=web");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "3");
    fixture_schedule(&f);
    /* b is reprieved, since it is the second of its budget; then the others by importance. */
    assert_string_equal(promised(&f, "high"), "n0");
    struct buf why = BUF_INIT;
    engine_explain(f.engine, STR("default"), STR("high"), &why);
    assert_non_null(strstr(buf_cstr(&why),
                           "\"victims\":[\"default/c\",\"default/a\",\"default/d\"],"
                           "\"pdbViolations\":0"));
    buf_release(&why);
    fixture_release(&f);
}

static void few_nodes_are_enough(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- pluginConfig:\n"
                 "  - name: DefaultPreemption\n"
                 "    args: {minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 1}\n",
                 NULL);
    add_nodes(&f, 10);
    for (int i = 0; i < 10; i++) {
        const char *name = textf("p%d", i);
        const char *node = textf("n%d", i);
        ADD_POD(&f, .name = name, .node = node, .priority = 1, .cpu = "4");
    }
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    struct buf why = BUF_INIT;
    engine_explain(f.engine, STR("default"), STR("high"), &why);
    assert_non_null(strstr(buf_cstr(&why), "\"candidates\":2,"));
    buf_release(&why);
    fixture_release(&f);
}

/* --- victims terminate ------------------------------------------------------------------------ */

/* high needs the room of three pods on n0. */
static void begin_three(struct fixture *f)
{
    begin(f, 1);
    ADD_POD(f, .name = "a", .node = "n0", .priority = 3, .cpu = "1");
    ADD_POD(f, .name = "b", .node = "n0", .priority = 2, .cpu = "1");
    ADD_POD(f, .name = "c", .node = "n0", .priority = 1, .cpu = "2");
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
}

static void the_last_victim_comes_after_the_others(void **state)
{
    (void)state;
    struct fixture f;
    begin_three(&f);
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "a b");
    /* A victim's deletion is an event for the preemptor, but the other victims are not evicted
     * yet. */
    fixture_answer(&f, fixture_eviction(&f, "a"), 200, "");
    assert_string_equal(place_of(&f, "uid-high"), "gated");
    fixture_answer(&f, fixture_eviction(&f, "b"), 200, "");
    assert_string_equal(evicted(&f), "c");
    assert_string_equal(place_of(&f, "uid-high"), "gated");
    /* The last victim is gone before the answer to its eviction arrives. */
    fixture_delete(&f, POD(.name = "c", .node = "n0", .priority = 1, .cpu = "2"));
    assert_string_equal(place_of(&f, "uid-high"), "backoff");
    fixture_answer(&f, fixture_eviction(&f, "c"), 404, "gone");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "high"), "n0");
    assert_non_null(fixture_last(&f, WRITE_EVENT, "a"));
    assert_null(fixture_last(&f, WRITE_EVENT, "c"));
    fixture_release(&f);
}

static void a_victim_that_stays_brings_the_preemptor_back(void **state)
{
    (void)state;
    struct fixture f;
    begin_three(&f);
    fixture_schedule(&f);
    fixture_answer(&f, fixture_eviction(&f, "a"), 403, "forbidden");
    assert_string_equal(place_of(&f, "uid-high"), "unschedulable");
    fixture_answer(&f, fixture_eviction(&f, "b"), 200, "");
    /* c is not evicted, and high is retried at once. */
    assert_string_equal(evicted(&f), "");
    assert_string_equal(place_of(&f, "uid-high"), "active");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "a");
    fixture_release(&f);
}

static void lower_nominations_are_removed_first(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    ADD_POD(&f, .name = "low", .node = "n0", .priority = 1, .cpu = "4");
    ADD_POD(&f, .name = "mid", .priority = 5, .cpu = "4", .nominated = "n0",
            .preemption_policy = "Never");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "");
    struct fixture_write *w = NULL;
    for (size_t i = 0; i < f.writes.n; i++)
        if (f.writes.v[i].kind == WRITE_POD_STATUS && f.writes.v[i].id)
            w = &f.writes.v[i];
    assert_non_null(w);
    assert_true(str_is(object_meta(w->pod)->name, "mid"));
    assert_true(w->sets_nomination && !w->sets_condition);
    assert_string_equal(w->node, "");
    fixture_answer(&f, w, 200, "");
    assert_string_equal(evicted(&f), "low");
    fixture_release(&f);
}

static void a_terminating_victim_is_not_evicted_again(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    ADD_POD(&f, .name = "slow", .node = "n0", .priority = 1, .cpu = "4", .deleting = true,
            .preempted = true);
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_string_equal(evicted(&f), "");
    assert_string_equal(promised(&f, "high"), "n0");
    assert_string_equal(place_of(&f, "uid-high"), "unschedulable");
    fixture_release(&f);
}

/* --- SchedulerAsyncPreemption=false ----------------------------------------------------------- */

static void an_attempt_may_wait_for_its_victims(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        struct fixture f;
        fixture_init_features(&f, NULL, "SchedulerAsyncPreemption=false");
        add_nodes(&f, 1);
        ADD_POD(&f, .name = "a", .node = "n0", .priority = 3, .cpu = "2");
        ADD_POD(&f, .name = "b", .node = "n0", .priority = 2, .cpu = "2");
        ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
        ADD_POD(&f, .name = "next", .cpu = "4");
        fixture_schedule(&f);
        assert_string_equal(evicted(&f), "a b");
        assert_null(fixture_last(&f, WRITE_POD_STATUS, "high"));
        assert_null(fixture_last(&f, WRITE_POD_STATUS, "next"));
        fixture_answer(&f, fixture_eviction(&f, "a"), 200, "");
        fixture_answer(&f, fixture_eviction(&f, "b"), refused ? 500 : 200, "it broke");
        if (refused)
            assert_says(&f, "high", "preemption: it broke");
        assert_string_equal(refused ? "n0" : promised(&f, "high"), "n0");
        assert_int_equal(promised(&f, "high") == NULL, refused);
        fixture_schedule(&f);
        assert_non_null(fixture_last(&f, WRITE_POD_STATUS, "next"));
        fixture_release(&f);
    }
}

static void an_attempt_that_waits_ends_with_its_pod(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f, NULL, "SchedulerAsyncPreemption=false");
    add_nodes(&f, 1);
    ADD_POD(&f, .name = "a", .node = "n0", .priority = 3, .cpu = "4");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    fixture_delete(&f, POD(.name = "high", .uid = "uid-high", .priority = 9, .cpu = "4"));
    ADD_POD(&f, .name = "next", .cpu = "4");
    fixture_schedule(&f);
    assert_non_null(fixture_last(&f, WRITE_POD_STATUS, "next"));
    fixture_answer(&f, fixture_eviction(&f, "a"), 200, "");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "next"), "n0");
    fixture_release(&f);
}

/* --- extenders -------------------------------------------------------------------------------- */

static void begin_extender(struct fixture *f, bool ignorable)
{
    struct extender x = {.name = STR("http://x"), .preempts = true, .ignorable = ignorable};
    fixture_init_extenders(f, NULL, &x, 1);
    add_nodes(f, 2);
    ADD_POD(f, .name = "a", .node = "n0", .priority = 1, .cpu = "4");
    ADD_POD(f, .name = "b", .node = "n1", .priority = 2, .cpu = "2");
    ADD_POD(f, .name = "c", .node = "n1", .priority = 2, .cpu = "2");
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2");
    fixture_schedule(f);
}

static bool one_of(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

static void extenders_may_change_the_victims(void **state)
{
    (void)state;
    struct fixture f;
    begin_extender(&f, false);
    struct fixture_call *call = fixture_call(&f);
    assert_int_equal(call->verb, EXTENDER_PREEMPT);
    /* Of b and c, which have not started, the first in the request is the more important. */
    assert_true(one_of(call->nodes, "n0:a:0 n1:b:0", "n1:b:0 n0:a:0"));
    struct str uids[] = {STR("b"), STR("c")};
    struct extender_meta_victims only = {STR("n1"), uids, 2, 1};
    fixture_extender_done(&f, call, &(struct extender_result){.victims = &only, .n_victims = 1});
    assert_string_equal(promised(&f, "high"), "n1");
    assert_string_equal(evicted(&f), "b");
    fixture_answer(&f, fixture_eviction(&f, "b"), 200, "");
    assert_string_equal(evicted(&f), "c");
    fixture_release(&f);
}

/* The last victim is deleted while an extender is called for another node, which does not fit. */
static void no_eviction_once_the_nominated_node_has_room(void **state)
{
    (void)state;
    struct fixture f;
    struct extender x = {.name = STR("http://x"), .filters = true};
    fixture_init_extenders(&f, NULL, &x, 1);
    add_nodes(&f, 3);
    ADD_POD(&f, .name = "slow", .node = "n0", .priority = 1, .cpu = "4", .deleting = true,
            .preempted = true);
    ADD_POD(&f, .name = "low", .node = "n1", .priority = 1, .cpu = "4");
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2", .nominated = "n0");
    fixture_schedule(&f);
    struct fixture_call *call = fixture_call(&f);
    assert_int_equal(call->verb, EXTENDER_FILTER);
    fixture_delete(&f, POD(.name = "slow", .node = "n0", .priority = 1, .cpu = "4",
                           .deleting = true, .preempted = true));
    struct extender_refusal never = {STR("n2"), STR("never")};
    fixture_extender_done(&f, call,
                          &(struct extender_result){.unresolvable = &never, .n_unresolvable = 1});
    assert_string_equal(evicted(&f), "");
    assert_says(&f, "high",
                "preemption: not eligible due to a terminating pod on the nominated node.");
    assert_string_equal(place_of(&f, "uid-high"), "backoff");
    fixture_release(&f);
}

static void extenders_may_be_wrong(void **state)
{
    (void)state;
    static const struct str nobody[] = {STR_INIT("uid-x")};
    static const struct extender_meta_victims unknown_pod = {STR_INIT("n1"), nobody, 1, 0};
    static const struct extender_meta_victims unknown_node = {STR_INIT("n7"), nobody, 1, 0};
    static const struct extender_meta_victims empty = {STR_INIT("n1"), NULL, 0, 0};
    static const struct {
        struct extender_result result;
        const char *says; /* if relevant; otherwise a is evicted, or none */
        bool dropped;     /* ignorable: no candidate left */
    } cases[] = {
        {{.error = STR_INIT("no way")}, "preemption: no way", false},
        {{.victims = &unknown_pod, .n_victims = 1},
         "preemption: extender: http://x claims to preempt pod (UID: &{uid-x}) on node: n1, but "
         "the "
         "pod is not found on that node",
         false},
        {{.victims = &unknown_node, .n_victims = 1},
         "preemption: nodeinfo not found for node name \"n7\"",
         false},
        {{.victims = &empty, .n_victims = 1},
         "preemption: expected at least one victim pod on node \"n1\"",
         true},
        {{.n_kept = 0}, "preemption: no candidate node for preemption", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int ignorable = 0; ignorable < 2; ignorable++) {
            struct fixture f;
            begin_extender(&f, ignorable);
            fixture_extender_done(&f, fixture_call(&f), &cases[i].result);
            bool spared = !ignorable || cases[i].dropped;
            assert_string_equal(evicted(&f), spared ? "" : "a");
            if (spared)
                assert_says(&f, "high",
                            ignorable ? "preemption: no candidate node for preemption"
                                      : cases[i].says);
            fixture_release(&f);
        }
}

/* --- victims that are not bound yet ----------------------------------------------------------- */

static berth_op held_op;
static void (*cancel)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      berth_op op);

static void keep_op(struct puppet_call *call)
{
    if (call->point == PUPPET_PRE_BIND)
        held_op = call->op;
}

/* With Fit, preemption, and a puppet that holds pods at one point. */
static void begin_held(struct fixture *f, struct registry *registry, unsigned points,
                       enum puppet_point at, enum berth_code code)
{
    puppet_clear();
    struct puppet *a = puppet_add("A", points);
    a->code[at] = code;
    a->timeout = 60 * NSEC_PER_SEC;
    a->hook = keep_op;
    a->plugin.pre_bind_cancel = cancel;
    const struct berth_plugin *const own[] = {&a->plugin, NULL};
    static const struct berth_plugin *plugins[2];
    memcpy(plugins, own, sizeof(plugins));
    struct err err = {0};
    registry_init(registry, &in_tree_registry);
    if (registry_merge(registry, plugins, &err) < 0)
        fail_msg("%s", err.msg);
    fixture_init(f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {multiPoint: {enabled: [{name: A}]}}\n",
                 registry);
    add_nodes(f, 1);
    ADD_POD(f, .name = "low", .priority = 1, .cpu = "4");
    fixture_schedule(f);
    a->code[at] = BERTH_SUCCESS;
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4");
    fixture_schedule(f);
}

static void a_pod_that_waits_goes_back_to_the_queue(void **state)
{
    (void)state;
    struct fixture f;
    struct registry registry;
    begin_held(&f, &registry, AT(PERMIT), PUPPET_PERMIT, BERTH_WAIT);
    assert_string_equal(evicted(&f), "");
    assert_string_equal(promised(&f, "high"), "n0");
    struct fixture_write *event = NULL;
    for (size_t i = 0; i < f.writes.n; i++)
        if (f.writes.v[i].kind == WRITE_EVENT && f.writes.v[i].related)
            event = &f.writes.v[i];
    assert_non_null(event);
    assert_string_equal(event->message,
                        "Preempted by pod uid-high on node n0 (in kube-scheduler memory).");
    assert_told(&f, "low", "SchedulerError", "waiting on permit for pod: preempted");
    assert_string_equal(place_of(&f, "low"), "errorBackoff");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "high"), "n0");
    fixture_release(&f);
    registry_release(&registry);
}

static void a_pod_in_pre_bind_is_not_bound(void **state)
{
    (void)state;
    struct fixture f;
    struct registry registry;
    begin_held(&f, &registry, AT(PRE_BIND), PUPPET_PRE_BIND, BERTH_ASYNC);
    assert_string_equal(evicted(&f), "");
    assert_null(fixture_binding(&f, "low"));
    assert_null(fixture_last(&f, WRITE_POD_STATUS, "low"));
    /* The plugin is not interrupted; when it has ended, so has the binding. */
    engine_host.op_done(fixture_handle(&f), held_op, BERTH_SUCCESS, BERTH_STR(""));
    engine_tick(f.engine);
    assert_null(fixture_binding(&f, "low"));
    assert_told(&f, "low", "SchedulerError", "preempted by DefaultPreemption");
    fixture_release(&f);
    registry_release(&registry);
}

static bool forgotten;

static void forget_op(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      berth_op op)
{
    (void)self, (void)cycle, (void)pod;
    assert_ptr_equal(op, held_op);
    forgotten = true;
}

static void a_pre_bind_that_can_be_cancelled_makes_room_at_once(void **state)
{
    (void)state;
    struct fixture f;
    struct registry registry;
    cancel = forget_op;
    begin_held(&f, &registry, AT(PRE_BIND), PUPPET_PRE_BIND, BERTH_ASYNC);
    cancel = NULL;
    engine_tick(f.engine);
    assert_true(forgotten);
    assert_told(&f, "low", "SchedulerError", "preempted by DefaultPreemption");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "high"), "n0");
    fixture_release(&f);
    registry_release(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_important_pod_makes_room),
        cmocka_unit_test(some_pods_never_preempt),
        cmocka_unit_test(victims_that_take_their_time_are_waited_for),
        cmocka_unit_test(a_nomination_counts_before_it_is_written),
        cmocka_unit_test(the_rules_decide_in_their_order),
        cmocka_unit_test(budgets_are_spared_first),
        cmocka_unit_test(few_nodes_are_enough),
        cmocka_unit_test(the_last_victim_comes_after_the_others),
        cmocka_unit_test(a_victim_that_stays_brings_the_preemptor_back),
        cmocka_unit_test(lower_nominations_are_removed_first),
        cmocka_unit_test(a_terminating_victim_is_not_evicted_again),
        cmocka_unit_test(an_attempt_may_wait_for_its_victims),
        cmocka_unit_test(an_attempt_that_waits_ends_with_its_pod),
        cmocka_unit_test(extenders_may_change_the_victims),
        cmocka_unit_test(no_eviction_once_the_nominated_node_has_room),
        cmocka_unit_test(extenders_may_be_wrong),
        cmocka_unit_test(a_pod_that_waits_goes_back_to_the_queue),
        cmocka_unit_test(a_pod_in_pre_bind_is_not_bound),
        cmocka_unit_test(a_pre_bind_that_can_be_cancelled_makes_room_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
