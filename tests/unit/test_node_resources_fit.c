/* SPDX-License-Identifier: Apache-2.0 */
/* NodeResourcesFit: filter, scores, and which changes help. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/group/placements.h"
#include "plugin_trial.h"
#include "plugins/node_resources/resource_args.h"
#include "prop.h"
#include "resource_random.h"

#define FIT "NodeResourcesFit"

/* A configuration with these arguments for the plugin. */
static void begin(struct fixture *f, const char *args)
{
    const char *config = textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
                               "kind: KubeSchedulerConfiguration\n"
                               "profiles:\n"
                               "- pluginConfig:\n"
                               "  - name: NodeResourcesFit\n"
                               "    args: %s\n",
                               args);
    fixture_init(f, config, NULL);
}

/* --- filter ----------------------------------------------------------------------------------- */

static void reasons_come_in_order_and_all_of_them(void **state)
{
    (void)state;
    static const struct {
        const char *requests;
        enum berth_code code;
        const char *text;
    } cases[] = {
        {"cpu=1,memory=1Gi", BERTH_SUCCESS, ""},
        {"cpu=1001m", BERTH_UNSCHEDULABLE, "Insufficient cpu"},
        {"cpu=4", BERTH_UNSCHEDULABLE, "Insufficient cpu"},
        {"cpu=4001m", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, "Insufficient cpu"},
        {"cpu=2,memory=2Gi,ephemeral-storage=11,b.io/x=3,a.io/x=3,hugepages-2Mi=2Mi",
         BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
         "Insufficient cpu, Insufficient memory, Insufficient ephemeral-storage, Insufficient "
         "a.io/x, Insufficient b.io/x, Insufficient hugepages-2Mi"},
        {"a.io/x=2", BERTH_UNSCHEDULABLE, "Insufficient a.io/x"},
        {"a.io/x=3", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, "Insufficient a.io/x"},
        {"a.io/x=1", BERTH_SUCCESS, ""},
        /* No node has it. */
        {"z.io/x=1", BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, "Insufficient z.io/x"},
        /* No requests. */
        {"cpu=0,z.io/x=0", BERTH_SUCCESS, ""},
        {"cpu=-1,memory=-5,z.io/x=-1", BERTH_SUCCESS, ""},
    };
    struct fixture f;
    begin(&f, "{}");
    ADD_NODE(&f, .cpu = "4", .memory = "2Gi", .pods = "10",
             .allocatable = "ephemeral-storage=10,a.io/x=2,b.io/x=2");
    ADD_POD(&f, .name = "q", .node = "n", .cpu = "3", .memory = "1Gi", .requests = "a.io/x=1");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, FIT, POD(.requests = cases[i].requests));
        assert_int_equal(trial_filter(&t, "n"), cases[i].code);
        assert_string_equal(t.text, cases[i].text);
        assert_true(trial_batches_agree(&t));
        trial_end(&t);
    }
    fixture_release(&f);
}

static void pods_are_counted_first(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, "{}");
    ADD_NODE(&f, .cpu = "4", .memory = "2Gi", .pods = "0");
    trial_begin(&t, &f, FIT, POD(.cpu = "1"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE);
    assert_string_equal(t.text, "Too many pods");
    trial_end(&t);
    trial_begin(&t, &f, FIT, POD(.cpu = "5"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    assert_string_equal(t.text, "Too many pods, Insufficient cpu");
    trial_end(&t);
    fixture_release(&f);
}

static void ignored_resources_are_not_looked_at(void **state)
{
    (void)state;
    static const struct {
        const char *requests, *text;
    } cases[] = {
        {"a.com/x=1,b.com/y=1", ""},
        {"a.com/y=1", "Insufficient a.com/y"},
        {"a.b.com/y=1", "Insufficient a.b.com/y"},
        /* Not extended: cannot be ignored. */
        {"hugepages-2Mi=2Mi", "Insufficient hugepages-2Mi"},
        {"x.kubernetes.io/y=1", "Insufficient x.kubernetes.io/y"},
    };
    struct fixture f;
    begin(&f, "{ignoredResources: [a.com/x, hugepages-2Mi], ignoredResourceGroups: [b.com, "
              "x.kubernetes.io]}");
    ADD_NODE(&f, .cpu = "4", .memory = "8Gi");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trial t;
        trial_begin(&t, &f, FIT, POD(.requests = cases[i].requests));
        trial_filter(&t, "n");
        assert_string_equal(t.text, cases[i].text);
        trial_end(&t);
    }
    fixture_release(&f);
}

/* Filter without PreFilter is a configuration error, and is reported. */
static void without_pre_filter_it_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f,
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {preFilter: {disabled: [{name: NodeResourcesFit}]}}\n",
                 NULL);
    ADD_NODE(&f, .cpu = "4", .memory = "8Gi");
    ADD_POD(&f, .cpu = "1", .memory = "1Gi");
    fixture_settle(&f);
    assert_string_equal(fixture_last(&f, WRITE_POD_STATUS, "p")->message,
                        "running \"NodeResourcesFit\" filter plugin: error reading "
                        "\"PreFilterNodeResourcesFit\" from cycleState: not found");
    fixture_release(&f);
}

