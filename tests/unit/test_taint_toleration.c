/* SPDX-License-Identifier: Apache-2.0 */
/* TaintToleration: who is kept away, whom it costs points, which changes help. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/framework/signature.h"
#include "node_random.h"
#include "plugin_trial.h"
#include "prop.h"

#define PLUGIN "TaintToleration"

static struct object *node(const char *taints)
{
    return fixture_object(KIND_NODE, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[%s]}}",
                          taints);
}

static struct object *pod(const char *tolerations)
{
    return fixture_object(KIND_POD,
                          "{\"metadata\":{\"name\":\"p\",\"uid\":\"p\"},\"spec\":{\"tolerations\":["
                          "%s]}}",
                          tolerations);
}

static void only_taints_that_bar_are_filtered_by(void **state)
{
    (void)state;
    static const struct {
        const char *taints, *tolerations;
        bool passes;
    } cases[] = {
        {"", "", true},
        {"{\"key\":\"k\",\"effect\":\"NoSchedule\"}", "", false},
        {"{\"key\":\"k\",\"effect\":\"NoExecute\"}", "", false},
        {"{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}", "", true},
        {"{\"key\":\"k\",\"effect\":\"NoSchedule\"}", "{\"key\":\"k\",\"operator\":\"Exists\"}",
         true},
        {"{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}",
         "{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoExecute\"}", false},
        {"{\"key\":\"k\",\"effect\":\"NoSchedule\"},{\"key\":\"l\",\"effect\":\"NoExecute\"}",
         "{\"key\":\"k\"}", false},
        {"{\"key\":\"k\",\"effect\":\"NoSchedule\"},{\"key\":\"l\",\"effect\":\"NoExecute\"}",
         "{\"operator\":\"Exists\"}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct trial t;
        fixture_init(&f, NULL, NULL);
        fixture_add(&f, node(cases[i].taints));
        trial_begin(&t, &f, PLUGIN, pod(cases[i].tolerations));
        assert_int_equal(trial_filter(&t, "n"),
                         cases[i].passes ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
        assert_string_equal(t.text, cases[i].passes ? "" : "node(s) had untolerated taint(s)");
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
        fixture_release(&f);
    }
}

static void comparison_waits_for_its_gate(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, node("{\"key\":\"k\",\"value\":\"5\",\"effect\":\"NoSchedule\"}"));
    trial_begin(&t, &f, PLUGIN, pod("{\"key\":\"k\",\"operator\":\"Gt\",\"value\":\"4\"}"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    trial_end(&t);
    /* As if the engine had been made with the gate on. */
    f.engine->framework.features.on[FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS] = true;
    struct berth_handle *h = trial_instance(&f, PLUGIN);
    struct berth_error error;
    h->plugin->destroy(h->self);
    assert_int_equal(h->plugin->create(&engine_host, h, BERTH_STR(""), &h->self, &error), 0);
    trial_begin(&t, &f, PLUGIN, pod("{\"key\":\"k\",\"operator\":\"Gt\",\"value\":\"4\"}"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_SUCCESS);
    trial_end(&t);
    trial_begin(&t, &f, PLUGIN, pod("{\"key\":\"k\",\"operator\":\"Lt\",\"value\":\"5\"}"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    trial_end(&t);
    fixture_release(&f);
}

static void scores_count_what_is_not_tolerated(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, node("{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"},{\"key\":\"l\","
                         "\"effect\":\"PreferNoSchedule\"},{\"key\":\"m\",\"effect\":"
                         "\"NoSchedule\"}"));
    assert_int_equal(trial_score_of(&f, PLUGIN, pod(""), "n"), 2);
    assert_int_equal(trial_score_of(&f, PLUGIN, pod("{\"key\":\"k\"}"), "n"), 1);
    assert_int_equal(trial_score_of(&f, PLUGIN, pod("{\"operator\":\"Exists\"}"), "n"), 0);
    assert_int_equal(trial_score_of(&f, PLUGIN,
                                    pod("{\"operator\":\"Exists\",\"effect\":"
                                        "\"NoSchedule\"}"),
                                    "n"),
                     2);
    fixture_release(&f);
}

static void fewer_taints_are_better(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    const struct berth_handle *h = trial_instance(&f, PLUGIN);
    int64_t scores[] = {0, 1, 3, 2}, all_equal[] = {0, 0};
    h->plugin->normalize(h->self, NULL, NULL, NULL, scores, 4, NULL);
    h->plugin->normalize(h->self, NULL, NULL, NULL, all_equal, 2, NULL);
    assert_int_equal(scores[0], 100);
    assert_int_equal(scores[1], 67);
    assert_int_equal(scores[2], 0);
    assert_int_equal(scores[3], 34);
    assert_int_equal(all_equal[0], 100);
    assert_int_equal(all_equal[1], 100);
    fixture_release(&f);
}

static void score_without_prescore_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    int64_t score;
    struct buf text = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    fixture_add(&f, node(""));
    trial_begin(&t, &f, PLUGIN, pod(""));
    struct berth_cycle *fresh =
        cycle_new(&f.engine->cycles, f.engine->framework.setup->profiles.v[0]);
    status_clear(&f.engine->cycles.status);
    assert_int_equal(t.handle->plugin->score(t.handle->self, fresh, t.pod,
                                             cache_node(&f.engine->cache, STR("n")), &score,
                                             &f.engine->cycles.status),
                     BERTH_ERROR);
    status_write(&f.engine->cycles.status, &f.engine->framework.reasons, &text);
    assert_string_equal(buf_cstr(&text),
                        "failed to read \"PreScoreTaintToleration\" from cycleState: not found");
    buf_release(&text);
    cycle_free(fresh);
    trial_end(&t);
    fixture_release(&f);
}

