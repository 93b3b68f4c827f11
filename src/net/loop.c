/* SPDX-License-Identifier: Apache-2.0 */
#include "net/loop.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_PER_WAIT 256
#define SCRATCHES       5
/*
 * Rounds of tasks scheduled by tasks before sockets are polled again: enough to get from a request
 * to its bytes in the socket.
 */
#define TASK_ROUNDS     6

struct loop {
    int epoll_fd;
    struct heap timers;
    struct mailbox mailbox;
    struct loop_io mail_io;
    struct loop_task *tasks, **tasks_last;
    int64_t now;
    int load;
    atomic_bool stop;
    struct loop_handle *handle; /* NULL until loop_handle_get */
    struct buf scratch[SCRATCHES];
    struct epoll_event
        events[EVENTS_PER_WAIT]; /* of this iteration; data.ptr NULL: stopped since */
    int n_events;
};

struct post {
    struct mail mail;
    loop_post_fn *fn;
    void *ctx;
};

struct loop_handle {
    pthread_mutex_t lock;
    struct loop *loop; /* guarded by lock; NULL: freed */
    atomic_uint refs;
};

/* --- file descriptors ------------------------------------------------------------------------- */

void loop_io_init(struct loop_io *io, struct loop *loop, int fd, loop_io_fn *fn)
{
    *io = (struct loop_io){.fd = fd, .fn = fn, .loop = loop};
}

void loop_io_set(struct loop_io *io, unsigned events)
{
    if (io->events == events || !io->loop)
        return;
    struct epoll_event e = {.data.ptr = io};
    if (events & LOOP_READ)
        e.events |= EPOLLIN | EPOLLRDHUP;
    if (events & LOOP_WRITE)
        e.events |= EPOLLOUT;
    int op = io->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    int r = epoll_ctl(io->loop->epoll_fd, op, io->fd, &e);
    /* Fails only for a descriptor that cannot be polled, which is a bug. */
    assert(r == 0);
    (void)r;
    io->events = events;
}

void loop_io_stop(struct loop_io *io)
{
    if (!io->loop)
        return;
    loop_io_set(io, 0);
    for (int i = 0; i < io->loop->n_events; i++)
        if (io->loop->events[i].data.ptr == io)
            io->loop->events[i].data.ptr = NULL;
    io->loop = NULL;
}

/* --- timers ----------------------------------------------------------------------------------- */

static bool timer_less(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    const struct loop_timer *x = CONTAINER_OF(a, struct loop_timer, node);
    const struct loop_timer *y = CONTAINER_OF(b, struct loop_timer, node);
    return x->at < y->at;
}

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_timer_fn *fn)
{
    *timer = (struct loop_timer){.fn = fn, .loop = loop};
}

void loop_timer_set(struct loop_timer *timer, int64_t delay)
{
    delay = MAX(delay, 0);
    timer->at = delay > INT64_MAX - timer->loop->now ? INT64_MAX : timer->loop->now + delay;
    if (loop_timer_pending(timer))
        heap_fix(&timer->loop->timers, &timer->node);
    else
        heap_push(&timer->loop->timers, &timer->node);
}

void loop_timer_stop(struct loop_timer *timer)
{
    if (loop_timer_pending(timer))
        heap_remove(&timer->loop->timers, &timer->node);
}

