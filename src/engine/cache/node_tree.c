/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cache/node_tree.h"

void node_tree_init(struct node_tree *t)
{
    *t = (struct node_tree){0};
}

static void release_zone(struct node_zone *z)
{
    free((char *)z->key.p);
    vec_release(&z->nodes);
}

void node_tree_release(struct node_tree *t)
{
    for (size_t i = 0; i < t->zones.n; i++)
        release_zone(&t->zones.v[i]);
    vec_release(&t->zones);
}

static struct str label(const struct node *node, const char *older, const char *newer)
{
    const struct str *value = str_map_get(&node->metadata.labels, str_of(older));
    if (!value)
        value = str_map_get(&node->metadata.labels, str_of(newer));
    return value ? *value : STR("");
}

static struct str region_of(const struct node *node)
{
    return label(node, LABEL_BETA_REGION, LABEL_TOPOLOGY_REGION);
}

static struct str zone_of(const struct node *node)
{
    return label(node, LABEL_BETA_ZONE, LABEL_TOPOLOGY_ZONE);
}

bool node_tree_same_zone(const struct node *a, const struct node *b)
{
    return str_eq(region_of(a), region_of(b)) && str_eq(zone_of(a), zone_of(b));
}

struct str node_zone_key(const struct node *node, struct buf *out)
{
    struct str region = region_of(node), zone = zone_of(node);
    if (str_empty(region) && str_empty(zone))
        return STR("");
    buf_add_str(out, region);
    buf_add_char(out, '\0');
    buf_add_str(out, zone);
    return buf_str(out);
}

static struct node_zone *find_zone(struct node_tree *t, struct str key)
{
    for (size_t i = 0; i < t->zones.n; i++)
        if (str_eq(t->zones.v[i].key, key))
            return &t->zones.v[i];
    return NULL;
}

void node_tree_add(struct node_tree *t, struct berth_node *node, const struct node *object)
{
    struct buf scratch = BUF_INIT;
    struct str key = node_zone_key(object, &scratch);
    struct node_zone *zone = find_zone(t, key);
    if (!zone) {
        vec_push(&t->zones, (struct node_zone){.key = {str_dup(key), key.n}});
        zone = &vec_last(&t->zones);
    }
    vec_push(&zone->nodes, node);
    t->n_nodes++;
    buf_release(&scratch);
}

void node_tree_remove(struct node_tree *t, struct berth_node *node, const struct node *object)
{
    struct buf scratch = BUF_INIT;
    struct node_zone *zone = find_zone(t, node_zone_key(object, &scratch));
    buf_release(&scratch);
    for (size_t i = 0; zone && i < zone->nodes.n; i++) {
        if (zone->nodes.v[i] != node)
            continue;
        vec_remove(&zone->nodes, i);
        t->n_nodes--;
        if (zone->nodes.n == 0) {
            release_zone(zone);
            vec_remove(&t->zones, (size_t)(zone - t->zones.v));
        }
        return;
    }
    INVARIANT(!"the node is in the tree");
}

void node_tree_list(const struct node_tree *t, node_list *out)
{
    vec_clear(out);
    vec_reserve(out, t->n_nodes);
    for (size_t round = 0; out->n < t->n_nodes; round++)
        for (size_t i = 0; i < t->zones.n; i++)
            if (round < t->zones.v[i].nodes.n)
                vec_push(out, t->zones.v[i].nodes.v[round]);
}
