/* SPDX-License-Identifier: Apache-2.0 */
/* DefaultBinder: binds by the API, as nearly everybody does. */
#include "plugins/plugin_base.h"
#include "plugins/registry.h"

struct default_binder {
    const struct berth_host *host;
    struct berth_handle *handle;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct default_binder *self = xnew(struct default_binder);
    *self = (struct default_binder){.host = host, .handle = h};
    *ret_self = self;
    return 0;
}

static enum berth_code bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, struct berth_op *op,
                            struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct default_binder *self = ctx;
    self->host->write_binding(self->handle, pod, node_name, op);
    return BERTH_ASYNC;
}

const struct berth_plugin default_binder_plugin = {
    PLUGIN_HEAD("DefaultBinder"),
    .flags = BERTH_PLUGIN_NONBLOCKING,
    .create = create,
    .destroy = free,
    .events = no_events,
    .bind = bind,
};
