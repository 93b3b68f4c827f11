/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain_nodes.h"

struct explain_nodes *explain_nodes_new(const struct cache *cache)
{
    size_t n = cache->columns.n, n_order = cache->order.n, bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (cache->columns.nodes[i])
            bytes += strlen(cache->columns.nodes[i]->name);
    bytes += sizeof(struct explain_nodes) + n * sizeof(struct str) + 2 * n_order * sizeof(uint32_t);
    struct explain_nodes *nodes = xmalloc(bytes);
    *nodes = (struct explain_nodes){
        .refs = 1, .n = n, .bytes = bytes, .generation = cache->node_set, .n_order = n_order};
    nodes->order = (uint32_t *)&nodes->names[n];
    for (size_t i = 0; i < n_order; i++)
        nodes->order[i] = nodes->order[n_order + i] = cache->order.v[i]->slot;
    char *text = (char *)&nodes->order[2 * n_order];
    for (size_t i = 0; i < n; i++) {
        struct str name = str_of(cache->columns.nodes[i] ? cache->columns.nodes[i]->name : "");
        memcpy(text, name.p, name.n);
        nodes->names[i] = (struct str){text, name.n};
        text += name.n;
    }
    return nodes;
}

struct explain_nodes *explain_nodes_ref(struct explain_nodes *nodes)
{
    nodes->refs++;
    return nodes;
}

void explain_nodes_unref(struct explain_nodes *nodes)
{
    if (nodes && --nodes->refs == 0)
        free(nodes);
}
