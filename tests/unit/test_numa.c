/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourceTopologyMatch: alignment, scores, and the cache that counts pods which the exporters
 * of topologies have not seen. tests/sigs compares filters and scores with scheduler-plugins.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "plugin_trial.h"
#include "plugins/sigs/pod_fingerprint.h"

#define MATCH "NodeResourceTopologyMatch"

#define CONFIG(args)                                            \
    "apiVersion: kubescheduler.config.k8s.io/v1\n"              \
    "kind: KubeSchedulerConfiguration\n"                        \
    "profiles:\n"                                               \
    "- plugins: {multiPoint: {enabled: [{name: " MATCH "}]}}\n" \
    "  pluginConfig: [{name: " MATCH ", args: {" args "}}]\n"

static const char passthrough[] = CONFIG("");
static const char over_reserve[] = CONFIG("cacheResyncPeriodSeconds: 5");
static const char discard[] = CONFIG("discardReservedNodes: true, cacheResyncPeriodSeconds: 5");

#define ATTRIBUTE(name, value) "{'name':'" name "','value':'" value "'}"
#define SINGLE                 ATTRIBUTE("topologyManagerPolicy", "single-numa-node")
#define POD_SCOPE              SINGLE "," ATTRIBUTE("topologyManagerScope", "pod")
#define ZONE(id, resources)    "{'name':'node-" #id "','type':'Node','resources':[" resources "]}"
#define HAS(name, amount)      "{'name':'" name "','available':'" amount "'}"
#define TWO_ZONES(cpu)                                                                \
    ZONE(0, HAS("cpu", cpu) "," HAS("memory", "8Gi") "," HAS("example.com/gpu", "1")) \
    "," ZONE(1, HAS("cpu", cpu) "," HAS("memory", "8Gi"))

static struct object *topology(const char *attributes, const char *zones)
{
    const struct kind *kind =
        kind_find(STR("topology.node.k8s.io/v1alpha2"), STR("NodeResourceTopology"));
    assert_non_null(kind);
    return object_jsonf(kind->id,
                        "{'apiVersion':'topology.node.k8s.io/v1alpha2','kind':'"
                        "NodeResourceTopology','metadata':{'name':'n'},'attributes':[%s],"
                        "'zones':[%s]}",
                        attributes, zones);
}

static void begin(struct fixture *f, const char *config)
{
    fixture_init(f, config, NULL);
    ADD_NODE(f, .name = "n",
             .status = "'allocatable':{'cpu':'64','memory':'64Gi','pods':'100',"
                       "'example.com/gpu':'8','example.com/nic':'8'}");
}

#define SAME(r) "{'resources':{'requests':{" r "},'limits':{" r "}}}"
#define CPUS(n) SAME("'cpu':'" #n "','memory':'1Gi'")

static struct object *pod_of(const char *containers)
{
    return POD(.name = "p", .spec = textf("'containers':[%s]", containers));
}

/* The reasons of Filter; "" if the pod passes. */
static const char *refusal(struct fixture *f, struct object *pod)
{
    struct trial t;
    trial_begin(&t, f, MATCH, pod);
    const char *text = trial_filter(&t, "n") == BERTH_SUCCESS ? "" : textf("%s", t.text);
    trial_end(&t);
    return text;
}

/* --- alignment -------------------------------------------------------------------------------- */