static void a_resize_does_not_count_for_a_pod_without_a_node(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, "{}");
    ADD_NODE(&f, .cpu = "4", .memory = "2Gi", .pods = "9");
    trial_begin(&t, &f, FIT,
                POD(.cpu = "1", .status = "'containerStatuses':[{'name':'c','resources':{'requests'"
                                          ":{'cpu':'8','z.io/x':'1'}}}]"));
    assert_int_equal(t.pod->requests.milli_cpu, 8000);
    assert_int_equal(trial_filter(&t, "n"), BERTH_SUCCESS);
    /* (75 + 90) / 2: 1 of 4, and 200Mi of 2Gi. */
    assert_int_equal(trial_score(&t, "n"), 82);
    trial_end(&t);
    fixture_release(&f);
}

/* --- scores ----------------------------------------------------------------------------------- */

static void least_allocated_prefers_what_is_free(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{}");
    ADD_NODE(&f, .cpu = "4", .memory = "10000");
    /* (75 + 50) / 2 */
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "1", .memory = "5000"), "n"), 62);
    /* A missing request counts as 100m and 200Mi; more memory than allocatable scores 0: (97 + 0) /
     * 2. */
    assert_int_equal(trial_score_of(&f, FIT, POD(.requests = ""), "n"), 48);
    ADD_POD(&f, .name = "q", .cpu = "2", .memory = "2500", .node = "n");
    /* (25 + 25) / 2 */
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "1", .memory = "5000"), "n"), 25);
    fixture_release(&f);
}

static void weights_and_other_resources_count(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 3}, "
              "{name: example.com/gpu}, {name: pods}, {name: nonsense}]}}");
    ADD_NODE(&f, .cpu = "4", .pods = "10", .allocatable = "example.com/gpu=4");
    /* gpu is not requested: only cpu counts. */
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "1", .memory = "1"), "n"), 75);
    /* (3 * 75 + 25) / 4 */
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "1", .requests = "example.com/gpu=3"), "n"),
                     62);
    fixture_release(&f);
}

static void most_allocated_prefers_what_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{scoringStrategy: {type: MostAllocated}}");
    ADD_NODE(&f, .cpu = "4", .memory = "10000");
    /* (25 + 50) / 2 */
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "1", .memory = "5000"), "n"), 37);
    /* 200Mi are more than allocatable and are capped. (2 + 100) / 2. */
    assert_int_equal(trial_score_of(&f, FIT, POD(.requests = ""), "n"), 51);
    fixture_release(&f);
}

static void ratio_follows_its_shape(void **state)
{
    (void)state;
    static const struct {
        const char *cpu, *memory;
        int64_t score;
    } cases[] = {
        /* Utilization of cpu and memory, and the points (10, 2), (40, 8), (70, 4). */
        {"100m", "100", 20},  /* constant before the first */
        {"250m", "250", 50},  /* half way */
        {"260m", "100", 36},  /* 20 + 60 * 16 / 30 = 52; (52 + 20) / 2 */
        {"700m", "1000", 40}, /* constant after the last */
        {"450m", "410", 77},  /* 80 - 40 * 5 / 30 = 74; 80 - 40 * 1 / 30 = 79; 76.5 is 77 */
        {"5", "5000", 40},    /* more than allocatable */
    };
    struct fixture f;
    begin(&f, "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
              "{shape: [{utilization: 10, score: 2}, {utilization: 40, score: 8}, "
              "{utilization: 70, score: 4}]}}}");
    ADD_NODE(&f, .cpu = "1", .memory = "1000");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(
            trial_score_of(&f, FIT, POD(.cpu = cases[i].cpu, .memory = cases[i].memory), "n"),
            cases[i].score);
    }
    fixture_release(&f);
}

