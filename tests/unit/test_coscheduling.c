/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coscheduling: groups that run whole or not at all, and hold nothing that they cannot use.
 * tests/sigs compares order, PreFilter, PostFilter and Permit with the original.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"

#define SECOND ((int64_t)1000000000)
#define PLUGIN "Coscheduling"

static const char *config_of(const char *args)
{
    return textf("apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins:\n"
                 "    multiPoint: {enabled: [{name: Coscheduling}]}\n"
                 "    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}\n"
                 "  pluginConfig:\n"
                 "  - name: Coscheduling\n"
                 "    args: {%s}\n",
                 args);
}

/* One cpu a node, so that a member of one cpu takes it whole. */
static void begin(struct fixture *f, const char *args, int nodes)
{
    fixture_init(f, config_of(args), NULL);
    for (int i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%d", i), .cpu = "1");
}

static struct object *group_at(const char *name, const char *created, const char *spec)
{
    const struct kind *kind = kind_find(STR("scheduling.x-k8s.io/v1alpha1"), STR("PodGroup"));
    return object_jsonf(kind->id,
                        "{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'PodGroup',"
                        "'metadata':{'name':'%s','namespace':'default','uid':'u-%s',"
                        "'creationTimestamp':'%s'},'spec':{%s}}",
                        name, name, created, spec);
}

static struct object *group(const char *name, int least)
{
    return group_at(name, "2026-01-01T00:00:00Z", textf("'minMember':%d", least));
}

static struct object *member(const char *group, int i)
{
    return POD(.name = textf("%s-%d", group, i), .cpu = "1",
               .labels = textf("scheduling.x-k8s.io/pod-group=%s", group));
}

static void add_members(struct fixture *f, const char *group, int from, int to)
{
    for (int i = from; i < to; i++)
        fixture_add(f, member(group, i));
}

/* How many members of the group have been bound. */
static int bound(const struct fixture *f, const char *group, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += fixture_node_of(f, textf("%s-%d", group, i)) != NULL;
    return count;
}

/* How many pods count on nodes: those that are bound, and those that Permit holds. */
static size_t on_nodes(const struct fixture *f)
{
    return f->engine->cache.pods.n;
}

static const char *message_of(struct fixture *f, const char *pod)
{
    struct fixture_write *w = fixture_last(f, WRITE_EVENT, pod);
    return w ? w->message : "";
}

static void assert_message(struct fixture *f, const char *pod, const char *text)
{
    if (!strstr(message_of(f, pod), text))
        fail_msg("%s: %s, want %s", pod, message_of(f, pod), text);
}

/* --- whole or not at all ---------------------------------------------------------------------- */

static void a_group_runs_when_its_last_member_comes(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 5);
    fixture_add(&f, group("g", 3));
    add_members(&f, "g", 0, 2);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 0);
    assert_int_equal(on_nodes(&f), 0);
    assert_message(&f, "g-0",
                   "pre-filter pod g-0 cannot find enough sibling pods, current pods number: 2, "
                   "minMember of group: 3");
    add_members(&f, "g", 2, 3);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    fixture_release(&f);
}

static void a_group_that_does_not_fit_holds_nothing(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    fixture_add(&f, group("g", 4));
    add_members(&f, "g", 0, 4);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 4), 0);
    assert_int_equal(on_nodes(&f), 0);
    assert_message(&f, "g-0", "optimistic rejection in PostFilter");
    assert_message(&f, "g-3",
                   "PodGroup default/g gets rejected due to Pod g-3 is unschedulable even after "
                   "PostFilter");
    ADD_NODE(&f, .name = "n3", .cpu = "1");
    fixture_pass(&f, 20 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 4), 4);
    fixture_release(&f);
}

