/* SPDX-License-Identifier: Apache-2.0 */
/* ABI 1 is frozen: what was compiled with its first header keeps working. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine_fixture.h"
#include "plugin_1_0.h"
#include "plugins/registry.h"
#include "puppet.h"

#define ROW(s, m) {#s "." #m, offsetof(struct s, m), sizeof(((struct s *)NULL)->m)},
static const struct member_1_0 now[] = {
#include "../plugins/plugin-1.0.rows"
};

static void no_member_has_moved(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_LEN(now), n_members_1_0);
    for (size_t i = 0; i < n_members_1_0; i++) {
        assert_string_equal(now[i].name, members_1_0[i].name);
        if (now[i].offset != members_1_0[i].offset || now[i].size != members_1_0[i].size)
            fail_msg("%s was at %zu with %zu bytes, and is at %zu with %zu", now[i].name,
                     members_1_0[i].offset, members_1_0[i].size, now[i].offset, now[i].size);
    }
}

/* Numbers that plugins are compiled with. */
static void no_number_has_changed(void **state)
{
    (void)state;
    assert_int_equal(BERTH_ABI_MAJOR, 1);
    assert_int_equal(BERTH_PENDING, 6);
    assert_int_equal(BERTH_ASYNC, 100);
    assert_int_equal(BERTH_RESOURCE_POD_GROUP, 14);
    assert_int_equal(BERTH_RESOURCE_ALL, 15);
    assert_int_equal(BERTH_ACTION_ALL, (1 << 14) - 1);
    assert_int_equal(BERTH_VALUE_TIME, 9);
    assert_int_equal(BERTH_ARG_JSON, 8);
    assert_int_equal(BERTH_PLUGIN_PARALLEL_PRE_BIND, 2);
    assert_int_equal(sizeof(struct berth_value), 72);
    assert_int_equal(sizeof(struct berth_error), 256);
}

static void an_old_plugin_loads_and_works(void **state)
{
    (void)state;
    struct fixture f;
    struct registry registry;
    struct err err = {0};
    registry_init(&registry, &in_tree_registry);
    assert_int_equal(registry_register(&registry, &plugin_1_0, &err), 0);
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {multiPoint: {enabled: [{name: Old}]}}\n"
                 "  pluginConfig: [{name: Old, args: {least: 4000}}]\n",
                 &registry);
    ADD_NODE(&f, .name = "small", .cpu = "2", .memory = "8Gi");
    ADD_NODE(&f, .name = "large", .cpu = "8", .memory = "8Gi");
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "large");
    assert_int_equal(plugin_1_0_filtered, 2);
    assert_int_equal(plugin_1_0_bound, 1);
    fixture_release(&f);
    registry_release(&registry);
}

/* A plugin of a later header is larger: the rest is not read. */
static void a_newer_plugin_loads_too(void **state)
{
    (void)state;
    struct {
        struct berth_plugin plugin;
        void *more[4];
    } newer = {.plugin = {BERTH_PLUGIN_HEAD("Newer", "9")}};
    struct registry registry;
    newer.plugin.struct_size = sizeof(newer);
    newer.plugin.abi = BERTH_ABI + 7;
    registry_init(&registry, &in_tree_registry);
    assert_int_equal(registry_register(&registry, &newer.plugin, NULL), 0);
    assert_int_equal(registry_find(&registry, STR("Newer"))->struct_size,
                     sizeof(struct berth_plugin));
    registry_release(&registry);
}

static void what_is_no_plugin_is_refused(void **state)
{
    (void)state;
    struct registry registry;
    struct err err = {0};
    struct berth_plugin other = {BERTH_PLUGIN_HEAD("X", "1")}, tiny = other;
    other.abi = 2u << 16;
    tiny.struct_size = 8;
    registry_init(&registry, &in_tree_registry);
    assert_int_equal(registry_register(&registry, &other, &err), -EINVAL);
    assert_string_equal(err.msg, "plugin \"X\" was built for ABI 2, this berth has ABI 1: build it "
                                 "with this berth's header");
    assert_int_equal(registry_register(&registry, &tiny, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "plugin \"X\": its struct_size is 8"));
    registry_release(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_member_has_moved),           cmocka_unit_test(no_number_has_changed),
        cmocka_unit_test(an_old_plugin_loads_and_works), cmocka_unit_test(a_newer_plugin_loads_too),
        cmocka_unit_test(what_is_no_plugin_is_refused),
    };
    return cmocka_run_group_tests_name("plugin_abi", tests, NULL, NULL);
}
