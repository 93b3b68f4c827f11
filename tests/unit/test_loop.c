/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "net/loop.h"
#include "net/url.h"

/* --- timers ----------------------------------------------------------------------------------- */

struct clockwork {
    struct loop *loop;
    struct loop_timer timers[50];
    int order[50];
    size_t fired;
};

static struct clockwork *works;
static void record(struct loop_timer *timer)
{
    works->order[works->fired++] = (int)(timer - works->timers);
}

static void test_timers_in_order(void **state)
{
    (void)state;
    struct clockwork c = {0};
    works = &c;
    assert_int_equal(loop_new(&c.loop), 0);
    for (int i = 0; i < 50; i++) {
        loop_timer_init(&c.timers[i], c.loop, record);
        loop_timer_set(&c.timers[i], ((i * 17) % 50) * NSEC_PER_MSEC / 10);
    }
    loop_timer_stop(&c.timers[3]);
    loop_timer_set(&c.timers[4], 10 * NSEC_PER_MSEC); /* moved after all others */
    while (c.fired < 49)
        loop_step(c.loop, NSEC_PER_SEC);
    for (size_t i = 1; i < 49; i++)
        assert_true(c.timers[c.order[i - 1]].at <= c.timers[c.order[i]].at);
    assert_int_equal(c.order[48], 4);
    assert_false(loop_timer_pending(&c.timers[3]));
    loop_free(c.loop);
}

static int again;
static void rearm(struct loop_timer *timer)
{
    if (++again < 5)
        loop_timer_set(timer, 0);
}