/* Upstream keeps the nodes of nine members until Permit times out: one of ten is within 10 %. */
static void a_small_gap_is_no_reason_to_hoard(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 9);
    fixture_add(&f, group("g", 10));
    add_members(&f, "g", 0, 10);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 10), 0);
    assert_int_equal(on_nodes(&f), 0);
    assert_message(&f, "g-9", "Insufficient cpu");
    assert_null(strstr(message_of(&f, "g-9"), "gets rejected"));
    fixture_release(&f);
}

/* The tenth fits nowhere, but the eleventh is as good. */
static void a_small_gap_may_be_filled_by_another_member(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 10);
    fixture_add(&f, group("g", 10));
    add_members(&f, "g", 0, 9);
    fixture_add(&f, POD(.name = "g-90", .cpu = "2", .labels = "scheduling.x-k8s.io/pod-group=g"));
    fixture_add(&f, POD(.name = "g-91", .cpu = "1", .labels = "scheduling.x-k8s.io/pod-group=g"));
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 9), 9);
    assert_non_null(fixture_node_of(&f, "g-91"));
    assert_null(fixture_node_of(&f, "g-90"));
    fixture_release(&f);
}

static void interleaved_groups_do_not_block_each_other(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 4);
    for (int g = 0; g < 5; g++)
        fixture_add(&f, group(textf("g%d", g), 3));
    for (int i = 0; i < 3; i++)
        for (int g = 0; g < 5; g++)
            fixture_add(&f,
                        POD(.name = textf("p%d-g%d", i, g), .uid = textf("g%d-%d", g, i),
                            .cpu = "1", .labels = textf("scheduling.x-k8s.io/pod-group=g%d", g)));
    for (int round = 0; round < 5; round++) {
        fixture_settle(&f);
        assert_int_equal(on_nodes(&f), 3);
        for (int g = 0; g < 5; g++) {
            const char *node = fixture_node_of(&f, textf("p0-g%d", g));
            for (int i = 0; i < 3; i++) {
                const char *pod = textf("p%d-g%d", i, g), *uid = textf("g%d-%d", g, i);
                assert_int_equal(node != NULL, fixture_node_of(&f, pod) != NULL);
                if (node && cache_pod(&f.engine->cache, str_of(uid)))
                    fixture_delete(
                        &f, object_ref(cache_pod(&f.engine->cache, str_of(uid))->pod->object));
            }
        }
        fixture_pass(&f, 20 * SECOND);
    }
    for (int g = 0; g < 5; g++)
        assert_non_null(fixture_node_of(&f, textf("p2-g%d", g)));
    fixture_release(&f);
}

static void pods_without_a_group_are_not_concerned(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 2);
    ADD_POD(&f, .name = "alone");
    ADD_POD(&f, .name = "lost", .labels = "scheduling.x-k8s.io/pod-group=none");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "alone"));
    assert_null(fixture_node_of(&f, "lost"));
    assert_message(&f, "lost", "PodGroup not found");
    fixture_add(&f, group("none", 1));
    fixture_pass(&f, 20 * SECOND);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "lost"));
    fixture_release(&f);
}

static void members_that_run_count(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    ADD_POD(&f, .name = "g-0", .cpu = "1", .node = "n0",
            .labels = "scheduling.x-k8s.io/pod-group=g");
    ADD_POD(&f, .name = "g-1", .cpu = "1", .node = "n1", .phase = "Succeeded",
            .labels = "scheduling.x-k8s.io/pod-group=g");
    fixture_add(&f, group("g", 2));
    add_members(&f, "g", 2, 3);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "g-2"));
    fixture_release(&f);
}

static void members_that_have_ended_do_not_count(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    ADD_POD(&f, .name = "g-1", .cpu = "1", .node = "n1", .phase = "Succeeded",
            .labels = "scheduling.x-k8s.io/pod-group=g");
    fixture_add(&f, group("g", 2));
    add_members(&f, "g", 2, 3);
    fixture_settle(&f);
    assert_null(fixture_node_of(&f, "g-2"));
    assert_message(&f, "g-2", "current pods number: 1, minMember of group: 2");
    fixture_release(&f);
}

