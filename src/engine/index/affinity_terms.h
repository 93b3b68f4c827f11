/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity_terms.h - what the pods that run want of others, and where they run.
 *
 * Purpose:   a pod that is to be placed must respect, and wants to please, the affinity of the pods
 *            that are there already. Pods of one owner say the same: every distinct term is kept
 *            once, with the number of pods that have it on each node. Whose terms mean a given pod
 *            is found by its namespace and labels, without a look at the others, so that a cluster
 *            with a term for each of thousands of owners costs no more than one with a few. A term
 *            whose topology key no node carries means nothing, and is found by nobody.
 * Ownership: owns copies of the terms. As many as the pods that run have.
 * Threading: the engine's thread; what a cycle was given may be read by the pool's threads.
 */
#ifndef BERTH_ENGINE_INDEX_AFFINITY_TERMS_H
#define BERTH_ENGINE_INDEX_AFFINITY_TERMS_H

#include "base/map.h"
#include "engine/cache/affinity_term.h"
#include "engine/cache/node_info.h"
#include "engine/index/label_keys.h"
#include "engine/index/slot_counts.h"

struct running_term {
    struct affinity_term term;
    enum affinity_kind kind;
    struct slot_counts pods; /* that have it, by node, also on nodes without an object */
    uint64_t n;              /* of them */
    struct str text;         /* its key in by_text */
    struct arena arena;      /* of term and text */
    /* The rest is affinity_terms.c's. */
    VEC(struct affinity_filing) filings; /* none while no node carries its topology key */
    struct affinity_key *key;
    size_t key_place; /* in the key's list */
};

typedef VEC(const struct running_term *) running_terms;

/* What a pod to be placed must respect, and what it may please. */
enum affinity_role { AFFINITY_MUST, AFFINITY_MAY, AFFINITY_ROLES };

struct affinity_terms {
    struct map by_text; /* → struct running_term */
    struct map buckets; /* whom a term can mean → struct affinity_bucket */
    struct map keys;    /* topology key → struct affinity_key */
    const struct label_keys *label_keys;
    size_t n[AFFINITY_ROLES]; /* distinct terms whose topology key some node carries */
    uint64_t changes;         /* grows with every pod that has any and comes or goes */
    struct buf text, key;     /* scratch */
};

void affinity_terms_init(struct affinity_terms *t, const struct label_keys *label_keys);
void affinity_terms_release(struct affinity_terms *t);
/* A pod came to the node (sign 1) or left it (-1). */
void affinity_terms_moved(struct affinity_terms *t, const struct berth_pod *pod,
                          const struct berth_node *node, int sign);

/* A first node carries the topology key, or none does any more. */
void affinity_terms_key_carried(struct affinity_terms *t, struct str key, bool carried);

/*
 * Adds to ret_terms those that mean this pod, whose namespace has these labels: required terms
 * against others (AFFINITY_MUST), or all other terms. They stay valid until a pod comes or goes.
 */
void affinity_terms_find(struct affinity_terms *t, enum affinity_role role,
                         const struct object_meta *pod, const str_map *namespace_labels,
                         running_terms *ret_terms);

#endif
