/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of PreEnqueue, QueueSort, PreFilter, PostFilter and of profiles, one test each. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/rooms.h"
#include "puppet.h"

/* --- PreEnqueue ------------------------------------------------------------------------------- */

static void pre_enqueue_all_must_agree(void **state)
{
    (void)state;
    enum berth_code codes[] = {BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                               BERTH_ERROR,         BERTH_PENDING,
                               BERTH_SKIP,          (enum berth_code)77};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        for (int who = 0; who < 3; who++) {
            struct fixture f;
            puppet_clear();
            struct puppet *gates[] = {puppet_add("A", AT(PRE_ENQUEUE)),
                                      puppet_add("B", AT(PRE_ENQUEUE))};
            if (who < 2)
                gates[who]->code[PUPPET_PRE_ENQUEUE] = codes[i];
            puppet_scene(&f, 1);
            ADD_POD(&f, .name = "p");
            assert_int_equal(engine_get_stats(f.engine).gated, who < 2);
            fixture_settle(&f);
            assert_on(&f, "p", who < 2 ? NULL : "n0");
            /* No event is written: the API server's gates are visible in the pod. */
            assert_null(fixture_last(&f, WRITE_POD_STATUS, "p"));
            assert_string_equal(puppet_calls(AT(PRE_ENQUEUE)),
                                who == 0 ? "A.PreEnqueue" : "A.PreEnqueue B.PreEnqueue");
            fixture_release(&f);
        }
}

static void pre_enqueue_is_asked_again_when_its_event_comes(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *gate = puppet_add("A", AT(PRE_ENQUEUE) | AT(HINT));
    gate->code[PUPPET_PRE_ENQUEUE] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    gate->code[PUPPET_PRE_ENQUEUE] = BERTH_SUCCESS;
    gate->code[PUPPET_HINT] = BERTH_SKIP;
    ADD_NODE(&f, .name = "x", .cpu = "4", .memory = "8Gi");
    fixture_settle(&f);
    assert_on(&f, "p", NULL);
    gate->code[PUPPET_HINT] = BERTH_SUCCESS;
    ADD_NODE(&f, .name = "y", .cpu = "4", .memory = "8Gi");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    fixture_release(&f);
}

/* --- QueueSort -------------------------------------------------------------------------------- */

static void queue_sort_orders_the_pods_of_all_profiles(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("Sort", AT(LESS));
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- schedulerName: default-scheduler\n"
                 "- schedulerName: other\n",
                 puppet_registry());
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "oldest", .priority = 9);
    ADD_POD(&f, .name = "middle", .uid = "m", .scheduler = "other");
    ADD_POD(&f, .name = "youngest");
    fixture_settle(&f);
    assert_int_equal(f.decisions.n, 3);
    assert_string_equal(f.decisions.v[0], "youngest -> n0");
    assert_string_equal(f.decisions.v[1], "middle -> n0");
    assert_string_equal(f.decisions.v[2], "oldest -> n0");
    fixture_release(&f);
}

/* The error of creating an engine with this configuration; "" if none. */
static void assert_config(const char *text, const char *expected)
{
    struct scheduler_config config;
    struct arena arena;
    struct err err = {0};
    struct engine *e = NULL;
    arena_init(&arena, 0);
    config_default(&config, &arena);
    struct features features;
    features_default(&features);
    int r = config_load("f", str_of(text), &arena, &config, &err);
    if (r == 0)
        r = config_check(&config, puppet_registry(), &features, &err);
    struct engine_options options = {.config = &config, .registry = puppet_registry()};
    if (r == 0)
        r = engine_new(&options, &e, &err);
    if (*expected) {
        assert_true(r < 0);
        assert_non_null(strstr(err.msg, expected));
    } else if (r < 0) {
        fail_msg("%s", err.msg);
    }
    engine_free(e);
    arena_release(&arena);
}