static void gated_members_are_missing(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    fixture_add(&f, group("g", 2));
    add_members(&f, "g", 0, 1);
    struct object *gated =
        POD(.name = "g-1", .cpu = "1", .gates = "a", .labels = "scheduling.x-k8s.io/pod-group=g");
    fixture_add(&f, object_ref(gated));
    fixture_settle(&f);
    assert_message(&f, "g-0",
                   "pre-filter pod g-0 cannot proceed due to gated pods in the same PodGroup");
    fixture_update(&f, gated, member("g", 1));
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 2), 2);
    fixture_release(&f);
}

/* --- what happens to members that wait -------------------------------------------------------- */

/* Three of four members wait in Permit: the fourth belongs to another scheduler. */
static void begin_waiting(struct fixture *f, const char *args)
{
    begin(f, args, 4);
    fixture_add(f, group("g", 4));
    add_members(f, "g", 0, 3);
    ADD_POD(f, .name = "g-3", .scheduler = "other", .labels = "scheduling.x-k8s.io/pod-group=g");
    fixture_settle(f);
    assert_int_equal(bound(f, "g", 4), 0);
    assert_int_equal(on_nodes(f), 3);
}

static void a_timeout_ends_the_wait_of_all(void **state)
{
    (void)state;
    struct fixture f;
    begin_waiting(&f, "permitWaitingTimeSeconds: 7");
    fixture_pass(&f, 6 * SECOND);
    assert_int_equal(on_nodes(&f), 3);
    fixture_pass(&f, 2 * SECOND);
    assert_int_equal(on_nodes(&f), 0);
    assert_message(&f, "g-0", "rejected due to timeout after waiting 7s at plugin Coscheduling");
    fixture_release(&f);
}

static void the_groups_own_timeout_comes_first(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "permitWaitingTimeSeconds: 100", 4);
    fixture_add(&f,
                group_at("g", "2026-01-01T00:00:00Z", "'minMember':2,'scheduleTimeoutSeconds':3"));
    add_members(&f, "g", 0, 1);
    ADD_POD(&f, .name = "g-3", .scheduler = "other", .labels = "scheduling.x-k8s.io/pod-group=g");
    fixture_settle(&f);
    assert_int_equal(on_nodes(&f), 1);
    fixture_pass(&f, 4 * SECOND);
    assert_int_equal(on_nodes(&f), 0);
    fixture_release(&f);
}

static void a_member_that_is_deleted_ends_the_wait(void **state)
{
    (void)state;
    struct fixture f;
    begin_waiting(&f, "");
    fixture_delete(
        &f, POD(.name = "g-3", .scheduler = "other", .labels = "scheduling.x-k8s.io/pod-group=g"));
    assert_int_equal(on_nodes(&f), 0);
    assert_message(&f, "g-1", "the group has lost a member and gives up what it holds");
    fixture_release(&f);
}

static void a_group_that_is_deleted_ends_the_wait(void **state)
{
    (void)state;
    struct fixture f;
    begin_waiting(&f, "");
    fixture_delete(&f, group("g", 4));
    assert_int_equal(on_nodes(&f), 0);
    fixture_release(&f);
}

static void a_smaller_group_is_complete(void **state)
{
    (void)state;
    struct fixture f;
    begin_waiting(&f, "");
    fixture_update(&f, group("g", 4), group("g", 3));
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    fixture_release(&f);
}

static void a_member_bound_by_another_scheduler_completes_the_group(void **state)
{
    (void)state;
    struct fixture f;
    begin_waiting(&f, "");
    fixture_update(
        &f, POD(.name = "g-3", .scheduler = "other", .labels = "scheduling.x-k8s.io/pod-group=g"),
        POD(.name = "g-3", .scheduler = "other", .node = "n3",
            .labels = "scheduling.x-k8s.io/pod-group=g"));
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    fixture_release(&f);
}

