/* SPDX-License-Identifier: Apache-2.0 */
/* A dry run's verdict on a node equals the real verdict once its victims are deleted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/pool.h"
#include "engine/cycle/what_if.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "prop.h"

#define MAX_NODES 8
#define MAX_PODS  40

/* --- random clusters -------------------------------------------------------------------------- */

static const char *const apps[] = {"a", "b", "c"};
static const char *const keys[] = {"zone", "kubernetes.io/hostname"};

static const char *draw(struct rand *r, const char *const *list, size_t n)
{
    return list[rand_below(r, n)];
}
#define DRAW(r, list) draw((r), (list), ARRAY_LEN(list))

/* choosy: the waiting pod has more constraints. */
static struct object *random_pod(struct rand *r, const char *name, const char *node, bool choosy)
{
    struct term_args anti[2] = {0}, near[2] = {0};
    struct spread_args spread[2] = {0};
    struct port_args ports[2] = {0};
    if (rand_below(r, choosy ? 2 : 4) == 0)
        anti[0] = (struct term_args){DRAW(r, keys), textf("app=%s", DRAW(r, apps))};
    if (choosy && rand_below(r, 3) == 0)
        near[0] = (struct term_args){DRAW(r, keys), textf("app=%s", DRAW(r, apps))};
    if (choosy && rand_below(r, 2))
        spread[0] = (struct spread_args){DRAW(r, keys), textf("app=%s", DRAW(r, apps)),
                                         .max_skew = 1 + (int)rand_below(r, 2)};
    if (rand_below(r, 3) == 0)
        ports[0].host_port = 80 + (int)rand_below(r, 2);
    return POD(.name = name, .labels = textf("app=%s", DRAW(r, apps)), .node = node,
               .priority = choosy ? 5 : (int)rand_below(r, 4), .anti_affinity = anti,
               .affinity = near, .spread = spread, .ports = ports,
               .cpu = textf("%d", (int)rand_below(r, 3)),
               .requests = textf("x.y/gpu=%d", (int)rand_below(r, 2)),
               .started = textf("2026-01-01T00:00:%02dZ", (int)rand_below(r, 5)));
}

static struct object *random_node(struct rand *r, size_t i)
{
    return NODE(.name = textf("n%zu", i),
                .labels = textf("kubernetes.io/hostname=n%zu,zone=z%d", i, (int)rand_below(r, 3)),
                .cpu = textf("%d", 3 + (int)rand_below(r, 4)), .memory = "8Gi",
                .pods = textf("%d", 3 + (int)rand_below(r, 8)), .allocatable = "x.y/gpu=2");
}

struct cluster_case {
    size_t n_nodes, n_pods;
    struct object *nodes[MAX_NODES], *pods[MAX_PODS], *waiting;
};

static void make_case(struct cluster_case *c, struct rand *r, size_t size)
{
    c->n_nodes = 1 + rand_below(r, MIN(size / 8 + 1, (size_t)MAX_NODES));
    c->n_pods = rand_below(r, MIN(size, (size_t)MAX_PODS) + 1);
    for (size_t i = 0; i < c->n_nodes; i++)
        c->nodes[i] = random_node(r, i);
    for (size_t i = 0; i < c->n_pods; i++) {
        const char *node = textf("n%zu", (size_t)rand_below(r, c->n_nodes));
        c->pods[i] = random_pod(r, textf("p%zu", i), node, false);
    }
    c->waiting = random_pod(r, "high", "", true);
}

static void end_case(struct cluster_case *c)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        object_unref(c->nodes[i]);
    for (size_t i = 0; i < c->n_pods; i++)
        object_unref(c->pods[i]);
    object_unref(c->waiting);
}

/* gone: by pod; NULL: none is. */
static void fill(struct fixture *f, const struct cluster_case *c, const bool *gone)
{
    for (size_t i = 0; i < c->n_nodes; i++)
        fixture_add(f, object_ref(c->nodes[i]));
    for (size_t i = 0; i < c->n_pods; i++)
        if (!gone || !gone[i])
            fixture_add(f, object_ref(c->pods[i]));
}

