/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <errno.h>

#include "apiserver/store/store.h"
#include "apiserver/store/tree.h"
#include "base/vec.h"
#include "prop.h"

static const struct resource pods = {
    .group = STR_INIT(""), .version = STR_INIT("v1"), .plural = STR_INIT("pods")};
static const struct resource nodes = {
    .group = STR_INIT(""), .version = STR_INIT("v1"), .plural = STR_INIT("nodes")};
static const struct resource jobs = {
    .group = STR_INIT("batch"), .version = STR_INIT("v1"), .plural = STR_INIT("jobs")};
/* Another struct for the same objects, as after a change of a CustomResourceDefinition. */
static const struct resource jobs_again = {
    .group = STR_INIT("batch"), .version = STR_INIT("v1"), .plural = STR_INIT("jobs")};

static const struct resource *const resources[] = {&pods, &nodes, &jobs};
/* In order: '-' is before '/'. */
static const char *const namespaces[] = {"a-b", "a", "ab", "b"};

static struct revision *make(const struct resource *r, struct str ns, struct str name,
                             uint64_t version)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "{\"v\":%llu}", (unsigned long long)version);
    return revision_new(&(struct revision_source){
        .resource = r,
        .namespace = ns,
        .name = name,
        .version = version,
        .text = {text, (size_t)n},
    });
}

static void put(struct store *store, const struct resource *r, const char *ns, const char *name)
{
    store_put(store, make(r, str_of(ns), str_of(name), store_next_version(store)));
}

static void del(struct store *store, const struct resource *r, const char *ns, const char *name)
{
    store_delete(store, make(r, str_of(ns), str_of(name), store_next_version(store)));
}

/* --- revisions -------------------------------------------------------------------------------- */

static void a_revision_copies_everything(void **state)
{
    (void)state;
    char name[] = "web", key[] = "app", value[] = "x", text[] = "{}";
    struct store_pair label = {{key, 3}, {value, 1}}, field = {STR("spec.nodeName"), STR("n1")};
    struct revision *rev = revision_new(&(struct revision_source){
        .resource = &pods,
        .namespace = STR("default"),
        .name = {name, 3},
        .version = 7,
        .text = {text, 2},
        .labels = &label,
        .n_labels = 1,
        .fields = &field,
        .n_fields = 1,
    });
    name[0] = key[0] = value[0] = text[0] = '!';
    assert_true(str_is(rev->namespace, "default"));
    assert_true(str_is(rev->name, "web"));
    assert_true(str_is(rev->text, "{}"));
    assert_true(str_is(revision_label(rev, STR("app")), "x"));
    assert_true(str_is(revision_field(rev, STR("spec.nodeName")), "n1"));
    assert_true(str_empty(revision_label(rev, STR("spec.nodeName"))));
    assert_ptr_equal(revision_ref(rev), rev);
    assert_null(revision_unref(rev));
    assert_int_equal(rev->version, 7);
    assert_null(revision_unref(rev));
    assert_null(revision_unref(NULL));
}

/* --- versions and events ---------------------------------------------------------------------- */

struct seen {
    size_t n;
    enum store_change change;
    uint64_t before, after;
};

static void on_change(void *ctx, const struct store_event *event)
{
    struct seen *seen = ctx;
    *seen = (struct seen){seen->n + 1, event->change, event->before ? event->before->version : 0,
                          event->after->version};
}

static void changes_have_versions(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct store *store = store_new(&(struct store_options){.changed = on_change, .ctx = &seen});
    assert_int_equal(store_version(store), 1);
    assert_null(store_get(store, &pods, STR("a"), STR("x")));
    put(store, &pods, "a", "x");
    assert_int_equal(seen.change, STORE_ADDED);
    assert_int_equal(seen.before, 0);
    assert_int_equal(seen.after, 2);
    put(store, &pods, "a", "x");
    assert_int_equal(seen.change, STORE_MODIFIED);
    assert_int_equal(seen.before, 2);
    assert_int_equal(seen.after, 3);
    assert_int_equal(store_get(store, &pods, STR("a"), STR("x"))->version, 3);
    assert_null(store_get(store, &jobs, STR("a"), STR("x")));
    del(store, &pods, "a", "x");
    assert_int_equal(seen.change, STORE_DELETED);
    assert_int_equal(seen.before, 3);
    assert_int_equal(seen.after, 4);
    assert_int_equal(seen.n, 3);
    assert_null(store_get(store, &pods, STR("a"), STR("x")));
    assert_int_equal(store_version(store), 4);
    store_free(store);
}

