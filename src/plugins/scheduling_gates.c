/* SPDX-License-Identifier: Apache-2.0 */
/* SchedulingGates: gates a pod while it has spec.schedulingGates. */
#include "plugins/common/plugin_base.h"

static enum berth_code pre_enqueue(void *ctx, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    const struct plain_plugin *self = ctx;
    const struct pod_spec *spec = &pod->pod->spec;
    struct buf text = BUF_INIT;
    if (spec->scheduling_gates.n == 0)
        return BERTH_SUCCESS;
    buf_add_cstr(&text, "waiting for scheduling gates: [");
    for (size_t i = 0; i < spec->scheduling_gates.n; i++) {
        if (i)
            buf_add_char(&text, ' ');
        buf_add_str(&text, spec->scheduling_gates.v[i].name);
    }
    buf_add_char(&text, ']');
    self->host->status_text(status, abi_str(buf_str(&text)));
    buf_release(&text);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct plain_plugin *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_POD,
                               BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED, hint_own_pod);
}

const struct berth_plugin scheduling_gates_plugin = {
    PLUGIN_HEAD("SchedulingGates"),
    .create = plain_plugin_create,
    .destroy = free,
    .events = events,
    .pre_enqueue = pre_enqueue,
};
