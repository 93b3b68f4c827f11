/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity_terms.h - the affinity terms of running pods, and the nodes they run on.
 *
 * Purpose:   InterPodAffinity checks a pod against the terms of the pods that run. Pods of one
 *            owner have equal terms: every distinct term is kept once, with the number of pods
 *            that have it on each node. The terms that select a given pod are found by its
 *            namespace and labels, without reading the others, so a cluster with a term for each
 *            of thousands of owners costs no more than one with a few. A term whose topology key
 *            no node carries has no effect and is not found.
 * Ownership: owns copies of the terms of running pods.
 * Threading: the engine's thread; the pool's threads read the results during a cycle.
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
    struct slot_counts pods; /* pods that have it, by node, also on nodes without an object */
    uint64_t n;              /* their number */
    struct str text;         /* its key in by_text */
    struct arena arena;      /* of term and text */
    /* Private to affinity_terms.c. */
    VEC(struct affinity_filing) filings; /* empty while no node carries its topology key */
    struct affinity_key *key;
    size_t key_place; /* in the key's list */
};

typedef VEC(const struct running_term *) running_terms;

/* Terms that exclude nodes (required anti-affinity), and terms that only score. */
enum affinity_role { AFFINITY_MUST, AFFINITY_MAY, AFFINITY_ROLES };

struct affinity_terms {
    struct map by_text; /* → struct running_term */
    struct map buckets; /* the pods that a term can select → struct affinity_bucket */
    struct map keys;    /* topology key → struct affinity_key */
    const struct label_keys *label_keys;
    size_t n[AFFINITY_ROLES]; /* distinct terms whose topology key a node carries */
    uint64_t changes;         /* incremented when a pod with terms is added or removed */
    struct buf text, key;     /* scratch */
};

void affinity_terms_init(struct affinity_terms *t, const struct label_keys *label_keys);
void affinity_terms_release(struct affinity_terms *t);
/* A pod was added to the node (sign 1) or removed from it (-1). */
void affinity_terms_moved(struct affinity_terms *t, const struct berth_pod *pod,
                          const struct berth_node *node, int sign);

/* The first node carries the topology key, or the last one ceased to. */
void affinity_terms_key_carried(struct affinity_terms *t, struct str key, bool carried);

/*
 * Adds to ret_terms the terms that select this pod, whose namespace has these labels: required
 * anti-affinity (AFFINITY_MUST), or all other kinds. Valid until a pod is added or removed.
 */
void affinity_terms_find(struct affinity_terms *t, enum affinity_role role,
                         const struct object_meta *pod, const str_map *namespace_labels,
                         running_terms *ret_terms);

#endif
