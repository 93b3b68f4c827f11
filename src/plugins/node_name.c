/* SPDX-License-Identifier: Apache-2.0 */
/* NodeName: rejects all nodes except the one in spec.nodeName. */
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

struct node_name {
    const struct berth_host *host;
    struct berth_handle *handle;
    berth_reason other_node;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct node_name *self = xnew(struct node_name);
    self->host = host;
    self->handle = h;
    self->other_node = host->reason(h, BERTH_STR("node(s) didn't match the requested node name"));
    *ret_self = self;
    return 0;
}

static void events(void *self, struct berth_registrar *r)
{
    ((struct node_name *)self)
        ->host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, NULL);
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct node_name *self = ctx;
    struct str wanted = pod->pod->spec.node_name;
    if (str_empty(wanted) || str_is(wanted, node->name))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->other_node);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct node_name *self = ctx;
    struct str wanted = pod->pod->spec.node_name;
    if (str_empty(wanted))
        return BERTH_SUCCESS;
    const struct berth_node *node = self->host->node_by_name(self->handle, abi_str(wanted));
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++) {
        bool is_here = node && node->slot / 64 == w;
        uint64_t others = is_here ? ~((uint64_t)1 << (node->slot % 64)) : ~(uint64_t)0;
        batch_refuse(batch, w, others, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->other_node);
    }
    return BERTH_SUCCESS;
}

const struct berth_plugin node_name_plugin = {
    PLUGIN_HEAD("NodeName"), .create = create, .destroy = free,
    .events = events,        .filter = filter, .filter_many = filter_many,
};
