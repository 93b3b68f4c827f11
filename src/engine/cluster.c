/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster.h"

#include "engine/internal.h"

void cluster_init(struct cluster *cluster, struct cache *cache)
{
    *cluster = (struct cluster){.cache = cache};
    objects_init(&cluster->objects);
    node_memos_init(&cluster->memos, cache);
}

void cluster_release(struct cluster *cluster)
{
    node_memos_release(&cluster->memos);
    objects_release(&cluster->objects);
}

struct cluster *handle_cluster(const struct berth_handle *h)
{
    return &h->engine->cluster;
}
