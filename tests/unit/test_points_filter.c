/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of Filter and of nominated pods, of scores and of the choice, one test each. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/bitset.h"
#include "engine/rooms.h"
#include "prop.h"
#include "puppet.h"

static bool is_node(const struct puppet_call *call, const char *name)
{
    return call->node && strcmp(call->node->name, name) == 0;
}

/* The number in "n17". */
static int64_t number_of(const struct berth_node *node)
{
    int64_t n = 0;
    assert_true(str_to_i64(str_of(node->name + 1), &n));
    return n;
}

/* --- Filter ----------------------------------------------------------------------------------- */

static void the_first_refusal_decides(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER) | AT(HINT));
    struct puppet *b = puppet_add("B", AT(FILTER) | AT(HINT));
    a->code[PUPPET_FILTER] = BERTH_UNSCHEDULABLE;
    b->code[PUPPET_FILTER] = BERTH_ERROR; /* never called */
    a->reason = "first";
    b->reason = "second";
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_told(&f, "p", "Unschedulable", "0/2 nodes are available: 2 first.");
    assert_string_equal(puppet_calls(AT(FILTER)), "A.Filter(n0) A.Filter(n1)");
    fixture_release(&f);
}

static void all_refusals_count_alike(void **state)
{
    (void)state;
    enum berth_code codes[] = {BERTH_UNSCHEDULABLE, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                               BERTH_PENDING};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(FILTER));
        a->code[PUPPET_FILTER] = codes[i];
        a->reason = "b";
        a->second_reason = "a";
        puppet_scene(&f, 12);
        ADD_POD(&f, .name = "p");
        fixture_schedule(&f);
        /* The reasons of one verdict are counted one by one, and sorted as text. */
        assert_told(&f, "p", "Unschedulable", "0/12 nodes are available: 12 a, 12 b.");
        fixture_release(&f);
    }
}

static void refuse_by_name(struct puppet_call *call)
{
    static const char *const reasons[] = {"x", "y", "z"};
    if (call->point != PUPPET_FILTER)
        return;
    int64_t n = number_of(call->node);
    call->code = BERTH_UNSCHEDULABLE;
    call->puppet->host->status_text(call->status, abi_str(str_of(reasons[n % 3])));
    if (n % 2)
        call->puppet->host->status_text(call->status, BERTH_STR("odd"));
}

static void reasons_are_a_histogram_sorted_as_text(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER))->hook = refuse_by_name;
    puppet_scene(&f, 25);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    /* n0 … n24: 9 x, 8 y, 8 z, 12 odd; "12 …" comes before "8 …". */
    assert_told(&f, "p", "Unschedulable", "0/25 nodes are available: 12 odd, 8 y, 8 z, 9 x.");
    fixture_release(&f);
}

static void break_on_one(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && is_node(call, "n1")) {
        call->code = BERTH_ERROR;
        call->puppet->host->status_text(call->status, BERTH_STR("disk on fire"));
    }
}

static void an_error_on_one_node_ends_the_attempt(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER) | AT(SCORE))->hook = break_on_one;
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_told(&f, "p", "SchedulerError", "running \"A\" filter plugin: disk on fire");
    assert_on(&f, "p", NULL);
    fixture_release(&f);
}

static void break_on_two(struct puppet_call *call)
{
    call->code = number_of(call->node) == 2 ? BERTH_ERROR : BERTH_SUCCESS;
    if (call->code)
        call->puppet->host->status_text(call->status, BERTH_STR("disk on fire"));
}

/* No scores: the first feasible node is chosen. As upstream, the search continues until it finds a
 * second one, so n2 matters to attempts that start right before it, but not to others. */
static void an_error_beyond_what_is_needed_is_not_missed(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER))->hook = break_on_two;
    puppet_scene(&f, 4);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    ADD_POD(&f, .name = "q");
    fixture_settle(&f);
    assert_told(&f, "q", "SchedulerError", "running \"A\" filter plugin: disk on fire");
    fixture_release(&f);
}

static void only_zero_and_three(struct puppet_call *call)
{
    int64_t n = number_of(call->node);
    call->code = n == 0 || n == 3 ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE;
}

