/* SPDX-License-Identifier: Apache-2.0 */
/* The order, merging and limits of writes. A started write ends when a test ends it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "fake_kube.h"
#include "live/write_queue.h"
#include "objects.h"

struct fake_write {
    struct queued_write queued;
    char text[32]; /* "bind a", "patch a 1" */
    bool needless;
    bool over; /* done or dropped */
};

static struct fake_kube kube;
static struct write_queue *queue;
static struct fake_write writes[600];
static size_t n_writes;
static struct buf started, dropped;

static struct fake_write *of(const struct queued_write *w)
{
    return CONTAINER_OF(w, struct fake_write, queued);
}

static void note(struct buf *out, const struct fake_write *w)
{
    buf_add_printf(out, "%s%s", out->n ? ", " : "", w->text);
}

static bool is_redundant(const struct queued_write *w)
{
    return of(w)->needless;
}

static void start(struct queued_write *w)
{
    note(&started, of(w));
}

static void drop(struct queued_write *w)
{
    of(w)->over = true;
    note(&dropped, of(w));
}

static struct queued_write *merge(struct queued_write *newer, struct queued_write *older)
{
    (void)newer;
    drop(older);
    return NULL;
}

static const struct write_type binding = {2, is_redundant, start, drop, merge};
static const struct write_type status = {1, is_redundant, start, drop, merge};

/* "bind UID" or "patch UID VALUE" */
static struct fake_write *add_as(enum write_class class, const char *what, const char *uid,
                                 int value)
{
    struct fake_write *w = &writes[n_writes++];
    bool binds = strcmp(what, "bind") == 0;

    assert_true(n_writes < ARRAY_LEN(writes));
    *w = (struct fake_write){
        .queued = {.type = binds ? &binding : &status, .class = class, .uid = str_of(uid)}};
    if (binds)
        snprintf(w->text, sizeof(w->text), "bind %s", uid);
    else
        snprintf(w->text, sizeof(w->text), "patch %s %d", uid, value);
    write_queue_add(queue, &w->queued);
    return w;
}

static struct fake_write *add(const char *what, const char *uid, int value)
{
    return add_as(strcmp(what, "bind") == 0 ? WRITE_CLASS_BINDING : WRITE_CLASS_STATUS, what, uid,
                  value);
}

static void end(struct fake_write *w)
{
    w->over = true;
    write_queue_done(queue, &w->queued);
}

/* The writes started since the last call. */
static const char *now_started(void)
{
    static char text[8192];

    loop_step(kube.loop, 0);
    snprintf(text, sizeof(text), "%s", buf_cstr(&started));
    buf_clear(&started);
    return text;
}

static size_t n_started(void)
{
    const char *text = now_started();
    size_t n = *text != '\0';

    for (; *text; text++)
        n += *text == ',';
    return n;
}

static void begin(double qps, int32_t burst, const struct write_queue_options *options)
{
    fake_kube_begin(&kube, NULL);
    if (qps > 0) {
        struct err err;

        rest_client_free(kube.client);
        kube.config.qps = qps;
        kube.config.burst = burst;
        assert_int_equal(
            rest_client_new(kube.loop, &kube.config, &(struct rest_options){0}, &kube.client, &err),
            0);
    }
    queue = write_queue_new(kube.client, options);
}

static int tear_down(void **state)
{
    (void)state;
    queue = write_queue_free(queue);
    fake_kube_end(&kube);
    buf_release(&started);
    buf_release(&dropped);
    n_writes = 0;
    return 0;
}

static const struct write_queue_options unlimited = {.status_qps = -1, .max_statuses = 100};

static void test_one_write_per_object_is_under_way(void **state)
{
    struct fake_write *first, *last;

    (void)state;
    begin(0, 0, &unlimited);
    first = add("patch", "a", 1);
    assert_string_equal(now_started(), "patch a 1");
    add("patch", "a", 2);
    add("patch", "b", 1);
    last = add("patch", "a", 3);
    assert_string_equal(now_started(), "patch b 1");
    assert_string_equal(buf_cstr(&dropped), "patch a 2");
    end(first);
    assert_string_equal(now_started(), "patch a 3");
    end(last);
    assert_string_equal(now_started(), "");
}

