/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cohort.h - pods that were rejected alike, and how soon they are retried.
 *
 * Purpose:   hundreds of pods may wait for the same room. Every event that could help requeues all
 *            of them, each failed attempt is reported to the API server, and an engine that is
 *            faster than the server would do nothing else. Upstream is slowed down by its own
 *            writes: it patches the status of a pod before it pops the next one. Here the writes
 *            run beside the attempts, so the queue is notified when they end.
 *
 *            A cohort is the pods of one shape (requests, selectors, affinity, tolerations,
 *            priority, claims) that the same plugins rejected: while one of them fails, the others fail.
 *
 *              1. After a failed retry no other member is tried until its report has ended, and
 *                 for as long again as the report took, so that a slow server gets a rest:
 *                 COHORT_PATIENCE at most. A member whose backoff ends in between is parked.
 *              2. Before its backoff has ended, one member is tried for each event; the others
 *                 follow if that member finds a node, or when their own backoff ends.
 *              3. While COHORT_MAX_REPORTS reports are in progress, each for less than
 *                 COHORT_MAX_REPORT, no retry of any cohort begins.
 *
 *            So failed attempts keep the pace of the API server. New pods, pods unlike those that
 *            fail, and pods that find room are not delayed. These pods belong to no cohort (to
 *            `loose`) and are never held: pods tried for the first time, pods that met an error,
 *            pods with a nominated node, members of a pod group, and activated pods.
 *
 *            Calls go from the queue to the cohorts. Pods that need not wait any longer are
 *            returned in cohorts.unparked; the queue moves them to activeQ.
 * Ownership: owned by the queue. A cohort lives while it has a member or a report in progress.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_QUEUE_COHORT_H
#define BERTH_ENGINE_QUEUE_COHORT_H

#include "base/heap.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct berth_handle;
struct berth_queued_pod;

/* Durations in ns. */
#define COHORT_PATIENCE    ((int64_t)200000000)  /* the longest time that a cohort is held */
#define COHORT_MAX_REPORT  ((int64_t)1000000000) /* the longest time that a report is awaited */
#define COHORT_QUICK       ((int64_t)1000000)    /* a report this quick requires no rest */
#define COHORT_MAX_REPORTS 16

struct cohort {
    uint64_t key;
    size_t members;     /* pods of this cohort, in any place */
    struct heap early;  /* members in backoffQ, in its order */
    struct heap parked; /* members that wait only for the API server, in the order of activeQ */
    bool fresh;         /* an event requeued a member since the last rejection */
    bool loose;         /* the pods that belong to no cohort: the rules do not apply */
    uint64_t report;    /* the write that reports the last rejection; 0: it has ended */
    int64_t reported, held_until;
    bool overdue;           /* no longer held, though the report is in progress and counts */
    struct heap_node held;  /* in cohorts.held */
    struct heap_node ready; /* in cohorts.ready */
};

struct cohorts {
    const struct berth_handle *const *sort; /* the queue's QueueSort plugin */
    struct map by_key;
    struct map by_report;
    struct cohort loose;
    struct heap ready; /* cohorts that are not held and have a member to try */
    struct heap held;  /* cohorts by held_until */
    size_t n_parked;   /* pods */
    int64_t next_unpark;
    VEC(struct berth_queued_pod *) unparked; /* results, in order; the queue empties it */
};

/* `sort` is read at each comparison; it may change, see cohorts_reorder. */
void cohorts_init(struct cohorts *all, const struct berth_handle *const *sort);
/* Call before the pods are freed. */
void cohorts_release(struct cohorts *all);

/* A new pod: it belongs to no cohort. */
void cohort_add(struct cohorts *all, struct berth_queued_pod *qp);
/* The pod entered backoffQ, or is about to leave it. */
void cohort_enter(struct cohorts *all, struct berth_queued_pod *qp);
void cohort_leave(struct cohorts *all, struct berth_queued_pod *qp);
/* A field that its order in backoffQ depends on has changed. */
void cohort_fix(struct cohorts *all, struct berth_queued_pod *qp);
/* The pod will be freed. */
void cohort_forget(struct cohorts *all, struct berth_queued_pod *qp);

/* Must the pod, the first of activeQ, wait for the API server? */
bool cohort_holds(const struct cohorts *all, const struct berth_queued_pod *qp);
/* The pod has left activeQ and waits until its cohort is no longer held. */
void cohort_park(struct cohorts *all, struct berth_queued_pod *qp, int64_t now);
/* The pod to try when activeQ is empty, parked or before its backoff ends; NULL if none. */
struct berth_queued_pod *cohort_next(const struct cohorts *all);

/* The pod was rejected; the write `report` reports it. 0: the pod belongs to no cohort. */
void cohort_turned_down(struct cohorts *all, struct berth_queued_pod *qp, uint64_t report,
                        int64_t now);

/* --- functions that append to cohorts.unparked ------------------------------------------------ */

/* The write has ended, in success or failure. False: no cohort waits for it. */
bool cohort_report_done(struct cohorts *all, uint64_t report, int64_t now);
/* A member found a node: there may be room for the others. */
void cohort_succeeded(struct cohorts *all, struct cohort *cohort);
/* Call when time has passed. */
void cohorts_flush(struct cohorts *all, int64_t now);
/* The parked pod need not wait any longer. */
void cohort_unpark(struct cohorts *all, struct berth_queued_pod *qp);

/* --- time and order --------------------------------------------------------------------------- */

/* The time of the next flush; INT64_MAX: none. */
int64_t cohorts_next_flush(const struct cohorts *all);
/* The order of activeQ has changed. No pod may be parked. */
void cohorts_reorder(struct cohorts *all);

#endif
