/* SPDX-License-Identifier: Apache-2.0 */
/* A group preempts as a whole: nodes n0, n1, …, each with 4 cpus. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/pod.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "prop.h"

#define SECOND ((int64_t)1000000000)
#define GATES  "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true"

/* --- fixtures --------------------------------------------------------------------------------- */

#define AS_ONE "'disruptionMode':'PodGroup'"

/* The group "gang" that needs room: its members gang-0, gang-1, … */
static void add_gang(struct fixture *f, int n, int min, int priority, int cpu)
{
    fixture_add(f, POD_GROUP(.name = "gang", .uid = "uid-of-gang", .generation = 1,
                             .min_count = min, .priority = priority));
    for (int i = 0; i < n; i++)
        ADD_POD(f, .name = textf("gang-%d", i), .group = "gang", .cpu = textf("%d", cpu),
                .priority = priority);
}

static void begin_with(struct fixture *f, size_t nodes, const char *gates)
{
    fixture_init_features(f, NULL, gates);
    for (size_t i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%zu", i), .cpu = "4", .memory = "8Gi");
}

static void begin(struct fixture *f, size_t nodes)
{
    begin_with(f, nodes, GATES);
}

static int bound(struct fixture *f, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const char *pod = textf("gang-%d", i);
        count += fixture_node_of(f, pod) != NULL;
    }
    return count;
}

static const char *condition(struct fixture *f)
{
    const struct fixture_write *w = fixture_last(f, WRITE_POD_GROUP_STATUS, "gang");
    return w ? w->message : NULL;
}

/* --- victims ---------------------------------------------------------------------------------- */

struct victims_case {
    const char *what;
    size_t nodes;
    void (*scene)(struct fixture *f);
    int members, min, cpu; /* of the gang, at priority 10 */
    const char *victims;
};

static void scene_mixed(struct fixture *f)
{
    ADD_POD(f, .name = "low", .node = "n0", .priority = 1, .cpu = "4");
    ADD_POD(f, .name = "mid", .node = "n1", .priority = 5, .cpu = "4");
    ADD_POD(f, .name = "high", .node = "n2", .priority = 10, .cpu = "4");
}

static void scene_ages(struct fixture *f)
{
    ADD_POD(f, .name = "young", .node = "n0", .cpu = "2", .started = "2026-01-01T10:00:00Z");
    ADD_POD(f, .name = "old", .node = "n0", .cpu = "2", .started = "2026-01-01T09:00:00Z");
    ADD_POD(f, .name = "none", .node = "n1", .cpu = "2");
    ADD_POD(f, .name = "oldest", .node = "n1", .cpu = "2", .started = "2026-01-01T08:00:00Z");
}

/* A group that is disrupted as a whole: two nodes become free, although one would suffice. */
static void scene_whole_group(struct fixture *f)
{
    fixture_add(f, POD_GROUP(.name = "v", .min_count = 1, .spec = AS_ONE));
    ADD_POD(f, .name = "v0", .node = "n0", .group = "v", .cpu = "4", .priority = 3);
    ADD_POD(f, .name = "v1", .node = "n1", .group = "v", .cpu = "4", .priority = 3);
}

/* The same, but its pods are disrupted one by one, each with its own priority. */
static void scene_loose_group(struct fixture *f)
{
    fixture_add(f, POD_GROUP(.name = "v", .min_count = 1));
    ADD_POD(f, .name = "v0", .node = "n0", .group = "v", .cpu = "4", .priority = 3);
    ADD_POD(f, .name = "v1", .node = "n1", .group = "v", .cpu = "4", .priority = 2);
}

/* The group's priority counts, not its pods'. */
static void scene_group_above(struct fixture *f)
{
    fixture_add(f, POD_GROUP(.name = "v", .min_count = 1, .priority = 20, .spec = AS_ONE));
    ADD_POD(f, .name = "v0", .node = "n0", .group = "v", .cpu = "4", .priority = 1);
    ADD_POD(f, .name = "p", .node = "n1", .cpu = "4", .priority = 2);
}

/* At the same priority groups are reprieved first, and the larger one before the smaller. */
static void scene_sizes(struct fixture *f)
{
    fixture_add(f, POD_GROUP(.name = "small", .min_count = 1, .spec = AS_ONE));
    fixture_add(f, POD_GROUP(.name = "large", .min_count = 1, .spec = AS_ONE));
    ADD_POD(f, .name = "s0", .node = "n0", .group = "small", .cpu = "4",
            .started = "2026-01-01T08:00:00Z");
    ADD_POD(f, .name = "l0", .node = "n1", .group = "large", .cpu = "2",
            .started = "2026-01-01T09:00:00Z");
    ADD_POD(f, .name = "l1", .node = "n1", .group = "large", .cpu = "2",
            .started = "2026-01-01T09:00:00Z");
    ADD_POD(f, .name = "p", .node = "n2", .cpu = "4", .started = "2026-01-01T07:00:00Z");
}

