/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_counts.h - the number of pods that match a selector, by node and by domain.
 *
 * Purpose:   topology spread and inter-pod affinity need these counts for every pod. The counts
 *            of a known selection are updated as pods are added and removed, so a request costs a
 *            lookup instead of a walk over all pods of the cluster.
 *
 *            Pods that no selection can distinguish (same namespace, same labels, terminating or
 *            not) are one class: mostly the replicas of one owner. Selections and classes are
 *            matched once, when either is created. From then on an added or removed pod costs one
 *            lookup of its class and one step for each selection that matches it.
 * Ownership: owns copies of the selections and their counts, bounded in bytes; the least recently
 *            used is evicted first. A selection is also evicted if, since its last use, updating
 *            it has cost more than counting again would: selections of pods that are gone do not
 *            slow down the others. Classes live as long as they have pods.
 * Threading: the engine's thread; counts may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_INDEX_POD_COUNTS_H
#define BERTH_ENGINE_INDEX_POD_COUNTS_H

#include "base/buf.h"
#include "engine/cache/pod_selection.h"
#include "engine/index/slot_counts.h"
#include "engine/index/topology.h"

#define POD_COUNTS_MAX_BYTES ((size_t)16 << 20) /* of selections, between cycles */

struct pod_counts;
struct pod_class;
struct pod_count_domains;

/* A class that a selection matches; the selection is at `place` in the class's list. */
struct pod_count_link {
    struct pod_class *class;
    size_t place;
};

/* One selection. Only `slots` may be read elsewhere. */
struct pod_count {
    struct slot_counts slots; /* pods by node, also on nodes without an object */
    struct pod_counts *owner;
    struct pod_count *newer, *older; /* by last use */
    struct arena arena;              /* of key and selection */
    struct str key;
    struct pod_selection selection;
    struct pod_count_ref_list *list; /* the list that has it at `place` */
    size_t place;
    VEC(struct pod_count_link) links; /* classes that it matches */
    size_t bytes;                     /* its share of the owner's sum */
    struct pod_count_move *log;
    uint64_t n_moves, asked_moves; /* in total, and at its last use */
    size_t cost;                   /* of creating it: classes compared */
    bool is_unasked;               /* in pod_counts.unasked */
    VEC(struct pod_count_domains) domains;
    struct map by_topology; /* id → index in domains + 1; empty while there are few */
    size_t domain_bytes;
    uint64_t dropped_cycle; /* when unused domains were last dropped */
};

/* With a sieve: most of a long list is skipped without reading the selections. */
struct pod_count_ref {
    uint64_t sieve;
    struct pod_count *count;
};
struct pod_count_ref_list {
    VEC(struct pod_count_ref) list;
};

struct pod_counts {
    struct map by_key;                    /* bytes of the selection → struct pod_count */
    struct map namespaces;                /* → struct pod_namespace, with pods or selections */
    struct map classes;                   /* by hash → struct pod_class, chained */
    struct pod_count_ref_list everywhere; /* selections that are not of one namespace */
    struct pod_count *newest, *oldest;
    VEC(struct pod_count *) unasked; /* to be evicted by the next trim unless used before */
    size_t bytes, max_bytes;
    uint64_t cycle; /* incremented by every trim */
    struct buf key; /* scratch */
};

void pod_counts_init(struct pod_counts *c);
void pod_counts_release(struct pod_counts *c);
/* Call between cycles: evicts what exceeds the limits. */
void pod_counts_trim(struct pod_counts *c);
/* A pod was added to the node (sign 1) or removed from it (-1). */
void pod_counts_moved(struct pod_counts *c, const struct berth_pod *pod,
                      const struct berth_node *node, int sign);

/* Valid until pod_counts_trim. */
struct pod_count *pod_counts_get(struct pod_counts *c, const struct pod_selection *selection);
static inline uint32_t pod_count_at(const struct pod_count *count, uint32_t slot)
{
    return slot_counts_at(&count->slots, slot);
}
/*
 * By domain of t (up to t->n_domains): the sum over its nodes. Pods on nodes without an object, or
 * without the label, do not count. Only this function changes the array: it stays as it is until
 * the next call, whatever happens to the pods.
 */
const uint32_t *pod_count_by_domain(struct pod_count *count, const struct topology *t);

#endif
