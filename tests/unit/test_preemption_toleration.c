/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PreemptionToleration. tests/sigs compares it with the original on random clusters; these are the
 * rules one by one, and what berth does differently.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine_fixture.h"
#include "plugin_trial.h"
#include "plugins/sigs/tolerations.h"

static const char config[] = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                             "kind: KubeSchedulerConfiguration\n"
                             "profiles:\n"
                             "- plugins:\n"
                             "    postFilter:\n"
                             "      disabled: [{name: '*'}]\n"
                             "      enabled: [{name: PreemptionToleration}]\n";

#define NOW 1000000 /* s since 1970 */

static struct object *class_of(const char *name, const char *min, const char *seconds)
{
    struct buf text = BUF_INIT;
    if (min)
        buf_add_printf(&text, "'" TOLERATION_MIN_PRIORITY "':'%s'", min);
    if (seconds)
        buf_add_printf(&text, "%s'" TOLERATION_SECONDS "':'%s'", min ? "," : "", seconds);
    struct object *o =
        object_jsonf(KIND_PRIORITY_CLASS, "{'value':5,'metadata':{'name':'%s','annotations':{%s}}}",
                     name, buf_cstr(&text));
    buf_release(&text);
    return o;
}

/* --- the policy ------------------------------------------------------------------------------- */

static const char *at(int64_t sec)
{
    struct buf text = BUF_INIT;
    timestamp_format((struct timestamp){sec, 0, true}, 0, &text);
    const char *result = textf("%s", buf_cstr(&text));
    buf_release(&text);
    return result;
}

#define SCHEDULED "'conditions':[{'type':'PodScheduled','status':'True','lastTransitionTime':'%s'}]"

static void who_tolerates_whom(void **state)
{
    (void)state;
    const char *recent = textf(SCHEDULED, at(NOW - 99)), *old = textf(SCHEDULED, at(NOW - 100));
    const struct {
        const char *min, *seconds, *status;
        int32_t priority; /* of the preemptor */
        enum tolerance want;
    } rows[] = {
        /* Without annotations: as without the plugin. */
        {NULL, NULL, recent, 6, TOLERANCE_NONE},
        {NULL, NULL, recent, 5, TOLERANCE_NONE},
        {"10", NULL, recent, 9, TOLERANCE_NONE},
        {"10", "100", recent, 9, TOLERANCE_YES},
        {"10", "100", recent, 10, TOLERANCE_NONE},
        {"+10", "+100", recent, 9, TOLERANCE_YES},
        {"10", "100", old, 9, TOLERANCE_NONE},
        {"10", "101", old, 9, TOLERANCE_YES},
        {"10", "-1", old, 9, TOLERANCE_YES},
        /* Longer than a Go duration: upstream's wraps. */
        {"10", "9223372036854775807", old, 9, TOLERANCE_YES},
        {"10", "10000000000", old, 9, TOLERANCE_YES},
        /* Not scheduled, as far as the conditions tell. */
        {"10", "100", NULL, 9, TOLERANCE_YES},
        {"10", "100", "'conditions':[{'type':'PodScheduled','status':'False'}]", 9, TOLERANCE_YES},
        {"10", "100", "'conditions':[{'type':'PodScheduled','status':'True'}]", 9, TOLERANCE_NONE},
        /* Not numbers: no toleration at all. */
        {"ten", "100", recent, 9, TOLERANCE_NONE},
        {"10", "1h", recent, 9, TOLERANCE_NONE},
        {"10", "", recent, 9, TOLERANCE_NONE},
        {"10", "+-1", recent, 9, TOLERANCE_NONE},
        {"2147483648", "100", recent, 9, TOLERANCE_NONE},
        {"2147483647", "100", recent, 9, TOLERANCE_YES},
    };
    struct fixture f; /* for its log */
    fixture_init(&f, config, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct objects objects;
        struct tolerations t;
        struct object *class = class_of("c", rows[i].min, rows[i].seconds);
        struct object *pod =
            POD(.name = "p", .spec = "'priorityClassName':'c'", .status = rows[i].status);
        objects_init(&objects);
        objects_changed(&objects, NULL, class);
        tolerations_init(&t);
        tolerations_refresh(&t, &objects, &f.engine->framework.log);
        enum tolerance got = tolerations_judge(&t, object_pod(pod), rows[i].priority,
                                               (struct timestamp){NOW, 0, true});
        if (got != rows[i].want)
            fail_msg("row %zu: got %d, want %d", i, (int)got, (int)rows[i].want);
        tolerations_release(&t);
        objects_release(&objects);
        object_unref(class);
        object_unref(pod);
    }
    fixture_release(&f);
}

/* --- the plugin ------------------------------------------------------------------------------- */

static void begin(struct fixture *f)
{
    fixture_init(f, config, NULL);
    ADD_NODE(f, .name = "n0", .cpu = "4");
    ADD_NODE(f, .name = "n1", .cpu = "4");
    fixture_add(f, class_of("short", "100", "10"));
    fixture_add(f, class_of("plain", NULL, NULL));
}

