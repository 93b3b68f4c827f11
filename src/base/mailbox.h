/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mailbox.h - messages from many threads to one.
 *
 * Purpose:   the only communication between the loop, the engine and the workers. Senders append,
 *            the owner takes everything at once; a burst costs one wake-up, not one per message.
 * Ownership: a posted message belongs to the mailbox until it is taken, then to the owner's thread.
 * Threading: mailbox_post on any thread, the rest on the owner's.
 */
#ifndef BERTH_BASE_MAILBOX_H
#define BERTH_BASE_MAILBOX_H

#include <pthread.h>

#include "base/base.h"

struct mail {
    struct mail *next;
};

struct mailbox {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t filled;
    struct mail *first, **last;
    bool closed;
    int event_fd; /* readable while there is mail, for owners that use epoll; -1: none */
};

/* with_fd: create event_fd. Returns 0 or a negative errno. */
int mailbox_init(struct mailbox *box, bool with_fd) MUST_CHECK;
/* All mail must have been taken. */
void mailbox_release(struct mailbox *box);
void mailbox_post(struct mailbox *box, struct mail *mail);
/* All mail in order of posting, linked by next; NULL if there is none. Clears event_fd. */
struct mail *mailbox_take(struct mailbox *box);
/* Waits for mail until the monotonic time `until` (INT64_MAX: forever) or close, then takes it. */
struct mail *mailbox_wait(struct mailbox *box, int64_t until);
/* For several readers: waits for mail or close, and takes one. NULL: closed. */
struct mail *mailbox_wait_one(struct mailbox *box);
/* Ends waiting permanently, also through event_fd; posting is still allowed. */
void mailbox_close(struct mailbox *box);
bool mailbox_closed(struct mailbox *box);

#endif
