/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older configurations and Policies, compared with the results of the last releases that read them
 * (tests/golden/old-configs): the same plugins run at every extension point, in the same order and
 * with the same weights, except for the differences explained in the tables below.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/config/config.h"
#include "engine/config/profile_plan.h"
#include "plugins/registry.h"

#define DIR "tests/golden/old-configs/"

enum { BETA_1 = 1 << 0, BETA_2 = 1 << 1, BETA_3 = 1 << 2, POLICY = 1 << 3, ALL = 15 };

static const struct golden {
    const char *name;
    unsigned version;
} goldens[] = {{"v1beta1", BETA_1}, {"v1beta2", BETA_2}, {"v1beta3", BETA_3}, {"policy", POLICY}};

/* --- explained differences -------------------------------------------------------------------- */

/* Plugins that run today without being configured. A section of NULL: everywhere. */
static const struct {
    const char *plugin, *section;
    unsigned in;
} added[] = {
    /* They check pod fields that did not exist then. */
    {"DynamicResources", NULL, ALL},
    {"SchedulingGates", "preEnqueue", BETA_1 | POLICY},
    {"NodeDeclaredFeatures", NULL, BETA_3},
    /* They have since got another extension point, without which they do not work. */
    {"DefaultPreemption", "preEnqueue", ALL},
    {"VolumeZone", "preFilter", BETA_1 | POLICY},
    {"VolumeRestrictions", "preFilter", POLICY},
    {"NodeVolumeLimits", "preFilter", ALL},
    {"EBSLimits", "preFilter", ALL},
    {"GCEPDLimits", "preFilter", ALL},
    {"AzureDiskLimits", "preFilter", ALL},
    {"CinderLimits", "preFilter", ALL},
    {"VolumeBinding", "preScore", BETA_3},
};

static bool is_added(struct str plugin, const char *section, unsigned version)
{
    for (size_t i = 0; i < ARRAY_LEN(added); i++)
        if (str_is(plugin, added[i].plugin) && added[i].in & version &&
            (!added[i].section || strcmp(section, added[i].section) == 0))
            return true;
    return false;
}

/* In v1beta3 they were defaults; berth has the defaults of v1, and runs them where they are named.
 */
static bool is_limit(struct str plugin)
{
    return str_is(plugin, "EBSLimits") || str_is(plugin, "GCEPDLimits") ||
           str_is(plugin, "AzureDiskLimits");
}

/* --- comparing -------------------------------------------------------------------------------- */

static struct str next_word(struct str *text)
{
    size_t end = str_find(*text, ' ');
    struct str word = str_slice(*text, 0, end);
    *text = str_slice(*text, MIN(end + 1, text->n), text->n);
    return word;
}

static bool has_word(struct str text, struct str word)
{
    while (text.n)
        if (str_eq(next_word(&text), word))
            return true;
    return false;
}

/* "A=1 B" of the golden file. */
static void expect(struct str text, struct str input, unsigned version, struct buf *out)
{
    while (text.n) {
        struct str word = next_word(&text);
        if (version == BETA_3 && is_limit(word) && !memmem(input.p, input.n, word.p, word.n))
            continue;
        buf_add_printf(out, "%s%.*s", out->n ? " " : "", STR_ARG(word));
    }
}

/* The same of a plan, without the additions that the table explains. */
static void describe(const plan_list *list, enum point point, unsigned version, struct str expected,
                     struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        struct str name = list->v[i].name;
        if (!has_word(expected, name) && is_added(name, point_table[point].section, version))
            continue;
        buf_add_printf(out, "%s%.*s", out->n ? " " : "", STR_ARG(name));
        if (point == POINT_SCORE)
            buf_add_printf(out, "=%lld", (long long)list->v[i].weight);
    }
}

/* A row has the differences from the first; null means absent. */
static struct str point_of(const struct json_value *usual, const struct json_value *own,
                           const char *section)
{
    const struct json_value *v = json_get(own, str_of(section));
    v = v ? v : json_get(usual, str_of(section));
    return v && v->kind == JSON_STRING ? v->text : STR("");
}

