/* SPDX-License-Identifier: Apache-2.0 */
/* One scheduling cycle with plugins that behave, and with plugins that do not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/internal.h"
#include "engine_fixture.h"
#include "plugins/registry.h"

/* --- a plugin that does as it is told --------------------------------------------------------- */

static struct {
    const struct berth_host *host;
    enum berth_code pre_filter, filter, pre_score, score_code, reserve, bind;
    const char *reason;
    const char *only_node; /* limit_nodes to this one */
    int64_t score;
    int filters, scores, unreserves, post_binds;
} puppet;

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)h, (void)args, (void)error, (void)ret_self;
    puppet.host = host;
    return 0;
}

static void explain(struct berth_status *status)
{
    if (puppet.reason)
        puppet.host->status_text(status, abi_str(str_of(puppet.reason)));
}

static enum berth_code pre_filter(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status)
{
    (void)self, (void)pod;
    if (puppet.only_node) {
        struct berth_str name = abi_str(str_of(puppet.only_node));
        puppet.host->limit_nodes(cycle, &name, 1);
    }
    explain(status);
    return puppet.pre_filter;
}

static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node;
    puppet.filters++;
    explain(status);
    return puppet.filter;
}

static enum berth_code pre_score(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)slots, (void)n;
    explain(status);
    return puppet.pre_score;
}

static enum berth_code score(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node;
    puppet.scores++;
    explain(status);
    *ret_score = puppet.score;
    return puppet.score_code;
}

static enum berth_code reserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node_name;
    explain(status);
    return puppet.reserve;
}

static void unreserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)self, (void)cycle, (void)pod, (void)node_name;
    puppet.unreserves++;
}

static enum berth_code bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, struct berth_op *op,
                            struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node_name, (void)op;
    explain(status);
    return puppet.bind;
}

static void post_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)self, (void)cycle, (void)pod, (void)node_name;
    puppet.post_binds++;
}

static const struct berth_plugin puppet_plugin = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_plugin),
    .name = "Puppet",
    .create = create,
    .pre_filter = pre_filter,
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .reserve = reserve,
    .unreserve = unreserve,
    .bind = bind,
    .post_bind = post_bind,
};

static const struct berth_plugin *const plugins[] = {&priority_sort_plugin, &puppet_plugin,
                                                     &default_binder_plugin, NULL};
static const struct plugin_ref defaults[] = {
    {STR_INIT("PrioritySort"), NULL},
    {STR_INIT("Puppet"), NULL},
    {STR_INIT("DefaultBinder"), NULL},
};
static const struct registry registry = {plugins, defaults, ARRAY_LEN(defaults)};

static void begin(struct fixture *f, size_t nodes)
{
    memset(&puppet, 0, sizeof(puppet));
    puppet.bind = BERTH_SKIP;
    fixture_init(f, NULL, &registry);
    for (size_t i = 0; i < nodes; i++) {
        char name[24];
        snprintf(name, sizeof(name), "n%zu", i);
        fixture_add(f, fixture_node(name, "4", "8Gi"));
    }
    fixture_add(f, fixture_pod("p", "1", "1Gi"));
}

/* The text of the failure, and whether the pod is said to be unschedulable or something broke. */
static void assert_fails(struct fixture *f, const char *message, const char *reason)
{
    fixture_settle(f);
    struct fixture_write *w = fixture_last(f, WRITE_POD_STATUS, "p");
    assert_non_null(w);
    assert_string_equal(w->message, message);
    assert_string_equal(w->reason, reason);
    fixture_release(f);
}

/* --- rules ------------------------------------------------------------------------------------ */

static void pre_filter_may_reject(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    puppet.pre_filter = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    puppet.reason = "never on a Sunday";
    assert_fails(&f, "0/2 nodes are available: never on a Sunday.", "Unschedulable");
    assert_int_equal(puppet.filters, 0);
}

static void pre_filter_skip_drops_the_filter(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    puppet.pre_filter = BERTH_SKIP;
    puppet.filter = BERTH_UNSCHEDULABLE;
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    assert_int_equal(puppet.filters, 0);
    fixture_release(&f);
}

static void pre_filter_may_name_the_nodes(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 5);
    puppet.only_node = "n3";
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n3");
    assert_int_equal(puppet.filters, 1);
    fixture_release(&f);
    begin(&f, 5);
    puppet.only_node = "n3";
    puppet.filter = BERTH_UNSCHEDULABLE;
    puppet.reason = "full";
    assert_fails(&f,
                 "0/5 nodes are available: 1 full, 4 node(s) didn't satisfy plugin(s) [Puppet].",
                 "Unschedulable");
}

