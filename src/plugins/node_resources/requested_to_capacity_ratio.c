/* SPDX-License-Identifier: Apache-2.0 */
/* RequestedToCapacityRatio: scores utilization by a configured function. Releases up to 1.22. */
#include "plugins/node_resources/allocation_plugin.h"
#include "plugins/registry.h"

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    return allocation_plugin_create(SCORING_REQUESTED_TO_CAPACITY_RATIO, host, h, args, ret_self,
                                    error);
}

const struct berth_plugin requested_to_capacity_ratio_plugin = {
    PLUGIN_HEAD("RequestedToCapacityRatio"),
    .create = create,
    ALLOCATION_PLUGIN_POINTS,
};