static void pods_are_aligned_as_the_kubelet_does(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *containers, *want;
    } rows[] = {
        {SINGLE, CPUS(4), ""},
        {SINGLE, CPUS(5), "cannot align container"},
        {"", CPUS(5), ""},
        {ATTRIBUTE("topologyManagerPolicy", "restricted"), CPUS(5), ""},
        /* One container per zone, but not two in one. */
        {SINGLE, CPUS(3) "," CPUS(3), ""},
        {SINGLE, CPUS(3) "," CPUS(3) "," CPUS(3), "cannot align container"},
        {POD_SCOPE, CPUS(2) "," CPUS(2), ""},
        {POD_SCOPE, CPUS(3) "," CPUS(3), "cannot align pod"},
        /* Only a Guaranteed pod needs its cpus in one zone. */
        {SINGLE, "{'resources':{'requests':{'cpu':'5'}}}", ""},
        {SINGLE, "{'resources':{'requests':{'example.com/gpu':'2'}}}", "cannot align container"},
        {SINGLE, "{'resources':{'requests':{'example.com/gpu':'1'}}}", ""},
        /* No zone has it, the node has. */
        {SINGLE, "{'resources':{'requests':{'example.com/nic':'1'}}}", ""},
        {SINGLE, "{'resources':{'requests':{'example.com/other':'1'}}}", "cannot align container"},
        /* The gpu is in zone 0, which has not enough memory for both. */
        {SINGLE, SAME("'cpu':'1','memory':'7Gi'") "," SAME("'cpu':'1','memory':'7Gi'"), ""},
        {SINGLE,
         SAME("'cpu':'1','memory':'7Gi'") "," SAME(
             "'cpu':'1','memory':'7Gi','example.com/gpu':'1'"),
         "cannot align container"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, passthrough);
        fixture_add(&f, topology(rows[i].attributes, TWO_ZONES("4")));
        const char *got = refusal(&f, pod_of(rows[i].containers));
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("row %zu: %s", i, got);
        fixture_release(&f);
    }
}

static struct object *pod_with_init(const char *init)
{
    return POD(.name = "p",
               .spec = textf("'containers':[%s,%s],'initContainers':[%s]", CPUS(4), CPUS(4), init));
}

static void init_containers_give_back_what_they_use(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, passthrough);
    fixture_add(&f, topology(SINGLE, TWO_ZONES("4")));
    assert_string_equal(refusal(&f, pod_with_init(CPUS(4))), "");
    assert_string_equal(refusal(&f, pod_with_init(CPUS(5))), "cannot align init container");
    assert_string_equal(
        refusal(&f, pod_with_init("{'restartPolicy':'Always','resources':{'requests':{'cpu':'5',"
                                  "'memory':'1'},'limits':{'cpu':'5','memory':'1'}}}")),
        "cannot align sidecar container");
    fixture_release(&f);
}

/* Exporters may write anything. */
static void odd_topologies_are_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *zones, *want;
    } rows[] = {
        {"", "cannot align container"},
        {"7,null,{}", "cannot align container"},
        {ZONE(64, HAS("cpu", "9")), "cannot align container"},
        {ZONE(63, HAS("cpu", "9") "," HAS("memory", "9Gi")), ""},
        {ZONE(-1, HAS("cpu", "9")), "cannot align container"},
        {"{'name':'numa-node-0','type':'Node','resources':[" HAS("cpu", "9") "]}",
         "cannot align container"},
        {"{'name':'node-0','type':'Socket','resources':[" HAS("cpu", "9") "]}",
         "cannot align container"},
        {ZONE(0, HAS("cpu", "x") "," HAS("memory", "9Gi")), "cannot align container"},
        {ZONE(0, "{'name':'cpu','available':9}," HAS("memory", "9Gi")), ""},
        {"{'name':'node-0','type':'Node','costs':7,'resources':{}}", "cannot align container"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, passthrough);
        fixture_add(&f, topology(SINGLE, rows[i].zones));
        const char *got = refusal(&f, pod_of(CPUS(1)));
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: %s", rows[i].zones, got);
        (void)trial_score_of(&f, MATCH, pod_of(CPUS(1)), "n");
        fixture_release(&f);
    }
}

/* --- scores ----------------------------------------------------------------------------------- */

#define FAR(id, a, b)                                                            \
    "{'name':'node-" #id "','type':'Node','costs':[{'name':'node-0','value':" #a \
    "},{'name':'node-1','value':" #b                                             \
    "}],'resources':[" HAS("cpu", "4") "," HAS("memory", "8Gi") "]}"

