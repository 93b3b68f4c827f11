/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nominator.h - pods that have been promised a node.
 *
 * Purpose:   between preemption and binding a pod owns room that is not free yet. Filters count
 *            nominated pods of equal or higher priority as if they were there.
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
    struct map pods;  /* by UID, to the struct nominated_node it is promised */
};

void nominator_init(struct nominator *n);
void nominator_release(struct nominator *n);
/* Promises the node, in place of any promised before. An empty name takes the promise back. */
void nominator_set(struct nominator *n, struct berth_pod *pod, struct str node_name);
/* The promise, if any, stands for this newer version of the pod. */
void nominator_update(struct nominator *n, const struct berth_pod *before, struct berth_pod *after);
void nominator_remove(struct nominator *n, struct str uid);
/* The node promised to a pod; empty: none. */
struct str nominator_node_of(const struct nominator *n, struct str uid);
/* NULL where the node is promised to nobody. */
const struct nominated_node *nominator_node(const struct nominator *n, struct str name);

#endif
