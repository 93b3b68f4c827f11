/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_amounts.h - cpu and memory of a pod as the trimaran plugins of scheduler-plugins count them.
 *
 * Purpose:   per resource, the larger of the sum of the containers and of each init container, plus
 *            the overhead. Sidecars and pod-level resources have no special rules.
 * Ownership: plain values.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_POD_AMOUNTS_H
#define BERTH_PLUGINS_SIGS_POD_AMOUNTS_H

#include "api/pod.h"
#include "plugins/sigs/load_table.h"

/* cpu in thousandths, memory in bytes. */
struct amounts {
    int64_t v[LOAD_RESOURCES];
};

struct pod_amounts {
    struct amounts requests;
    struct amounts limits; /* not below the requests */
};

struct pod_amounts pod_amounts_of(const struct pod *pod);
struct amounts pod_amounts_requests(const struct pod *pod);
/* cpu in thousandths, 0 if there is none, or memory in bytes. */
int64_t quantity_map_amount(const quantity_map *map, enum load_resource resource);

#endif
