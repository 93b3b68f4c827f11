/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity_term.h - the pods that a pod wants near, or far from, itself (upstream: AffinityTerm).
 *
 * Purpose:   the affinity of a pod to other pods, compiled once when the pod arrives. It reads the
 *            same for the pod that waits and for the pod that runs.
 * Ownership: a set owns its arrays and borrows its texts from the API object, which outlives it.
 * Threading: immutable; any.
 */
#ifndef BERTH_ENGINE_CACHE_AFFINITY_TERM_H
#define BERTH_ENGINE_CACHE_AFFINITY_TERM_H

#include "engine/cache/pod_selection.h"

enum affinity_kind {
    AFFINITY_REQUIRED,
    AFFINITY_REQUIRED_ANTI,
    AFFINITY_PREFERRED,
    AFFINITY_PREFERRED_ANTI,
    AFFINITY_KINDS,
};

struct affinity_term {
    struct str topology_key;
    /*
     * The namespaces that the term names, or the pod's own where it names none in any way. The
     * labels of other namespaces are not looked at here, as upstream does in places:
     * any_namespace where the namespace selector matches without any.
     */
    struct pod_term pods;
    struct selector namespace_selector; /* nothing: there is none */
    int32_t weight;                     /* of the preferred ones */
};

struct affinity_set {
    LIST(struct affinity_term) of[AFFINITY_KINDS];
    /*
     * What is wrong with the pod's terms, in upstream's words; empty: nothing. A kind with a wrong
     * term has none.
     */
    struct str error;
    bool is_wrong[AFFINITY_KINDS];
    struct arena arena;
};

/* Of a pod that has affinity to, or against, other pods; NULL for one that has not. */
struct affinity_set *affinity_set_new(const struct pod *pod);
void affinity_set_free(struct affinity_set *set);

/* Does it mean this pod, whose namespace has these labels? */
bool affinity_term_matches(const struct affinity_term *term, const struct object_meta *pod,
                           const str_map *namespace_labels);

/* All of it in the arena. */
void affinity_term_copy(const struct affinity_term *term, struct arena *a,
                        struct affinity_term *ret_copy);
/* Appends bytes that are equal for equal terms, and only for these. */
void affinity_term_write(const struct affinity_term *term, struct buf *out);

#endif
