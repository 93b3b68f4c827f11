/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mailbox.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/time.h"

int mailbox_init(struct mailbox *box, bool with_fd)
{
    int fd = -1;
    if (with_fd) {
        fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0)
            return -errno;
    }
    *box = (struct mailbox){.event_fd = fd};
    box->last = &box->first;
    pthread_mutex_init(&box->lock, NULL);
    /* Waiting must not depend on changes of the wall clock. */
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&box->filled, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

void mailbox_release(struct mailbox *box)
{
    assert(!box->first);
    if (box->event_fd >= 0)
        close(box->event_fd);
    box->event_fd = -1;
    pthread_cond_destroy(&box->filled);
    pthread_mutex_destroy(&box->lock);
}

/* Both under the lock, so that the descriptor is readable exactly while there is mail. */
static void raise_fd(struct mailbox *box)
{
    if (box->event_fd >= 0)
        (void)!eventfd_write(box->event_fd, 1);
}

static void clear_fd(struct mailbox *box)
{
    eventfd_t count;
    if (box->event_fd >= 0)
        (void)!eventfd_read(box->event_fd, &count);
}

void mailbox_post(struct mailbox *box, struct mail *mail)
{
    mail->next = NULL;
    pthread_mutex_lock(&box->lock);
    bool was_empty = !box->first;
    *box->last = mail;
    box->last = &mail->next;
    if (was_empty) {
        raise_fd(box);
        pthread_cond_signal(&box->filled);
    }
    pthread_mutex_unlock(&box->lock);
}

static struct mail *take_locked(struct mailbox *box)
{
    struct mail *all = TAKE(box->first);
    box->last = &box->first;
    clear_fd(box);
    return all;
}

struct mail *mailbox_take(struct mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    struct mail *all = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return all;
}

struct mail *mailbox_wait(struct mailbox *box, int64_t until)
{
    /* A negative time has passed like zero. */
    until = MAX(until, 0);
    struct timespec deadline = {
        .tv_sec = (time_t)(until / NSEC_PER_SEC),
        .tv_nsec = (long)(until % NSEC_PER_SEC),
    };
    pthread_mutex_lock(&box->lock);
    int over = 0;
    while (!box->first && !box->closed && !over) {
        if (until == INT64_MAX)
            pthread_cond_wait(&box->filled, &box->lock);
        else
            over = pthread_cond_timedwait(&box->filled, &box->lock, &deadline);
    }
    struct mail *all = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return all;
}

struct mail *mailbox_wait_one(struct mailbox *box)
{
    struct mail *one = NULL;
    pthread_mutex_lock(&box->lock);
    while (!box->first && !box->closed)
        pthread_cond_wait(&box->filled, &box->lock);
    if (!box->closed) {
        one = box->first;
        box->first = one->next;
        if (box->first) {
            pthread_cond_signal(&box->filled); /* a post signals one reader, for the first mail */
        } else {
            box->last = &box->first;
            clear_fd(box);
        }
    }
    pthread_mutex_unlock(&box->lock);
    return one;
}

void mailbox_close(struct mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    box->closed = true;
    raise_fd(box);
    pthread_cond_broadcast(&box->filled);
    pthread_mutex_unlock(&box->lock);
}

bool mailbox_closed(struct mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    bool closed = box->closed;
    pthread_mutex_unlock(&box->lock);
    return closed;
}
