/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection on the real registry. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "lifecycle_scene.h"
#include "prop.h"

/* A config map with owner references: "a", "!a" (blockOwnerDeletion), several with spaces. */
static void add(struct scene *s, const char *name, const char *owners)
{
    struct buf body = BUF_INIT;
    struct str rest = str_of(owners), owner;
    bool first = true;
    buf_add_printf(&body, "{'metadata':{'name':'%s','ownerReferences':[", name);
    while (*owners && str_split(&rest, ' ', &owner)) {
        bool blocks = owner.p[0] == '!';
        owner = str_slice(owner, blocks, owner.n);
        char *text = str_dup(owner);
        char *uid = xstrdup(scene_at(s, "configmaps", text, "metadata.uid"));
        buf_add_printf(&body,
                       "%s{'apiVersion':'v1','kind':'ConfigMap','name':'%s','uid':'%s',"
                       "'blockOwnerDeletion':%s}",
                       first ? "" : ",", text, *uid ? uid : "absent", blocks ? "true" : "false");
        first = false;
        free(uid);
        free(text);
    }
    buf_add_cstr(&body, "]}}");
    scene_do(s, API_CREATE, "configmaps", NULL, buf_cstr(&body));
    buf_release(&body);
}

static void delete(struct scene *s, const char *name, const char *policy)
{
    char *options = xasprintf("{'propagationPolicy':'%s'}", policy);
    scene_do(s, API_DELETE, "configmaps", name, options);
    free(options);
}

static const char *owners(struct scene *s, const char *name)
{
    struct buf b = BUF_INIT;
    assert_true(scene_has(s, "configmaps", name));
    struct json_items refs = json_items_at(kit_tree(&s->kit), "metadata.ownerReferences");
    for (size_t i = 0; i < refs.n; i++)
        buf_add_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(json_get_text(&refs.v[i], STR("name"))));
    const char *text = arena_dup(&s->kit.arena, buf_str(&b)).p;
    buf_release(&b);
    return text;
}

static void test_background(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add(&s, "a", "");
    add(&s, "b", "a");
    add(&s, "c", "b");
    add(&s, "d", "c a"); /* a diamond */
    add(&s, "other", "");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_true(scene_has(&s, "configmaps", "d"));
    delete (&s, "a", "Background");
    assert_false(scene_has(&s, "configmaps", "a"));
    assert_true(scene_has(&s, "configmaps", "b"));
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "b"));
    assert_false(scene_has(&s, "configmaps", "c"));
    assert_false(scene_has(&s, "configmaps", "d"));
    assert_true(scene_has(&s, "configmaps", "other"));
    scene_end(&s);
}

static void test_dangling_and_solid(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add(&s, "a", "");
    add(&s, "b", "");
    add(&s, "c", "a b");
    add(&s, "d", "nothing");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "d")); /* its owner does not exist */
    delete (&s, "a", "Background");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_string_equal(owners(&s, "c"), "b");
    delete (&s, "b", "Background");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "c"));
    scene_end(&s);
}

static void test_orphan(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add(&s, "a", "");
    add(&s, "x", "");
    add(&s, "b", "a");
    add(&s, "c", "a x");
    scene_run_for(&s, NSEC_PER_SEC);
    delete (&s, "a", "Orphan");
    assert_string_equal(scene_at(&s, "configmaps", "a", "metadata.finalizers"), "[\"orphan\"]");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "a"));
    assert_string_equal(owners(&s, "b"), "");
    assert_string_equal(owners(&s, "c"), "x");
    scene_end(&s);
}

static void test_foreground(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add(&s, "a", "");
    add(&s, "x", "");
    add(&s, "b", "!a");
    add(&s, "c", "!b");
    add(&s, "d", "!a x");
    scene_do(&s, API_PATCH_MERGE, "configmaps", "c", "{'metadata':{'finalizers':['test/hold']}}");
    scene_run_for(&s, NSEC_PER_SEC);
    delete (&s, "a", "Foreground");
    scene_run_for(&s, NSEC_PER_SEC);
    /* c holds b, which holds a; d has another owner. */
    assert_string_equal(scene_at(&s, "configmaps", "a", "metadata.finalizers"),
                        "[\"foregroundDeletion\"]");
    assert_string_equal(scene_at(&s, "configmaps", "b", "metadata.finalizers"),
                        "[\"foregroundDeletion\"]");
    assert_string_not_equal(scene_at(&s, "configmaps", "c", "metadata.deletionTimestamp"), "");
    assert_string_equal(owners(&s, "d"), "x");
    scene_do(&s, API_PATCH_MERGE, "configmaps", "c", "{'metadata':{'finalizers':null}}");
    assert_false(scene_has(&s, "configmaps", "c"));
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "b"));
    assert_false(scene_has(&s, "configmaps", "a"));
    assert_true(scene_has(&s, "configmaps", "d"));
    scene_end(&s);
}

