/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_counts.h - how many pods that match a selector run on each node, and in each domain.
 *
 * Purpose:   topology spread and inter-pod affinity ask this for every pod they place. The answer
 *            for a selection seen before is kept and corrected as pods come and go, so asking again
 *            costs a lookup instead of a walk over all pods of the cluster.
 *
 *            Pods that no selection can tell apart (same namespace, same labels, terminating or
 *            not) are one class: the replicas of one owner, mostly. Which selections take a class
 *            is found out once, when either of the two comes up. From then on a pod that comes or
 *            goes costs one lookup of its class, and a step for each selection that takes it.
 * Ownership: owns copies of the selections and their counts; bounded in bytes, the one not asked
 *            for longest goes first. One that nobody asks for while so many pods come and go that
 *            counting again would be cheaper goes, too: selections of pods that wait, or are gone,
 *            do not slow down the others. Classes live as long as they have pods.
 * Threading: the engine's thread; counts may be read by the pool's threads during a cycle.
 */
#ifndef BERTH_ENGINE_INDEX_POD_COUNTS_H
#define BERTH_ENGINE_INDEX_POD_COUNTS_H

#include "base/buf.h"
#include "engine/cache/pod_selection.h"
#include "engine/index/slot_counts.h"
#include "engine/index/topology.h"

#define POD_COUNTS_MAX_BYTES ((size_t)16 << 20) /* of selections, from one cycle to the next */

struct pod_counts;
struct pod_class;
struct pod_count_domains;

/* A class that a selection takes: it stands at `place` in the class's list. */
struct pod_count_link {
    struct pod_class *class;
    size_t place;
};

/* One selection. Of its members only `slots` is for others to read. */
struct pod_count {
    struct slot_counts slots; /* pods by node, also on nodes of which there is no object */
    struct pod_counts *owner;
    struct pod_count *newer, *older; /* by when they were asked for */
    struct arena arena;              /* of key and selection */
    struct str key;
    struct pod_selection selection;
    struct pod_count_ref_list *list; /* where it stands, at `place` */
    size_t place;
    VEC(struct pod_count_link) links; /* classes that it takes */
    size_t bytes;                     /* as counted in the owner's sum */
    struct pod_count_move *log;
    uint64_t n_moves, asked_moves; /* ever, and when it was last asked for */
    size_t cost;                   /* of making it: classes looked at */
    bool is_unasked;               /* in the owner's list */
    VEC(struct pod_count_domains) domains;
    struct map by_topology; /* id → place in domains + 1; empty while they are few */
    size_t domain_bytes;
    uint64_t dropped_cycle; /* when domains were last looked through for old ones */
};

/* Behind a sieve, so that most of a long list is passed over without a look at the selections. */
struct pod_count_ref {
    uint64_t sieve;
    struct pod_count *count;
};
struct pod_count_ref_list {
    VEC(struct pod_count_ref) list;
};

struct pod_counts {
    struct map by_key;     /* bytes of the selection → struct pod_count */
    struct map namespaces; /* → struct pod_namespace, those with pods or selections */
    struct map classes;    /* by hash → struct pod_class, chained */
    struct pod_count_ref_list everywhere; /* selections that are not of one namespace */
    struct pod_count *newest, *oldest;
    VEC(struct pod_count *) unasked; /* not worth keeping up, unless asked for meanwhile */
    size_t bytes, max_bytes;
    uint64_t cycle; /* grows with every trim */
    struct buf key; /* scratch */
};

void pod_counts_init(struct pod_counts *c);
void pod_counts_release(struct pod_counts *c);
/* Between cycles: gives back what is too much. */
void pod_counts_trim(struct pod_counts *c);
/* A pod came to the node (sign 1) or left it (-1). */
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
 * without the label, do not count. The array changes by this call only: what a cycle was given
 * stays as it is, whatever happens meanwhile, until asked for again.
 */
const uint32_t *pod_count_by_domain(struct pod_count *count, const struct topology *t);

#endif
