/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/registry.h"

static const struct berth_plugin *const plugins[] = {
    &priority_sort_plugin,
    &node_unschedulable_plugin,
    &node_name_plugin,
    &node_resources_fit_plugin,
    &node_resources_balanced_allocation_plugin,
    &default_binder_plugin,
    &node_resources_least_allocated_plugin,
    &node_resources_most_allocated_plugin,
    &requested_to_capacity_ratio_plugin,
    NULL,
};

/* The default multiPoint section, in upstream's order. */
static int32_t weight_1 = 1;
static const struct plugin_ref defaults[] = {
    {STR_INIT("PrioritySort"), NULL},
    {STR_INIT("NodeUnschedulable"), NULL},
    {STR_INIT("NodeName"), NULL},
    {STR_INIT("NodeResourcesFit"), &weight_1},
    {STR_INIT("NodeResourcesBalancedAllocation"), &weight_1},
    {STR_INIT("DefaultBinder"), NULL},
};

const struct registry in_tree_registry = {
    .plugins = plugins,
    .defaults = defaults,
    .n_defaults = ARRAY_LEN(defaults),
};
