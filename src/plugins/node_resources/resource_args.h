/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_args.h - arguments of the plugins that read resources.
 *
 * Purpose:   NodeResourcesFitArgs, NodeResourcesBalancedAllocationArgs and the three kinds of older
 *            releases: strict decoding, defaults and validation as upstream's.
 * Ownership: everything is in the caller's arena.
 * Threading: one thread; constant afterwards.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_ARGS_H
#define BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_ARGS_H

#include "plugins/common/utilization_shape.h"

struct resource_spec {
    struct str name;
    int64_t weight;
};
typedef LIST(struct resource_spec) resource_spec_list;

enum scoring_type {
    SCORING_LEAST_ALLOCATED,
    SCORING_MOST_ALLOCATED,
    SCORING_REQUESTED_TO_CAPACITY_RATIO,
};

struct scoring_strategy {
    struct str type_name;
    enum scoring_type type;
    resource_spec_list resources;
    struct requested_to_capacity_ratio {
        shape_list shape;
    } *requested_to_capacity_ratio; /* set for that type */
};

struct fit_args {
    struct args_meta meta;
    LIST(struct str) ignored_resources, ignored_resource_groups;
    struct scoring_strategy *scoring_strategy;
};

struct balanced_allocation_args {
    struct args_meta meta;
    resource_spec_list resources;
};

/* Of the score plugins up to 1.22; shape: RequestedToCapacityRatio only. */
struct allocation_args {
    struct args_meta meta;
    resource_spec_list resources;
    shape_list shape;
};

extern const struct args_kind fit_args_kind, balanced_allocation_args_kind;
/* Of the older plugins, by enum scoring_type. */
extern const struct args_kind allocation_args_kinds[3];
/* The arguments of one of these. The last weight of a repeated resource counts. */
int allocation_args_read(struct berth_str text, enum scoring_type type, struct arena *a,
                         struct allocation_args *ret_args, struct berth_error *error) MUST_CHECK;

#endif