/* A binding that fails: the others are bound, and the pod joins them when it is tried again. */
static void a_binding_that_fails_is_made_up_for(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    fixture_add(&f, group("g", 3));
    add_members(&f, "g", 0, 3);
    fixture_schedule(&f);
    fixture_answer(&f, fixture_binding(&f, "g-1"), 500, "no");
    fixture_settle(&f);
    fixture_pass(&f, 20 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    fixture_release(&f);
}

/* --- retries ---------------------------------------------------------------------------------- */

static int attempts_of(const struct fixture *f, const char *group)
{
    int n = 0;
    for (size_t i = 0; i < f->decisions.n; i++)
        n += str_starts(str_of(f->decisions.v[i]), str_of(textf("%s-", group)));
    return n;
}

/* The second of five does not fit: the others need not be tried. */
static void a_round_that_has_failed_is_over(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 1);
    fixture_add(&f, group("g", 5));
    add_members(&f, "g", 0, 5);
    fixture_settle(&f);
    assert_message(&f, "g-1", "Insufficient cpu");
    assert_message(&f, "g-4", "podGroup default/g failed recently");
    fixture_release(&f);
}

/* One member fits nowhere; those that do bring each other to the queue, but not that one. */
static void a_member_that_failed_has_had_its_turn(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    fixture_add(&f, group("g", 3));
    fixture_add(&f, POD(.name = "a-0", .cpu = "2", .labels = "scheduling.x-k8s.io/pod-group=g"));
    add_members(&f, "g", 0, 3);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    assert_int_equal(attempts_of(&f, "a"), 1);
    fixture_release(&f);
}

/* Groups of the same age are tried one after the other, whatever their pods are called. */
static void groups_of_the_same_age_are_not_mixed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, config_of(""), NULL);
    fixture_add(&f, group("a", 3));
    fixture_add(&f, group("b", 3));
    for (int i = 0; i < 6; i++)
        ADD_POD(&f, .name = textf("p%d", i), .cpu = "1",
                .labels = textf("scheduling.x-k8s.io/pod-group=%s", i % 2 ? "a" : "b"));
    for (int i = 0; i < 3; i++)
        ADD_NODE(&f, .name = textf("n%d", i), .cpu = "1");
    fixture_settle(&f);
    for (int i = 0; i < 6; i++)
        assert_int_equal(fixture_node_of(&f, textf("p%d", i)) != NULL, i % 2);
    for (size_t i = 0; i < f.writes.n; i++)
        if (f.writes.v[i].message && strstr(f.writes.v[i].message, "optimistic rejection"))
            fail_msg("%s", f.writes.v[i].message);
    fixture_release(&f);
}

/* Each member is tried once in a round, and rounds keep the backoff of the pods. */
static void rounds_are_bounded(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 5);
    fixture_add(&f, group("g", 6));
    add_members(&f, "g", 0, 20);
    fixture_settle(&f);
    assert_int_equal(on_nodes(&f), 0);
    assert_true(attempts_of(&f, "g") <= 20);
    for (int i = 0; i < 60; i++) {
        fixture_pass(&f, SECOND);
        fixture_settle(&f);
    }
    assert_int_equal(on_nodes(&f), 0);
    if (attempts_of(&f, "g") > 20 * 12)
        fail_msg("%d attempts of 20 members in a minute", attempts_of(&f, "g"));
    fixture_release(&f);
}

static void a_backoff_keeps_the_group_away(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "podGroupBackoffSeconds: 100", 2);
    fixture_add(&f, group("g", 3));
    add_members(&f, "g", 0, 3);
    fixture_settle(&f);
    ADD_NODE(&f, .name = "n2", .cpu = "1");
    fixture_pass(&f, 60 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 0);
    assert_message(&f, "g-2", "podGroup default/g failed recently");
    fixture_pass(&f, 41 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 3), 3);
    fixture_release(&f);
}

