/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - pods that wait for a node (upstream: PriorityQueue).
 *
 * Purpose:   upstream's scheduling queue. A pod is in exactly one of these places:
 *
 *              activeQ            ready to be tried, in the order of the QueueSort plugin
 *              backoffQ           failed recently and waits until its backoff ends (two heaps by
 *                                 expiry: rejected pods, and pods that met an error), or until
 *                                 the API server has stored reports about pods like it (cohort.h)
 *              unschedulablePods  waits for an event that a plugin which rejected it registered;
 *                                 gated pods (rejected by PreEnqueue) wait here as well
 *              in flight          popped and being scheduled, or waiting in Permit
 *              binding            a node is chosen; the write is in progress
 *
 *            Events that happen while a pod is in flight are kept and evaluated when it is
 *            requeued: none is lost.
 * Ownership: owns its queued pods.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_QUEUE_QUEUE_H
#define BERTH_ENGINE_QUEUE_QUEUE_H

#include "base/heap.h"
#include "base/map.h"
#include "engine/cache/pod_info.h"
#include "engine/framework/event.h"
#include "engine/framework/framework.h"
#include "engine/framework/status.h"
#include "engine/ports/engine_log.h"
#include "engine/queue/cohort.h"
#include "engine/queue/nominator.h"
#include "engine/queue/queued_pod.h"

struct scheduler_metrics;

/* What an event means for a pod, in ascending order (upstream: queueingStrategy). */
enum queue_strategy { QUEUE_SKIP, QUEUE_AFTER_BACKOFF, QUEUE_AT_ONCE };

/* Results of a queueing hint since they were last counted, by enum berth_hint. */
struct hint_count {
    uint32_t n[BERTH_QUEUE + 1];
};

struct queue_options {
    int64_t initial_backoff, max_backoff, max_in_unschedulable; /* ns */
    bool groups; /* members of a PodGroup are requeued by backoff alone, not by events */
    /* For log messages; both NULL: none. */
    const struct engine_log *log;
    const struct reasons *reasons;
};

struct queue {
    struct queue_options options;
    struct heap active, backoff, error_backoff;
    struct cohorts cohorts; /* of all pods */
    VEC(struct berth_queued_pod *) unschedulable;
    size_t n_gated;    /* pods in unschedulable that are gated */
    struct map by_key; /* UID to queued pod, in any place */
    struct nominator nominator;
    const struct berth_handle *sort;
    struct berth_registrar registrar;  /* events that plugins of all profiles registered */
    struct berth_status status;        /* of the PreEnqueue plugin that runs */
    uint64_t cycles;                   /* pods popped so far */
    struct scheduler_metrics *metrics; /* NULL: none */
    int64_t next_unschedulable_flush;

    struct berth_queued_pod *first_in_flight, *last_in_flight;
    size_t n_in_flight;
    VEC(struct cluster_event) events; /* since the first pod in flight was popped */
    VEC(struct hint_count) hints;     /* with metrics: as registrar.events */
    bool sampled;                     /* with metrics: time each PreEnqueue plugin */
    bool listing;                     /* between queue_begin_listing and queue_end_listing */
    uint64_t events_base;             /* number of events.v[0] */
};

void queue_init(struct queue *q, const struct queue_options *options);
void queue_release(struct queue *q);
/* Applies to backoffs that begin afterwards. */
void queue_set_backoff(struct queue *q, int64_t initial, int64_t max);
/* Registers the events of a profile's plugins. The first profile's QueueSort orders the queue. */
void queue_add_profile(struct queue *q, struct profile *profile);
/*
 * Replaces all profiles: forget them, add the new ones, then call queue_follow_profiles. The
 * function returns the successor of a pod's profile (NULL: removed) and sets in *ret_same the
 * plugins that are unchanged. It may be called with a new profile, too.
 *
 * Pods rejected by a plugin that changed, and gated pods, are requeued. Pods whose profile was
 * removed leave the queue: at once, or when their attempt or binding ends.
 */
