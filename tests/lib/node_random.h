/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_random.h - random nodes, and pods that are particular about nodes.
 *
 * Purpose:   what the plugins that look at one node read: labels, taints, ports, images, features,
 *            annotations. Vocabularies are small, so that things meet. node_random_agree is the
 *            property that all of them have: their batch forms say what their single forms say,
 *            while nodes and pods come, change and go.
 * Ownership: the caller gets a reference on each object.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_NODE_RANDOM_H
#define BERTH_TESTS_NODE_RANDOM_H

#include "base/rand.h"
#include "engine_fixture.h"

struct object *node_random_node(struct rand *r, size_t i);
/* Named p<i>; node "": it has none yet. */
struct object *node_random_pod(struct rand *r, size_t i, const char *node);

struct node_random_plugin {
    const char *name;
    const char *config; /* of the engine; NULL: the defaults */
};
/* A prop_fn; ctx is a struct node_random_plugin. */
bool node_random_agree(struct rand *r, size_t size, void *ctx);

#endif