static void resources_are_the_same_by_name(void **state)
{
    (void)state;
    struct store *store = store_new(NULL);
    put(store, &jobs, "a", "x");
    struct store_watch watch;
    assert_int_equal(store_watch_init(&watch, store, &jobs, store_version(store)), 0);
    put(store, &jobs_again, "a", "x");
    put(store, &jobs_again, "a", "y");
    assert_int_equal(store_count(store, &jobs), 2);
    assert_int_equal(store_get(store, &jobs, STR("a"), STR("x"))->version, 3);
    const struct store_event *event;
    assert_int_equal(store_watch_next(&watch, &event), 1);
    assert_int_equal(event->change, STORE_MODIFIED);
    struct snapshot *s = store_snapshot(store);
    struct store_range range;
    store_range_init(&range, s, &jobs, STR(""), NULL);
    assert_non_null(store_range_next(&range));
    assert_non_null(store_range_next(&range));
    assert_null(store_range_next(&range));
    assert_null(store_range_next(&range));
    snapshot_unref(s);
    store_free(store);
}

static void a_loaded_store_has_no_history(void **state)
{
    (void)state;
    struct store *store = store_new(NULL);
    store_load(store, make(&pods, STR("a"), STR("y"), 40));
    store_load(store, make(&pods, STR("a"), STR("x"), 12));
    assert_int_equal(store_version(store), 40);
    store_set_version(store, 50);
    struct store_watch watch;
    assert_int_equal(store_watch_init(&watch, store, &pods, 49), -ESTALE);
    assert_int_equal(store_watch_init(&watch, store, &pods, 51), -ERANGE);
    assert_int_equal(store_watch_init(&watch, store, &pods, 50), 0);
    const struct store_event *event;
    assert_int_equal(store_watch_next(&watch, &event), 0);
    put(store, &pods, "a", "x");
    assert_int_equal(store_watch_next(&watch, &event), 1);
    assert_int_equal(event->before->version, 12);
    assert_int_equal(event->after->version, 51);
    store_free(store);
}

/* A resource without changes keeps its position, whatever happens to others. */
static void watches_of_quiet_resources_do_not_expire(void **state)
{
    (void)state;
    struct store *store = store_new(&(struct store_options){.history_count = 10});
    put(store, &nodes, "", "n");
    uint64_t version = store_version(store);
    struct store_watch quiet, busy, late;
    assert_int_equal(store_watch_init(&quiet, store, &nodes, version), 0);
    assert_int_equal(store_watch_init(&busy, store, &pods, version), 0);
    for (size_t i = 0; i < 100; i++)
        put(store, &pods, "a", "x");
    const struct store_event *event;
    assert_int_equal(store_watch_next(&busy, &event), -ESTALE);
    assert_int_equal(store_watch_init(&late, store, &nodes, version), 0);
    assert_int_equal(store_watch_init(&late, store, &nodes, version - 1), -ESTALE);
    assert_int_equal(store_watch_next(&quiet, &event), 0);
    assert_int_equal(quiet.version, store_version(store));
    put(store, &nodes, "", "n");
    assert_int_equal(store_watch_next(&quiet, &event), 1);
    assert_int_equal(store_watch_next(&quiet, &event), 0);
    store_free(store);
}

/* What history alone keeps alive stays within its bytes. */
static void history_is_bounded_by_bytes(void **state)
{
    (void)state;
    struct store *store = store_new(&(struct store_options){.history_bytes = 100000});
    static char text[5000];
    memset(text, 'x', sizeof(text));
    struct revision_source source = {
        .resource = &pods, .namespace = STR("a"), .name = STR("x"), .text = {text, sizeof(text)}};
    for (size_t i = 0; i < 200; i++) {
        source.version = store_next_version(store);
        store_put(store, revision_new(&source));
    }
    uint64_t version = store_version(store);
    struct store_watch watch;
    size_t kept = 0;
    while (store_watch_init(&watch, store, &pods, version - kept) == 0)
        kept++;
    assert_true(kept >= 17 && kept <= 20);
    /* One change that is larger than the limit is kept alone. */
    static char large[200000];
    memset(large, 'x', sizeof(large));
    source.text = (struct str){large, sizeof(large)};
    for (size_t i = 0; i < 3; i++) {
        source.version = store_next_version(store);
        store_put(store, revision_new(&source));
    }
    version = store_version(store);
    assert_int_equal(store_watch_init(&watch, store, &pods, version - 1), 0);
    assert_int_equal(store_watch_init(&watch, store, &pods, version - 2), -ESTALE);
    store_free(store);
}

