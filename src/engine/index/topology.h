/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - nodes by the value of a label: zones, racks, hosts.
 *
 * Purpose:   for every topology key that a pod uses, the domain of each node as a small number, so
 *            that counting by domain is indexing an array.
 * Ownership: owns its columns, bounded in bytes; the least recently used is evicted first. All keys
 *            that no node carries share one empty topology; a key that few nodes carry has no
 *            column. So topologies are at most a few times as large as the nodes' labels.
 * Threading: the engine's thread; the columns may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_INDEX_TOPOLOGY_H
#define BERTH_ENGINE_INDEX_TOPOLOGY_H

#include "engine/cache/cache.h"
#include "engine/index/label_keys.h"

/* Kept between cycles: this many bytes, or this many topologies if these are larger. */
#define TOPOLOGIES_MAX_BYTES ((size_t)16 << 20)
#define TOPOLOGIES_KEPT      64

struct domain_slots;

struct topology {
    struct str key;   /* empty if no node carries it: see topologies_get */
    uint64_t id;      /* never reused, unlike the address */
    uint32_t *domain; /* by slot; 0: the node lacks the label, or there is no node */
    size_t n_slots;   /* 0, and domain NULL, while few nodes have the label: see topology_domain */
    /* Nodes with the label while there are few. */
    uint32_t few_slots[LABEL_KEY_FEW], few_domains[LABEL_KEY_FEW];
    size_t n_few;
    size_t n_domains; /* domains are 1 … n_domains - 1; some may be without nodes for now */
    uint32_t *nodes;  /* by domain: how many nodes are in it; NULL while n_domains is 1 */
    size_t n_used;    /* domains that have nodes */
    size_t n_nodes;   /* nodes that have the label */
    uint64_t changes; /* incremented when the domain of a slot changes */
    /* Private to topology.c. */
    struct map by_value;
    VEC(struct str) values;     /* by domain, owned; p NULL: unused */
    VEC(uint32_t) free_domains; /* for reuse */
    size_t cap_domains;
    size_t text_bytes;              /* of values */
    uint64_t seen;                  /* position in the cache's journal of nodes; never decreases */
    uint64_t base;                  /* id of the topology it was derived from; 0: none */
    struct map *map;                /* that has it by key */
    struct topology *newer, *older; /* by last use */
    struct domain_slots *slots;     /* NULL until needed */
    size_t bytes;                   /* its share of topologies.bytes */
};

struct topologies {
    const struct cache *cache;
    const struct label_keys *label_keys;
    struct map by_key, derived;
    struct topology none; /* for every key that no node carries */
    struct topology *newest, *oldest;
    size_t bytes;
    uint64_t next_id;
};

void topologies_init(struct topologies *t, const struct cache *cache,
                     const struct label_keys *label_keys);
void topologies_release(struct topologies *t);
/* Call between cycles: evicts what exceeds the limits. */
void topologies_trim(struct topologies *t);
/*
 * The topology, updated by this call and by no other; valid until topologies_trim. &t->none, which
 * has no domains and no key, if no node carries the key.
 */
struct topology *topologies_get(struct topologies *t, struct str key);

/*
 * The same for any thread during a cycle: changes nothing. NULL if the topology is unknown or not
 * up to date.
 */
const struct topology *topologies_find(const struct topologies *t, struct str key);
/*
 * Adds to the set `out`, of slots 0 … n_all - 1, all nodes of the domains that these slots are in.
 * True if there is any.
 */
bool topologies_paint(struct topologies *ts, struct topology *t, size_t n_all,
                      const uint32_t *slots, size_t n, uint64_t *out);
/* Adds to the set all slots that are in no domain. */
void topologies_paint_others(struct topologies *ts, struct topology *t, size_t n_all,
                             uint64_t *out);

/* The domain in which the node counts; 0: in none. Called only for nodes with an object. */
typedef uint32_t topology_rule(const void *ctx, uint32_t slot);
/*
 * A topology with the domains of `base`, same numbers and values, in which the rule decides where
 * each node counts. The rule may depend only on the nodes' objects; `name` must identify base's key
 * and the whole rule. The rule is called again only for nodes that changed. Valid until
 * topologies_trim.
 */
const struct topology *topologies_derive(struct topologies *t, const struct topology *base,
                                         struct str name, topology_rule *rule, const void *ctx);

/* Does no node carry the key? */
static inline bool topology_is_none(const struct topology *t)
{
    return !t->map;
}

/* The label's value; empty for domain 0. */
struct str topology_value(const struct topology *t, uint32_t domain);
/* 0 if no node has that value. */
uint32_t topology_find(const struct topology *t, struct str value);

/* The domain of any slot, also of one added since the topology was updated. */
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