/* --- minResources ----------------------------------------------------------------------------- */

static void room_for_all_comes_first(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    struct object *other = POD(.name = "other", .cpu = "600m", .node = "n0");
    fixture_add(&f, object_ref(other));
    fixture_add(&f, group_at("g", "2026-01-01T00:00:00Z",
                             "'minMember':2,'minResources':{'cpu':'2500m','x.io/gpu':1}"));
    add_members(&f, "g", 0, 2);
    fixture_settle(&f);
    assert_message(&f, "g-0", "resource gap: map[cpu:100m x.io/gpu:1]");
    assert_int_equal(on_nodes(&f), 1);
    ADD_NODE(&f, .name = "gpu", .cpu = "0", .allocatable = "x.io/gpu=1");
    fixture_pass(&f, 20 * SECOND);
    fixture_settle(&f);
    assert_message(&f, "g-0", "resource gap: map[cpu:100m]");
    fixture_delete(&f, other);
    fixture_pass(&f, 20 * SECOND);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 2), 2);
    fixture_release(&f);
}

/* What the group's own pods take counts as free. */
static void room_that_the_group_has_counts(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 3);
    ADD_POD(&f, .name = "g-9", .cpu = "1", .node = "n0",
            .labels = "scheduling.x-k8s.io/pod-group=g");
    fixture_add(&f,
                group_at("g", "2026-01-01T00:00:00Z", "'minMember':3,'minResources':{'cpu':'3'}"));
    add_members(&f, "g", 0, 2);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "g", 2), 2);
    fixture_release(&f);
}

/* --- order, events, arguments ----------------------------------------------------------------- */

static void older_groups_come_first(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, config_of(""), NULL);
    fixture_add(&f, group_at("young", "2026-01-02T00:00:00Z", "'minMember':1"));
    fixture_add(&f, group_at("old", "2026-01-01T00:00:00Z", "'minMember':1"));
    add_members(&f, "young", 0, 1);
    add_members(&f, "old", 0, 1);
    ADD_NODE(&f, .name = "n", .cpu = "1");
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "old-0"));
    assert_null(fixture_node_of(&f, "young-0"));
    fixture_release(&f);
}

/* A group that failed is behind one that is younger, when there is room for either. */
static void a_group_that_failed_goes_behind(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, config_of(""), NULL);
    f.now = 1780000000 * SECOND;
    struct object *other = POD(.name = "other", .cpu = "1", .node = "n1");
    ADD_NODE(&f, .name = "n0", .cpu = "1");
    ADD_NODE(&f, .name = "n1", .cpu = "1");
    fixture_add(&f, object_ref(other));
    fixture_add(&f, group_at("big", "2026-01-01T00:00:00Z", "'minMember':2"));
    add_members(&f, "big", 0, 2);
    fixture_settle(&f);
    fixture_delete(&f, other);
    fixture_pass(&f, 20 * SECOND);
    fixture_add(&f, group_at("small", "2026-01-02T00:00:00Z", "'minMember':2"));
    add_members(&f, "small", 0, 2);
    fixture_settle(&f);
    assert_int_equal(bound(&f, "small", 2), 2);
    assert_int_equal(bound(&f, "big", 2), 0);
    fixture_release(&f);
}

