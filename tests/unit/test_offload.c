/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "net/offload.h"

/* Calls and their threads. */
struct api_write {
    sem_t go, over;
    pthread_t worked_by, ended_by;
    bool worked, done, gone;
};

static void work(void *ctx)
{
    struct api_write *e = ctx;
    while (sem_wait(&e->go) < 0)
        ;
    e->worked = true;
    e->worked_by = pthread_self();
}

static void done(void *ctx)
{
    struct api_write *e = ctx;
    e->done = e->worked;
    e->ended_by = pthread_self();
}

static void gone(void *ctx)
{
    struct api_write *e = ctx;
    e->gone = e->worked;
    e->ended_by = pthread_self();
    sem_post(&e->over);
}

static const struct offload job = {.work = work, .done = done, .gone = gone};

static void test_work_runs_elsewhere_and_ends_here(void **state)
{
    struct api_write errands[8] = {0};
    struct loop *loop;
    (void)state;
    assert_int_equal(loop_new(&loop), 0);
    for (size_t i = 0; i < ARRAY_LEN(errands); i++) {
        sem_init(&errands[i].go, 0, 0);
        assert_int_equal(offload_start(loop, &job, &errands[i]), 0);
    }
    /* The last first: none waits for another. */
    for (size_t i = ARRAY_LEN(errands); i-- > 0;) {
        loop_step(loop, 0);
        assert_false(errands[i].done);
        sem_post(&errands[i].go);
        while (!errands[i].done)
            loop_step(loop, NSEC_PER_SEC);
        assert_true(pthread_equal(errands[i].ended_by, pthread_self()));
        assert_false(pthread_equal(errands[i].worked_by, pthread_self()));
        assert_false(errands[i].gone);
        sem_destroy(&errands[i].go);
    }
    loop_free(loop);
}

static void test_a_freed_loop_gets_no_result(void **state)
{
    struct api_write e = {0};
    struct loop *loop;
    (void)state;
    assert_int_equal(loop_new(&loop), 0);
    sem_init(&e.go, 0, 0);
    sem_init(&e.over, 0, 0);
    assert_int_equal(offload_start(loop, &job, &e), 0);
    loop_free(loop);
    sem_post(&e.go);
    while (sem_wait(&e.over) < 0)
        ;
    assert_true(e.gone);
    assert_false(e.done);
    assert_true(pthread_equal(e.ended_by, e.worked_by));
    sem_destroy(&e.go);
    sem_destroy(&e.over);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_runs_elsewhere_and_ends_here),
        cmocka_unit_test(test_a_freed_loop_gets_no_result),
    };
    return cmocka_run_group_tests_name("offload", tests, NULL, NULL);
}
