/* SPDX-License-Identifier: Apache-2.0 */
/* example: one plugin at three extension points; it logs each call and refuses nothing. */
#include <berth/plugin.h>
#include <stdlib.h>

struct example {
    const struct berth_host *host;
    struct berth_handle *handle;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct example *self = malloc(sizeof(*self));
    (void)args;
    (void)error;
    if (!self)
        return 1;
    *self = (struct example){host, h};
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

static void log_pod(const struct example *self, struct berth_str message,
                    const struct berth_pod *pod)
{
    const struct berth_kv kv[] = {BERTH_KV_POD("pod", pod)};
    self->host->log(self->handle, 0, message, kv, 1);
}

static void log_node(const struct example *self, struct berth_str message,
                     const struct berth_pod *pod, struct berth_str node_name)
{
    const struct berth_kv kv[] = {BERTH_KV_POD("pod", pod), BERTH_KV_STR("node", node_name)};
    self->host->log(self->handle, 0, message, kv, 2);
}

static enum berth_code pre_filter(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    log_pod(self, BERTH_STR("example: PreFilter"), pod);
    return BERTH_SUCCESS;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct example *self = ctx;
    (void)cycle;
    (void)status;
    log_node(self, BERTH_STR("example: Filter"), pod, self->host->node_name(node));
    return BERTH_SUCCESS;
}

/* Without BERTH_PLUGIN_NONBLOCKING this runs on a worker thread: it may wait for something. */
static enum berth_code pre_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    (void)cycle;
    (void)op;
    (void)status;
    log_node(self, BERTH_STR("example: PreBind"), pod, node_name);
    return BERTH_SUCCESS;
}

static const struct berth_plugin example_plugin = {
    BERTH_PLUGIN_HEAD("example", "1.0"),
    .create = create,
    .destroy = destroy,
    .pre_filter = pre_filter,
    .filter = filter,
    .pre_bind = pre_bind,
};
BERTH_EXPORT_PLUGINS(&example_plugin);
