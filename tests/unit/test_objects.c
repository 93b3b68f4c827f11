/* SPDX-License-Identifier: Apache-2.0 */
/* objects: a lookup returns the last version. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/index/objects.h"
#include "engine_fixture.h"
#include "prop.h"

static const enum kind_id kinds[] = {KIND_SERVICE, KIND_REPLICA_SET, KIND_NAMESPACE};
/* "a" with "b/c" and "a/b" with "c" would be equal, but names have no slash. */
static const char *const namespaces[] = {"", "a", "ab", "b"};
static const char *const names[] = {"x", "y", "xy", "ax", "z"};

#define N_KINDS      ARRAY_LEN(kinds)
#define N_NAMESPACES ARRAY_LEN(namespaces)
#define N_NAMES      ARRAY_LEN(names)

/* The expected contents: objects in order of addition. */
struct model {
    VEC(struct object *) all;
    uint64_t changes;
};

static struct object *make(size_t kind, size_t namespace, size_t name, int version)
{
    return OBJECT(kinds[kind], .name = names[name], .namespace = namespaces[namespace],
                  .version = textf("%d", version));
}

static bool is_same(const struct object *a, enum kind_id kind, struct str namespace,
                    struct str name)
{
    return object_kind(a)->id == kind && str_eq(object_meta(a)->namespace, namespace) &&
           str_eq(object_meta(a)->name, name);
}

static size_t find(const struct model *m, enum kind_id kind, struct str namespace, struct str name)
{
    size_t i = 0;
    while (i < m->all.n && !is_same(m->all.v[i], kind, namespace, name))
        i++;
    return i;
}

static bool list_has(const object_list *list, const struct object *object)
{
    for (size_t i = 0; list && i < list->n; i++)
        if (list->v[i] == object)
            return true;
    return false;
}

static bool check_list(const struct model *m, const struct objects *o, enum kind_id kind,
                       struct str namespace)
{
    const object_list *list = objects_in(o, kind, namespace);
    size_t n = 0;
    for (size_t i = 0; i < m->all.n; i++) {
        const struct object *expected = m->all.v[i];
        if (object_kind(expected)->id != kind ||
            !str_eq(object_meta(expected)->namespace, namespace))
            continue;
        n++;
        if (!list_has(list, expected))
            return false;
    }
    return list ? n == list->n && n > 0 : n == 0;
}

static bool check(const struct model *m, struct objects *o)
{
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t s = 0; s < N_NAMESPACES; s++) {
            struct str namespace = str_of(namespaces[s]);
            if (!check_list(m, o, kinds[k], namespace))
                return false;
            for (size_t i = 0; i < N_NAMES; i++) {
                size_t at = find(m, kinds[k], namespace, str_of(names[i]));
                struct object *expected = at < m->all.n ? m->all.v[at] : NULL;
                if (objects_get(o, kinds[k], namespace, str_of(names[i])) != expected)
                    return false;
            }
        }
    return true;
}

/* Adds, changes or deletes one object; deletes also missing ones. */
static void step(struct model *m, struct objects *o, struct rand *r, int version)
{
    size_t kind = rand_below(r, N_KINDS), name = rand_below(r, N_NAMES);
    size_t namespace = rand_below(r, N_NAMESPACES);
    struct object *object = make(kind, namespace, name, version);
    size_t at = find(m, kinds[kind], str_of(namespaces[namespace]), str_of(names[name]));
    bool known = at < m->all.n;
    if (rand_below(r, 3) == 0) {
        /* A deletion's object need not be the one that was kept. */
        objects_changed(o, object, NULL);
        if (known) {
            object_unref(m->all.v[at]);
            vec_remove(&m->all, at);
        }
        object_unref(object);
        return;
    }
    objects_changed(o, known ? m->all.v[at] : NULL, object);
    if (known) {
        object_unref(m->all.v[at]);
        m->all.v[at] = object;
    } else {
        vec_push(&m->all, object);
    }
}

static bool says_what_was_said(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct model m = {0};
    struct objects o;
    bool ok = true;
    objects_init(&o);
    for (size_t i = 0; ok && i < 2 * size; i++) {
        uint64_t changes = o.changes;
        step(&m, &o, r, (int)i);
        ok = o.changes > changes && check(&m, &o);
    }
    objects_release(&o);
    for (size_t i = 0; i < m.all.n; i++)
        object_unref(m.all.v[i]);
    vec_release(&m.all);
    return ok;
}

static void what_is_looked_up_is_what_was_said(void **state)
{
    (void)state;
    assert_true(prop_run("objects are those last told of", 200, says_what_was_said, NULL));
}

static void nothing_is_found_in_nothing(void **state)
{
    (void)state;
    struct objects o;
    objects_init(&o);
    assert_null(objects_get(&o, KIND_SERVICE, STR("a"), STR("x")));
    assert_null(objects_in(&o, KIND_SERVICE, STR("a")));
    struct object *gone = make(0, 1, 0, 1);
    objects_changed(&o, gone, NULL);
    assert_null(objects_in(&o, KIND_SERVICE, STR("a")));
    object_unref(gone);
    objects_release(&o);
}

/* Only changes of the kind in question increase its count. */
static void kinds_change_by_themselves(void **state)
{
    (void)state;
    struct objects o;
    objects_init(&o);
    struct object *service = make(0, 1, 0, 1);
    uint64_t services = o.kind_changes[KIND_SERVICE], sets = o.kind_changes[KIND_REPLICA_SET];
    objects_changed(&o, NULL, service);
    assert_true(o.kind_changes[KIND_SERVICE] > services);
    assert_true(o.kind_changes[KIND_REPLICA_SET] == sets);
    object_unref(service);
    objects_release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_looked_up_is_what_was_said),
        cmocka_unit_test(nothing_is_found_in_nothing),
        cmocka_unit_test(kinds_change_by_themselves),
    };
    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
