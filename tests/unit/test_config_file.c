/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files of commands: lines with errors and suggestions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cmd/config/config_file.h"
#include "cmd/config/plugin_summary.h"
#include "plugins/registry.h"

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

/* All lines; the caller frees them. */
static char *lines_of(const char *text)
{
    struct scheduler_config config;
    struct features features;
    struct arena arena;
    struct buf lines = BUF_INIT;
    struct err err;
    arena_init(&arena, 0);
    features_default(&features);
    struct config_text t = {.shown = "f.yaml", .text = str_of(text)};
    if (config_text_load(&t, &arena, &config, &err) < 0)
        buf_add_printf(&lines, "%s\n", err.msg);
    else
        config_file_check(&config, &in_tree_registry, &features, &lines);
    arena_release(&arena);
    return buf_take(&lines);
}

static void lines_name_file_line_and_path(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {HEAD, ""},
        {HEAD "parallelizm: 4\n",
         "f.yaml:3: parallelizm: unknown field (did you mean parallelism?)\n"},
        {HEAD "a: [\n", "f.yaml:4: did not find expected node content\n"},
        {HEAD "parallelism: 0\npodInitialBackoffSeconds: 0\n",
         "f.yaml:3: parallelism: Invalid value: 0: should be an integer value greater than zero\n"
         "f.yaml:4: podInitialBackoffSeconds: Invalid value: 0: must be greater than 0\n"},
        {HEAD "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args:\n      added: {}\n",
         "f.yaml:7: profiles[0].pluginConfig[0].args.added: decoding args for plugin NodeAffinity: "
         "unknown field\n"},
        {HEAD "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args: 3\n",
         "f.yaml:6: profiles[0].pluginConfig[0].args: decoding args for plugin NodeAffinity: "
         "expected an object\n"},
        {HEAD "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: NodeName\n"
              "      - name: NodeName\n",
         "f.yaml:8: profiles[0].plugins.filter.enabled[1]: plugin \"NodeName\" already registered "
         "as \"FilterPlugin\"\n"},
        {HEAD "profiles:\n- plugins:\n    bind:\n      disabled: [{name: '*'}]\n",
         "f.yaml:5: profiles[0].plugins.bind: at least one bind plugin is needed for profile with "
         "scheduler name \"default-scheduler\"\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *lines = lines_of(cases[i].text);
        assert_string_equal(lines, cases[i].lines);
        free(lines);
    }
}

static void assert_lines(const char *text, const char *expected)
{
    char *lines = lines_of(text);
    assert_string_equal(lines, expected);
    free(lines);
}

/* Errors of every kind, without consequential ones. */
static void all_problems_are_reported_at_once(void **state)
{
    (void)state;
    assert_lines(
        HEAD "profile: []\n"
             "parallelism: four\n"
             "percentageOfNodesToScore: 101\n"
             "profiles:\n"
             "- schedulerName: a\n"
             "  plugins:\n"
             "    score:\n"
             "      enabled: [{name: NodeAfinity}, {name: Nobody, wait: 1}]\n"
             "    multiPoint:\n"
             "      enabled: [{name: Nowhere}]\n"
             "  pluginConfig:\n"
             "  - name: InterPodAffinity\n"
             "    args:\n"
             "      hardPodAffinityWeight: 101\n"
             "      hardPodAffinityWait: 1\n"
             "- schedulerNam: b\n"
             "- schedulerName: a\n"
             "- 5\n"
             "extenders:\n"
             "- prioritizeVerb: p\n"
             "percentageOfNodesToScore: 102\n",
        "f.yaml:3: profile: unknown field (did you mean profiles?)\n"
        "f.yaml:4: parallelism: expected a whole number\n"
        "f.yaml:10: profiles[0].plugins.score.enabled[1].wait: unknown field\n"
        "f.yaml:10: profiles[0].plugins.score.enabled[0]: ScorePlugin \"NodeAfinity\" does not "
        "exist (did you mean NodeAffinity?)\n"
        "f.yaml:10: profiles[0].plugins.score.enabled[1]: ScorePlugin \"Nobody\" does not exist "
        "(it is not a plugin of kube-scheduler; load your own plugin with --plugin "
        "FILE.so)\n"
        "f.yaml:12: profiles[0].plugins.multiPoint.enabled[0]: PreFilterPlugin \"Nowhere\" does "
        "not exist (it is not a plugin of kube-scheduler; load your own plugin with --plugin "
        "FILE.so)\n"
        "f.yaml:16: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: "
        "not in valid range [0, 100]\n"
        "f.yaml:17: profiles[0].pluginConfig[0].args.hardPodAffinityWait: decoding args for plugin "
        "InterPodAffinity: unknown field (did you mean hardPodAffinityWeight?)\n"
        "f.yaml:18: profiles[1].schedulerNam: unknown field (did you mean schedulerName?)\n"
        "f.yaml:19: profiles[2].schedulerName: Duplicate value: \"a\"\n"
        "f.yaml:20: profiles[3]: expected an object\n"
        "f.yaml:22: extenders[0].weight: Invalid value: 0: must have a positive weight applied to "
        "it\n"
        "f.yaml:23: key \"percentageOfNodesToScore\" is already set on line 5\n"
        "f.yaml:23: percentageOfNodesToScore: Invalid value: 102: not in valid range [0-100]\n");
}