/* A score of 0 is not part of the mean. */
static void ratio_leaves_out_zeros(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
              "{shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}");
    ADD_NODE(&f, .cpu = "1", .memory = "1000");
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "500m", .memory = "0"), "n"), 50);
    assert_int_equal(trial_score_of(&f, FIT, POD(.cpu = "0", .memory = "0"), "n"), 0);
    fixture_release(&f);
}

/* Upstream's scorer is created without the gates: pod-level requests do not count in its score. */
static void own_requests_of_a_pod_are_not_scored(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, "{}");
    ADD_NODE(&f, .cpu = "4", .memory = "2000Mi");
    trial_begin(&t, &f, FIT,
                POD(.containers = "{'name':'c'}", .spec = "'resources':{'requests':{'cpu':'5'}}"));
    assert_int_equal(trial_filter(&t, "n"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    /* (97 + 90) / 2 */
    assert_int_equal(trial_score(&t, "n"), 93);
    trial_end(&t);
    fixture_release(&f);
}

/* Scores computed by Go: requested, capacity, least, most, utilization. */
static const struct {
    int64_t requested, capacity, least, most, utilization;
} go_scores[] = {
    {0, INT64_MAX, 0, 0, 0},
    {4611686018427387903, INT64_MAX, 0, 0, 0},
    {INT64_MAX, INT64_MAX, 0, 0, 0},
    {92233720368547758, 92233720368547758, 0, 100, 100},
    {92233720368547759, 92233720368547759, 0, -99, -99},
    {0, 92233720368547759, -99, 0, 0},
    {-5, 100, 105, -5, -5},
    {-100, 1, 10100, -10000, -10000},
    {-300, -200, -50, 150, 150},
    {-200, -200, 0, 100, 100},
    {5, -1, 0, 100, 100},
    {3074457345618258602, 4611686018427387903, 1, -1, -1},
    {72057594037927935, 72057594037927936, 0, 99, 99},
    {-92233720368547759, 7, -1317624576693539288, 1317624576693539388, 1317624576693539388},
    {-9223372036854775807, -1, 0, 100, 100},
};

static int64_t memory_score(const char *strategy, size_t i, const char *gates)
{
    char args[512], config[1024], memory[64];
    struct fixture f;
    snprintf(args, sizeof(args), "{scoringStrategy: {%s, resources: [{name: memory}]}}", strategy);
    snprintf(config, sizeof(config),
             "apiVersion: kubescheduler.config.k8s.io/v1\n"
             "kind: KubeSchedulerConfiguration\n"
             "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: %s}]}]\n",
             args);
    fixture_init_features(&f, config, gates);
    snprintf(memory, sizeof(memory), "memory=%lld", (long long)go_scores[i].capacity);
    ADD_NODE(&f, .allocatable = memory);
    snprintf(memory, sizeof(memory), "memory=%lld", (long long)go_scores[i].requested);
    struct trial t;
    trial_begin(&t, &f, FIT, POD(.requests = memory));
    int64_t score = trial_score(&t, "n");
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    fixture_release(&f);
    return score;
}

#define RATIO                                                                                     \
    "type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: " \
    "1}, {utilization: 100, score: 9}]}"

static void absurd_amounts_score_as_upstream_scores_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(go_scores); i++) {
        int64_t percent = MIN(MAX(go_scores[i].utilization, 0), 100);
        assert_int_equal(memory_score("type: LeastAllocated", i, NULL), go_scores[i].least);
        assert_int_equal(memory_score("type: MostAllocated", i, NULL), go_scores[i].most);
        assert_int_equal(memory_score(RATIO, i, NULL), 10 + 80 * percent / 100);
    }
}

