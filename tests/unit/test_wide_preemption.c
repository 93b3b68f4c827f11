/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BerthWidePreemption: nodes n0, n1, … with 4 cpus, two to a zone, and pods whose affinity and
 * spreading reach over nodes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine_fixture.h"
#include "prop.h"

#define GATE "BerthWidePreemption=true"

/* --- fixtures --------------------------------------------------------------------------------- */

static void begin_zones(struct fixture *f, const char *gates, size_t nodes, size_t zone_size)
{
    fixture_init_features(f, NULL, gates);
    for (size_t i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%zu", i),
                 .labels = textf("zone=z%zu,host=n%zu", i / zone_size, i), .cpu = "4",
                 .memory = "8Gi", .pods = "20");
}

static void begin(struct fixture *f, const char *gates, size_t nodes)
{
    begin_zones(f, gates, nodes, 2);
}

/* The result of preemption, "NODE: victim victim (violations)"; "" if none. */
static const char *outcome(struct fixture *f)
{
    static char text[2048];
    struct buf why = BUF_INIT;
    char node[64] = "", victims[1024] = "";
    int violations = 0;
    engine_explain(f->engine, STR("default"), STR("high"), &why);
    text[0] = '\0';
    const char *at = strstr(single_quotes(buf_cstr(&why)), "'postFilter':");
    at = at ? strstr(at, "'nominatedNode':") : NULL;
    if (at && sscanf(at, "'nominatedNode':'%63[^']','victims':[%1023[^]]],'pdbViolations':%d", node,
                     victims, &violations) == 3) {
        size_t n = (size_t)snprintf(text, sizeof(text), "%s:", node);
        for (const char *v = strchr(victims, '/'); v; v = strchr(v + 1, '/'))
            n += (size_t)snprintf(text + n, sizeof(text) - n, " %.*s", (int)strcspn(v + 1, "'"),
                                  v + 1);
        snprintf(text + n, sizeof(text) - n, " (%d)", violations);
    }
    buf_release(&why);
    return text;
}

/* Two pods block a third, on nodes that have no room for it. */
static void add_full_neighbours(struct fixture *f)
{
    ADD_POD(f, .name = "rock1", .node = "n1", .priority = 9, .cpu = "3");
    ADD_POD(f, .name = "rock3", .node = "n3", .priority = 9, .cpu = "3");
    ADD_POD(f, .name = "web1", .node = "n1", .priority = 2, .cpu = "1", .labels = "app=web");
    ADD_POD(f, .name = "web3", .uid = "uid-web3", .node = "n3", .priority = 1, .cpu = "1",
            .labels = "app=web");
}

/* --- upstream's result, and the gate's -------------------------------------------------------- */

static void a_pod_next_door_makes_room_for_one_that_must_be_far_from_it(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 4);
    add_full_neighbours(&f);
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2",
            .anti_affinity = TERMS({"zone", "app=web"}));
    fixture_schedule(&f);
    assert_string_equal(outcome(&f), "");
    assert_non_null(strstr(fixture_last(&f, WRITE_POD_STATUS, "high")->message,
                           "preemption: 0/4 nodes are available"));
    fixture_release(&f);

    begin(&f, GATE, 4);
    add_full_neighbours(&f);
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2",
            .anti_affinity = TERMS({"zone", "app=web"}));
    fixture_schedule(&f);
    assert_string_equal(outcome(&f), "n2: web3 (0)");
    struct fixture_write *w = fixture_eviction(&f, "web3");
    assert_string_equal(w->reason, "PreemptionByScheduler");
    assert_null(fixture_eviction(&f, "web1"));
    fixture_answer(&f, w, 200, "");
    assert_string_equal(fixture_last(&f, WRITE_EVENT, "web3")->message,
                        "Preempted by pod uid-high on node n2");
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "high"), "n2");
    fixture_release(&f);
}

/* Runs one scene with the gate and one without, which must have no result. */
typedef void scene_fn(struct fixture *f);