/* n0 and n3 are feasible: n1 and n2 were evaluated when n0 is chosen, and the next attempt starts
 * with n3. */
static void looking_ends_with_the_next_that_would_do(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(FILTER));
    a->hook = only_zero_and_three;
    puppet_scene(&f, 4);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    a->hook = NULL;
    ADD_POD(&f, .name = "q");
    fixture_settle(&f);
    assert_on(&f, "q", "n3");
    fixture_release(&f);
}

/* --- batches ---------------------------------------------------------------------------------- */

static uint8_t batch_code;

/* Rejects every node, with or without a code. */
static enum berth_code refuse_all(void *self, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_filter_batch *batch,
                                  struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)status;
    for (size_t i = 0; i < batch->columns->n; i++)
        if (batch->feasible[i / 64] >> (i % 64) & 1 && batch_code)
            batch->codes[i] = batch_code;
    memset(batch->feasible, 0, BITSET_WORDS(batch->columns->n) * sizeof(uint64_t));
    return BERTH_SUCCESS;
}

/* Earlier verdicts on a node do not count. */
static void a_batch_that_refuses_without_a_code_broke(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER))->plugin.filter_many = refuse_all;
    puppet_scene(&f, 3);
    batch_code = BERTH_UNSCHEDULABLE;
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_told(&f, "p", "Unschedulable", "0/3 nodes are available:");
    batch_code = 0;
    ADD_POD(&f, .name = "q");
    fixture_settle(&f);
    assert_told(&f, "q", "SchedulerError",
                "running \"A\" filter plugin: status Success (0) without a reason");
    fixture_release(&f);
}

/* A batch can only reject nodes, not restore them. */
static enum berth_code bring_back(void *self, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_filter_batch *batch,
                                  struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)status;
    for (size_t i = 0; i < batch->columns->n; i++)
        batch->feasible[i / 64] |= (uint64_t)1 << (i % 64);
    return BERTH_SUCCESS;
}

static void refuse_all_but_n3(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && !is_node(call, "n3"))
        call->code = BERTH_UNSCHEDULABLE;
}

static void a_refused_node_stays_refused(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER))->hook = refuse_all_but_n3;
    puppet_add("B", AT(FILTER) | AT(SCORE))->plugin.filter_many = bring_back;
    puppet_scene(&f, 70);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "n3");
    fixture_release(&f);
}

/* --- nominated pods --------------------------------------------------------------------------- */

/* The node fits one pod: rejects it if it has one. */
static void one_pod_a_node(struct puppet_call *call)
{
    if (call->point != PUPPET_FILTER || call->node->pods.n == 0)
        return;
    call->code = BERTH_UNSCHEDULABLE;
    call->puppet->host->status_text(call->status, BERTH_STR("taken"));
}

/* A gated pod that is nominated to n0, and pod p. */
static void promise(struct fixture *f, struct puppet *gate, int priority)
{
    gate->code[PUPPET_PRE_ENQUEUE] = BERTH_UNSCHEDULABLE;
    ADD_POD(f, .name = "promised", .priority = priority);
    fixture_update(f, POD(.name = "promised", .priority = priority),
                   POD(.name = "promised", .priority = priority, .nominated = "n0"));
    gate->code[PUPPET_PRE_ENQUEUE] = BERTH_SUCCESS;
    ADD_POD(f, .name = "p", .priority = 10);
}

static void nominated_pods_count_by_priority(void **state)
{
    (void)state;
    static const struct {
        int priority;
        bool counts;
    } cases[] = {{9, false}, {10, true}, {11, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PRE_ENQUEUE) | AT(FILTER) | AT(HINT));
        a->hook = one_pod_a_node;
        puppet_scene(&f, 1);
        promise(&f, a, cases[i].priority);
        fixture_settle(&f);
        if (cases[i].counts)
            assert_told(&f, "p", "Unschedulable", "0/1 nodes are available: 1 taken.");
        else
            assert_on(&f, "p", "n0");
        fixture_release(&f);
    }
}

