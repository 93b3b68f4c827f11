/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_stats.h - a node's measured load of one resource, as amounts and as a distribution.
 *
 * Purpose:   what LoadVariationRiskBalancing and LowRiskOverCommitment calculate in common.
 * Ownership: plain values.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_LOAD_STATS_H
#define BERTH_PLUGINS_SIGS_LOAD_STATS_H

#include "api/node.h"
#include "plugins/sigs/pod_amounts.h"

/* cpu in thousandths, memory in MiB. */
struct load_stats {
    double used, deviation;
    double request;  /* of the pod */
    double capacity; /* what is allocatable */
};

/* As parts of the capacity, 0 … 1. */
struct load_moments {
    double mu, sigma;
};

/* False: the resource was not measured. request: in the units of struct amounts. */
bool load_stats_of(const struct node_load *load, const struct node *node, int64_t request,
                   enum load_resource resource, struct load_stats *ret_stats);
/* {0, 0} if the node has nothing of the resource. */
struct load_moments load_moments_of(const struct load_stats *stats);

#endif