static void test_the_latest_status_wins_in_the_place_of_the_first(void **state)
{
    (void)state;
    begin(0, 0, &(struct write_queue_options){.status_qps = -1, .max_statuses = 1});
    struct fake_write *busy = add("patch", "x", 0);

    assert_string_equal(now_started(), "patch x 0");
    add("patch", "a", 1);
    add("patch", "b", 1);
    struct fake_write *latest = add("patch", "a", 2);
    assert_int_equal(write_queue_unsent(queue), 2);
    assert_string_equal(buf_cstr(&dropped), "patch a 1");
    end(busy);
    assert_string_equal(now_started(), "patch a 2");
    end(latest);
    assert_string_equal(now_started(), "patch b 1");
}

static void test_a_binding_drops_an_unsent_status_of_its_pod(void **state)
{
    (void)state;
    begin(0, 0, &unlimited);
    add("patch", "a", 1);
    add("bind", "a", 0);
    assert_string_equal(now_started(), "bind a");
    assert_string_equal(buf_cstr(&dropped), "patch a 1");
}

static void test_a_binding_waits_for_a_status_under_way(void **state)
{
    struct fake_write *patch;

    (void)state;
    begin(0, 0, &unlimited);
    patch = add("patch", "a", 1);
    assert_string_equal(now_started(), "patch a 1");
    add("bind", "a", 0);
    assert_string_equal(now_started(), "");
    /* The status of a pod that is about to be bound is dropped. */
    add("patch", "a", 2);
    assert_string_equal(buf_cstr(&dropped), "patch a 2");
    end(patch);
    assert_string_equal(now_started(), "bind a");
}

static void test_bindings_overtake_statuses(void **state)
{
    static char uids[40][8];

    (void)state;
    begin(0, 0,
          &(struct write_queue_options){.status_qps = 0.01, .status_burst = 5, .max_statuses = 9});
    for (int i = 0; i < 40; i++) {
        snprintf(uids[i], sizeof(uids[i]), "p%d", i);
        add("patch", uids[i], i);
    }
    add("bind", "a", 0);
    add("bind", "b", 0);
    /* They do not wait for the limit, but count. */
    assert_string_equal(now_started(), "bind a, bind b, patch p0 0, patch p1 1, patch p2 2");
    add("bind", "c", 0);
    assert_string_equal(now_started(), "bind c");
}

static void nobody(void *ctx, const struct rest_result *result)
{
    (void)ctx;
    (void)result;
}

/* Three requests a second, of which others have just used the first ones. */
static void test_bindings_get_the_next_request_of_the_client(void **state)
{
    struct rest_request request = {.verb = REST_GET, .path = STR_INIT("/x")};

    (void)state;
    begin(3, 1, &unlimited);
    rest_send(kube.client, &request, nobody, NULL);
    rest_send(kube.client, &request, nobody, NULL);
    add("patch", "a", 1);
    add("bind", "b", 0);
    assert_string_equal(now_started(), "");
    while (write_queue_unsent(queue))
        loop_step(kube.loop, NSEC_PER_SEC);
    assert_string_equal(now_started(), "bind b, patch a 1");
}

static void test_statuses_keep_to_their_limits(void **state)
{
    static char uids[500][8];

    (void)state;
    /* One after the other, however fast they are. */
    begin(0, 0, &(struct write_queue_options){.status_qps = -1, .patience = 3600 * NSEC_PER_SEC});
    for (int i = 0; i < 20; i++) {
        snprintf(uids[i], sizeof(uids[i]), "p%d", i);
        add("patch", uids[i], i);
    }
    assert_string_equal(now_started(), "patch p0 0");
    end(&writes[0]);
    assert_string_equal(now_started(), "patch p1 1");
    end(&writes[1]);
    assert_string_equal(now_started(), "patch p2 2");
    tear_down(state);
    /* A hanging write does not block others, and neither do a few. */
    begin(0, 0, &(struct write_queue_options){.status_qps = -1, .patience = NSEC_PER_MSEC});
    for (int i = 0; i < 20; i++)
        add("patch", uids[i], i);
    while (write_queue_unsent(queue) > 12)
        loop_step(kube.loop, NSEC_PER_SEC);
    loop_step(kube.loop, 5 * NSEC_PER_MSEC);
    assert_int_equal(write_queue_unsent(queue), 12);
    tear_down(state);
    /* By default a hundred, then step by step. */
    begin(0, 0, &(struct write_queue_options){.max_statuses = 500});
    for (int i = 0; i < 500; i++) {
        snprintf(uids[i], sizeof(uids[i]), "p%d", i);
        add("patch", uids[i], i);
    }
    assert_in_range(n_started(), 100, 250);
    assert_in_range(write_queue_unsent(queue), 250, 400);
}

