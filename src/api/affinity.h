/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity.h - pod affinity and topology spread.
 *
 * Purpose:   the constraints of a pod relative to other pods.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_AFFINITY_H
#define BERTH_API_AFFINITY_H

#include "api/meta.h"
#include "api/node_affinity.h"

struct pod_affinity_term {
    struct label_selector *label_selector;
    LIST(struct str) namespaces;
    struct str topology_key;
    struct label_selector *namespace_selector;
    LIST(struct str) match_label_keys;
    LIST(struct str) mismatch_label_keys;
};

struct weighted_pod_affinity_term {
    struct pod_affinity_term pod_affinity_term;
    int32_t weight;
};

/* As in struct node_affinity, the end of the names is omitted. */
struct pod_affinity {
    LIST(struct pod_affinity_term) required;
    LIST(struct weighted_pod_affinity_term) preferred;
};

/* As in struct node_affinity, the end of the names is omitted. */
struct pod_anti_affinity {
    LIST(struct pod_affinity_term) required;
    LIST(struct weighted_pod_affinity_term) preferred;
};

struct affinity {
    struct node_affinity *node_affinity;
    struct pod_affinity *pod_affinity;
    struct pod_anti_affinity *pod_anti_affinity;
};

struct topology_spread_constraint {
    struct str topology_key;
    struct str when_unsatisfiable;
    struct label_selector *label_selector;
    int32_t *min_domains;            /* absent: 1 */
    struct str node_affinity_policy; /* "": Honor */
    struct str node_taints_policy;   /* "": Ignore */
    LIST(struct str) match_label_keys;
    int32_t max_skew;
};

extern const struct type pod_affinity_term_type;
extern const struct type weighted_pod_affinity_term_type;
extern const struct type pod_affinity_type;
extern const struct type pod_anti_affinity_type;
extern const struct type affinity_type;
extern const struct type topology_spread_constraint_type;

#endif
