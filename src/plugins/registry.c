/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/registry.h"

#include "plugins/args_table.h"

static const struct berth_plugin *const plugins[] = {
    &scheduling_gates_plugin,
    &priority_sort_plugin,
    &node_unschedulable_plugin,
    &node_name_plugin,
    &taint_toleration_plugin,
    &node_affinity_plugin,
    &node_ports_plugin,
    &node_resources_fit_plugin,
    &pod_topology_spread_plugin,
    &inter_pod_affinity_plugin,
    &default_preemption_plugin,
    &node_resources_balanced_allocation_plugin,
    &image_locality_plugin,
    &default_binder_plugin,
    &volume_restrictions_plugin,
    &node_volume_limits_plugin,
    &volume_binding_plugin,
    &volume_zone_plugin,
    &dynamic_resources_plugin,
    &node_declared_features_plugin,
    &gang_scheduling_plugin,
    &topology_placement_generator_plugin,
    &pod_group_pods_count_plugin,
    &node_resources_least_allocated_plugin,
    &node_resources_most_allocated_plugin,
    &requested_to_capacity_ratio_plugin,
    &selector_spread_plugin,
    &node_prefer_avoid_pods_plugin,
    &node_label_plugin,
    &service_affinity_plugin,
    &ebs_limits_plugin,
    &gce_pd_limits_plugin,
    &azure_disk_limits_plugin,
    &cinder_limits_plugin,
    &node_resources_allocatable_plugin,
    &pod_state_plugin,
    &qos_sort_plugin,
    &target_load_packing_plugin,
    &load_variation_risk_balancing_plugin,
    &low_risk_over_commitment_plugin,
    &node_resource_topology_match_plugin,
    NULL,
};

/* The default multiPoint section in upstream's order, with plugins that are not supported. */
static int32_t weight_1 = 1, weight_2 = 2, weight_3 = 3;
static const struct plugin_ref defaults[] = {
    {STR_INIT("SchedulingGates"), NULL},
    {STR_INIT("PrioritySort"), NULL},
    {STR_INIT("NodeUnschedulable"), NULL},
    {STR_INIT("NodeName"), NULL},
    {STR_INIT("TaintToleration"), &weight_3},
    {STR_INIT("NodeAffinity"), &weight_2},
    {STR_INIT("NodePorts"), NULL},
    {STR_INIT("NodeResourcesFit"), &weight_1},
    {STR_INIT("VolumeRestrictions"), NULL},
    {STR_INIT("NodeVolumeLimits"), NULL},
    {STR_INIT("VolumeBinding"), NULL},
    {STR_INIT("VolumeZone"), NULL},
    {STR_INIT("PodTopologySpread"), &weight_2},
    {STR_INIT("InterPodAffinity"), &weight_2},
    {STR_INIT("DynamicResources"), &weight_2},
    {STR_INIT("DefaultPreemption"), NULL},
    {STR_INIT("NodeResourcesBalancedAllocation"), &weight_1},
    {STR_INIT("ImageLocality"), &weight_1},
    {STR_INIT("DefaultBinder"), NULL},
    {STR_INIT("NodeDeclaredFeatures"), NULL},
    {STR_INIT("GangScheduling"), NULL},
    {STR_INIT("TopologyPlacementGenerator"), NULL},
    {STR_INIT("PodGroupPodsCount"), &weight_1},
};

static const struct gated_default gated[] = {
    {STR_INIT("DynamicResources"), FEATURE_DYNAMIC_RESOURCE_ALLOCATION},
    {STR_INIT("NodeDeclaredFeatures"), FEATURE_NODE_DECLARED_FEATURES},
    {STR_INIT("GangScheduling"), FEATURE_GANG_SCHEDULING},
    {STR_INIT("TopologyPlacementGenerator"), FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING},
    {STR_INIT("PodGroupPodsCount"), FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING},
};

const struct registry in_tree_registry = {
    .plugins = plugins,
    .defaults = defaults,
    .n_defaults = ARRAY_LEN(defaults),
    .gated = gated,
    .n_gated = ARRAY_LEN(gated),
    .args = in_tree_args,
};
