/* SPDX-License-Identifier: Apache-2.0 */
/* DaemonSets on the real registry with kubelets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "workload_host.h"

#define SECOND NSEC_PER_SEC
#define TEMPLATE(image, more)                                         \
    "'template':{'metadata':{'labels':{'app':'agent'}},'spec':{" more \
    "'restartPolicy':'Always','containers':[{'name':'c','image':'" image "'}]}}"
#define SET(update, more)                                                                     \
    "{'metadata':{'name':'agent'},'spec':{'revisionHistoryLimit':10,'updateStrategy':" update \
    ",'selector':{'matchLabels':{'app':'agent'}}," TEMPLATE("a", more) "}}"
#define ROLLING "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':1,'maxSurge':0}}"
#define AGENT   "daemonsets.apps agent"

static void assert_at(struct host *h, const char *what, const char *path, const char *expected)
{
    assert_string_equal(host_at(h, what, path), expected);
}

static void begin(struct host *h, size_t n_nodes, const char *set)
{
    host_begin(h);
    host_add_nodes(h, n_nodes);
    assert_int_equal(host_create(h, "daemonsets.apps", set), 201);
}

static void test_follows_nodes(void **state UNUSED)
{
    struct host h;
    begin(&h, 4, SET(ROLLING, ""));
    host_run_for(&h, 2 * SECOND);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Running"), 4);
    for (size_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof(name), "node-%zu", i);
        assert_int_equal(host_count(&h, "pods", "spec.nodeName", name), 1);
    }
    assert_at(&h, AGENT, "status.desiredNumberScheduled", "4");
    assert_at(&h, AGENT, "status.currentNumberScheduled", "4");
    assert_at(&h, AGENT, "status.numberReady", "4");
    assert_at(&h, AGENT, "status.numberAvailable", "4");
    assert_at(&h, AGENT, "status.updatedNumberScheduled", "4");
    assert_at(&h, AGENT, "status.numberMisscheduled", "0");
    host_add_nodes(&h, 2);
    host_run_for(&h, 2 * SECOND);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Running"), 6);
    /* A taint that is not tolerated: the pod stays, or goes with NoExecute. */
    host_patch(&h, "nodes node-1",
               "{'spec':{'taints':[{'key':'x','value':'y','effect':'NoSchedule'}]}}");
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, AGENT, "status.desiredNumberScheduled", "5");
    assert_at(&h, AGENT, "status.numberMisscheduled", "1");
    assert_int_equal(host_count(&h, "pods", "", NULL), 6);
    host_patch(&h, "nodes node-1",
               "{'spec':{'taints':[{'key':'x','value':'y','effect':'NoExecute'}]}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 5);
    /* Unschedulable nodes keep their pods: they are tolerated. */
    host_patch(&h, "nodes node-2",
               "{'spec':{'unschedulable':true,'taints':[{'key':'node.kubernetes.io/"
               "unschedulable','effect':'NoSchedule'}]}}");
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, AGENT, "status.desiredNumberScheduled", "5");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

static void test_node_selector(void **state UNUSED)
{
    struct host h;
    begin(&h, 6, SET(ROLLING, "'nodeSelector':{'zone':'z1'},"));
    host_run_for(&h, 2 * SECOND);
    assert_int_equal(host_count(&h, "pods", "status.phase", "Running"), 2);
    host_patch(&h, "nodes node-1", "{'metadata':{'labels':{'zone':'z9'}}}");
    host_run_for(&h, 60 * SECOND);
    assert_int_equal(host_count(&h, "pods", "", NULL), 1);
    assert_true(host_is_idle(&h));
    host_end(&h);
}

/* Ready pods never fall below the number of nodes without one. */
static void check_one_down(struct host *h, const struct store_event *event)
{
    bool *on = h->ctx;
    static const struct resource pods = {.plural = STR_INIT("pods")};
    if (!*on || !str_is(event->after->resource->plural, "pods"))
        return;
    struct snapshot *s = store_snapshot(registry_store(h->reg));
    struct store_range range;
    const struct revision *rev;
    size_t running = 0;
    store_range_init(&range, s, &pods, STR(""), NULL);
    while ((rev = store_range_next(&range)))
        running += str_search(rev->text, STR("deletionTimestamp")) == rev->text.n &&
                   str_search(rev->text, STR("\"phase\":\"Running\"")) < rev->text.n;
    snapshot_unref(s);
    if (running < 4)
        fail_msg("%zu pods run", running);
}

static void test_rolling_update(void **state UNUSED)
{
    struct host h;
    bool on = false;
    begin(&h, 5, SET(ROLLING, ""));
    h.observe = check_one_down;
    h.ctx = &on;
    host_run_for(&h, 2 * SECOND);
    on = true;
    host_patch(&h, AGENT, "{'spec':{" TEMPLATE("b", "") "}}");
    host_run_for(&h, 600 * SECOND);
    assert_at(&h, AGENT, "status.updatedNumberScheduled", "5");
    assert_at(&h, AGENT, "status.numberAvailable", "5");
    assert_int_equal(host_count(&h, "controllerrevisions.apps", "", NULL), 2);
    assert_int_equal(host_count(&h, "pods", "", NULL), 5);
    assert_true(host_is_idle(&h));
    on = false;
    host_end(&h);
}

static void test_surge_and_on_delete(void **state UNUSED)
{
    struct host h;
    begin(&h, 3,
          SET("{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':0,'maxSurge':1}}", ""));
    host_run_for(&h, 2 * SECOND);
    host_patch(&h, AGENT, "{'spec':{" TEMPLATE("b", "") "}}");
    host_run_for(&h, 300 * SECOND);
    assert_at(&h, AGENT, "status.updatedNumberScheduled", "3");
    assert_int_equal(host_count(&h, "pods", "", NULL), 3);
    host_patch(&h, AGENT,
               "{'spec':{'updateStrategy':{'type':'OnDelete','rollingUpdate':null}," TEMPLATE(
                   "c", "") "}}");
    host_run_for(&h, 300 * SECOND);
    assert_at(&h, AGENT, "status.updatedNumberScheduled", "");
    char *what = xasprintf("pods %.11s", host_names(&h, "pods"));
    assert_int_equal(host_delete(&h, what), 200);
    free(what);
    host_run_for(&h, 60 * SECOND);
    assert_at(&h, AGENT, "status.updatedNumberScheduled", "1");
    assert_true(host_is_idle(&h));
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_nodes),
        cmocka_unit_test(test_node_selector),
        cmocka_unit_test(test_rolling_update),
        cmocka_unit_test(test_surge_and_on_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
