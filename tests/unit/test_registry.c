/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: names are unique, and errors change nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"
#include "engine/config/registry.h"
#include "plugins/registry.h"

#define HEAD(n) .abi = BERTH_ABI, .struct_size = sizeof(struct berth_plugin), .name = (n)
static const struct berth_plugin a = {HEAD("A")}, b = {HEAD("B")}, c = {HEAD("C")};
static const struct berth_plugin other_a = {HEAD("A")}, nameless = {HEAD("")}, null = {HEAD(NULL)};

static const struct berth_plugin *const in_tree[] = {&a, &b, NULL};
static const struct plugin_ref defaults[] = {{STR_INIT("A"), NULL}};
static const struct registry base = {
    .plugins = in_tree, .defaults = defaults, .n_defaults = ARRAY_LEN(defaults)};

static void assert_names(const struct registry *r, const char *names)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; r->plugins[i]; i++)
        buf_add_printf(&text, "%s%s", i ? " " : "", r->plugins[i]->name);
    assert_string_equal(buf_cstr(&text), names);
    buf_release(&text);
}

static void begin(struct registry *r)
{
    registry_init(r, &base);
    assert_names(r, "A B");
}

static void plugins_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(registry_find(&base, STR("B")), &b);
    assert_null(registry_find(&base, STR("C")));
    assert_null(registry_find(&base, STR("AB")));
    assert_null(registry_find(&base, STR("")));
}

static void a_copy_has_what_its_base_has(void **state)
{
    (void)state;
    struct registry r;
    begin(&r);
    assert_ptr_equal(r.defaults, defaults);
    assert_int_equal(r.n_defaults, 1);
    assert_int_equal(registry_register(&r, &c, NULL), 0);
    assert_names(&r, "A B C");
    assert_string_equal(registry_find(&r, STR("C"))->name, "C");
    assert_names(&base, "A B");
    registry_release(&r);
}

static void a_name_is_given_once(void **state)
{
    (void)state;
    struct registry r;
    struct err err = {0};
    begin(&r);
    assert_int_equal(registry_register(&r, &other_a, &err), -EEXIST);
    assert_string_equal(err.msg, "a plugin named A already exists");
    assert_ptr_equal(registry_find(&r, STR("A")), &a);
    assert_names(&r, "A B");
    registry_release(&r);
}

static void a_plugin_without_a_name_is_refused(void **state)
{
    (void)state;
    struct registry r;
    struct err err = {0};
    begin(&r);
    assert_int_equal(registry_register(&r, &nameless, &err), -EINVAL);
    assert_int_equal(registry_register(&r, &null, &err), -EINVAL);
    assert_string_equal(err.msg, "a plugin needs a name");
    assert_names(&r, "A B");
    registry_release(&r);
}

static void what_was_unregistered_is_gone_and_may_come_back(void **state)
{
    (void)state;
    struct registry r;
    begin(&r);
    assert_int_equal(registry_unregister(&r, STR("A"), NULL), 0);
    assert_names(&r, "B");
    assert_null(registry_find(&r, STR("A")));
    assert_int_equal(registry_register(&r, &other_a, NULL), 0);
    assert_names(&r, "B A");
    assert_ptr_not_equal(registry_find(&r, STR("A")), &a);
    assert_int_equal(registry_unregister(&r, STR("B"), NULL), 0);
    assert_int_equal(registry_unregister(&r, STR("A"), NULL), 0);
    assert_names(&r, "");
    registry_release(&r);
}

static void only_what_exists_is_unregistered(void **state)
{
    (void)state;
    struct registry r;
    struct err err = {0};
    begin(&r);
    assert_int_equal(registry_unregister(&r, STR("C"), &err), -ENOENT);
    assert_string_equal(err.msg, "no plugin named C exists");
    assert_names(&r, "A B");
    registry_release(&r);
}

static void a_merge_adds_all_or_nothing(void **state)
{
    (void)state;
    struct registry r;
    struct err err = {0};
    begin(&r);
    assert_int_equal(registry_merge(&r, (const struct berth_plugin *[]){NULL}, &err), 0);
    assert_names(&r, "A B");
    assert_int_equal(registry_merge(&r, (const struct berth_plugin *[]){&c, &other_a, NULL}, &err),
                     -EEXIST);
    assert_string_equal(err.msg, "a plugin named A already exists");
    assert_names(&r, "A B");
    assert_int_equal(registry_merge(&r, (const struct berth_plugin *[]){&c, &c, NULL}, &err),
                     -EEXIST);
    assert_string_equal(err.msg, "a plugin named C already exists");
    assert_names(&r, "A B");
    assert_int_equal(registry_merge(&r, (const struct berth_plugin *[]){&c, NULL}, &err), 0);
    assert_names(&r, "A B C");
    registry_release(&r);
}

static void many_plugins_fit(void **state)
{
    (void)state;
    static struct berth_plugin many[500];
    static char names[500][8];
    const struct berth_plugin *list[501] = {0};
    struct registry r;
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        many[i] = (struct berth_plugin){HEAD(names[i])};
        list[i] = &many[i];
    }
    begin(&r);
    assert_int_equal(registry_merge(&r, list, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        assert_ptr_equal(registry_find(&r, str_of(names[i]))->name, names[i]);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        assert_int_equal(registry_unregister(&r, str_of(names[i]), NULL), 0);
    assert_names(&r, "A B");
    registry_release(&r);
}

/* berth's own names are reserved: NodeName cannot be replaced by accident. */
static void the_plugins_inside_berth_are_all_different(void **state)
{
    (void)state;
    const struct registry nothing = {.plugins = (const struct berth_plugin *const[]){NULL}};
    struct registry r;
    registry_init(&r, &nothing);
    assert_int_equal(registry_merge(&r, in_tree_registry.plugins, NULL), 0);
    for (size_t i = 0; i < in_tree_registry.n_defaults; i++)
        assert_int_not_equal(plugin_points(&r, in_tree_registry.defaults[i].name), PLUGIN_UNKNOWN);
    registry_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugins_are_found_by_name),
        cmocka_unit_test(a_copy_has_what_its_base_has),
        cmocka_unit_test(a_name_is_given_once),
        cmocka_unit_test(a_plugin_without_a_name_is_refused),
        cmocka_unit_test(what_was_unregistered_is_gone_and_may_come_back),
        cmocka_unit_test(only_what_exists_is_unregistered),
        cmocka_unit_test(a_merge_adds_all_or_nothing),
        cmocka_unit_test(many_plugins_fit),
        cmocka_unit_test(the_plugins_inside_berth_are_all_different),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