static void absurd_amounts_score_sanely_behind_a_gate(void **state)
{
    (void)state;
    static const char *const strategies[] = {"type: LeastAllocated", "type: MostAllocated", RATIO};
    const char *gate = "BerthSaneScores=true";
    for (size_t i = 0; i < ARRAY_LEN(go_scores); i++)
        for (size_t k = 0; k < ARRAY_LEN(strategies); k++) {
            int64_t score = memory_score(strategies[k], i, gate);
            assert_true(score >= 0 && score <= 100);
        }
    assert_int_equal(memory_score("type: LeastAllocated", 0, gate), 100);
    assert_int_equal(memory_score("type: LeastAllocated", 1, gate), 50);
    assert_int_equal(memory_score("type: MostAllocated", 2, gate), 100);
}

/* --- properties ------------------------------------------------------------------------------- */

/* The formulas, literally, on 64-bit integers. */
static int64_t div_go(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t letter(enum scoring_type type, int64_t requested, int64_t capacity)
{
    if (type == SCORING_LEAST_ALLOCATED)
        return requested > capacity
                   ? 0
                   : div_go((int64_t)(((uint64_t)capacity - (uint64_t)requested) * 100), capacity);
    return div_go((int64_t)((uint64_t)MIN(requested, capacity) * 100), capacity);
}

static int64_t model(enum scoring_type type, const struct berth_pod *pod,
                     const struct berth_node *node)
{
    int64_t sum = 0, weights = 0;
    int64_t cpu = (int64_t)((uint64_t)node->nonzero_milli_cpu + (uint64_t)pod->nonzero_milli_cpu);
    int64_t memory = (int64_t)((uint64_t)node->nonzero_memory + (uint64_t)pod->nonzero_memory);
    if (node->allocatable.milli_cpu) {
        sum = (int64_t)((uint64_t)letter(type, cpu, node->allocatable.milli_cpu) * 2);
        weights = 2;
    }
    if (node->allocatable.memory) {
        sum =
            (int64_t)((uint64_t)sum + (uint64_t)letter(type, memory, node->allocatable.memory) * 5);
        weights += 5;
    }
    return weights ? sum / weights : 0;
}

static bool scores_are_the_letter(struct trial *t, enum scoring_type type)
{
    for (size_t i = 0; i < t->engine->cache.order.n; i++) {
        const struct berth_node *node = t->engine->cache.order.v[i];
        if (trial_score(t, node->name) != model(type, t->pod, node))
            return false;
    }
    return true;
}

static bool all_forms_agree(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static const struct {
        const char *args;
        int model; /* enum scoring_type, or -1 */
    } cases[] = {
        {"{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 2}, {name: "
         "memory, weight: 5}]}}",
         SCORING_LEAST_ALLOCATED},
        {"{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 2}, {name: "
         "memory, weight: 5}]}}",
         SCORING_MOST_ALLOCATED},
        {"{scoringStrategy: {type: MostAllocated, resources: [{name: ephemeral-storage, weight: "
         "7}, {name: x.io/a}, {name: memory}, {name: x.io/b, weight: 100}, {name: pods}]}}",
         -1},
        {"{ignoredResources: [x.io/a], scoringStrategy: {" RATIO
         ", resources: [{name: cpu, weight: 3}, {name: x.io/b}, {name: memory}]}}",
         -1},
    };
    const char *args = cases[size % ARRAY_LEN(cases)].args;
    struct fixture f;
    bool ok = true;
    begin(&f, args);
    resource_random_cluster(&f, r, 1 + size * 2);
    for (size_t i = 0; ok && i < 5; i++) {
        struct trial t;
        trial_begin(&t, &f, FIT, resource_random_pod(r, 1000 + i, ""));
        ok = trial_batches_agree(&t);
        if (ok && cases[size % ARRAY_LEN(cases)].model >= 0)
            ok = scores_are_the_letter(&t, (enum scoring_type)cases[size % ARRAY_LEN(cases)].model);
        trial_end(&t);
    }
    fixture_release(&f);
    return ok;
}

static void batch_and_single_forms_and_the_message_agree(void **state)
{
    (void)state;
    assert_true(prop_run("NodeResourcesFit in all its forms", 200, all_forms_agree, NULL));
}

/* --- arguments -------------------------------------------------------------------------------- */

static void arguments_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *args, *message;
    } cases[] = {
        {"", ""},
        {"{}", ""},
        {"{'apiVersion':'kubescheduler.config.k8s.io/v1','kind':'NodeResourcesFitArgs'}", ""},
        {"{'kind':'NodeAffinityArgs'}", "args for plugin NodeResourcesFit were not of type "
                                        "NodeResourcesFitArgs.kubescheduler.config.k8s.io, got "
                                        "NodeAffinityArgs.kubescheduler.config.k8s.io"},
        {"{'scoringStrategy':{'type':'Wild'}}",
         "scoringStrategy.type: Unsupported value: \"Wild\": supported values: "
         "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""},
        {"{'scoringStrategy':{'resources':[{'name':'cpu'}]}}",
         "scoringStrategy.type: Unsupported value: \"\": supported values: \"LeastAllocated\", "
         "\"MostAllocated\", \"RequestedToCapacityRatio\""},
        {"{'scoringStrategy':{'type':'MostAllocated','resources':[{'name':'cpu',"
         "'weight':101}]}}",
         "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in "
         "valid range (0, 100]"},
        {"{'scoringStrategy':{'type':'MostAllocated','resources':[{'name':'cpu',"
         "'weight':0}]}}",
         ""},
        {"{'ignoredResourceGroups':['example.com/x']}",
         "ignoredResourceGroups[0]: Invalid value: \"example.com/x\": resource group name can't "
         "contain '/'"},
        {"{'ignoredResources':['a b']}",
         /* A plugin's message is truncated; validation of the file reports all of it. */
         "ignoredResources[0]: Invalid value: \"a b\": name part must consist of alphanume"
         "ric characters, '-', '_' or '.', and must start and end with an alphanumeric cha"
         "racter (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation i"
         "s '([A-Za-z0-9][-"},
        {"{'scoringStrategy':{'type':'RequestedToCapacityRatio'}}",
         "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type "
         "is RequestedToCapacityRatio"},
        {"{'scoringStrategy':{'type':'LeastAllocated','requestedToCapacityRatio':{}}}",
         "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
         "RequestedToCapacityRatio"},
        {"{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
         "'requestedToCapacityRatio':{}}}",
         "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must "
         "be specified"},
        {"{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
         "'requestedToCapacityRatio':{'shape':[{'utilization':5,'score':1},{"
         "'utilization':5,'score':11}]}}}",
         "[scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: "
         "values must be sorted in increasing order, "
         "scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: 11: not in "
         "valid range [0, 10]]"},
        {"{'scoringStrategy':{'type':'RequestedToCapacityRatio',"
         "'requestedToCapacityRatio':{'shape':[{'utilization':101,'score':0}]}}}",
         "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: 101: not "
         "in valid range [0, 100]"},
    };
    struct fixture f;
    struct berth_error error;
    begin(&f, "{}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(trial_args_error(&f, FIT, cases[i].args, &error), cases[i].message);
    assert_non_null(strstr(trial_args_error(&f, FIT, "{'ignored':[]}", &error), "ignored"));
    fixture_release(&f);
}

/* --- queueing hints --------------------------------------------------------------------------- */

static struct event_registration registration(const struct berth_handle *h,
                                              enum berth_resource resource, unsigned action)
{
    struct berth_registrar registrar = {.handle = h};
    struct event_registration found = {0};
    h->plugin->events(h->self, &registrar);
    for (size_t i = 0; i < registrar.events.n; i++) {
        const struct event_registration *e = &registrar.events.v[i];
        bool fits = e->resource == resource || (e->resource == BERTH_RESOURCE_POD &&
                                                (resource == BERTH_RESOURCE_ASSIGNED_POD ||
                                                 resource == BERTH_RESOURCE_UNSCHEDULED_POD));
        if (fits && e->actions & action) {
            assert_null(found.hint);
            found = *e;
        }
    }
    vec_release(&registrar.events);
    return found;
}

struct change {
    enum berth_resource resource;
    unsigned action;
    struct object *before, *after;
};

/* Takes ownership of the objects. */
static enum berth_hint hint_for(struct fixture *f, struct object *waiting, struct change c)
{
    const struct berth_handle *h = trial_instance(f, FIT);
    struct berth_pod *pod = pod_info_new(waiting, &f->engine->names);
    berth_hint_fn *hint = registration(h, c.resource, c.action).hint;
    assert_non_null(hint);
    enum berth_hint answer = hint(h->self, pod, object_abi(c.before), object_abi(c.after));
    pod_info_unref(pod);
    object_unref(waiting);
    object_unref(c.before);
    object_unref(c.after);
    return answer;
}

static void hints_after_pods(void **state)
{
    (void)state;
    struct fixture f;
    const enum berth_resource assigned = BERTH_RESOURCE_ASSIGNED_POD;
    const enum berth_resource unscheduled = BERTH_RESOURCE_UNSCHEDULED_POD;
    const unsigned gone = BERTH_ACTION_DELETE, down = BERTH_ACTION_UPDATE_POD_SCALE_DOWN;
    const char *wants = "cpu=1,x.io/a=1,memory=0";
    begin(&f, "{}");
    const struct {
        struct change change;
        enum berth_hint hint;
    } cases[] = {
        {{assigned, gone, POD(.name = "q", .node = "n"), NULL}, BERTH_QUEUE},
        {{unscheduled, gone, POD(.name = "q"), NULL}, BERTH_QUEUE_SKIP},
        {{unscheduled, gone, POD(.name = "q", .nominated = "n"), NULL}, BERTH_QUEUE},
        /* The pod itself. */
        {{unscheduled, down, POD(.cpu = "2"), POD()}, BERTH_QUEUE},
        {{unscheduled, down, POD(.name = "q", .cpu = "2"), POD(.name = "q")}, BERTH_QUEUE_SKIP},
        {{assigned, down, POD(.name = "q", .node = "n", .cpu = "2"),
          POD(.name = "q", .node = "n", .cpu = "1")},
         BERTH_QUEUE},
        {{assigned, down, POD(.name = "q", .node = "n", .cpu = "1"),
          POD(.name = "q", .node = "n", .cpu = "2")},
         BERTH_QUEUE_SKIP},
        /* Less of a resource that the pod does not request. */
        {{assigned, down, POD(.name = "q", .node = "n", .memory = "2"),
          POD(.name = "q", .node = "n", .memory = "1")},
         BERTH_QUEUE_SKIP},
        {{assigned, down, POD(.name = "q", .node = "n", .requests = "x.io/a=2"),
          POD(.name = "q", .node = "n")},
         BERTH_QUEUE},
        {{assigned, down, POD(.name = "q", .node = "n", .requests = "x.io/b=2"),
          POD(.name = "q", .node = "n")},
         BERTH_QUEUE_SKIP},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(hint_for(&f, POD(.requests = wants), cases[i].change), cases[i].hint);
    fixture_release(&f);
}

static void hints_after_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* NULL: a new node */
        enum berth_hint hint;
    } cases[] = {
        {NULL, "cpu=1,pods=1,x.io/a=1", BERTH_QUEUE},
        {NULL, "cpu=1,pods=0,x.io/a=1", BERTH_QUEUE_SKIP},
        {NULL, "cpu=999m,pods=1,x.io/a=1", BERTH_QUEUE_SKIP},
        {NULL, "cpu=1,pods=1", BERTH_QUEUE_SKIP},
        /* The pod fits, but not better than before. */
        {"cpu=2,pods=1,x.io/a=1", "cpu=1,pods=1,x.io/a=1,memory=9", BERTH_QUEUE_SKIP},
        {"cpu=1,pods=1,x.io/a=1", "cpu=2,pods=1,x.io/a=1", BERTH_QUEUE},
        {"cpu=2,pods=1,x.io/a=1", "cpu=1,pods=2,x.io/a=1", BERTH_QUEUE},
        {"cpu=1,pods=1", "cpu=1,pods=1,x.io/a=1", BERTH_QUEUE},
    };
    struct fixture f;
    /* The hint does not depend on ignored resources. */
    begin(&f, "{ignoredResources: [x.io/a]}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool added = !cases[i].before;
        struct change c = {BERTH_RESOURCE_NODE,
                           added ? BERTH_ACTION_ADD : BERTH_ACTION_UPDATE_NODE_ALLOCATABLE,
                           added ? NULL : NODE(.allocatable = cases[i].before),
                           NODE(.allocatable = cases[i].after)};
        assert_int_equal(hint_for(&f, POD(.cpu = "1", .requests = "x.io/a=1"), c), cases[i].hint);
    }
    fixture_release(&f);
}

