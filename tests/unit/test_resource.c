/* SPDX-License-Identifier: Apache-2.0 */
/* The table of resources, and custom resources that come and go. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/types/resource.h"

static void built_in_resources_are_found(void **state)
{
    (void)state;
    struct resources *rs = resources_new();
    size_t n = 0;
    for (const struct resource *r = resources_next(rs, NULL); r; r = resources_next(rs, r), n++) {
        assert_true(r->plural.n > 0 && r->kind.n > 0 && r->version.n > 0);
        assert_ptr_equal(resources_find(rs, r->group, r->version, r->plural), r);
        assert_ptr_equal(resources_find_kind(rs, r->api_version, r->kind), r);
        assert_true(resources_has_group(rs, r->group, r->version));
        const struct schema_kind *kind = schema_kind_find(r->api_version, r->kind);
        assert_non_null(kind);
        assert_ptr_equal(kind->type, r->type);
    }
    assert_true(n > 60);
    assert_null(resources_find(rs, STR("apps"), STR("v1"), STR("pods")));
    assert_false(resources_has_group(rs, STR("apps"), STR("v1beta1")));
    assert_true(resources_has_group(rs, STR("apps"), STR("")));
    assert_null(resource_subresource(resources_named(rs, STR(""), STR("secrets")), STR("status")));
    resources_free(rs);
}

static void some_resources_share_their_objects(void **state)
{
    (void)state;
    struct resources *rs = resources_new();
    const struct resource *core = resources_named(rs, STR(""), STR("events"));
    const struct resource *events = resources_named(rs, STR("events.k8s.io"), STR("events"));
    assert_ptr_equal(resource_stored(events), core);
    assert_ptr_equal(resource_stored(core), core);
    const struct resource *v2 =
        resources_named(rs, STR("autoscaling"), STR("horizontalpodautoscalers"));
    assert_true(str_is(v2->version, "v2"));
    const struct resource *v1 = resources_find(rs, STR("autoscaling"), STR("v1"), v2->plural);
    assert_ptr_equal(resource_stored(v1), v2);
    const struct subresource *eviction =
        resource_subresource(resources_named(rs, STR(""), STR("pods")), STR("eviction"));
    assert_string_equal(eviction->api_version, "policy/v1");
    resources_free(rs);
}

static const struct resource *add(struct resources *rs, struct str version, const char *short_name)
{
    char name[16], api_version[64];
    snprintf(name, sizeof(name), "%s", short_name);
    snprintf(api_version, sizeof(api_version), "example.com/%.*s", STR_ARG(version));
    const char *const names[] = {name, NULL};
    struct resource r = {.group = STR("example.com"),
                         .version = version,
                         .api_version = str_of(api_version),
                         .plural = STR("widgets"),
                         .singular = STR("widget"),
                         .kind = STR("Widget"),
                         .list_kind = STR("WidgetList"),
                         .verbs = VERBS_ALL,
                         .short_names = names};
    return resources_add(rs, &r);
}

static size_t count(const struct resources *rs)
{
    size_t n = 0;
    for (const struct resource *r = resources_next(rs, NULL); r; r = resources_next(rs, r))
        n++;
    return n;
}

static void custom_resources_come_and_go(void **state)
{
    (void)state;
    struct resources *rs = resources_new();
    size_t before = count(rs);
    const struct resource *beta = add(rs, STR("v1beta1"), "a");
    const struct resource *v1 = add(rs, STR("v1"), "b");
    assert_int_equal(count(rs), before + 2);
    assert_ptr_equal(resources_named(rs, STR("example.com"), STR("widgets")), v1);
    assert_ptr_equal(resources_find_kind(rs, STR("example.com/v1"), STR("Widget")), v1);

    assert_ptr_equal(add(rs, STR("v1beta1"), "c"), beta);
    assert_int_equal(count(rs), before + 2);
    assert_string_equal(beta->short_names[0], "c");
    assert_string_equal(v1->short_names[0], "b");

    resources_remove(rs, v1);
    resources_remove(rs, v1);
    assert_int_equal(count(rs), before + 1);
    assert_null(resources_find(rs, STR("example.com"), STR("v1"), STR("widgets")));
    assert_null(resources_find_kind(rs, STR("example.com/v1"), STR("Widget")));
    assert_ptr_equal(resources_named(rs, STR("example.com"), STR("widgets")), beta);
    assert_true(str_is(v1->kind, "Widget"));

    assert_ptr_equal(add(rs, STR("v1"), "d"), v1);
    resources_remove(rs, beta);
    resources_remove(rs, v1);
    assert_int_equal(count(rs), before);
    assert_false(resources_has_group(rs, STR("example.com"), STR("")));

    struct resource pods = *resources_named(rs, STR(""), STR("pods"));
    assert_null(resources_add(rs, &pods));
    resources_free(rs);
}

static void versions_are_ordered_by_upstreams_rule(void **state)
{
    (void)state;
    static const char *const order[] = {"v10",      "v2",      "v1",        "v11beta2",
                                        "v10beta3", "v3beta1", "v12alpha1", "v11alpha2",
                                        "foo1",     "foo10",   "v1beta0",   "v1gamma1"};
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        for (size_t k = 0; k < ARRAY_LEN(order); k++) {
            int got = resource_version_compare(str_of(order[i]), str_of(order[k]));
            assert_int_equal(got > 0, i < k);
            assert_int_equal(got<0, i> k);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_resources_are_found),
        cmocka_unit_test(some_resources_share_their_objects),
        cmocka_unit_test(custom_resources_come_and_go),
        cmocka_unit_test(versions_are_ordered_by_upstreams_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