/* Budgets come before importance: victims that violate one are reprieved first. */
static void scene_budget(struct fixture *f)
{
    fixture_add_budget(f, "guarded", 0);
    ADD_POD(f, .name = "guarded", .node = "n0", .cpu = "4", .priority = 1, .labels = "app=guarded");
    ADD_POD(f, .name = "free", .node = "n1", .cpu = "4", .priority = 5);
}

static void scene_group_budget(struct fixture *f)
{
    fixture_add_budget(f, "guarded", 1);
    fixture_add(f, POD_GROUP(.name = "v", .min_count = 1, .priority = 1, .spec = AS_ONE));
    ADD_POD(f, .name = "v0", .node = "n0", .group = "v", .cpu = "2", .labels = "app=guarded");
    ADD_POD(f, .name = "v1", .node = "n0", .group = "v", .cpu = "2", .labels = "app=guarded");
    ADD_POD(f, .name = "p", .node = "n1", .cpu = "4", .priority = 5);
}

/* The gang's own members of lower priority may be victims. */
static void scene_own(struct fixture *f)
{
    ADD_POD(f, .name = "mine", .node = "n0", .group = "gang", .cpu = "4", .priority = 1);
}

static void the_right_ones_have_to_go(void **state)
{
    (void)state;
    static const struct victims_case cases[] = {
        {"the least important", 3, scene_mixed, 1, 1, 4, "low"},
        {"as many as needed", 3, scene_mixed, 2, 2, 4, "mid low"},
        {"not those of equal priority", 3, scene_mixed, 3, 3, 4, ""},
        {"the youngest", 2, scene_ages, 1, 1, 2, "none"},
        {"the younger ones", 2, scene_ages, 2, 2, 2, "young none"},
        {"a group as one", 2, scene_whole_group, 1, 1, 4, "v0 v1"},
        {"a group's pods one by one", 2, scene_loose_group, 1, 1, 4, "v1"},
        {"a group by its own priority", 2, scene_group_above, 1, 1, 4, "p"},
        {"a group above stays", 2, scene_group_above, 2, 2, 4, ""},
        {"a pod before groups", 3, scene_sizes, 1, 1, 4, "p"},
        {"the smaller group next", 3, scene_sizes, 2, 2, 4, "s0 p"},
        {"budgets before importance", 2, scene_budget, 1, 1, 4, "free"},
        {"budgets are not sacred", 2, scene_budget, 2, 2, 4, "free guarded"},
        {"a group that violates a budget", 2, scene_group_budget, 1, 1, 4, "p"},
        {"its own members", 1, scene_own, 1, 1, 4, "mine"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        begin(&f, cases[i].nodes);
        cases[i].scene(&f);
        add_gang(&f, cases[i].members, cases[i].min, 10, cases[i].cpu);
        fixture_settle(&f);
        const char *got = fixture_evict(&f);
        if (strcmp(got, cases[i].victims) != 0)
            fail_msg("%s: evicts \"%s\", want \"%s\"", cases[i].what, got, cases[i].victims);
        fixture_release(&f);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

static void victims_get_events_and_the_gang_waits_for_them(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 3);
    ADD_POD(&f, .name = "a", .node = "n0", .priority = 1, .cpu = "4");
    ADD_POD(&f, .name = "b", .node = "n1", .priority = 1, .cpu = "4");
    add_gang(&f, 3, 3, 10, 4);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 3), 0);
    assert_string_equal(condition(&f), "pod group is unschedulable");
    assert_string_equal(fixture_last(&f, WRITE_POD_GROUP_STATUS, "gang")->reason, "Unschedulable");
    /* One pod fits and is nominated; the others only report their own failures. */
    const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "gang-0");
    assert_string_equal(w->node, "n2");
    assert_string_equal(w->message, "pod group is unschedulable");
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "gang-1")->message,
                        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, "
                        "preemption: not eligible due "
                        "to workload aware preemption enabled");
    /* The last victim is evicted when the others are gone; until then no member enters the
     * queue. */
    fixture_pass(&f, 60 * SECOND);
    assert_int_equal(engine_get_stats(f.engine).gated, 3);
    struct fixture_write *first = fixture_eviction(&f, "a");
    assert_string_equal(first->message,
                        "default-scheduler: preempting to accommodate a higher priority podgroup");
    assert_null(fixture_eviction(&f, "b"));
    fixture_answer(&f, first, 200, "");
    fixture_answer(&f, fixture_eviction(&f, "b"), 200, "");
    w = fixture_last(&f, WRITE_EVENT, "b");
    assert_string_equal(w->reason, "Preempted");
    assert_string_equal(w->message, "Preempted by podgroup uid-of-gang on node cluster");
    assert_true(str_is(object_meta(w->related)->name, "gang"));
    fixture_pass(&f, 60 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 3), 3);
    fixture_release(&f);
}