static void removed_features_are_reported_once(void **state)
{
    (void)state;
    assert_lines(HEAD "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]\n",
                 "f.yaml:3: profiles[0].plugins.filter.enabled[0]: Invalid value: \"EBSLimits\": "
                 "was invalid in version \"v1\" (KubeSchedulerConfiguration is version "
                 "\"kubescheduler.config.k8s.io/v1\") (use NodeVolumeLimits instead)\n");
}

#define BETA(n) \
    "apiVersion: kubescheduler.config.k8s.io/v1beta" #n "\nkind: KubeSchedulerConfiguration\n"

/* Paths and indexes are those of the file, not of the converted configuration. */
static void older_versions_are_reported_in_their_own_terms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {BETA(2) "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: NodeName\n"
                 "  pluginConfig:\n  - name: EBSLimits\n  - name: InterPodAffinity\n"
                 "    args: {hardPodAffinityWeight: 101}\n",
         "f.yaml:7: profiles[0].plugins.score.enabled[0]: plugin \"NodeName\" does not extend "
         "ScorePlugin plugin (it extends filter)\n"
         "f.yaml:11: profiles[0].pluginConfig[1].args.hardPodAffinityWeight: Invalid value: 101: "
         "not in valid range [0, 100]\n"},
        {BETA(1) "profiles:\n- {}\n- schedulerName: b\n  plugins:\n    multiPoint: {}\n"
                 "    preEnqueue: {}\n    filter:\n      enabled:\n      - name: NodeNam\n"
                 "      - name: NodePorts\n  percentageOfNodesToScore: 4\n",
         "f.yaml:4: profiles[0].schedulerName: Required value\n"
         "f.yaml:7: profiles[1].plugins.multiPoint: unknown field in this version\n"
         "f.yaml:8: profiles[1].plugins.preEnqueue: unknown field in this version\n"
         "f.yaml:11: profiles[1].plugins.filter.enabled[0]: FilterPlugin \"NodeNam\" does not "
         "exist (did you mean NodeName?)\n"
         "f.yaml:12: profiles[1].plugins.filter.enabled[1]: plugin \"NodePorts\" already "
         "registered as \"FilterPlugin\"\n"
         "f.yaml:13: profiles[1].percentageOfNodesToScore: unknown field in this version\n"},
        {BETA(3) "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: EBSLimits\n"
                 "      - name: X\n",
         "f.yaml:8: profiles[0].plugins.filter.enabled[1]: FilterPlugin \"X\" does not exist "
         "(it is not a plugin of kube-scheduler; load your own plugin with --plugin "
         "FILE.so)\n"},
        {"apiVersion: v1\nkind: Policy\npredicates:\n- name: NodiskConflict\n- name: Foo\n"
         "priorities:\n- name: LeastRequestPriority\n  weight: 1\n- name: x\n  weight: 0\n"
         "  argument: {requestedToCapacityRatioArguments: {shape: [{utilization: 0, score: 11}]}}\n"
         "- name: z\n  weight: 1\n  argument:\n    requestedToCapacityRatioArguments:\n"
         "      Shape:\n      - {utilization: 0, score: 11}\nnothing: 1\n",
         "f.yaml:4: predicates[0].name: predicate type not found for \"NodiskConflict\" (did you "
         "mean NoDiskConflict?)\n"
         "f.yaml:5: predicates[1].name: predicate type not found for \"Foo\"\n"
         "f.yaml:7: priorities[0].name: priority type not found for \"LeastRequestPriority\" (did "
         "you mean LeastRequestedPriority?)\n"
         "f.yaml:10: priorities[1].weight: Invalid value: 0: should have a positive weight applied "
         "to it or it has overflown\n"
         "f.yaml:14: priorities[2].argument: priority \"z\" redeclares custom priority "
         "\"RequestedToCapacityRatio\", from: \"x\"\n"
         "f.yaml:18: nothing: unknown field\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_lines(cases[i].text, cases[i].lines);
}

