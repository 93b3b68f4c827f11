/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "prop.h"

#define ITEMS 1000

struct job {
    size_t size, n, piece;
    unsigned char times[ITEMS]; /* how often each item was worked on */
    atomic_size_t per_worker[16];
    atomic_bool wrong;
};

static void work(void *ctx, size_t worker, size_t from, size_t to)
{
    struct job *job = ctx;
    if (worker >= job->size || from >= to || to > job->n || from % job->piece)
        atomic_store(&job->wrong, true);
    for (size_t i = from; i < to; i++)
        job->times[i]++;
    atomic_fetch_add(&job->per_worker[worker], to - from);
}

static bool each_item_once(struct pool *pool, size_t n, size_t piece)
{
    static struct job job;
    memset(&job, 0, sizeof(job));
    job.size = pool_size(pool);
    job.n = n;
    job.piece = MAX(piece, 1);
    pool_run(pool, n, piece, work, &job);
    size_t total = 0;
    for (size_t i = 0; i < job.size; i++)
        total += atomic_load(&job.per_worker[i]);
    for (size_t i = 0; i < ITEMS; i++)
        if (job.times[i] != (i < n))
            return false;
    return total == n && !atomic_load(&job.wrong);
}

static bool any_split(struct rand *r, size_t size, void *ctx)
{
    return each_item_once(ctx, rand_below(r, size * ITEMS / 100 + 1), rand_below(r, 70));
}

static void every_item_once(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 9; threads += 2) {
        struct pool *pool = pool_new(threads);
        assert_int_equal(pool_size(pool), threads);
        assert_true(prop_run("pool", 1000, any_split, pool));
        assert_null(pool_free(pool));
    }
    assert_null(pool_free(NULL));
}

static void count(void *ctx, size_t worker, size_t from, size_t to)
{
    (void)worker;
    atomic_fetch_add_explicit((atomic_size_t *)ctx, to - from, memory_order_relaxed);
}

/* Many short jobs one after the other: no wake-up is lost, no worker runs into the next. */
static void short_jobs(void **state)
{
    (void)state;
    struct pool *pool = pool_new(4);
    for (size_t i = 0; i < 20000; i++) {
        atomic_size_t done = 0;
        pool_run(pool, 2 + i % 7, 1, count, &done);
        assert_int_equal(atomic_load(&done), 2 + i % 7);
    }
    pool_free(pool);
}

static void meet(void *ctx, size_t worker, size_t from, size_t to)
{
    (void)worker;
    (void)from;
    (void)to;
    /* Returns when all threads are inside: only if the pool really runs them at once. */
    atomic_size_t *inside = ctx;
    atomic_fetch_add(inside, 1);
    while (atomic_load(inside) < 3)
        sched_yield();
}

static void all_threads_take_part(void **state)
{
    (void)state;
    struct pool *pool = pool_new(3);
    for (int i = 0; i < 100; i++) {
        atomic_size_t inside = 0;
        pool_run(pool, 3, 1, meet, &inside);
        assert_int_equal(atomic_load(&inside), 3);
    }
    pool_free(pool);
}

static void alone(void *ctx, size_t worker, size_t from, size_t to)
{
    assert_int_equal(worker, 0);
    assert_int_equal(from, 0);
    *(size_t *)ctx += to;
}

/* A single piece is a plain call on the caller's thread. */
static void small_work(void **state)
{
    (void)state;
    struct pool *pool = pool_new(4);
    size_t total = 0;
    pool_run(pool, 64, 64, alone, &total);
    assert_int_equal(total, 64);
    pool_run(pool, 0, 64, alone, &total);
    assert_int_equal(total, 64);
    pool_free(pool);
}

/* Freed at once, while its threads start, and after one job. */
static void a_pool_may_be_freed_at_any_time(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct pool *pool = pool_new(4);
        atomic_size_t items = 0;
        if (i % 2)
            pool_run(pool, 100, 1, count, &items);
        assert_null(pool_free(pool));
        assert_int_equal(items, i % 2 ? 100 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_once),
        cmocka_unit_test(short_jobs),
        cmocka_unit_test(all_threads_take_part),
        cmocka_unit_test(small_work),
        cmocka_unit_test(a_pool_may_be_freed_at_any_time),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
