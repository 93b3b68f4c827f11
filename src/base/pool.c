/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* The current job. Written by the caller while no worker is inside; workers copy it. */
struct job {
    pool_fn *fn;
    void *ctx;
    size_t n, piece, pieces;
};

struct worker {
    struct pool *pool;
    size_t index;
    pthread_t thread;
};

struct pool {
    pthread_mutex_t lock; /* guards everything below except `next` */
    pthread_cond_t start; /* a job was opened, or the pool is stopping */
    pthread_cond_t done;  /* the last worker left the job */
    struct job job;
    uint64_t generation; /* of the job: a worker joins each job at most once */
    size_t inside;       /* workers inside the job */
    bool open;           /* workers may still join */
    bool stop;
    size_t n_workers; /* without the caller */
    struct worker *workers;
    atomic_size_t next; /* the next piece */
};

static void take_pieces(struct pool *pool, const struct job *job, size_t worker)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= job->pieces)
            return;
        size_t from = i * job->piece;
        job->fn(job->ctx, worker, from, from + MIN(job->piece, job->n - from));
    }
}

static void *work(void *arg)
{
    struct worker *self = arg;
    struct pool *pool = self->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        if (!pool->open || pool->generation == seen) {
            pthread_cond_wait(&pool->start, &pool->lock);
            continue;
        }
        seen = pool->generation;
        struct job job = pool->job;
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);
        take_pieces(pool, &job, self->index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->inside == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Starts as many as possible: with fewer threads the result is the same, only later. */
static void start_workers(struct pool *pool, size_t want)
{
    /* Signals are handled by other threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->n_workers < want) {
        struct worker *w = &pool->workers[pool->n_workers];
        *w = (struct worker){.pool = pool, .index = pool->n_workers + 1};
        if (pthread_create(&w->thread, NULL, work, w))
            break;
        pthread_setname_np(w->thread, "berth-pool");
        pool->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct pool *pool_new(size_t threads)
{
    assert(threads >= 1);
    struct pool *pool = xnew(struct pool);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->workers = xcalloc(threads - 1, sizeof(*pool->workers));
    start_workers(pool, threads - 1);
    return pool;
}

struct pool *pool_free(struct pool *pool)
{
    if (!pool)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->start);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
    return NULL;
}

size_t pool_size(const struct pool *pool)
{
    return pool->n_workers + 1;
}

static void open_job(struct pool *pool, const struct job *job)
{
    pthread_mutex_lock(&pool->lock);
    pool->job = *job;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->generation++;
    pool->open = true;
    /* The caller takes a piece as well, so wake at most pieces - 1 workers. */
    for (size_t i = MIN(pool->n_workers, job->pieces - 1); i > 0; i--)
        pthread_cond_signal(&pool->start);
    pthread_mutex_unlock(&pool->lock);
}

/* No worker joins any more; a worker that has not woken up is not waited for. */
static void close_job(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    while (pool->inside)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, size_t n, size_t piece, pool_fn *fn, void *ctx)
{
    if (n == 0)
        return;
    piece = MAX(piece, (size_t)1);
    if (!pool->n_workers || n <= piece) {
        fn(ctx, 0, 0, n);
        return;
    }
    struct job job = {.fn = fn, .ctx = ctx, .n = n, .piece = piece};
    job.pieces = n / piece + (n % piece != 0);
    open_job(pool, &job);
    take_pieces(pool, &job, 0);
    close_job(pool);
}
