/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - pods that wait for a node.
 *
 * Purpose:   upstream's scheduling queue. A pod is in one of four places:
 *
 *              activeQ            ready to be tried, in the order of the QueueSort plugin
 *              backoffQ           tried in vain a moment ago; waits out its backoff (two heaps, by
 *                                 expiry: rejected pods, and pods that met an error)
 *              unschedulablePods  waits for an event that a plugin which rejected it cares for
 *              in flight          popped, until queue_done or queue_requeue
 *
 *            A gated pod (PreEnqueue said no) waits among unschedulablePods for an event of the
 *            plugin that gates it.
 * Ownership: owns its queued pods; each holds a ref on its berth_pod.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_QUEUE_H
#define BERTH_ENGINE_QUEUE_H

#include "base/heap.h"
#include "base/map.h"
#include "engine/framework.h"
#include "engine/pod_info.h"

enum queue_place {
    QUEUE_NOWHERE,
    QUEUE_ACTIVE,
    QUEUE_BACKOFF,
    QUEUE_ERROR_BACKOFF,
    QUEUE_UNSCHEDULABLE,
    QUEUE_IN_FLIGHT,
};

struct berth_queued_pod {
    struct berth_pod *pod;
    struct profile *profile;
    enum queue_place place;
    struct heap_node node;   /* in activeQ or backoffQ */
    size_t unschedulable_at; /* index among unschedulablePods */

    int64_t timestamp;     /* when it entered its place: what QueueSort looks at */
    int64_t first_attempt; /* 0: never tried */
    int64_t backoff_until;
    uint32_t attempts;
    uint32_t unschedulable_count;
    uint32_t error_count; /* consecutive attempts that ended in an error */
    bool gated;
    bool deleted; /* gone from the API while in flight */

    struct plugin_set rejectors; /* plugins that said no in the last attempt */
    struct plugin_set pending;   /* those of them that said BERTH_PENDING */
};

/* Something happened that may make pods schedulable. */
struct cluster_event {
    enum berth_resource resource;
    unsigned action;   /* one or more of enum berth_action */
    const char *label; /* "NodeAdd": metrics and explanations */
};

struct queue_options {
    int64_t initial_backoff, max_backoff, max_in_unschedulable; /* ns */
};

struct queue {
    struct queue_options options;
    struct heap active, backoff, error_backoff;
    VEC(struct berth_queued_pod *) unschedulable;
    struct map by_key; /* "namespace/name" to queued pod, wherever it is */
    const struct berth_handle *sort;
    struct berth_registrar registrar; /* what plugins of all profiles asked to be told */
    struct berth_status *scratch;     /* for PreEnqueue */
    int64_t next_unschedulable_flush;
    size_t in_flight;
};

void queue_init(struct queue *q, const struct queue_options *options, struct berth_status *scratch);
void queue_release(struct queue *q);
/* Registers the events of a profile's plugins. The first profile's QueueSort orders the queue. */
void queue_add_profile(struct queue *q, struct profile *profile);

/* A pod without a node appeared. */
void queue_add(struct queue *q, struct berth_pod *pod, struct profile *profile, int64_t now);
/* It changed; `event` says how, for its own plugins' hints. */
void queue_update(struct queue *q, struct berth_pod *pod, struct object *before, unsigned actions,
                  int64_t now);
/* It was deleted, or somebody gave it a node. */
void queue_delete(struct queue *q, struct str key);
struct berth_queued_pod *queue_get(const struct queue *q, struct str key);

/* The next pod to try, in flight from now on; NULL where none is ready. */
struct berth_queued_pod *queue_pop(struct queue *q, int64_t now);
/* It has found its node: the queue forgets it. */
void queue_done(struct queue *q, struct berth_queued_pod *qp);
/*
 * It has not: back it goes. An empty set of rejectors means that something broke, so it is tried
 * again after a backoff whatever happens.
 */
void queue_requeue(struct queue *q, struct berth_queued_pod *qp, int64_t now);

/* Moves the pods for which a plugin's hint says so. */
void queue_event(struct queue *q, const struct cluster_event *event, struct object *before,
                 struct object *after, int64_t now);

/* Time has passed: ends backoffs and over-long stays among unschedulablePods. */
void queue_flush(struct queue *q, int64_t now);
/* When queue_flush next has something to do; INT64_MAX: never. */
int64_t queue_next_flush(const struct queue *q);
/* True where queue_pop would give a pod. */
bool queue_ready(const struct queue *q);

#endif
