/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa_topology.h - the NUMA zones of a node: what a NodeResourceTopology says.
 *
 * Purpose:   reads the object (topology.node.k8s.io/v1alpha2) into zones with the resources that
 *            are available in each, and the settings of the node's topology manager.
 * Ownership: a topology owns everything in it. Immutable once read; copies are for calculations.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_NUMA_TOPOLOGY_H
#define BERTH_PLUGINS_SIGS_NUMA_TOPOLOGY_H

#include "api/pod.h"
#include "base/arena.h"
#include "plugins/sigs/json_fields.h"

#define NUMA_MAX_ZONES 64 /* ids are below this */

/* Of the kubelet's topology manager. */
struct numa_config {
    struct str policy; /* "single-numa-node" */
    bool single;       /* it is that one */
    bool pod_scope;    /* else "container" */
    int64_t max_nodes; /* at least 2 */
};

struct numa_zone {
    int id;
    int64_t costs[NUMA_MAX_ZONES]; /* by id; -1: unknown */
};

/* Amounts are in a table with one row per zone and one column per resource. */
struct numa_topology {
    struct arena arena;
    struct numa_config config;
    struct numa_zone *zones;
    size_t n_zones;
    struct str *names; /* of the resources, sorted */
    size_t n_names;
    struct quantity *available;
    bool *present;
    struct str fingerprint;        /* of the pods on the node when it was made; "" if it has none */
    bool fingerprint_is_exclusive; /* only of pods with resources of their own */
};

/* Zones that are not NUMA nodes, or whose names are wrong, are left out. */
struct numa_topology *numa_topology_read(const struct json_value *object);
struct numa_topology *numa_topology_dup(const struct numa_topology *t);
/* NULL is allowed. Returns NULL. */
struct numa_topology *numa_topology_free(struct numa_topology *t);

/* The column of a resource; n_names: none. */
size_t numa_topology_column(const struct numa_topology *t, struct str name);
/* The amount in a zone; NULL: the zone does not have the resource. */
static inline struct quantity *numa_available(const struct numa_topology *t, size_t zone,
                                              size_t column)
{
    size_t i = zone * t->n_names + column;
    return column < t->n_names && t->present[i] ? &t->available[i] : NULL;
}

bool numa_config_equal(const struct numa_config *a, const struct numa_config *b);

#endif
