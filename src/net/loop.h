/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - one thread that waits for sockets, timers and messages.
 *
 * Purpose:   epoll with a heap of timers, a list of things to do before the next wait, and a
 *            mailbox through which other threads hand work in. Everything in src/net lives on a
 *            loop and is called on its thread.
 * Ownership: watches, timers and tasks are embedded in the structs of their users, who stop them
 *            before their memory goes. The loop owns only what was posted.
 * Threading: loop_post and loop_stop may be called from any thread; everything else belongs to the
 *            thread that runs the loop (or to the one that sets it up, before loop_run).
 */
#ifndef BERTH_NET_LOOP_H
#define BERTH_NET_LOOP_H

#include "base/heap.h"
#include "base/mailbox.h"
#include "base/time.h"

struct loop;

/* --- file descriptors ------------------------------------------------------------------------- */

enum loop_event { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop_io;
/*
 * events: LOOP_READ and LOOP_WRITE as far as they were asked for. An error or a hang-up is reported
 * as both, so that the read or write which follows meets it. Level-triggered.
 */
typedef void loop_io_fn(struct loop_io *io, unsigned events);

struct loop_io {
    int fd;
    unsigned events; /* asked for now; 0: not watched */
    loop_io_fn *fn;
    struct loop *loop; /* NULL: not in any loop */
};

/* fd stays the caller's. It is watched from loop_io_set on. */
void loop_io_init(struct loop_io *io, struct loop *loop, int fd, loop_io_fn *fn);
/* What to wait for from now on. Cheap where nothing changes. */
void loop_io_set(struct loop_io *io, unsigned events);
/* Ends watching; fn is not called again, not even for events already fetched. Call before close. */
void loop_io_stop(struct loop_io *io);

/* --- timers ----------------------------------------------------------------------------------- */

struct loop_timer;
typedef void loop_timer_fn(struct loop_timer *timer);

struct loop_timer {
    struct heap_node node;
    int64_t at; /* on loop_now's clock */
    loop_timer_fn *fn;
    struct loop *loop;
};

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_timer_fn *fn);
/* Fires once, `delay` nanoseconds from now at the earliest. Setting again moves it. */
void loop_timer_set(struct loop_timer *timer, int64_t delay);
/* Nothing happens where it is not set, nor where the timer was never initialised but is zero. */
void loop_timer_stop(struct loop_timer *timer);
static inline bool loop_timer_pending(const struct loop_timer *timer)
{
    return heap_contains(&timer->node);
}

/* --- tasks: once, before the loop waits again ------------------------------------------------- */

struct loop_task;
typedef void loop_task_fn(struct loop_task *task);

struct loop_task {
    struct loop_task *next, **prev; /* prev NULL: not scheduled */
    loop_task_fn *fn;
};

static inline void loop_task_init(struct loop_task *task, loop_task_fn *fn)
{
    *task = (struct loop_task){.fn = fn};
}
/*
 * Scheduling twice is scheduling once. What a task schedules comes after all that was scheduled
 * before; tasks that schedule each other for ever leave the sockets their turn.
 */
void loop_task_schedule(struct loop *loop, struct loop_task *task);
void loop_task_cancel(struct loop *loop, struct loop_task *task);

/* --- the loop --------------------------------------------------------------------------------- */

int loop_new(struct loop **ret_loop) MUST_CHECK;
/*
 * Runs the tasks that are scheduled and what is still posted, then gives everything back. No watch
 * or timer may be left, no other thread may post any more. NULL is fine; returns NULL.
 */
struct loop *loop_free(struct loop *loop);

/* Runs until loop_stop. May be called again afterwards. */
void loop_run(struct loop *loop);
/* Any thread. loop_run returns after the round in progress. A stop before loop_run is not lost. */
void loop_stop(struct loop *loop);
/* One round: waits at most max_wait nanoseconds (negative: for ever) for something to do, does it.
 */
void loop_step(struct loop *loop, int64_t max_wait);

/*
 * Any thread: fn(ctx) is called once on the loop's thread, in the order of posting. The loop owns
 * nothing of ctx. Posts are delivered even when the loop ends first (see loop_free).
 */
typedef void loop_post_fn(void *ctx);
void loop_post(struct loop *loop, loop_post_fn *fn, void *ctx);

/*
 * Tells of pieces of work that have been sent out (delta positive) or have come back (negative).
 * While LOOP_BULK or more are out nobody waits for a single one of them: the loop then rests for
 * LOOP_PACE after a round before it looks for more, unless a task or a timer is due, and handles in
 * one go what has gathered. That takes a fraction of the wake-ups and system calls.
 */
#define LOOP_BULK 16
#define LOOP_PACE (4 * NSEC_PER_MSEC)
void loop_add_load(struct loop *loop, int delta);

/* The monotonic time at which this round began: cheap, and the same within one callback. */
int64_t loop_now(const struct loop *loop);

/*
 * Buffers for whoever reads or writes a socket right now, given out empty. Their contents last
 * until the callback returns to the loop.
 */
enum loop_scratch {
    LOOP_SCRATCH_READ,
    LOOP_SCRATCH_OUTER,
    LOOP_SCRATCH_PLAIN,
    LOOP_SCRATCH_WRITE,
    LOOP_SCRATCH_FRAMES
};
struct buf *loop_scratch(struct loop *loop, enum loop_scratch which);

/* --- loops seen from threads that may outlive them -------------------------------------------- */

/*
 * A handle by which a helper thread posts to a loop that may be gone by then; used for name lookup,
 * which nobody can interrupt. Counted; loop_handle_post returns false once the loop was freed.
 */
struct loop_handle;
struct loop_handle *loop_handle_get(struct loop *loop); /* loop's thread; give back by _put */
void loop_handle_put(struct loop_handle *handle);       /* any thread */
bool loop_handle_post(struct loop_handle *handle, loop_post_fn *fn, void *ctx); /* any thread */

#endif
