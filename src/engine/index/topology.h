/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - nodes by the value of a label: zones, racks, hosts.
 *
 * Purpose:   for every topology key that some pod names, the domain of each node as a small number,
 *            so that counting by domain is indexing an array.
 * Ownership: owns its columns; bounded in bytes, the one not asked for longest goes first. All keys
 *            that no node carries share one empty topology; a key that few nodes carry has no
 *            column. So topologies are never more than a few times as large as the nodes' labels.
 * Threading: the engine's thread; the columns may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_INDEX_TOPOLOGY_H
#define BERTH_ENGINE_INDEX_TOPOLOGY_H

#include "engine/cache/cache.h"
#include "engine/index/label_keys.h"

/* Kept from one cycle to the next: so many bytes, or so many topologies if these are larger. */
#define TOPOLOGIES_MAX_BYTES ((size_t)16 << 20)
#define TOPOLOGIES_KEPT      64

struct domain_slots;

struct topology {
    struct str key;   /* empty where no node carries it: see topologies_get */
    uint64_t id;      /* never given out twice, unlike the address */
    uint32_t *domain; /* by slot; 0: the node lacks the label, or there is no node */
    size_t n_slots;   /* 0, and domain NULL, while few nodes have the label: see topology_domain */
    /* These, while they are few. */
    uint32_t few_slots[LABEL_KEY_FEW], few_domains[LABEL_KEY_FEW];
    size_t n_few;
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
    size_t text_bytes;              /* of values */
    uint64_t seen;                  /* of the cache's journal of nodes */
    uint64_t base;                  /* id of what it was derived from; 0: of nothing */
    struct map *map;                /* where it is found */
    struct topology *newer, *older; /* by when they were asked for */
    struct domain_slots *slots;     /* see domain_slots.h; NULL: not made yet */
    size_t bytes;                   /* as counted in the sum of all */
};

struct topologies {
    const struct cache *cache;
    const struct label_keys *label_keys;
    struct map by_key, derived;
    struct topology none; /* of every key that no node carries */
    struct topology *newest, *oldest;
    size_t bytes;
    uint64_t next_id;
};

void topologies_init(struct topologies *t, const struct cache *cache,
                     const struct label_keys *label_keys);
void topologies_release(struct topologies *t);
/* Between cycles: gives back what is too much. */
void topologies_trim(struct topologies *t);
/*
 * Brought up to date by this call and by no other. Valid until topologies_trim. Of a key that no
 * node carries it is &t->none: without domains, and without a key of its own.
 */
struct topology *topologies_get(struct topologies *t, struct str key);

/*
 * The same for any thread during a cycle: nothing is made or changed. NULL where that would be
 * needed.
 */
const struct topology *topologies_find(const struct topologies *t, struct str key);
/* The nodes of each domain, among slots 0 … n - 1, of a topology that has a column. */
const struct domain_slots *topologies_slots(struct topologies *ts, struct topology *t, size_t n);

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

/* No node carries the key. */
static inline bool topology_is_none(const struct topology *t)
{
    return !t->map;
}

/* The label's value; empty for domain 0. */
struct str topology_value(const struct topology *t, uint32_t domain);
/* 0: no node has that value. */
uint32_t topology_find(const struct topology *t, struct str value);

/* The domain of any slot, also of one that is younger than the topology's last update. */
static inline uint32_t topology_domain(const struct topology *t, uint32_t slot)
{
    if (LIKELY(slot < t->n_slots))
        return t->domain[slot];
    for (size_t i = 0; i < t->n_few; i++)
        if (t->few_slots[i] == slot)
            return t->few_domains[i];
    return 0;
}

#endif
