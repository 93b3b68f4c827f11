/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_random.h - random nodes, and pods with random demands on nodes.
 *
 * Purpose:   the fields that plugins read of one node: labels, taints, ports, images, features,
 *            annotations. Vocabularies are small, so that pods and nodes match now and then.
 *            node_random_agree is the property of all these plugins: batch and single forms return
 *            the same, while nodes and pods are added, changed and deleted.
 * Ownership: the caller owns a reference on each object.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_NODE_RANDOM_H
#define BERTH_TESTS_NODE_RANDOM_H

#include "base/rand.h"
#include "engine_fixture.h"

struct object *node_random_node(struct rand *r, size_t i);
/* Named p<i>; node "": not bound. */
struct object *node_random_pod(struct rand *r, size_t i, const char *node);

struct node_random_plugin {
    const char *name;
    const char *config; /* of the engine; NULL: the defaults */
};
/* A prop_fn; ctx is a struct node_random_plugin. */
bool node_random_agree(struct rand *r, size_t size, void *ctx);

#endif
