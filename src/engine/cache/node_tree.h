/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_tree.h - the order in which cycles visit nodes (upstream: nodeTree).
 *
 * Purpose:   nodes by zone; zones and nodes in the order in which they were added. The list takes
 *            one node of each zone in turn, so that a sample of the nodes is a sample of the zones.
 * Ownership: borrows nodes; owns the names of zones.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CACHE_NODE_TREE_H
#define BERTH_ENGINE_CACHE_NODE_TREE_H

#include "engine/cache/node_info.h"

typedef VEC(struct berth_node *) node_list;

struct node_zone {
    struct str key; /* owned text */
    node_list nodes;
};

struct node_tree {
    VEC(struct node_zone) zones;
    size_t n_nodes;
};

void node_tree_init(struct node_tree *t);
void node_tree_release(struct node_tree *t);
/* To the zone in the labels of `object`. */
void node_tree_add(struct node_tree *t, struct berth_node *node, const struct node *object);
/* `object`: the object that the node was added with. */
void node_tree_remove(struct node_tree *t, struct berth_node *node, const struct node *object);
/* Region and zone, separated by a NUL; empty if the node has neither. `out` holds the text. */
struct str node_zone_key(const struct node *node, struct buf *out);
bool node_tree_same_zone(const struct node *a, const struct node *b);
/* Writes all nodes in order; the list is emptied first. */
void node_tree_list(const struct node_tree *t, node_list *out);

#endif
