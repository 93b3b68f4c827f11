/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nominator.h - pods with a nominated node.
 *
 * Purpose:   between preemption and binding a pod reserves room that is not free yet. Filters count
 *            nominated pods of equal or higher priority as if they were on the node. A pod
 *            nominates at most one node.
 * Ownership: holds a reference on each pod.
 * Threading: the engine's thread; the pool's threads read during a cycle.
 */
#ifndef BERTH_ENGINE_QUEUE_NOMINATOR_H
#define BERTH_ENGINE_QUEUE_NOMINATOR_H

#include "base/map.h"
#include "engine/cache/pod_info.h"

struct nominated_node {
    char *name;
    VEC(struct berth_pod *) pods; /* in order of nomination */
};

struct nominator {
    struct map nodes; /* by name, to struct nominated_node */
    struct map pods;  /* by UID, to the struct nominated_node that lists the pod */
};

void nominator_init(struct nominator *n);
void nominator_release(struct nominator *n);
/* Nominates the node in place of any other; an empty name removes the nomination. */
void nominator_set(struct nominator *n, struct berth_pod *pod, struct str node_name);
/*
 * The pod changed. Its status decides; a nomination that the API does not know yet is kept
 * (upstream: UpdateNominatedPod).
 */
void nominator_update(struct nominator *n, const struct berth_pod *before, struct berth_pod *after);
void nominator_remove(struct nominator *n, struct str uid);
/* The node that a pod nominates; empty if none. */
struct str nominator_node_of(const struct nominator *n, struct str uid);
/* NULL if no pod nominates the node. */
const struct nominated_node *nominator_node(const struct nominator *n, struct str name);

#endif
