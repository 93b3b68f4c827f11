/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity_term.h - compiled inter-pod affinity terms (upstream: AffinityTerm).
 *
 * Purpose:   the affinity of a pod to other pods, compiled once when the pod arrives, for pending
 *            and for running pods alike.
 * Ownership: a set owns its arrays and borrows its texts from the API object, which outlives it.
 * Threading: immutable; any thread.
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
     * The namespaces that the term lists, or the pod's own if it has neither a list nor a
     * namespace selector. any_namespace is set if the namespace selector matches empty labels:
     * where upstream does not read the labels of namespaces, that decides.
     */
    struct pod_term pods;
    struct selector namespace_selector; /* selects nothing if the term has none */
    int32_t weight;                     /* of preferred terms; else 0 */
};

struct affinity_set {
    LIST(struct affinity_term) of[AFFINITY_KINDS];
    /*
     * The error of the pod's terms, in upstream's words; empty if none. A kind with an invalid
     * term has no terms.
     */
    struct str error;
    bool is_wrong[AFFINITY_KINDS];
    struct arena arena;
};

/* NULL if the pod has neither podAffinity nor podAntiAffinity. */
struct affinity_set *affinity_set_new(const struct pod *pod);
void affinity_set_free(struct affinity_set *set);

/* Does the term select this pod, whose namespace has these labels? */
bool affinity_term_matches(const struct affinity_term *term, const struct object_meta *pod,
                           const str_map *namespace_labels);

/* A copy, allocated in the arena completely. */
void affinity_term_copy(const struct affinity_term *term, struct arena *a,
                        struct affinity_term *ret_copy);
/* Appends bytes that are equal if and only if the terms are equal. */
void affinity_term_write(const struct affinity_term *term, struct buf *out);

#endif
