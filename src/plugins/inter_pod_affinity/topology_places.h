/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_places.h - a list of topologies, each once.
 *
 * Purpose:   sums by topology stand in an array; this tells a topology's place in it. Most pods
 *            name one or two topology keys, some may name thousands: looking one up takes a few
 *            comparisons in either case.
 * Ownership: borrows the topologies; owns the list.
 * Threading: one thread adds; any may look up meanwhile nobody does.
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
/* TOPOLOGY_PLACE_NONE where it is not listed. */
size_t topology_places_find(const struct topology_places *p, const struct topology *t);
/* At the end of the list; it must not be there yet. */
void topology_places_add(struct topology_places *p, const struct topology *t);

#endif