/* --- one attempt's filters -------------------------------------------------------------------- */

struct asking {
    struct berth_cycle *cycle;
    struct berth_pod *pod;
    struct what_if w;
};

static void begin(struct asking *a, struct fixture *f, struct object *waiting)
{
    struct engine *e = f->engine;
    cache_refresh(&e->cache);
    a->cycle = cycle_new(&e->cycles, e->framework.setup->profiles.v[0]);
    a->pod = pod_info_new(waiting, &e->names);
    cache_get_columns(&e->cache, &a->cycle->columns);
    assert_true(cycle_prepare_again(a->cycle, a->pod));
    what_if_init(&a->w, a->pod, &e->cycles.status);
}

static void end(struct asking *a)
{
    what_if_release(&a->w);
    pod_info_unref(a->pod);
    cycle_free(a->cycle);
}

/* The verdict as text. */
static void ask(struct asking *a, struct fixture *f, struct buf *out)
{
    const struct berth_handle *plugin;
    buf_clear(out);
    status_clear(&f->engine->cycles.status);
    enum berth_code code = what_if_filter(&a->w, &plugin);
    buf_add_printf(out, "%s %s ", code_name(code), plugin ? plugin->plugin->name : "");
    status_write(&f->engine->cycles.status, &f->engine->framework.reasons, out);
}

static struct berth_pod *pod_of(const struct fixture *f, const struct object *o)
{
    return cache_pod(&f->engine->cache, object_meta(o)->uid)->pod;
}

/* Removes all pods of the node and restores some; then compares with a cluster in that state. */
static bool removal_comes_true(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct cluster_case c;
    struct fixture before, after;
    struct asking a;
    struct buf said = BUF_INIT, is = BUF_INIT;
    bool gone[MAX_PODS] = {0};
    make_case(&c, r, size);
    size_t node = rand_below(r, c.n_nodes);
    struct str name = object_meta(c.nodes[node])->name;
    fixture_init(&before, NULL, NULL);
    fill(&before, &c, NULL);
    begin(&a, &before, c.waiting);
    what_if_begin(&a.w, a.cycle, cache_node(&before.engine->cache, name));
    for (size_t i = 0; i < c.n_pods; i++) {
        gone[i] = str_eq(object_pod(c.pods[i])->spec.node_name, name);
        if (gone[i])
            assert_true(what_if_remove(&a.w, pod_of(&before, c.pods[i])));
    }
    for (size_t i = 0; i < c.n_pods; i++)
        if (gone[i] && rand_below(r, 2)) {
            gone[i] = false;
            assert_true(what_if_add(&a.w, pod_of(&before, c.pods[i])));
        }
    ask(&a, &before, &said);
    end(&a);
    fixture_init(&after, NULL, NULL);
    fill(&after, &c, gone);
    begin(&a, &after, c.waiting);
    what_if_begin(&a.w, a.cycle, cache_node(&after.engine->cache, name));
    ask(&a, &after, &is);
    end(&a);
    bool same = str_eq(buf_str(&said), buf_str(&is));
    if (!same)
        print_error("dry run: %s\nfor real: %s\n", buf_cstr(&said), buf_cstr(&is));
    buf_release(&said);
    buf_release(&is);
    fixture_release(&before);
    fixture_release(&after);
    end_case(&c);
    return same;
}

static void dry_runs_come_true(void **state)
{
    (void)state;
    assert_true(prop_run("dry runs come true", 400, removal_comes_true, NULL));
}

/* --- the whole preemption --------------------------------------------------------------------- */

/* Everything that an engine with so many threads reports about the pod. */
static void play(const struct cluster_case *c, struct pool *pool, struct buf *out)
{
    struct fixture f;
    fixture_init_pool(&f, NULL, NULL, pool);
    fill(&f, c, NULL);
    fixture_add(&f, object_ref(c->waiting));
    fixture_schedule(&f);
    engine_explain(f.engine, STR("default"), STR("high"), out);
    for (size_t i = 0; i < f.writes.n; i++)
        buf_add_printf(out, "%d %.*s %s %s\n", (int)f.writes.v[i].kind,
                       STR_ARG(object_meta(f.writes.v[i].pod)->name), f.writes.v[i].node,
                       f.writes.v[i].message);
    fixture_release(&f);
}