static void profiles_must_agree_on_the_queue_sort(void **state)
{
    (void)state;
    puppet_clear();
    puppet_add("Sort", AT(LESS));
    puppet_add("Other", AT(LESS));
#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#define SORTS_BY(name) \
    "  plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: " name "}]}}\n"
    assert_config(HEAD "profiles:\n- schedulerName: a\n" SORTS_BY(
                      "Sort") "- schedulerName: b\n" SORTS_BY("Sort"),
                  "");
    assert_config(
        HEAD
        "profiles:\n- schedulerName: a\n" SORTS_BY("Sort") "- schedulerName: b\n" SORTS_BY("Other"),
        "profiles[1].plugins.queueSort: Invalid value: {\"Enabled\":[{\"Name\":\"Other\",");
    assert_config(HEAD "profiles:\n- schedulerName: a\n", "only one queue sort plugin");
    assert_config(HEAD "profiles:\n- schedulerName: a\n" SORTS_BY(
                      "Sort") "  pluginConfig: [{name: Sort, args: {x: 1}}]\n"
                              "- schedulerName: b\n" SORTS_BY(
                                  "Sort") "  pluginConfig: [{name: Sort, args: {x: 2}}]\n",
                  "different queue sort plugin args for profile \"b\"");
    assert_config(HEAD "profiles:\n- schedulerName: a\n" SORTS_BY(
                      "Sort") "- schedulerName: a\n" SORTS_BY("Sort"),
                  "\"a\"");
}

/* config_check finds this as well; an engine may be created without it. */
static void profile_names_must_differ(void **state)
{
    (void)state;
    struct scheduler_config config;
    struct arena arena;
    struct err err = {0};
    struct engine *e = NULL;
    puppet_clear();
    puppet_add("Sort", AT(LESS));
    arena_init(&arena, 0);
    config_default(&config, &arena);
    int r = config_load("f",
                        STR(HEAD "profiles:\n- schedulerName: a\n" SORTS_BY(
                            "Sort") "- schedulerName: b\n" SORTS_BY("Sort") "- schedulerName: "
                                                                            "a\n" SORTS_BY("Sort")),
                        &arena, &config, &err);
    assert_int_equal(r, 0);
    struct engine_options options = {.config = &config, .registry = puppet_registry()};
    r = engine_new(&options, &e, &err);
    assert_int_equal(r, -EINVAL);
    assert_string_equal(err.msg, "f: profiles[2]: duplicate profile with scheduler name \"a\"");
    arena_release(&arena);
}

/* --- PreFilter -------------------------------------------------------------------------------- */

struct pre_filter_case {
    const char *name;
    enum berth_code a, b;
    const char *limit_a, *limit_b;
    const char *calls; /* of PreFilter, Filter and PostFilter */
    const char *reason, *message;
    unsigned blamed; /* bit 0: A, bit 1: B */
};

#define ALL_FILTERS "A.Filter(n0) A.Filter(n1) A.Filter(n2) B.Filter(n0) B.Filter(n1) B.Filter(n2)"

