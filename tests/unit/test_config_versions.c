/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older versions and Policy: their meaning in terms of v1. The results of their last releases for
 * many more of them are in test_old_configs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/config/config.h"
#include "objects.h"
#include "plugins/registry.h"

#define KIND   "\nkind: KubeSchedulerConfiguration\n"
#define BETA_1 "apiVersion: kubescheduler.config.k8s.io/v1beta1" KIND
#define BETA_2 "apiVersion: kubescheduler.config.k8s.io/v1beta2" KIND
#define BETA_3 "apiVersion: kubescheduler.config.k8s.io/v1beta3" KIND
#define POLICY "apiVersion: v1\nkind: Policy\n"

struct read {
    struct arena arena;
    struct scheduler_config config;
};

static void read_good(struct read *r, const char *text)
{
    struct features features;
    struct err err = {0};
    arena_init(&r->arena, 0);
    features_default(&features);
    if (config_load("f", str_of(text), &r->arena, &r->config, &err) < 0 ||
        config_check(&r->config, &in_tree_registry, &features, &err) < 0)
        fail_msg("%s", err.msg);
}

/* "A=1 B": the first profile's plugins at an extension point; "*" stands for a disabled multiPoint.
 */
static void assert_point(const struct read *r, enum point point, const char *expected)
{
    const struct plugins_config *plugins = r->config.profiles.v[0].plugins;
    const struct plugin_section *s = &plugins->at[point];
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < s->enabled.n; i++) {
        buf_add_printf(&text, "%s%.*s", i ? " " : "", STR_ARG(s->enabled.v[i].name));
        if (s->enabled.v[i].weight)
            buf_add_printf(&text, "=%d", *s->enabled.v[i].weight);
    }
    assert_string_equal(buf_cstr(&text), expected);
    buf_release(&text);
}

static const char *args_of(const struct read *r, const char *plugin)
{
    const struct profile_config *p = &r->config.profiles.v[0];
    for (size_t i = 0; i < p->plugin_config.n; i++)
        if (str_is(p->plugin_config.v[i].name, plugin))
            return p->plugin_config.v[i].args.p;
    return "none";
}

static void v1beta1_names_every_default(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, BETA_1 "metricsBindAddress: x\n");
    assert_true(str_is(r.config.version, "kubescheduler.config.k8s.io/v1beta1"));
    assert_point(&r, POINT_QUEUE_SORT, "PrioritySort");
    assert_point(&r, POINT_SCORE,
                 "NodeResourcesBalancedAllocation=1 ImageLocality=1 InterPodAffinity=1 "
                 "NodeResourcesLeastAllocated=1 NodeAffinity=1 NodePreferAvoidPods=10000 "
                 "PodTopologySpread=2 TaintToleration=1");
    assert_point(&r, POINT_POST_FILTER, "DynamicResources DefaultPreemption");
    assert_true(str_is(r.config.profiles.v[0].plugins->multi_point.disabled.v[0].name, "*"));
    arena_release(&r.arena);
}

static void v1beta2_merges_the_file_into_its_defaults(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, BETA_2
              "profiles: [{plugins: {score: {disabled: [{name: ImageLocality}], enabled: [{name: "
              "TaintToleration, weight: 4}, {name: SelectorSpread, weight: 6}]}, preScore: "
              "{disabled: [{name: '*'}], enabled: [{name: SelectorSpread}]}}}]\n");
    assert_point(&r, POINT_SCORE,
                 "NodeResourcesBalancedAllocation=1 InterPodAffinity=1 NodeResourcesFit=1 "
                 "NodeAffinity=1 PodTopologySpread=2 TaintToleration=4 SelectorSpread=6");
    assert_point(&r, POINT_PRE_SCORE, "SelectorSpread");
    arena_release(&r.arena);
}

/* v1beta1 did not merge by name, assumed List defaulting, and weighed what had no weight. */
static void v1beta1_had_ways_of_its_own(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, BETA_1
              "profiles: [{plugins: {score: {disabled: [{name: TaintToleration}], enabled: [{name: "
              "TaintToleration, weight: 4}]}}, pluginConfig: [{name: PodTopologySpread, args: "
              "{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: "
              "ScheduleAnyway}]}}, {name: RequestedToCapacityRatio, args: {shape: [{utilization: 0,"
              " score: 0}], resources: [{name: cpu}, {name: a.b/c, weight: 2}]}}]}]\n");
    assert_point(&r, POINT_SCORE,
                 "NodeResourcesBalancedAllocation=1 ImageLocality=1 InterPodAffinity=1 "
                 "NodeResourcesLeastAllocated=1 NodeAffinity=1 NodePreferAvoidPods=10000 "
                 "PodTopologySpread=2 TaintToleration=4");
    assert_non_null(
        strstr(args_of(&r, "PodTopologySpread"), json_quotes("'defaultingType':'List'")));
    assert_non_null(strstr(args_of(&r, "RequestedToCapacityRatio"),
                           json_quotes("[{'name':'cpu','weight':1},{'name':'a.b/c','weight':2}]")));
    arena_release(&r.arena);
    /* Errors stay errors. */
    struct err err = {0};
    arena_init(&r.arena, 0);
    assert_true(config_load("f",
                            STR(BETA_1 "profiles: [{pluginConfig: [{name: PodTopologySpread, args: "
                                       "{defaultConstraints: [1], defaultingType: 5}}]}]\n"),
                            &r.arena, &r.config, &err) == 0);
    assert_non_null(strstr(args_of(&r, "PodTopologySpread"), json_quotes("'defaultingType':5")));
    arena_release(&r.arena);
}