static void refusals_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        const char *more;
        int victim; /* its priority; -1: no victim */
        bool never;
        int members;
    } cases[] = {
        {"not eligible due to preemptionPolicy=Never.", "", 1, true, 2},
        {"No preemption victims found for incoming preemptor", "", 10, false, 2},
        {"pod group is unschedulable", "", 1, false, 3},
        {"workload aware preemption is not supported for pod groups with scheduling constraints",
         "'schedulingConstraints':{'topology':[{'key':'rack'}]}", 1, false, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        char want[256];
        begin(&f, 2);
        ADD_POD(&f, .name = "v", .node = "n0", .priority = cases[i].victim, .cpu = "4");
        fixture_add(&f, POD_GROUP(.name = "gang", .min_count = cases[i].members, .priority = 10,
                                  .spec = cases[i].more));
        for (int k = 0; k < cases[i].members; k++)
            ADD_POD(&f, .name = textf("gang-%d", k), .group = "gang", .cpu = "4",
                    .preemption_policy = cases[i].never && k == 0 ? "Never" : NULL);

        fixture_settle(&f);
        snprintf(want, sizeof(want), "pod group is unschedulable, %s", cases[i].says);
        assert_string_equal(condition(&f), want);
        assert_string_equal(fixture_evict(&f), "");
        fixture_release(&f);
    }
}

static void without_the_plugin_no_group_preempts(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_features(&f,
                          "apiVersion: kubescheduler.config.k8s.io/v1\n"
                          "kind: KubeSchedulerConfiguration\n"
                          "profiles:\n"
                          "- plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}\n",
                          GATES);
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "v", .node = "n0", .priority = 1, .cpu = "4");
    add_gang(&f, 1, 1, 10, 4);
    fixture_settle(&f);
    assert_string_equal(condition(&f), "pod group is unschedulable, default preemption plugin is "
                                       "not registered, workload aware preemption is disabled");
    fixture_release(&f);
}

/* Pods without a group preempt as usual. */
static void pods_alone_preempt_alone(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    ADD_POD(&f, .name = "v", .node = "n0", .priority = 1, .cpu = "4");
    ADD_POD(&f, .name = "p", .priority = 5, .cpu = "4");
    fixture_settle(&f);
    assert_string_equal(fixture_evict(&f), "v");
    assert_string_equal(fixture_last(&f, WRITE_EVENT, "v")->message,
                        "Preempted by pod p on node n0");
    fixture_release(&f);
}

/* --- preemption that waits for evictions ------------------------------------------------------ */

static void an_eviction_that_is_waited_for(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        struct fixture f;
        begin_with(&f, 2, GATES ",SchedulerAsyncPreemption=false");
        ADD_POD(&f, .name = "v", .node = "n0", .priority = 1, .cpu = "4");
        add_gang(&f, 2, 2, 10, 4);
        fixture_schedule(&f);
        assert_null(condition(&f)); /* not over yet */
        ADD_POD(&f, .name = "other", .cpu = "1");
        fixture_schedule(&f);
        assert_null(fixture_last(&f, WRITE_EVENT, "other"));
        fixture_answer(&f, fixture_eviction(&f, "v"), refused ? 500 : 200, "it broke");
        assert_string_equal(condition(&f), refused ? "it broke" : "pod group is unschedulable");
        assert_string_equal(fixture_last(&f, WRITE_POD_GROUP_STATUS, "gang")->reason,
                            refused ? "SchedulerError" : "Unschedulable");
        fixture_release(&f);
    }
}

static void the_end_comes_while_it_is_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    begin_with(&f, 1, GATES ",SchedulerAsyncPreemption=false");
    ADD_POD(&f, .name = "v", .node = "n0", .priority = 1, .cpu = "4");
    add_gang(&f, 1, 1, 10, 4);
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "v"));
    fixture_release(&f);
}

