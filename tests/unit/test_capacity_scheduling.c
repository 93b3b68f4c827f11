/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CapacityScheduling: quotas that lend and take back, and their status. tests/sigs compares the
 * plugin with the original on random clusters.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine_fixture.h"
#include "plugin_trial.h"
#include "plugins/sigs/quotas.h"

static const char config[] = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                             "kind: KubeSchedulerConfiguration\n"
                             "profiles:\n"
                             "- plugins:\n"
                             "    multiPoint: {enabled: [{name: CapacityScheduling}]}\n"
                             "    postFilter:\n"
                             "      disabled: [{name: '*'}]\n"
                             "      enabled: [{name: CapacityScheduling}]\n";

static void begin(struct fixture *f, int nodes)
{
    fixture_init(f, config, NULL);
    assert_int_equal(f->watched.n, 1);
    for (int i = 0; i < nodes; i++)
        ADD_NODE(f, .name = textf("n%d", i), .cpu = "4", .memory = "8Gi");
}

/* spec: members in JSON, "'min':{'cpu':2}". */
static struct object *quota(struct fixture *f, const char *namespace, const char *name,
                            const char *spec)
{
    return object_jsonf(f->watched.v[0]->id,
                        "{'metadata':{'name':'%s','namespace':'%s','uid':'%s-%s'},'spec':{%s}}",
                        name, namespace, namespace, name, spec);
}

#define MIN_2 "'min':{'cpu':2}"

static const char *message(struct fixture *f, const char *pod)
{
    return fixture_last(f, WRITE_POD_STATUS, pod)->message;
}

static bool says(struct fixture *f, const char *pod, const char *text)
{
    return strstr(message(f, pod), text) != NULL;
}

/* --- limits ----------------------------------------------------------------------------------- */

static void max_and_the_sum_of_min_limit_a_namespace(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    fixture_add(&f, quota(&f, "a", "q", "'min':{'cpu':'2'},'max':{'cpu':'2500m'}"));
    fixture_add(&f, quota(&f, "b", "q", MIN_2));
    ADD_POD(&f, .name = "a1", .namespace = "a", .cpu = "2");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "a1") ? "bound" : "", "bound");
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "1");
    ADD_POD(&f, .name = "b1", .namespace = "b", .cpu = "3");
    ADD_POD(&f, .name = "free", .namespace = "c", .cpu = "4");
    fixture_settle(&f);
    assert_true(says(&f, "a2",
                     "0/4 nodes are available: Pod a/a2 is rejected in PreFilter because "
                     "ElasticQuota a is more than Max."));
    assert_true(says(&f, "b1",
                     "Pod b/b1 is rejected in PreFilter because total ElasticQuota used "
                     "is more than min."));
    assert_non_null(fixture_node_of(&f, "free"));
    fixture_release(&f);
}

static void pods_that_ran_before_their_quota_count(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    ADD_POD(&f, .name = "old", .namespace = "a", .node = "n0", .cpu = "2");
    fixture_add(&f, quota(&f, "a", "q", MIN_2));
    ADD_POD(&f, .name = "a1", .namespace = "a", .cpu = "1");
    fixture_schedule(&f);
    assert_true(says(&f, "a1", "total ElasticQuota used is more than min"));
    fixture_release(&f);
}

static void a_binding_that_fails_gives_its_share_back(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    fixture_add(&f, quota(&f, "a", "q", MIN_2));
    ADD_POD(&f, .name = "a1", .namespace = "a", .cpu = "2");
    fixture_schedule(&f);
    fixture_answer(&f, fixture_binding(&f, "a1"), 500, "no");
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "2");
    fixture_schedule(&f);
    assert_non_null(fixture_binding(&f, "a2"));
    fixture_release(&f);
}