static void scores_of_the_strategies(void **state)
{
    (void)state;
    static const struct {
        const char *strategy, *attributes, *containers;
        int64_t want;
    } rows[] = {
        /* cpu 1 of 4, memory 1 of 8 Gi */
        {"LeastAllocated", SINGLE, CPUS(1), (75 + 87) / 2},
        {"MostAllocated", SINGLE, CPUS(1), (25 + 12) / 2},
        {"BalancedAllocation", SINGLE, CPUS(1), 99},
        {"LeastAllocated", SINGLE, CPUS(1) "," CPUS(3), (81 + 56) / 2},
        {"LeastAllocated", POD_SCOPE, CPUS(1) "," CPUS(3), (0 + 75) / 2},
        {"LeastAllocated", "", CPUS(1), 0},
        {"LeastAllocated", SINGLE, "{'resources':{'requests':{'cpu':'1'}}}", 100},
        /* One zone of eight: 100 - 12 + 6; two: 100 - 24 + 6 */
        {"LeastNUMANodes", "", CPUS(4), 94},
        {"LeastNUMANodes", "", CPUS(5), 82},
        {"LeastNUMANodes", "", CPUS(9), 0},
        {"LeastNUMANodes", "", CPUS(3) "," CPUS(2), 94},
        {"LeastNUMANodes", "", CPUS(3) "," CPUS(3) "," CPUS(2), 82},
        {"LeastNUMANodes", ATTRIBUTE("topologyManagerMaxNUMANodes", "2"), CPUS(5), 25},
        {"LeastNUMANodes", ATTRIBUTE("topologyManagerScope", "pod"), CPUS(3) "," CPUS(2), 82},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, textf(CONFIG("scoringStrategy: {type: %s}"), rows[i].strategy));
        fixture_add(&f, topology(rows[i].attributes, FAR(0, 10, 20) "," FAR(1, 20, 10)));
        int64_t got = trial_score_of(&f, MATCH, pod_of(rows[i].containers), "n");
        if (got != rows[i].want)
            fail_msg("row %zu: %d", i, (int)got);
        fixture_release(&f);
    }
}

/* --- caches ----------------------------------------------------------------------------------- */

static void fingerprints_are_those_of_exporters(void **state)
{
    (void)state;
    static const struct {
        const char *pods[6][2], *want;
    } rows[] = {
        {{{0}}, "pfp0v001ef46db3751d8e999"},
        {{{"default", "a"}}, "pfp0v00173ac1f6debaedf3d"},
        {{{"default", "a"}, {"kube-system", "a-very-long-name-of-a-pod-beyond-thirty-two-bytes"}},
         "pfp0v001d97f7b2992363fe9"},
        {{{"n3", "p5"}, {"n1", "p1"}, {"n2", "p4"}, {"n1", "p2"}, {"n2", "p3"}},
         "pfp0v0014047e22aec2cc29b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod_fingerprint p = {0};
        for (size_t k = 0; rows[i].pods[k][0]; k++)
            pod_fingerprint_add(&p, str_of(rows[i].pods[k][0]), str_of(rows[i].pods[k][1]));
        assert_true(pod_fingerprint_is(&p, str_of(rows[i].want)));
        assert_false(pod_fingerprint_is(&p, STR("pfp0v0010000000000000000")));
        assert_false(pod_fingerprint_is(&p, STR("")));
        pod_fingerprint_release(&p);
    }
}

#define PRINT(text)  SINGLE "," ATTRIBUTE("nodeTopologyPodsFingerprint", text)
#define NO_PODS      "pfp0v001ef46db3751d8e999"
#define POD_A        "pfp0v00173ac1f6debaedf3d" /* default/a */
#define GUARANTEED_4 "'containers':[" CPUS(4) "]"

static struct object *running_a(const char *phase)
{
    return POD(.name = "a", .uid = "a", .node = "n", .spec = GUARANTEED_4,
               .status = textf("'phase':'%s'", phase));
}

/* Binds pod a, which takes 4 of the 6 cpus of some zone. */
static void bind_a(struct fixture *f)
{
    ADD_POD(f, .name = "a", .uid = "a", .spec = GUARANTEED_4, .status = "'phase':'Pending'");
    fixture_settle(f);
    assert_string_equal(fixture_node_of(f, "a"), "n");
}

static void pods_count_in_every_zone_until_the_exporter_saw_them(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, over_reserve);
    struct object *before = topology(PRINT(NO_PODS), TWO_ZONES("6"));
    fixture_add(&f, object_ref(before));
    bind_a(&f);
    assert_string_equal(refusal(&f, pod_of(CPUS(4))), "cannot align container");
    assert_string_equal(refusal(&f, pod_of(CPUS(2))), "");
    /* The pod runs; an object that does not count it yet changes nothing. */
    fixture_update(&f, running_a("Pending"), running_a("Running"));
    fixture_pass(&f, 5 * NSEC_PER_SEC);
    assert_string_equal(refusal(&f, pod_of(CPUS(4))), "cannot align container");
    struct object *after =
        topology(PRINT(POD_A), ZONE(0, HAS("cpu", "2") "," HAS("memory", "7Gi")) "," ZONE(
                                   1, HAS("cpu", "6") "," HAS("memory", "8Gi")));
    fixture_update(&f, before, object_ref(after));
    assert_string_equal(refusal(&f, pod_of(CPUS(4))), "");
    assert_string_equal(refusal(&f, pod_of(CPUS(7))), "cannot align container");
    object_unref(after);
    fixture_release(&f);
}