static void check_scene(scene_fn *scene, const char *expected)
{
    for (int on = 0; on < 2; on++) {
        struct fixture f;
        begin(&f, on ? GATE : "", 4);
        scene(&f);
        fixture_schedule(&f);
        assert_string_equal(outcome(&f), on ? expected : "");
        fixture_release(&f);
    }
}

static void hated(struct fixture *f)
{
    ADD_POD(f, .name = "rock1", .node = "n1", .priority = 9, .cpu = "3");
    ADD_POD(f, .name = "full2", .node = "n2", .priority = 9, .cpu = "4");
    ADD_POD(f, .name = "full3", .node = "n3", .priority = 9, .cpu = "4");
    ADD_POD(f, .name = "loner", .node = "n1", .cpu = "1",
            .anti_affinity = TERMS({"zone", "app=web"}));
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2", .labels = "app=web");
}

static void spread(struct fixture *f)
{
    /* Zone z0 has room but one web pod too many; z1 has no room at all. */
    ADD_POD(f, .name = "rock1", .node = "n1", .priority = 9, .cpu = "2");
    ADD_POD(f, .name = "full2", .node = "n2", .priority = 9, .cpu = "4");
    ADD_POD(f, .name = "full3", .node = "n3", .priority = 9, .cpu = "4");
    ADD_POD(f, .name = "web1", .node = "n1", .priority = 2, .cpu = "1", .labels = "app=web");
    ADD_POD(f, .name = "other", .node = "n1", .priority = 1, .cpu = "1", .labels = "app=other");
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "4", .labels = "app=web",
            .spread = SPREAD({"zone", "app=web"}));
}

static void both(struct fixture *f)
{
    /* A pod on n0 blocks by its cpu, one on n1 by its label. */
    ADD_POD(f, .name = "rock1", .node = "n1", .priority = 9, .cpu = "3");
    ADD_POD(f, .name = "full2", .node = "n2", .priority = 9, .cpu = "4");
    ADD_POD(f, .name = "full3", .node = "n3", .priority = 9, .cpu = "4");
    ADD_POD(f, .name = "web1", .node = "n1", .priority = 2, .cpu = "1", .labels = "app=web");
    ADD_POD(f, .name = "small", .node = "n0", .priority = 0, .cpu = "1");
    ADD_POD(f, .name = "large", .node = "n0", .priority = 1, .cpu = "2");
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "3",
            .anti_affinity = TERMS({"zone", "app=web"}));
}

static void spread_twice(struct fixture *f)
{
    /* Zone z0 has one web pod too many. If n1 lost both of its pods, then n0 would have one too
     * many. */
    for (size_t i = 0; i < 4; i++) {
        static const char *const names[][2] = {
            {"rock0", "web0"}, {"rock1", "web1"}, {"rock2", "web2"}, {"rock3", "web3"}};
        const char *node = &"n0\0n1\0n2\0n3"[3 * i];
        ADD_POD(f, .name = names[i][0], .node = node, .priority = 9, .cpu = i ? "4" : "0");
        ADD_POD(f, .name = names[i][1], .node = node, .priority = i == 1 ? 2 : 9,
                .labels = "app=web");
    }
    ADD_POD(f, .name = "web1b", .node = "n1", .priority = 1, .labels = "app=web");
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "1", .labels = "app=web",
            .spread = SPREAD({"zone", "app=web"}, {"host", "app=web"}));
}

static void budget(struct fixture *f)
{
    fixture_add_budget(f, "kept", 0);
    add_full_neighbours(f);
    /* Zone z1 has the lower priority, but violating a budget is worse. */
    ADD_POD(f, .name = "kept3", .node = "n3", .cpu = "0", .labels = "app=kept",
            .anti_affinity = TERMS({"zone", "app=me"}));
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2", .labels = "app=me",
            .anti_affinity = TERMS({"zone", "app=web"}));
}