static const struct pre_filter_case pre_filter_cases[] = {
    {.name = "success", .calls = "A.PreFilter B.PreFilter " ALL_FILTERS},
    {.name = "skip drops the plugin's Filter",
     .a = BERTH_SKIP,
     .calls = "A.PreFilter B.PreFilter B.Filter(n0) B.Filter(n1) B.Filter(n2)"},
    {.name = "unschedulable is remembered while the others still run",
     .a = BERTH_UNSCHEDULABLE,
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: a, twice. late",
     .blamed = 1},
    {.name = "the last unschedulable counts",
     .a = BERTH_UNSCHEDULABLE,
     .b = BERTH_UNSCHEDULABLE,
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: b. late",
     .blamed = 2},
    {.name = "unresolvable stops at once",
     .a = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
     .calls = "A.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: a, twice. late",
     .blamed = 1},
    {.name = "unresolvable after unschedulable",
     .a = BERTH_UNSCHEDULABLE,
     .b = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: b. late",
     .blamed = 2},
    {.name = "an error ends the attempt",
     .a = BERTH_ERROR,
     .calls = "A.PreFilter",
     .reason = "SchedulerError",
     .message = "running PreFilter plugin \"A\": a, twice"},
    {.name = "an error after unschedulable is an error",
     .a = BERTH_UNSCHEDULABLE,
     .b = BERTH_ERROR,
     .calls = "A.PreFilter B.PreFilter",
     .reason = "SchedulerError",
     .message = "running PreFilter plugin \"B\": b"},
    {.name = "pending is not for PreFilter",
     .a = BERTH_PENDING,
     .calls = "A.PreFilter",
     .reason = "SchedulerError",
     .message = "running PreFilter plugin \"A\": a, twice"},
    {.name = "waiting is not for PreFilter",
     .b = BERTH_WAIT,
     .calls = "A.PreFilter B.PreFilter",
     .reason = "SchedulerError",
     .message = "running PreFilter plugin \"B\": b"},
    {.name = "one subset",
     .limit_a = "n1",
     .calls = "A.PreFilter B.PreFilter A.Filter(n1) B.Filter(n1)"},
    {.name = "two subsets that meet",
     .limit_a = "n1",
     .limit_b = "n1",
     .calls = "A.PreFilter B.PreFilter A.Filter(n1) B.Filter(n1)"},
    {.name = "two subsets that do not meet",
     .limit_a = "n1",
     .limit_b = "n2",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously. "
                "late",
     .blamed = 3},
    {.name = "an empty meeting is the last word",
     .a = BERTH_UNSCHEDULABLE,
     .limit_b = "",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: node(s) didn't satisfy plugin B. late",
     .blamed = 2},
    {.name = "an empty subset",
     .limit_a = "",
     .calls = "A.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: node(s) didn't satisfy plugin A. late",
     .blamed = 1},
    {.name = "the subset of a plugin that skips does not count",
     .a = BERTH_SKIP,
     .limit_a = "n1",
     .calls = "A.PreFilter B.PreFilter B.Filter(n0) B.Filter(n1) B.Filter(n2)"},
    {.name = "nor that of one that refuses",
     .a = BERTH_UNSCHEDULABLE,
     .limit_a = "n1",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: a, twice. late",
     .blamed = 1},
    {.name = "a subset is to blame beside who refuses",
     .b = BERTH_UNSCHEDULABLE,
     .limit_a = "n1",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: b. late",
     .blamed = 3},
    {.name = "a node that there is not",
     .limit_a = "ghost",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [A]. late",
     .blamed = 1},
    {.name = "the same ghost twice",
     .limit_a = "ghost",
     .limit_b = "ghost",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [A B]. late",
     .blamed = 3},
    {.name = "a ghost and a node",
     .limit_a = "ghost",
     .limit_b = "n1",
     .calls = "A.PreFilter B.PreFilter A.PostFilter B.PostFilter",
     .reason = "Unschedulable",
     .message = "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously. "
                "late",
     .blamed = 3},
};

static void limit_to_nothing(struct puppet_call *call)
{
    struct berth_str nothing = {0};
    if (call->point == PUPPET_PRE_FILTER)
        call->puppet->host->limit_nodes(call->cycle, &nothing, 0);
}

static void set_limit(struct puppet *p, const char *limit)
{
    if (limit && *limit)
        p->limit[0] = limit;
    else if (limit)
        p->hook = limit_to_nothing;
}

static void assert_blamed(struct fixture *f, const struct puppet *const *puppets, unsigned blamed)
{
    const struct berth_queued_pod *qp = queue_get(&f->engine->queue, STR("p"));
    assert_non_null(qp);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(plugin_set_has(&qp->rejectors, puppets[i]->handle->id), blamed >> i & 1);
}

static void pre_filter_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pre_filter_cases); i++) {
        const struct pre_filter_case *c = &pre_filter_cases[i];
        struct fixture f;
        puppet_clear();
        unsigned points = AT(PRE_FILTER) | AT(FILTER) | AT(POST_FILTER) | AT(HINT);
        struct puppet *a = puppet_add("A", points), *b = puppet_add("B", points);
        a->code[PUPPET_PRE_FILTER] = c->a;
        a->reason = "a";
        a->second_reason = "twice";
        a->code[PUPPET_POST_FILTER] = b->code[PUPPET_POST_FILTER] = BERTH_UNSCHEDULABLE;
        a->reason_at[PUPPET_POST_FILTER] = "late";
        b->reason_at[PUPPET_POST_FILTER] = "";
        b->code[PUPPET_PRE_FILTER] = c->b;
        b->reason = "b";
        set_limit(a, c->limit_a);
        set_limit(b, c->limit_b);
        puppet_scene(&f, 3);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        const char *calls = puppet_calls(AT(PRE_FILTER) | AT(FILTER) | AT(POST_FILTER));
        if (strcmp(calls, c->calls) != 0)
            fail_msg("%s: called %s", c->name, calls);
        if (!c->message) {
            assert_non_null(fixture_node_of(&f, "p"));
        } else {
            const struct puppet *const puppets[] = {a, b};
            assert_told(&f, "p", c->reason, c->message);
            assert_blamed(&f, puppets, c->blamed);
        }
        fixture_release(&f);
    }
}

