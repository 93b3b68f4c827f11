/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices and allocator: what tests/devices, which compares results with upstream's, does not
 * cover: counting of what is taken, several threads, cancellation, the claim of extended resources,
 * and that what is kept up to date equals what is made anew.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/vec.h"
#include "objects.h"
#include "plugins/dynamic_resources/allocator.h"
#include "prop.h"

/* --- selectors -------------------------------------------------------------------------------- */

/* The expression is the name of the device, or "*"; counts its evaluations. */
struct selectors {
    atomic_uint compiled, evaluated;
};

static void *compile(void *ctx, struct str expression, struct buf *error)
{
    struct selectors *s = ctx;
    atomic_fetch_add(&s->compiled, 1);
    if (!str_eq(expression, STR("wrong")))
        return str_dup(expression);
    buf_add_cstr(error, "it is wrong");
    return NULL;
}

static void free_program(void *ctx UNUSED, void *program)
{
    free(program);
}

static int matches(void *ctx, const void *program, const struct selector_input *input,
                   bool *ret_matches, struct buf *error)
{
    struct selectors *s = ctx;
    atomic_fetch_add(&s->evaluated, 1);
    if (strcmp(program, "fails") == 0) {
        buf_add_cstr(error, "no such key: x");
        return -EINVAL;
    }
    *ret_matches = strcmp(program, "*") == 0 || str_eq(str_of(program), input->device->name);
    return 0;
}

/* --- a cluster -------------------------------------------------------------------------------- */

struct fixture {
    struct selectors selectors;
    struct devices *devices;
    VEC(struct object *) objects;
    struct arena arena;
};

static void setup(struct fixture *f)
{
    *f = (struct fixture){0};
    struct device_features all = {.admin_access = true,
                                  .prioritized_list = true,
                                  .partitionable_devices = true,
                                  .device_taints = true,
                                  .device_taint_rules = true,
                                  .binding_conditions = true,
                                  .consumable_capacity = true};
    struct selector_engine engine = {
        .ctx = &f->selectors, .compile = compile, .free = free_program, .matches = matches};
    f->devices = devices_new(&all, &engine);
    arena_init(&f->arena, 0);
}

static void teardown(struct fixture *f)
{
    devices_free(f->devices);
    for (size_t i = 0; i < f->objects.n; i++)
        object_unref(f->objects.v[i]);
    vec_release(&f->objects);
    arena_release(&f->arena);
}

/* Adds or changes it, and keeps the reference. */
static struct object *put(struct fixture *f, struct object *o)
{
    struct object *before = NULL;
    for (size_t i = 0; i < f->objects.n; i++)
        if (object_kind(f->objects.v[i]) == object_kind(o) &&
            str_eq(object_meta(f->objects.v[i])->name, object_meta(o)->name))
            before = f->objects.v[i];
    devices_object_changed(f->devices, before, o);
    vec_push(&f->objects, o);
    return o;
}

static struct object *node(struct fixture *f, const char *name)
{
    return put(f,
               object_jsonf(KIND_NODE, "{'metadata':{'name':'%s','labels':{'zone':'z'}}}", name));
}

static void class(struct fixture *f, const char *name, const char *expression)
{
    put(f, object_jsonf(KIND_DEVICE_CLASS,
                        "{'metadata':{'name':'%s'},'spec':{'selectors':[{'cel':{'expression':"
                        "'%s'}}]}}",
                        name, expression));
}

/* reach: "'nodeName':'n'"; devices: a JSON list. */
static struct object *slice(const char *name, const char *pool, const char *reach,
                            const char *devices)
{
    return object_jsonf(KIND_RESOURCE_SLICE,
                        "{'metadata':{'name':'%s'},'spec':{'driver':'d','pool':{'name':'%s',"
                        "'generation':1,'resourceSliceCount':1},%s,'devices':%s}}",
                        name, pool, reach, devices);
}

static struct object *claim(const char *requests)
{
    return object_jsonf(KIND_RESOURCE_CLAIM,
                        "{'metadata':{'name':'c','namespace':'ns'},'spec':{'devices':{'requests':"
                        "%s}}}",
                        requests);
}

