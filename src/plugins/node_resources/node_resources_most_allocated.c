/* SPDX-License-Identifier: Apache-2.0 */
/* NodeResourcesMostAllocated: prefers nodes with the least free resources. Releases up to 1.22. */
#include "plugins/node_resources/allocation_plugin.h"
#include "plugins/registry.h"

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    return allocation_plugin_create(SCORING_MOST_ALLOCATED, host, h, args, ret_self, error);
}

const struct berth_plugin node_resources_most_allocated_plugin = {
    PLUGIN_HEAD("NodeResourcesMostAllocated"),
    .create = create,
    ALLOCATION_PLUGIN_POINTS,
};
