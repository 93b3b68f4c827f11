/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - nodes by the value of a label: zones, racks, hosts.
 *
 * Purpose:   for every topology key that some pod names, the domain of each node as a small number,
 *            so that counting by domain is indexing an array.
 * Ownership: owns its columns; bounded in number of keys, the one not asked for longest goes first.
 *            A key that no node has costs next to nothing.
 * Threading: the engine's thread; the columns may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_TOPOLOGY_H
#define BERTH_ENGINE_TOPOLOGY_H

#include "engine/cache.h"

#define TOPOLOGIES_MAX 64 /* keys, and as many rules, kept from one cycle to the next */

struct topology {
    struct str key;
    uint64_t id;      /* never given out twice, unlike the address */
    uint32_t *domain; /* by slot; 0: the node lacks the label, or there is no node */
    size_t n_slots;   /* 0, and domain NULL, while no node has the label: see topology_domain */
    size_t n_domains; /* domains are 1 … n_domains - 1; some may be without nodes for now */
    uint32_t *nodes;  /* by domain: how many nodes are in it; NULL while n_domains is 1 */
    size_t n_used;    /* domains that have nodes */
    size_t n_nodes;   /* nodes that have the label */
    uint64_t changes; /* grows whenever a slot's domain changes */
    /* The rest is topology.c's. */
    struct map by_value;
    VEC(struct str) values;     /* by domain, owned; p NULL: no node has it */
    VEC(uint32_t) free_domains; /* to be given out again */
    size_t cap_domains;
    uint64_t seen; /* of the cache's journal of nodes */
    uint64_t asked;
    uint64_t base; /* id of what it was derived from; 0: of nothing */
};

struct topologies {
    const struct cache *cache;
    struct map by_key, derived;
    uint64_t clock, next_id;
};

void topologies_init(struct topologies *t, const struct cache *cache);
void topologies_release(struct topologies *t);
/* Between cycles: gives back what is too much. */
void topologies_trim(struct topologies *t);
/* Brought up to date by this call and by no other. Valid until topologies_trim. */
struct topology *topologies_get(struct topologies *t, struct str key);

/* The domain in which the node counts; 0: in none. Only asked of nodes with an object. */
typedef uint32_t topology_rule(const void *ctx, uint32_t slot);
/*
 * The same topology by a rule of its own, which depends on nothing but the nodes' objects: some do
 * not count, some count elsewhere. Domains have the numbers, and the values, that they have in
 * base. name stands for base's key and the whole rule. Nodes that changed since are asked again,
 * the others are not. Valid until topologies_trim.
 */
const struct topology *topologies_derive(struct topologies *t, const struct topology *base,
                                         struct str name, topology_rule *rule, const void *ctx);

/* The label's value; empty for domain 0. */
struct str topology_value(const struct topology *t, uint32_t domain);
/* 0: no node has that value. */
uint32_t topology_find(const struct topology *t, struct str value);

/* The domain of any slot, also of one that is younger than the topology's last update. */
static inline uint32_t topology_domain(const struct topology *t, uint32_t slot)
{
    return slot < t->n_slots ? t->domain[slot] : 0;
}

#endif