/* The number of reported errors is limited; the last line counts the rest. */
static void a_flood_of_problems_is_cut(void **state)
{
    (void)state;
    static const char *const heads[] = {HEAD, HEAD "extenders:\n", HEAD "profiles:\n"};
    static const char *const ends[] = {": 1\n", ": 1}\n", "}\n"};
    static const char *const starts[] = {"x", "- {prioritizeVerb: p, z",
                                         "- {percentageOfNodesToScore: "};
    for (size_t k = 0; k < ARRAY_LEN(heads); k++) {
        struct buf text = BUF_INIT;
        buf_add_cstr(&text, heads[k]);
        for (int i = 101; i < 2101; i++)
            buf_add_printf(&text, "%s%d%s", starts[k], i, ends[k]);
        char *said = lines_of(buf_cstr(&text));
        size_t n = 0;
        for (const char *p = said; (p = strchr(p, '\n')); p++)
            n++;
        assert_int_equal(n, 51);
        assert_non_null(strstr(said, "\nf.yaml: and "));
        assert_true(str_ends(str_of(said), STR(" more\n")));
        free(said);
        buf_release(&text);
    }
}

/* --- ConfigMaps ------------------------------------------------------------------------------- */

#define MAP "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: ns}\n"
#define CONFIG                                         \
    "    apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "    kind: KubeSchedulerConfiguration\n"

static void lines_in_a_config_map_are_those_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {MAP "data:\n  c.yaml: |\n" CONFIG, ""},
        {MAP "data:\n  c.yaml: |\n" CONFIG "    parallelism: 0\n    profile: []\n",
         "f.yaml:8: parallelism: Invalid value: 0: should be an integer value greater than zero\n"
         "f.yaml:9: profile: unknown field (did you mean profiles?)\n"},
        {MAP "data:\n  readme: see KubeSchedulerConfiguration\n  c.yaml: |2-\n\n" CONFIG
             "    parallelism: 0\n    parallelism: 0\n",
         "f.yaml:11: key \"parallelism\" is already set on line 10\n"
         "f.yaml:11: parallelism: Invalid value: 0: should be an integer value greater than "
         "zero\n"},
        {"kind: ServiceAccount\n---\n" MAP "data:\n  c.yaml: |\n" CONFIG
         "    a: [\n---\nkind: Role\n",
         "f.yaml:11: did not find expected node content\n"},
        {MAP "data:\n  c.yaml: \"apiVersion: kubescheduler.config.k8s.io/v1\\nkind: "
             "KubeSchedulerConfiguration\\nx: 1\\n\"\n",
         "f.yaml:5: x: unknown field\n"},
        {MAP "binaryData:\n  c.yaml: YXBpVmVyc2lvbjoga3ViZXNjaGVkdWxlci5jb25maWcuazhzLmlvL3YxCmtpbm"
             "Q6IEt1YmVTY2hlZHVsZXJDb25maWd1cmF0aW9uCng6IDEK\n",
         "f.yaml:5: x: unknown field\n"},
        {"apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  data:\n    p: |\n"
         "      {\"kind\": \"Policy\", \"apiVersion\": \"v1\",\n       \"predicates\": "
         "[{\"name\": \"x\"}]}\n",
         "f.yaml:8: predicates[0].name: predicate type not found for \"x\"\n"},
        {"a: 1\n---\n" HEAD "parallelism: 0\n",
         "f.yaml:5: parallelism: Invalid value: 0: should be an integer value greater than zero\n"},
        {MAP "data:\n  c.yaml: |\n    apiVersion: x\n    kind: KubeSchedulerConfig\n",
         "f.yaml:6: expected apiVersion: kubescheduler.config.k8s.io/v1 and kind: "
         "KubeSchedulerConfiguration (v1beta1 to v1beta3, and kind: Policy of v1, are supported "
         "as well), got apiVersion: \"x\" and kind: \"KubeSchedulerConfig\"\n"},
        {MAP "data: {a: b, c: d}\n",
         "f.yaml:1: no key of the ConfigMap holds a scheduler configuration (kind: "
         "KubeSchedulerConfiguration); keys: ConfigMap ns/m, key a, line 4; ConfigMap ns/m, key "
         "c, line 4\n"},
        {MAP, "f.yaml:1: no key of the ConfigMap holds a scheduler configuration (kind: "
              "KubeSchedulerConfiguration); it has no keys\n"},
        {"kind: A\n---\nkind: B\n",
         "f.yaml:1: none of the 2 documents is a scheduler configuration or a ConfigMap that holds "
         "one; their kinds: A, B\n"},
        {MAP "data:\n  a.yaml: |\n" CONFIG "  b.yaml: |\n" CONFIG,
         "f.yaml: the file has several configurations; select one by its key, FILE#KEY, or by "
         "ConfigMap and key, FILE#NAME/KEY: ConfigMap ns/m, key a.yaml, line 5; ConfigMap ns/m, "
         "key b.yaml, line 8\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_lines(cases[i].text, cases[i].lines);
}