static void hints_are_about_the_pods_group(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "", 1);
    const struct kind *kind = kind_find(STR("scheduling.x-k8s.io/v1alpha1"), STR("PodGroup"));
    const enum berth_resource groups = (enum berth_resource)(RESOURCE_OF_KINDS + kind->id);
    assert_true(trial_is_told(&f, PLUGIN, groups, BERTH_ACTION_ADD));
    struct object *touched =
        group_at("g", "2026-01-01T00:00:00Z", "'minMember':2},'status':{'phase':'Pending'");
    assert_int_equal(trial_hint(&f, PLUGIN, member("g", 0),
                                (struct trial_change){groups, BERTH_ACTION_UPDATE_OTHER,
                                                      group("g", 2), touched}),
                     BERTH_QUEUE_SKIP);
    assert_int_equal(trial_hint(&f, PLUGIN, member("g", 0),
                                (struct trial_change){groups, BERTH_ACTION_UPDATE_OTHER,
                                                      group("g", 2), group("g", 3)}),
                     BERTH_QUEUE);
    assert_int_equal(
        trial_hint(&f, PLUGIN, member("g", 0),
                   (struct trial_change){groups, BERTH_ACTION_ADD, NULL, group("other", 3)}),
        BERTH_QUEUE_SKIP);
    assert_int_equal(trial_hint(&f, PLUGIN, member("g", 0),
                                (struct trial_change){BERTH_RESOURCE_POD, BERTH_ACTION_ADD, NULL,
                                                      member("g", 1)}),
                     BERTH_QUEUE);
    assert_int_equal(trial_hint(&f, PLUGIN, member("g", 0),
                                (struct trial_change){BERTH_RESOURCE_POD, BERTH_ACTION_ADD, NULL,
                                                      member("h", 1)}),
                     BERTH_QUEUE_SKIP);
    fixture_release(&f);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *args, *error;
    } rows[] = {
        {"{}", ""},
        {"{'permitWaitingTimeSeconds':0,'podGroupBackoffSeconds':0,'podGroupRejectPercentage':100}",
         ""},
        {"{'permitWaitingTimeSeconds':-1}",
         "permitWaitingTimeSeconds: Invalid value: -1: must be greater than 0"},
        {"{'podGroupBackoffSeconds':-2}",
         "podGroupBackoffSeconds: Invalid value: -2: must be greater than 0"},
        {"{'podGroupRejectPercentage':101}",
         "podGroupRejectPercentage: Invalid value: 101: must be between 0 and 100"},
        {"{'podGroupRejectPercent':1}", "unknown field"},
    };
    struct fixture f;
    begin(&f, "", 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct berth_error error;
        const char *got = trial_args_error(&f, PLUGIN, rows[i].args, &error);
        if (*rows[i].error ? !strstr(got, rows[i].error) : *got)
            fail_msg("%s: got %s, want %s", rows[i].args, got, rows[i].error);
    }
    fixture_release(&f);
}

/* A reload that enables the plugin finds the pods that exist. */
static void a_reload_finds_the_members(void **state)
{
    (void)state;
    struct fixture f;
    struct reload_result result;
    struct err err;
    fixture_init(&f, NULL, NULL);
    ADD_NODE(&f, .name = "n0", .cpu = "1");
    ADD_POD(&f, .name = "g-0", .cpu = "1", .node = "n0",
            .labels = "scheduling.x-k8s.io/pod-group=g");
    assert_int_equal(
        fixture_reload(&f, &(struct fixture_reload){.config = config_of("")}, &result, &err), 0);
    ADD_NODE(&f, .name = "n1", .cpu = "1");
    fixture_add(&f, group("g", 2));
    add_members(&f, "g", 1, 2);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "g-1"));
    fixture_release(&f);
}

/* --- status ----------------------------------------------------------------------------------- */