/* Upstream forgets all quotas of a namespace when one of several is deleted. */
static void the_oldest_of_several_quotas_counts(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    fixture_add(&f, quota(&f, "a", "small", "'min':{'cpu':1}"));
    fixture_add(&f, quota(&f, "a", "zlarge", "'min':{'cpu':9}"));
    ADD_POD(&f, .name = "a1", .namespace = "a", .cpu = "2");
    fixture_schedule(&f);
    assert_true(says(&f, "a1", "total ElasticQuota used is more than min"));
    fixture_delete(&f, quota(&f, "a", "zlarge", "'min':{'cpu':9}"));
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "2");
    fixture_schedule(&f);
    assert_true(says(&f, "a2", "total ElasticQuota used is more than min"));
    /* Without a quota nothing is limited, and waiting pods are tried again. */
    fixture_delete(&f, quota(&f, "a", "small", "'min':{'cpu':1}"));
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "a1"));
    fixture_release(&f);
}

static void a_deleted_pod_makes_room_in_the_quota(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    fixture_add(&f, quota(&f, "a", "q", MIN_2));
    ADD_POD(&f, .name = "a1", .namespace = "a", .node = "n0", .cpu = "2");
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "2");
    fixture_schedule(&f);
    assert_null(fixture_binding(&f, "a2"));
    fixture_delete(&f, POD(.name = "a1", .namespace = "a", .node = "n0", .cpu = "2"));
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "a2"));
    fixture_release(&f);
}

/* Containers are added, init containers are not, sidecars are like these, overhead comes on top. */
static void what_a_pod_requests_of_its_quota(void **state)
{
    (void)state;
    struct arena arena;
    struct resources r;
    struct object *pod = object_jsonf(
        KIND_POD,
        "{'metadata':{'name':'p'},'spec':{'overhead':{'cpu':'100m'},"
        "'containers':[{'resources':{'requests':{'cpu':'1','x.io/b':'1','x.io/a':'0'}}},"
        "{'resources':{'requests':{'cpu':'500u','memory':'1Gi','x.io/b':'2'}}}],"
        "'initContainers':[{'resources':{'requests':{'cpu':'3','x.io/b':'2','x.io/c':'9'}}},"
        "{'restartPolicy':'Always','resources':{'requests':{'memory':'2Gi','x.io/c':'8'}}}]}}");
    arena_init(&arena, 0);
    quota_request(object_pod(pod), &arena, &r);
    assert_int_equal(r.milli_cpu, 3100);
    assert_int_equal(r.memory, (int64_t)2 << 30);
    assert_int_equal(r.scalars.n, 3);
    assert_int_equal(*resources_scalar(&r, STR("x.io/a")), 0);
    assert_int_equal(*resources_scalar(&r, STR("x.io/b")), 3);
    assert_int_equal(*resources_scalar(&r, STR("x.io/c")), 9);
    arena_release(&arena);
    object_unref(pod);
}

static void nominated_pods_hold_their_share(void **state)
{
    (void)state;
    static const struct {
        int32_t priority; /* of the pod; the nominated one has 5 */
        bool held;
    } rows[] = {{4, true}, {5, true}, {6, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        begin(&f, 2);
        fixture_add(&f, quota(&f, "a", "q", MIN_2));
        ADD_POD(&f, .name = "reserved", .namespace = "a", .cpu = "1", .priority = 5,
                .preemption_policy = "Never", .spec = "'nodeSelector':{'no':'where'}",
                .status = "'nominatedNodeName':'n0'");
        ADD_POD(&f, .name = "a1", .namespace = "a", .cpu = "2", .priority = rows[i].priority);
        fixture_settle(&f);
        assert_int_equal(fixture_node_of(&f, "a1") == NULL, rows[i].held);
        fixture_release(&f);
    }
}

/* --- preemption ------------------------------------------------------------------------------- */

static void what_was_lent_is_taken_back(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    fixture_add(&f, quota(&f, "a", "q", MIN_2));
    fixture_add(&f, quota(&f, "b", "q", MIN_2));
    ADD_POD(&f, .name = "a1", .namespace = "a", .node = "n0", .cpu = "1");
    ADD_POD(&f, .name = "b1", .namespace = "b", .node = "n0", .cpu = "1", .priority = 9);
    ADD_POD(&f, .name = "b2", .namespace = "b", .node = "n0", .cpu = "1", .priority = 8);
    ADD_POD(&f, .name = "b3", .namespace = "b", .node = "n0", .cpu = "1", .priority = 7);
    /* b borrows 1 cpu: it loses the least important pod, though a's pod has a lower priority. */
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "1");
    fixture_schedule(&f);
    assert_string_equal(fixture_evict(&f), "b3");
    fixture_pass(&f, 20 * NSEC_PER_SEC);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "a2"), "n0");
    /* Now both have their min: beyond it, a pod evicts only pods of its namespace. */
    ADD_POD(&f, .name = "a3", .namespace = "a", .cpu = "1", .priority = 99);
    fixture_schedule(&f);
    const char *victim = fixture_evict(&f);
    assert_true(!strcmp(victim, "a1") || !strcmp(victim, "a2"));
    fixture_release(&f);
}

