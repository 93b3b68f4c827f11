/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/placement.h"

struct berth_placement placement_new(struct arena *arena, struct str name, size_t n)
{
    return (struct berth_placement){.name = arena_dup(arena, name),
                                    .node_names = arena_array(arena, struct str, n),
                                    .nodes = arena_array(arena, struct berth_node *, n),
                                    .n = n};
}

void placement_find_nodes(struct berth_placement *p, const struct cache *cache)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct berth_node *node = cache_node(cache, p->node_names[i]);
        if (!node || !node->object)
            continue;
        p->node_names[n] = p->node_names[i];
        p->nodes[n++] = node;
    }
    p->n = n;
}

bool placement_has(const struct berth_placement *p, const struct berth_node *node)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->nodes[i] == node)
            return true;
    return false;
}
