/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as text, errors with their lines, and plugins that berth does not have. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/config/config.h"
#include "engine/config/error_list.h"
#include "engine/config/profile_plan.h"
#include "objects.h"
#include "plugins/registry.h"
#include "prop.h"

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

/* --- round trip ------------------------------------------------------------------------------- */

static const char *const names[] = {
    "NodeName",       "NodePorts",  "NodeAffinity",     "NodeResourcesFit",  "PodTopologySpread",
    "VolumeBinding",  "VolumeZone", "ImageLocality",    "TaintToleration",   "InterPodAffinity",
    "GangScheduling", "NodeLabel",  "DynamicResources", "DefaultPreemption", "SelectorSpread",
};
static const char *const args[] = {
    "{name: NodeResourcesFit, args: {ignoredResources: [a.com/b]}}",
    "{name: InterPodAffinity, args: {hardPodAffinityWeight: 3}}",
    "{name: VolumeBinding}",
    "{name: ImageLocality, args: {x: [1, {y: z}]}}",
    "{name: PodTopologySpread, args: {defaultingType: List}}",
    "{name: NodeLabel, args: {presentLabels: [a]}}",
};

static void add_refs(struct buf *out, struct rand *r, const char *list)
{
    buf_add_printf(out, "%s: [", list);
    for (size_t i = 0, n = rand_below(r, 3); i < n; i++)
        buf_add_printf(out, "%s{name: %s, weight: %d}", i ? ", " : "",
                       names[rand_below(r, ARRAY_LEN(names))], (int)rand_below(r, 4));
    buf_add_cstr(out, "]");
}

static void add_profile(struct buf *out, struct rand *r, size_t i)
{
    buf_add_printf(
        out, "- schedulerName: p%zu\n  plugins:\n    # a comment, so that it may be empty\n", i);
    for (int point = -1; point < POINT_COUNT; point++) {
        if (rand_below(r, 3) != 0)
            continue;
        buf_add_printf(out, "    %s: {", point < 0 ? "multiPoint" : point_table[point].section);
        add_refs(out, r, "enabled");
        buf_add_cstr(out, ", ");
        add_refs(out, r, "disabled");
        buf_add_cstr(out, "}\n");
    }
    buf_add_printf(out, "  pluginConfig: [%s]\n", args[rand_below(r, ARRAY_LEN(args))]);
}

static bool is_written_as_it_is_read(struct rand *r, size_t size, void *ctx)
{
    (void)size;
    size_t *good = ctx;
    struct scheduler_config config, again;
    struct features features;
    struct arena arena;
    struct buf text = BUF_INIT, first = BUF_INIT, second = BUF_INIT;
    struct err err;
    bool ok = true;
    arena_init(&arena, 0);
    features_default(&features);
    buf_add_cstr(&text, HEAD "profiles:\n");
    for (size_t i = 0, n = 1 + rand_below(r, 2); i < n; i++)
        add_profile(&text, r, i);
    /* Extension points name plugins that cannot run there: most are rejected. */
    if (config_load("f", buf_str(&text), &arena, &config, &err) == 0 &&
        config_check(&config, &in_tree_registry, &features, &err) == 0) {
        ++*good;
        config_write(&config, &in_tree_registry, &features, &first);
        ok = config_load("g", buf_str(&first), &arena, &again, &err) == 0 &&
             config_check(&again, &in_tree_registry, &features, &err) == 0;
        if (ok)
            config_write(&again, &in_tree_registry, &features, &second);
        ok = ok && str_eq(buf_str(&first), buf_str(&second));
    }
    buf_release(&text);
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
    return ok;
}

static void what_is_written_is_read_as_the_same(void **state)
{
    (void)state;
    size_t good = 0;
    assert_true(prop_run("written and read again", 1500, is_written_as_it_is_read, &good));
    assert_true(good > prop_share(5));
}

/* --- parts of the text ------------------------------------------------------------------------ */

