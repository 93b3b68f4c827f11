/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/index/cluster.h"

static void pod_moved(void *ctx, const struct berth_pod *pod, const struct berth_node *node,
                      int sign)
{
    struct cluster *cluster = ctx;
    pod_counts_moved(&cluster->pod_counts, pod, node, sign);
    affinity_terms_moved(&cluster->affinity_terms, pod, node, sign);
    pod_groups_moved(&cluster->pod_groups, pod, sign);
    claim_uses_moved(&cluster->claim_uses, pod, node, sign);
}

static void labels_changed(void *ctx, uint32_t slot, const str_map *before, const str_map *after)
{
    struct cluster *cluster = ctx;
    label_keys_changed(&cluster->label_keys, slot, before, after);
    /* A new node without pods is not in the columns yet. */
    const struct berth_node *node = cluster->cache->columns.nodes[slot];
    if (node && !before != !after)
        claim_uses_node(&cluster->claim_uses, node, after ? 1 : -1);
}

static void key_carried(void *ctx, struct str key, bool carried)
{
    struct cluster *cluster = ctx;
    affinity_terms_key_carried(&cluster->affinity_terms, key, carried);
}

void cluster_init(struct cluster *cluster, struct cache *cache)
{
    *cluster = (struct cluster){.cache = cache};
    objects_init(&cluster->objects);
    node_memos_init(&cluster->memos, cache);
    cluster->label_keys = (struct label_keys){.carried = key_carried, .ctx = cluster};
    topologies_init(&cluster->topologies, cache, &cluster->label_keys);
    pod_counts_init(&cluster->pod_counts);
    affinity_terms_init(&cluster->affinity_terms, &cluster->label_keys);
    namespace_sets_init(&cluster->namespace_sets, &cluster->objects);
    pod_groups_init(&cluster->pod_groups);
    cache->watcher = (struct cache_watcher){cluster, pod_moved, labels_changed};
}

void cluster_release(struct cluster *cluster)
{
    cluster->cache->watcher = (struct cache_watcher){0};
    claim_uses_release(&cluster->claim_uses);
    pod_groups_release(&cluster->pod_groups);
    namespace_sets_release(&cluster->namespace_sets);
    affinity_terms_release(&cluster->affinity_terms);
    pod_counts_release(&cluster->pod_counts);
    topologies_release(&cluster->topologies);
    label_keys_release(&cluster->label_keys);
    node_memos_release(&cluster->memos);
    objects_release(&cluster->objects);
}

void cluster_trim(struct cluster *cluster)
{
    pod_counts_trim(&cluster->pod_counts);
    topologies_trim(&cluster->topologies);
    namespace_sets_trim(&cluster->namespace_sets);
}