/* One step of the state machine, from a status to the next. */
static void the_status_follows_the_pods(void **state)
{
    (void)state;
    static const struct {
        int least;
        const char *status, *phases; /* of the pods: R, S, F or P(ending) */
        const char *want;            /* "": nothing is written */
    } rows[] = {
        {2, "", "", "'phase':'Pending','running':0,'succeeded':0,'failed':0"},
        {2, "", "RR", "'phase':'Pending','running':0,'succeeded':0,'failed':0"},
        {2, "'phase':'Pending'", "P", ""},
        {2, "'phase':'Pending'", "PP",
         "'phase':'Scheduling','occupiedBy':'default/a,default/b','running':0,'succeeded':0,"
         "'failed':0"},
        {2, "'phase':'Scheduling'", "PP", ""},
        {2, "'phase':'Scheduling'", "RP",
         "'phase':'Scheduling','running':1,'succeeded':0,'failed':0"},
        {2, "'phase':'Scheduling','running':1", "RR",
         "'phase':'Running','running':2,'succeeded':0,'failed':0"},
        {2, "'phase':'Running','running':2", "R",
         "'phase':'Pending','running':1,'succeeded':0,'failed':0"},
        {2, "'phase':'Running','running':2", "RS",
         "'phase':'Running','running':1,'succeeded':1,'failed':0"},
        {2, "'phase':'Running','running':2", "SS",
         "'phase':'Finished','running':0,'succeeded':2,'failed':0"},
        {2, "'phase':'Running','running':2", "RF",
         "'phase':'Failed','running':1,'succeeded':0,'failed':1"},
        {3, "'phase':'Scheduling'", "FPP",
         "'phase':'Scheduling','running':0,'succeeded':0,'failed':1"},
        {2, "'phase':'Running'", "SSF", "'phase':'Finished','running':0,'succeeded':2,'failed':1"},
        {2, "'phase':'Unknown'", "RR", "'phase':'Running','running':2,'succeeded':0,'failed':0"},
        {2, "'phase':'Finished'", "RR", ""},
        {2, "'phase':'Failed'", "RR", ""},
        {2, "'phase':'Pending','scheduleStartTime':'2026-01-04T00:00:00Z'", "RR", ""},
        {2, "'phase':'Pending','scheduleStartTime':'2026-01-02T00:00:00Z'", "RR",
         "'phase':'Scheduling','occupiedBy':'default/a,default/b','running':0,'succeeded':0,"
         "'failed':0,'scheduleStartTime':'2026-01-02T00:00:00Z'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        fixture_init_parts(&f, &(struct fixture_parts){.config = config_of(""), .leads = true});
        for (const char *p = rows[i].phases; *p; p++)
            ADD_POD(&f, .name = textf("m%zd", p - rows[i].phases), .node = "gone",
                    .phase = *p == 'R'   ? "Running"
                             : *p == 'S' ? "Succeeded"
                             : *p == 'F' ? "Failed"
                                         : "Pending",
                    .labels = "scheduling.x-k8s.io/pod-group=g",
                    .meta = "'ownerReferences':[{'name':'b'},{'name':'a'}]");
        fixture_add(&f,
                    group_at("g", "2026-01-01T00:00:00Z",
                             textf("'minMember':%d},'status':{%s", rows[i].least, rows[i].status)));
        fixture_pass(&f, SECOND);
        struct fixture_request *request = fixture_request(&f);
        const char *got = request ? single_quotes(request->body) : "";
        const char *want = *rows[i].want ? textf("'status':{%s}", rows[i].want) : "";
        if (*want ? !strstr(got, want) : *got)
            fail_msg("%s, %s: %s, want %s", rows[i].status, rows[i].phases, got, want);
        if (request)
            assert_string_equal(request->line, "PATCH podgroups/status default/g");
        fixture_release(&f);
    }
}

/* While a request is open there is no other one; afterwards the newest status is written. */
static void a_status_is_written_once_at_a_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init_parts(&f, &(struct fixture_parts){.config = config_of(""), .leads = true});
    fixture_add(&f, group("g", 1));
    fixture_pass(&f, SECOND);
    assert_int_equal(f.requests.n, 1);
    add_members(&f, "g", 0, 3);
    fixture_pass(&f, SECOND);
    assert_int_equal(f.requests.n, 1);
    fixture_request_done(&f, fixture_request(&f), 409, "Conflict", NULL);
    fixture_pass(&f, 2 * SECOND);
    assert_int_equal(f.requests.n, 2);
    fixture_request_done(&f, fixture_request(&f), 403, "Forbidden", NULL);
    fixture_pass(&f, 2 * SECOND);
    assert_int_equal(f.requests.n, 3);
    add_members(&f, "g", 3, 4);
    fixture_pass(&f, SECOND);
    fixture_request_done(&f, fixture_request(&f), 200, "", NULL);
    fixture_pass(&f, SECOND);
    assert_int_equal(f.requests.n, 4);
    fixture_delete(&f, group("g", 1));
    fixture_request_done(&f, fixture_request(&f), 200, "", NULL);
    fixture_pass(&f, 100 * SECOND);
    assert_int_equal(f.requests.n, 4);
    fixture_release(&f);
}

