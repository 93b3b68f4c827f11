/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - nodes by the value of a label: zones, racks, hosts.
 *
 * Purpose:   for every topology key that some pod names, the domain of each node as a small number,
 *            so that counting by domain is indexing an array.
 * Ownership: owns its columns; bounded in number of keys, the one not asked for longest goes first.
 * Threading: the engine's thread; the columns may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_TOPOLOGY_H
#define BERTH_ENGINE_TOPOLOGY_H

#include "engine/cache.h"

struct topology {
    char *key;
    uint32_t *domain; /* by slot; 0: the node lacks the label, or there is no node */
    size_t n_slots;
    size_t n_domains; /* domains are 1 … n_domains - 1; some may be without nodes for now */
    uint32_t *nodes;  /* by domain: how many nodes are in it */
    size_t n_used;    /* domains that have nodes */
    /* The rest is topology.c's. */
    struct map by_value;
    VEC(char *) values; /* by domain; NULL: free to be given out again */
    uint64_t seen;      /* of the cache's journal of nodes */
    uint64_t asked;
    uint64_t changes; /* grows whenever a slot's domain changes */
};

struct topologies {
    const struct cache *cache;
    struct map by_key;
    uint64_t clock;
};

void topologies_init(struct topologies *t, const struct cache *cache);
void topologies_release(struct topologies *t);
/* Up to date. Valid until the next cycle. */
struct topology *topologies_get(struct topologies *t, struct str key);
/* The label's value; empty for domain 0. */
struct str topology_value(const struct topology *t, uint32_t domain);
/* 0: no node has that value. */
uint32_t topology_find(const struct topology *t, struct str value);

#endif
