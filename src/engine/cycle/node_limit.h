/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_limit.h - the nodes that PreFilter plugins leave as candidates (upstream: PreFilterResult).
 *
 * Purpose:   sets of nodes by name, intersected. Names of nodes that do not exist count as well: a
 *            set with nothing but those is not empty, it merely has no candidate.
 * Ownership: owns its arrays; names of absent nodes are in the caller's arena.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_NODE_LIMIT_H
#define BERTH_ENGINE_CYCLE_NODE_LIMIT_H

#include "base/arena.h"
#include "base/bitset.h"
#include "engine/cache/cache.h"

struct node_limit {
    bool set;               /* else every node is allowed */
    struct bitset nodes;    /* by slot */
    VEC(struct str) absent; /* names that no node has */
};

/* Allows only these from now on. */
void node_limit_to(struct node_limit *l, const struct cache *cache, struct arena *a,
                   const struct berth_str *names, size_t n);
/* Allows only what both allow. *other is empty afterwards. */
void node_limit_merge(struct node_limit *l, struct node_limit *other);
/* Nothing is left, not even a name. */
bool node_limit_empty(const struct node_limit *l);
bool node_limit_allows(const struct node_limit *l, uint32_t slot);
void node_limit_release(struct node_limit *l);

#endif
