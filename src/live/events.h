/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - records events as events.k8s.io/v1 Events.
 *
 * Purpose:   the first occurrence is written as an Event. A repetition within six minutes makes it
 *            a series, which is written when it begins, every half hour, and when it has ended
 *            (upstream: client-go's tools/events broadcaster). Events never block scheduling: few
 *            are in flight at a time, fewer while the server has more urgent writes to answer, and
 *            events that exceed the queue are dropped and counted.
 *            Warnings, as frequent as failed attempts, have a rate limit and a queue of their own
 *            behind the normal events, which are as frequent as bindings.
 * Ownership: the caller owns the recorder. Arguments are copied.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_EVENTS_H
#define BERTH_LIVE_EVENTS_H

#include "api/events.h"
#include "kube/rest/rest.h"

#define EVENT_NOTE_MAX 1024

struct event_info {
    struct object_reference regarding;
    const struct object_reference *related; /* NULL: none */
    struct str type;                        /* "Normal", "Warning" */
    struct str reason;                      /* "Scheduled" */
    struct str action;                      /* "Binding" */
    struct str note;                        /* truncated to EVENT_NOTE_MAX bytes */
    struct str reporting_controller;        /* the profile's schedulerName */
};

/* Zero means the default. Times in ns. */
struct event_recorder_options {
    const char *hostname;  /* for reportingInstance; NULL: the machine's host name */
    size_t max_queue;      /* normal events waiting to be written; default 10000 */
    size_t max_warnings;   /* warnings waiting to be written; default 1000 */
    double warning_qps;    /* default 50; negative: only the client's limit */
    int64_t warning_burst; /* default 100 */
    size_t max_cache;      /* events remembered for series; default 20000 */
    size_t max_in_flight;  /* default 64 */
    /*
     * How many writes are in flight that events must not delay; NULL: none. Events take the place
     * that they leave of max_in_flight, and at least two: many bindings are written before the
     * events about them. When the queue is half full it is at least a quarter of max_in_flight.
     */
    size_t (*urgent)(void *ctx);
    void *ctx;       /* of urgent */
    int max_tries;   /* default 12 */
    int64_t retry;   /* between two attempts of one event, plus up to a quarter; default 10 s */
    int64_t finish;  /* default 6 min */
    int64_t refresh; /* default 30 min */
};

struct event_recorder_stats {
    uint64_t emitted;  /* calls of event_emit */
    uint64_t written;  /* events and series accepted by the server */
    uint64_t dropped;  /* the queue was full */
    uint64_t rejected; /* by the server, or after max_tries */
    size_t queued;     /* normal events and warnings */
    size_t cached, in_flight;
};

struct event_recorder;

struct event_recorder *event_recorder_new(struct rest_client *client,
                                          const struct event_recorder_options *options);
/* Unwritten events are lost. NULL is allowed. Returns NULL. */
struct event_recorder *event_recorder_free(struct event_recorder *recorder);

void event_emit(struct event_recorder *recorder, const struct event_info *info);
void event_recorder_get_stats(const struct event_recorder *recorder,
                              struct event_recorder_stats *ret_stats);

#endif