/* What does not block is not waited for, and deleted when its owner is gone. */
static void test_foreground_without_block(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add(&s, "a", "");
    add(&s, "b", "a");
    scene_do(&s, API_PATCH_MERGE, "configmaps", "b", "{'metadata':{'finalizers':['test/hold']}}");
    delete (&s, "a", "Foreground");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "a"));
    assert_string_not_equal(scene_at(&s, "configmaps", "b", "metadata.deletionTimestamp"), "");
    scene_end(&s);
}

/* Objects that own each other and block each other's deletion go all the same. */
static void test_cycle(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    add(&s, "a", "");
    add(&s, "b", "!a");
    add(&s, "c", "!b");
    char *uid = xstrdup(scene_at(&s, "configmaps", "c", "metadata.uid"));
    char *patch = xasprintf("{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
                            "'name':'c','uid':'%s','blockOwnerDeletion':true}]}}",
                            uid);
    scene_do(&s, API_PATCH_MERGE, "configmaps", "a", patch);
    free(patch);
    free(uid);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_true(scene_has(&s, "configmaps", "a"));
    delete (&s, "a", "Foreground");
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "a"));
    assert_false(scene_has(&s, "configmaps", "b"));
    assert_false(scene_has(&s, "configmaps", "c"));
    scene_end(&s);
}

static void test_other_namespace(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_namespace(&s, "far", "");
    s.kit.request.namespace = STR("far");
    scene_do(&s, API_CREATE, "configmaps", NULL, "{'metadata':{'name':'a'}}");
    char *uid = xstrdup(kit_at(&s.kit, "metadata.uid"));
    char *body = xasprintf("{'metadata':{'name':'b','ownerReferences':[{'apiVersion':'v1','kind':"
                           "'ConfigMap','name':'a','uid':'%s'}]}}",
                           uid);
    scene_do(&s, API_CREATE, "configmaps", NULL, body);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "b"));
    assert_int_equal(scene_events(&s, "OwnerRefInvalidNamespace"), 1);
    struct json_value event;
    assert_int_equal(json_parse(s.kit.response.items[0]->text, 0, &s.kit.arena, &event, NULL), 0);
    char *expected = xasprintf("ownerRef [v1/ConfigMap, namespace: ns, name: a, uid: %s] does not "
                               "exist in namespace \"ns\"",
                               uid);
    assert_true(str_is(json_get_text(&event, STR("message")), expected));
    free(expected);
    free(body);
    free(uid);
    scene_end(&s);
}

/* Owners that are cluster-scoped; references that name another kind or name; unknown kinds. */
static void test_coordinates(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s, false);
    scene_do(&s, API_CREATE, "nodes", NULL, "{'metadata':{'name':'n1'}}");
    char *uid = xstrdup(scene_at(&s, "nodes", "n1", "metadata.uid"));
    static const struct {
        const char *name, *api_version, *kind, *owner;
        bool stays;
    } rows[] = {
        {"right", "v1", "Node", "n1", true},
        {"name", "v1", "Node", "n2", false},
        {"kind", "v1", "Namespace", "n1", false},
        {"unknown", "example.com/v1", "Thing", "n1", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *body = xasprintf("{'metadata':{'name':'%s','ownerReferences':[{'apiVersion':'%s',"
                               "'kind':'%s','name':'%s','uid':'%s'}]}}",
                               rows[i].name, rows[i].api_version, rows[i].kind, rows[i].owner, uid);
        scene_do(&s, API_CREATE, "configmaps", NULL, body);
        free(body);
    }
    /* A node cannot belong to something in a namespace. */
    add(&s, "a", "");
    char *of = xstrdup(scene_at(&s, "configmaps", "a", "metadata.uid"));
    char *body = xasprintf("{'metadata':{'name':'n3','ownerReferences':[{'apiVersion':'v1','kind':"
                           "'ConfigMap','name':'a','uid':'%s'}]}}",
                           of);
    scene_do(&s, API_CREATE, "nodes", NULL, body);
    scene_run_for(&s, NSEC_PER_SEC);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(scene_has(&s, "configmaps", rows[i].name), rows[i].stays);
    assert_true(scene_has(&s, "nodes", "n3"));
    scene_do(&s, API_DELETE, "nodes", "n1", NULL);
    scene_run_for(&s, NSEC_PER_SEC);
    assert_false(scene_has(&s, "configmaps", "right"));
    free(body);
    free(of);
    free(uid);
    scene_end(&s);
}

