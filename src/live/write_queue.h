/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_queue.h - the order in which writes go to the API server: upstream's API dispatcher.
 *
 * Purpose:   three rules for whatever is written about objects.
 *
 *            One write per object: at most one is under way and at most one waits behind it. A
 *            newer write of the same type is merged with the one that waits, so the latest value
 *            wins. Of different types the more relevant one stays and the other is dropped: a
 *            binding drops a status that is still unsent, and waits for one that is under way.
 *
 *            Classes: what waits goes by class, bindings first, and within a class first come,
 *            first served. A merged write keeps the place of the older one.
 *
 *            Limits: the client's own limit, if it has one, is spent on the first class that has
 *            something to write. Statuses are written one after the other, as upstream does it, so
 *            that a slow server gets fewer; one that takes longer than a second is not waited for.
 *            Before a refresh the server gets a rest for as long as the last status took. And they
 *            have a limit of their own. It is one of all writes together, but only statuses wait
 *            for it: they get what the others leave, and a fifth of it in any case.
 *
 *            The queue also knows objects as the server last answered them, until the watch has
 *            shown them: a write is compared with what the server has, not with what was seen last.
 * Ownership: the maker's. A queued_write is a member of its owner's struct; the owner keeps it
 *            until start has led to write_queue_done, or drop was called.
 * Threading: the loop's thread.
 */
#ifndef BERTH_LIVE_WRITE_QUEUE_H
#define BERTH_LIVE_WRITE_QUEUE_H

#include "kube/rest/rest.h"

enum write_class {
    WRITE_CLASS_BINDING, /* a pod has a node */
    WRITE_CLASS_PROMPT,  /* evictions and nominations: a decision waits for them */
    WRITE_CLASS_STATUS,  /* what people read; limited */
    WRITE_CLASS_REFRESH, /* the same in other words; limited, with rests */
    WRITE_CLASS_COUNT,
};

struct queued_write;

/* A type of write; a static table. */
struct write_type {
    int relevance; /* the higher one stays; types of one relevance are about different objects */
    /* True where it need not be sent, as the server has what it would write: it is dropped. */
    bool (*is_needless)(const struct queued_write *write);
    /* Sends it. Ends in write_queue_done, not before it has returned. */
    void (*start)(struct queued_write *write);
    /* It will not be sent: another stands for it, or it is needless. */
    void (*drop)(struct queued_write *write);
    /*
     * newer and older are of this type and about one object. Gives the write that stands for both;
     * the others have been dropped. NULL: newer stands for both as it is.
     */
    struct queued_write *(*merge)(struct queued_write *newer, struct queued_write *older);
};

/* The maker sets the first three. */
struct queued_write {
    const struct write_type *type;
    enum write_class class;
    struct str uid;                    /* of the object; outlives the write */
    struct write_object *object;       /* from here on the queue's */
    struct queued_write *next, **prev; /* prev NULL: in no list */
};

/* Zero means the default. */
struct write_queue_options {
    double status_qps;    /* negative: no limit but the client's; 50 */
    int64_t status_burst; /* 100 */
    size_t max_statuses;  /* under way at once: 1 */
    int64_t patience;     /* ns, after which one more may be: 1 s */
};

struct write_queue;

struct write_queue *write_queue_new(struct rest_client *client,
                                    const struct write_queue_options *options);
/* What is unsent is dropped; none may be under way. NULL is fine; returns NULL. */
struct write_queue *write_queue_free(struct write_queue *queue);

/* Takes the write over. It starts, or is dropped, after this has returned or within it. */
void write_queue_add(struct write_queue *queue, struct queued_write *write);
/* The write that was started has ended: the next one about its object may go. */
void write_queue_done(struct write_queue *queue, struct queued_write *write);
/* How many wait. */
size_t write_queue_unsent(const struct write_queue *queue);

/* The server has answered with the object as it is now. Takes a reference. */
void write_queue_know(struct write_queue *queue, struct object *object);
/* The newer one of object and what the server has answered; lent. */
struct object *write_queue_newest(const struct write_queue *queue, struct object *object);
/* The watch has shown the object, or, with gone, that it is there no more. */
void write_queue_saw(struct write_queue *queue, const struct object *object, bool gone);

#endif