static struct object *device_class(const char *name, const char *resource)
{
    return OBJECT(KIND_DEVICE_CLASS, .name = name,
                  .spec = textf("'extendedResourceName':'%s'", resource));
}

static void hints_after_device_classes(void **state)
{
    (void)state;
    static const struct {
        const char *before, *name, *after; /* before NULL: a new class */
        enum berth_hint hint;
    } cases[] = {
        {NULL, "c", "x.io/a", BERTH_QUEUE},    {NULL, "c", "x.io/b", BERTH_QUEUE_SKIP},
        {NULL, "mine", "", BERTH_QUEUE},       {"", "mine", "x.io/b", BERTH_QUEUE_SKIP},
        {"", "c", "x.io/a", BERTH_QUEUE},      {"x.io/a", "c", "x.io/a", BERTH_QUEUE_SKIP},
        {"x.io/a", "c", "", BERTH_QUEUE_SKIP},
    };
    struct fixture f;
    begin(&f, "{}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool added = !cases[i].before;
        struct change c = {BERTH_RESOURCE_DEVICE_CLASS,
                           added ? BERTH_ACTION_ADD : BERTH_ACTION_UPDATE_OTHER,
                           added ? NULL : device_class(cases[i].name, cases[i].before),
                           device_class(cases[i].name, cases[i].after)};
        struct object *waiting =
            POD(.requests = "x.io/a=1,deviceclass.resource.kubernetes.io/mine=1");
        assert_int_equal(hint_for(&f, waiting, c), cases[i].hint);
    }
    fixture_release(&f);
}

