/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of pods, and placements of groups. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/group/placements.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "plugins/registry.h"

/* --- a plugin that signs, proposes and scores ------------------------------------------------- */

static struct {
    const struct berth_host *host;
    enum berth_code generate;
    int64_t first_score;
} told;

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)h, (void)args, (void)ret_self, (void)error;
    told.host = host;
    return 0;
}

static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node, (void)status;
    return BERTH_SUCCESS;
}

static enum berth_code generate(void *self, struct berth_cycle *cycle,
                                const struct berth_pod_group *group, struct berth_placements *out,
                                struct berth_status *status)
{
    (void)self, (void)cycle;
    struct berth_str ab[] = {BERTH_STR("a"), BERTH_STR("b"), BERTH_STR("nowhere")};
    struct berth_str c[] = {BERTH_STR("c")};
    assert_true(str_is(str_abi(told.host->pod_group_name(group)), "g"));
    if (told.generate != BERTH_SUCCESS) {
        told.host->status_text(status, BERTH_STR("no rack is free"));
        return told.generate;
    }
    told.host->placement_add(out, BERTH_STR("rack-1"), ab, ARRAY_LEN(ab));
    told.host->placement_add(out, BERTH_STR("rack-2"), c, ARRAY_LEN(c));
    return BERTH_SUCCESS;
}

static enum berth_code score(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod_group *group,
                             const struct berth_placement *placement, int64_t *ret_score,
                             struct berth_status *status)
{
    (void)self, (void)cycle, (void)group, (void)status;
    bool first = told.host->placement_nodes(placement) == 2;
    *ret_score = first ? told.first_score : 10;
    return BERTH_SUCCESS;
}

static const struct berth_plugin grouper = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_plugin),
    .name = "Grouper",
    .create = create,
    .filter = filter,
    .generate_placements = generate,
    .score_placement = score,
};

static const struct berth_plugin *const plugins[] = {&priority_sort_plugin, &grouper,
                                                     &default_binder_plugin, NULL};
static int32_t three = 3;
static const struct plugin_ref defaults[] = {
    {STR_INIT("PrioritySort"), NULL},
    {STR_INIT("Grouper"), &three},
    {STR_INIT("DefaultBinder"), NULL},
};
static const struct registry registry = {
    .plugins = plugins, .defaults = defaults, .n_defaults = ARRAY_LEN(defaults)};

static void begin(struct fixture *f)
{
    memset(&told, 0, sizeof(told));
    fixture_init(f, NULL, &registry);
    ADD_NODE(f, .name = "a", .cpu = "4", .memory = "8Gi");
    ADD_NODE(f, .name = "b", .cpu = "4", .memory = "8Gi");
    ADD_NODE(f, .name = "c", .cpu = "4", .memory = "8Gi");
}

/* --- placements ------------------------------------------------------------------------------- */

struct trial {
    struct fixture f;
    struct berth_cycle *cycle;
    struct berth_pod_group group;
    struct berth_placements placements;
    struct cycle_failure failure;
};

static void begin_trial(struct trial *t)
{
    *t = (struct trial){0};
    begin(&t->f);
    t->cycle = cycle_new(&t->f.engine->cycles, t->f.engine->framework.setup->profiles.v[0]);
    t->group.name = STR("g");
    t->group.object = POD_GROUP(.name = "g");
    t->placements =
        (struct berth_placements){.cache = &t->f.engine->cache, .arena = &t->cycle->arena};
}

static void end_trial(struct trial *t)
{
    vec_release(&t->placements.list);
    cycle_failure_release(&t->failure);
    object_unref(t->group.object);
    cycle_free(t->cycle);
    fixture_release(&t->f);
}

static void placements_are_proposed_and_scored_by_weight(void **state)
{
    (void)state;
    struct trial t;
    int64_t totals[2];
    begin_trial(&t);
    told.first_score = 100;
    assert_true(placement_generate(t.cycle, &t.group, &t.placements, &t.failure));
    assert_int_equal(t.placements.list.n, 2);
    assert_int_equal(t.placements.list.v[0].n, 2); /* "nowhere" is not a node */
    assert_string_equal(t.placements.list.v[1].nodes[0]->name, "c");
    assert_true(placement_score(t.cycle, &t.group, &t.placements, totals, &t.failure));
    assert_int_equal(totals[0], 300);
    assert_int_equal(totals[1], 30);
    end_trial(&t);
}

static void without_a_generator_all_nodes_are_one_placement(void **state)
{
    (void)state;
    struct trial t;
    begin_trial(&t);
    t.cycle->profile->at[POINT_PLACEMENT_GENERATE].n = 0;
    assert_true(placement_generate(t.cycle, &t.group, &t.placements, &t.failure));
    assert_int_equal(t.placements.list.n, 1);
    assert_int_equal(t.placements.list.v[0].n, 3);
    end_trial(&t);
}

static void refusals_and_bad_scores_are_reported(void **state)
{
    (void)state;
    struct trial t;
    int64_t totals[2];
    begin_trial(&t);
    told.generate = BERTH_UNSCHEDULABLE;
    assert_false(placement_generate(t.cycle, &t.group, &t.placements, &t.failure));
    assert_false(t.failure.error);
    assert_string_equal(buf_cstr(&t.failure.text), "no rack is free");
    told.generate = BERTH_ERROR;
    assert_false(placement_generate(t.cycle, &t.group, &t.placements, &t.failure));
    assert_true(t.failure.error);
    assert_string_equal(buf_cstr(&t.failure.text), "no rack is free");
    told.generate = BERTH_SUCCESS;
    told.first_score = 101;
    assert_true(placement_generate(t.cycle, &t.group, &t.placements, &t.failure));
    assert_false(placement_score(t.cycle, &t.group, &t.placements, totals, &t.failure));
    assert_string_equal(buf_cstr(&t.failure.text),
                        "applying score defaultWeights on PlacementScore plugins: plugin "
                        "\"Grouper\" returns an invalid score 101, it should in the range of "
                        "[0, 100] after normalizing");
    end_trial(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placements_are_proposed_and_scored_by_weight),
        cmocka_unit_test(without_a_generator_all_nodes_are_one_placement),
        cmocka_unit_test(refusals_and_bad_scores_are_reported),
    };
    return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
