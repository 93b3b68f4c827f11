/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NetworkOverhead and TopologicalSort: pods of an AppGroup. tests/sigs compares them with
 * scheduler-plugins on random groups and networks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"

#define OVERHEAD "NetworkOverhead"

static const char config[] =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n"
    "profiles:\n"
    "- plugins:\n"
    "    queueSort: {disabled: [{name: '*'}], enabled: [{name: TopologicalSort}]}\n"
    "    multiPoint: {enabled: [{name: " OVERHEAD "}]}\n"
    "  pluginConfig:\n"
    "  - {name: " OVERHEAD ", args: {namespaces: [none, apps]}}\n"
    "  - {name: TopologicalSort, args: {namespaces: [apps]}}\n";

static struct object *custom(const char *group, const char *kind_name, const char *rest)
{
    const struct kind *kind = kind_find(str_of(group), str_of(kind_name));
    assert_non_null(kind);
    return object_jsonf(kind->id, "{'apiVersion':'%s','kind':'%s',%s}", group, kind_name, rest);
}

static struct object *app_group(const char *spec)
{
    return custom("appgroup.diktyo.x-k8s.io/v1alpha1", "AppGroup",
                  textf("'metadata':{'name':'shop','namespace':'apps'},%s", spec));
}

#define COST(from, to, cost) \
    "{'origin':'" from "','costList':[{'destination':'" to "','networkCost':" #cost "}]}"

static struct object *network(void)
{
    return custom(
        "networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkTopology",
        "'metadata':{'name':'nt-default','namespace':'apps'},'spec':{'weights':["
        "{'name':'UserDefined','topologyList':["
        "{'topologyKey':'topology.kubernetes.io/zone','originList':[" COST(
            "z2", "z1", 5) "]},"
                           "{'topologyKey':'topology.kubernetes.io/region','originList':[" COST(
                               "r2", "r1", 30) "]}]}]}");
}

#define DEPENDS(on, max)        "{'workload':{'selector':'" on "'},'maxNetworkCost':" #max "}"
#define WORKLOAD(name, depends) "{'workload':{'selector':'" name "'},'dependencies':[" depends "]}"

static struct object *member(const char *name, const char *workload, const char *node)
{
    return POD(.name = name, .uid = name, .node = node,
               .labels = textf("appgroup.diktyo.x-k8s.io=shop,"
                               "appgroup.diktyo.x-k8s.io.workload=%s",
                               workload));
}

/* Nodes near and far from n1, on which two databases run. */
static void begin(struct fixture *f)
{
    static const struct {
        const char *name, *labels;
    } nodes[] = {
        {"n1", "topology.kubernetes.io/region=r1,topology.kubernetes.io/zone=z1"},
        {"same-zone", "topology.kubernetes.io/region=r1,topology.kubernetes.io/zone=z1"},
        {"zone", "topology.kubernetes.io/region=r1,topology.kubernetes.io/zone=z2"},
        {"region", "topology.kubernetes.io/region=r2,topology.kubernetes.io/zone=z3"},
        {"unknown", "topology.kubernetes.io/region=r9"},
        {"bare", NULL},
    };
    fixture_init(f, config, NULL);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        ADD_NODE(f, .name = nodes[i].name, .labels = nodes[i].labels);
    fixture_add(f, member("db1", "db", "n1"));
    fixture_add(f, member("db2", "db", "n1"));
    fixture_add(f, member("other", "other", "bare"));
}

struct expected {
    const char *node;
    enum berth_code code;
    int64_t cost;
};

static void check_verdicts(struct fixture *f, struct object *pod, const struct expected *rows,
                           size_t n)
{
    struct trial t;
    trial_begin(&t, f, OVERHEAD, pod);
    for (size_t i = 0; i < n; i++) {
        enum berth_code code = trial_filter(&t, rows[i].node);
        int64_t cost = trial_score(&t, rows[i].node);
        if (code != rows[i].code || cost != rows[i].cost)
            fail_msg("%s: %d, %d", rows[i].node, (int)code, (int)cost);
    }
    trial_end(&t);
}

static void nodes_cost_what_the_network_says(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"n1", BERTH_SUCCESS, 0},        {"same-zone", BERTH_SUCCESS, 2},
        {"zone", BERTH_SUCCESS, 10},     {"region", BERTH_UNSCHEDULABLE, 60},
        {"unknown", BERTH_SUCCESS, 200}, /* nothing is known: neither satisfied nor violated */
        {"bare", BERTH_SUCCESS, 200},
    };
    struct fixture f;
    begin(&f);
    fixture_add(&f, network());
    fixture_add(&f, app_group("'spec':{'workloads':[" WORKLOAD("web", DEPENDS("db", 5)) "]}"));
    check_verdicts(&f, member("web", "web", ""), rows, ARRAY_LEN(rows));
    struct trial t;
    trial_begin(&t, &f, OVERHEAD, member("web", "web", ""));
    assert_int_equal(trial_filter(&t, "region"), BERTH_UNSCHEDULABLE);
    assert_string_equal(t.text, "Node region does not meet several network requirements from "
                                "Workload dependencies: Satisfied: 0 Violated: 2");
    trial_end(&t);
    fixture_release(&f);
}