static void rocks(struct fixture *f)
{
    add_full_neighbours(f);
    ADD_POD(f, .name = "web1b", .node = "n1", .priority = 9, .labels = "app=web");
    ADD_POD(f, .name = "web3b", .node = "n3", .priority = 9, .labels = "app=web");
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2",
            .anti_affinity = TERMS({"zone", "app=web"}));
}

static void victims_elsewhere_are_found(void **state)
{
    (void)state;
    check_scene(hated, "n0: loner (0)");
    check_scene(spread, "n0: web1 (0)");
    check_scene(spread_twice, "n0: web1b (0)");
    check_scene(both, "n0: web1 large (0)");
    check_scene(budget, "n0: web1 (0)");
    check_scene(rocks, "");
}

/* A terminating victim on another node is waited for, like one on the node itself. */
static void slow_victims_elsewhere_are_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, GATE, 4);
    ADD_POD(&f, .name = "rock1", .node = "n1", .priority = 9, .cpu = "3");
    ADD_POD(&f, .name = "rock3", .node = "n3", .priority = 9, .cpu = "3");
    ADD_POD(&f, .name = "web1", .node = "n1", .priority = 2, .cpu = "1", .labels = "app=web");
    ADD_POD(&f, .name = "web3", .node = "n3", .priority = 2, .cpu = "1", .labels = "app=web",
            .deleting = true, .preempted = true);
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2",
            .anti_affinity = TERMS({"zone", "app=web"}), .nominated = "n2");
    fixture_schedule(&f);
    assert_null(fixture_eviction(&f, "web1"));
    assert_non_null(strstr(fixture_last(&f, WRITE_POD_STATUS, "high")->message,
                           "not eligible due to a terminating pod on the nominated node."));
    fixture_release(&f);
}

/* Extenders get all victims, and may return them. */
static void extenders_may_change_the_victims(void **state)
{
    (void)state;
    struct extender x = {.name = STR("http://x"), .preempts = true};
    struct reload_result result;
    struct err err = {0};
    struct fixture f;
    begin(&f, GATE, 4);
    struct fixture_reload options = {.extenders = &x, .n_extenders = 1};
    assert_int_equal(fixture_reload(&f, &options, &result, &err), 0);
    add_full_neighbours(&f);
    ADD_POD(&f, .name = "high", .uid = "uid-high", .priority = 9, .cpu = "2",
            .anti_affinity = TERMS({"zone", "app=web"}));
    fixture_schedule(&f);
    struct fixture_call *call = fixture_call(&f);
    assert_string_equal(call->nodes, "n2:web3:0");
    struct str uid = STR("uid-web3");
    struct extender_meta_victims victims = {STR("n2"), &uid, 1, 0};
    fixture_extender_done(&f, call, &(struct extender_result){.victims = &victims, .n_victims = 1});
    assert_string_equal(outcome(&f), "n2: web3 (0)");
    assert_non_null(fixture_eviction(&f, "web3"));
    fixture_release(&f);
}

/* A zone with a pod on each of its nodes, and another with one: all pods of the first except one
 * must be evicted. They are also counted by node, so each is a separate case. */
static void crowd(struct fixture *f, size_t zone_size)
{
    begin_zones(f, GATE, zone_size + 1, zone_size);
    for (size_t i = 0; i <= zone_size; i++) {
        const char *name = textf("web%zu", i), *rock = textf("rock%zu", i);
        const char *node = textf("n%zu", i);
        ADD_POD(f, .name = name, .node = node, .priority = (int)i, .labels = "app=web");
        ADD_POD(f, .name = rock, .node = node, .priority = 99, .cpu = i ? "4" : "0");
    }
    ADD_POD(f, .name = "high", .uid = "uid-high", .priority = 99, .cpu = "1", .labels = "app=web",
            .spread = SPREAD({"zone", "app=web"}, {"host", "app=web"}));
    fixture_schedule(f);
}

