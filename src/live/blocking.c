/* SPDX-License-Identifier: Apache-2.0 */
#include "live/blocking.h"

#include <pthread.h>
#include <time.h>

#include "base/log.h"
#include "base/time.h"
#include "live/call_report.h"

/* Bindings that block at the same time; further ones wait for a thread. */
#define MAX_THREADS 256
#define STACK_SIZE  ((size_t)512 << 10)
#define MAX_IDLE    (10 * NSEC_PER_SEC)

struct queued_work {
    struct queued_work *next;
    struct engine_work *work;
};

struct blocking {
    blocking_fn *on_done, *on_drop;
    void *ctx;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t filled, emptied;
    struct queued_work *first, **last;
    size_t n_queued, n_threads, n_idle, n_busy;
    bool stopping;
};

struct blocking *blocking_new(blocking_fn *on_done, void *ctx)
{
    struct blocking *w = xnew(struct blocking);
    pthread_condattr_t monotonic;
    *w = (struct blocking){.on_done = on_done, .ctx = ctx};
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->filled, &monotonic);
    pthread_cond_init(&w->emptied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return w;
}

struct blocking *blocking_free(struct blocking *w)
{
    if (!w)
        return NULL;
    pthread_cond_destroy(&w->filled);
    pthread_cond_destroy(&w->emptied);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};
}

/* --- threads ---------------------------------------------------------------------------------- */

/* The next work; NULL: there was none for a while, or there will be none. Called with the lock. */
static struct engine_work *take(struct blocking *w)
{
    struct timespec until = timespec_of(time_mono() + MAX_IDLE);
    w->n_idle++;
    while (!w->first && !w->stopping)
        if (pthread_cond_timedwait(&w->filled, &w->lock, &until) != 0)
            break;
    w->n_idle--;
    struct queued_work *q = w->first;
    if (!q)
        return NULL;
    struct engine_work *work = q->work;
    w->first = q->next;
    if (!w->first)
        w->last = &w->first;
    w->n_queued--;
    free(q);
    return work;
}

static void *worker_main(void *arg)
{
    struct blocking *w = arg;
    struct engine_work *work;
    call_report_thread();
    pthread_mutex_lock(&w->lock);
    while ((work = take(w))) {
        w->n_busy++;
        pthread_mutex_unlock(&w->lock);
        work->run(work);
        w->on_done(w->ctx, work);
        pthread_mutex_lock(&w->lock);
        w->n_busy--;
    }
    w->n_threads--;
    pthread_cond_signal(&w->emptied);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static bool start_thread(struct blocking *w)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    int r = pthread_create(&thread, &attr, worker_main, w);
    if (r == 0)
        pthread_setname_np(thread, "berth-worker");
    pthread_attr_destroy(&attr);
    return r == 0;
}

/* --- work ------------------------------------------------------------------------------------- */

static void enqueue(struct blocking *w, struct engine_work *work)
{
    struct queued_work *q = xnew(struct queued_work);
    q->work = work;
    *w->last = q;
    w->last = &q->next;
    w->n_queued++;
}

void blocking_run(struct blocking *w, struct engine_work *work)
{
    pthread_mutex_lock(&w->lock);
    bool stopping = w->stopping;
    if (!stopping) {
        enqueue(w, work);
        if (w->n_queued > w->n_idle && w->n_threads < MAX_THREADS) {
            w->n_threads++;
            if (!start_thread(w)) {
                w->n_threads--;
                if (!w->n_threads)
                    log_error("Failed to start a thread for plugins that block; the pod waits");
            }
        }
        pthread_cond_signal(&w->filled);
    }
    pthread_mutex_unlock(&w->lock);
    if (stopping)
        w->on_drop(w->ctx, work);
}

size_t blocking_stop(struct blocking *w, blocking_fn *on_drop, int64_t until)
{
    struct timespec deadline = timespec_of(until);
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    w->on_drop = on_drop;
    struct queued_work *q = w->first;
    w->first = NULL;
    w->last = &w->first;
    w->n_queued = 0;
    pthread_cond_broadcast(&w->filled);
    while (w->n_threads && pthread_cond_timedwait(&w->emptied, &w->lock, &deadline) == 0)
        ;
    size_t n = w->n_threads;
    pthread_mutex_unlock(&w->lock);
    while (q) {
        struct queued_work *next = q->next;
        on_drop(w->ctx, q->work);
        free(q);
        q = next;
    }
    return n;
}