static char *written_under(const char *gates, const char *text)
{
    struct scheduler_config config;
    struct features features;
    struct arena arena;
    struct buf out = BUF_INIT;
    struct err err;
    arena_init(&arena, 0);
    features_default(&features);
    if (features_parse(&features, str_of(gates), &err) < 0 ||
        config_load("f", str_of(text), &arena, &config, &err) < 0)
        fail_msg("%s", err.msg);
    if (config_check(&config, &in_tree_registry, &features, &err) == 0)
        config_write(&config, &in_tree_registry, &features, &out);
    else
        buf_add_cstr(&out, err.msg);
    arena_release(&arena);
    return buf_take(&out);
}

static char *written(const char *text)
{
    return written_under("", text);
}

#define VOLUME_BINDING(args) \
    HEAD "profiles: [{pluginConfig: [{name: VolumeBinding, args: {" args "}}]}]\n"
#define DYNAMIC_RESOURCES(args) \
    HEAD "profiles: [{pluginConfig: [{name: DynamicResources, args: {" args "}}]}]\n"

/* Found with the gates, and not without them. */
static void gates_steer_defaults_and_rules(void **state)
{
    (void)state;
    static const struct {
        const char *gates, *text, *found;
    } cases[] = {
        {"GenericWorkload=true,GangScheduling=true", HEAD, "name: GangScheduling\n"},
        {"GenericWorkload=true,TopologyAwareWorkloadScheduling=true", HEAD,
         "name: TopologyPlacementGenerator\n        weight: 0\n      - name: PodGroupPodsCount\n"
         "        weight: 1\n"},
        {"StorageCapacityScoring=true", HEAD, "- score: 10\n        utilization: 0\n"},
        {"StorageCapacityScoring=true", VOLUME_BINDING("shape: [{utilization: 3, score: 4}]"),
         "- score: 4\n        utilization: 3\n"},
        {"StorageCapacityScoring=true", VOLUME_BINDING("shape: [{utilization: 3, score: 40}]"),
         "shape[0].score: Invalid value: 40: not in valid range [0, 10]"},
        {"DRASchedulerFilterTimeout=false", HEAD, "filterTimeout: null\n"},
        {"DRASchedulerFilterTimeout=false", DYNAMIC_RESOURCES("filterTimeout: 1s"),
         "args.filterTimeout: Forbidden"},
        {"DRADeviceBindingConditions=false", DYNAMIC_RESOURCES("bindingTimeout: 1s"),
         "args.bindingTimeout: Forbidden"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *with = written_under(cases[i].gates, cases[i].text),
             *without = written(cases[i].text);
        if (!strstr(with, cases[i].found) || strstr(without, cases[i].found))
            fail_msg("case %zu: with %s:\n%s\nwithout:\n%s", i, cases[i].gates, with, without);
        free(with);
        free(without);
    }
}

static void limits_are_written_as_upstream_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *given, *written;
    } cases[] = {
        {HEAD, "  burst: 100\n"},
        {HEAD, "  qps: 50\n"},
        {HEAD "clientConnection: {qps: 33.333333333}\n", "  qps: 33.333332\n"},
        {HEAD "clientConnection: {qps: -1}\n", "  qps: -1\n"},
        {HEAD "extenders: [{urlPrefix: 'http://a'}]\n", "httpTimeout: 5s\n"},
        {HEAD "extenders: [{managedResources: [{name: a.com/b, ignoredByScheduler: true}]}]\n",
         "      ignoredResources:\n      - a.com/b\n"},
        {HEAD, "    bind: {}\n"},
        /* Arguments are sorted by the names of their plugins. */
        {HEAD, "- pluginConfig:\n  - args:\n      apiVersion: kubescheduler.config.k8s.io/v1\n"
               "      kind: DefaultPreemptionArgs\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *text = written(cases[i].given);
        if (!strstr(text, cases[i].written))
            fail_msg("case %zu: no \"%s\" in %s", i, cases[i].written, text);
        free(text);
    }
}

