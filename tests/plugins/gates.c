/* SPDX-License-Identifier: Apache-2.0 */
/* TestGates: a pod with spec.schedulingGates does not enter the queue before all are gone. */
#include "test_plugins.h"

static enum berth_code pre_enqueue(void *ctx, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    const struct test_plugin *self = ctx;
    struct berth_value gates;
    bool gated = self->host->pod_field(pod, BERTH_STR("spec.schedulingGates"), &gates) &&
                 gates.kind == BERTH_VALUE_LIST && gates.i > 0;
    test_say(self, "%.*s: %s", BERTH_STR_ARG(self->host->pod_name(pod)), gated ? "gated" : "free");
    if (!gated)
        return BERTH_SUCCESS;
    self->host->status_text(status, BERTH_STR("waiting for scheduling gates"));
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_hint released(void *ctx, const struct berth_pod *pod,
                                const struct berth_object *before, const struct berth_object *after)
{
    (void)before;
    return test_about(ctx, pod, after) ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct test_plugin *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_UNSCHEDULED_POD,
                               BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED, released);
}

const struct berth_plugin test_gates_plugin = {
    TEST_PLUGIN("TestGates"),
    .events = events,
    .pre_enqueue = pre_enqueue,
};