static void pre_score_skip_drops_the_score(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    puppet.pre_score = BERTH_SKIP;
    puppet.score = 1000;
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "p"));
    assert_int_equal(puppet.scores, 0);
    fixture_release(&f);
}

static void a_single_feasible_node_is_not_scored(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    puppet.score_code = BERTH_ERROR;
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "p"), "n0");
    fixture_release(&f);
}

static void what_breaks_is_an_error_with_its_plugin(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    puppet.pre_filter = BERTH_ERROR;
    puppet.reason = "ouch";
    assert_fails(&f, "running PreFilter plugin \"Puppet\": ouch", "SchedulerError");
    begin(&f, 2);
    puppet.filter = BERTH_ERROR;
    puppet.reason = "ouch";
    assert_fails(&f, "running \"Puppet\" filter plugin: ouch", "SchedulerError");
    begin(&f, 2);
    puppet.pre_score = BERTH_ERROR;
    puppet.reason = "ouch";
    assert_fails(&f, "running PreScore plugin \"Puppet\": ouch", "SchedulerError");
    begin(&f, 2);
    puppet.score_code = BERTH_ERROR;
    puppet.reason = "ouch";
    assert_fails(&f, "running Score plugins: plugin \"Puppet\" failed with: ouch",
                 "SchedulerError");
    begin(&f, 2);
    puppet.bind = BERTH_ERROR;
    puppet.reason = "ouch";
    assert_fails(&f, "running Bind plugin \"Puppet\": ouch", "SchedulerError");
}

static void undefined_codes_are_errors(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    puppet.filter = (enum berth_code)42;
    assert_fails(&f, "running \"Puppet\" filter plugin: status undefined (42) without a reason",
                 "SchedulerError");
}

static void scores_out_of_range_are_errors(void **state)
{
    (void)state;
    int64_t scores[] = {-1, 101};
    const char *messages[] = {
        "applying score defaultWeights on Score plugins: plugin \"Puppet\" returns an invalid "
        "score "
        "-1, it should in the range of [0, 100] after normalizing",
        "applying score defaultWeights on Score plugins: plugin \"Puppet\" returns an invalid "
        "score "
        "101, it should in the range of [0, 100] after normalizing",
    };
    for (size_t i = 0; i < ARRAY_LEN(scores); i++) {
        struct fixture f;
        begin(&f, 2);
        puppet.score = scores[i];
        assert_fails(&f, messages[i], "SchedulerError");
    }
}

static void a_failed_reserve_is_undone(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    puppet.reserve = BERTH_UNSCHEDULABLE;
    puppet.reason = "taken";
    fixture_settle(&f);
    assert_int_equal(puppet.unreserves, 1);
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    assert_fails(&f, "0/1 nodes are available: 1 taken.", "Unschedulable");
}

static void a_failed_binding_is_undone(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    fixture_schedule(&f);
    fixture_answer(&f, fixture_binding(&f, "p"), 409, "conflict");
    assert_int_equal(puppet.unreserves, 1);
    assert_int_equal(puppet.post_binds, 0);
    assert_int_equal(engine_get_stats(f.engine).assumed_pods, 0);
    fixture_pass(&f, (int64_t)5 * 1000000000);
    fixture_settle(&f);
    assert_int_equal(puppet.unreserves, 1);
    assert_int_equal(puppet.post_binds, 1);
    fixture_release(&f);
}

static void large_clusters_are_sampled_in_turn(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1000);
    fixture_schedule(&f);
    /* 50 - 1000/125 = 42 % */
    assert_int_equal(puppet.scores, 420);
    assert_int_equal(f.engine->next_start_node, 420);
    fixture_add(&f, fixture_pod("q", "1", "1Gi"));
    fixture_schedule(&f);
    assert_int_equal(puppet.scores, 840);
    assert_int_equal(f.engine->next_start_node, 840);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pre_filter_may_reject),
        cmocka_unit_test(pre_filter_skip_drops_the_filter),
        cmocka_unit_test(pre_filter_may_name_the_nodes),
        cmocka_unit_test(pre_score_skip_drops_the_score),
        cmocka_unit_test(a_single_feasible_node_is_not_scored),
        cmocka_unit_test(what_breaks_is_an_error_with_its_plugin),
        cmocka_unit_test(undefined_codes_are_errors),
        cmocka_unit_test(scores_out_of_range_are_errors),
        cmocka_unit_test(a_failed_reserve_is_undone),
        cmocka_unit_test(a_failed_binding_is_undone),
        cmocka_unit_test(large_clusters_are_sampled_in_turn),
    };
    return cmocka_run_group_tests_name("cycle", tests, NULL, NULL);
}
