/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: the plugins at each extension point, their order and weights. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "engine_fixture.h"

/* --- plugins with only a name and an extension point ------------------------------------------ */

static bool any_less(void *self, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    (void)self;
    return a->timestamp < b->timestamp;
}

static enum berth_code yes(void *self, const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node, (void)status;
    return BERTH_SUCCESS;
}

static enum berth_code zero(void *self, const struct berth_cycle *cycle,
                            const struct berth_pod *pod, const struct berth_node *node,
                            int64_t *ret_score, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node, (void)status;
    *ret_score = 0;
    return BERTH_SUCCESS;
}

static enum berth_code skip_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 struct berth_str node, berth_op op, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node, (void)op, (void)status;
    return BERTH_SKIP;
}

static int refuse(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)host, (void)h, (void)args, (void)ret_self;
    snprintf(error->text, sizeof(error->text), "no such luck");
    return -1;
}

#define HEAD(n) .abi = BERTH_ABI, .struct_size = sizeof(struct berth_plugin), .name = (n)
static const struct berth_plugin sort = {HEAD("Sort"), .less = any_less};
static const struct berth_plugin other_sort = {HEAD("OtherSort"), .less = any_less};
static const struct berth_plugin binder = {HEAD("Binder"), .bind = skip_bind};
static const struct berth_plugin a = {HEAD("A"), .filter = yes, .score = zero};
static const struct berth_plugin b = {HEAD("B"), .filter = yes, .score = zero};
static const struct berth_plugin c = {HEAD("C"), .filter = yes};
static const struct berth_plugin d = {HEAD("D"), .filter = yes, .score = zero};
static const struct berth_plugin broken = {HEAD("Broken"), .filter = yes, .create = refuse};
/* Compiled against a header that ended before `score`. */
static const struct berth_plugin old = {.abi = BERTH_ABI,
                                        .struct_size = offsetof(struct berth_plugin, score),
                                        .name = "Old",
                                        .filter = yes,
                                        .score = zero};
static const struct berth_plugin alien = {
    .abi = 99u << 16, .struct_size = sizeof(struct berth_plugin), .name = "Alien", .filter = yes};

static const struct berth_plugin *const plugins[] = {&sort, &other_sort, &binder, &a,     &b,  &c,
                                                     &d,    &broken,     &old,    &alien, NULL};
static int32_t two = 2;
static const struct plugin_ref defaults[] = {
    {STR_INIT("Sort"), NULL},
    {STR_INIT("A"), &two},
    {STR_INIT("B"), NULL},
    {STR_INIT("Binder"), NULL},
};
static const struct registry registry = {
    .plugins = plugins, .defaults = defaults, .n_defaults = ARRAY_LEN(defaults)};

/* --- helpers ---------------------------------------------------------------------------------- */

#define CONFIG_HEAD \
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"

/* "A=2 B=1" for score, "A B" for others. */
static void describe(const struct profile *p, enum point point, struct buf *out)
{
    const handle_list *list = &p->at[point];
    for (size_t i = 0; i < list->n; i++) {
        buf_add_printf(out, "%s%s", i ? " " : "", list->v[i]->plugin->name);
        if (point == POINT_SCORE)
            buf_add_printf(out, "=%lld", (long long)list->v[i]->weight);
    }
}

static void assert_lists(const char *plugins_yaml, const char *filter, const char *score)
{
    struct fixture f;
    struct buf text = BUF_INIT;
    buf_add_printf(&text, CONFIG_HEAD "- plugins: %s\n", plugins_yaml);
    fixture_init(&f, buf_cstr(&text), &registry);
    const struct profile *p = f.engine->framework.setup->profiles.v[0];
    buf_clear(&text);
    describe(p, POINT_FILTER, &text);
    assert_string_equal(buf_cstr(&text), filter);
    buf_clear(&text);
    describe(p, POINT_SCORE, &text);
    assert_string_equal(buf_cstr(&text), score);
    buf_release(&text);
    fixture_release(&f);
}