static void pods_with_and_without_a_quota_do_not_evict_each_other(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    fixture_add(&f, quota(&f, "a", "q", "'min':{'cpu':8}"));
    ADD_POD(&f, .name = "a1", .namespace = "a", .node = "n0", .cpu = "2");
    ADD_POD(&f, .name = "c1", .namespace = "c", .node = "n0", .cpu = "2");
    ADD_POD(&f, .name = "c2", .namespace = "c", .cpu = "3", .priority = 9);
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "3", .priority = 9);
    ADD_POD(&f, .name = "c3", .namespace = "c", .cpu = "2", .priority = 9);
    fixture_schedule(&f);
    assert_true(says(&f, "c2", "Insufficient cpu"));
    assert_true(says(&f, "a2", "No victims found on node n0 for preemptor pod a2"));
    assert_string_equal(fixture_evict(&f), "c1");
    fixture_release(&f);
}

/* Upstream removes such a pod twice, fails, and finds no victims on the node. */
static void a_victim_may_be_one_for_two_reasons(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    fixture_add(&f, quota(&f, "a", "q", "'min':{'cpu':4}"));
    ADD_POD(&f, .name = "a1", .namespace = "a", .node = "n0", .cpu = "4");
    /* It takes all that the nominated pod leaves, so that a1 is evicted for either. */
    ADD_POD(&f, .name = "reserved", .namespace = "a", .cpu = "1", .priority = 9,
            .preemption_policy = "Never", .spec = "'nodeSelector':{'no':'where'}",
            .status = "'nominatedNodeName':'n0'");
    ADD_POD(&f, .name = "a2", .namespace = "a", .cpu = "3", .priority = 9);
    fixture_schedule(&f);
    assert_string_equal(fixture_evict(&f), "a1");
    fixture_release(&f);
}

static void a_nominated_pod_waits_for_its_victims(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 2);
    fixture_add(&f, quota(&f, "a", "q", "'min':{'cpu':4}"));
    fixture_add(&f, quota(&f, "b", "q", "'min':{'cpu':1}"));
    ADD_POD(&f, .name = "b1", .namespace = "b", .node = "n0", .cpu = "4",
            .meta = "'deletionTimestamp':'2026-01-01T00:00:00Z'");
    ADD_POD(&f, .name = "b2", .namespace = "b", .node = "n1", .cpu = "4");
    ADD_POD(&f, .name = "a1", .namespace = "a", .cpu = "4", .status = "'nominatedNodeName':'n0'");
    fixture_schedule(&f);
    assert_true(says(&f, "a1", "not eligible due to a terminating pod on the nominated node."));
    assert_null(fixture_eviction(&f, "b2"));
    fixture_release(&f);
}

/* --- status ----------------------------------------------------------------------------------- */

static struct object *running(const char *name, const char *requests)
{
    return object_jsonf(
        KIND_POD,
        "{'metadata':{'name':'%s','namespace':'a','uid':'uid-%s'},'status':{'phase':'Running'},"
        "'spec':{'nodeName':'n0','schedulerName':'default-scheduler',"
        "'containers':[{'name':'c','resources':{'requests':{%s}}}]}}",
        name, name, requests);
}

