/* SPDX-License-Identifier: Apache-2.0 */
/* BerthVictimsCanMove: nodes n0, n1, … with 4 cpus; the preemptor may not use the last. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine_fixture.h"
#include "prop.h"

#define GATE "BerthVictimsCanMove=true"

/* --- fixtures --------------------------------------------------------------------------------- */

#define MINUTE(mm) "2026-01-01T00:" #mm ":00Z"

/* All except the last are for the preemptor. n0 and n1 share a zone, and so on. */
static void begin(struct fixture *f, const char *gates, size_t nodes)
{
    fixture_init_features(f,
                          "apiVersion: kubescheduler.config.k8s.io/v1\n"
                          "kind: KubeSchedulerConfiguration\n"
                          "profiles:\n"
                          "- pluginConfig:\n"
                          "  - name: DefaultPreemption\n"
                          "    args: {minCandidateNodesPercentage: 100}\n",
                          gates);
    for (size_t i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%zu", i),
                 .labels = textf("host=n%zu,zone=z%zu,for-high=%s", i, i / 2,
                                 i + 1 < nodes ? "yes" : "no"),
                 .cpu = "4", .memory = "8Gi", .pods = "20");
    fixture_add_budget(f, "kept", 0);
}

/* The result of preemption, "NODE: victim victim"; "" if none. */
static const char *outcome(struct fixture *f)
{
    static char text[512];
    struct buf why = BUF_INIT;
    char node[64] = "", victims[256] = "";
    engine_explain(f->engine, STR("default"), STR("high"), &why);
    text[0] = '\0';
    const char *at = strstr(single_quotes(buf_cstr(&why)), "'postFilter':");
    at = at ? strstr(at, "'nominatedNode':") : NULL;
    if (at && sscanf(at, "'nominatedNode':'%63[^']','victims':[%255[^]]]", node, victims) == 2) {
        size_t n = (size_t)snprintf(text, sizeof(text), "%s:", node);
        for (const char *v = strchr(victims, '/'); v; v = strchr(v + 1, '/'))
            n += (size_t)snprintf(text + n, sizeof(text) - n, " %.*s", (int)strcspn(v + 1, "'"),
                                  v + 1);
    }
    buf_release(&why);
    return text;
}

/* --- upstream's result, and the gate's -------------------------------------------------------- */

struct scene {
    const char *what;
    size_t nodes; /* the last is empty: victims may move there */
    struct pod_args pods[6];
    struct pod_args high;
    const char *without, *with; /* the gate */
};

