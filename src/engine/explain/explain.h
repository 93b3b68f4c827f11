/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.h - why pods are where they are: the records of attempts.
 *
 * Purpose:   every attempt leaves a record: which event moved the pod to the activeQ, the verdict
 * on every node with plugin and reason, every plugin's scores, the choice, and the queue the pod
 * went to. Always on: recording copies a few compact arrays, texts are made when a record is read.
 * Ownership: a ring of records, bounded in bytes (node names included); the oldest are dropped.
 * Threading: the engine's thread. Other threads ask by message.
 */
#ifndef BERTH_ENGINE_EXPLAIN_EXPLAIN_H
#define BERTH_ENGINE_EXPLAIN_EXPLAIN_H

#include "engine/cycle/cycle.h"
#include "engine/explain/attempt_record.h"
#include "engine/explain/explain_ring.h"
#include "engine/explain/explanation.h"

#define EXPLAIN_MAX_BYTES ((size_t)4 << 20)

enum explain_outcome { EXPLAIN_BOUND, EXPLAIN_UNSCHEDULABLE, EXPLAIN_ERROR };

enum explain_text {
    EXPLAIN_NAMESPACE,
    EXPLAIN_NAME,
    EXPLAIN_UID,
    EXPLAIN_SCHEDULER_NAME,
    EXPLAIN_NODE_NAME, /* where it was bound; empty: nowhere */
    EXPLAIN_MESSAGE,
    EXPLAIN_NOMINATED_NODE,
    EXPLAIN_SURVEY, /* members of its JSON object: survey_write, post_filter_write */
    EXPLAIN_TEXTS,
};

/* One attempt: a piece of the ring, with its record and texts behind it. */
struct explain_record {
    uint64_t number; /* counts all attempts of this engine */
    int64_t started; /* ns, the engine's clock */
    /* What brought the pod back, see struct cluster_event. */
    const char *event_label;
    uint32_t event_resource, event_action;
    uint32_t attempt;
    uint8_t outcome, went_to;     /* enum queue_place: where the pod was put afterwards */
    uint32_t ends[EXPLAIN_TEXTS]; /* of each text, one behind the other */
    _Alignas(8) struct attempt_record record;
};

struct explain {
    const struct framework *framework; /* for names of plugins and texts of reasons */
    struct explain_ring ring;
    size_t bytes, max_bytes; /* names of nodes included */
    uint64_t next_number;
};

/* max_bytes 0: attempts are not recorded. */
void explain_init(struct explain *x, const struct framework *fw, size_t max_bytes);
void explain_release(struct explain *x);
/* Forgets all records. */
void explain_clear(struct explain *x);

/* Ends the cycle's attempt (cycle_end) and packs its results into cycle->record. */
void explain_end_attempt(const struct explain *x, struct berth_cycle *cycle);

/* The result of an attempt. */
struct explain_result {
    const struct berth_queued_pod *queued;
    const struct berth_cycle *cycle;
    const struct cycle_failure *failure; /* NULL: bound */
    struct str node_name;
    int64_t started;
};
/* The record stays valid until the next call; NULL where it alone would exceed the bound. */
struct explain_record *explain_add(struct explain *x, const struct explain_result *result);
struct str explain_text(const struct explain_record *record, enum explain_text which);

/* Appends ,"reasons":[…], or nothing where there are none. */
void explain_write_reasons(const struct reasons *reasons, berth_reason reason, struct buf *out);
/*
 * Appends the records of a pod (empty name: of all pods), oldest first, as one JSON object a line.
 * Returns their number.
 */
size_t explain_write(const struct explain *x, struct str namespace, struct str name,
                     struct buf *out);
/* The same, one line at a time. */
void explain_each(const struct explain *x, struct str namespace, struct str name,
                  struct explain_reader reader);

#endif