static void a_pod_does_not_stand_in_its_own_way(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER))->hook = one_pod_a_node;
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p", .nominated = "n1");
    fixture_settle(&f);
    assert_on(&f, "p", "n1");
    /* And no other node was evaluated. */
    assert_string_equal(puppet_calls(AT(FILTER)), "A.Filter(n1)");
    fixture_release(&f);
}

/* Rejects an empty node. */
static void company(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && call->node->pods.n == 0) {
        call->code = BERTH_UNSCHEDULABLE;
        call->puppet->host->status_text(call->status, BERTH_STR("lonely"));
    }
}

static void both_passes_are_needed(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PRE_ENQUEUE) | AT(FILTER) | AT(HINT));
    a->hook = company;
    puppet_scene(&f, 1);
    promise(&f, a, 10);
    fixture_settle(&f);
    assert_told(&f, "p", "Unschedulable", "0/1 nodes are available: 1 lonely.");
    assert_string_equal(puppet_calls(AT(FILTER)), "A.Filter(n0) A.Filter(n0)");
    fixture_release(&f);
}

static int last_seen_by_filter[2], n_seen;
static bool shares;

static void *clone_count(const void *data)
{
    int *copy = xnew(int);
    *copy = *(const int *)data;
    return copy;
}

/* A plugin that counts added pods in its cycle state. */
static void count_in_state(struct puppet_call *call)
{
    const struct berth_host *host = call->puppet->host;
    berth_state_key key = host->state_key(call->puppet->handle, BERTH_STR("count"));
    if (call->point == PUPPET_PRE_FILTER && call->code == BERTH_SUCCESS)
        host->state_write(call->cycle, key, xnew(int), shares ? NULL : clone_count, free);
    if (call->point == PUPPET_ADD_POD)
        ++*(int *)host->state_read(call->cycle, key);
    if (call->point == PUPPET_ADD_POD) {
        host->activate(call->cycle, call->other);
        host->limit_nodes(call->cycle, NULL, 0); /* ignored outside of PreFilter */
    }
    const int *count = call->point == PUPPET_FILTER ? host->state_read(call->cycle, key) : NULL;
    if (count && n_seen < 2)
        last_seen_by_filter[n_seen++] = *count;
}

static void add_pod_changes_a_clone_of_the_state(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        shares = i;
        n_seen = 0;
        puppet_clear();
        struct puppet *a =
            puppet_add("A", AT(PRE_ENQUEUE) | AT(PRE_FILTER) | AT(ADD_POD) | AT(FILTER) | AT(HINT));
        a->hook = count_in_state;
        puppet_scene(&f, 2);
        promise(&f, a, 10);
        fixture_settle(&f);
        assert_non_null(fixture_node_of(&f, "p"));
        assert_string_equal(puppet_calls(AT(ADD_POD) | AT(FILTER)),
                            "A.AddPod(n0) A.Filter(n0) A.Filter(n0) A.Filter(n1)");
        assert_int_equal(last_seen_by_filter[0], 1);
        /* Without a clone function the data is shared, and the change stays. */
        assert_int_equal(last_seen_by_filter[1], shares ? 1 : 0);
        fixture_release(&f);
    }
}

static void add_pod_is_not_for_plugins_that_skip(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    unsigned points = AT(PRE_ENQUEUE) | AT(PRE_FILTER) | AT(ADD_POD) | AT(FILTER) | AT(HINT);
    struct puppet *a = puppet_add("A", points), *b = puppet_add("B", points);
    a->code[PUPPET_PRE_FILTER] = BERTH_SKIP;
    a->code[PUPPET_ADD_POD] = BERTH_ERROR;
    puppet_scene(&f, 1);
    promise(&f, b, 10);
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    assert_string_equal(puppet_calls(AT(ADD_POD) | AT(FILTER)),
                        "B.AddPod(n0) B.Filter(n0) B.Filter(n0)");
    fixture_release(&f);
}