static void nodes_outside_of_the_subset_are_counted(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *b = puppet_add("B", AT(PRE_FILTER) | AT(FILTER));
    struct puppet *a = puppet_add("A", AT(PRE_FILTER) | AT(HINT));
    a->limit[0] = "n1", a->limit[1] = "n3", a->limit[2] = "n4", a->limit[3] = "ghost";
    b->limit[0] = "n3", b->limit[1] = "n4", b->limit[2] = "n0", b->limit[3] = "ghost";
    b->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    b->reason = "full";
    puppet_scene(&f, 6);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_told(&f, "p", "Unschedulable",
                "0/6 nodes are available: 2 full, 4 node(s) didn't satisfy plugin(s) [A B].");
    /* Plugins that restricted the nodes get events too, not only those that rejected. */
    const struct puppet *const puppets[] = {a, b};
    assert_blamed(&f, puppets, 3);
    fixture_release(&f);
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static enum berth_code seen_verdicts[3];

static void look_at_verdicts(struct puppet_call *call)
{
    const struct berth_host *host = call->puppet->host;
    static const char *const names[] = {"n0", "n1", "n2"};
    if (call->point == PUPPET_FILTER && strcmp(call->node->name, "n1") == 0)
        call->code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    if (call->point == PUPPET_POST_FILTER)
        for (size_t i = 0; i < 3; i++)
            seen_verdicts[i] = host->node_verdict(
                call->cycle, host->node_by_name(call->puppet->handle, abi_str(str_of(names[i]))));
}

static void post_filter_sees_the_verdicts(void **state)
{
    (void)state;
    static const struct {
        enum berth_code pre_filter;
        const char *limit;
        enum berth_code seen[3];
    } cases[] = {
        {BERTH_SUCCESS,
         NULL,
         {BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, BERTH_UNSCHEDULABLE}},
        {BERTH_SUCCESS,
         "n2",
         {BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
          BERTH_UNSCHEDULABLE}},
        /* PreFilter's code applies to all nodes: preemption may help on all, or on none. */
        {BERTH_UNSCHEDULABLE,
         NULL,
         {BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE}},
        {BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
         NULL,
         {BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
          BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PRE_FILTER) | AT(FILTER) | AT(POST_FILTER));
        a->hook = look_at_verdicts;
        a->code[PUPPET_PRE_FILTER] = cases[i].pre_filter;
        a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
        a->code[PUPPET_POST_FILTER] = BERTH_UNSCHEDULABLE;
        a->limit[0] = cases[i].limit;
        puppet_scene(&f, 3);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_memory_equal(seen_verdicts, cases[i].seen, sizeof(seen_verdicts));
        fixture_release(&f);
    }
}

/* The answers of two PostFilter plugins, and the nodes they nominate. */
struct post_filter_case {
    const char *name;
    enum berth_code a, b;
    const char *node_a, *node_b; /* NULL: no change of the nomination; "": cleared */
    const char *suffix;
    const char *nominated; /* NULL: the pod's nomination stays */
    bool b_is_asked;
};

static const struct post_filter_case post_filter_cases[] = {
    {"success stops", BERTH_SUCCESS, BERTH_SUCCESS, "n1", "n2", "", "n1", false},
    {"unresolvable stops", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, BERTH_SUCCESS, NULL, "n2",
     " a says no", NULL, false},
    {"unresolvable may clear", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, BERTH_SUCCESS, "", "n2",
     " a says no", "", false},
    {"unschedulable goes on", BERTH_UNSCHEDULABLE, BERTH_SUCCESS, NULL, "n2", "", "n2", true},
    {"what the first named gives way to success", BERTH_UNSCHEDULABLE, BERTH_SUCCESS, "n1", NULL,
     "", NULL, true},
    {"reasons add up", BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE, NULL, NULL,
     " a says no, b says no", NULL, true},
    {"clearing stands while others say nothing", BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE, "", NULL,
     " a says no, b says no", "", true},
    {"pending goes on", BERTH_PENDING, BERTH_UNSCHEDULABLE, NULL, NULL, " a says no, b says no",
     NULL, true},
    {"an error stops and leaves things as they are", BERTH_ERROR, BERTH_SUCCESS, "n1", "n2",
     " a says no", NULL, false},
    {"so does what is undefined", (enum berth_code)42, BERTH_SUCCESS, "n1", "n2", " a says no",
     NULL, false},
    {"an error drops what was named before", BERTH_UNSCHEDULABLE, BERTH_ERROR, "n1", NULL,
     " b says no", NULL, true},
};

static const struct post_filter_case *post_filter_now;

static void nominate(struct puppet_call *call)
{
    bool is_a = *call->puppet->name == 'A';
    const char *node = is_a ? post_filter_now->node_a : post_filter_now->node_b;
    if (call->point == PUPPET_POST_FILTER && node)
        call->puppet->host->nominate(call->cycle, abi_str(str_of(node)));
}

/* The nominator's node for the pod; NULL if none. */
static const char *promised(const struct fixture *f, const char *pod)
{
    static const char *const names[] = {"n0", "n1", "n2"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct nominated_node *n =
            nominator_node(&f->engine->queue.nominator, str_of(names[i]));
        for (size_t k = 0; n && k < n->pods.n; k++)
            if (str_is(pod_info_key(n->pods.v[k]), pod))
                return names[i];
    }
    return NULL;
}

static void post_filter_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(post_filter_cases); i++) {
        const struct post_filter_case *c = post_filter_now = &post_filter_cases[i];
        struct fixture f;
        char text[128];
        puppet_clear();
        struct puppet *filter = puppet_add("F", AT(FILTER));
        struct puppet *a = puppet_add("A", AT(POST_FILTER));
        struct puppet *b = puppet_add("B", AT(POST_FILTER));
        filter->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
        filter->reason = "full";
        a->code[PUPPET_POST_FILTER] = c->a;
        b->code[PUPPET_POST_FILTER] = c->b;
        a->reason = "a says no";
        b->reason = "b says no";
        a->hook = b->hook = nominate;
        puppet_scene(&f, 3);
        ADD_POD(&f, .name = "p", .nominated = "n0");
        assert_string_equal(promised(&f, "p"), "n0");
        fixture_settle(&f);
        snprintf(text, sizeof(text), "0/3 nodes are available: 3 full.%s", c->suffix);
        assert_told(&f, "p", "Unschedulable", text);
        assert_int_equal(puppet_count(AT(POST_FILTER)), c->b_is_asked ? 2 : 1);
        const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "p");
        const char *now = promised(&f, "p");
        if (w->sets_nomination != (c->nominated != NULL))
            fail_msg("%s: sets_nomination is %d", c->name, w->sets_nomination);
        if (c->nominated)
            assert_string_equal(w->node, c->nominated);
        const char *expected = c->nominated ? c->nominated : "n0";
        if (strcmp(now ? now : "", expected) != 0)
            fail_msg("%s: nominated to %s", c->name, now ? now : "nothing");
        fixture_release(&f);
    }
}

