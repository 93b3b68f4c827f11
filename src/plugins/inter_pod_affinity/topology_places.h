/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_places.h - a list of distinct topologies.
 *
 * Purpose:   the index of a topology in arrays of sums by topology. Most pods use one or two
 *            topology keys, some may use thousands: a lookup takes a few comparisons in either
 *            case.
 * Ownership: borrows the topologies; owns the list.
 * Threading: written by one thread. Concurrent lookups are allowed between writes.
 */
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_TOPOLOGY_PLACES_H
#define BERTH_PLUGINS_INTER_POD_AFFINITY_TOPOLOGY_PLACES_H

#include "engine/index/topology.h"

struct topology_places {
    VEC(const struct topology *) all;
    struct map by_id; /* → place + 1; empty while there are few */
};

#define TOPOLOGY_PLACE_NONE SIZE_MAX

void topology_places_release(struct topology_places *p);
void topology_places_clear(struct topology_places *p);
/* TOPOLOGY_PLACE_NONE if it is not listed. */
size_t topology_places_find(const struct topology_places *p, const struct topology *t);
/* Appends it; it must not be listed yet. */
void topology_places_add(struct topology_places *p, const struct topology *t);

#endif
