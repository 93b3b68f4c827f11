/* SPDX-License-Identifier: Apache-2.0 */
/* NodeResourcesBalancedAllocation: its formula to the last bit, in both forms. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "plugins/common/go_math.h"
#include "prop.h"
#include "resource_random.h"

#define BALANCED "NodeResourcesBalancedAllocation"

static void begin(struct fixture *f, const char *args, const char *gates)
{
    const char *config =
        textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
              "kind: KubeSchedulerConfiguration\n"
              "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: %s}]}]\n",
              args);
    fixture_init_features(f, config, gates);
}

#define FOUR "{resources: [{name: cpu}, {name: memory}, {name: x.io/a}, {name: x.io/b}]}"

static struct object *node_of(const int64_t v[4])
{
    return NODE(.name = "n", .cpu = textf("%lldm", (long long)v[0]),
                .memory = textf("%lld", (long long)v[1]),
                .allocatable = textf("x.io/a=%lld,x.io/b=%lld", (long long)v[2], (long long)v[3]));
}

static struct object *pod_of(const char *name, const char *node, const int64_t v[4])
{
    return POD(.name = name, .node = node, .cpu = textf("%lldm", (long long)v[0]),
               .memory = textf("%lld", (long long)v[1]),
               .requests = textf("x.io/a=%lld,x.io/b=%lld", (long long)v[2], (long long)v[3]));
}

/* Of cpu, memory, x.io/a and x.io/b; scores as Go computes them. */
static const struct {
    int64_t used[4], wanted[4], allocatable[4];
    int64_t score;
} cases[] = {
    {{0}, {1000, 2000}, {4000, 4000}, 68},
    {{1000, 1000}, {2000, 0}, {4000, 4000}, 62},
    {{0}, {4000, 0}, {4000, 4000}, 50},
    {{0, 3000}, {1000, 0}, {4000, 4000}, 81},
    /* A node without cpu: no fractions to compare. */
    {{0, 3000}, {100, 0}, {0, 4000}, 75},
    {{1, 1, 1}, {0, 1, 2}, {7, 7, 7}, 69},
    {{1, 5, 2}, {2, 0, 7}, {10, 10, 10}, 71},
    {{1, 5, 2, 0}, {2, 0, 7, 1}, {10, 11, 13, 7}, 73},
    /* Absurd values: a negative sum, one that wraps, capacities above the precision of a double. */
    {{0}, {-4000, 0}, {1, 4000}, -99925},
    {{INT64_MAX, 0}, {101, 0}, {1, 4000}, -4611686018427387854},
    {{0, 1}, {INT64_MAX, 0}, {INT64_MAX, INT64_MAX}, 50},
};

static int64_t score_case(size_t i, const char *gates)
{
    struct fixture f;
    struct trial t;
    begin(&f, FOUR, gates);
    fixture_add(&f, node_of(cases[i].allocatable));
    fixture_add(&f, pod_of("q", "n", cases[i].used));
    trial_begin(&t, &f, BALANCED, pod_of("p", "", cases[i].wanted));
    assert_int_equal(t.pre_score, BERTH_SUCCESS);
    assert_true(trial_batches_agree(&t));
    int64_t score = trial_score(&t, "n");
    trial_end(&t);
    fixture_release(&f);
    return score;
}

static void scores_what_the_pod_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        /* A scalar that the pod does not request is not counted, so rows with one request it. */
        assert_int_equal(score_case(i, NULL), cases[i].score);
        int64_t sane = score_case(i, "BerthSaneScores=true");
        assert_true(sane >= 50 && sane <= 100);
        if (cases[i].score >= 50 && cases[i].score <= 100)
            assert_int_equal(sane, cases[i].score);
    }
}

/* --- PreScore --------------------------------------------------------------------------------- */

