/* SPDX-License-Identifier: Apache-2.0 */
/* TestOnly: all pods of the profile go to one node, the argument "node", and to no other. */
#include <string.h>

#include "test_plugins.h"

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)pod;
    (void)status;
    const struct test_plugin *self = ctx;
    char node[256];
    test_arg(self, "node", node, sizeof(node));
    if (!*node)
        return BERTH_SKIP;
    struct berth_str name = {node, strlen(node)};
    self->host->limit_nodes(cycle, &name, 1);
    return BERTH_SUCCESS;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct test_plugin *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, NULL);
}

const struct berth_plugin test_only_plugin = {
    TEST_PLUGIN("TestOnly"),
    .events = events,
    .pre_filter = pre_filter,
};