/* The object comes before the pod is seen to run: the timer finds that they agree. */
static void a_late_match_is_found_by_the_timer(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, over_reserve);
    struct object *before = topology(PRINT(NO_PODS), TWO_ZONES("6"));
    fixture_add(&f, object_ref(before));
    bind_a(&f);
    fixture_update(&f, before, topology(PRINT(POD_A), TWO_ZONES("9")));
    assert_string_equal(refusal(&f, pod_of(CPUS(4))), "cannot align container");
    fixture_update(&f, running_a("Pending"), running_a("Running"));
    fixture_pass(&f, 5 * NSEC_PER_SEC);
    assert_string_equal(refusal(&f, pod_of(CPUS(9))), "");
    fixture_release(&f);
}

static void pods_that_go_are_not_counted(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, over_reserve);
    fixture_add(&f, topology(PRINT(NO_PODS), TWO_ZONES("6")));
    bind_a(&f);
    assert_string_equal(refusal(&f, pod_of(CPUS(6))), "cannot align container");
    fixture_delete(&f, running_a("Running"));
    assert_string_equal(refusal(&f, pod_of(CPUS(6))), "");
    /* A binding that fails. */
    ADD_POD(&f, .name = "b", .uid = "b", .spec = GUARANTEED_4);
    fixture_schedule(&f);
    assert_string_equal(refusal(&f, pod_of(CPUS(6))), "cannot align container");
    fixture_answer(&f, fixture_binding(&f, "b"), 500, "no");
    assert_string_equal(refusal(&f, pod_of(CPUS(6))), "");
    fixture_release(&f);
}

static void nodes_with_foreign_pods_wait_for_the_exporter(void **state)
{
    (void)state;
    static const struct {
        const char *config, *spec, *want;
    } rows[] = {
        {over_reserve, "'schedulerName':'other'", "invalid node topology data"},
        {over_reserve, "", ""},
        {passthrough, "'schedulerName':'other'", ""},
        {CONFIG("cacheResyncPeriodSeconds: 5, cache: {foreignPodsDetect: None}"),
         "'schedulerName':'other'", ""},
        {CONFIG("cacheResyncPeriodSeconds: 5, cache: {foreignPodsDetect: OnlyExclusiveResources}"),
         "'schedulerName':'other'", ""},
        {CONFIG("cacheResyncPeriodSeconds: 5, cache: {foreignPodsDetect: OnlyExclusiveResources}"),
         "'schedulerName':'other'," GUARANTEED_4, "invalid node topology data"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, rows[i].config);
        struct object *before = topology(PRINT(NO_PODS), TWO_ZONES("6"));
        fixture_add(&f, object_ref(before));
        struct object *pod = POD(.name = "a", .uid = "a", .node = "n", .spec = rows[i].spec,
                                 .status = "'phase':'Running'");
        fixture_add(&f, object_ref(pod));
        const char *got = refusal(&f, pod_of(CPUS(1)));
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("row %zu: %s", i, got);
        fixture_update(&f, object_ref(before), topology(PRINT(POD_A), TWO_ZONES("6")));
        assert_string_equal(refusal(&f, pod_of(CPUS(1))), "");
        /* When the last pod is gone, the node must not stay blocked. */
        fixture_delete(&f, pod);
        fixture_update(&f, topology(PRINT(POD_A), TWO_ZONES("6")), before);
        fixture_pass(&f, 5 * NSEC_PER_SEC);
        assert_string_equal(refusal(&f, pod_of(CPUS(1))), "");
        fixture_release(&f);
    }
}