static void run_timers(struct loop *loop)
{
    /*
     * A timer that is set again for "now" waits for the next iteration, so that sockets are not
     * starved.
     */
    int64_t now = loop->now;
    for (struct heap_node *node; (node = heap_peek(&loop->timers));) {
        struct loop_timer *timer = CONTAINER_OF(node, struct loop_timer, node);
        if (timer->at > now)
            break;
        heap_remove(&loop->timers, node);
        loop->now = now + 1;
        timer->fn(timer);
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

void loop_task_schedule(struct loop *loop, struct loop_task *task)
{
    if (task->prev)
        return;
    task->next = NULL;
    task->prev = loop->tasks_last;
    *loop->tasks_last = task;
    loop->tasks_last = &task->next;
}

void loop_task_cancel(struct loop *loop, struct loop_task *task)
{
    if (!task->prev)
        return;
    *task->prev = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else if (loop->tasks_last == &task->next)
        loop->tasks_last = task->prev;
    task->prev = NULL;
}

static void run_task_round(struct loop *loop)
{
    struct loop_task *round = loop->tasks;
    round->prev = &round;
    loop->tasks = NULL;
    loop->tasks_last = &loop->tasks;
    while (round) {
        struct loop_task *task = round;
        loop_task_cancel(loop, task);
        task->fn(task);
    }
}

static void run_tasks(struct loop *loop)
{
    for (int i = 0; loop->tasks && i < TASK_ROUNDS; i++)
        run_task_round(loop);
}

/* --- messages from other threads -------------------------------------------------------------- */

void loop_post(struct loop *loop, loop_post_fn *fn, void *ctx)
{
    struct post *post = xnew(struct post);
    post->fn = fn;
    post->ctx = ctx;
    mailbox_post(&loop->mailbox, &post->mail);
}

static bool run_posts(struct loop *loop)
{
    struct mail *mail = mailbox_take(&loop->mailbox);
    bool any = mail != NULL;
    while (mail) {
        struct post *post = CONTAINER_OF(mail, struct post, mail);
        mail = mail->next;
        post->fn(post->ctx);
        free(post);
    }
    return any;
}

static void on_mail(struct loop_io *io, unsigned events)
{
    (void)events;
    (void)run_posts(CONTAINER_OF(io, struct loop, mail_io));
}

struct loop_handle *loop_handle_get(struct loop *loop)
{
    if (!loop->handle) {
        loop->handle = xnew(struct loop_handle);
        pthread_mutex_init(&loop->handle->lock, NULL);
        loop->handle->loop = loop;
        atomic_init(&loop->handle->refs, 1);
    }
    atomic_fetch_add(&loop->handle->refs, 1);
    return loop->handle;
}

void loop_handle_put(struct loop_handle *handle)
{
    if (!handle || atomic_fetch_sub(&handle->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&handle->lock);
    free(handle);
}

bool loop_handle_post(struct loop_handle *handle, loop_post_fn *fn, void *ctx)
{
    pthread_mutex_lock(&handle->lock);
    bool alive = handle->loop != NULL;
    if (alive)
        loop_post(handle->loop, fn, ctx);
    pthread_mutex_unlock(&handle->lock);
    return alive;
}

static void handle_detach(struct loop *loop)
{
    if (!loop->handle)
        return;
    pthread_mutex_lock(&loop->handle->lock);
    loop->handle->loop = NULL;
    pthread_mutex_unlock(&loop->handle->lock);
    loop_handle_put(loop->handle);
}

/* --- the loop --------------------------------------------------------------------------------- */

int loop_new(struct loop **ret_loop)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct loop *loop = xnew(struct loop);
    int r = mailbox_init(&loop->mailbox, true);
    if (r < 0) {
        close(fd);
        free(loop);
        return r;
    }
    loop->epoll_fd = fd;
    heap_init(&loop->timers, timer_less, NULL);
    loop->tasks_last = &loop->tasks;
    loop->now = time_mono();
    loop_io_init(&loop->mail_io, loop, loop->mailbox.event_fd, on_mail);
    loop_io_set(&loop->mail_io, LOOP_READ);
    *ret_loop = loop;
    return 0;
}

struct loop *loop_free(struct loop *loop)
{
    if (!loop)
        return NULL;
    handle_detach(loop);
    while (run_posts(loop) || loop->tasks)
        run_tasks(loop);
    loop_io_stop(&loop->mail_io);
    mailbox_release(&loop->mailbox);
    heap_release(&loop->timers);
    for (size_t i = 0; i < SCRATCHES; i++)
        buf_release(&loop->scratch[i]);
    close(loop->epoll_fd);
    free(loop);
    return NULL;
}

/* Nanoseconds until a task or timer is due; negative: none is. */
static int64_t time_left(const struct loop *loop, int64_t max_wait)
{
    if (loop->tasks)
        return 0;
    struct heap_node *node = heap_peek(&loop->timers);
    if (!node)
        return max_wait;
    int64_t due = CONTAINER_OF(node, struct loop_timer, node)->at - time_mono();
    due = MAX(due, 0);
    return max_wait < 0 ? due : MIN(max_wait, due);
}

/* Milliseconds to wait, rounded up: waking before a timer is due would spin. */
static int wait_time(const struct loop *loop, int64_t max_wait)
{
    int64_t wait = time_left(loop, max_wait);
    if (wait < 0)
        return -1;
    int64_t ms = wait / NSEC_PER_MSEC + (wait % NSEC_PER_MSEC != 0);
    return (int)MIN(ms, 3600 * 1000);
}

static void rest(const struct loop *loop, int64_t max_wait)
{
    int64_t left = time_left(loop, max_wait), ns = loop->now + LOOP_PACE - time_mono();
    if (left >= 0)
        ns = MIN(ns, left);
    if (ns <= 0 || atomic_load(&loop->stop))
        return;
    struct timespec t = {.tv_sec = (time_t)(ns / NSEC_PER_SEC),
                         .tv_nsec = (long)(ns % NSEC_PER_SEC)};
    nanosleep(&t, NULL); /* an interruption by a signal is harmless */
}

void loop_add_load(struct loop *loop, int delta)
{
    loop->load += delta;
    assert(loop->load >= 0);
}

void loop_step(struct loop *loop, int64_t max_wait)
{
    if (loop->load >= LOOP_BULK)
        rest(loop, max_wait);
    int n = epoll_wait(loop->epoll_fd, loop->events, EVENTS_PER_WAIT, wait_time(loop, max_wait));
    loop->now = time_mono();
    loop->n_events = MAX(n, 0);
    for (int i = 0; i < loop->n_events; i++) {
        struct loop_io *io = loop->events[i].data.ptr;
        if (!io)
            continue;
        uint32_t got = loop->events[i].events;
        unsigned events = 0;
        if (got & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP))
            events |= LOOP_READ;
        if (got & (EPOLLOUT | EPOLLERR | EPOLLHUP))
            events |= LOOP_WRITE;
        io->fn(io, events);
    }
    loop->n_events = 0;
    run_timers(loop);
    run_tasks(loop);
}

void loop_run(struct loop *loop)
{
    while (!atomic_load(&loop->stop))
        loop_step(loop, -1);
    atomic_store(&loop->stop, false);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stop, true);
    loop_post(loop, nothing, NULL); /* wakes it */
}

int64_t loop_now(const struct loop *loop)
{
    return loop->now;
}

struct buf *loop_scratch(struct loop *loop, enum loop_scratch which)
{
    buf_clear(&loop->scratch[which]);
    return &loop->scratch[which];
}
