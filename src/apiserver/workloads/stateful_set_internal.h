/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stateful_set_internal.h - one look at a StatefulSet.
 *
 * Purpose:   stateful_set.c decides about pods in the order of their ordinals, stateful_pod.c makes
 *            pods and claims.
 * Ownership: in scratch memory.
 * Threading: as workloads.h.
 */
#ifndef BERTH_APISERVER_WORKLOADS_STATEFUL_SET_INTERNAL_H
#define BERTH_APISERVER_WORKLOADS_STATEFUL_SET_INTERNAL_H

#include "apiserver/workloads/revisions.h"

struct set_look {
    struct workloads *w;
    struct workload *o;
    struct json_value *object;
    const struct json_value *spec;
    struct history history;
    struct revision_view *current; /* revision of pods that are not updated yet */
    int64_t replicas, start, partition, min_ready;
    int64_t max_unavailable; /* 0: not set, one by one */
    bool parallel, rolling;
    struct pod_item **pods;      /* by ordinal - start; NULL: missing */
    struct pod_item **condemned; /* beyond the range, highest ordinal first */
    size_t n_condemned;
    size_t n_writes; /* of this look */
    int64_t next;    /* when a pod becomes available */
};

/* The ordinal of a pod's name; -1 if it is not of the set. */
int64_t stateful_ordinal(const struct workload *o, const struct pod_item *pod);

/* Creates the claims that the pod lacks, and the pod. */
void stateful_create_pod(struct set_look *s, int64_t ordinal, const struct revision_view *rev);
/* The claims have the owners that persistentVolumeClaimRetentionPolicy says. */
void stateful_sync_claims(struct set_look *s, const struct pod_item *pod, int64_t ordinal);
void stateful_create_claims(struct set_look *s, struct str pod_name);

#endif