static void a_failing_add_pod_is_an_error(void **state)
{
    (void)state;
    enum berth_code codes[] = {BERTH_ERROR, BERTH_UNSCHEDULABLE, (enum berth_code)42};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a =
            puppet_add("A", AT(PRE_ENQUEUE) | AT(PRE_FILTER) | AT(ADD_POD) | AT(FILTER) | AT(HINT));
        a->code[PUPPET_ADD_POD] = codes[i];
        a->reason_at[PUPPET_ADD_POD] = "ouch";
        puppet_scene(&f, 2);
        promise(&f, a, 10);
        fixture_settle(&f);
        assert_told(&f, "p", "SchedulerError", "running AddPod on PreFilter plugin \"A\": ouch");
        fixture_release(&f);
    }
}

static void refuse_n1(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && is_node(call, "n1"))
        call->code = BERTH_UNSCHEDULABLE;
}

static void break_on_n1(struct puppet_call *call)
{
    if (call->point == PUPPET_FILTER && is_node(call, "n1") && puppet_count(AT(FILTER)) == 1)
        call->code = BERTH_ERROR;
}

static void the_nominated_node_is_tried_first_and_alone(void **state)
{
    (void)state;
    struct {
        void (*hook)(struct puppet_call *);
        const char *nominated, *limit, *calls, *node;
    } cases[] = {
        {NULL, "n1", NULL, "A.Filter(n1)", "n1"},
        /* It is evaluated even if PreFilter allows only others. */
        {NULL, "n1", "n2", "A.Filter(n1)", "n1"},
        /* If it does not fit, all nodes are evaluated, including it. */
        {refuse_n1, "n1", NULL, "A.Filter(n1) A.Filter(n0) A.Filter(n1) A.Filter(n2)", NULL},
        {refuse_n1, "n1", "n2", "A.Filter(n1) A.Filter(n2)", "n2"},
        /* Likewise if it returns an error or does not exist. */
        {break_on_n1, "n1", "n2", "A.Filter(n1) A.Filter(n2)", "n2"},
        {NULL, "ghost", "n2", "A.Filter(n2)", "n2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PRE_FILTER) | AT(FILTER) | AT(SCORE));
        a->hook = cases[i].hook;
        a->limit[0] = cases[i].limit;
        puppet_scene(&f, 3);
        size_t start = f.engine->cycles.next_start_node;
        ADD_POD(&f, .name = "p", .nominated = cases[i].nominated);
        fixture_settle(&f);
        assert_string_equal(puppet_calls(AT(FILTER)), cases[i].calls);
        if (cases[i].node)
            assert_on(&f, "p", cases[i].node);
        if (i < 2) {
            assert_int_equal(puppet_count(AT(SCORE)), 0);
            assert_int_equal(f.engine->cycles.next_start_node, start);
        }
        fixture_release(&f);
    }
}

/* --- how many nodes, and the start node ------------------------------------------------------- */

static size_t pick_limit_from, pick_limit_n;

static void limit_many(struct puppet_call *call)
{
    if (call->point != PUPPET_PRE_FILTER || !pick_limit_n)
        return;
    struct berth_str *names = xcalloc(pick_limit_n, sizeof(*names));
    char(*texts)[16] = xcalloc(pick_limit_n, sizeof(*texts));
    for (size_t i = 0; i < pick_limit_n; i++) {
        snprintf(texts[i], sizeof(texts[i]), "n%zu", pick_limit_from + i);
        names[i] = abi_str(str_of(texts[i]));
    }
    call->puppet->host->limit_nodes(call->cycle, names, pick_limit_n);
    free(names);
    free(texts);
}

static void as_many_nodes_as_the_percentage_says(void **state)
{
    (void)state;
    static const struct {
        int percentage; /* 0: adaptive */
        size_t nodes, limit, scored;
    } cases[] = {
        {0, 99, 0, 99},       /* too few to sample */
        {0, 100, 0, 100},     /* 50 %, but never less than 100 */
        {0, 250, 0, 120},     /* 48 % */
        {0, 1000, 0, 420},    /* 42 % */
        {0, 6000, 0, 300},    /* 2 % would be too few: 5 % */
        {10, 1500, 0, 150},   /* */
        {10, 500, 0, 100},    /* never less than 100 */
        {100, 1000, 0, 1000}, /* all */
        {0, 1000, 250, 120},  /* of those that PreFilter leaves */
        {10, 1000, 99, 99},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        char config[160];
        puppet_clear();
        puppet_add("A", AT(PRE_FILTER) | AT(SCORE))->hook = limit_many;
        pick_limit_n = cases[i].limit;
        pick_limit_from = 20;
        snprintf(config, sizeof(config),
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "percentageOfNodesToScore: %d\n",
                 cases[i].percentage);
        fixture_init(&f, config, puppet_registry());
        for (size_t n = 0; n < cases[i].nodes; n++)
            ADD_NODE(&f, .name = textf("n%zu", n), .cpu = "4", .memory = "8Gi");

        size_t start = 0;
        for (int pod = 0; pod < 3; pod++) {
            const char *name = textf("p%d", pod);
            puppet_forget_calls();
            ADD_POD(&f, .name = name);
            fixture_schedule(&f);
            assert_int_equal(puppet_count(AT(SCORE)), cases[i].scored);
            /* The next attempt starts where this one ended. */
            start = (start + cases[i].scored) % cases[i].nodes;
            assert_int_equal(f.engine->cycles.next_start_node, start);
        }
        fixture_release(&f);
    }
}

static void looking_begins_where_it_ended_and_wraps_around(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(FILTER)); /* no scores: the first feasible node is chosen */
    puppet_scene(&f, 3);
    const char *expected[] = {"n0", "n1", "n2", "n0", "n1"};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        ADD_POD(&f, .name = textf("p%zu", i));
        fixture_settle(&f);
        assert_on(&f, textf("p%zu", i), expected[i]);
    }
    fixture_release(&f);
}