/* A background failure requeues the whole gang. */
static void a_refused_eviction_is_tried_again(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    ADD_POD(&f, .name = "v", .node = "n0", .priority = 1, .cpu = "4");
    add_gang(&f, 2, 2, 10, 4);
    fixture_settle(&f);
    fixture_answer(&f, fixture_eviction(&f, "v"), 500, "it broke");
    fixture_settle(&f);
    assert_string_equal(fixture_evict(&f), "v");
    fixture_pass(&f, 60 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 2), 2);
    fixture_release(&f);
}

/* --- properties ------------------------------------------------------------------------------- */

#define MAX_PODS 24

struct scene {
    int nodes, n;
    struct {
        int node, cpu, priority, group; /* group -1: none */
    } pods[MAX_PODS];
    int members, cpu;
    int group_priority[3];
    bool away[MAX_PODS];
};

static void draw(struct rand *r, struct scene *s)
{
    int room[6];
    s->nodes = 1 + (int)rand_below(r, 5);
    s->members = 1 + (int)rand_below(r, 5);
    s->cpu = 1 + (int)rand_below(r, 3);
    for (int i = 0; i < 3; i++)
        s->group_priority[i] = (int)rand_below(r, 12);
    for (int i = 0; i < s->nodes; i++)
        room[i] = 4;
    for (int i = 0; i < MAX_PODS; i++) {
        int node = (int)rand_below(r, (uint64_t)s->nodes), cpu = 1 + (int)rand_below(r, 2);
        if (room[node] < cpu)
            continue;
        room[node] -= cpu;
        s->pods[s->n].node = node;
        s->pods[s->n].cpu = cpu;
        s->pods[s->n].priority = (int)rand_below(r, 12);
        s->pods[s->n++].group = (int)rand_below(r, 6) - 3;
    }
}

static void play(struct fixture *f, const struct scene *s, bool never)
{
    begin(f, (size_t)s->nodes);
    for (int i = 0; i < 3; i++) {
        fixture_add(f, POD_GROUP(.name = textf("v%d", i), .min_count = 1,
                                 .priority = s->group_priority[i], .spec = i ? AS_ONE : NULL));
    }
    for (int i = 0; i < s->n; i++) {
        if (s->away[i])
            continue;
        int group = s->pods[i].group;
        ADD_POD(f, .name = textf("p%d", i), .node = textf("n%d", s->pods[i].node),
                .cpu = textf("%d", s->pods[i].cpu), .priority = s->pods[i].priority,
                .group = group < 0 ? NULL : textf("v%d", group));
    }
    fixture_add(f, POD_GROUP(.name = "gang", .min_count = s->members, .priority = 6));
    for (int i = 0; i < s->members; i++)
        ADD_POD(f, .name = textf("gang-%d", i), .group = "gang", .cpu = textf("%d", s->cpu),
                .priority = 6, .preemption_policy = never ? "Never" : NULL);
}

/* All state that a dry run could corrupt: sums, and the pods of every node in order. */
static void write_cache(const struct fixture *f, struct buf *out)
{
    const struct cache *c = &f->engine->cache;
    for (size_t i = 0; i < c->order.n; i++) {
        const struct berth_node *n = c->order.v[i];
        buf_add_printf(out, "%s %lld/%lld:", n->name, (long long)n->requested.milli_cpu,
                       (long long)c->columns.requested_cpu[n->slot]);
        for (size_t k = 0; k < n->pods.n; k++)
            buf_add_printf(out, " %.*s", STR_ARG(n->pods.v[k]->pod->metadata.name));
        buf_add_cstr(out, "\n");
    }
}

/* Which pods of the scene were evicted. Returns false if none. */
static bool take_away(struct fixture *f, struct scene *s)
{
    bool any = false;
    struct str left = str_of(fixture_evict(f));
    while (left.n) {
        size_t n = str_search(left, STR(" "));
        struct str name = str_slice(left, 0, MIN(n, left.n));
        left = n < left.n ? str_slice(left, n + 1, left.n) : STR("");
        int i = (int)strtol(name.p + 1, NULL, 10);
        assert_true(name.p[0] == 'p' && i < s->n);
        s->away[i] = any = true;
    }
    return any;
}

static bool same_unit(const struct scene *s, int a, int b)
{
    return a == b || (s->pods[a].group > 0 && s->pods[a].group == s->pods[b].group);
}

static bool fits(const struct scene *s)
{
    struct fixture f;
    play(&f, s, true);
    fixture_settle(&f);
    bool all = bound(&f, s->members) == s->members;
    fixture_release(&f);
    return all;
}

