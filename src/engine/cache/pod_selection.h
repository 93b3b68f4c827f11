/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_selection.h - pods selected by namespace and labels.
 *
 * Purpose:   the pods that topology spread constraints and affinity terms refer to.
 * Ownership: borrows its texts; a copy has all of them in its arena.
 * Threading: immutable; any thread.
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
    bool without_terminating; /* ignore pods that have a deletion timestamp */
};

bool pod_selection_matches(const struct pod_selection *s, const struct berth_pod *pod);
/* The same for the metadata of a pod. */
bool pod_selection_takes(const struct pod_selection *s, const struct object_meta *meta);

void pod_selection_copy(const struct pod_selection *s, struct arena *a,
                        struct pod_selection *ret_copy);
/* Appends bytes that are equal if and only if the selections are equal. */
void pod_selection_write(const struct pod_selection *s, struct buf *out);

/*
 * A sieve (a Bloom filter): one bit of 64 for each label that a selection requires, or that a pod
 * has. A pod that lacks a required bit cannot match; no text is compared.
 */
uint64_t pod_selection_sieve(const struct pod_selection *s);
uint64_t labels_sieve(const str_map *labels);

#endif