/* --- against a model -------------------------------------------------------------------------- */

struct model_object {
    size_t resource, namespace;
    unsigned name;
    uint64_t version;
};

/* A sorted array; a copy of it is a snapshot. */
struct model {
    VEC(struct model_object) objects;
    uint64_t version;
};

struct model_event {
    size_t resource;
    enum store_change change;
    uint64_t version, before;
};

#define MAX_SNAPSHOTS 8
#define MAX_WATCHES   12
#define HISTORY       64

struct watched {
    bool open;
    size_t resource;
    uint64_t version;
    struct store_watch watch;
};

struct world {
    struct store *store;
    struct model model;
    VEC(struct model_event) events;
    uint64_t floor;
    struct {
        struct snapshot *snapshot;
        struct model model;
    } snapshots[MAX_SNAPSHOTS];
    struct watched watches[MAX_WATCHES];
};

static int name_cmp(unsigned a, unsigned b)
{
    char x[16], y[16];
    snprintf(x, sizeof(x), "%u", a);
    snprintf(y, sizeof(y), "%u", b);
    return strcmp(x, y);
}

/* The batch group is after the core group, whose resources are ordered by their plural names. */
static int model_cmp(const struct model_object *a, const struct model_object *b)
{
    static const int rank[] = {1, 0, 2};
    if (a->resource != b->resource)
        return rank[a->resource] - rank[b->resource];
    if (a->namespace != b->namespace)
        return a->namespace < b->namespace ? -1 : 1;
    return name_cmp(a->name, b->name);
}

static size_t model_find(const struct model *m, const struct model_object *key)
{
    size_t i = 0;
    while (i < m->objects.n && model_cmp(&m->objects.v[i], key) < 0)
        i++;
    return i;
}

static struct model model_copy(const struct model *m)
{
    struct model copy = {.version = m->version};
    for (size_t i = 0; i < m->objects.n; i++)
        vec_push(&copy.objects, m->objects.v[i]);
    return copy;
}

static struct str namespace_of(const struct model_object *o)
{
    return o->resource == 1 ? STR("") : str_of(namespaces[o->namespace]);
}

static struct model_object random_key(struct rand *r, size_t size)
{
    struct model_object key = {.resource = rand_below(r, 3),
                               .name = (unsigned)rand_below(r, size * 3)};
    key.namespace = key.resource == 1 ? 0 : rand_below(r, ARRAY_LEN(namespaces));
    return key;
}

static void write_one(struct world *w, struct rand *r, size_t size)
{
    struct model_object key = random_key(r, size);
    size_t at = model_find(&w->model, &key);
    bool exists = at < w->model.objects.n && model_cmp(&w->model.objects.v[at], &key) == 0;
    bool delete = exists && rand_below(r, 2);
    char name[16];
    snprintf(name, sizeof(name), "%u", key.name);
    key.version = ++w->model.version;
    struct revision *rev =
        make(resources[key.resource], namespace_of(&key), str_of(name), key.version);
    uint64_t before = exists ? w->model.objects.v[at].version : 0;
    vec_push(&w->events, (struct model_event){key.resource,
                                              delete   ? STORE_DELETED
                                              : exists ? STORE_MODIFIED
                                                       : STORE_ADDED,
                                              key.version, before});
    if (delete) {
        store_delete(w->store, rev);
        vec_remove(&w->model.objects, at);
    } else {
        store_put(w->store, rev);
        if (exists)
            w->model.objects.v[at] = key;
        else
            vec_insert(&w->model.objects, at, key);
    }
}

static bool same_object(const struct model_object *o, const struct revision *rev)
{
    char name[16];
    snprintf(name, sizeof(name), "%u", o->name);
    return rev && rev->version == o->version && str_is(rev->name, name) &&
           str_eq(rev->namespace, namespace_of(o)) &&
           str_eq(rev->resource->plural, resources[o->resource]->plural);
}

