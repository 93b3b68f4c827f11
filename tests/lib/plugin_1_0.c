/* SPDX-License-Identifier: Apache-2.0 */
#include "../plugins/plugin-1.0.h"

#include <stdlib.h>
#include <string.h>

#include "plugin_1_0.h"

int plugin_1_0_filtered, plugin_1_0_bound;

struct self {
    const struct berth_host *host;
    struct berth_handle *handle;
    int64_t least;
};

static const struct berth_arg args_table[] = {
    {.name = "least", .kind = BERTH_ARG_INT, .offset = offsetof(struct self, least), .value = "0"},
    {0},
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct self *self = calloc(1, sizeof(*self));
    if (!self || !BERTH_HOST_HAS(host, http_get)) {
        free(self);
        return -1;
    }
    self->host = host;
    self->handle = h;
    *ret_self = self;
    return host->args(h, args, args_table, self, error);
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct self *self = ctx;
    (void)cycle;
    (void)pod;
    plugin_1_0_filtered++;
    if (self->host->node_allocatable(node, BERTH_STR("cpu")) >= self->least)
        return BERTH_SUCCESS;
    self->host->status_text(status, BERTH_STR("too small"));
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    const struct self *self = ctx;
    (void)cycle;
    (void)pod;
    (void)node_name;
    (void)status;
    self->host->op_done(self->handle, op, BERTH_SUCCESS, BERTH_STR(""));
    return BERTH_ASYNC;
}

static void post_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)ctx;
    (void)cycle;
    (void)pod;
    (void)node_name;
    plugin_1_0_bound++;
}

const struct berth_plugin plugin_1_0 = {
    BERTH_PLUGIN_HEAD("Old", "1.0"),
    .args = args_table,
    .create = create,
    .destroy = free,
    .filter = filter,
    .pre_bind = pre_bind,
    .post_bind = post_bind,
};

#define ROW(s, m) {#s "." #m, offsetof(struct s, m), sizeof(((struct s *)NULL)->m)},
const struct member_1_0 members_1_0[] = {
#include "../plugins/plugin-1.0.rows"
};
const size_t n_members_1_0 = sizeof(members_1_0) / sizeof(*members_1_0);
