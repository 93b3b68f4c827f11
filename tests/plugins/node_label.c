/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TestNodeLabel: a pod with the label "wants" goes only to nodes that have a label of that name.
 * The hint queues it again when a node gets this label, and for no other change of a node's labels.
 */
#include <stdio.h>

#include "test_plugins.h"

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct test_plugin *self = ctx;
    struct berth_str wanted = test_label(self, pod, BERTH_STR("wants")), value;
    if (!wanted.n || self->host->node_label(node, wanted, &value))
        return BERTH_SUCCESS;
    self->host->status_text(status, BERTH_STR("node(s) lacked the wanted label"));
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static bool has_label(const struct test_plugin *self, const struct berth_object *node,
                      struct berth_str label)
{
    struct berth_str value;
    return node && self->host->object_label(node, label, &value);
}

static enum berth_hint got_label(void *ctx, const struct berth_pod *pod,
                                 const struct berth_object *before,
                                 const struct berth_object *after)
{
    const struct test_plugin *self = ctx;
    struct berth_str wanted = test_label(self, pod, BERTH_STR("wants"));
    bool helps = has_label(self, after, wanted) && !has_label(self, before, wanted);
    test_say(self, "hint for %.*s: %s", BERTH_STR_ARG(self->host->pod_name(pod)),
             helps ? "queue" : "skip");
    return helps ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct test_plugin *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL, got_label);
}

const struct berth_plugin test_node_label_plugin = {
    TEST_PLUGIN("TestNodeLabel"),
    .events = events,
    .filter = filter,
};