/* The plugins that counted the disks of one cloud run where a file names them. */
static void plugins_for_the_disks_of_clouds_run(void **state)
{
    (void)state;
    static const struct {
        const char *text, *filter;
    } cases[] = {
        {BETA_2 "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}, {name: CinderLimits}],"
                " disabled: [{name: '*'}, {name: GCEPDLimits}]}},"
                " pluginConfig: [{name: EBSLimits}]}]\n",
         "EBSLimits CinderLimits"},
        {BETA_3 "profiles: [{plugins: {filter: {disabled: [{name: '*'}], "
                "enabled: [{name: AzureDiskLimits}]}}}]\n",
         "AzureDiskLimits"},
    };
    struct read r;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        read_good(&r, cases[i].text);
        assert_point(&r, POINT_FILTER, cases[i].filter);
        arena_release(&r.arena);
    }
}

static void arguments_of_a_version_become_v1(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, BETA_3 "profiles: [{pluginConfig: [{name: NodeAffinity, args: {apiVersion: "
                         "kubescheduler.config.k8s.io/v1beta3, kind: NodeAffinityArgs}}]}]\n");
    assert_string_equal(args_of(&r, "NodeAffinity"),
                        json_quotes("{'apiVersion':'kubescheduler.config.k8s.io/v1','kind':"
                                    "'NodeAffinityArgs'}"));
    arena_release(&r.arena);
}

static void a_policy_without_lists_has_the_usual(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, POLICY);
    assert_point(&r, POINT_SCORE,
                 "NodeResourcesBalancedAllocation=1 PodTopologySpread=2 ImageLocality=1 "
                 "InterPodAffinity=1 NodeResourcesLeastAllocated=1 NodeAffinity=1 "
                 "NodePreferAvoidPods=10000 TaintToleration=1");
    assert_point(&r, POINT_FILTER,
                 "NodeUnschedulable NodeResourcesFit NodeName NodePorts NodeAffinity "
                 "VolumeRestrictions TaintToleration EBSLimits GCEPDLimits NodeVolumeLimits "
                 "AzureDiskLimits VolumeBinding VolumeZone "
                 "PodTopologySpread InterPodAffinity DynamicResources");
    assert_point(&r, POINT_RESERVE, "VolumeBinding DynamicResources");
    assert_string_equal(args_of(&r, "InterPodAffinity"),
                        json_quotes("{'hardPodAffinityWeight':1}"));
    arena_release(&r.arena);
    read_good(&r, POLICY "predicates: []\npriorities: []\n");
    assert_point(&r, POINT_FILTER, "NodeUnschedulable TaintToleration DynamicResources");
    assert_point(&r, POINT_SCORE, "");
    arena_release(&r.arena);
}

static void a_policy_enables_plugins_by_name(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, POLICY
              "predicates: [{name: MatchInterPodAffinity}, {name: PodFitsPorts}, {NAME: HostName},"
              " {name: a, argument: {labelsPresence: {labels: [x], presence: false}}},"
              " {name: b, argument: {labelsPresence: {labels: [w], presence: true}}},"
              " {name: c, argument: {serviceAffinity: {labels: [z]}}}]\n"
              "priorities: [{name: EvenPodsSpreadPriority, weight: 3}, {name: d, weight: 2, "
              "argument: {serviceAntiAffinity: {label: l}}}, {name: e, weight: 2, argument: "
              "{serviceAntiAffinity: {label: m}}}, {name: InterPodAffinityPriority, weight: 1}]\n"
              "hardPodAffinitySymmetricWeight: 9\nalwaysCheckAllPredicates: true\n");
    assert_point(&r, POINT_FILTER,
                 "NodeUnschedulable NodeName NodePorts TaintToleration NodeLabel ServiceAffinity "
                 "InterPodAffinity DynamicResources");
    assert_point(&r, POINT_SCORE, "PodTopologySpread=3 InterPodAffinity=1 ServiceAffinity=4");
    assert_string_equal(args_of(&r, "NodeLabel"),
                        json_quotes("{'presentLabels':['w'],'absentLabels':['x']}"));
    assert_string_equal(
        args_of(&r, "ServiceAffinity"),
        json_quotes("{'affinityLabels':['z'],'antiAffinityLabelsPreference':['l','m']}"));
    assert_string_equal(args_of(&r, "PodTopologySpread"), json_quotes("{'defaultingType':'List'}"));
    assert_string_equal(args_of(&r, "InterPodAffinity"),
                        json_quotes("{'hardPodAffinityWeight':9}"));
    arena_release(&r.arena);
}

