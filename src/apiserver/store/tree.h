/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - a B-tree of revisions with nodes that trees share.
 *
 * Purpose:   the objects of a store in the order of their keys. Copying a tree is O(1); a change
 *            copies the nodes on its path that another tree shares, and changes the others in
 *            place. Every node knows how many objects are below it, so that a position in the order
 *            is found in O(log n).
 * Ownership: a tree holds a reference on its root, a node on its revisions and children.
 * Threading: one thread for all trees that share nodes.
 */
#ifndef BERTH_APISERVER_STORE_TREE_H
#define BERTH_APISERVER_STORE_TREE_H

#include "apiserver/store/store.h"

struct tree_node;

struct tree {
    struct tree_node *root; /* NULL: empty */
};

enum tree_depth { TREE_RESOURCE, TREE_NAMESPACE, TREE_NAME };

/*
 * A place in the order: a key, or the first parts of one. Revisions that have these parts are equal
 * to it (side 0), after it (-1) or before it (1).
 */
struct tree_place {
    const struct resource *resource;
    struct str namespace, name;
    enum tree_depth depth;
    int side;
};

struct tree_place tree_place_of(const struct revision *rev);

/* Another tree with the same content. */
struct tree tree_copy(const struct tree *t);
void tree_release(struct tree *t);

/* NULL if there is none. */
struct revision *tree_get(const struct tree *t, const struct tree_place *place);
/* Takes over the reference; returns the one on the revision that was replaced, NULL if none. */
struct revision *tree_put(struct tree *t, struct revision *rev);
/* Returns the reference on the revision that was taken out; NULL if there was none. */
struct revision *tree_take(struct tree *t, const struct tree_place *place);
/* How many revisions are before the place. */
size_t tree_rank(const struct tree *t, const struct tree_place *place);

/* Sets the range's position to the first revision after the place. */
void tree_seek(const struct tree *t, const struct tree_place *place, struct store_range *range);
/* The revision at the position, which moves on. NULL after the last. */
struct revision *tree_next(struct store_range *range);

/* Whether order, fill and counts are right everywhere. For tests. */
bool tree_valid(const struct tree *t);

#endif