/* --- random graphs ---------------------------------------------------------------------------- */

#define MAX_OBJECTS 24

struct model {
    size_t n;
    bool exists[MAX_OBJECTS], owned[MAX_OBJECTS]; /* owned: had references when it was made */
    uint32_t owners[MAX_OBJECTS];                 /* bits; bit 31: an owner that never was */
};

/* Upstream's rules at rest: an object that has references and no owner that exists goes. */
static void model_rest(struct model *m)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < m->n; i++) {
            uint32_t left = 0;
            for (size_t j = 0; j < m->n; j++)
                if (m->exists[j])
                    left |= m->owners[i] & UINT32_C(1) << j;
            if (m->exists[i] && m->owners[i] && !left) {
                m->exists[i] = false;
                again = true;
            }
            if (left)
                m->owners[i] = left;
        }
    }
}

static void model_delete(struct model *m, size_t i, bool orphan)
{
    m->exists[i] = false;
    for (size_t j = 0; orphan && j < m->n; j++)
        m->owners[j] &= ~(UINT32_C(1) << i);
}

static bool random_graph(struct rand *r, size_t size, void *ctx UNUSED)
{
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    struct scene s;
    struct model m = {.n = 1 + rand_below(r, MIN(1 + size / 4, MAX_OBJECTS))};
    scene_begin(&s, false);
    s.faults = rand_below(r, 2) ? r : NULL;
    for (size_t i = 0; i < m.n; i++) {
        struct buf list = BUF_INIT;
        char name[24];
        for (size_t j = 0; j < i; j++)
            if (rand_below(r, 4) == 0) {
                buf_add_printf(&list, "%s%so%zu", list.n ? " " : "", rand_below(r, 2) ? "!" : "",
                               j);
                m.owners[i] |= UINT32_C(1) << j;
            }
        if (rand_below(r, 8) == 0) {
            buf_add_printf(&list, "%snobody", list.n ? " " : "");
            m.owners[i] |= UINT32_C(1) << 31;
        }
        snprintf(name, sizeof(name), "o%zu", i);
        add(&s, name, buf_cstr(&list));
        m.exists[i] = true;
        buf_release(&list);
    }
    scene_run_for(&s, 1000 * NSEC_PER_SEC);
    model_rest(&m);
    bool ok = true;
    for (size_t round = 0; round < 4 && ok; round++) {
        size_t i = rand_below(r, m.n), policy = rand_below(r, 3);
        char name[24];
        snprintf(name, sizeof(name), "o%zu", i);
        if (m.exists[i]) {
            delete (&s, name, policies[policy]);
            model_delete(&m, i, policy == 2);
        }
        scene_run_for(&s, 1000 * NSEC_PER_SEC);
        model_rest(&m);
        for (size_t j = 0; j < m.n; j++) {
            snprintf(name, sizeof(name), "o%zu", j);
            ok = ok && scene_has(&s, "configmaps", name) == m.exists[j];
        }
    }
    scene_end(&s);
    return ok;
}

static void test_random(void **state UNUSED)
{
    assert_true(prop_run("owner graphs", 300, random_graph, NULL));
}

/* 10,000 dependents: a write for each and one look, in every mode. */
static void test_many(void **state UNUSED)
{
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    enum { N = 10000 };
    for (size_t p = 0; p < ARRAY_LEN(policies); p++) {
        struct scene s;
        scene_begin(&s, false);
        add(&s, "a", "");
        char *uid = xstrdup(scene_at(&s, "configmaps", "a", "metadata.uid"));
        for (size_t i = 0; i < N; i++) {
            char body[256];
            snprintf(body, sizeof(body),
                     "{'metadata':{'name':'d%zu','ownerReferences':[{'apiVersion':'v1','kind':"
                     "'ConfigMap','name':'a','uid':'%s','blockOwnerDeletion':true}]}}",
                     i, uid);
            scene_do(&s, API_CREATE, "configmaps", NULL, body);
        }
        scene_run_for(&s, NSEC_PER_SEC);
        delete (&s, "a", policies[p]);
        size_t before = s.n_writes;
        scene_run_for(&s, 100 * NSEC_PER_SEC);
        assert_in_range(s.n_writes - before, N, N + 1);
        assert_false(scene_has(&s, "configmaps", "a"));
        assert_int_equal(scene_has(&s, "configmaps", "d7"), p == 2);
        free(uid);
        scene_end(&s);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_dangling_and_solid),
        cmocka_unit_test(test_orphan),
        cmocka_unit_test(test_foreground),
        cmocka_unit_test(test_foreground_without_block),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_other_namespace),
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
