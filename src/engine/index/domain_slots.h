/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain_slots.h - the nodes of each domain of a topology.
 *
 * Purpose:   the inverse of topology_domain, for painting all nodes of the domains in which certain
 *            pods run: a set per domain if there are few domains, such as zones, and lists if there
 *            are many, such as hosts. Use topologies_paint.
 * Ownership: owns its arrays; owned by its topology.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_INDEX_DOMAIN_SLOTS_H
#define BERTH_ENGINE_INDEX_DOMAIN_SLOTS_H

#include "engine/index/topology.h"

struct domain_slots {
    uint64_t changes; /* of the topology, when this was built */
    size_t n_slots;
    uint64_t *labelled; /* slots that are in any domain */
    uint64_t *sets;     /* by domain, one after the other; NULL if there are many domains */
    /* Otherwise the slots of domain d are slots[first[d]] up to slots[first[d + 1]]. */
    uint32_t *first, *slots;
};

struct domain_slots *domain_slots_new(const struct topology *t, size_t n);
void domain_slots_free(struct domain_slots *d);
bool domain_slots_are_current(const struct domain_slots *d, const struct topology *t, size_t n);
size_t domain_slots_bytes(const struct domain_slots *d);

/*
 * Adds to the set `out`, of slots 0 … n_slots - 1, all nodes of the domains that these slots are
 * in. True if there is any.
 */
bool domain_slots_paint(const struct domain_slots *d, const struct topology *t,
                        const uint32_t *slots, size_t n, uint64_t *out);
/* The same for a topology without a column, of few nodes; `out` has slots 0 … n_all - 1. */
bool domain_slots_paint_few(const struct topology *t, size_t n_all, const uint32_t *slots, size_t n,
                            uint64_t *out);

#endif
