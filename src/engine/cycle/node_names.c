/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/node_names.h"

struct node_names *node_names_new(const struct cache *cache)
{
    size_t n = cache->columns.n, n_order = cache->order.n, bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (cache->columns.nodes[i])
            bytes += strlen(cache->columns.nodes[i]->name);
    bytes += sizeof(struct node_names) + n * sizeof(struct str) + 2 * n_order * sizeof(uint32_t);
    struct node_names *nodes = xmalloc(bytes);
    *nodes = (struct node_names){
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

struct node_names *node_names_ref(struct node_names *nodes)
{
    nodes->refs++;
    return nodes;
}

void node_names_unref(struct node_names *nodes)
{
    if (nodes && --nodes->refs == 0)
        free(nodes);
}
