/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of controllers: when a work is looked at. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/controllers/work_queue.h"

struct kit {
    struct work_queue q;
    struct work work;
    unsigned n_syncs, n_freed, n_sent;
    uint64_t last_id;
    unsigned tag;
    int status;
};

static void sync_work(void *ctx, struct work *work UNUSED)
{
    ((struct kit *)ctx)->n_syncs++;
}

static void write_done(void *ctx, struct work *work UNUSED, unsigned tag, int status)
{
    struct kit *k = ctx;
    k->tag = tag;
    k->status = status;
}

static void free_work(void *ctx, struct work *work UNUSED)
{
    ((struct kit *)ctx)->n_freed++;
}

static void write_port(void *ctx, const struct writer_request *request)
{
    struct kit *k = ctx;
    k->last_id = request->id;
    k->n_sent++;
}

static void begin(struct kit *k)
{
    *k = (struct kit){0};
    work_queue_init(&k->q, &(struct work_queue_options){.writer = {k, write_port},
                                                        .ctx = k,
                                                        .sync = sync_work,
                                                        .done = write_done,
                                                        .free = free_work});
    work_init(&k->work);
}

static const struct writer_request request = {.verb = WRITER_CREATE, .plural = STR_INIT("pods")};

static void test_changes_and_delays(void **state UNUSED)
{
    struct kit k;
    begin(&k);
    assert_int_equal(work_queue_next(&k.q), INT64_MAX);
    work_add(&k.q, &k.work);
    work_add(&k.q, &k.work);
    assert_int_equal(work_queue_next(&k.q), 0);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, 1);
    work_add_at(&k.q, &k.work, 100);
    work_add_at(&k.q, &k.work, 200); /* the earlier one counts */
    assert_int_equal(work_queue_next(&k.q), 100);
    work_queue_run(&k.q, 99);
    assert_int_equal(k.n_syncs, 1);
    work_queue_run(&k.q, 100);
    assert_int_equal(k.n_syncs, 2);
    assert_int_equal(work_queue_next(&k.q), INT64_MAX);
    work_queue_release(&k.q);
}

static void test_writes_and_retries(void **state UNUSED)
{
    struct kit k;
    begin(&k);
    work_write(&k.q, &k.work, WORK_NOTHING, 7, &request);
    work_add(&k.q, &k.work);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, 0); /* a write is under way */
    assert_true(work_queue_done(&k.q, k.last_id, 500, 10));
    assert_false(work_queue_done(&k.q, k.last_id, 500, 10));
    assert_int_equal(k.tag, 7);
    assert_int_equal(k.status, 500);
    int64_t first = work_queue_next(&k.q) - 10;
    assert_true(first > 0);
    work_queue_run(&k.q, 10 + first);
    assert_int_equal(k.n_syncs, 1);
    work_write(&k.q, &k.work, WORK_NOTHING, 7, &request);
    work_queue_done(&k.q, k.last_id, 500, 0);
    assert_int_equal(work_queue_next(&k.q), 2 * first); /* later each time */
    work_write(&k.q, &k.work, WORK_NOTHING, 7, &request);
    work_queue_done(&k.q, k.last_id, 200, 0);
    assert_int_equal(work_queue_next(&k.q), 0);
    work_queue_release(&k.q);
}

static void test_expectations(void **state UNUSED)
{
    struct kit k;
    begin(&k);
    work_write(&k.q, &k.work, WORK_ADDS, 0, &request);
    work_write(&k.q, &k.work, WORK_DELETES, 0, &request);
    work_queue_done(&k.q, k.last_id - 1, 201, 1);
    work_queue_done(&k.q, k.last_id, 200, 1);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, 0); /* accepted, not seen */
    work_seen_add(&k.q, &k.work);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, 0);
    work_seen_delete(&k.q, &k.work);
    work_seen_delete(&k.q, &k.work); /* of another */
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, 1);
    /* A refused write is not expected. */
    work_write(&k.q, &k.work, WORK_ADDS, 0, &request);
    work_queue_done(&k.q, k.last_id, 403, 1);
    work_queue_run(&k.q, work_queue_next(&k.q));
    assert_int_equal(k.n_syncs, 2);
    /* One that is never seen does not stop the work. */
    work_write(&k.q, &k.work, WORK_ADDS, 0, &request);
    work_queue_done(&k.q, k.last_id, 201, 1);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, 2);
    work_queue_run(&k.q, work_queue_next(&k.q));
    assert_int_equal(k.n_syncs, 3);
    work_queue_release(&k.q);
}

static void test_cost(void **state UNUSED)
{
    struct kit k;
    begin(&k);
    work_queue_run(&k.q, 1000);
    work_cost(&k.q, &k.work, 10000);
    for (int i = 0; i < 100; i++) {
        work_add(&k.q, &k.work);
        work_queue_run(&k.q, 1001 + i);
    }
    assert_int_equal(k.n_syncs, 0);
    assert_int_equal(work_queue_next(&k.q), 1000 + 10000 * NSEC_PER_USEC);
    work_queue_run(&k.q, work_queue_next(&k.q));
    assert_int_equal(k.n_syncs, 1);
    work_queue_release(&k.q);
}

static void test_drop(void **state UNUSED)
{
    struct kit k;
    begin(&k);
    work_write(&k.q, &k.work, WORK_NOTHING, 0, &request);
    work_add(&k.q, &k.work);
    work_drop(&k.q, &k.work);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_freed, 0);
    work_queue_done(&k.q, k.last_id, 200, 2);
    assert_int_equal(k.n_freed, 1);
    assert_int_equal(k.n_syncs, 0);
    work_queue_send(&k.q, &request);
    assert_true(work_queue_done(&k.q, k.last_id, 201, 2));
    work_queue_release(&k.q);
}

static void test_bounded(void **state UNUSED)
{
    struct kit k;
    begin(&k);
    static struct work works[3 * WORK_PER_RUN];
    for (size_t i = 0; i < ARRAY_LEN(works); i++) {
        work_init(&works[i]);
        work_add(&k.q, &works[i]);
    }
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, WORK_PER_RUN);
    assert_int_equal(work_queue_next(&k.q), 0);
    work_queue_run(&k.q, 1);
    work_queue_run(&k.q, 1);
    assert_int_equal(k.n_syncs, ARRAY_LEN(works));
    assert_int_equal(work_queue_next(&k.q), INT64_MAX);
    work_queue_release(&k.q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_and_delays),
        cmocka_unit_test(test_writes_and_retries),
        cmocka_unit_test(test_expectations),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