static const struct scene scenes[] = {
    {"of two nodes, the one whose victim can move",
     3,
     {{.name = "stuck",
       .node = "n0",
       .cpu = "4",
       .started = MINUTE(09),
       .node_selector = "host=n0"},
      {.name = "free", .node = "n1", .cpu = "4", .started = MINUTE(01)}},
     {.cpu = "4"},
     "n0: stuck",
     "n1: free"},
    {"of two pods on a node, the one that can move",
     2,
     {{.name = "stuck",
       .node = "n0",
       .cpu = "2",
       .started = MINUTE(09),
       .node_selector = "host=n0"},
      {.name = "free", .node = "n0", .cpu = "2", .started = MINUTE(01)}},
     {.cpu = "2"},
     "n0: stuck",
     "n0: free"},
    {"two that can move rather than one that cannot",
     3,
     {{.name = "stuck", .node = "n0", .cpu = "4", .node_selector = "host=n0"},
      {.name = "a", .node = "n1", .cpu = "2", .started = MINUTE(01)},
      {.name = "b", .node = "n1", .cpu = "2", .started = MINUTE(02)}},
     {.cpu = "4"},
     "n0: stuck",
     "n1: a b"},
    {"the highest priority comes first",
     3,
     {{.name = "stuck", .node = "n0", .cpu = "4", .node_selector = "host=n0"},
      {.name = "free", .node = "n1", .cpu = "4", .priority = 1}},
     {.cpu = "4"},
     "n0: stuck",
     "n0: stuck"},
    {"budgets come first",
     3,
     {{.name = "stuck", .node = "n0", .cpu = "4", .node_selector = "host=n0"},
      {.name = "free", .node = "n1", .cpu = "4", .labels = "app=kept"}},
     {.cpu = "4"},
     "n0: stuck",
     "n0: stuck"},
    {"priorities of a node come first",
     2,
     {{.name = "stuck", .node = "n0", .cpu = "2", .node_selector = "host=n0"},
      {.name = "free", .node = "n0", .cpu = "2", .priority = 1}},
     {.cpu = "2"},
     "n0: stuck",
     "n0: stuck"},
    {"pods of other schedulers count as lost",
     3,
     {{.name = "foreign", .node = "n0", .cpu = "4", .started = MINUTE(09), .scheduler = "other"},
      {.name = "free", .node = "n1", .cpu = "4", .started = MINUTE(01)}},
     {.cpu = "4"},
     "n0: foreign",
     "n1: free"},
    {"with the preemptor in its place: who must be far from it cannot move to its zone",
     4,
     {{.name = "a", .node = "n0", .cpu = "4", .started = MINUTE(01)},
      {.name = "b",
       .node = "n2",
       .cpu = "4",
       .started = MINUTE(09),
       .anti_affinity = TERMS({"zone", "app=me"})},
      {.name = "rock", .node = "n1", .cpu = "4", .priority = 9}},
     {.cpu = "4", .labels = "app=me"},
     "n2: b",
     "n0: a"},
    {"where all are lost upstream's rules decide",
     3,
     {{.name = "x", .node = "n0", .cpu = "4", .started = MINUTE(09), .node_selector = "host=n0"},
      {.name = "y", .node = "n1", .cpu = "4", .started = MINUTE(01), .node_selector = "host=n1"}},
     {.cpu = "4"},
     "n0: x",
     "n0: x"},
};

static void victims_that_can_move_are_preferred(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
        for (int on = 0; on < 2; on++) {
            const struct scene *s = &scenes[i];
            struct pod_args high = s->high;
            struct fixture f;
            high.name = "high";
            high.priority = 9;
            high.node_selector = "for-high=yes";
            begin(&f, on ? GATE : "", s->nodes);
            for (size_t k = 0; k < ARRAY_LEN(s->pods) && s->pods[k].name; k++)
                fixture_add(&f, object_from_pod_args(&s->pods[k]));
            fixture_add(&f, object_from_pod_args(&high));
            fixture_schedule(&f);
            if (strcmp(outcome(&f), on ? s->with : s->without) != 0)
                fail_msg("%s, %s: %s", s->what, on ? "with" : "without", outcome(&f));
            fixture_release(&f);
        }
}

/* --- random clusters -------------------------------------------------------------------------- */

#define MAX_PODS 12

/* A random pod. */
struct drawn_pod {
    char name[8];
    const char *node;
    int priority, cpu;
    int started; /* minutes past the hour */
    bool kept;   /* by the budget */
    bool only;   /* fits only that node */
};

struct cluster_case {
    struct drawn_pod pods[MAX_PODS];
    size_t n;
    int high_cpu;
};

static const char *const node_names[] = {"n0", "n1", "n2", "n3"};

static void draw(struct rand *r, struct cluster_case *c)
{
    int room[3] = {4, 4, 4};
    *c = (struct cluster_case){0};
    for (size_t tries = 0; tries < 24 && c->n < MAX_PODS - 1; tries++) {
        size_t node = rand_below(r, 3);
        int cpu = 1 + (int)rand_below(r, 2);
        if (room[node] < cpu)
            continue;
        room[node] -= cpu;
        struct drawn_pod *p = &c->pods[c->n];
        *p = (struct drawn_pod){.node = node_names[node], .cpu = cpu};
        snprintf(p->name, sizeof(p->name), "p%d", (int)(c->n++ % 100));
        p->priority = (int)rand_below(r, 2);
        p->started = (int)rand_below(r, 60);
        p->kept = rand_below(r, 4) == 0;
        p->only = rand_below(r, 2);
    }
    /* Room to move, but not for all. */
    c->pods[c->n++] = (struct drawn_pod){
        .name = "rock", .node = "n3", .priority = 9, .cpu = 1 + (int)rand_below(r, 3)};
    c->high_cpu = 2 + (int)rand_below(r, 3);
}