/* A range over one resource, in all or one namespace, with or without a bound. */
static bool range_agrees(struct rand *r, size_t size, const struct snapshot *s,
                         const struct model *m)
{
    struct model_object bound = random_key(r, size);
    size_t resource = bound.resource;
    bool all = resource == 1 || rand_below(r, 2), bounded = rand_below(r, 2);
    size_t wanted = rand_below(r, ARRAY_LEN(namespaces));
    char name[16];
    snprintf(name, sizeof(name), "%u", bound.name);
    struct store_key after = {namespace_of(&bound), str_of(name)};
    struct store_range range;
    store_range_init(&range, s, resources[resource], all ? STR("") : str_of(namespaces[wanted]),
                     bounded ? &after : NULL);
    size_t left = 0, count = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < m->objects.n; i++) {
            const struct model_object *o = &m->objects.v[i];
            if (o->resource != resource)
                continue;
            count += pass;
            if ((!all && o->namespace != wanted) || (bounded && model_cmp(o, &bound) <= 0))
                continue;
            if (pass == 0) {
                left++;
                continue;
            }
            if (store_range_left(&range) != left-- || !same_object(o, store_range_next(&range)))
                return false;
        }
    }
    return store_range_left(&range) == 0 && !store_range_next(&range) &&
           snapshot_count(s, resources[resource]) == count;
}

static bool gets_agree(struct rand *r, size_t size, const struct snapshot *s, const struct model *m)
{
    for (size_t i = 0; i < 10; i++) {
        struct model_object key = random_key(r, size);
        size_t at = model_find(m, &key);
        char name[16];
        snprintf(name, sizeof(name), "%u", key.name);
        struct revision *rev =
            snapshot_get(s, resources[key.resource], namespace_of(&key), str_of(name));
        if (at < m->objects.n && model_cmp(&m->objects.v[at], &key) == 0) {
            if (!same_object(&m->objects.v[at], rev))
                return false;
        } else if (rev) {
            return false;
        }
    }
    return true;
}

static bool snapshot_agrees(struct rand *r, size_t size, const struct snapshot *s,
                            const struct model *m)
{
    return snapshot_version(s) == m->version && gets_agree(r, size, s, m) &&
           range_agrees(r, size, s, m);
}

/* --- watches of the model --- */

static bool lost(const struct world *w, size_t resource, uint64_t version)
{
    if (version < w->floor)
        return true;
    for (size_t i = 0; i + HISTORY < w->events.n; i++)
        if (w->events.v[i].resource == resource && w->events.v[i].version > version)
            return true;
    return false;
}

static bool open_watch(struct world *w, struct rand *r)
{
    struct watched *x = &w->watches[rand_below(r, MAX_WATCHES)];
    x->resource = rand_below(r, 3);
    uint64_t back = rand_below(r, 2 * HISTORY);
    x->version = w->model.version + 2 > back ? w->model.version + 2 - back : 0;
    int code = store_watch_init(&x->watch, w->store, resources[x->resource], x->version);
    x->open = code == 0;
    if (x->version > w->model.version)
        return code == -ERANGE;
    return code == (lost(w, x->resource, x->version) ? -ESTALE : 0);
}

/* Reads some changes: the next ones of the model, or the news that they are lost. */
static bool read_watch(struct world *w, struct rand *r)
{
    struct watched *x = &w->watches[rand_below(r, MAX_WATCHES)];
    if (!x->open)
        return true;
    for (size_t n = rand_below(r, 20); n > 0; n--) {
        const struct store_event *event;
        int code = store_watch_next(&x->watch, &event);
        if (lost(w, x->resource, x->version)) {
            x->open = false;
            return code == -ESTALE;
        }
        const struct model_event *want = NULL;
        for (size_t i = w->events.n; i > 0 && w->events.v[i - 1].version > x->version; i--)
            if (w->events.v[i - 1].resource == x->resource)
                want = &w->events.v[i - 1];
        if (!want) {
            x->version = w->model.version;
            return code == 0 && x->watch.version == x->version;
        }
        x->version = want->version;
        if (code != 1 || event->change != want->change || event->after->version != want->version ||
            (event->before ? event->before->version : 0) != want->before ||
            x->watch.version != want->version)
            return false;
    }
    return true;
}

