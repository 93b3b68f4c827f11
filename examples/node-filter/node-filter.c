/* SPDX-License-Identifier: Apache-2.0 */
/* nodeFilter: a Filter plugin that logs the CPU and memory of each node and lets all nodes pass. */
#include <berth/plugin.h>
#include <stdlib.h>

struct node_filter {
    const struct berth_host *host;
    struct berth_handle *handle;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct node_filter *self = malloc(sizeof(*self));
    (void)args;
    (void)error;
    if (!self)
        return 1;
    *self = (struct node_filter){host, h};
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct node_filter *self = ctx;
    const struct berth_host *host = self->host;
    const struct berth_kv kv[] = {
        BERTH_KV_STR("pod_name", host->pod_name(pod)),
        BERTH_KV_STR("current node", host->node_name(node)),
        BERTH_KV_INT("cpu", host->node_allocatable(node, BERTH_STR("cpu"))),
        BERTH_KV_INT("memory", host->node_allocatable(node, BERTH_STR("memory"))),
    };
    (void)cycle;
    (void)status;
    host->log(self->handle, 0, BERTH_STR("nodeFilter filter"), kv, sizeof(kv) / sizeof(*kv));
    return BERTH_SUCCESS;
}

static const struct berth_plugin node_filter_plugin = {
    BERTH_PLUGIN_HEAD("nodeFilter", "1.0"),
    .create = create,
    .destroy = destroy,
    .filter = filter,
};
BERTH_EXPORT_PLUGINS(&node_filter_plugin);
