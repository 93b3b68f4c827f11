/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_recorder.h - Events that controllers write about objects.
 *
 * Purpose:   upstream's EventRecorder with its correlation: an event that is repeated counts, the
 *            tenth different message of one reason within ten minutes begins an event "(combined
 *            from similar events)", and one component writes at most 25 events about an object, and
 *            one more every five minutes. Answers are ignored, as upstream drops events.
 * Ownership: keeps hashes and names of events; at most EVENT_RECORDER_MAX reasons.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_CONTROLLERS_EVENT_RECORDER_H
#define BERTH_APISERVER_CONTROLLERS_EVENT_RECORDER_H

#include "apiserver/controllers/work_queue.h"

#define EVENT_RECORDER_MAX 4096

struct event_recorder {
    struct work_queue *queue;
    struct map series;  /* "uid component reason" → struct event_series */
    struct map buckets; /* "uid component" → struct event_bucket */
    int64_t last;       /* the time in the last name: names are not repeated */
    struct buf body;
};

/* The object that an event is about. */
struct event_subject {
    struct str api_version, kind, namespace, name, uid;
    uint64_t version; /* resourceVersion */
};

struct event_text {
    const char *component; /* "replicaset-controller" */
    bool warning;
    const char *reason;
    struct str message;
};

void event_recorder_init(struct event_recorder *r, struct work_queue *queue);
void event_recorder_release(struct event_recorder *r);
/* The time is that of the queue. */
void event_record(struct event_recorder *r, const struct event_subject *subject,
                  const struct event_text *text);

#endif
