/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of discovery, compared with upstream's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/types/discovery.h"
#include "codec/json_edit.h"

#define GOLDEN "tests/golden/discovery/"

struct fixture {
    struct resources *rs;
    struct arena a;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->rs = resources_new();
    arena_init(&f->a, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    resources_free(f->rs);
    arena_release(&f->a);
    free(f);
    return 0;
}

static struct json_value parse(struct fixture *f, struct buf *text)
{
    struct json_value v;
    struct err err;
    assert_int_equal(json_parse(buf_str(text), JSON_STRICT, &f->a, &v, &err), 0);
    buf_release(text);
    return v;
}

static struct json_value golden(struct fixture *f, const char *name)
{
    struct buf b = BUF_INIT;
    char path[256], chunk[4096];
    snprintf(path, sizeof(path), GOLDEN "%s.json", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s", path);
    while (!feof(file) && !ferror(file))
        buf_add(&b, chunk, fread(chunk, 1, sizeof(chunk), file));
    fclose(file);
    return parse(f, &b);
}

static const struct json_value *by_name(const struct json_value *list, const char *key,
                                        struct str name)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (str_eq(json_text_at(&list->items[i], key), name))
            return &list->items[i];
    return NULL;
}

static void same(const struct json_value *ours, const struct json_value *theirs, struct str name)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    json_write(ours, &a);
    json_write(theirs, &b);
    if (!json_value_equal(ours, theirs))
        fail_msg("%.*s:\n%s\n%s", STR_ARG(name), buf_cstr(&a), buf_cstr(&b));
    buf_release(&a);
    buf_release(&b);
}

/* Everything of ours is upstream's; what is upstream's is ours if the version is complete. */
static void compare_resources(struct fixture *f, const char *file, struct str group,
                              struct str version, bool complete)
{
    struct buf text = BUF_INIT;
    assert_true(discovery_resources(f->rs, group, version, &text));
    struct json_value ours = parse(f, &text), theirs = golden(f, file);
    struct json_value *mine = json_member(&ours, STR("resources"));
    struct json_value *list = json_member(&theirs, STR("resources"));
    for (size_t i = 0; i < list->n; i++) {
        struct str name = json_text_at(&list->items[i], "name");
        const struct json_value *r = by_name(mine, "name", name);
        if (!r && complete)
            fail_msg("%s has %.*s", file, STR_ARG(name));
        if (r)
            same(r, &list->items[i], name);
    }
    for (size_t i = 0; i < mine->n; i++)
        assert_non_null(by_name(list, "name", json_text_at(&mine->items[i], "name")));
    json_set(&ours, STR("resources"), json_null(), &f->a);
    json_set(&theirs, STR("resources"), json_null(), &f->a);
    same(&ours, &theirs, str_of(file));
}

static void resources_of_every_version(void **state)
{
    struct fixture *f = *state;
    size_t n;
    const struct discovery_group *groups = discovery_group_list(f->rs, &f->a, &n);
    assert_true(n > 15);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < groups[i].n_versions; k++) {
            struct str group = groups[i].name, version = groups[i].versions[k];
            char file[128];
            snprintf(file, sizeof(file), group.n ? "apis__%.*s__%.*s" : "api%.*s__%.*s",
                     STR_ARG(group), STR_ARG(version));
            compare_resources(f, file, group, version,
                              !str_is(version, "v1beta2") || !str_is(group, "resource.k8s.io"));
        }
}

static void aggregated(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT;
    discovery_aggregated(f->rs, false, &text);
    struct json_value ours = parse(f, &text), theirs = golden(f, "aggregated_v2");
    const struct json_value *groups = json_get(&ours, STR("items"));
    const struct json_value *upstream = json_get(&theirs, STR("items"));
    for (size_t i = 0; i < groups->n; i++) {
        struct str name = json_text_at(&groups->items[i], "metadata.name");
        const struct json_value *group = by_name(upstream, "metadata.name", name);
        assert_non_null(group);
        const struct json_value *versions = json_get(&groups->items[i], STR("versions"));
        for (size_t k = 0; k < versions->n; k++) {
            const struct json_value *v = &versions->items[k];
            const struct json_value *version =
                by_name(json_get(group, STR("versions")), "version", json_text_at(v, "version"));
            const struct json_value *resources = json_get(v, STR("resources"));
            for (size_t j = 0; j < resources->n; j++) {
                struct str plural = json_text_at(&resources->items[j], "resource");
                same(&resources->items[j],
                     by_name(json_get(version, STR("resources")), "resource", plural), plural);
            }
        }
    }
    discovery_aggregated(f->rs, true, &text);
    ours = parse(f, &text);
    groups = json_get(&ours, STR("items"));
    assert_int_equal(groups->n, 1);
    assert_null(json_at(&groups->items[0], "metadata.name"));
}

static void groups(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT;
    assert_true(discovery_group(f->rs, STR("autoscaling"), &text));
    struct json_value ours = parse(f, &text), theirs = golden(f, "apis__autoscaling");
    same(&ours, &theirs, STR("autoscaling"));
    discovery_groups(f->rs, &text);
    ours = parse(f, &text);
    const struct json_value *group =
        by_name(json_get(&ours, STR("groups")), "name", STR("autoscaling"));
    assert_true(str_is(json_text_at(group, "preferredVersion.groupVersion"), "autoscaling/v2"));
    assert_null(by_name(json_get(&ours, STR("groups")), "name", STR("")));

    assert_false(discovery_group(f->rs, STR(""), &text));
    assert_false(discovery_group(f->rs, STR("example.com"), &text));
    assert_false(discovery_resources(f->rs, STR("apps"), STR("v1beta1"), &text));
    assert_false(discovery_resources(f->rs, STR("apps"), STR(""), &text));
    assert_int_equal(text.n, 0);
    discovery_versions(STR("127.0.0.1:6443"), &text);
    ours = parse(f, &text);
    assert_true(str_is(json_text_at(&ours, "kind"), "APIVersions"));
}

/* Versions of a custom resource are listed by upstream's rule, whatever their order. */
static void custom_groups(void **state)
{
    struct fixture *f = *state;
    static const char *const versions[] = {"v1alpha1", "v1", "v1beta1"};
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        resources_add(f->rs, &(struct resource){.group = STR("example.com"),
                                                .version = str_of(versions[i]),
                                                .plural = STR("widgets"),
                                                .kind = STR("Widget"),
                                                .verbs = VERB_GET});
    struct buf text = BUF_INIT;
    assert_true(discovery_group(f->rs, STR("example.com"), &text));
    struct json_value group = parse(f, &text);
    const struct json_value *list = json_get(&group, STR("versions"));
    static const char *const want[] = {"v1", "v1beta1", "v1alpha1"};
    assert_int_equal(list->n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(str_is(json_text_at(&list->items[i], "version"), want[i]));
    assert_true(discovery_resources(f->rs, STR("example.com"), STR("v1beta1"), &text));
    struct json_value resources = parse(f, &text);
    assert_int_equal(json_get(&resources, STR("resources"))->n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(resources_of_every_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(aggregated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(custom_groups, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
