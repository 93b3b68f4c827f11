/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_selection.h - which pods are meant.
 *
 * Purpose:   topology spread and inter-pod affinity name pods by namespace and labels.
 * Ownership: borrows its texts, unless it is a copy: that has all in its arena.
 * Threading: immutable; any.
 */
#ifndef BERTH_ENGINE_CACHE_POD_SELECTION_H
#define BERTH_ENGINE_CACHE_POD_SELECTION_H

#include "api/selector.h"
#include "engine/cache/pod_info.h"

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

bool pod_selection_matches(const struct pod_selection *s, const struct berth_pod *pod);
/* The same, of a pod that is not at hand. */
bool pod_selection_takes(const struct pod_selection *s, const struct object_meta *meta);

void pod_selection_copy(const struct pod_selection *s, struct arena *a,
                        struct pod_selection *ret_copy);
/* Appends bytes that are equal for equal selections, and only for these. */
void pod_selection_write(const struct pod_selection *s, struct buf *out);

/*
 * A sieve: one bit of 64 for each label that a selection demands, or that a pod has. A pod whose
 * labels lack one of the bits demanded cannot match, which is told without looking at any text.
 */
uint64_t pod_selection_sieve(const struct pod_selection *s);
uint64_t labels_sieve(const str_map *labels);

#endif