void queue_forget_profiles(struct queue *q);
typedef struct profile *queue_successor_fn(void *ctx, const struct profile *old,
                                           struct plugin_set *ret_same);
struct queue_followed {
    size_t moved; /* pods that left unschedulablePods */
    size_t gone;  /* pods whose profile was removed */
};
struct queue_followed queue_follow_profiles(struct queue *q, queue_successor_fn *fn, void *ctx,
                                            int64_t now);

/*
 * Between these two calls the objects of the initial lists arrive, in any order. Events move no
 * pods then: each of n objects would look at each of n gated pods. In the end all gated pods are
 * looked at once.
 */
void queue_begin_listing(struct queue *q);
void queue_end_listing(struct queue *q, int64_t now);

/* A pod without a node was added. */
void queue_add(struct queue *q, struct berth_pod *pod, struct profile *profile, int64_t now);
/* The pod changed: `actions` are bits of enum berth_action. Does nothing for unknown pods. */
void queue_update(struct queue *q, struct berth_pod *pod, struct object *before, unsigned actions,
                  int64_t now);
/* The pod was deleted or has a node now. */
void queue_delete(struct queue *q, struct str key);
/*
 * A pod that was deleted while it was being bound exists again under its UID, as after a restore of
 * the API server's data: the binding that still runs decides about it. The profile is the current
 * one: reloads have passed it by.
 */
void queue_restore(struct queue *q, struct berth_queued_pod *qp, struct berth_pod *pod,
                   struct profile *profile);
/* By UID; NULL if none. */
struct berth_queued_pod *queue_get(const struct queue *q, struct str key);

/* Pops the next pod to try; it is in flight then. NULL if none is ready. */
struct berth_queued_pod *queue_pop(struct queue *q, int64_t now);
/* Pops this pod from any place; NULL if it is gated, in flight or binding. */
struct berth_queued_pod *queue_pop_pod(struct queue *q, struct str key, int64_t now);
/* Its node is chosen and Permit has passed: events are no longer kept for it. */
void queue_begin_binding(struct queue *q, struct berth_queued_pod *qp);
/* It is bound: frees it. */
void queue_done(struct queue *q, struct berth_queued_pod *qp);
/*
 * Call before queue_requeue: the pod was rejected, with `rejectors` and `pending` set, and the
 * write `report` reports it. 0: pods like it need not wait for a write (cohort.h).
 */
void queue_turned_down(struct queue *q, struct berth_queued_pod *qp, uint64_t report, int64_t now);
/* The write has ended, in success or failure. False: no pod waits for it. */
bool queue_report_done(struct queue *q, uint64_t report, int64_t now);
/*
 * Requeues a pod that found no node, with `rejectors` and `pending` set. No rejector means an
 * error, after which the pod is retried when its backoff ends, without an event.
 */
void queue_requeue(struct queue *q, struct berth_queued_pod *qp, int64_t now);
/* Moves the pod to activeQ regardless of its backoff, unless it is gated. */
void queue_activate(struct queue *q, struct str key, int64_t now);

/* Requeues the pods in unschedulablePods that the event may make schedulable. */
void queue_event(struct queue *q, const struct cluster_event *event, int64_t now);

/* Call when time has passed: ends backoffs and stays in unschedulablePods that are too long. */
void queue_flush(struct queue *q, int64_t now);
/* The time of the next queue_flush; INT64_MAX: none. */
int64_t queue_next_flush(const struct queue *q);

/* --- log messages: queue_log.c ---------------------------------------------------------------- */

static inline bool queue_logs(const struct queue *q, int level)
{
    return q->options.log && engine_log_on(q->options.log, level);
}
/* Appends the plugins of either set as {"A":{},"B":{}}. */
void queue_write_plugins(const struct profile *profile, const struct plugin_set *a,
                         const struct plugin_set *b, struct buf *out);
/* The event moved the pod to its place. */
void queue_log_moved(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct cluster_event *event, bool was_unschedulable, bool to_active);
void queue_log_updated(const struct queue *q, const struct berth_queued_pod *qp,
                       const struct cluster_event *event);