/* Many nodes of each kind, so that the pool is used. */
#define MANY_NODES 300

static void threads_make_no_difference(void **state)
{
    (void)state;
    struct rand r;
    struct buf alone = BUF_INIT;
    struct object *nodes[MANY_NODES], *pods[MANY_NODES * 3];
    rand_seed(&r, 5);
    for (size_t i = 0; i < MANY_NODES; i++)
        nodes[i] = random_node(&r, i);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        const char *name = textf("p%zu", i);
        const char *node = textf("n%zu", i % MANY_NODES);
        pods[i] = random_pod(&r, name, node, false);
    }
    for (int round = 0; round < 6; round++) {
        struct object *waiting = random_pod(&r, "high", "", true);
        for (size_t threads = 0; threads <= 3; threads++) {
            struct pool *pool = threads ? pool_new(threads) : NULL;
            struct fixture f;
            struct buf said = BUF_INIT;
            fixture_init_pool(&f, NULL, NULL, pool);
            for (size_t i = 0; i < MANY_NODES; i++)
                fixture_add(&f, object_ref(nodes[i]));
            for (size_t i = 0; i < ARRAY_LEN(pods); i++)
                fixture_add(&f, object_ref(pods[i]));
            fixture_add(&f, object_ref(waiting));
            fixture_schedule(&f);
            engine_explain(f.engine, STR("default"), STR("high"), &said);
            if (threads == 0) {
                buf_clear(&alone);
                buf_add_str(&alone, buf_str(&said));
            }
            assert_string_equal(buf_cstr(&said), buf_cstr(&alone));
            buf_release(&said);
            fixture_release(&f);
            pool_free(pool);
        }
        object_unref(waiting);
    }
    for (size_t i = 0; i < MANY_NODES; i++)
        object_unref(nodes[i]);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        object_unref(pods[i]);
    buf_release(&alone);
}

/* Without the chosen victims the pod is placed on the nominated node. */
static bool victims_are_enough(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct cluster_case c;
    struct buf first = BUF_INIT, again = BUF_INIT;
    struct fixture f;
    bool ok = true;
    make_case(&c, r, size);
    fixture_init(&f, NULL, NULL);
    fill(&f, &c, NULL);
    fixture_add(&f, object_ref(c.waiting));
    fixture_schedule(&f);
    const struct fixture_write *told = fixture_last(&f, WRITE_POD_STATUS, "high");
    char *node = told && told->sets_nomination && *told->node ? xstrdup(told->node) : NULL;
    /* All victims are evicted before the first is deleted, as with kubelets. */
    for (size_t i = 0; i < f.writes.n; i++)
        if (f.writes.v[i].kind == WRITE_EVICTION)
            fixture_answer(&f, &f.writes.v[i], 202, "");
    for (size_t i = 0; i < f.writes.n; i++)
        if (f.writes.v[i].kind == WRITE_EVICTION)
            fixture_delete(&f, object_ref(f.writes.v[i].pod));
    if (node) {
        fixture_pass(&f, (int64_t)60 * 1000000000);
        fixture_settle(&f);
        const char *got = fixture_node_of(&f, "high");
        ok = got != NULL;
        if (!ok)
            print_error("promised %s: %s\n", node,
                        fixture_last(&f, WRITE_POD_STATUS, "high")->message);
    }
    free(node);
    fixture_release(&f);
    /* Same seed, same output. */
    play(&c, NULL, &first);
    play(&c, NULL, &again);
    ok = ok && str_eq(buf_str(&first), buf_str(&again));
    buf_release(&first);
    buf_release(&again);
    end_case(&c);
    return ok;
}

static void preempted_pods_make_room(void **state)
{
    (void)state;
    assert_true(prop_run("preempted pods make room", 400, victims_are_enough, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dry_runs_come_true),
        cmocka_unit_test(threads_make_no_difference),
        cmocka_unit_test(preempted_pods_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