static void compare(const struct profile_plan *plan, const struct json_value *usual,
                    const struct json_value *own, struct str input, unsigned version)
{
    for (int point = 0; point < POINT_PLACEMENT_GENERATE; point++) {
        struct buf want = BUF_INIT, got = BUF_INIT;
        expect(point_of(usual, own, point_table[point].section), input, version, &want);
        describe(&plan->at[point], (enum point)point, version, buf_str(&want), &got);
        if (!str_eq(buf_str(&want), buf_str(&got)))
            fail_msg("%.*s: %s:\n- %s\n+ %s", STR_ARG(input), point_table[point].section,
                     buf_cstr(&want), buf_cstr(&got));
        buf_release(&want);
        buf_release(&got);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static const struct profile_config *find_profile(const struct scheduler_config *config,
                                                 struct str name)
{
    for (size_t i = 0; i < config->profiles.n; i++)
        if (str_eq(*config->profiles.v[i].scheduler_name, name))
            return &config->profiles.v[i];
    return NULL;
}

static bool load(struct str input, const struct golden *golden, struct arena *a,
                 struct scheduler_config *config, struct err *err)
{
    struct str text = input;
    struct features features;
    features_default(&features);
    if (golden->version != POLICY)
        text = arena_printf(a,
                            "apiVersion: kubescheduler.config.k8s.io/%s\n"
                            "kind: KubeSchedulerConfiguration\n%.*s\n",
                            golden->name, STR_ARG(input));
    return config_load("f", text, a, config, err) == 0 &&
           config_check(config, &in_tree_registry, &features, err) == 0;
}

/* Files that are rejected today are in e2e/test_old_configs. */
static bool check_row(const struct json_value *row, const struct json_value *usual,
                      const struct golden *golden)
{
    struct arena a;
    struct scheduler_config config;
    struct features features;
    struct err err = {0};
    struct str input = json_get_text(row, STR("input"));
    const struct json_value *profiles = json_get(row, STR("plugins"));
    features_default(&features);
    arena_init(&a, 0);
    bool loaded = profiles && load(input, golden, &a, &config, &err);
    for (size_t i = 0; loaded && i < profiles->n_members; i++) {
        struct profile_plan plan = {0};
        const struct profile_config *p = find_profile(&config, profiles->members[i].key);
        if (!p || profile_plan_init(&plan, &in_tree_registry, &features, p, &err) < 0)
            fail_msg("%.*s: %s", STR_ARG(input), p ? err.msg : "a profile is missing");
        compare(&plan, usual, &profiles->members[i].value, input, golden->version);
        profile_plan_release(&plan);
    }
    arena_release(&a);
    return loaded;
}

static struct str read_file(const char *path, struct buf *out)
{
    char chunk[4096];
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing", path);
    while (f && !feof(f) && !ferror(f))
        buf_add(out, chunk, fread(chunk, 1, sizeof(chunk), f));
    if (f)
        fclose(f);
    return buf_str(out);
}

static void check_golden(void **state)
{
    const struct golden *golden = *state;
    struct arena a;
    struct json_value rows;
    struct err err = {0};
    char path[64];
    struct buf text = BUF_INIT;
    arena_init(&a, 0);
    snprintf(path, sizeof(path), DIR "%s.json", golden->name);
    if (json_parse(read_file(path, &text), JSON_STRICT, &a, &rows, &err) < 0)
        fail_msg("%s: %s", path, err.msg);
    const struct json_value *usual = &json_get(&rows.items[0], STR("plugins"))->members[0].value;
    size_t compared = 0;
    for (size_t i = 0; i < rows.n; i++)
        compared += check_row(&rows.items[i], usual, golden);
    print_message("%s: %zu of %zu inputs\n", golden->name, compared, rows.n);
    assert_true(compared >= 50);
    arena_release(&a);
    buf_release(&text);
}

#define GOLDEN(i) (void *)(uintptr_t)&goldens[i]

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"v1beta1_runs_the_plugins_of_its_time", check_golden, NULL, NULL, GOLDEN(0)},
        {"v1beta2_runs_the_plugins_of_its_time", check_golden, NULL, NULL, GOLDEN(1)},
        {"v1beta3_runs_the_plugins_of_its_time", check_golden, NULL, NULL, GOLDEN(2)},
        {"a_policy_runs_the_plugins_of_its_time", check_golden, NULL, NULL, GOLDEN(3)},
    };
    return cmocka_run_group_tests_name("old_configs", tests, NULL, NULL);
}
