/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_tree.h - the in-tree plugins and the kinds of their arguments.
 *
 * Purpose:   declares what each plugin defines for plugins/registry.c, which lists it.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_COMMON_IN_TREE_H
#define BERTH_PLUGINS_COMMON_IN_TREE_H

#include "plugins/common/plugin_args.h"

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
extern const struct berth_plugin volume_restrictions_plugin;
extern const struct berth_plugin node_volume_limits_plugin;
extern const struct berth_plugin volume_binding_plugin;
extern const struct berth_plugin volume_zone_plugin;
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
extern const struct berth_plugin ebs_limits_plugin;
extern const struct berth_plugin gce_pd_limits_plugin;
extern const struct berth_plugin azure_disk_limits_plugin;
extern const struct berth_plugin cinder_limits_plugin;
/* Of sigs.k8s.io/scheduler-plugins; no profile has them by default. */
extern const struct berth_plugin node_resources_allocatable_plugin;
extern const struct berth_plugin pod_state_plugin;
extern const struct berth_plugin qos_sort_plugin;
extern const struct berth_plugin node_metadata_plugin;
extern const struct berth_plugin preemption_toleration_plugin;
extern const struct berth_plugin target_load_packing_plugin;
extern const struct berth_plugin load_variation_risk_balancing_plugin;
extern const struct berth_plugin low_risk_over_commitment_plugin;
extern const struct berth_plugin coscheduling_plugin;
extern const struct berth_plugin capacity_scheduling_plugin;
extern const struct berth_plugin node_resource_topology_match_plugin;
extern const struct berth_plugin network_overhead_plugin;
extern const struct berth_plugin topological_sort_plugin;

extern const struct args_kind coscheduling_args_kind;
extern const struct args_kind default_preemption_args_kind;
extern const struct args_kind dynamic_resources_args_kind;
extern const struct args_kind inter_pod_affinity_args_kind;
extern const struct args_kind node_affinity_args_kind;
extern const struct args_kind node_label_args_kind;
extern const struct args_kind node_metadata_args_kind;
extern const struct args_kind node_resources_allocatable_args_kind;
extern const struct args_kind preemption_toleration_args_kind;
extern const struct args_kind service_affinity_args_kind;
extern const struct args_kind spread_args_kind;
extern const struct args_kind volume_binding_args_kind;
extern const struct args_kind target_load_packing_args_kind;
extern const struct args_kind load_variation_risk_balancing_args_kind;
extern const struct args_kind low_risk_over_commitment_args_kind;
extern const struct args_kind node_resource_topology_match_args_kind;
extern const struct args_kind network_overhead_args_kind;
extern const struct args_kind topological_sort_args_kind;

#endif
