/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queued_pod.h - a pod in the scheduling queue (upstream: QueuedPodInfo).
 *
 * Purpose:   the pod, its place in the queue, and what its attempts left behind: timestamps,
 *            counts for the backoff, and the plugins that rejected it. The ABI's struct
 *            berth_queued_pod, which QueueSort plugins compare.
 * Ownership: allocated and freed by the queue; holds a reference on its berth_pod.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_QUEUE_QUEUED_POD_H
#define BERTH_ENGINE_QUEUE_QUEUED_POD_H

#include "base/heap.h"
#include "engine/cache/pod_info.h"
#include "engine/framework/event.h"
#include "engine/framework/framework.h"

struct cohort;

/* A pod is in exactly one place. */
enum queue_place {
    QUEUE_NOWHERE,
    QUEUE_ACTIVE,
    QUEUE_BACKOFF,
    QUEUE_ERROR_BACKOFF,
    QUEUE_UNSCHEDULABLE,
    QUEUE_IN_FLIGHT,
    QUEUE_BINDING,
};

struct berth_queued_pod {
    struct berth_pod *pod;
    struct profile *profile;   /* in flight and binding: the profile of its cycle */
    struct profile *successor; /* in flight and binding: the profile after a reload; NULL: none */
    enum queue_place place;
    struct heap_node node;        /* in activeQ or backoffQ */
    struct cohort *cohort;        /* pods rejected alike; never NULL */
    struct heap_node cohort_node; /* in backoffQ: in a heap of its cohort */
    uint64_t shape;               /* 0: not computed yet */
    int64_t shape_generation;     /* metadata.generation that `shape` was computed from */
    size_t unschedulable_at;      /* index in unschedulablePods */
    struct berth_queued_pod *next_in_flight, *prev_in_flight; /* in order of popping */
    uint64_t events_from; /* in flight: number of the first event after it was popped */

    int64_t timestamp;     /* time of the first enqueue or last requeue; read by QueueSort */
    int64_t first_attempt; /* time it first became active; 0: never */
    int64_t backoff_until;
    uint32_t attempts;
    uint32_t unschedulable_count;
    uint32_t error_count; /* consecutive attempts that ended in an error */
    bool deleted;         /* deleted from the API while in flight or binding */
    bool was_flushed;     /* the unschedulable timeout requeued it, not an event */
    bool leaving;         /* its profile was removed: it is not requeued */
    bool parked;          /* in backoffQ with its backoff over: waits for the API server */
    bool patient;         /* its backoff is kept even if no other pod is ready: set by plugins */
    bool urgent;          /* moved to activeQ regardless of its backoff: its cohort is not held */

    const struct berth_handle *gate; /* the plugin whose PreEnqueue rejects it; NULL: none */
    bool counted_gated;              /* in queue.n_gated */
    struct plugin_set rejectors;     /* plugins that rejected the last attempt */
    struct plugin_set pending;       /* plugins that returned BERTH_PENDING */
    struct cluster_event moved_by;   /* the last event that moved it; without objects */
};

/* The order of activeQ: that of the QueueSort plugin. */
static inline bool queued_pod_active_less(const struct berth_handle *sort,
                                          const struct berth_queued_pod *a,
                                          const struct berth_queued_pod *b)
{
    return sort->plugin->less(sort->self, a, b);
}

/*
 * The order of backoffQ: by expiry, and within one second that of activeQ
 * (upstream: lessBackoffCompletedWithPriority).
 */
static inline bool queued_pod_backoff_less(const struct berth_handle *sort,
                                           const struct berth_queued_pod *a,
                                           const struct berth_queued_pod *b)
{
    int64_t x = a->backoff_until, y = b->backoff_until;
    return x != y ? x < y : queued_pod_active_less(sort, a, b);
}

#endif
