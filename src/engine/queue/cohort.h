/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cohort.h - pods that were turned down alike, and how soon they are tried again.
 *
 * Purpose:   hundreds of pods may wait for the same room. Every event that could help brings all of
 *            them back, each attempt in vain is told to the API server, and an engine that is
 *            faster than the server would do nothing else. Upstream is held up by its own writes:
 *            it sends the status of a pod before it tries the next one. Here the writes go on
 *            beside the attempts, so the queue has to be told of their end.
 *
 *            A cohort is the pods of one shape (requests, selectors, affinity, tolerations,
 *            priority) that the same plugins turned down: while one of them fails, so do the
 *            others.
 *
 *              1. After a retry in vain no other member is tried until the API server has been
 *                 told, and for as long again as that took: a slow server gets a rest.
 *                 COHORT_PATIENCE at most. A member whose backoff ends meanwhile is parked.
 *              2. Before its backoff has ended, one member is tried for each event; the others only
 *                 if that one finds a node, or when their own backoff ends.
 *              3. While COHORT_MAX_REPORTS reports are under way, and for less than
 *                 COHORT_MAX_REPORT, no retry of any cohort begins.
 *
 *            So attempts in vain keep the pace of the API server, while pods that are new, pods
 *            that differ from those that fail, and pods that find room are not held up. Not in a
 *            cohort, and never held: pods tried for the first time, pods that met an error, that
 *            have a nominated node, that belong to a pod group, or that somebody activated.
 * Ownership: the queue's. A cohort lives while a pod is in it or a report of it is under way.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_QUEUE_COHORT_H
#define BERTH_ENGINE_QUEUE_COHORT_H

#include "base/heap.h"
#include "base/map.h"
#include "base/str.h"

struct berth_queued_pod;
struct queue;

/* Durations in ns. */
#define COHORT_PATIENCE    ((int64_t)200000000)  /* a cohort is held no longer */
#define COHORT_MAX_REPORT  ((int64_t)1000000000) /* a report is waited for no longer */
#define COHORT_QUICK       ((int64_t)1000000)    /* a report this quick calls for no rest */
#define COHORT_MAX_REPORTS 16

struct cohort {
    uint64_t key;
    size_t members;     /* pods whose cohort it is, wherever they wait */
    struct heap early;  /* of these in backoffQ, in its order */
    struct heap parked; /* of these: ready but for the API server, in the order of activeQ */
    bool fresh;         /* an event has brought one back since one was last turned down */
    bool loose;         /* of those that are in none: rules do not apply */
    uint64_t report;    /* the write that tells of the last one turned down; 0: it has ended */
    int64_t reported, held_until;
    bool overdue;           /* held no longer, though the report is under way, and counts */
    struct heap_node held;  /* in cohorts.held */
    struct heap_node ready; /* in cohorts.ready */
};

struct cohorts {
    struct map by_key;
    struct map by_report;
    struct cohort loose;
    struct heap ready; /* those that are not held and have one to try */
    struct heap held;  /* by the time until which they are */
    size_t n_parked;   /* pods */
    int64_t next_unpark;
};

void cohorts_init(struct queue *q);
/* Before the pods are freed. */
void cohorts_release(struct queue *q);

/* The pod has come to backoffQ, or is about to leave it; heaps of the queue are not touched. */
void cohort_enter(struct queue *q, struct berth_queued_pod *qp);
void cohort_leave(struct queue *q, struct berth_queued_pod *qp);
/* What its place in backoffQ depends on has changed. */
void cohort_fix(struct queue *q, struct berth_queued_pod *qp);
/* It will be freed. */
void cohort_forget(struct queue *q, struct berth_queued_pod *qp);

/* The first of activeQ must wait for the API server. */
bool cohort_holds(const struct queue *q, const struct berth_queued_pod *qp);
/* Takes a pod out of activeQ to wait until its cohort is no longer held. */
void cohort_park(struct queue *q, struct berth_queued_pod *qp, int64_t now);
/* The pod to try next where activeQ is empty: parked, or before its backoff ends; NULL: none. */
struct berth_queued_pod *cohort_next(const struct queue *q);

/* One of them has a node: there may be room for the others. */
void cohort_succeeded(struct queue *q, struct cohort *cohort);

/* Time has passed. */
void cohorts_flush(struct queue *q, int64_t now);
int64_t cohorts_next_flush(const struct queue *q);
/* No pod is parked any more. */
void cohorts_unpark_all(struct queue *q);
/* The order of activeQ has become another. None may be parked. */
void cohorts_reorder(struct queue *q);

#endif