static void add_drawn(struct fixture *f, const struct drawn_pod *p, const char *node)
{
    ADD_POD(f, .name = p->name, .node = node, .priority = p->priority, .cpu = textf("%d", p->cpu),
            .labels = p->kept ? "app=kept" : "app=web",
            .node_selector = p->only ? textf("host=%s", p->node) : NULL,
            .started = textf("2026-01-01T00:%02d:00Z", p->started));
}

static void add_high(struct fixture *f, const struct cluster_case *c, const char *node)
{
    ADD_POD(f, .name = "high", .node = node, .priority = 9, .cpu = textf("%d", c->high_cpu),
            .node_selector = "for-high=yes");
}

static void decide(const struct cluster_case *c, const char *gates, char *ret, size_t size)
{
    struct fixture f;
    begin(&f, gates, 4);
    for (size_t i = 0; i < c->n; i++)
        add_drawn(&f, &c->pods[i], c->pods[i].node);
    add_high(&f, c, NULL);
    fixture_schedule(&f);
    snprintf(ret, size, "%s", fixture_binding(&f, "high") ? "" : outcome(&f));
    fixture_release(&f);
}

/* Violations, the highest priority, and the weight of the losses, found by trial. */
struct verdict_by_hand {
    int64_t violations, highest, lost;
};

static bool is_victim(const char *outcome_text, const char *name)
{
    char word[32];
    size_t n = (size_t)snprintf(word, sizeof(word), " %s", name);
    for (const char *at = strstr(outcome_text, word); at; at = strstr(at + 1, word))
        if (at[n] == ' ' || at[n] == '\0')
            return true;
    return false;
}

static bool finds_place(const struct cluster_case *c, const char *text, size_t victim)
{
    struct fixture f;
    begin(&f, "", 4);
    for (size_t i = 0; i < c->n; i++)
        if (!is_victim(text, c->pods[i].name))
            add_drawn(&f, &c->pods[i], c->pods[i].node);
    add_high(&f, c, textf("%.2s", text));
    add_drawn(&f, &c->pods[victim], NULL);
    fixture_schedule(&f);
    bool placed = fixture_binding(&f, c->pods[victim].name) != NULL;
    fixture_release(&f);
    return placed;
}

static struct verdict_by_hand by_hand(const struct cluster_case *c, const char *text)
{
    struct verdict_by_hand v = {0, INT64_MIN, 0};
    for (size_t i = 0; i < c->n; i++) {
        if (!is_victim(text, c->pods[i].name))
            continue;
        v.violations += c->pods[i].kept;
        v.highest = MAX(v.highest, (int64_t)c->pods[i].priority);
        if (!finds_place(c, text, i))
            v.lost += c->pods[i].priority + (INT64_C(1) << 31);
    }
    return v;
}

static size_t n_better; /* cases in which the gate saved a pod */

static bool check_case(struct rand *r, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    struct cluster_case c;
    char without[512], with[512];
    draw(r, &c);
    decide(&c, "", without, sizeof(without));
    decide(&c, GATE, with, sizeof(with));
    if (!*without || !*with)
        return !*without && !*with;
    struct verdict_by_hand a = by_hand(&c, without), b = by_hand(&c, with);
    n_better += b.lost < a.lost;
    bool ok = a.violations == b.violations && a.highest == b.highest && b.lost <= a.lost;
    if (!ok)
        print_error("without %s, with %s\n", without, with);
    return ok;
}

static void budgets_and_priorities_stay_and_less_is_lost(void **state)
{
    (void)state;
    assert_true(prop_run("victims that can move", 300, check_case, NULL));
    assert_true(n_better > prop_share(10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victims_that_can_move_are_preferred),
        cmocka_unit_test(budgets_and_priorities_stay_and_less_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