/* --- scores ----------------------------------------------------------------------------------- */

static void score_by_name(struct puppet_call *call)
{
    if (call->point == PUPPET_SCORE)
        call->score = number_of(call->node) * 10;
    /* Reverses the order. */
    for (size_t i = 0; call->point == PUPPET_NORMALIZE && i < call->n; i++)
        call->scores[i] = 100 - call->scores[i];
}

static void the_highest_total_wins(void **state)
{
    (void)state;
    static const struct {
        unsigned points;
        const char *node;
    } cases[] = {
        {AT(SCORE), "n2"},                 /* 0, 10, 20 */
        {AT(SCORE) | AT(NORMALIZE), "n0"}, /* 100, 90, 80 */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        puppet_add("A", cases[i].points)->hook = score_by_name;
        puppet_scene(&f, 3);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_on(&f, "p", cases[i].node);
        fixture_release(&f);
    }
}

static void favour_n0(struct puppet_call *call)
{
    call->score = is_node(call, "n0") ? 15 : 0;
}

static void scores_are_weighted(void **state)
{
    (void)state;
    for (int weight = 1; weight <= 2; weight++) {
        struct fixture f;
        char config[256];
        puppet_clear();
        puppet_add("A", AT(SCORE))->hook = score_by_name; /* 0, 10, 20 */
        puppet_add("B", AT(SCORE))->hook = favour_n0;     /* 15, 0, 0 */
        snprintf(config, sizeof(config),
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {score: {enabled: [{name: B, weight: %d}]}}\n",
                 weight);
        fixture_init(&f, config, puppet_registry());
        ADD_NODE(&f, .name = "n0", .cpu = "4", .memory = "8Gi");
        ADD_NODE(&f, .name = "n1", .cpu = "4", .memory = "8Gi");
        ADD_NODE(&f, .name = "n2", .cpu = "4", .memory = "8Gi");
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_on(&f, "p", weight == 1 ? "n2" : "n0");
        fixture_release(&f);
    }
}

static void all_plugins_score_before_any_normalises(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    unsigned points = AT(PRE_SCORE) | AT(SCORE) | AT(NORMALIZE);
    puppet_add("A", points);
    puppet_add("B", points);
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_string_equal(puppet_calls(points),
                        "A.PreScore B.PreScore A.Score(n0) A.Score(n1) B.Score(n0) B.Score(n1) "
                        "A.Normalize B.Normalize");
    fixture_release(&f);
}