/* The pod waits instead of evicting more than necessary. */
static void a_search_that_is_too_long_finds_nothing(void **state)
{
    (void)state;
    struct fixture f;
    crowd(&f, 4);
    assert_string_equal(outcome(&f), "n0: web2 web1 web0 (0)");
    fixture_release(&f);
    crowd(&f, 30);
    assert_string_equal(outcome(&f), "");
    fixture_release(&f);
}

/* --- brute force ------------------------------------------------------------------------------ */

#define MAX_LOW 6

/* A random pod; apps NULL: none. */
struct drawn_pod {
    int priority, cpu;
    const char *node, *app;
    const char *anti_zone, *anti_host;     /* repels pods of this app */
    const char *spread_zone, *spread_host; /* spreads over pods of this app */
};

struct cluster_case {
    struct drawn_pod pods[MAX_LOW + 4];
    size_t n, n_low; /* the first n_low have a lower priority than the waiting pod */
    struct drawn_pod high;
    int allowed; /* by a budget for the pods of app a; negative: no budget */
};

static const char *const node_names[] = {"n0", "n1", "n2", "n3"};
static const char *const apps[] = {"a", "b"};

static const char *some_app(struct rand *r, unsigned of)
{
    return rand_below(r, of) == 0 ? apps[rand_below(r, 2)] : NULL;
}

static void draw(struct rand *r, struct cluster_case *c)
{
    *c = (struct cluster_case){.allowed = (int)rand_below(r, 4) - 2};
    c->n_low = 2 + rand_below(r, MAX_LOW - 1);
    c->n = c->n_low + 4;
    for (size_t i = 0; i < c->n; i++) {
        bool low = i < c->n_low;
        /* Fixed pods leave little room, one on each node. */
        c->pods[i] =
            (struct drawn_pod){.node = node_names[low ? rand_below(r, 4) : i - c->n_low],
                               .priority = low ? (int)rand_below(r, 4) : 9,
                               .cpu = low ? (int)rand_below(r, 3) : 1 + (int)rand_below(r, 3),
                               .app = low ? apps[rand_below(r, 2)] : NULL,
                               .anti_zone = low ? some_app(r, 4) : NULL};
    }
    c->high = (struct drawn_pod){.priority = 9,
                                 .cpu = 1 + (int)rand_below(r, 3),
                                 .app = apps[rand_below(r, 2)],
                                 .anti_zone = some_app(r, 2),
                                 .anti_host = some_app(r, 4),
                                 .spread_zone = some_app(r, 2),
                                 .spread_host = some_app(r, 4)};
}

static void add_drawn(struct fixture *f, const char *name, const struct drawn_pod *p,
                      const char *nominated)
{
    struct term_args anti[3] = {0};
    struct spread_args spreads[3] = {0};
    size_t n = 0;
    if (p->anti_zone)
        anti[n++] = (struct term_args){"zone", textf("app=%s", p->anti_zone)};
    if (p->anti_host)
        anti[n++] = (struct term_args){"host", textf("app=%s", p->anti_host)};
    n = 0;
    if (p->spread_zone)
        spreads[n++] = (struct spread_args){"zone", textf("app=%s", p->spread_zone)};
    if (p->spread_host)
        spreads[n++] = (struct spread_args){"host", textf("app=%s", p->spread_host)};
    ADD_POD(f, .name = name, .node = p->node, .priority = p->priority, .cpu = textf("%d", p->cpu),
            .labels = p->app ? textf("app=%s", p->app) : NULL, .anti_affinity = anti,
            .spread = spreads, .nominated = nominated);
}

static void build(struct fixture *f, const char *gates, const struct cluster_case *c, unsigned gone,
                  const char *nominated)
{
    begin(f, gates, 4);
    if (c->allowed >= 0)
        fixture_add_budget(f, "a", c->allowed);
    for (size_t i = 0; i < c->n; i++)
        if (!(gone >> i & 1))
            add_drawn(f, textf("p%zu", i), &c->pods[i], NULL);
    add_drawn(f, "high", &c->high, nominated);
    fixture_schedule(f);
}

