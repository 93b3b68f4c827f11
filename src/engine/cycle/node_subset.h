/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_subset.h - the nodes that PreFilter plugins leave as candidates (upstream: PreFilterResult).
 *
 * Purpose:   sets of node names, intersected. Names without a node count as well: a set of only
 *            such names has no candidate, but upstream does not regard it as empty.
 * Ownership: owns its arrays; names of absent nodes are in the caller's arena.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_NODE_SUBSET_H
#define BERTH_ENGINE_CYCLE_NODE_SUBSET_H

#include "base/arena.h"
#include "base/bitset.h"
#include "engine/cache/cache.h"

struct node_subset {
    bool set;               /* false: all nodes are allowed */
    struct bitset nodes;    /* by slot */
    VEC(struct str) absent; /* names without a node, sorted, each once */
};

/* Allows only those of these nodes that are allowed now. */
void node_subset_to(struct node_subset *l, const struct cache *cache, struct arena *a,
                    const struct berth_str *names, size_t n);
/* Allows only what both allow. *other is empty afterwards. */
void node_subset_merge(struct node_subset *l, struct node_subset *other);
/* Whether no name is left. */
bool node_subset_empty(const struct node_subset *l);
bool node_subset_allows(const struct node_subset *l, uint32_t slot);
void node_subset_release(struct node_subset *l);

#endif