/* A node without zone and region is far from all others, but not from itself. */
static void pods_on_a_node_without_labels(void **state)
{
    (void)state;
    static const struct expected rows[] = {{"bare", BERTH_SUCCESS, 100},
                                           {"n1", BERTH_UNSCHEDULABLE, 200}};
    struct fixture f;
    begin(&f);
    ADD_NODE(&f, .name = "bare-too");
    fixture_add(&f, member("other2", "other", "bare-too"));
    fixture_add(&f, network());
    fixture_add(&f, app_group("'spec':{'workloads':[" WORKLOAD("web", DEPENDS("other", 5)) "]}"));
    check_verdicts(&f, member("web", "web", ""), rows, ARRAY_LEN(rows));
    struct trial t;
    trial_begin(&t, &f, OVERHEAD, member("web", "web", ""));
    assert_int_equal(trial_filter(&t, "zone"), BERTH_UNSCHEDULABLE);
    assert_non_null(strstr(t.text, "Satisfied: 0 Violated: 2"));
    trial_end(&t);
    fixture_release(&f);
}

/* Nothing to compare: all nodes are alike, and none is refused. */
static void pods_without_dependencies_may_go_anywhere(void **state)
{
    (void)state;
    static const struct expected rows[] = {{"n1", BERTH_SUCCESS, 0}, {"region", BERTH_SUCCESS, 0}};
    struct fixture f;
    begin(&f);
    check_verdicts(&f, member("web", "web", ""), rows, ARRAY_LEN(rows)); /* no objects */
    fixture_add(&f, app_group("'spec':{'workloads':[" WORKLOAD("web", DEPENDS("db", 20)) "]}"));
    check_verdicts(&f, member("web", "web", ""), rows, ARRAY_LEN(rows)); /* no network */
    fixture_add(&f, network());
    check_verdicts(&f, member("db3", "db", ""), rows, ARRAY_LEN(rows));
    check_verdicts(&f, POD(.name = "p"), rows, ARRAY_LEN(rows));
    fixture_release(&f);
}

static void pods_that_end_are_no_dependencies(void **state)
{
    (void)state;
    static const struct expected rows[] = {{"n1", BERTH_SUCCESS, 0}, {"region", BERTH_SUCCESS, 0}};
    struct fixture f;
    begin(&f);
    fixture_add(&f, network());
    fixture_add(&f, app_group("'spec':{'workloads':[" WORKLOAD("web", DEPENDS("db", 20)) "]}"));
    fixture_delete(&f, member("db1", "db", "n1"));
    fixture_update(&f, member("db2", "db", "n1"),
                   POD(.name = "db2", .uid = "db2", .node = "n1",
                       .labels = "appgroup.diktyo.x-k8s.io=shop,"
                                 "appgroup.diktyo.x-k8s.io.workload=db",
                       .status = "'phase':'Failed'"));
    check_verdicts(&f, member("web", "web", ""), rows, ARRAY_LEN(rows));
    fixture_release(&f);
}

static void odd_objects_are_harmless(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "'spec':7",
        "'spec':{'workloads':{}}",
        "'spec':{'workloads':[7,null,{'workload':{'selector':'web'},'dependencies':[1,{}]}]}",
        "'spec':{'workloads':[" WORKLOAD("web", DEPENDS("db", -1)) "]},'status':[]",
    };
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct fixture f;
        begin(&f);
        fixture_add(&f, network());
        fixture_add(&f, app_group(specs[i]));
        fixture_add(&f, member("web", "web", ""));
        fixture_settle(&f);
        assert_non_null(fixture_node_of(&f, "web"));
        fixture_release(&f);
    }
}

static void members_are_scheduled_in_the_order_of_the_group(void **state)
{
    (void)state;
    static const char *const workloads[] = {"c", "a", "b", "none"};
    struct fixture f;
    fixture_init(&f, config, NULL);
    fixture_add(&f, app_group("'status':{'topologyOrder':[{'workload':{'selector':'a'},'index':3},"
                              "{'workload':{'selector':'b'},'index':1},"
                              "{'workload':{'selector':'c'},'index':2}]}"));
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++) {
        fixture_add(&f, member(textf("pod-%s", workloads[i]), workloads[i], ""));
        f.now++;
    }
    ADD_POD(&f, .name = "alone", .priority = 5);
    ADD_NODE(&f, .name = "n", .pods = "10");
    fixture_settle(&f);
    static const char *const want[] = {"alone", "pod-none", "pod-b", "pod-c", "pod-a"};
    size_t n = 0;
    for (size_t i = 0; i < f.writes.n; i++) {
        if (f.writes.v[i].kind != WRITE_BINDING)
            continue;
        assert_true(n < ARRAY_LEN(want));
        assert_string_equal(object_meta(f.writes.v[i].pod)->name.p, want[n]);
        n++;
    }
    assert_int_equal(n, ARRAY_LEN(want));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_cost_what_the_network_says),
        cmocka_unit_test(pods_on_a_node_without_labels),
        cmocka_unit_test(pods_without_dependencies_may_go_anywhere),
        cmocka_unit_test(pods_that_end_are_no_dependencies),
        cmocka_unit_test(odd_objects_are_harmless),
        cmocka_unit_test(members_are_scheduled_in_the_order_of_the_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