void queue_log_requeued(const struct queue *q, const struct berth_queued_pod *qp,
                        enum queue_strategy strategy);
void queue_log_in_flight(const struct queue *q, const struct berth_queued_pod *qp,
                         const struct cluster_event *event);
/* The plugin's status is in queue.status. */
void queue_log_gated(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct berth_handle *by);
/* The event does not make the pod schedulable; NULL: it is kept for pods in flight. */
void queue_log_event(const struct queue *q, const struct cluster_event *event,
                     const struct berth_queued_pod *qp);
/* No plugin registered the event. */
void queue_log_not_of_interest(const struct queue *q, const struct cluster_event *event);
/* Why the event requeues the pod, or does not. */
void queue_log_worth(const struct queue *q, const struct berth_queued_pod *qp,
                     const struct cluster_event *event, enum queue_strategy strategy);

/* --- for queue*.c and eviction.c -------------------------------------------------------------- */

/* The last attempt ended in an error, or there was none: no plugin rejected the pod. */
static inline bool queue_broke(const struct berth_queued_pod *qp)
{
    return plugin_set_empty(&qp->rejectors) && plugin_set_empty(&qp->pending);
}

/* Moves a pod as the strategy requires, or to unschedulablePods if PreEnqueue rejects it. */
void queue_place(struct queue *q, struct berth_queued_pod *qp, enum queue_strategy strategy,
                 const struct cluster_event *event, int64_t now);
/* Runs PreEnqueue for a pod in activeQ or backoffQ; gates it if a plugin rejects it. */
void queue_check_gates(struct queue *q, struct berth_queued_pod *qp,
                       const struct cluster_event *event, int64_t now);
/* Call after a function of the cohorts that unparks pods: moves these pods to activeQ. */
void queue_activate_unparked(struct queue *q);
/* What the event means for a rejected pod (upstream: isPodWorthRequeuing). */
enum queue_strategy queue_strategy_for(const struct queue *q, const struct berth_queued_pod *qp,
                                       const struct cluster_event *event);
/*
 * What the events since the pod was popped mean for it
 * (upstream: determineSchedulingHintForInFlightPod).
 */
enum queue_strategy queue_strategy_in_flight(struct queue *q, const struct berth_queued_pod *qp);
/* Did any plugin register the event (upstream: isEventOfInterest)? */
bool queue_is_of_interest(const struct queue *q, const struct cluster_event *event);
/* Runs PreEnqueue. False: qp->gate is the plugin that rejected the pod. */
bool queue_admits(struct queue *q, struct berth_queued_pod *qp);
/* Did the plugin that gates the pod register the event? */
bool queue_gate_registered(const struct queue *q, const struct berth_queued_pod *qp,
                           const struct cluster_event *event);
/*
 * Events are kept while a pod that was popped before them is in flight: one list for all pods,
 * each with the number of its first event (upstream: inFlightEvents).
 */
void queue_keep_event(struct queue *q, const struct cluster_event *event);
void queue_enter_flight(struct queue *q, struct berth_queued_pod *qp);
void queue_leave_flight(struct queue *q, struct berth_queued_pod *qp);

/* --- metrics: queue_metrics.c; q->metrics is not NULL ----------------------------------------- */

/* The pod entered its place. */
void queue_count_incoming(const struct queue *q, const struct berth_queued_pod *qp);
/* The pod begins (1) or ceases (-1) to wait for the plugins that rejected it. */
void queue_count_rejectors(const struct queue *q, const struct berth_queued_pod *qp, int delta);
/* Around all hints for one event. */
int64_t queue_begin_hints(struct queue *q);
void queue_end_hints(struct queue *q, const struct cluster_event *event, int64_t began);
int64_t queue_begin_pre_enqueue(struct queue *q);
void queue_end_pre_enqueue(const struct queue *q, const struct berth_queued_pod *qp, int64_t began);

#endif