static void without_post_filter_a_nomination_is_removed(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p", .nominated = "n0");
    fixture_settle(&f);
    const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "p");
    assert_string_equal(w->message, "0/2 nodes are available:");
    assert_true(w->sets_nomination);
    assert_string_equal(w->node, "");
    assert_null(promised(&f, "p"));
    fixture_release(&f);
}

static void post_filter_does_not_run_where_something_broke(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(POST_FILTER));
    a->code[PUPPET_FILTER] = BERTH_ERROR;
    a->reason = "ouch";
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p", .nominated = "n0");
    fixture_settle(&f);
    assert_told(&f, "p", "SchedulerError", "running \"A\" filter plugin: ouch");
    assert_int_equal(puppet_count(AT(POST_FILTER)), 0);
    /* The nomination is cleared: it is not valid. */
    assert_true(fixture_last(&f, WRITE_POD_STATUS, "p")->sets_nomination);
    assert_null(promised(&f, "p"));
    fixture_release(&f);
}

/* --- events and hints in the whole engine ----------------------------------------------------- */

static void only_rejecting_plugins_are_asked_for_a_hint(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    puppet_add("B", AT(FILTER) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    a->reason = "no";
    a->code[PUPPET_HINT] = BERTH_SKIP;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_int_equal(engine_get_stats(f.engine).unschedulable, 1);
    ADD_NODE(&f, .name = "x", .labels = "l=1");
    assert_string_equal(puppet_calls(AT(HINT)), "A.Hint");
    /* No plugin registered for annotations. */
    fixture_update(&f, NODE(.name = "x", .labels = "l=1"),
                   NODE(.name = "x", .labels = "l=1", .meta = "'annotations':{'a':'1'}"));
    assert_string_equal(puppet_calls(AT(HINT)), "A.Hint");
    fixture_settle(&f);
    assert_on(&f, "p", NULL);
    a->code[PUPPET_HINT] = BERTH_SUCCESS;
    a->code[PUPPET_FILTER] = BERTH_SUCCESS;
    fixture_update(&f, NODE(.name = "x", .labels = "l=1"), NODE(.name = "x", .labels = "l=2"));
    assert_string_equal(puppet_calls(AT(HINT)), "A.Hint A.Hint");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    fixture_release(&f);
}

static void pending_pods_do_not_wait_out_their_backoff(void **state)
{
    (void)state;
    enum berth_code codes[] = {BERTH_PENDING, BERTH_UNSCHEDULABLE};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
        a->code[PUPPET_FILTER] = codes[i];
        a->reason = "no";
        puppet_scene(&f, 1);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        assert_told(&f, "p", "Unschedulable", "0/1 nodes are available: 1 no.");
        ADD_NODE(&f, .name = "x", .labels = "l=1");
        struct engine_stats stats = engine_get_stats(f.engine);
        assert_int_equal(stats.active, codes[i] == BERTH_PENDING);
        assert_int_equal(stats.backoff, codes[i] != BERTH_PENDING);
        fixture_release(&f);
    }
}