static void pre_score_skip_drops_score_and_normalize(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    unsigned points = AT(PRE_SCORE) | AT(SCORE) | AT(NORMALIZE);
    struct puppet *a = puppet_add("A", points);
    puppet_add("B", points);
    a->code[PUPPET_PRE_SCORE] = BERTH_SKIP;
    a->code[PUPPET_SCORE] = BERTH_ERROR;
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    assert_string_equal(puppet_calls(points), "A.PreScore B.PreScore B.Score(n0) B.Score(n1) "
                                              "B.Normalize");
    fixture_release(&f);
}

static void a_single_node_is_not_scored(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PRE_SCORE) | AT(SCORE) | AT(NORMALIZE));
    a->code[PUPPET_PRE_SCORE] = a->code[PUPPET_SCORE] = BERTH_ERROR;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    assert_int_equal(puppet_count(~0u), 0);
    fixture_release(&f);
}

static void scores_that_break_are_errors(void **state)
{
    (void)state;
    static const struct {
        enum puppet_point point;
        enum berth_code code;
        int64_t score;
        const char *message;
    } cases[] = {
        {PUPPET_PRE_SCORE, BERTH_ERROR, 0, "running PreScore plugin \"A\": ouch"},
        {PUPPET_PRE_SCORE, BERTH_UNSCHEDULABLE, 0, "running PreScore plugin \"A\": ouch"},
        {PUPPET_SCORE, BERTH_ERROR, 0, "running Score plugins: plugin \"A\" failed with: ouch"},
        {PUPPET_SCORE, BERTH_UNSCHEDULABLE, 0,
         "running Score plugins: plugin \"A\" failed with: ouch"},
        {PUPPET_NORMALIZE, BERTH_ERROR, 0,
         "running Normalize on Score plugins: plugin \"A\" failed with: ouch"},
        {PUPPET_HINT, BERTH_SUCCESS, -1,
         "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score "
         "-1, "
         "it should in the range of [0, 100] after normalizing"},
        {PUPPET_HINT, BERTH_SUCCESS, 101,
         "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score "
         "101, it should in the range of [0, 100] after normalizing"},
        {PUPPET_HINT, BERTH_SUCCESS, INT64_MIN,
         "applying score defaultWeights on Score plugins: plugin \"A\" returns an invalid score "
         "-9223372036854775808, it should in the range of [0, 100] after normalizing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PRE_SCORE) | AT(SCORE) | AT(NORMALIZE));
        a->code[cases[i].point] = cases[i].code;
        a->reason = "ouch";
        a->score = cases[i].score;
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_told(&f, "p", "SchedulerError", cases[i].message);
        fixture_release(&f);
    }
}

static void a_score_error_is_reported_before_one_out_of_range(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(SCORE))->score = 1000;
    struct puppet *b = puppet_add("B", AT(SCORE));
    b->code[PUPPET_SCORE] = BERTH_ERROR;
    b->reason = "ouch";
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_told(&f, "p", "SchedulerError", "running Score plugins: plugin \"B\" failed with: ouch");
    fixture_release(&f);
}

/* A is out of range on n1, B on n0 already. */
static void off_range_somewhere(struct puppet_call *call)
{
    const char *where = strcmp(call->puppet->name, "A") == 0 ? "n1" : "n0";
    if (call->point == PUPPET_SCORE && is_node(call, where))
        call->score = 300;
}

static void the_first_node_out_of_range_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    puppet_add("A", AT(SCORE))->hook = off_range_somewhere;
    puppet_add("B", AT(SCORE))->hook = off_range_somewhere;
    puppet_scene(&f, 3);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_told(&f, "p", "SchedulerError",
                "applying score defaultWeights on Score plugins: plugin \"B\" returns an invalid "
                "score 300, it should in the range of [0, 100] after normalizing");
    fixture_release(&f);
}

/* --- tie-breaking ----------------------------------------------------------------------------- */

/* Go's container/heap, as documented: Init sifts down from the middle. */
struct go_heap {
    int64_t score[64];
    int item[64];
    int n;
};

