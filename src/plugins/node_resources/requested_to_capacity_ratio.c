/* SPDX-License-Identifier: Apache-2.0 */
/* RequestedToCapacityRatio: how full is best, as a line. Of releases up to 1.22. */
#include "plugins/common/in_tree.h"
#include "plugins/node_resources/allocation_plugin.h"

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
