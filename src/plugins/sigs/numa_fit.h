/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa_fit.h - does a pod fit into NUMA zones, and how well?
 *
 * Purpose:   what the kubelet's topology manager would decide: alignment to one zone, and the
 *            scores of NodeResourceTopologyMatch.
 * Ownership: plain values; requests are in the caller's arena.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_NUMA_FIT_H
#define BERTH_PLUGINS_SIGS_NUMA_FIT_H

#include "api/node.h"
#include "api/pod_qos.h"
#include "plugins/sigs/numa_topology.h"

/* What a pod asks for. */
struct numa_pod {
    const struct pod *pod;
    enum pod_qos qos;
    quantity_map requests; /* of the pod as a whole, for nodes with that scope */
};
/* The larger of the containers' sum and of each init container, plus the overhead. */
void numa_pod_requests(const struct pod *pod, struct arena *a, quantity_map *ret_requests);
/* Whether it requests anything that is not one of Kubernetes' own resources. */
bool numa_requests_devices(const struct pod *pod);
/* Whether it gets cpus, memory or devices of its own. */
bool numa_requests_exclusive(const struct pod *pod);

/* Why the pod cannot be aligned to one zone per container or pod; NULL: it can. */
const char *numa_refusal(const struct numa_pod *p, const struct numa_topology *t,
                         const struct node *node);

enum numa_strategy {
    NUMA_LEAST_ALLOCATED,
    NUMA_MOST_ALLOCATED,
    NUMA_BALANCED_ALLOCATION,
    NUMA_LEAST_NODES,
    NUMA_STRATEGIES,
};

struct numa_weight {
    struct str name;
    int64_t weight;
};

struct numa_scoring {
    enum numa_strategy strategy;
    const struct numa_weight *weights; /* other resources have weight 1 */
    size_t n_weights;
};

/* 0 … 100, of a pod that is Guaranteed. */
int64_t numa_score(const struct numa_scoring *s, const struct numa_pod *p,
                   const struct numa_topology *t);

#endif
