/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - what controllers have to look at: after changes, after a delay, after a failure.
 *
 * Purpose:   the base of controllers that are state machines. A controller has one struct work per
 *            object that it cares for (upstream: a key of its work queue) and a function that looks
 *            at it and makes the next writes (upstream: syncHandler). The queue decides when that
 *            function is called, and carries the writes.
 * Ownership: works are members of the controller's structs. A work that is no longer needed is
 *            given to work_drop and freed by the queue when neither a write nor the queue refers to
 *            it.
 * Threading: one thread.
 *
 * A work is not looked at
 *
 *   - while one of its writes has no answer;
 *   - while creations or deletions that were accepted are not seen as changes (upstream:
 *     expectations): the controller would make them again. After WORK_EXPECT_TIME it is looked at
 *     all the same;
 *   - for a while after a look that was expensive (work_cost), so that n changes of something that
 *     costs n to look at do not cost n².
 *
 * A write that is refused leads to another look, later each time. Patches and updates need a
 * resourceVersion of their own, and deletions a uid, in case that the view was old.
 */
#ifndef BERTH_APISERVER_CONTROLLERS_WORK_QUEUE_H
#define BERTH_APISERVER_CONTROLLERS_WORK_QUEUE_H

#include "apiserver/controllers/writer.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/time.h"

#define WORK_EXPECT_TIME (300 * NSEC_PER_SEC)
#define WORK_PER_RUN     256 /* looks in one call of work_queue_run */

struct work {
    bool queued;
    bool gone;               /* work_drop */
    unsigned n_writes;       /* without an answer */
    unsigned n_failures;     /* of looks in sequence of which a write was refused */
    unsigned n_adds, n_dels; /* expected */
    int64_t expect_until;
    int64_t not_before; /* the last look was expensive */
    int64_t due;        /* INT64_MAX: no timer */
    struct heap_node timer;
};

struct work_queue_options {
    struct writer writer;
    void *ctx;
    /* Looks at it. */
    void (*sync)(void *ctx, struct work *work);
    /* An answer to one of its writes came, with the tag of work_write. May be NULL. */
    void (*done)(void *ctx, struct work *work, unsigned tag, int status);
    /* After work_drop. */
    void (*free)(void *ctx, struct work *work);
};

struct work_queue {
    struct work_queue_options options;
    VEC(struct work *) items;
    size_t at;
    struct heap timers;
    struct map flights; /* id → struct work_flight */
    uint64_t next_id;
    int64_t now; /* of the last call */
};

void work_queue_init(struct work_queue *q, const struct work_queue_options *options);
/* Forgets the writes that are under way and frees what was dropped; the others are the caller's. */
void work_queue_release(struct work_queue *q);

/* Before any other call. */
void work_init(struct work *work);
/* Looks at it in this or the next run. */
void work_add(struct work_queue *q, struct work *work);
/* Looks at it at this time at the latest. */
void work_add_at(struct work_queue *q, struct work *work, int64_t at);
/* The caller does not use it any more. Answers to its writes are ignored. */
void work_drop(struct work_queue *q, struct work *work);

/*
 * Within a look: it read n things. The next look begins n microseconds later or after that.
 */
void work_cost(struct work_queue *q, struct work *work, size_t n);

/* --- writes ----------------------------------------------------------------------------------- */

enum work_effect {
    WORK_NOTHING,
    WORK_ADDS,    /* work_seen_add is called for the change that it makes */
    WORK_DELETES, /* work_seen_delete */
};

/* Sends the request; its id is set here. The tag comes back with the answer. */
void work_write(struct work_queue *q, struct work *work, enum work_effect effect, unsigned tag,
                const struct writer_request *request);
/* Sends a request whose answer does not matter: an Event. */
void work_queue_send(struct work_queue *q, const struct writer_request *request);
/* A change that a write of the work may have made. Others do no harm. */
void work_seen_add(struct work_queue *q, struct work *work);
void work_seen_delete(struct work_queue *q, struct work *work);

/* --- the calls of a host ---------------------------------------------------------------------- */

/* status: of HTTP; 0: no answer. False: the id is not of this queue. */
bool work_queue_done(struct work_queue *q, uint64_t id, int status, int64_t now);
void work_queue_run(struct work_queue *q, int64_t now);
/* When to run next: 0: now; INT64_MAX: after the next change only. */
int64_t work_queue_next(const struct work_queue *q);

#endif