/* Even if bindings never stop. */
static void test_statuses_get_their_share(void **state)
{
    static char uids[10][8];
    int64_t late = time_mono() + 20 * NSEC_PER_SEC;

    (void)state;
    begin(
        0, 0,
        &(struct write_queue_options){.status_qps = 1000, .status_burst = 1, .max_statuses = 100});
    for (int i = 0; i < 10; i++) {
        snprintf(uids[i], sizeof(uids[i]), "p%d", i);
        add("patch", uids[i], i);
    }
    while (write_queue_unsent(queue) && time_mono() < late) {
        struct fake_write *w = add("bind", "b", 0);

        loop_step(kube.loop, 0);
        end(w);
        n_writes--;
    }
    assert_int_equal(write_queue_unsent(queue), 0);
}

static void test_a_refresh_goes_last_and_after_a_rest(void **state)
{
    struct fake_write *first;

    (void)state;
    begin(0, 0, &(struct write_queue_options){.status_qps = -1});
    add_as(WRITE_CLASS_REFRESH, "patch", "a", 2);
    first = add("patch", "b", 1);
    assert_string_equal(now_started(), "patch b 1");
    for (int64_t until = time_mono() + 50 * NSEC_PER_MSEC; time_mono() < until;)
        loop_step(kube.loop, NSEC_PER_MSEC);
    int64_t ended = time_mono();
    end(first);
    assert_string_equal(now_started(), "");
    while (write_queue_unsent(queue))
        loop_step(kube.loop, NSEC_PER_SEC);
    assert_true(time_mono() - ended >= 40 * NSEC_PER_MSEC);
    assert_string_equal(now_started(), "patch a 2");
}

static void test_what_is_needless_is_not_sent(void **state)
{
    struct fake_write *w;

    (void)state;
    begin(0, 0, &(struct write_queue_options){.status_qps = 1, .status_burst = 1});
    w = add("patch", "a", 1);
    w->needless = true;
    add("patch", "b", 1);
    assert_string_equal(now_started(), "patch b 1");
    assert_string_equal(buf_cstr(&dropped), "patch a 1");
    assert_int_equal(write_queue_unsent(queue), 0);
}

static void test_the_answer_counts_until_the_watch_has_shown_it(void **state)
{
    (void)state;
    begin(0, 0, &unlimited);
    struct object *old = POD(.name = "a", .version = "9"), *new = POD(.name = "a", .version = "10"),
                  *newer = POD(.name = "a", .version = "11");

    assert_ptr_equal(write_queue_newest(queue, old), old);
    write_queue_set_known(queue, new);
    assert_ptr_equal(write_queue_newest(queue, old), new);
    assert_ptr_equal(write_queue_newest(queue, newer), newer);
    write_queue_observed(queue, old, false);
    assert_ptr_equal(write_queue_newest(queue, old), new);
    write_queue_observed(queue, newer, false);
    assert_ptr_equal(write_queue_newest(queue, old), old);
    write_queue_set_known(queue, new);
    write_queue_observed(queue, old, true);
    assert_ptr_equal(write_queue_newest(queue, old), old);
    write_queue_set_known(queue, new); /* and is freed at the end */
    object_unref(old);
    object_unref(new);
    object_unref(newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_write_per_object_is_under_way, tear_down),
        cmocka_unit_test_teardown(test_the_latest_status_wins_in_the_place_of_the_first, tear_down),
        cmocka_unit_test_teardown(test_a_binding_drops_an_unsent_status_of_its_pod, tear_down),
        cmocka_unit_test_teardown(test_a_binding_waits_for_a_status_under_way, tear_down),
        cmocka_unit_test_teardown(test_bindings_overtake_statuses, tear_down),
        cmocka_unit_test_teardown(test_bindings_get_the_next_request_of_the_client, tear_down),
        cmocka_unit_test_teardown(test_statuses_keep_to_their_limits, tear_down),
        cmocka_unit_test_teardown(test_statuses_get_their_share, tear_down),
        cmocka_unit_test_teardown(test_a_refresh_goes_last_and_after_a_rest, tear_down),
        cmocka_unit_test_teardown(test_what_is_needless_is_not_sent, tear_down),
        cmocka_unit_test_teardown(test_the_answer_counts_until_the_watch_has_shown_it, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
