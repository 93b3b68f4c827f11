/* SPDX-License-Identifier: Apache-2.0 */
/* Server-side apply: what upstream's field manager answers, and the rules around it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/patch/apply.h"
#include "base/err.h"
#include "golden.h"

struct fixture {
    struct arena a;
    struct resources *resources;
    struct resource custom;
};

static int setup(void **state)
{
    struct fixture *f = xnew(struct fixture);

    arena_init(&f->a, 0);
    f->resources = resources_new();
    f->custom = (struct resource){
        .group = STR("example.com"),
        .version = STR("v1"),
        .api_version = STR("example.com/v1"),
        .plural = STR("widgets"),
        .kind = STR("Widget"),
    };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    resources_free(f->resources);
    arena_release(&f->a);
    free(f);
    return 0;
}

/* The resource of a kind without subresources, as upstream's test manager has none. */
static struct resource resource_named(struct fixture *f, struct str kind, struct str api_version)
{
    const struct resource *r = resources_find_kind(f->resources, api_version, kind);
    struct resource copy;

    if (str_is(kind, "Widget"))
        return f->custom;
    assert_non_null(r);
    copy = *r;
    copy.subresources = NULL;
    return copy;
}

static struct str text_of(const struct json_value *v, struct arena *a)
{
    struct buf out = BUF_INIT;
    struct str text;

    json_write(v, &out);
    text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

/* Upstream's message, but for the prefix of the registry. */
static struct str conflict_text(const struct apply_conflicts *c, struct arena *a)
{
    struct buf out = BUF_INIT;
    struct str text;

    for (size_t i = 0; i < c->n; i++)
        buf_add_printf(&out, "%s%.*s", i ? "\n" : "", STR_ARG(c->v[i].field));
    text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

/* Every path of the conflicts is in upstream's message, which has as many. */
static void check_conflicts(const struct apply_conflicts *c, struct str want)
{
    size_t n = 0;

    for (size_t i = 0; i < want.n; i++)
        n += i + 2 < want.n && memcmp(want.p + i, "\n- ", 3) == 0;
    assert_int_equal(n ? n : 1, c->n);
    for (size_t i = 0; i < c->n; i++)
        if (str_search(want, c->v[i].field) == want.n)
            fail_msg("%.*s is not in %.*s", STR_ARG(c->v[i].field), STR_ARG(want));
}

static void check_step(struct fixture *f, const struct json_value *step, struct str kind,
                       struct json_value *live, bool *has_live)
{
    const struct json_value *object = json_get(step, STR("object"));
    struct resource r = resource_named(f, kind, json_get_text(object, STR("apiVersion")));
    struct str error = json_get_text(step, STR("error"));
    struct apply_request req = {
        .resource = &r,
        .live = *has_live ? live : NULL,
        .manager = json_get_text(step, STR("manager")),
        .force = json_bool_at(step, "force", false),
    };
    struct json_value got;
    struct apply_conflicts conflicts = {0};
    struct err err = {0};
    int result = 0;

