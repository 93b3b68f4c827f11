/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_queue.h - orders writes to the API server, as upstream's API dispatcher does.
 *
 * Purpose:   three rules for all writes about objects.
 *
 *            One write per object: at most one is in flight and at most one waits behind it. A
 *            newer write of the same type is merged with the waiting one, so that the latest value
 *            wins. Of two types, the more relevant one stays and the other is dropped: a binding
 *            replaces a status that is not sent, and waits for one that is in flight (upstream:
 *            call relevances of SchedulerAsyncAPICalls).
 *
 *            Classes: bindings go first, then evictions and nominations, then statuses. Within a
 *            class writes are FIFO. A merged write keeps the position of the older one.
 *
 *            Limits: the client's rate limit, if any, serves the first class that has a write.
 *            Statuses are sent one at a time, as upstream does, so that a slow server gets fewer of
 *            them; a status that takes longer than a second no longer blocks the next. A refresh
 *            also waits for as long as the last status took. Statuses have a rate limit of their
 *            own that all writes consume but only statuses wait for: statuses get what the other
 *            writes leave, and at least a fifth.
 *
 *            The queue also remembers an object as the server returned it until the watch shows the
 *            same version: writes are compared with the server's state, not with the last seen one.
 * Ownership: the caller owns the queue. A queued_write is a member of its owner's struct; the owner
 *            keeps it until write_queue_done follows start, or drop is called.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_WRITE_QUEUE_H
#define BERTH_LIVE_WRITE_QUEUE_H

#include "kube/rest/rest.h"

enum write_class {
    WRITE_CLASS_BINDING, /* a pod is bound */
    WRITE_CLASS_PROMPT,  /* evictions and nominations: other decisions wait for them */
    WRITE_CLASS_STATUS,  /* conditions; limited */
    WRITE_CLASS_REFRESH, /* the same condition with another text; limited, with pauses */
    WRITE_CLASS_COUNT,
};

struct queued_write;

/* A type of write; a static table. */
struct write_type {
    int relevance; /* the higher one stays; types of equal relevance concern different objects */
    /* True if the server already has what this would write: it is dropped instead of sent. */
    bool (*is_redundant)(const struct queued_write *write);
    /* Sends the write. write_queue_done must follow, after start has returned. */
    void (*start)(struct queued_write *write);
    /* The write is not sent: it was replaced or is redundant. */
    void (*drop)(struct queued_write *write);
    /*
     * newer and older have this type and concern the same object. Returns the write that replaces
     * both, after dropping the others; NULL: newer replaces older as it is.
     */
    struct queued_write *(*merge)(struct queued_write *newer, struct queued_write *older);
};

/* The caller sets the first three members. */
struct queued_write {
    const struct write_type *type;
    enum write_class class;
    struct str uid;                    /* of the object; outlives the write */
    struct write_object *object;       /* this and the rest are the queue's */
    struct queued_write *next, **prev; /* prev NULL: in no list */
};

/* Zero means the default. */
struct write_queue_options {
    double status_qps;    /* default 50; negative: only the client's limit */
    int64_t status_burst; /* default 100 */
    size_t max_statuses;  /* in flight at once; default 1 */
    int64_t patience;     /* ns after which one more may be in flight; default 1 s */
};

struct write_queue;

struct write_queue *write_queue_new(struct rest_client *client,
                                    const struct write_queue_options *options);
/* Drops unsent writes; none may be in flight. NULL is allowed. Returns NULL. */
struct write_queue *write_queue_free(struct write_queue *queue);

/* Takes over the write. It is started or dropped, possibly before this returns. */
void write_queue_add(struct write_queue *queue, struct queued_write *write);
/* A started write has ended: the next one for its object may start. */
void write_queue_done(struct write_queue *queue, struct queued_write *write);
/* Number of waiting writes. */
size_t write_queue_unsent(const struct write_queue *queue);
/* Number of started writes that pods wait for: all but statuses. */
size_t write_queue_urgent(const struct write_queue *queue);

/* The server returned the object in its current state. Takes a reference. */
void write_queue_set_known(struct write_queue *queue, struct object *object);
/* Returns the newer of object and the version that the server returned. Borrowed. */
struct object *write_queue_newest(const struct write_queue *queue, struct object *object);
/* The watch has shown the object; gone: its deletion. */
void write_queue_observed(struct write_queue *queue, const struct object *object, bool gone);

#endif
