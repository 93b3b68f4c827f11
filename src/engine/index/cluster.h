/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h - the objects and indexes that in-tree plugins read.
 *
 * Purpose:   objects other than nodes and pods, and the indexes that make "which nodes", "how many
 *            pods in this zone" and "whose anti-affinity" cheap. Indexes over nodes read the
 *            cache's journal when they are used; indexes over pods are updated for each pod that
 *            is added to a node or removed from it.
 * Ownership: part of the engine.
 * Threading: the engine's thread; the pool's threads read the results during a cycle.
 */
#ifndef BERTH_ENGINE_INDEX_CLUSTER_H
#define BERTH_ENGINE_INDEX_CLUSTER_H

#include "engine/cache/cache.h"
#include "engine/config/features.h"
#include "engine/index/affinity_terms.h"
#include "engine/index/claim_uses.h"
#include "engine/index/namespace_sets.h"
#include "engine/index/node_memo.h"
#include "engine/index/objects.h"
#include "engine/index/pod_counts.h"
#include "engine/index/pod_groups.h"

struct cluster {
    struct cache *cache;
    struct objects objects;
    struct node_memos memos;      /* cached answers by node */
    struct label_keys label_keys; /* of nodes */
    struct topologies topologies;
    struct pod_counts pod_counts;
    struct affinity_terms affinity_terms; /* of running pods */
    struct namespace_sets namespace_sets;
    struct pod_groups pod_groups;
    struct claim_uses claim_uses; /* of pods on nodes */
};

void cluster_init(struct cluster *cluster, struct cache *cache);
void cluster_release(struct cluster *cluster);
/* Call before a cycle: results of earlier cycles become invalid. */
void cluster_trim(struct cluster *cluster);

#endif
