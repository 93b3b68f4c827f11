/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain_slots.h - the nodes of each domain of a topology.
 *
 * Purpose:   topology.h tells the domain of a node. Here it is the other way round, for painting
 *            all nodes of the domains in which certain pods run: words of a set where there are few
 *            domains, such as zones, and lists where there are many, such as hosts.
 * Ownership: owns its arrays; bounded in number of topologies. Borrows nothing.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_DOMAIN_SLOTS_H
#define BERTH_PLUGINS_DOMAIN_SLOTS_H

#include "base/vec.h"
#include "engine/topology.h"

#define DOMAIN_SETS_MAX 32

struct domain_slots {
    uint64_t topology, changes; /* what it was made from */
    size_t n_slots;
    uint64_t *labelled; /* slots that are in any domain */
    uint64_t *sets;     /* by domain, one after the other; NULL: there are many domains */
    /* Otherwise the slots of domain d are slots[first[d]] up to slots[first[d + 1]]. */
    uint32_t *first, *slots;
};

struct domain_sets {
    VEC(struct domain_slots *) all;
};

void domain_sets_release(struct domain_sets *s);
/* Up to date for the topology and slots 0 … n - 1. Valid until the next call. */
const struct domain_slots *domain_sets_get(struct domain_sets *s, const struct topology *t,
                                           size_t n);
/*
 * Adds to the set `out` all nodes of the domains that these slots are in. True where there is any.
 */
bool domain_slots_paint(const struct domain_slots *d, const struct topology *t,
                        const uint32_t *slots, size_t n, uint64_t *out);

#endif