/* Few requests are open, and every group has its turn. */
static void every_group_gets_its_status(void **state)
{
    (void)state;
    struct fixture f;
    int written = 0;
    fixture_init_parts(&f, &(struct fixture_parts){.config = config_of(""), .leads = true});
    for (int i = 0; i < 50; i++)
        fixture_add(&f, group(textf("g%d", i), 1));
    for (int i = 0; i < 200; i++) {
        fixture_pass(&f, SECOND / 2);
        int open = 0;
        for (size_t k = 0; k < f.requests.n; k++)
            open += !f.requests.v[k].answered;
        assert_true(open <= 8);
        struct fixture_request *request = fixture_request(&f);
        if (!request)
            continue;
        char name[32];
        assert_int_equal(sscanf(request->line, "PATCH podgroups/status default/%31s", name), 1);
        fixture_request_done(&f, request, 200, "", NULL);
        fixture_update(
            &f, group(name, 1),
            group_at(name, "2026-01-01T00:00:00Z", "'minMember':1},'status':{'phase':'Pending'"));
        written++;
    }
    assert_int_equal(written, 50);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_runs_when_its_last_member_comes),
        cmocka_unit_test(a_group_that_does_not_fit_holds_nothing),
        cmocka_unit_test(a_small_gap_is_no_reason_to_hoard),
        cmocka_unit_test(a_small_gap_may_be_filled_by_another_member),
        cmocka_unit_test(interleaved_groups_do_not_block_each_other),
        cmocka_unit_test(pods_without_a_group_are_not_concerned),
        cmocka_unit_test(members_that_run_count),
        cmocka_unit_test(members_that_have_ended_do_not_count),
        cmocka_unit_test(gated_members_are_missing),
        cmocka_unit_test(a_timeout_ends_the_wait_of_all),
        cmocka_unit_test(the_groups_own_timeout_comes_first),
        cmocka_unit_test(a_member_that_is_deleted_ends_the_wait),
        cmocka_unit_test(a_group_that_is_deleted_ends_the_wait),
        cmocka_unit_test(a_smaller_group_is_complete),
        cmocka_unit_test(a_member_bound_by_another_scheduler_completes_the_group),
        cmocka_unit_test(a_binding_that_fails_is_made_up_for),
        cmocka_unit_test(a_round_that_has_failed_is_over),
        cmocka_unit_test(a_member_that_failed_has_had_its_turn),
        cmocka_unit_test(groups_of_the_same_age_are_not_mixed),
        cmocka_unit_test(rounds_are_bounded),
        cmocka_unit_test(a_backoff_keeps_the_group_away),
        cmocka_unit_test(room_for_all_comes_first),
        cmocka_unit_test(room_that_the_group_has_counts),
        cmocka_unit_test(older_groups_come_first),
        cmocka_unit_test(a_group_that_failed_goes_behind),
        cmocka_unit_test(hints_are_about_the_pods_group),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_reload_finds_the_members),
        cmocka_unit_test(the_status_follows_the_pods),
        cmocka_unit_test(a_status_is_written_once_at_a_time),
        cmocka_unit_test(every_group_gets_its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