    if (json_bool_at(step, "apply", false)) {
        result = apply_patch(&req, object, &f->a, &got, &conflicts, &err);
    } else {
        got = json_copy(object, &f->a);
        apply_track_update(&req, &got, &f->a);
    }
    if (!str_empty(error)) {
        assert_int_equal(result, -EEXIST);
        check_conflicts(&conflicts, error);
        return;
    }
    if (result < 0)
        fail_msg("%d %s %s", result, err.msg, conflict_text(&conflicts, &f->a).p);
    if (!json_value_equal(&got, json_get(step, STR("want"))))
        fail_msg("live: %s\nobject: %s\ngot:  %s\nwant: %s",
                 *has_live ? text_of(live, &f->a).p : "none", text_of(object, &f->a).p,
                 text_of(&got, &f->a).p, text_of(json_get(step, STR("want")), &f->a).p);
    *live = got;
    *has_live = true;
}

static void check_section(struct fixture *f, const char *name)
{
    struct json_value table = golden_tree("apply.json", &f->a);
    struct json_items rows = json_items_at(&table, name);

    assert_true(rows.n >= 30);
    for (size_t i = 0; i < rows.n; i++) {
        struct json_items steps = json_items_at(&rows.v[i], "steps");
        struct json_value live;
        bool has_live = false;

        for (size_t j = 0; j < steps.n; j++)
            check_step(f, &steps.v[j], json_get_text(&rows.v[i], STR("kind")), &live, &has_live);
    }
}

static void test_typed(void **state)
{
    check_section(*state, "typed");
}

static void test_custom(void **state)
{
    check_section(*state, "custom");
}

/* --- single rules ----------------------------------------------------------------------------- */

static struct json_value must_apply(struct fixture *f, const struct apply_request *req,
                                    const char *config)
{
    struct json_value object = json_literal(config, &f->a), got;
    struct apply_conflicts conflicts = {0};
    struct err err = {0};
    int r = apply_patch(req, &object, &f->a, &got, &conflicts, &err);

    if (r < 0)
        fail_msg("%d %s %s", r, err.msg, conflict_text(&conflicts, &f->a).p);
    return got;
}

#define CONFIG(data) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}," data "}"

static void test_time(void **state)
{
    struct fixture *f = *state;
    const struct resource *r = resources_find_kind(f->resources, STR("v1"), STR("ConfigMap"));
    struct apply_request req = {
        .resource = r, .manager = STR("m"), .time = STR("2026-01-01T00:00:00Z")};
    struct json_value live = must_apply(f, &req, CONFIG("\"data\":{\"a\":\"1\"}")), got;

    assert_string_equal(json_text_at(&json_at(&live, "metadata.managedFields")->items[0], "time").p,
                        "2026-01-01T00:00:00Z");
    req.live = &live;
    req.time = STR("2026-02-02T00:00:00Z");
    got = must_apply(f, &req, CONFIG("\"data\":{\"a\":\"1\"}"));
    assert_true(json_value_equal(&got, &live)); /* nothing changed: the time stays */
    got = must_apply(f, &req, CONFIG("\"data\":{\"a\":\"2\"}"));
    assert_string_equal(json_text_at(&json_at(&got, "metadata.managedFields")->items[0], "time").p,
                        "2026-02-02T00:00:00Z");
}

static void test_errors(void **state)
{
    static const struct {
        const char *config, *error;
        int code;
    } rows[] = {
        {CONFIG("\"metadata\":{\"name\":\"x\",\"managedFields\":[]}"),
         "metadata.managedFields must be nil", -EINVAL},
        {CONFIG("\"nope\":1"),
         "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .nope: field not declared "
         "in schema",
         -EBADMSG},
        {CONFIG("\"data\":[1]"),
         "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .data: expected map, got "
         "&{[1]}",
         -EBADMSG},
        {CONFIG("\"data\":{\"a\":1,\"b\":2}"),
         "failed to create typed patch object (/x; /v1, Kind=ConfigMap): errors:\n  .data.a: "
         "expected string, got &value.valueUnstructured{Value:1}\n  .data.b: expected string, got "
         "&value.valueUnstructured{Value:2}",
         -EBADMSG},
    };
    struct fixture *f = *state;
    struct apply_request req = {.resource =
                                    resources_find_kind(f->resources, STR("v1"), STR("ConfigMap")),
                                .manager = STR("m")};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_value object = json_literal(rows[i].config, &f->a), got;
        struct apply_conflicts conflicts;
        struct err err = {0};

        assert_int_equal(apply_patch(&req, &object, &f->a, &got, &conflicts, &err), rows[i].code);
        assert_string_equal(err.msg, rows[i].error);
    }
}

/* At most ten updaters; what is older is one entry. */
static void test_cap(void **state)
{
    struct fixture *f = *state;
    struct json_value live = json_literal(CONFIG("\"data\":{}"), &f->a), next;
    struct json_items entries;
    struct apply_request req = {.resource =
                                    resources_find_kind(f->resources, STR("v1"), STR("ConfigMap"))};

    for (int i = 0; i < 15; i++) {
        next = json_copy(&live, &f->a);
        req.live = i ? &live : NULL;
        req.manager = arena_printf(&f->a, "m%02d", i);
        req.time = arena_printf(&f->a, "2026-01-01T00:00:%02dZ", i);
        json_set(json_member(&next, STR("data")), arena_printf(&f->a, "k%d", i), json_text(STR("")),
                 &f->a);
        apply_track_update(&req, &next, &f->a);
        live = next;
    }
    entries = json_items_at(&live, "metadata.managedFields");
    assert_int_equal(entries.n, 10);
    assert_string_equal(json_text_at(&entries.v[0], "manager").p, "ancient-changes");
    assert_non_null(json_at(&entries.v[0], "fieldsV1.f:data.f:k0"));
    assert_string_equal(json_text_at(&entries.v[9], "manager").p, "m14");
}

/* [{}] removes the managed fields; an object without them gets none by updates. */
static void test_reset(void **state)
{
    struct fixture *f = *state;
    struct json_value live = json_literal(CONFIG("\"data\":{\"a\":\"1\"}"), &f->a), next;
    struct apply_request req = {.resource =
                                    resources_find_kind(f->resources, STR("v1"), STR("ConfigMap")),
                                .manager = STR("m")};

    apply_track_update(&req, &live, &f->a);
    json_set_at(&live, "metadata.uid", json_text(STR("u")), &f->a);
    assert_int_equal(json_items_at(&live, "metadata.managedFields").n, 1);
    next = json_copy(&live, &f->a);
    json_set_at(&next, "metadata.managedFields", json_literal("[{}]", &f->a), &f->a);
    req.live = &live;
    apply_track_update(&req, &next, &f->a);
    assert_null(json_at(&next, "metadata.managedFields"));
    live = json_copy(&next, &f->a);
    json_set_at(&next, "data.b", json_text(STR("")), &f->a);
    apply_track_update(&req, &next, &f->a);
    assert_null(json_at(&next, "metadata.managedFields"));
    /* The first apply gives the rest to before-first-apply. */
    next = must_apply(f, &req, CONFIG("\"data\":{\"c\":\"1\"}"));
    assert_int_equal(json_items_at(&next, "metadata.managedFields").n, 2);
    assert_string_equal(
        json_text_at(&json_at(&next, "metadata.managedFields")->items[1], "manager").p,
        "before-first-apply");
}

/* kubectl takes over what its client-side apply has set. */
static void test_last_applied(void **state)
{
    struct fixture *f = *state;
    struct json_value live = json_literal(
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"annotations\""
        ":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"apiVersion\\\":\\\"v1\\\","
        "\\\"kind\\\":\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"x\\\"},\\\"data\\\":{"
        "\\\"a\\\":\\\"1\\\"}}\\n\"}},\"data\":{\"a\":\"1\",\"b\":\"1\"}}",
        &f->a);
    struct json_value got, object = json_literal(CONFIG("\"data\":{\"b\":\"2\"}"), &f->a);
    struct apply_request req = {.resource =
                                    resources_find_kind(f->resources, STR("v1"), STR("ConfigMap")),
                                .manager = STR("kubectl-client-side-apply")};
    struct apply_conflicts conflicts = {0};
    struct err err;

    apply_track_update(&req, &live, &f->a);
    req.live = &live;
    req.manager = STR("kubectl");
    got = must_apply(f, &req, CONFIG("\"data\":{\"a\":\"2\"}"));
    assert_string_equal(json_text_at(&got, "data.a").p, "2");
    assert_true(str_search(json_get_text(json_at(&got, "metadata.annotations"),
                                         STR("kubectl.kubernetes.io/last-applied-configuration")),
                           STR("\"a\":\"2\"")) > 0);
    assert_int_equal(apply_patch(&req, &object, &f->a, &got, &conflicts, &err), -EEXIST);
    assert_int_equal(conflicts.n, 1);
    assert_string_equal(conflicts.v[0].field.p, ".data.b");
}

/* The status belongs to the status subresource. */
static void test_subresource(void **state)
{
    struct fixture *f = *state;
    struct json_value got;
    struct apply_request req = {
        .resource = resources_find_kind(f->resources, STR("v1"), STR("Pod")), .manager = STR("m")};

    got = must_apply(f, &req,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"},"
                     "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}");
    assert_int_equal(json_items_at(&got, "metadata.managedFields").n, 1);
    assert_string_equal(
        text_of(json_at(&json_at(&got, "metadata.managedFields")->items[0], "fieldsV1"), &f->a).p,
        "{\"f:spec\":{\"f:nodeName\":{}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_typed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_custom, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_last_applied, setup, teardown),
        cmocka_unit_test_setup_teardown(test_subresource, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