static void test_timer_rearms_itself(void **state)
{
    (void)state;
    struct loop *loop;
    struct loop_timer timer;
    again = 0;
    assert_int_equal(loop_new(&loop), 0);
    loop_timer_init(&timer, loop, rearm);
    loop_timer_set(&timer, 0);
    loop_step(loop, 0);
    assert_int_equal(again, 1); /* once per round: sockets are served in between */
    while (again < 5)
        loop_step(loop, NSEC_PER_SEC);
    loop_free(loop);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static struct loop *the_loop;
static struct loop_task tasks[3];
static int ran[3];

static void run_first(struct loop_task *task)
{
    (void)task;
    ran[0]++;
    loop_task_cancel(the_loop, &tasks[1]);
    loop_task_schedule(the_loop, &tasks[2]);
    loop_task_schedule(the_loop, &tasks[2]);
}
static void run_second(struct loop_task *task)
{
    (void)task;
    ran[1]++;
}
static void run_third(struct loop_task *task)
{
    (void)task;
    ran[2]++;
}

static void test_tasks(void **state)
{
    (void)state;
    assert_int_equal(loop_new(&the_loop), 0);
    loop_task_init(&tasks[0], run_first);
    loop_task_init(&tasks[1], run_second);
    loop_task_init(&tasks[2], run_third);
    loop_task_schedule(the_loop, &tasks[0]);
    loop_task_schedule(the_loop, &tasks[1]);
    loop_step(the_loop, -1); /* does not sleep: a task is pending */
    assert_int_equal(ran[0], 1);
    assert_int_equal(ran[1], 0);
    assert_int_equal(ran[2], 1);
    loop_task_schedule(the_loop, &tasks[1]);
    the_loop = loop_free(the_loop); /* runs pending tasks */
    assert_int_equal(ran[1], 1);
}

static int turns;

static void run_again(struct loop_task *task)
{
    turns++;
    loop_task_schedule(the_loop, task);
}
static void count_post(void *ctx)
{
    ++*(int *)ctx;
}

static void test_tasks_without_end_leave_others_their_turn(void **state)
{
    (void)state;
    struct loop_task task;
    int posts = 0;
    assert_int_equal(loop_new(&the_loop), 0);
    loop_task_init(&task, run_again);
    loop_task_schedule(the_loop, &task);
    for (int i = 1; i <= 10; i++) {
        loop_post(the_loop, count_post, &posts);
        loop_step(the_loop, -1);
        assert_int_equal(posts, i);
    }
    assert_true(turns >= 10);
    loop_task_cancel(the_loop, &task);
    the_loop = loop_free(the_loop);
}

static void fire(struct loop_timer *timer)
{
    (void)timer;
}

static void test_a_loaded_loop_gathers_but_holds_up_no_timer(void **state)
{
    (void)state;
    struct loop *loop;
    struct loop_timer timer;
    int posts = 0;
    assert_int_equal(loop_new(&loop), 0);
    loop_step(loop, 0);
    int64_t round = loop_now(loop);
    loop_add_load(loop, LOOP_BULK);
    loop_post(loop, count_post, &posts);
    loop_step(loop, -1);
    assert_int_equal(posts, 1);
    assert_true(loop_now(loop) - round >= LOOP_PACE);
    loop_timer_init(&timer, loop, fire);
    loop_timer_set(&timer, 0);
    loop_step(loop, -1);
    assert_false(loop_timer_pending(&timer));
    loop_add_load(loop, -LOOP_BULK);
    loop_post(loop, count_post, &posts);
    loop_step(loop, -1);
    assert_int_equal(posts, 2);
    loop_free(loop);
}

/* --- posts ------------------------------------------------------------------------------------ */

#define POSTERS 4
#define POSTS   2000

struct poster {
    struct loop *loop;
    int from, next;
    int *total;
};
struct message {
    struct poster *poster;
    int number;
};

static void receive(void *ctx)
{
    struct message *m = ctx;
    assert_int_equal(m->number, m->poster->next++); /* in order per sender */
    if (++*m->poster->total == POSTERS * POSTS)
        loop_stop(m->poster->loop);
    free(m);
}

static void *poster_main(void *ctx)
{
    struct poster *p = ctx;
    for (int i = 0; i < POSTS; i++) {
        struct message *m = xnew(struct message);
        m->poster = p;
        m->number = i;
        loop_post(p->loop, receive, m);
    }
    return NULL;
}

static void test_posts(void **state)
{
    (void)state;
    struct loop *loop;
    int total = 0;
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    assert_int_equal(loop_new(&loop), 0);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.loop = loop, .from = i, .total = &total};
        assert_int_equal(pthread_create(&threads[i], NULL, poster_main, &posters[i]), 0);
    }
    loop_run(loop);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(total, POSTERS * POSTS);
    loop_free(loop);
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

static void test_free_delivers(void **state)
{
    (void)state;
    struct loop *loop;
    int n = 0;
    assert_int_equal(loop_new(&loop), 0);
    struct loop_handle *handle = loop_handle_get(loop);
    loop_post(loop, count, &n);
    assert_true(loop_handle_post(handle, count, &n));
    loop_free(loop);
    assert_int_equal(n, 2);
    assert_false(loop_handle_post(handle, count, &n));
    assert_int_equal(n, 2);
    loop_handle_put(handle);
}