static void a_pod_that_asks_for_nothing_is_left_out(void **state)
{
    (void)state;
    struct fixture f;
    struct trial t;
    begin(&f, "{resources: [{name: cpu}, {name: memory}, {name: nonsense}]}", NULL);
    ADD_NODE(&f, .name = "n", .cpu = "4", .memory = "8Gi");
    /* No defaults here, unlike in NodeResourcesFit. */
    trial_begin(&t, &f, BALANCED, POD(.uid = "x", .containers = "{'name':'c'}"));
    assert_int_equal(t.pre_score, BERTH_SKIP);
    assert_int_equal(trial_score(&t, "n"), 0);
    assert_true(trial_batches_agree(&t));
    trial_end(&t);
    /* A resource that no node has still counts as a request. */
    trial_begin(&t, &f, BALANCED, POD(.uid = "x", .requests = "nonsense=1"));
    assert_int_equal(t.pre_score, BERTH_SUCCESS);
    assert_int_equal(trial_score(&t, "n"), 75);
    trial_end(&t);
    /* Pod-level requests count. */
    trial_begin(&t, &f, BALANCED,
                POD(.uid = "x", .containers = "{'name':'c'}",
                    .spec = "'resources':{'requests':{'cpu':'4'}}"));
    assert_int_equal(t.pre_score, BERTH_SUCCESS);
    assert_int_equal(trial_score(&t, "n"), 50);
    trial_end(&t);
    fixture_release(&f);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *args, *message;
    } rows[] = {
        {"", ""},
        {"{'resources':[{'name':'cpu','weight':1},{'name':'x.io/a'}]}", ""},
        {"{'resources':[{'name':'cpu','weight':2}]}",
         "resources[0].weight: Invalid value: 2: must be 1"},
        {"{'resources':[{'name':'cpu'},{'name':'cpu','weight':-1}]}",
         "[resources[1].name: Duplicate value: \"cpu\", resources[1].weight: Invalid value: -1: "
         "must be 1]"},
    };
    struct fixture f;
    struct berth_error error;
    begin(&f, "{}", NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(trial_args_error(&f, BALANCED, rows[i].args, &error), rows[i].message);
    fixture_release(&f);
}

/* --- properties ------------------------------------------------------------------------------- */

/* The formula over lists, literally. */
static int64_t letter(const int64_t *requested, const int64_t *allocatable, size_t n)
{
    double fractions[5], total = 0, std = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (allocatable[i] == 0)
            continue;
        double f = (double)requested[i] / (double)allocatable[i];
        fractions[k] = f > 1 ? 1 : f;
        total += fractions[k++];
    }
    if (k == 2) {
        std = fabs((fractions[0] - fractions[1]) / 2);
    } else if (k > 2) {
        double mean = total / (double)k, sum = 0;
        for (size_t i = 0; i < k; i++)
            sum = sum + (fractions[i] - mean) * (fractions[i] - mean);
        std = sqrt(sum / (double)k);
    }
    return go_int64((1 - std) * 100);
}

static int64_t model(const struct berth_pod *pod, const struct berth_node *node)
{
    static const char *const names[] = {"cpu", "memory", "x.io/a", "ephemeral-storage", "x.io/b"};
    int64_t used[5] = {0}, requested[5] = {0}, allocatable[5] = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str name = str_of(names[i]);
        int64_t wants = resource_by_name(&pod->requests, pod->names, name);
        if (wants == 0 && resource_is_scalar(name))
            continue;
        allocatable[i] = resource_by_name(&node->allocatable, node->names, name);
        used[i] = resource_by_name(&node->requested, node->names, name);
        requested[i] = go_add(used[i], wants);
    }
    int64_t change =
        go_sub(go_add(50, letter(requested, allocatable, 5)), letter(used, allocatable, 5));
    return 50 + change / 2;
}

static bool all_forms_agree(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    static const char *const args[] = {
        "{resources: [{name: cpu}, {name: memory}, {name: x.io/a}, {name: ephemeral-storage}, "
        "{name: x.io/b}]}", /* those of the model */
        "{}",
        "{resources: [{name: memory}]}",
    };
    size_t which = size % ARRAY_LEN(args);
    struct fixture f;
    bool ok = true;
    begin(&f, args[which], NULL);
    resource_random_cluster(&f, r, 1 + size * 2);
    for (size_t i = 0; ok && i < 5; i++) {
        struct trial t;
        trial_begin(&t, &f, BALANCED, resource_random_pod(r, 1000 + i, ""));
        ok = trial_batches_agree(&t);
        for (size_t k = 0; ok && which == 0 && k < f.engine->cache.order.n; k++) {
            const struct berth_node *node = f.engine->cache.order.v[k];
            ok = t.pre_score == BERTH_SKIP || trial_score(&t, node->name) == model(t.pod, node);
        }
        trial_end(&t);
    }
    fixture_release(&f);
    return ok;
}

static void batch_and_single_forms_and_the_message_agree(void **state)
{
    (void)state;
    assert_true(prop_run("balanced allocation in all its forms", 200, all_forms_agree, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_what_the_pod_changes),
        cmocka_unit_test(a_pod_that_asks_for_nothing_is_left_out),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(batch_and_single_forms_and_the_message_agree),
    };
    return cmocka_run_group_tests_name("node_resources_balanced_allocation", tests, NULL, NULL);
}
