/* SPDX-License-Identifier: Apache-2.0 */
/* ServiceAffinity, which configurations up to 1.22 use. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"

#define SERVICE_AFFINITY "ServiceAffinity"
#define MISMATCH         "node(s) didn't match service affinity"

static void begin(struct fixture *f, const char *args)
{
    const char *config = textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
                               "kind: KubeSchedulerConfiguration\n"
                               "profiles:\n"
                               "- plugins: {multiPoint: {enabled: [{name: ServiceAffinity}]}}\n"
                               "  pluginConfig: [{name: ServiceAffinity, args: %s}]\n",
                               args);
    fixture_init(f, config, NULL);
}

/* Two regions of two zones each. */
static void add_nodes(struct fixture *f)
{
    ADD_NODE(f, .name = "r1a", .labels = "region=r1,zone=a");
    ADD_NODE(f, .name = "r1b", .labels = "region=r1,zone=b");
    ADD_NODE(f, .name = "r2c", .labels = "region=r2,zone=c");
    ADD_NODE(f, .name = "bare", .labels = "");
}

static void check(struct fixture *f, struct object *pod, const char *want)
{
    static const char *const nodes[] = {"r1a", "r1b", "r2c", "bare"};
    struct trial t;
    trial_begin(&t, f, SERVICE_AFFINITY, pod);
    assert_int_equal(t.pre_filter, BERTH_SUCCESS);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        enum berth_code code = trial_filter(&t, nodes[i]);
        assert_int_equal(code, want[i] == '.' ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE);
        assert_string_equal(t.text, want[i] == '.' ? "" : MISMATCH);
    }
    trial_end(&t);
}

static void pods_of_a_service_stay_together(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{affinityLabels: [region]}");
    add_nodes(&f);
    ADD_POD(&f, .name = "q", .labels = "app=web", .node = "r2c");
    /* Without a service there is no constraint. */
    check(&f, POD(.name = "p", .labels = "app=web"), "....");
    fixture_add(&f, SERVICE(.name = "s", .selector = "app=web"));
    check(&f, POD(.name = "p", .labels = "app=web"), "xx.x");
    /* The pod's own node selector has precedence. */
    check(&f, POD(.name = "p", .labels = "app=web", .node_selector = "region=r1"), "..xx");
    check(&f, POD(.name = "p", .namespace = "other", .labels = "app=web"), "....");
    fixture_release(&f);
}

static void without_labels_nothing_is_demanded(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{}");
    add_nodes(&f);
    fixture_add(&f, SERVICE(.name = "s", .selector = "app=web"));
    ADD_POD(&f, .name = "q", .labels = "app=web", .node = "r2c");
    check(&f, POD(.name = "p", .labels = "app=web"), "....");
    fixture_release(&f);
}

static void a_removed_pod_does_not_count(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, "{affinityLabels: [region]}");
    add_nodes(&f);
    fixture_add(&f, SERVICE(.name = "s", .selector = "app=web"));
    ADD_POD(&f, .name = "q", .labels = "app=web", .node = "r2c");
    trial_begin(&t, &f, SERVICE_AFFINITY, POD(.name = "p", .labels = "app=web"));
    const struct berth_plugin *p = t.handle->plugin;
    const struct berth_node *node = cache_node(&f.engine->cache, STR("r2c"));
    struct berth_pod *victim = node->pods.v[0];
    assert_int_equal(trial_filter(&t, "r1a"), BERTH_UNSCHEDULABLE);
    p->remove_pod(t.handle->self, t.cycle, t.pod, victim, node, &f.engine->cycles.status);
    assert_int_equal(trial_filter(&t, "r1a"), BERTH_SUCCESS);
    p->add_pod(t.handle->self, t.cycle, t.pod, victim, node, &f.engine->cycles.status);
    assert_int_equal(trial_filter(&t, "r1a"), BERTH_UNSCHEDULABLE);
    trial_end(&t);
    fixture_release(&f);
}

static void pods_are_spread_over_labels(void **state)
{
    (void)state;
    static const char *const nodes[] = {"r1a", "r1b", "r2c", "bare"};
    static const int64_t counts[] = {2, 1, 1, 0}, want[] = {37, 50, 75, 0};
    struct fixture f;
    struct trial t;
    int64_t scores[4];
    uint32_t slots[4];
    begin(&f, "{antiAffinityLabelsPreference: [region, zone]}");
    add_nodes(&f);
    fixture_add(&f, SERVICE(.name = "s", .selector = "app=web"));
    ADD_POD(&f, .name = "q1", .labels = "app=web", .node = "r1a");
    ADD_POD(&f, .name = "q2", .labels = "app=web", .node = "r1a");
    ADD_POD(&f, .name = "q3", .labels = "app=web", .node = "r1b");
    ADD_POD(&f, .name = "q4", .labels = "app=web", .node = "r2c");
    ADD_POD(&f, .name = "q5", .namespace = "other", .labels = "app=web", .node = "r2c");
    trial_begin(&t, &f, SERVICE_AFFINITY, POD(.name = "p", .labels = "app=web"));
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        scores[i] = trial_score(&t, nodes[i]);
        slots[i] = cache_node(&f.engine->cache, str_of(nodes[i]))->slot;
        assert_int_equal(scores[i], counts[i]);
    }
    t.handle->plugin->normalize(t.handle->self, t.cycle, t.pod, slots, scores, 4,
                                &f.engine->cycles.status);
    /* r1a: (100 * 1/4 + 100 * 2/4) / 2 = 37.5 */
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        assert_int_equal(scores[i], want[i]);
    trial_end(&t);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_of_a_service_stay_together),
        cmocka_unit_test(without_labels_nothing_is_demanded),
        cmocka_unit_test(a_removed_pod_does_not_count),
        cmocka_unit_test(pods_are_spread_over_labels),
    };
    return cmocka_run_group_tests_name("service_affinity", tests, NULL, NULL);
}
