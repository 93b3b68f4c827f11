/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mailbox.h - messages from many threads to one.
 *
 * Purpose:   the only way in which the loop, the engine and the workers talk. Senders append,
 *            the owner takes everything at once; a burst costs one wake-up, not one per message.
 * Ownership: a posted message belongs to the mailbox until it is taken, then to the taker.
 * Threading: mailbox_post from any thread, the rest from the owner's.
 */
#ifndef BERTH_BASE_MAILBOX_H
#define BERTH_BASE_MAILBOX_H

#include <pthread.h>

#include "base/base.h"

struct mail {
    struct mail *next;
};

struct mailbox {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t filled;
    struct mail *first, **last;
    bool closed;
    int event_fd; /* readable while there is mail, for owners that live in epoll; -1: none */
};

/* with_fd: make event_fd. 0 or negative errno. */
int mailbox_init(struct mailbox *box, bool with_fd) MUST_CHECK;
/* All mail must have been taken. */
void mailbox_release(struct mailbox *box);
void mailbox_post(struct mailbox *box, struct mail *mail);
/* All mail in order of posting, linked by next; NULL where there is none. Clears event_fd. */
struct mail *mailbox_take(struct mailbox *box);
/* Waits for mail until the monotonic time `until` (INT64_MAX: for ever) or close, then takes. */
struct mail *mailbox_wait(struct mailbox *box, int64_t until);
/* Ends waiting for good, by event_fd as well; posting is still allowed. */
void mailbox_close(struct mailbox *box);
bool mailbox_closed(struct mailbox *box);

#endif
