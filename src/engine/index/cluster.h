/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h - what in-tree plugins know of the cluster beyond the node in front of them.
 *
 * Purpose:   the objects they look up, and the indexes that make "which nodes", "how many pods in
 *            this zone" and "whose anti-affinity" questions cheap. Indexes over nodes catch up by
 *            the cache's journal when they are asked; indexes over pods are told of each pod that
 *            comes to a node or leaves it.
 * Ownership: part of the engine.
 * Threading: the engine's thread; what a cycle was given may be read by the pool's threads.
 */
#ifndef BERTH_ENGINE_INDEX_CLUSTER_H
#define BERTH_ENGINE_INDEX_CLUSTER_H

#include "engine/cache/cache.h"
#include "engine/config/features.h"
#include "engine/index/affinity_terms.h"
#include "engine/index/namespace_sets.h"
#include "engine/index/node_memo.h"
#include "engine/index/objects.h"
#include "engine/index/pod_counts.h"
#include "engine/index/pod_groups.h"

struct cluster {
    struct cache *cache;
    struct objects objects;
    struct node_memos memos;      /* answers of nodes to questions asked before */
    struct label_keys label_keys; /* of nodes */
    struct topologies topologies;
    struct pod_counts pod_counts;
    struct affinity_terms affinity_terms; /* of the pods that run */
    struct namespace_sets namespace_sets;
    struct pod_groups pod_groups;
};

void cluster_init(struct cluster *cluster, struct cache *cache);
void cluster_release(struct cluster *cluster);
/* A cycle begins: nobody holds on to what an earlier one was given. */
void cluster_trim(struct cluster *cluster);

#endif