static void a_policys_extenders_are_those_of_v1(void **state)
{
    (void)state;
    struct read r;
    read_good(&r, POLICY "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: 1500000, "
                         "enableHttps: true, tlsConfig: {serverName: s}, managedResources: "
                         "[{name: a.com/b, ignoredByScheduler: true}]}]\n");
    assert_int_equal(r.config.extenders.n, 1);
    const struct extender_config *x = &r.config.extenders.v[0];
    assert_true(str_is(x->url_prefix, "http://a") && str_is(x->filter_verb, "f"));
    assert_true(x->enable_https && str_is(x->tls_config->server_name, "s"));
    assert_int_equal(x->http_timeout, 1500000);
    assert_true(x->managed_resources.v[0].ignored_by_scheduler);
    arena_release(&r.arena);
}

static void what_they_never_had_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *contains;
    } cases[] = {
        {BETA_1 "delayCacheUntilActive: true\n", "delayCacheUntilActive: unknown field"},
        {BETA_1 "profiles: [{plugins: {multiPoint: {}}}]\n", "multiPoint"},
        {BETA_1 "profiles: [{plugins: {preEnqueue: {}}}]\n", "preEnqueue"},
        {BETA_1 "profiles: [{pluginConfig: [{name: InterPodAffinity, args: "
                "{ignorePreferredTermsOfExistingPods: true}}]}]\n",
         "ignorePreferredTermsOfExistingPods"},
        {BETA_1 "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesFit}]}}}]\n",
         "profiles[0].plugins.score.enabled[0]"},
        {BETA_3 "healthzBindAddress: x\n", "healthzBindAddress"},
        {BETA_3 "profiles: [1]\n", "profiles"},
        {BETA_2 "profiles: [{plugins: 1}]\n", "plugins"},
        {BETA_1 "profiles: [{pluginConfig: 1}]\n", "pluginConfig"},
        {POLICY "predicates: [{name: x}]\n", "predicates[0].name"},
        {POLICY "predicates: [{name: x, argument: {}}]\n", "predicates[0].argument"},
        {POLICY "priorities: [{name: x, weight: 1}]\n", "priorities[0].name"},
        {POLICY "priorities: [{name: NodeLabel, weight: 1}]\n", "priorities[0].name"},
        {POLICY "priorities: [{name: ImageLocalityPriority, weight: 0}]\n", "priorities[0].weight"},
        {POLICY "priorities: [{name: a, weight: 1, argument: {labelPreference: {label: x}}}, "
                "{name: b, weight: 2, argument: {labelPreference: {label: w}}}]\n",
         "priorities[1].weight"},
        {POLICY "predicates: [{name: CheckNodeLabelPresence}]\n", "NodeLabelArgs"},
        {POLICY "predicates: [{name: CheckServiceAffinity}]\n", "ServiceAffinityArgs"},
        {POLICY "priorities: [{name: RequestedToCapacityRatio, weight: 1}]\n", "CapacityRatioArgs"},
        {POLICY "priorities: [{name: a, weight: 1, argument: {requestedToCapacityRatioArguments: "
                "{shape: []}}}, {name: b, weight: 1, argument: "
                "{requestedToCapacityRatioArguments: {shape: []}}}]\n",
         "priorities[1].argument"},
        {POLICY "extenders: [{tlsConfig: {x: 1}}]\n", "extenders[0]"},
        {POLICY "hardPodAffinitySymmetricWeight: -1\n", "hardPodAffinitySymmetricWeight"},
        {POLICY "predicate: []\n", "predicate"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct read r;
        struct err err = {0};
        struct features features;
        arena_init(&r.arena, 0);
        features_default(&features);
        assert_int_equal(config_load("f", str_of(cases[i].text), &r.arena, &r.config, &err), 0);
        assert_true(config_check(&r.config, &in_tree_registry, &features, &err) < 0);
        if (!strstr(err.msg, cases[i].contains))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.msg, cases[i].contains);
        arena_release(&r.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v1beta1_names_every_default),
        cmocka_unit_test(v1beta2_merges_the_file_into_its_defaults),
        cmocka_unit_test(v1beta1_had_ways_of_its_own),
        cmocka_unit_test(plugins_for_the_disks_of_clouds_run),
        cmocka_unit_test(arguments_of_a_version_become_v1),
        cmocka_unit_test(a_policy_without_lists_has_the_usual),
        cmocka_unit_test(a_policy_enables_plugins_by_name),
        cmocka_unit_test(a_policys_extenders_are_those_of_v1),
        cmocka_unit_test(what_they_never_had_is_refused),
    };
    return cmocka_run_group_tests_name("config_versions", tests, NULL, NULL);
}
