/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - one thread that waits for sockets, timers and messages.
 *
 * Purpose:   epoll with a heap of timers, a list of tasks to run before the next wait, and a
 *            mailbox through which other threads post work. Everything in src/net belongs to a loop
 *            and runs on its thread.
 * Ownership: watches, timers and tasks are embedded in their users' structs, which stop them before
 *            their memory is freed. The loop owns only what was posted.
 * Threading: loop_post and loop_stop may be called on any thread; everything else on the thread
 *            that runs the loop (or that sets it up, before loop_run).
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
 * events: the requested ones of LOOP_READ and LOOP_WRITE. An error or hang-up is reported as both,
 * so that the following read or write fails with it. Level-triggered.
 */
typedef void loop_io_fn(struct loop_io *io, unsigned events);

struct loop_io {
    int fd;
    unsigned events; /* requested; 0: not watched */
    loop_io_fn *fn;
    struct loop *loop; /* NULL: not in any loop */
};

/* The caller keeps fd. It is watched from loop_io_set on. */
void loop_io_init(struct loop_io *io, struct loop *loop, int fd, loop_io_fn *fn);
/* Sets the events to wait for. Cheap if nothing changes. */
void loop_io_set(struct loop_io *io, unsigned events);
/*
 * Stops watching; fn is not called again, not even for events already received. Call before close.
 */
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
/* Fires once, `delay` ns from now or later. Setting it again moves it. */
void loop_timer_set(struct loop_timer *timer, int64_t delay);
/* No effect if the timer is not set, or is zero and was never initialised. */
void loop_timer_stop(struct loop_timer *timer);
static inline bool loop_timer_pending(const struct loop_timer *timer)
{
    return heap_contains(&timer->node);
}

/* --- tasks: run once, before the loop waits again --------------------------------------------- */

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
 * Scheduling twice has the effect of once. A task scheduled by a task runs after those scheduled
 * before; tasks that schedule each other forever do not starve the sockets.
 */
void loop_task_schedule(struct loop *loop, struct loop_task *task);
void loop_task_cancel(struct loop *loop, struct loop_task *task);

/* --- the loop --------------------------------------------------------------------------------- */

int loop_new(struct loop **ret_loop) MUST_CHECK;
/*
 * Runs scheduled tasks and pending posts, then frees the loop. No watch or timer may be left, and
 * no other thread may post. NULL is allowed. Returns NULL.
 */
struct loop *loop_free(struct loop *loop);

/* Runs until loop_stop. May be called again afterwards. */
void loop_run(struct loop *loop);
/* Any thread. loop_run returns after the current iteration. A stop before loop_run is not lost. */
void loop_stop(struct loop *loop);
/* One iteration: waits at most max_wait ns (negative: forever) for events and handles them. */
void loop_step(struct loop *loop, int64_t max_wait);

/*
 * Any thread: calls fn(ctx) once on the loop's thread, in the order of posting. The loop does not
 * own ctx. Posts are delivered even if the loop ends first (see loop_free).
 */
typedef void loop_post_fn(void *ctx);
void loop_post(struct loop *loop, loop_post_fn *fn, void *ctx);

/*
 * Reports requests that were sent (delta positive) or answered (negative). While LOOP_BULK or more
 * are open, throughput matters more than latency: the loop then pauses for LOOP_PACE after an
 * iteration, unless a task or a timer is due, and handles together what has arrived. This saves
 * most wake-ups and system calls.
 */
#define LOOP_BULK 16
#define LOOP_PACE (4 * NSEC_PER_MSEC)
void loop_add_load(struct loop *loop, int delta);

/* The monotonic time at which this iteration began: cheap, and constant within one callback. */
int64_t loop_now(const struct loop *loop);

/*
 * Shared buffers for the current read or write of a socket, returned empty. Their content is valid
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

/* --- handles for threads that may outlive the loop -------------------------------------------- */

/*
 * A handle with which a helper thread posts to a loop that may be freed by then; used for name
 * lookups, which cannot be interrupted. Reference counted; loop_handle_post returns false once the
 * loop was freed.
 */
struct loop_handle;
struct loop_handle *loop_handle_get(
    struct loop *loop);                           /* loop's thread; release with loop_handle_put */
void loop_handle_put(struct loop_handle *handle); /* any thread */
bool loop_handle_post(struct loop_handle *handle, loop_post_fn *fn, void *ctx); /* any thread */

#endif
