/* SPDX-License-Identifier: Apache-2.0 */
/* KubeSchedulerConfiguration: defaults, strictness, validation. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/config/config.h"
#include "plugins/registry.h"

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

static int read_checked(const char *file, struct str text, struct arena *a,
                        struct scheduler_config *ret, struct err *reterr)
{
    struct features features;
    features_default(&features);
    int r = config_load(file, text, a, ret, reterr);
    if (r < 0)
        return r;
    r = config_check(ret, &in_tree_registry, &features, reterr);
    return r < 0 ? err_prefix(reterr, r, "%s", file) : 0;
}

static void an_empty_file_has_all_defaults(void **state)
{
    (void)state;
    struct arena a;
    struct scheduler_config c;
    struct err err = {0};
    arena_init(&a, 0);
    assert_int_equal(read_checked("f", STR(HEAD), &a, &c, &err), 0);
    assert_int_equal(*c.parallelism, 16);
    assert_true(*c.leader_election.leader_elect);
    assert_int_equal(c.leader_election.lease_duration, 15 * NSEC_PER_SEC);
    assert_int_equal(c.leader_election.renew_deadline, 10 * NSEC_PER_SEC);
    assert_int_equal(c.leader_election.retry_period, 2 * NSEC_PER_SEC);
    assert_true(str_is(c.leader_election.resource_name, "kube-scheduler"));
    assert_true(str_is(c.client_connection.content_type, "application/vnd.kubernetes.protobuf"));
    assert_int_equal(*c.pod_max_backoff_seconds, 10);
    assert_int_equal(c.profiles.n, 1);
    assert_true(str_is(*c.profiles.v[0].scheduler_name, "default-scheduler"));
    arena_release(&a);
}

static void what_is_given_is_taken(void **state)
{
    (void)state;
    struct arena a;
    struct scheduler_config c;
    struct err err = {0};
    arena_init(&a, 0);
    const char *text = HEAD "parallelism: 4\n"
                            "clientConnection: {kubeconfig: /etc/k, qps: 12.5, burst: 20}\n"
                            "leaderElection: {leaderElect: false, leaseDuration: 1m30s}\n"
                            "percentageOfNodesToScore: 30\n"
                            "profiles:\n"
                            "- schedulerName: one\n"
                            "- schedulerName: two\n"
                            "  percentageOfNodesToScore: 100\n"
                            "  pluginConfig:\n"
                            "  - name: NodeResourcesFit\n"
                            "    args: {ignoredResources: [a.com/b]}\n";
    if (read_checked("f", str_of(text), &a, &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(*c.parallelism, 4);
    assert_true(str_is(c.client_connection.kubeconfig, "/etc/k"));
    assert_true(c.client_connection.qps > 12.4 && c.client_connection.qps < 12.6);
    assert_false(*c.leader_election.leader_elect);
    assert_int_equal(c.leader_election.lease_duration, 90 * NSEC_PER_SEC);
    assert_int_equal(*c.percentage_of_nodes_to_score, 30);
    assert_null(c.profiles.v[0].percentage_of_nodes_to_score);
    assert_int_equal(*c.profiles.v[1].percentage_of_nodes_to_score, 100);
    assert_true(
        str_is(c.profiles.v[1].plugin_config.v[0].args, "{\"ignoredResources\":[\"a.com/b\"]}"));
    arena_release(&a);
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *contains;
    } cases[] = {
        {"", "f: the file is empty: expected kind: KubeSchedulerConfiguration"},
        {"apiVersion: v1\nkind: Pod\n", "expected apiVersion: kubescheduler.config.k8s.io/v1"},
        {HEAD "parallelism: [\n", "f: line"},
        {HEAD "parallelizm: 4\n", "parallelizm"},
        {HEAD "parallelism: 4\nparallelism: 5\n", "parallelism"},
        {HEAD "parallelism: four\n", "parallelism"},
        {HEAD "parallelism: 0\n",
         "parallelism: Invalid value: 0: should be an integer value greater than zero"},
        {HEAD "leaderElection: {leaseDuration: 5s}\n",
         "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than "
         "`RenewDeadline`"},
        {HEAD "leaderElection: {resourceLock: endpoints}\n", "leaderElection.resourceLock"},
        {HEAD "leaderElection: {leaseDuration: soon}\n", "leaderElection.leaseDuration"},
        {HEAD "clientConnection: {burst: -1}\n",
         "clientConnection.burst: Invalid value: -1: must be non-negative"},
        {HEAD "percentageOfNodesToScore: 101\n",
         "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
        {HEAD "podInitialBackoffSeconds: 0\n", "podInitialBackoffSeconds"},
        {HEAD "podInitialBackoffSeconds: 20\n", "podMaxBackoffSeconds"},
        {HEAD "profiles: [{schedulerName: a}, {}]\n", "profiles[1].schedulerName: Required value"},
        {HEAD "profiles: [{schedulerName: a}, {schedulerName: a}]\n",
         "profiles[1].schedulerName: Duplicate value: \"a\""},
        {HEAD "profiles: [{pluginConfig: [{name: X}, {name: X}]}]\n",
         "profiles[0].pluginConfig[1]: Duplicate value: \"X\""},
        {HEAD "extenders: [{urlPrefix: 1}]\n", "extenders"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        struct scheduler_config c;
        struct err err = {0};
        arena_init(&a, 0);
        assert_true(read_checked("f", str_of(cases[i].text), &a, &c, &err) < 0);
        if (str_search(str_of(err.msg), str_of(cases[i].contains)) == strlen(err.msg))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.msg, cases[i].contains);
        assert_true(str_starts(str_of(err.msg), STR("f: ")));
        arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_has_all_defaults),
        cmocka_unit_test(what_is_given_is_taken),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
