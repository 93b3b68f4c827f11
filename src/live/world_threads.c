/* SPDX-License-Identifier: Apache-2.0 */
/* Other threads than the loop's and the engine's: workers, and what plugins post from their own. */
#include "base/log.h"
#include "live/world_internal.h"

/* How long the end waits for calls of plugins that block. */
#define WORKERS_TIMEOUT (5 * NSEC_PER_SEC)

/* The address of a thread's own variable tells threads apart without a system call. */
static _Thread_local char self;

void world_is_engine_thread_now(struct world *w)
{
    atomic_store(&w->engine_thread, (uintptr_t)&self);
}

bool world_is_engine_thread(void *ctx)
{
    const struct world *w = ctx;
    return atomic_load_explicit(&w->engine_thread, memory_order_relaxed) == (uintptr_t)&self;
}

static void start_watch(void *ctx)
{
    struct world *w = ctx;
    if (w->watch)
        call_watch_start(w->watch, w->loop);
}

void world_watch_calls(struct world *w)
{
    call_report_thread();
    if (w->call_limit <= 0)
        return;
    w->watch = call_watch_new(w->call_limit);
    loop_post(w->loop, start_watch, w);
}

/* From any thread: without waiting for the end of a loop iteration. */
static void post_now(struct world *w, const struct engine_msg *msg)
{
    struct engine_msg *copy = xmalloc(sizeof(*copy));
    *copy = *msg;
    mailbox_post(&w->msgs, &copy->mail);
}

void world_post(void *ctx, struct engine_post *post)
{
    post_now(ctx, &(struct engine_msg){.kind = ENGINE_MSG_POSTED, .post = post});
}

/* --- workers ---------------------------------------------------------------------------------- */

static void on_work_done(void *ctx, struct engine_work *work)
{
    post_now(ctx, &(struct engine_msg){.kind = ENGINE_MSG_WORK_DONE, .work = work});
}

static void on_work_dropped(void *ctx, struct engine_work *work)
{
    (void)ctx;
    engine_work_drop(work);
}

void world_work(void *ctx, struct engine_work *work)
{
    struct world *w = ctx;
    if (!w->workers)
        w->workers = blocking_new(on_work_done, w);
    blocking_run(w->workers, work);
}

bool world_end_workers(struct world *w)
{
    if (!w->workers)
        return true;
    size_t n = blocking_stop(w->workers, on_work_dropped, time_mono() + WORKERS_TIMEOUT);
    if (n) {
        log_error("Calls of plugins have not returned; exiting without them",
                  KV_INT("calls", (int64_t)n));
        return false;
    }
    w->workers = blocking_free(w->workers);
    return true;
}
