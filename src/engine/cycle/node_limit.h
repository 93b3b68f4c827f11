/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_limit.h - the nodes that PreFilter plugins leave as candidates (upstream: PreFilterResult).
 *
 * Purpose:   sets of node names, intersected. Names without a node count as well: a set of only
 *            such names has no candidate, but upstream does not regard it as empty.
 * Ownership: owns its arrays; names of absent nodes are in the caller's arena.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_NODE_LIMIT_H
#define BERTH_ENGINE_CYCLE_NODE_LIMIT_H

#include "base/arena.h"
#include "base/bitset.h"
#include "engine/cache/cache.h"

struct node_limit {
    bool set;               /* false: all nodes are allowed */
    struct bitset nodes;    /* by slot */
    VEC(struct str) absent; /* names without a node, sorted, each once */
};

/* Allows only those of these nodes that are allowed now. */
void node_limit_to(struct node_limit *l, const struct cache *cache, struct arena *a,
                   const struct berth_str *names, size_t n);
/* Allows only what both allow. *other is empty afterwards. */
void node_limit_merge(struct node_limit *l, struct node_limit *other);
/* Whether no name is left. */
bool node_limit_empty(const struct node_limit *l);
bool node_limit_allows(const struct node_limit *l, uint32_t slot);
void node_limit_release(struct node_limit *l);

#endif
