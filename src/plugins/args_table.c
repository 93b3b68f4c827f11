/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/args_table.h"

#include "plugins/node_resources/resource_args.h"

const struct args_kind *const in_tree_args[] = {
    &default_preemption_args_kind,
    &dynamic_resources_args_kind,
    &inter_pod_affinity_args_kind,
    &node_affinity_args_kind,
    &balanced_allocation_args_kind,
    &fit_args_kind,
    &spread_args_kind,
    &volume_binding_args_kind,
    &node_label_args_kind,
    &service_affinity_args_kind,
    &allocation_args_kinds[SCORING_LEAST_ALLOCATED],
    &allocation_args_kinds[SCORING_MOST_ALLOCATED],
    &allocation_args_kinds[SCORING_REQUESTED_TO_CAPACITY_RATIO],
    &node_resources_allocatable_args_kind,
    &preemption_toleration_args_kind,
    &target_load_packing_args_kind,
    &load_variation_risk_balancing_args_kind,
    &low_risk_over_commitment_args_kind,
    &coscheduling_args_kind,
    &node_resource_topology_match_args_kind,
    &network_overhead_args_kind,
    &topological_sort_args_kind,
    &node_metadata_args_kind,
    NULL,
};