#define BARS   "{\"key\":\"k\",\"effect\":\"NoSchedule\"}"
#define PREFER "{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}"

static void hints(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* taints of the node; NULL: there is none */
        enum berth_hint hint;
    } cases[] = {
        {NULL, "", BERTH_QUEUE},      {NULL, BARS, BERTH_QUEUE_SKIP},
        {BARS, "", BERTH_QUEUE},      {BARS, PREFER, BERTH_QUEUE},
        {"", "", BERTH_QUEUE_SKIP},   {PREFER, "", BERTH_QUEUE_SKIP},
        {"", BARS, BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial_change change = {
            BERTH_RESOURCE_NODE,
            cases[i].before ? BERTH_ACTION_UPDATE_NODE_TAINT : BERTH_ACTION_ADD,
            cases[i].before ? node(cases[i].before) : NULL, node(cases[i].after)};
        assert_int_equal(trial_hint(&f, PLUGIN, pod(""), change), cases[i].hint);
    }
    struct trial_change own = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION, pod(""),
                               pod("{\"key\":\"k\"}")};
    assert_int_equal(trial_hint(&f, PLUGIN, pod(""), own), BERTH_QUEUE);
    struct trial_change other = {BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION,
                                 fixture_pod("q", "1", "1"), fixture_pod("q", "1", "1")};
    assert_int_equal(trial_hint(&f, PLUGIN, pod(""), other), BERTH_QUEUE_SKIP);
    assert_false(trial_is_told(&f, PLUGIN, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL));
    fixture_release(&f);
}

static void sign_into(struct fixture *f, struct object *o, struct buf *out)
{
    const struct berth_handle *h = trial_instance(f, PLUGIN);
    struct berth_pod *p = pod_info_new(o, &f->engine->names);
    struct berth_signature s = {out};
    assert_int_equal(h->plugin->sign(h->self, p, &s), BERTH_SUCCESS);
    pod_info_unref(p);
    object_unref(o);
}

static void the_signature_tells_tolerations_apart(void **state)
{
    (void)state;
    struct fixture f;
    struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
    fixture_init(&f, NULL, NULL);
    sign_into(&f, pod("{\"key\":\"ab\",\"value\":\"c\"}"), &a);
    sign_into(&f, pod("{\"key\":\"a\",\"value\":\"bc\"}"), &b);
    sign_into(&f, pod("{\"key\":\"ab\",\"value\":\"c\",\"tolerationSeconds\":3}"), &c);
    assert_false(str_eq(buf_str(&a), buf_str(&b)));
    assert_true(str_eq(buf_str(&a), buf_str(&c)));
    buf_release(&a);
    buf_release(&b);
    buf_release(&c);
    fixture_release(&f);
}

static void the_batch_says_what_the_single_form_says(void **state)
{
    (void)state;
    struct node_random_plugin plugin = {PLUGIN, NULL};
    assert_true(prop_run(PLUGIN ": batch and single form", 300, node_random_agree, &plugin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_taints_that_bar_are_filtered_by),
        cmocka_unit_test(comparison_waits_for_its_gate),
        cmocka_unit_test(scores_count_what_is_not_tolerated),
        cmocka_unit_test(fewer_taints_are_better),
        cmocka_unit_test(score_without_prescore_is_an_error),
        cmocka_unit_test(hints),
        cmocka_unit_test(the_signature_tells_tolerations_apart),
        cmocka_unit_test(the_batch_says_what_the_single_form_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