/* --- placements ------------------------------------------------------------------------------- */

static void placements_are_scored_as_one_node(void **state)
{
    (void)state;
    struct fixture f;
    int64_t score = -1;
    begin(&f, "{}");
    ADD_NODE(&f, .name = "a", .cpu = "4", .memory = "4000");
    ADD_NODE(&f, .name = "b", .cpu = "12", .memory = "4000");
    ADD_POD(&f, .name = "q", .cpu = "4", .memory = "1000", .node = "a");
    ADD_POD(&f, .name = "r", .cpu = "2", .memory = "1000", .node = "b");
    struct berth_handle *h = trial_instance(&f, FIT);
    struct berth_node *nodes[] = {cache_node(&f.engine->cache, STR("a")),
                                  cache_node(&f.engine->cache, STR("b"))};
    struct berth_placement both = {.nodes = nodes, .n = 2}, none = {.nodes = nodes};
    assert_int_equal(
        h->plugin->score_placement(h->self, NULL, NULL, &both, &score, &f.engine->cycles.status),
        BERTH_SUCCESS);
    /* 6 of 16 and 2000 of 8000: (37 + 25) / 2 */
    assert_int_equal(score, 31);
    h->plugin->score_placement(h->self, NULL, NULL, &none, &score, &f.engine->cycles.status);
    assert_int_equal(score, 0);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_come_in_order_and_all_of_them),
        cmocka_unit_test(pods_are_counted_first),
        cmocka_unit_test(ignored_resources_are_not_looked_at),
        cmocka_unit_test(without_pre_filter_it_is_an_error),
        cmocka_unit_test(a_resize_does_not_count_for_a_pod_without_a_node),
        cmocka_unit_test(least_allocated_prefers_what_is_free),
        cmocka_unit_test(weights_and_other_resources_count),
        cmocka_unit_test(most_allocated_prefers_what_is_taken),
        cmocka_unit_test(ratio_follows_its_shape),
        cmocka_unit_test(ratio_leaves_out_zeros),
        cmocka_unit_test(own_requests_of_a_pod_are_not_scored),
        cmocka_unit_test(absurd_amounts_score_as_upstream_scores_them),
        cmocka_unit_test(absurd_amounts_score_sanely_behind_a_gate),
        cmocka_unit_test(batch_and_single_forms_and_the_message_agree),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(hints_after_pods),
        cmocka_unit_test(hints_after_nodes),
        cmocka_unit_test(hints_after_device_classes),
        cmocka_unit_test(placements_are_scored_as_one_node),
    };
    return cmocka_run_group_tests_name("node_resources_fit", tests, NULL, NULL);
}
