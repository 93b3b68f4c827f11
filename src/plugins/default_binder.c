/* SPDX-License-Identifier: Apache-2.0 */
/* DefaultBinder: binds pods through the API's binding subresource. */
#include "plugins/common/plugin_base.h"

static enum berth_code bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, berth_op op, struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    const struct plain_plugin *self = ctx;
    self->host->write_binding(self->handle, op, node_name);
    return BERTH_ASYNC;
}

const struct berth_plugin default_binder_plugin = {
    PLUGIN_HEAD("DefaultBinder"),  .flags = BERTH_PLUGIN_NONBLOCKING,
    .create = plain_plugin_create, .destroy = free,
    .events = no_events,           .bind = bind,
};
