/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file for a command: lines that tell what is wrong, and what would be right. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cmd/config_file.h"
#include "cmd/config_hint.h"
#include "cmd/plugin_words.h"
#include "engine/known_plugins.h"
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
    if (config_text_load("f.yaml", str_of(text), &arena, &config, &err) < 0)
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
        {HEAD "parallelizm: 4\n", "f.yaml:3: parallelizm: unknown field\n"},
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
         "f.yaml:6: profiles[0].plugins.bind: at least one bind plugin is needed for profile with "
         "scheduler name \"default-scheduler\"\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *lines = lines_of(cases[i].text);
        assert_string_equal(lines, cases[i].lines);
        free(lines);
    }
}

static void hints_say_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *complaint, *hint;
    } cases[] = {
        {"x: ScorePlugin \"Nodeports\" does not exist", " (did you mean NodePorts?)"},
        {"x: ScorePlugin \"DefualtBinder\" does not exist", " (did you mean DefaultBinder?)"},
        {"x: FilterPlugin \"volumezone\" does not exist", " (did you mean VolumeZone?)"},
        {"x: FilterPlugin \"EBSLimits\" does not exist", " (NodeVolumeLimits does its work now)"},
        {"x: plugin \"NodePorts\" does not extend ScorePlugin plugin",
         " (it runs at preFilter, filter)"},
        {"x: plugin \"Nobody\" does not extend ScorePlugin plugin", ""},
        {"parallelism: Invalid value: 0: should be an integer value greater than zero", ""},
        {"does not exist", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out = BUF_INIT;
        config_hint(&in_tree_registry, str_of(cases[i].complaint), &out);
        assert_string_equal(buf_cstr(&out), cases[i].hint);
        buf_release(&out);
    }
}

/* However long a name is, and whatever is in it. */
static void names_that_nobody_has_are_said_to_be_such(void **state)
{
    (void)state;
    for (size_t n = 0; n < 300; n += 7) {
        struct buf text = BUF_INIT, out = BUF_INIT;
        buf_add_cstr(&text, "FilterPlugin \"");
        for (size_t i = 0; i < n; i++)
            buf_add_char(&text, (char)('!' + i % 90 + (i % 90 == 1)));
        buf_add_cstr(&text, "~~~\" does not exist");
        config_hint(&in_tree_registry, buf_str(&text), &out);
        assert_non_null(strstr(buf_cstr(&out), "compiled in"));
        buf_release(&text);
        buf_release(&out);
    }
}

static void every_plugin_has_words_for_what_it_does(void **state)
{
    (void)state;
    for (size_t i = 0; in_tree_registry.plugins[i]; i++) {
        const struct berth_plugin *plugin = in_tree_registry.plugins[i];
        const struct plugin_words *words = plugin_words_find(str_of(plugin->name));
        assert_non_null(words);
        struct str name = str_of(plugin->name);
        bool prefers = plugin_extends(&in_tree_registry, name, POINT_SCORE) ||
                       plugin_extends(&in_tree_registry, name, POINT_PLACEMENT_SCORE);
        assert_true(prefers == (words->prefers != NULL));
        assert_true(words->rules || !plugin->filter);
    }
    for (size_t i = 0; known_plugin_at(i); i++)
        assert_non_null(plugin_words_find(str_of(known_plugin_at(i)->name)));
    assert_null(plugin_words_find(STR("Nobody")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_file_line_and_path),
        cmocka_unit_test(hints_say_what_would_be_right),
        cmocka_unit_test(names_that_nobody_has_are_said_to_be_such),
        cmocka_unit_test(every_plugin_has_words_for_what_it_does),
    };
    return cmocka_run_group_tests_name("config_file", tests, NULL, NULL);
}