/* The node that the pod gets if these are deleted; "" if none. The nominated node is tried
 * first. */
static const char *place(const struct cluster_case *c, unsigned gone, const char *nominated)
{
    static char node[8];
    struct fixture f;
    build(&f, "", c, gone, nominated);
    const struct fixture_write *w = fixture_binding(&f, "high");
    snprintf(node, sizeof(node), "%s", w ? w->node : "");
    fixture_release(&f);
    return node;
}

struct price {
    int64_t v[4]; /* in the order of comparison */
};

static struct price price_of(const struct cluster_case *c, unsigned gone)
{
    struct price p = {{0, INT64_MIN, 0, 0}};
    int64_t in_budget = 0;
    for (size_t i = 0; i < c->n_low; i++) {
        if (!(gone >> i & 1))
            continue;
        in_budget += strcmp(c->pods[i].app, "a") == 0;
        p.v[1] = MAX(p.v[1], (int64_t)c->pods[i].priority);
        p.v[2] += c->pods[i].priority + (INT64_C(1) << 31);
        p.v[3]++;
    }
    p.v[0] = c->allowed < 0 ? 0 : MAX(in_budget - c->allowed, 0);
    return p;
}

static int compare(const struct price *a, const struct price *b)
{
    for (size_t i = 0; i < 4; i++)
        if (a->v[i] != b->v[i])
            return a->v[i] < b->v[i] ? -1 : 1;
    return 0;
}

/* The cheapest set of victims that makes the pod fit anywhere; 0: none helps. */
static unsigned cheapest(const struct cluster_case *c)
{
    unsigned best = 0;
    for (unsigned gone = 1; gone < 1U << c->n_low; gone++) {
        struct price p = price_of(c, gone), b = price_of(c, best);
        if ((!best || compare(&p, &b) < 0) && *place(c, gone, NULL))
            best = gone;
    }
    return best;
}

static unsigned victims_in(const char *text)
{
    unsigned gone = 0;
    for (const char *at = strstr(text, " p"); at; at = strstr(at + 1, " p"))
        gone |= 1U << strtoul(at + 2, NULL, 10);
    return gone;
}

static size_t n_wide; /* cases with a result */

static bool check_case(struct rand *r, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    struct cluster_case c;
    struct fixture f;
    char with[2048], without[2048], node[8];
    draw(r, &c);
    for (int on = 0; on < 2; on++) {
        build(&f, on ? GATE : "", &c, 0, NULL);
        snprintf(on ? with : without, sizeof(with), "%s", outcome(&f));
        bool placed = fixture_binding(&f, "high") != NULL;
        fixture_release(&f);
        if (placed)
            return true;
    }
    if (*without)
        return strcmp(with, without) == 0; /* the gate does not change upstream's result */
    unsigned best = cheapest(&c), found = victims_in(with);
    n_wide += best != 0;
    if (!best || !found)
        return best == found;
    snprintf(node, sizeof(node), "%.2s", with);
    struct price p = price_of(&c, best), q = price_of(&c, found);
    bool ok = compare(&p, &q) == 0 && strcmp(place(&c, found, node), node) == 0;
    if (!ok)
        print_error("found %s, cheapest %x, fits %s\n", with, best, place(&c, found, node));
    return ok;
}

static void the_cheapest_victims_of_all_are_found(void **state)
{
    (void)state;
    assert_true(prop_run("wide preemption", 300, check_case, NULL));
    assert_true(n_wide > prop_share(10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_next_door_makes_room_for_one_that_must_be_far_from_it),
        cmocka_unit_test(victims_elsewhere_are_found),
        cmocka_unit_test(slow_victims_elsewhere_are_waited_for),
        cmocka_unit_test(extenders_may_change_the_victims),
        cmocka_unit_test(a_search_that_is_too_long_finds_nothing),
        cmocka_unit_test(the_cheapest_victims_of_all_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
