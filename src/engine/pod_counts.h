/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_counts.h - how many pods that match a selector run on each node, and in each domain.
 *
 * Purpose:   topology spread and inter-pod affinity ask this for every pod they place. The answer
 *            for a selection seen before is kept and corrected as pods come and go, so asking again
 *            costs a lookup instead of a walk over all pods of the cluster.
 * Ownership: owns copies of the selections and their counts; bounded in bytes, the one not asked
 *            for longest goes first.
 * Threading: the engine's thread; counts may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_POD_COUNTS_H
#define BERTH_ENGINE_POD_COUNTS_H

#include "api/selector.h"
#include "engine/topology.h"

/* Pods of these namespaces that match the selector. */
struct pod_term {
    LIST(struct str) namespaces; /* sorted */
    bool any_namespace;
    struct selector selector;
};

/* Pods that match every term. */
struct pod_selection {
    LIST(struct pod_term) terms;
    bool without_terminating; /* pods that have a deletion timestamp do not count */
};

bool pod_term_matches(const struct pod_term *term, const struct berth_pod *pod);
bool pod_selection_matches(const struct pod_selection *s, const struct berth_pod *pod);

struct pod_count; /* of one selection */

struct pod_counts {
    const struct cache *cache;
    struct map by_key; /* text of the selection → struct pod_count */
    uint64_t clock;
    size_t bytes;
};

void pod_counts_init(struct pod_counts *c, const struct cache *cache);
void pod_counts_release(struct pod_counts *c);
/* A pod came to the node (sign 1) or left it (-1). */
void pod_counts_moved(struct pod_counts *c, const struct berth_pod *pod,
                      const struct berth_node *node, int sign);

/* Valid until the next cycle. */
struct pod_count *pod_counts_get(struct pod_counts *c, const struct pod_selection *selection);
uint32_t pod_count_at(const struct pod_count *count, uint32_t slot);
/* The slots with at least one, in no particular order. */
const uint32_t *pod_count_slots(const struct pod_count *count, size_t *ret_n);
/*
 * By domain of t (up to t->n_domains): the sum over its nodes. Kept up to date from then on.
 * Pods on nodes without an object, or without the label, do not count.
 */
const uint32_t *pod_count_by_domain(struct pod_count *count, const struct topology *t);

#endif