static const char *message(struct fixture *f, const char *pod)
{
    return fixture_last(f, WRITE_POD_STATUS, pod)->message;
}

static void a_tolerant_pod_stays_until_its_time_is_over(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    const char *status = textf(SCHEDULED, at(f.now / NSEC_PER_SEC));
    ADD_POD(&f, .name = "a", .node = "n0", .priority = 1, .cpu = "4", .status = status,
            .spec = "'priorityClassName':'short'");
    ADD_POD(&f, .name = "b", .node = "n1", .priority = 2, .cpu = "4", .status = status,
            .spec = "'priorityClassName':'short'");
    ADD_POD(&f, .name = "high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_null(fixture_eviction(&f, "a"));
    /* No prefix, and each node by its name. */
    assert_string_equal(message(&f, "high"),
                        "0/2 nodes are available: 2 Insufficient cpu. 0/2 nodes are available: "
                        "1 No victims found on node n0 for preemptor pod high, "
                        "1 No victims found on node n1 for preemptor pod high.");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    ADD_POD(&f, .name = "later", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "a"));
    assert_null(fixture_eviction(&f, "b"));
    /* The attempt waits for the eviction: until then the pod is not nominated. */
    assert_null(fixture_last(&f, WRITE_POD_STATUS, "later"));
    fixture_answer(&f, fixture_eviction(&f, "a"), 200, "");
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "later")->node, "n0");
    fixture_release(&f);
}

static void a_class_that_does_not_exist_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ADD_POD(&f, .name = "a", .node = "n0", .priority = 1, .cpu = "4",
            .spec = "'priorityClassName':'gone'");
    ADD_POD(&f, .name = "b", .node = "n1", .priority = 99, .cpu = "4",
            .spec = "'priorityClassName':'gone'");
    ADD_POD(&f, .name = "high", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_string_equal(message(&f, "high"), "0/2 nodes are available: 2 Insufficient cpu. "
                                             "priorityclass.scheduling.k8s.io \"gone\" not found");
    /* Another node helps: the error does not matter. */
    ADD_NODE(&f, .name = "n2", .cpu = "4");
    ADD_POD(&f, .name = "c", .node = "n2", .priority = 8, .cpu = "4",
            .spec = "'priorityClassName':'plain'");
    ADD_POD(&f, .name = "next", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "c"));
    fixture_release(&f);
}

static void some_pods_never_preempt(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ADD_POD(&f, .name = "a", .node = "n0", .cpu = "4",
            .meta = "'deletionTimestamp':'2026-01-01T00:00:00Z'");
    ADD_POD(&f, .name = "b", .node = "n1", .cpu = "4");
    ADD_POD(&f, .name = "never", .priority = 9, .cpu = "4", .preemption_policy = "Never");
    ADD_POD(&f, .name = "waits", .priority = 9, .cpu = "4", .status = "'nominatedNodeName':'n0'");
    fixture_schedule(&f);
    assert_non_null(
        strstr(message(&f, "never"), "cpu. not eligible due to preemptionPolicy=Never."));
    assert_non_null(strstr(message(&f, "waits"), "cpu. not eligible due to a terminating pod on "
                                                 "the nominated node."));
    assert_null(fixture_eviction(&f, "b"));
    fixture_release(&f);
}

static void arguments_are_those_of_default_preemption(void **state)
{
    (void)state;
    struct fixture f;
    struct berth_error error;
    begin(&f);
    assert_string_equal(
        trial_args_error(&f, "PreemptionToleration", "{'minCandidateNodesPercentage':100}", &error),
        "");
    assert_non_null(strstr(
        trial_args_error(&f, "PreemptionToleration", "{'minCandidateNodesPercentage':101}", &error),
        "minCandidateNodesPercentage: Invalid value: 101: not in valid range"));
    fixture_release(&f);
}

/* The texts name nodes and pods; they must not fill the table of reasons. */
static void texts_are_not_kept(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ADD_POD(&f, .name = "a", .node = "n0", .priority = 99, .cpu = "4");
    ADD_POD(&f, .name = "b", .node = "n1", .priority = 99, .cpu = "4");
    ADD_POD(&f, .name = "first", .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    size_t before = f.engine->framework.reasons.entries.n;
    for (int i = 0; i < 20; i++)
        ADD_POD(&f, .name = textf("p%d", i), .priority = 9, .cpu = "4");
    fixture_schedule(&f);
    assert_non_null(strstr(message(&f, "p19"), "for preemptor pod p19"));
    assert_int_equal(f.engine->framework.reasons.entries.n, before);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_tolerates_whom),
        cmocka_unit_test(a_tolerant_pod_stays_until_its_time_is_over),
        cmocka_unit_test(a_class_that_does_not_exist_is_an_error),
        cmocka_unit_test(some_pods_never_preempt),
        cmocka_unit_test(arguments_are_those_of_default_preemption),
        cmocka_unit_test(texts_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
