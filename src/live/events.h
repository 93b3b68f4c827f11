/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - tells people what happened, by Events of events.k8s.io/v1.
 *
 * Purpose:   the first occurrence is written as an Event; a repetition within six minutes makes it
 *            a series, written once when it begins, again every half hour and when it has ended.
 *            Events never stand in the way: few are under way at a time, those that do not fit the
 *            queue are dropped and counted. Warnings, which come as often as pods fail, have a rate
 *            and a queue of their own and go behind the others, which come as often as pods are
 *            bound.
 * Ownership: the recorder belongs to its maker. What it is given is copied.
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
    struct str note;                        /* cut to EVENT_NOTE_MAX bytes */
    struct str reporting_controller;        /* the profile's scheduler name */
};

/* Zero means the default. Times in ns. */
struct event_recorder_options {
    const char *hostname;  /* for reportingInstance; NULL: the machine's */
    size_t max_queue;      /* waiting to be written: 10000 */
    size_t max_warnings;   /* likewise, of warnings: 1000 */
    double warning_qps;    /* negative: no limit but the client's; 50 */
    int64_t warning_burst; /* 100 */
    size_t max_cache;      /* remembered for series: 20000 */
    size_t max_in_flight;  /* 16 */
    int max_tries;         /* 12 */
    int64_t retry;         /* between two tries of one event, plus up to a quarter: 10 s */
    int64_t finish;        /* 6 min */
    int64_t refresh;       /* 30 min */
};

struct event_recorder_stats {
    uint64_t emitted;  /* calls of event_emit */
    uint64_t written;  /* events and series that the server took */
    uint64_t dropped;  /* no room in the queue */
    uint64_t rejected; /* by the server, or given up after max_tries */
    size_t queued;     /* of both kinds */
    size_t cached, in_flight;
};

struct event_recorder;

struct event_recorder *event_recorder_new(struct rest_client *client,
                                          const struct event_recorder_options *options);
/* What was not written yet is lost. NULL is fine; returns NULL. */
struct event_recorder *event_recorder_free(struct event_recorder *recorder);

void event_emit(struct event_recorder *recorder, const struct event_info *info);
void event_recorder_get_stats(const struct event_recorder *recorder,
                              struct event_recorder_stats *ret_stats);

#endif
