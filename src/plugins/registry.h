/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - the in-tree plugins.
 *
 * Purpose:   the one table of in-tree plugins and the default multiPoint section.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_REGISTRY_H
#define BERTH_PLUGINS_REGISTRY_H

#include "engine/framework/framework.h"

extern const struct registry in_tree_registry;

extern const struct berth_plugin scheduling_gates_plugin;
extern const struct berth_plugin priority_sort_plugin;
extern const struct berth_plugin node_unschedulable_plugin;
extern const struct berth_plugin node_name_plugin;
extern const struct berth_plugin taint_toleration_plugin;
extern const struct berth_plugin node_affinity_plugin;
extern const struct berth_plugin node_ports_plugin;
extern const struct berth_plugin node_resources_fit_plugin;
extern const struct berth_plugin node_resources_balanced_allocation_plugin;
extern const struct berth_plugin image_locality_plugin;
extern const struct berth_plugin pod_topology_spread_plugin;
extern const struct berth_plugin inter_pod_affinity_plugin;
extern const struct berth_plugin default_preemption_plugin;
extern const struct berth_plugin default_binder_plugin;
extern const struct berth_plugin volume_binding_plugin;
extern const struct berth_plugin dynamic_resources_plugin;
extern const struct berth_plugin node_declared_features_plugin;
extern const struct berth_plugin gang_scheduling_plugin;
extern const struct berth_plugin topology_placement_generator_plugin;
extern const struct berth_plugin pod_group_pods_count_plugin;
/* Used only by configurations of older releases. */
extern const struct berth_plugin node_resources_least_allocated_plugin;
extern const struct berth_plugin node_resources_most_allocated_plugin;
extern const struct berth_plugin requested_to_capacity_ratio_plugin;
extern const struct berth_plugin node_prefer_avoid_pods_plugin;
extern const struct berth_plugin node_label_plugin;
extern const struct berth_plugin service_affinity_plugin;
extern const struct berth_plugin selector_spread_plugin;

#endif