/* --- profiles --------------------------------------------------------------------------------- */

static void profiles_have_plugins_of_their_own(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    puppet_add("B", AT(FILTER));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    a->reason = "no";
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- schedulerName: default-scheduler\n"
                 "- schedulerName: lax\n"
                 "  plugins: {filter: {disabled: [{name: A}]}}\n",
                 puppet_registry());
    ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    assert_string_equal(puppet_calls(AT(FILTER)), "A.Filter(n0)");
    puppet_forget_calls();
    ADD_POD(&f, .name = "q", .scheduler = "lax");
    fixture_settle(&f);
    assert_string_equal(puppet_calls(AT(FILTER)), "B.Filter(n0)");
    assert_on(&f, "p", NULL);
    assert_on(&f, "q", "n0");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pre_enqueue_all_must_agree),
        cmocka_unit_test(pre_enqueue_is_asked_again_when_its_event_comes),
        cmocka_unit_test(queue_sort_orders_the_pods_of_all_profiles),
        cmocka_unit_test(profiles_must_agree_on_the_queue_sort),
        cmocka_unit_test(profile_names_must_differ),
        cmocka_unit_test(pre_filter_table),
        cmocka_unit_test(nodes_outside_of_the_subset_are_counted),
        cmocka_unit_test(post_filter_sees_the_verdicts),
        cmocka_unit_test(post_filter_table),
        cmocka_unit_test(without_post_filter_a_nomination_is_removed),
        cmocka_unit_test(post_filter_does_not_run_where_something_broke),
        cmocka_unit_test(only_rejecting_plugins_are_asked_for_a_hint),
        cmocka_unit_test(pending_pods_do_not_wait_out_their_backoff),
        cmocka_unit_test(profiles_have_plugins_of_their_own),
    };
    return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