/* The store is replaced by a fork of one of its snapshots. */
static void fork_store(struct world *w, struct rand *r)
{
    size_t i = rand_below(r, MAX_SNAPSHOTS);
    if (!w->snapshots[i].snapshot)
        return;
    struct store *fork =
        store_fork(w->snapshots[i].snapshot, &(struct store_options){.history_count = HISTORY});
    store_free(w->store);
    w->store = fork;
    vec_release(&w->model.objects);
    w->model = model_copy(&w->snapshots[i].model);
    vec_clear(&w->events);
    w->floor = w->model.version;
    for (size_t x = 0; x < MAX_WATCHES; x++)
        w->watches[x].open = false;
}

static void take_snapshot(struct world *w, struct rand *r)
{
    size_t i = rand_below(r, MAX_SNAPSHOTS);
    snapshot_unref(w->snapshots[i].snapshot);
    vec_release(&w->snapshots[i].model.objects);
    w->snapshots[i].snapshot = store_snapshot(w->store);
    w->snapshots[i].model = model_copy(&w->model);
}

static bool step(struct world *w, struct rand *r, size_t size)
{
    size_t what = rand_below(r, 100);
    if (what < 70) {
        write_one(w, r, size);
        return store_version(w->store) == w->model.version;
    }
    if (what < 75)
        take_snapshot(w, r);
    else if (what < 76)
        fork_store(w, r);
    else if (what < 82)
        return open_watch(w, r);
    else if (what < 96)
        return read_watch(w, r);
    else {
        size_t i = rand_below(r, MAX_SNAPSHOTS);
        return !w->snapshots[i].snapshot ||
               snapshot_agrees(r, size, w->snapshots[i].snapshot, &w->snapshots[i].model);
    }
    return true;
}

static bool agrees_with_model(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct world w = {.store = store_new(&(struct store_options){.history_count = HISTORY}),
                      .model = {.version = 1}};
    bool ok = true;
    for (size_t i = 0; ok && i < size * 20; i++)
        ok = step(&w, r, size);
    struct snapshot *s = store_snapshot(w.store);
    ok = ok && snapshot_agrees(r, size, s, &w.model);
    snapshot_unref(s);
    for (size_t i = 0; i < MAX_SNAPSHOTS; i++) {
        snapshot_unref(w.snapshots[i].snapshot);
        vec_release(&w.snapshots[i].model.objects);
    }
    store_free(w.store);
    vec_release(&w.model.objects);
    vec_release(&w.events);
    return ok;
}

static void behaves_as_a_sorted_array(void **state)
{
    (void)state;
    assert_true(prop_run("store", 200, agrees_with_model, NULL));
}

/* --- the tree --------------------------------------------------------------------------------- */

/* Order, fill and counts hold after every change, in all trees that share nodes. */
static bool stays_balanced(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct tree trees[3] = {{0}};
    bool ok = true;
    uint64_t version = 0;
    for (size_t i = 0; ok && i < size * 300; i++) {
        /* One tree becomes several levels deep. */
        size_t t = rand_below(r, 8) ? 0 : rand_below(r, 3);
        char name[16];
        snprintf(name, sizeof(name), "%u", (unsigned)rand_below(r, size * 60));
        struct revision *rev = make(&pods, STR("a"), str_of(name), ++version);
        struct tree_place place = tree_place_of(rev);
        /* Phases in which trees grow, and phases in which they shrink. */
        if ((rand_below(r, 4) == 0) != ((i / (size * 60)) % 2 == 1)) {
            revision_unref(tree_take(&trees[t], &place));
            revision_unref(rev);
        } else {
            revision_unref(tree_put(&trees[t], rev));
        }
        if (rand_below(r, 200) == 0) {
            size_t to = rand_below(r, 3);
            struct tree copy = tree_copy(&trees[t]);
            tree_release(&trees[to]);
            trees[to] = copy;
        }
        if (i % 50 == 0)
            ok = tree_valid(&trees[t]);
    }
    for (size_t t = 0; t < 3; t++) {
        ok = ok && tree_valid(&trees[t]);
        tree_release(&trees[t]);
    }
    return ok;
}

static void trees_stay_balanced(void **state)
{
    (void)state;
    assert_true(prop_run("tree", 60, stays_balanced, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_revision_copies_everything),
        cmocka_unit_test(changes_have_versions),
        cmocka_unit_test(resources_are_the_same_by_name),
        cmocka_unit_test(a_loaded_store_has_no_history),
        cmocka_unit_test(watches_of_quiet_resources_do_not_expire),
        cmocka_unit_test(history_is_bounded_by_bytes),
        cmocka_unit_test(behaves_as_a_sorted_array),
        cmocka_unit_test(trees_stay_balanced),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