#define ONE \
    "[{'name':'r','exactly':{'deviceClassName':'any','allocationMode':'ExactCount','count':1}}]"

/* The device for a claim of one, or the error or verdict. */
static struct str ask(struct fixture *f, struct object *c, const struct object *where)
{
    const struct resource_claim *claims[] = {object_resource_claim(c)};
    struct allocator *a = allocator_new(f->devices, claims, 1);
    struct allocation result = {.arena = &f->arena};
    enum allocation_verdict verdict = allocator_allocate(a, object_node(where), &result);
    allocator_free(a);
    if (verdict == ALLOCATION_FOUND)
        return result.results[0].devices.results.v[0].device;
    return verdict == ALLOCATION_NONE ? STR("none") : result.error;
}

#define assert_answer(f, c, where, text)                                      \
    do {                                                                      \
        struct str got_ = ask((f), (c), (where));                             \
        if (!str_is(got_, (text)))                                            \
            fail_msg("got \"%.*s\", expected \"%s\"", STR_ARG(got_), (text)); \
    } while (0)

static struct allocation_result taken(const char *device, struct arena *a)
{
    struct device_request_allocation_result *r =
        arena_new(a, struct device_request_allocation_result);
    *r = (struct device_request_allocation_result){
        .driver = STR("d"), .pool = STR("p"), .device = str_of(device)};
    struct allocation_result result = {0};
    result.devices.results.v = r;
    result.devices.results.n = 1;
    return result;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void takes_are_counted(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    struct object *n = node(&f, "n"), *c = claim(ONE);
    class(&f, "any", "*");
    struct allocation_result a = taken("a", &f.arena);
    devices_take(f.devices, &a); /* before there is a slice with it */
    put(&f, slice("s", "p", "'nodeName':'n'", "[{'name':'a'}]"));
    assert_answer(&f, c, n, "none");
    devices_take(f.devices, &a);
    devices_give_back(f.devices, &a);
    assert_answer(&f, c, n, "none");
    devices_give_back(f.devices, &a);
    assert_answer(&f, c, n, "a");
    devices_give_back(f.devices, &a); /* never taken */
    devices_take(f.devices, &a);
    assert_answer(&f, c, n, "none");
    a.devices.results.v[0].admin_access = true;
    devices_give_back(f.devices, &a); /* with admin access nothing is taken */
    assert_answer(&f, c, n, "none");
    object_unref(c);
    teardown(&f);
}

static void selectors_are_evaluated_once(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    struct object *n = node(&f, "n"), *c = claim(ONE);
    class(&f, "any", "b");
    put(&f, slice("s", "p", "'allNodes':true", "[{'name':'a'},{'name':'b'}]"));
    for (int i = 0; i < 5; i++)
        assert_answer(&f, c, n, "b");
    assert_int_equal(f.selectors.evaluated, 2);
    assert_int_equal(f.selectors.compiled, 1);
    /* A device that changes is another one. */
    put(&f, slice("s", "p", "'allNodes':true", "[{'name':'b'},{'name':'a'}]"));
    assert_answer(&f, c, n, "b");
    assert_int_equal(f.selectors.evaluated, 3);
    class(&f, "any", "fails");
    assert_answer(&f, c, n, "class any: selector #0: CEL runtime error: no such key: x");
    assert_answer(&f, c, n, "class any: selector #0: CEL runtime error: no such key: x");
    class(&f, "any", "wrong");
    assert_answer(&f, c, n, "class any: selector #0: CEL compile error: it is wrong");
    class(&f, "any", "*");
    assert_answer(&f, c, n, "b");
    object_unref(c);
    teardown(&f);
}

static bool yes(void *ctx)
{
    return --*(int *)ctx < 0;
}

static void a_search_can_be_cancelled(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    struct object *n = node(&f, "n");
    struct object *c =
        claim("[{'name':'r','exactly':{'deviceClassName':'any','allocationMode':'ExactCount',"
              "'count':16}}]");
    class(&f, "any", "*");
    put(&f, slice("s", "p", "'nodeName':'n'", "[{'name':'a'},{'name':'b'},{'name':'c'}]"));
    const struct resource_claim *claims[] = {object_resource_claim(c)};
    struct allocator *a = allocator_new(f.devices, claims, 1);
    for (int steps = 0; steps < 100; steps++) {
        int left = steps;
        struct allocation call = {.cancelled = yes, .ctx = &left};
        enum allocation_verdict v = allocator_allocate(a, object_node(n), &call);
        assert_int_equal(v, left < 0 ? ALLOCATION_CANCELLED : ALLOCATION_NONE);
        if (left >= 0)
            break;
    }
    allocator_free(a);
    object_unref(c);
    teardown(&f);
}

static void the_last_claim_may_depend_on_the_node(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    struct object *n = node(&f, "n"), *first = claim(ONE), *last = claim(ONE);
    struct object *two =
        claim("[{'name':'r','exactly':{'deviceClassName':'any','allocationMode':'ExactCount',"
              "'count':2}}]");
    class(&f, "any", "*");
    put(&f, slice("s", "p", "'nodeName':'n'", "[{'name':'a'},{'name':'b'}]"));
    const struct resource_claim *claims[] = {object_resource_claim(first),
                                             object_resource_claim(last)};
    struct allocator *a = allocator_new(f.devices, claims, 2);
    struct allocation call = {0}, other = {.last = object_resource_claim(two)};
    assert_int_equal(allocator_allocate(a, object_node(n), &call), ALLOCATION_FOUND);
    assert_int_equal(allocator_allocate(a, object_node(n), &other), ALLOCATION_NONE);
    assert_int_equal(allocator_allocate(a, object_node(n), &call), ALLOCATION_FOUND);
    allocator_free(a);
    object_unref(first);
    object_unref(last);
    object_unref(two);
    teardown(&f);
}

/* --- threads ---------------------------------------------------------------------------------- */

#define N_NODES 64

struct fan {
    const struct allocator *allocator;
    struct object *nodes[N_NODES];
    enum allocation_verdict verdicts[N_NODES];
};

static void search_some(void *ctx, size_t worker UNUSED, size_t from, size_t to)
{
    struct fan *fan = ctx;
    for (size_t i = from; i < to; i++) {
        struct allocation call = {0};
        fan->verdicts[i] = allocator_allocate(fan->allocator, object_node(fan->nodes[i]), &call);
    }
}

static void nodes_are_searched_on_several_threads(void **state UNUSED)
{
    struct fixture f;
    struct fan fan;
    setup(&f);
    class(&f, "any", "b");
    put(&f, slice("wide", "w", "'allNodes':true", "[{'name':'x'},{'name':'y'}]"));
    for (int i = 0; i < N_NODES; i++) {
        fan.nodes[i] = node(&f, textf("n%d", i));
        put(&f, slice(textf("s%d", i), textf("n%d", i), textf("'nodeName':'n%d'", i),
                      i % 3 ? "[{'name':'a'},{'name':'b'}]" : "[{'name':'a'}]"));
    }
    struct object *c = claim(ONE);
    const struct resource_claim *claims[] = {object_resource_claim(c)};
    struct pool *pool = pool_new(4);
    for (int round = 0; round < 3; round++) {
        struct allocator *a = allocator_new(f.devices, claims, 1);
        fan.allocator = a;
        pool_run(pool, N_NODES, 4, search_some, &fan);
        for (int i = 0; i < N_NODES; i++)
            assert_int_equal(fan.verdicts[i], i % 3 ? ALLOCATION_FOUND : ALLOCATION_NONE);
        allocator_free(a);
    }
    pool_free(pool);
    object_unref(c);
    teardown(&f);
}

/* --- kept and made anew ----------------------------------------------------------------------- */

static const char *const reaches[] = {
    "'nodeName':'n0'",
    "'nodeName':'n1'",
    "'allNodes':true",
    "'nodeSelector':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In',"
    "'values':['a']}]}]}",
    "'nodeName':'n0','sharedCounters':[{'name':'s','counters':{'c':{'value':'1'}}}]",
    "'perDeviceNodeSelection':true",
};

static struct object *random_slice(struct rand *r)
{
    const char *used =
        rand_below(r, 3)
            ? ""
            : ",'consumesCounters':[{'counterSet':'s','counters':{'c':{'value':'1'}}}]";
    const char *shared = rand_below(r, 3) ? "" : ",'allowMultipleAllocations':true";
    const char *one = textf("{'name':'%s','nodeName':'n1'%s%s},{'name':'c%d','nodeName':'n0'}",
                            rand_below(r, 4) ? "a" : "b", used, shared, (int)rand_below(r, 5));
    return object_jsonf(KIND_RESOURCE_SLICE,
                        "{'metadata':{'name':'s%d'},'spec':{'driver':'d','pool':{'name':'p%d',"
                        "'generation':%d,'resourceSliceCount':%d},%s,'devices':[%s]}}",
                        (int)rand_below(r, 5), rand_below(r, 3) == 0, rand_below(r, 4) == 0,
                        1 + (int)rand_below(r, 3), reaches[rand_below(r, ARRAY_LEN(reaches))], one);
}

/* What the allocator remembers of a node, if anything, is what a search finds. */
static bool recalls(const struct allocator *a, const struct object *where,
                    enum allocation_verdict verdict, int64_t score)
{
    struct recalled r = {.asked = 4, .nodes = {[2] = object_node(where)}, .first = 64};
    allocator_recall(a, &r);
    uint64_t any = r.found | r.none | r.failed;
    if (!any)
        return true;
    return any == 4 && r.found == (verdict == ALLOCATION_FOUND ? 4 : 0) &&
           r.none == (verdict == ALLOCATION_NONE ? 4 : 0) &&
           (verdict != ALLOCATION_FOUND || r.scores[2] == score);
}

/* The same verdict and device on the node's kept view and on one made for a copy of the node. */
static bool agrees(struct fixture *f, struct object *c, const struct object *where)
{
    const struct resource_claim *claims[] = {object_resource_claim(c)};
    struct allocator *a = allocator_new(f->devices, claims, 1);
    struct node copy = *object_node(where);
    struct allocation x = {.arena = &f->arena}, y = {.arena = &f->arena}, z = {0};
    enum allocation_verdict anew = allocator_allocate(a, &copy, &y);
    bool recalled = recalls(a, where, anew, y.score);
    enum allocation_verdict remembered = allocator_allocate(a, object_node(where), &z);
    recalled = recalled && recalls(a, where, anew, y.score);
    enum allocation_verdict kept = allocator_allocate(a, object_node(where), &x);
    allocator_free(a);
    if (!recalled || kept != anew || kept != remembered || !str_eq(x.error, y.error) ||
        x.score != y.score || z.score != y.score)
        return false;
    return kept != ALLOCATION_FOUND ||
           (str_eq(x.results[0].devices.results.v[0].device,
                   y.results[0].devices.results.v[0].device) &&
            str_eq(x.results[0].devices.results.v[0].pool, y.results[0].devices.results.v[0].pool));
}

static const char *const random_requests[] = {
    ONE,
    "[{'name':'r','exactly':{'deviceClassName':'any','allocationMode':'All'}}]",
    "[{'name':'r','exactly':{'deviceClassName':'any','allocationMode':'ExactCount','count':2}}]",
    "[{'name':'r','firstAvailable':["
    "{'name':'x','deviceClassName':'a','allocationMode':'ExactCount','count':1},"
    "{'name':'y','deviceClassName':'any','allocationMode':'ExactCount','count':2},"
    "{'name':'z','deviceClassName':'any','allocationMode':'ExactCount','count':1}]}]",
};

static void random_take(struct fixture *f, struct rand *r)
{
    static const char *const names[] = {"a", "b", "c0", "c1", "c2", "c3", "c4"};
    struct allocation_result t = taken(names[rand_below(r, ARRAY_LEN(names))], &f->arena);
    t.devices.results.v[0].pool = rand_below(r, 2) ? STR("p0") : STR("p1");
    if (rand_below(r, 3) == 0)
        t.devices.results.v[0].share_id = STR("x");
    (rand_below(r, 3) ? devices_take : devices_give_back)(f->devices, &t);
}

#define RANDOM_NODES 4

static bool random_changes(struct rand *r, size_t size, void *ctx UNUSED)
{
    struct fixture f;
    setup(&f);
    class(&f, "any", "*");
    class(&f, "a", "a");
    struct object *nodes[RANDOM_NODES] = {node(&f, "n0"), node(&f, "n1"), node(&f, "n2"),
                                          node(&f, "n3")};
    struct object *claims[ARRAY_LEN(random_requests)];
    for (size_t i = 0; i < ARRAY_LEN(claims); i++)
        claims[i] = claim(random_requests[i]);
    bool ok = true;
    for (size_t i = 0; i < size && ok; i++) {
        size_t which = rand_below(r, RANDOM_NODES);
        struct object *s = random_slice(r);
        switch (rand_below(r, 8)) {
        case 0:
            nodes[which] = put(
                &f, object_jsonf(KIND_NODE, "{'metadata':{'name':'n%zu','labels':{'zone':'%s'}}}",
                                 which, rand_below(r, 2) ? "a" : "b"));
            break;
        case 1:
            devices_object_changed(f.devices, s, NULL);
            break;
        case 2:
        case 3:
        case 4:
            random_take(&f, r);
            break;
        default:
            put(&f, object_ref(s));
        }
        object_unref(s);
        /* Not all are asked after every change: some verdicts are older. */
        for (size_t k = 0; k < RANDOM_NODES && ok; k++)
            if (rand_below(r, 2))
                ok = agrees(&f, claims[rand_below(r, ARRAY_LEN(claims))], nodes[k]);
    }
    for (size_t i = 0; i < ARRAY_LEN(claims); i++)
        object_unref(claims[i]);
    teardown(&f);
    return ok;
}

static void what_is_kept_is_what_is_made_anew(void **state UNUSED)
{
    assert_true(prop_run("random changes", 300, random_changes, NULL));
}

/* --- searches that are not needed ------------------------------------------------------------- */

static bool count_steps(void *ctx)
{
    ++*(size_t *)ctx;
    return false;
}

/* Does the answer take a search? */
static bool searches(struct fixture *f, struct object *c, const struct object *where,
                     enum allocation_verdict expected)
{
    const struct resource_claim *claims[] = {object_resource_claim(c)};
    struct allocator *a = allocator_new(f->devices, claims, 1);
    size_t steps = 0;
    struct allocation result = {.cancelled = count_steps, .ctx = &steps};
    assert_int_equal(allocator_allocate(a, object_node(where), &result), expected);
    allocator_free(a);
    return steps > 0;
}

static void nodes_that_see_the_same_share_a_verdict(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    class(&f, "any", "*");
    const struct object *n[3] = {node(&f, "n0"), node(&f, "n1"), node(&f, "n2")};
    struct object *c = claim(ONE);
    put(&f, slice("s", "p", "'allNodes':true", "[{'name':'x'},{'name':'y'}]"));
    struct allocation_result x = taken("x", &f.arena), y = taken("y", &f.arena);
    for (int i = 0; i < 2; i++) {
        assert_true(searches(&f, c, n[0], ALLOCATION_FOUND));
        assert_false(searches(&f, c, n[1], ALLOCATION_FOUND));
        assert_false(searches(&f, c, n[2], ALLOCATION_FOUND));
        devices_take(f.devices, i == 0 ? &x : &y);
    }
    assert_true(searches(&f, c, n[0], ALLOCATION_NONE));
    assert_false(searches(&f, c, n[1], ALLOCATION_NONE));
    devices_take(f.devices, &y);
    assert_false(searches(&f, c, n[2], ALLOCATION_NONE));
    devices_give_back(f.devices, &x);
    assert_true(searches(&f, c, n[2], ALLOCATION_FOUND));
    /* A node with a device of its own no longer sees the same. */
    put(&f, slice("t", "q", "'nodeName':'n1'", "[{'name':'z'}]"));
    devices_take(f.devices, &x);
    assert_true(searches(&f, c, n[0], ALLOCATION_NONE));
    assert_true(searches(&f, c, n[1], ALLOCATION_FOUND));
    assert_false(searches(&f, c, n[2], ALLOCATION_NONE));
    object_unref(c);
    teardown(&f);
}

static void a_device_that_is_taken_concerns_its_node(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    class(&f, "any", "*");
    const struct object *n[2] = {node(&f, "n0"), node(&f, "n1")};
    struct object *c = claim(ONE);
    /* One pool with slices for both nodes, and one that all nodes reach, which is tried later. */
    for (int i = 0; i < 2; i++)
        put(&f, object_jsonf(KIND_RESOURCE_SLICE,
                             "{'metadata':{'name':'s%d'},'spec':{'driver':'d','pool':{'name':'p',"
                             "'generation':1,'resourceSliceCount':2},'nodeName':'n%d','devices':"
                             "[{'name':'x%d'}]}}",
                             i, i, i));
    put(&f, slice("w", "q", "'allNodes':true", "[{'name':'y'}]"));
    struct allocation_result x = taken("x0", &f.arena), y = taken("y", &f.arena);
    y.devices.results.v[0].pool = STR("q");
    assert_true(searches(&f, c, n[0], ALLOCATION_FOUND));
    assert_true(searches(&f, c, n[1], ALLOCATION_FOUND));
    devices_take(f.devices, &x);
    assert_true(searches(&f, c, n[0], ALLOCATION_FOUND));
    assert_false(searches(&f, c, n[1], ALLOCATION_FOUND));
    devices_take(f.devices, &y);
    assert_true(searches(&f, c, n[0], ALLOCATION_NONE));
    assert_false(searches(&f, c, n[1], ALLOCATION_FOUND));
    object_unref(c);
    teardown(&f);
}

static void a_device_that_consumes_counters_concerns_all_nodes_of_its_pool(void **state UNUSED)
{
    struct fixture f;
    setup(&f);
    class(&f, "any", "*");
    const struct object *n[2] = {node(&f, "n0"), node(&f, "n1")};
    struct object *c = claim(ONE);
    put(&f, object_jsonf(KIND_RESOURCE_SLICE,
                         "{'metadata':{'name':'c'},'spec':{'driver':'d','pool':{'name':'p',"
                         "'generation':1,'resourceSliceCount':3},'allNodes':true,'sharedCounters':"
                         "[{'name':'s','counters':{'c':{'value':'1'}}}]}}"));
    for (int i = 0; i < 2; i++)
        put(&f, object_jsonf(KIND_RESOURCE_SLICE,
                             "{'metadata':{'name':'s%d'},'spec':{'driver':'d','pool':{'name':'p',"
                             "'generation':1,'resourceSliceCount':3},'nodeName':'n%d','devices':"
                             "[{'name':'x%d','consumesCounters':[{'counterSet':'s','counters':"
                             "{'c':{'value':'1'}}}]}]}}",
                             i, i, i));
    struct allocation_result x = taken("x0", &f.arena);
    assert_true(searches(&f, c, n[1], ALLOCATION_FOUND));
    assert_false(searches(&f, c, n[1], ALLOCATION_FOUND));
    devices_take(f.devices, &x);
    assert_true(searches(&f, c, n[1], ALLOCATION_NONE));
    devices_give_back(f.devices, &x);
    assert_true(searches(&f, c, n[1], ALLOCATION_FOUND));
    object_unref(c);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_are_counted),
        cmocka_unit_test(selectors_are_evaluated_once),
        cmocka_unit_test(a_search_can_be_cancelled),
        cmocka_unit_test(the_last_claim_may_depend_on_the_node),
        cmocka_unit_test(nodes_are_searched_on_several_threads),
        cmocka_unit_test(what_is_kept_is_what_is_made_anew),
        cmocka_unit_test(nodes_that_see_the_same_share_a_verdict),
        cmocka_unit_test(a_device_that_is_taken_concerns_its_node),
        cmocka_unit_test(a_device_that_consumes_counters_concerns_all_nodes_of_its_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