static void test_stop_before_run(void **state)
{
    (void)state;
    struct loop *loop;
    assert_int_equal(loop_new(&loop), 0);
    loop_stop(loop);
    loop_run(loop);
    loop_free(loop);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static struct loop_io ends[2];
static int calls;
static void stop_both(struct loop_io *io, unsigned events)
{
    (void)io;
    assert_true(events & LOOP_READ);
    calls++;
    loop_io_stop(&ends[0]);
    loop_io_stop(&ends[1]);
}

static void test_stop_in_the_same_round(void **state)
{
    (void)state;
    struct loop *loop;
    int a[2], b[2];
    calls = 0;
    assert_int_equal(loop_new(&loop), 0);
    assert_int_equal(pipe(a), 0);
    assert_int_equal(pipe(b), 0);
    loop_io_init(&ends[0], loop, a[0], stop_both);
    loop_io_init(&ends[1], loop, b[0], stop_both);
    loop_io_set(&ends[0], LOOP_READ);
    loop_io_set(&ends[1], LOOP_READ);
    assert_int_equal(write(a[1], "x", 1), 1);
    assert_int_equal(write(b[1], "x", 1), 1);
    loop_step(loop, NSEC_PER_SEC);
    loop_step(loop, 0);
    assert_int_equal(calls, 1);
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
    loop_free(loop);
}

/* --- URLs ------------------------------------------------------------------------------------- */

static void test_url_parse(void **state)
{
    (void)state;
    struct url u;
    assert_int_equal(url_parse(STR("https://us:p%40@[::1]:6443/a/b?c=d&e#f"), &u, NULL), 0);
    assert_true(str_is(u.scheme, "https"));
    assert_true(str_is(u.user, "us"));
    assert_true(str_is(u.password, "p%40"));
    assert_true(str_is(u.host, "::1"));
    assert_true(u.host_is_ipv6);
    assert_int_equal(u.port, 6443);
    assert_true(str_is(u.path, "/a/b"));
    assert_true(str_is(u.query, "c=d&e"));
    assert_true(str_is(u.fragment, "f"));
    assert_int_equal(url_parse(STR("HTTP://example.com"), &u, NULL), 0);
    assert_int_equal(u.port, 80);
    assert_false(u.port_given);
    assert_int_equal(u.path.n, 0);
    static const char *const bad[] = {
        "",           "example.com", "://x",           "http://",
        "http://:80", "http://a b",  "http://a:99999", "http://a:",
        "http://a:x", "http://[::1", "http://[x]",     "http://a/%zz",
        "1http://a",  "http://a\n",  "http://[::1]x",  "http://a?b@c:",
        "http://us@", "http://a,b/", "http://[]:1",    "http://a/%2",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        int r = url_parse(str_of(bad[i]), &u, &err);
        if (strcmp(bad[i], "http://a?b@c:") == 0) {
            assert_int_equal(r, 0); /* the '@' is in the query */
            continue;
        }
        if (r != -EINVAL || !err.msg[0])
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void test_url_encode(void **state)
{
    (void)state;
    struct buf b = BUF_INIT, back = BUF_INIT;
    buf_add_cstr(&b, "/x?");
    url_add_query(&b, STR("a b"));
    buf_add_char(&b, '=');
    url_add_query(&b, STR("c&d=/e\xc3\xa9"));
    buf_add_cstr(&b, "&k=");
    assert_true(str_is(buf_str(&b), "/x?a%20b=c%26d%3D%2Fe%C3%A9&k="));
    struct str rest = str_slice(buf_str(&b), 3, b.n), key, value;
    assert_true(url_query_next(&rest, &key, &value));
    assert_int_equal(url_decode(value, true, &back), 0);
    assert_true(str_is(buf_str(&back), "c&d=/e\xc3\xa9"));
    assert_true(url_query_next(&rest, &key, &value));
    assert_true(str_is(key, "k"));
    assert_int_equal(value.n, 0);
    assert_false(url_query_next(&rest, &key, &value));
    assert_int_equal(url_decode(STR("%4"), false, &back), -EINVAL);
    buf_clear(&back);
    url_add_authority(&back, STR("::1"), 80);
    assert_true(str_is(buf_str(&back), "[::1]:80"));
    buf_release(&b);
    buf_release(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_in_order),
        cmocka_unit_test(test_timer_rearms_itself),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_tasks_without_end_leave_others_their_turn),
        cmocka_unit_test(test_a_loaded_loop_gathers_but_holds_up_no_timer),
        cmocka_unit_test(test_posts),
        cmocka_unit_test(test_free_delivers),
        cmocka_unit_test(test_stop_before_run),
        cmocka_unit_test(test_stop_in_the_same_round),
        cmocka_unit_test(test_url_parse),
        cmocka_unit_test(test_url_encode),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