/* Without the victims the gang fits, and with any of them it does not. Nothing else has changed. */
static bool victims_are_needed_and_enough(struct rand *r, size_t size_hint, void *ctx)
{
    (void)size_hint;
    size_t *found = ctx;
    struct scene s = {0};
    struct fixture f;
    struct buf before = BUF_INIT, after = BUF_INIT;
    draw(r, &s);
    bool fits_anyway = fits(&s);
    play(&f, &s, false);
    cache_refresh(&f.engine->cache);
    write_cache(&f, &before);
    fixture_schedule(&f);
    if (!fits_anyway) {
        write_cache(&f, &after);
        assert_string_equal(buf_cstr(&before), buf_cstr(&after));
    }
    bool any = take_away(&f, &s);
    fixture_release(&f);
    buf_release(&before);
    buf_release(&after);
    if (!any)
        return true;
    *found += 1;
    assert_false(fits_anyway);
    assert_true(fits(&s));
    for (int i = 0; i < s.n; i++) {
        struct scene less = s;
        if (!s.away[i])
            continue;
        for (int k = 0; k < s.n; k++)
            less.away[k] = s.away[k] && !same_unit(&s, i, k);
        assert_true(s.pods[i].group > 0 ? s.group_priority[s.pods[i].group] < 6
                                        : s.pods[i].priority < 6);
        assert_false(fits(&less));
    }
    return true;
}

static void victims_are_the_right_ones(void **state)
{
    (void)state;
    size_t found = 0;
    assert_true(prop_run("group preemption", 150, victims_are_needed_and_enough, &found));
    assert_true(found > prop_share(20));
}

/* Its members are recreated during the eviction: the new ones have no other reason to wait. */
static void members_that_come_during_an_eviction_are_tried(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    ADD_POD(&f, .name = "v", .node = "n0", .cpu = "4");
    add_gang(&f, 2, 2, 10, 2);
    fixture_schedule(&f);
    assert_non_null(fixture_eviction(&f, "v"));
    for (int i = 0; i < 2; i++) {
        fixture_delete(
            &f, POD(.name = textf("gang-%d", i), .group = "gang", .cpu = "2", .priority = 10));
    }
    ADD_POD(&f, .name = "gang-2", .group = "gang", .cpu = "2", .priority = 10);
    ADD_POD(&f, .name = "gang-3", .group = "gang", .cpu = "2", .priority = 10);
    fixture_schedule(&f);
    fixture_evict(&f);
    fixture_pass(&f, 60 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, 4), 2);
    fixture_release(&f);
}

/* Two fit and are nominated; the node for the third is deleted. */
static void an_unschedulable_group_keeps_no_nomination(void **state)
{
    (void)state;
    for (int gate = 0; gate < 2; gate++) {
        struct fixture f;
        begin_with(&f, 3, gate ? GATES ",BerthGangsHoldNothing=true" : GATES);
        ADD_POD(&f, .name = "v", .node = "n2", .cpu = "4");
        add_gang(&f, 3, 3, 10, 4);
        fixture_schedule(&f);
        assert_int_equal(f.engine->queue.nominator.pods.n, 2);
        struct object *before = POD(.name = "gang-0", .group = "gang", .cpu = "4", .priority = 10);
        struct object *after = POD(.name = "gang-0", .group = "gang", .cpu = "4", .priority = 10);
        ((struct pod *)object_body_mut(after))->status.nominated_node_name =
            arena_dup(object_arena(after), STR("n0"));
        fixture_update(&f, before, after);
        fixture_evict(&f);
        fixture_delete(&f, NODE(.name = "n2", .cpu = "4", .memory = "8Gi"));
        ADD_POD(&f, .name = "high", .node = "n0", .cpu = "4", .priority = 20);
        fixture_pass(&f, 60 * SECOND);
        fixture_settle(&f);
        assert_int_equal(bound(&f, 3), 0);
        assert_int_equal(f.engine->queue.nominator.pods.n, gate ? 0 : 1);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_ones_have_to_go),
        cmocka_unit_test(victims_get_events_and_the_gang_waits_for_them),
        cmocka_unit_test(refusals_are_reported),
        cmocka_unit_test(without_the_plugin_no_group_preempts),
        cmocka_unit_test(pods_alone_preempt_alone),
        cmocka_unit_test(an_eviction_that_is_waited_for),
        cmocka_unit_test(the_end_comes_while_it_is_waited_for),
        cmocka_unit_test(a_refused_eviction_is_tried_again),
        cmocka_unit_test(members_that_come_during_an_eviction_are_tried),
        cmocka_unit_test(an_unschedulable_group_keeps_no_nomination),
        cmocka_unit_test(victims_are_the_right_ones),
    };
    return cmocka_run_group_tests_name("group_preemption", tests, NULL, NULL);
}