/* The error of creating an engine with this configuration. */
static void assert_refused(const char *profiles_yaml, const char *message)
{
    struct arena arena;
    struct scheduler_config config;
    struct engine *engine = NULL;
    struct err err = {0};
    struct buf text = BUF_INIT;
    arena_init(&arena, 0);
    buf_add_printf(&text, CONFIG_HEAD "%s", profiles_yaml);
    int r = config_load("f.yaml", buf_str(&text), &arena, &config, &err);
    if (r == 0)
        r = engine_new(&(struct engine_options){.config = &config, .registry = &registry}, &engine,
                       &err);
    assert_true(r < 0);
    assert_null(engine);
    assert_string_equal(err.msg, message);
    buf_release(&text);
    arena_release(&arena);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void defaults_come_in_their_order(void **state)
{
    (void)state;
    assert_lists("{}", "A B", "A=2 B=1");
}

static void enabled_plugins_follow_the_defaults(void **state)
{
    (void)state;
    assert_lists("{multiPoint: {enabled: [{name: D, weight: 7}, {name: C}]}}", "A B D C",
                 "A=2 B=1 D=7");
}

static void a_default_enabled_again_keeps_its_place_and_takes_the_weight(void **state)
{
    (void)state;
    assert_lists("{multiPoint: {enabled: [{name: D}, {name: A, weight: 5}]}}", "A B D",
                 "A=5 B=1 D=1");
}

static void a_default_disabled_and_enabled_goes_to_the_end(void **state)
{
    (void)state;
    assert_lists("{multiPoint: {disabled: [{name: A}], enabled: [{name: C}, {name: A}]}}", "B C A",
                 "B=1 A=1");
}

static void star_removes_all_defaults(void **state)
{
    (void)state;
    assert_lists("{multiPoint: {disabled: [{name: '*'}], enabled: [{name: Sort}, {name: Binder}, "
                 "{name: D}]}}",
                 "D", "D=1");
}

static void a_point_may_disable_what_multi_point_brings(void **state)
{
    (void)state;
    assert_lists("{filter: {disabled: [{name: A}]}}", "B", "A=2 B=1");
    assert_lists("{score: {disabled: [{name: '*'}]}}", "A B", "");
    assert_lists("{filter: {disabled: [{name: '*'}], enabled: [{name: C}]}}", "C", "A=2 B=1");
}

static void plugins_named_at_a_point_that_multi_point_has_go_first(void **state)
{
    (void)state;
    assert_lists("{filter: {enabled: [{name: D}, {name: B}]}}", "B A D", "A=2 B=1");
}

static void a_points_weight_wins(void **state)
{
    (void)state;
    assert_lists("{score: {enabled: [{name: B, weight: 9}]}}", "A B", "B=9 A=2");
}

static void an_old_plugin_lacks_what_came_later(void **state)
{
    (void)state;
    assert_lists("{multiPoint: {enabled: [{name: Old}]}}", "A B Old", "A=2 B=1");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_refused("- plugins: {multiPoint: {enabled: [{name: Nobody}]}}\n",
                   "f.yaml: profiles[0]: PreFilterPlugin \"Nobody\" does not exist");
    assert_refused("- plugins: {filter: {enabled: [{name: Nobody}]}}\n",
                   "f.yaml: profiles[0]: FilterPlugin \"Nobody\" does not exist");
    assert_refused("- plugins: {score: {enabled: [{name: C}]}}\n",
                   "f.yaml: profiles[0]: plugin \"C\" does not extend ScorePlugin plugin");
    assert_refused("- plugins: {filter: {enabled: [{name: C}, {name: C}]}}\n",
                   "f.yaml: profiles[0]: plugin \"C\" already registered as \"FilterPlugin\"");
    assert_refused("- plugins: {multiPoint: {enabled: [{name: C}, {name: C}]}}\n",
                   "f.yaml: profiles[0]: plugin \"C\" already registered as \"FilterPlugin\"");
    assert_refused("- plugins: {multiPoint: {enabled: [{name: Broken}]}}\n",
                   "f.yaml: profiles[0]: initializing plugin \"Broken\": no such luck");
    assert_refused("- plugins: {multiPoint: {enabled: [{name: Alien}]}}\n",
                   "f.yaml: profiles[0]: plugin \"Alien\" was built for ABI 99, this berth has "
                   "ABI 1: build it with this berth's header");
    assert_refused(
        "- plugins: {multiPoint: {enabled: [{name: OtherSort}]}}\n",
        "f.yaml: profiles[0]: only one queue sort plugin required for profile with scheduler "
        "name \"default-scheduler\", but got 2");
    assert_refused(
        "- plugins: {multiPoint: {disabled: [{name: Binder}]}}\n",
        "f.yaml: profiles[0]: at least one bind plugin is needed for profile with scheduler "
        "name \"default-scheduler\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_in_their_order),
        cmocka_unit_test(enabled_plugins_follow_the_defaults),
        cmocka_unit_test(a_default_enabled_again_keeps_its_place_and_takes_the_weight),
        cmocka_unit_test(a_default_disabled_and_enabled_goes_to_the_end),
        cmocka_unit_test(star_removes_all_defaults),
        cmocka_unit_test(a_point_may_disable_what_multi_point_brings),
        cmocka_unit_test(plugins_named_at_a_point_that_multi_point_has_go_first),
        cmocka_unit_test(a_points_weight_wins),
        cmocka_unit_test(an_old_plugin_lacks_what_came_later),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("framework", tests, NULL, NULL);
}