static void conversion_adds_nothing(void **state)
{
    (void)state;
    struct scheduler_config config;
    struct arena arena;
    struct buf out = BUF_INIT;
    struct err err;
    arena_init(&arena, 0);
    assert_int_equal(config_parse("f", STR(HEAD "parallelism: 3\n"), &arena, &config, &err), 0);
    config_write_given(&config, false, &out);
    assert_string_equal(buf_cstr(&out), "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\nparallelism: 3\n");
    buf_clear(&out);
    config_write_given(&config, true, &out);
    assert_string_equal(buf_cstr(&out),
                        json_quotes("{'kind':'KubeSchedulerConfiguration','apiVersion':"
                                    "'kubescheduler.config.k8s.io/v1','parallelism':3}\n"));
    buf_release(&out);
    arena_release(&arena);
}

/* --- line numbers ----------------------------------------------------------------------------- */

static void error_list_have_lines(void **state)
{
    (void)state;
    struct scheduler_config config;
    struct arena arena;
    struct err err;
    arena_init(&arena, 0);
    assert_int_equal(config_load("f",
                                 STR(HEAD "parallelism: 0\nprofiles:\n- schedulerName: a\n"
                                          "- schedulerName: b\n  plugins:\n    score:\n"
                                          "      enabled:\n      - name: X\n"),
                                 &arena, &config, &err),
                     0);
    assert_int_equal(config_line(&config, STR("parallelism: wrong")), 3);
    assert_int_equal(config_line(&config, STR("profiles[1].schedulerName: wrong")), 6);
    assert_int_equal(config_line(&config, STR("profiles[1].plugins.score.enabled[0]: x")), 10);
    /* A missing field is reported at its parent. */
    assert_int_equal(config_line(&config, STR("profiles[0].pluginConfig[3].args: x")), 5);
    assert_int_equal(config_line(&config, STR("profiles[7]: x")), 4);
    assert_true(config_line(&config, STR("no path at all")) <= 1);
    arena_release(&arena);
}

static void errors_are_reported_once(void **state)
{
    (void)state;
    struct error_list c = {.prefix = "x."};
    struct buf out = BUF_INIT;
    error_list_write(&c, &out);
    assert_string_equal(buf_cstr(&out), "");
    error_list_add(&c, "a%d", 1);
    error_list_add(&c, "a%d", 1);
    error_list_write(&c, &out);
    assert_string_equal(buf_cstr(&out), "x.a1");
    buf_clear(&out);
    error_list_add_all(&c, STR("b, c"), 2);
    error_list_write(&c, &out);
    assert_string_equal(buf_cstr(&out), "[x.a1, b, c]");
    buf_release(&out);
    error_list_release(&c);
}

/* --- plugins that do not exist ---------------------------------------------------------------- */

static void a_plugin_that_does_not_exist_is_an_error(void **state)
{
    (void)state;
    static const struct berth_plugin *const none[] = {NULL};
    struct registry registry = in_tree_registry;
    struct scheduler_config config;
    struct features features;
    struct arena arena;
    struct err err;
    arena_init(&arena, 0);
    features_default(&features);
    config_default(&config, &arena);
    assert_int_equal(config_check(&config, &registry, &features, &err), 0);
    registry.plugins = none;
    assert_true(config_check(&config, &registry, &features, &err) < 0);
    assert_non_null(strstr(err.msg, "does not exist"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_as_the_same),
        cmocka_unit_test(gates_steer_defaults_and_rules),
        cmocka_unit_test(limits_are_written_as_upstream_has_them),
        cmocka_unit_test(conversion_adds_nothing),
        cmocka_unit_test(error_list_have_lines),
        cmocka_unit_test(errors_are_reported_once),
        cmocka_unit_test(a_plugin_that_does_not_exist_is_an_error),
    };
    return cmocka_run_group_tests_name("config_write", tests, NULL, NULL);
}