static void status_used_follows_running_pods(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    fixture_add(&f, quota(&f, "a", "q", "'min':{'cpu':4,'memory':'1Gi'},'max':{'x.io/gpu':8}"));
    fixture_add(&f, running("a1", "'cpu':'1500m','memory':'512Mi'"));
    ADD_POD(&f, .name = "a2", .namespace = "a", .node = "n0", .cpu = "1"); /* not Running */
    assert_null(fixture_request(&f));
    fixture_pass(&f, NSEC_PER_SEC);
    struct fixture_request *r = fixture_request(&f);
    assert_string_equal(r->line, "PATCH elasticquotas/status a/q");
    assert_string_equal(single_quotes(r->body),
                        "{'status':{'used':{'cpu':'1500m','memory':'512Mi','x.io/gpu':'0'}}}");
    /* A change meanwhile is written when the first write has ended. */
    fixture_add(&f, running("a3", "'cpu':'500m','x.io/gpu':'2'"));
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    fixture_request_done(&f, r, 500, "InternalError", NULL);
    fixture_pass(&f, 5 * NSEC_PER_SEC);
    r = fixture_request(&f);
    assert_string_equal(single_quotes(r->body),
                        "{'status':{'used':{'cpu':'2','memory':'512Mi','x.io/gpu':'2'}}}");
    fixture_request_done(&f, r, 200, "", NULL);
    /* The watch shows what was written, in other words: nothing is left to do. */
    struct object *after = object_jsonf(
        f.watched.v[0]->id, "{'metadata':{'name':'q','namespace':'a','uid':'a-q'},"
                            "'spec':{'min':{'cpu':4,'memory':'1Gi'},'max':{'x.io/gpu':8}},"
                            "'status':{'used':{'cpu':'2000m','memory':'536870912','x.io/gpu':2}}}");
    fixture_update(&f, quota(&f, "a", "q", "'min':{'cpu':4,'memory':'1Gi'}"), object_ref(after));
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    assert_null(fixture_request(&f));
    /* A resource that is neither limited nor used any more is removed. */
    fixture_delete(&f, running("a3", "'cpu':'500m','x.io/gpu':'2'"));
    fixture_update(&f, after,
                   object_jsonf(f.watched.v[0]->id,
                                "{'metadata':{'name':'q','namespace':'a','uid':'a-q'},"
                                "'spec':{'min':{'cpu':4}},"
                                "'status':{'used':{'cpu':'2','x.io/gpu':2}}}"));
    fixture_pass(&f, NSEC_PER_SEC);
    r = fixture_request(&f);
    assert_string_equal(single_quotes(r->body),
                        "{'status':{'used':{'cpu':'1500m','memory':'512Mi','x.io/gpu':null}}}");
    fixture_release(&f);
}

static void a_quota_that_is_deleted_is_not_written(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1);
    fixture_add(&f, quota(&f, "a", "q", MIN_2));
    fixture_add(&f, quota(&f, "b", "q", MIN_2));
    fixture_delete(&f, quota(&f, "b", "q", MIN_2));
    fixture_pass(&f, NSEC_PER_SEC);
    struct fixture_request *r = fixture_request(&f);
    assert_string_equal(r->line, "PATCH elasticquotas/status a/q");
    fixture_delete(&f, quota(&f, "a", "q", MIN_2));
    fixture_request_done(&f, r, 404, "NotFound", NULL);
    fixture_pass(&f, 10 * NSEC_PER_SEC);
    assert_null(fixture_request(&f));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_and_the_sum_of_min_limit_a_namespace),
        cmocka_unit_test(pods_that_ran_before_their_quota_count),
        cmocka_unit_test(a_binding_that_fails_gives_its_share_back),
        cmocka_unit_test(the_oldest_of_several_quotas_counts),
        cmocka_unit_test(a_deleted_pod_makes_room_in_the_quota),
        cmocka_unit_test(what_a_pod_requests_of_its_quota),
        cmocka_unit_test(nominated_pods_hold_their_share),
        cmocka_unit_test(what_was_lent_is_taken_back),
        cmocka_unit_test(pods_with_and_without_a_quota_do_not_evict_each_other),
        cmocka_unit_test(a_victim_may_be_one_for_two_reasons),
        cmocka_unit_test(a_nominated_pod_waits_for_its_victims),
        cmocka_unit_test(status_used_follows_running_pods),
        cmocka_unit_test(a_quota_that_is_deleted_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