static void a_key_chooses(void **state)
{
    (void)state;
    const char *text = MAP
        "data:\n  a: |\n" CONFIG "    parallelism: 1\n  b: |\n" CONFIG "    parallelism: 2\n---\n"
        "kind: ConfigMap\nmetadata: {name: o}\ndata:\n  b: |\n" CONFIG "    parallelism: 3\n";
    static const struct {
        const char *key;
        int32_t parallelism; /* 0: rejected */
        const char *within;
    } cases[] = {{"a", 1, "ConfigMap ns/m, key a"},   {"b", 0, ""},
                 {"m/b", 2, "ConfigMap ns/m, key b"}, {"ns/m/b", 2, "ConfigMap ns/m, key b"},
                 {"o/b", 3, "ConfigMap o, key b"},    {"c", 0, ""}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scheduler_config config;
        struct arena arena;
        struct err err;
        arena_init(&arena, 0);
        struct config_text t = {.shown = "f", .text = str_of(text), .key = str_of(cases[i].key)};
        int r = config_text_load(&t, &arena, &config, &err);
        assert_int_equal(r == 0, cases[i].parallelism != 0);
        if (r == 0) {
            assert_int_equal(*config.parallelism, cases[i].parallelism);
            assert_string_equal(config.within.p, cases[i].within);
        }
        arena_release(&arena);
    }
}

/* --- hints ------------------------------------------------------------------------------------ */

static void hints_agree_with_the_model(void **state)
{
    (void)state;
    static const struct {
        const char *entry, *hint;
    } cases[] = {
        {"x: ScorePlugin \"Nodeports\" does not exist", " (did you mean NodePorts?)"},
        {"x: ScorePlugin \"DefualtBinder\" does not exist", " (did you mean DefaultBinder?)"},
        {"x: FilterPlugin \"volumezone\" does not exist", " (did you mean VolumeZone?)"},
        {"x: FilterPlugin \"EBSLimits\" does not exist", " (use NodeVolumeLimits instead)"},
        {"x: plugin \"NodePorts\" does not extend ScorePlugin plugin",
         " (it extends preFilter, filter)"},
        {"x: plugin \"Nobody\" does not extend ScorePlugin plugin", ""},
        {"parallelism: Invalid value: 0: should be an integer value greater than zero", ""},
        {"does not exist", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out = BUF_INIT;
        config_hint(&in_tree_registry, str_of(cases[i].entry), &out);
        assert_string_equal(buf_cstr(&out), cases[i].hint);
        buf_release(&out);
    }
}

/* Names of any length and content. */
static void unknown_names_are_reported(void **state)
{
    (void)state;
    for (size_t n = 0; n < 300; n += 7) {
        struct buf text = BUF_INIT, out = BUF_INIT;
        buf_add_cstr(&text, "FilterPlugin \"");
        for (size_t i = 0; i < n; i++)
            buf_add_char(&text, (char)('!' + i % 90 + (i % 90 == 1)));
        buf_add_cstr(&text, "~~~\" does not exist");
        config_hint(&in_tree_registry, buf_str(&text), &out);
        assert_non_null(strstr(buf_cstr(&out), "load your own plugin"));
        buf_release(&text);
        buf_release(&out);
    }
}

static void every_plugin_has_a_summary(void **state)
{
    (void)state;
    for (size_t i = 0; in_tree_registry.plugins[i]; i++) {
        const struct berth_plugin *plugin = in_tree_registry.plugins[i];
        const struct plugin_summary *words = plugin_summary_find(str_of(plugin->name));
        assert_non_null(words);
        struct str name = str_of(plugin->name);
        bool prefers = plugin_extends(&in_tree_registry, name, POINT_SCORE) ||
                       plugin_extends(&in_tree_registry, name, POINT_PLACEMENT_SCORE);
        assert_true(prefers == (words->prefers != NULL));
        assert_true(words->rules || !plugin->filter);
    }
    assert_null(plugin_summary_find(STR("Nobody")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_file_line_and_path),
        cmocka_unit_test(all_problems_are_reported_at_once),
        cmocka_unit_test(removed_features_are_reported_once),
        cmocka_unit_test(older_versions_are_reported_in_their_own_terms),
        cmocka_unit_test(a_flood_of_problems_is_cut),
        cmocka_unit_test(lines_in_a_config_map_are_those_of_the_file),
        cmocka_unit_test(a_key_chooses),
        cmocka_unit_test(hints_agree_with_the_model),
        cmocka_unit_test(unknown_names_are_reported),
        cmocka_unit_test(every_plugin_has_a_summary),
    };
    return cmocka_run_group_tests_name("config_file", tests, NULL, NULL);
}
