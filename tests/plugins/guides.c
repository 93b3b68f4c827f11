/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins such as guides to the scheduling framework have their readers write:
 *
 *   TestLook        looks at every node, says what it has, and lets all pass;
 *   TestThrough     says at PreFilter, Filter and PreBind that a pod came by;
 *   TestFavourite   scores the node highest that the pod's label "favourite" names;
 *   TestCpuLabel    wants nodes with the label cpu=true, and says at PreScore how many are left;
 *   TestLeft, TestRight  score nodes with the label side=left, or side=right, highest.
 */
#include <stdio.h>

#include "test_plugins.h"

#define BEST 100

static void log_node(const struct test_plugin *self, const char *who, const struct berth_pod *pod,
                     const struct berth_node *node)
{
    const struct berth_host *host = self->host;
    test_say(self, "%s: pod %.*s, node %.*s, cpu=%lld memory=%lld", who,
             BERTH_STR_ARG(host->pod_name(pod)), BERTH_STR_ARG(host->node_name(node)),
             (long long)host->node_allocatable(node, BERTH_STR("cpu")),
             (long long)host->node_allocatable(node, BERTH_STR("memory")));
}

/* --- TestLook, TestThrough -------------------------------------------------------------------- */

static enum berth_code look(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                            const struct berth_node *node, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    log_node(ctx, "TestLook", pod, node);
    return BERTH_SUCCESS;
}

static enum berth_code through_pre_filter(void *ctx, struct berth_cycle *cycle,
                                          const struct berth_pod *pod, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct test_plugin *self = ctx;
    test_say(self, "TestThrough: PreFilter of %.*s", BERTH_STR_ARG(self->host->pod_name(pod)));
    return BERTH_SUCCESS;
}

static enum berth_code through_filter(void *ctx, const struct berth_cycle *cycle,
                                      const struct berth_pod *pod, const struct berth_node *node,
                                      struct berth_status *status)
{
    (void)cycle;
    (void)status;
    log_node(ctx, "TestThrough", pod, node);
    return BERTH_SUCCESS;
}

static enum berth_code through_pre_bind(void *ctx, struct berth_cycle *cycle,
                                        const struct berth_pod *pod, struct berth_str node_name,
                                        berth_op op, struct berth_status *status)
{
    (void)cycle;
    (void)op;
    (void)status;
    const struct test_plugin *self = ctx;
    test_say(self, "TestThrough: PreBind of %.*s to %.*s", BERTH_STR_ARG(self->host->pod_name(pod)),
             BERTH_STR_ARG(node_name));
    return BERTH_SUCCESS;
}

/* --- TestFavourite ---------------------------------------------------------------------------- */

static enum berth_code favour(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct test_plugin *self = ctx;
    struct berth_str name = self->host->node_name(node);
    *ret_score = test_same(test_label(self, pod, BERTH_STR("favourite")), name) ? BEST : 0;
    return BERTH_SUCCESS;
}

/* --- TestCpuLabel ----------------------------------------------------------------------------- */

static enum berth_code want_cpu(void *ctx, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, const struct berth_node *node,
                                struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    const struct test_plugin *self = ctx;
    struct berth_str value;
    if (self->host->node_label(node, BERTH_STR("cpu"), &value) &&
        test_same(value, BERTH_STR("true")))
        return BERTH_SUCCESS;
    char text[256];
    int n = snprintf(text, sizeof(text), "Node: %.*s", BERTH_STR_ARG(self->host->node_name(node)));
    self->host->status_text(status, (struct berth_str){text, n > 0 ? (size_t)n : 0});
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code count_left(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)cycle;
    (void)slots;
    (void)status;
    const struct test_plugin *self = ctx;
    test_say(self, "TestCpuLabel: PreScore of %.*s, %zu nodes",
             BERTH_STR_ARG(self->host->pod_name(pod)), n);
    return BERTH_SUCCESS;
}

/* --- TestLeft, TestRight ---------------------------------------------------------------------- */

static int64_t score_side(const struct test_plugin *self, const struct berth_node *node,
                          struct berth_str side)
{
    struct berth_str value;
    return self->host->node_label(node, BERTH_STR("side"), &value) && test_same(value, side) ? BEST
                                                                                             : 0;
}

static enum berth_code score_left(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_node *node,
                                  int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    *ret_score = score_side(ctx, node, BERTH_STR("left"));
    return BERTH_SUCCESS;
}

static enum berth_code score_right(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, const struct berth_node *node,
                                   int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    *ret_score = score_side(ctx, node, BERTH_STR("right"));
    return BERTH_SUCCESS;
}

/* --- the plugins ------------------------------------------------------------------------------ */

const struct berth_plugin test_look_plugin = {TEST_PLUGIN("TestLook"), .filter = look};
const struct berth_plugin test_through_plugin = {
    TEST_PLUGIN("TestThrough"), .flags = BERTH_PLUGIN_NONBLOCKING, .pre_filter = through_pre_filter,
    .filter = through_filter,   .pre_bind = through_pre_bind,
};
const struct berth_plugin test_favourite_plugin = {TEST_PLUGIN("TestFavourite"), .score = favour};
const struct berth_plugin test_cpu_label_plugin = {
    TEST_PLUGIN("TestCpuLabel"),
    .filter = want_cpu,
    .pre_score = count_left,
};
const struct berth_plugin test_left_plugin = {TEST_PLUGIN("TestLeft"), .score = score_left};
const struct berth_plugin test_right_plugin = {TEST_PLUGIN("TestRight"), .score = score_right};