static void a_reload_keeps_what_is_reserved(void **state)
{
    (void)state;
    struct fixture f;
    struct reload_result result;
    struct err err;
    begin(&f, over_reserve);
    fixture_add(&f, topology(PRINT(NO_PODS), TWO_ZONES("6")));
    bind_a(&f);
    assert_int_equal(
        fixture_reload(&f, &(struct fixture_reload){.config = over_reserve}, &result, &err), 0);
    assert_string_equal(refusal(&f, pod_of(CPUS(4))), "cannot align container");
    fixture_release(&f);
}

static void changed_settings_count_at_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, over_reserve);
    struct object *before = topology(PRINT(NO_PODS), TWO_ZONES("6"));
    fixture_add(&f, object_ref(before));
    bind_a(&f);
    fixture_update(&f, before,
                   topology(ATTRIBUTE("topologyManagerPolicy", "none"), TWO_ZONES("6")));
    assert_string_equal(refusal(&f, pod_of(CPUS(6))), "");
    fixture_release(&f);
}

static void nodes_with_bindings_under_way_are_discarded(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, discard);
    fixture_add(&f, topology(SINGLE, TWO_ZONES("6")));
    ADD_POD(&f, .name = "a", .uid = "a", .spec = GUARANTEED_4);
    fixture_schedule(&f);
    assert_string_equal(refusal(&f, pod_of(CPUS(1))), "invalid node topology data");
    fixture_answer(&f, fixture_binding(&f, "a"), 201, "");
    assert_string_equal(refusal(&f, pod_of(CPUS(6))), "");
    fixture_release(&f);
}

static void topologies_come_and_go(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, over_reserve);
    assert_string_equal(refusal(&f, pod_of(CPUS(60))), "");
    struct object *t = topology(SINGLE, TWO_ZONES("6"));
    fixture_add(&f, object_ref(t));
    assert_string_equal(refusal(&f, pod_of(CPUS(60))), "cannot align container");
    fixture_delete(&f, t);
    assert_string_equal(refusal(&f, pod_of(CPUS(60))), "");
    assert_true(trial_is_told(&f, MATCH, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD));
    fixture_release(&f);
}

/* --- arguments -------------------------------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *args, *error;
    } rows[] = {
        {"{}", ""},
        {"{'scoringStrategy':{'type':'LeastNUMANodes'},'cache':{'resyncScope':'OnlyResources'}}",
         ""},
        {"{'scoringStrategy':{}}",
         "scoringStrategy.type: Invalid value: \"\": invalid ScoringStrategyType"},
        {"{'scoringStrategy':{'type':'Best'}}", "invalid ScoringStrategyType"},
        {"{'cache':{'resyncMethod':'Some'}}", "cache.resyncMethod: Unsupported value: \"Some\""},
        {"{'cache':{'informerMode':''}}", "cache.informerMode: Unsupported value"},
        {"{'cacheResyncPeriodSeconds':'5'}", "cacheResyncPeriodSeconds"},
        {"{'resync':5}", "unknown field"},
    };
    struct fixture f;
    begin(&f, passthrough);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct berth_error error;
        const char *got = trial_args_error(&f, MATCH, rows[i].args, &error);
        if (*rows[i].error ? !strstr(got, rows[i].error) : *got)
            fail_msg("%s: got %s, want %s", rows[i].args, got, rows[i].error);
    }
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_are_aligned_as_the_kubelet_does),
        cmocka_unit_test(init_containers_give_back_what_they_use),
        cmocka_unit_test(odd_topologies_are_harmless),
        cmocka_unit_test(scores_of_the_strategies),
        cmocka_unit_test(fingerprints_are_those_of_exporters),
        cmocka_unit_test(pods_count_in_every_zone_until_the_exporter_saw_them),
        cmocka_unit_test(a_late_match_is_found_by_the_timer),
        cmocka_unit_test(pods_that_go_are_not_counted),
        cmocka_unit_test(nodes_with_foreign_pods_wait_for_the_exporter),
        cmocka_unit_test(a_reload_keeps_what_is_reserved),
        cmocka_unit_test(changed_settings_count_at_once),
        cmocka_unit_test(nodes_with_bindings_under_way_are_discarded),
        cmocka_unit_test(topologies_come_and_go),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