static bool go_less(const struct go_heap *h, int i, int j)
{
    return h->score[i] > h->score[j];
}

static void go_swap(struct go_heap *h, int i, int j)
{
    int64_t s = h->score[i];
    int x = h->item[i];
    h->score[i] = h->score[j], h->item[i] = h->item[j];
    h->score[j] = s, h->item[j] = x;
}

static void go_down(struct go_heap *h, int i, int n)
{
    for (;;) {
        int j = 2 * i + 1;
        if (j >= n)
            return;
        if (j + 1 < n && go_less(h, j + 1, j))
            j++;
        if (!go_less(h, j, i))
            return;
        go_swap(h, i, j);
        i = j;
    }
}

static int go_init_and_pop(struct go_heap *h)
{
    for (int i = h->n / 2 - 1; i >= 0; i--)
        go_down(h, i, h->n);
    go_swap(h, 0, h->n - 1);
    go_down(h, 0, h->n - 1);
    return h->item[h->n - 1];
}

static int64_t drawn_scores[64];

static void score_as_drawn(struct puppet_call *call)
{
    if (call->point == PUPPET_SCORE)
        call->score = drawn_scores[number_of(call->node)];
}

static bool picks_as_go_does(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct fixture f;
    struct go_heap heap = {.n = (int)MIN(2 + size / 2, (size_t)50)};
    uint64_t different = 1 + rand_below(r, 5);
    puppet_clear();
    puppet_add("A", AT(SCORE))->hook = score_as_drawn;
    puppet_scene(&f, (size_t)heap.n);
    for (int i = 0; i < heap.n; i++) {
        drawn_scores[i] = (int64_t)rand_below(r, different);
        heap.score[i] = drawn_scores[i];
        heap.item[i] = i;
    }
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    const char *expected = textf("n%d", go_init_and_pop(&heap));
    bool ok = strcmp(fixture_node_of(&f, "p"), expected) == 0;
    fixture_release(&f);
    return ok;
}

static void ties_are_broken_as_upstream_does(void **state)
{
    (void)state;
    assert_true(prop_run("the choice is that of Go's heap", 400, picks_as_go_does, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_refusal_decides),
        cmocka_unit_test(all_refusals_count_alike),
        cmocka_unit_test(reasons_are_a_histogram_sorted_as_text),
        cmocka_unit_test(an_error_on_one_node_ends_the_attempt),
        cmocka_unit_test(an_error_beyond_what_is_needed_is_not_missed),
        cmocka_unit_test(looking_ends_with_the_next_that_would_do),
        cmocka_unit_test(a_batch_that_refuses_without_a_code_broke),
        cmocka_unit_test(a_refused_node_stays_refused),
        cmocka_unit_test(nominated_pods_count_by_priority),
        cmocka_unit_test(a_pod_does_not_stand_in_its_own_way),
        cmocka_unit_test(both_passes_are_needed),
        cmocka_unit_test(add_pod_changes_a_clone_of_the_state),
        cmocka_unit_test(add_pod_is_not_for_plugins_that_skip),
        cmocka_unit_test(a_failing_add_pod_is_an_error),
        cmocka_unit_test(the_nominated_node_is_tried_first_and_alone),
        cmocka_unit_test(as_many_nodes_as_the_percentage_says),
        cmocka_unit_test(looking_begins_where_it_ended_and_wraps_around),
        cmocka_unit_test(the_highest_total_wins),
        cmocka_unit_test(scores_are_weighted),
        cmocka_unit_test(all_plugins_score_before_any_normalises),
        cmocka_unit_test(pre_score_skip_drops_score_and_normalize),
        cmocka_unit_test(a_single_node_is_not_scored),
        cmocka_unit_test(scores_that_break_are_errors),
        cmocka_unit_test(a_score_error_is_reported_before_one_out_of_range),
        cmocka_unit_test(the_first_node_out_of_range_is_reported),
        cmocka_unit_test(ties_are_broken_as_upstream_does),
    };
    return cmocka_run_group_tests_name("points_filter", tests, NULL, NULL);
}
