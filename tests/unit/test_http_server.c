/* SPDX-License-Identifier: Apache-2.0 */
/* A server's limits for its clients: connections, memory, bodies. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/resolve.h"

/* For expected events; reached only on failure. */
#define GUARD (60 * NSEC_PER_SEC)

struct world {
    struct loop *loop;
    struct http_server *server;
    VEC(struct http_exchange *) held; /* by /hold */
    size_t gone, told;
    int code; /* of the last body */
    size_t body_n;
    char remote[64];
};

#define UNTIL(w, cond)                                \
    do {                                              \
        int64_t end_ = time_mono() + GUARD;           \
        while (!(cond) && time_mono() < end_)         \
            loop_step((w)->loop, 10 * NSEC_PER_MSEC); \
        assert_true(cond);                            \
    } while (0)

static void on_gone(struct http_exchange *x)
{
    struct world *w = x->user;
    for (size_t i = 0; i < w->held.n; i++)
        if (w->held.v[i] == x)
            w->held.v[i] = w->held.v[--w->held.n];
    w->gone++;
    http_abort(x);
}

static void on_body(struct http_exchange *x, int code)
{
    struct world *w = x->user;
    w->told++;
    w->code = code;
    w->body_n = x->body.n;
    http_respond_text(x, code < 0 ? 413 : 200, "text/plain", STR("read"));
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct world *w = ctx;
    x->user = w;
    x->on_gone = on_gone;
    snprintf(w->remote, sizeof(w->remote), "%.*s", STR_ARG(x->remote_host));
    if (str_starts(x->path, STR("/known")))
        http_authenticated(x);
    if (str_ends(x->path, STR("/hold")))
        vec_push(&w->held, x);
    else if (str_ends(x->path, STR("/read")))
        http_read_body(x, 1 << 20, on_body);
    else
        http_respond_text(x, 403, "text/plain", STR("no"));
}

static void start(struct world *w, struct http_server_options o)
{
    struct err err;
    *w = (struct world){0};
    assert_int_equal(loop_new(&w->loop), 0);
    o.handle = handle;
    o.ctx = w;
    if (http_server_new(w->loop, &o, &w->server, &err) < 0)
        fail_msg("%s", err.msg);
}

static void stop(struct world *w)
{
    w->server = http_server_free(w->server);
    for (int i = 0; i < 3; i++)
        loop_step(w->loop, 0);
    vec_release(&w->held);
    loop_free(w->loop);
}

static struct http_server_stats stats_of(const struct world *w)
{
    struct http_server_stats stats;
    http_server_get_stats(w->server, &stats);
    return stats;
}

/* --- raw clients ------------------------------------------------------------------------------ */

static int connect_v(const struct world *w, const char *address)
{
    union resolve_address a;
    assert_true(resolve_literal(address, http_server_port(w->server), &a));
    int fd = socket(a.sa.sa_family, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, &a.sa, resolve_address_size(&a)), 0);
    return fd;
}

/* Connects, and waits until the server has accepted. */
static int connect_to(struct world *w)
{
    uint64_t before = stats_of(w).accepted;
    int fd = connect_v(w, "127.0.0.1");
    UNTIL(w, stats_of(w).accepted > before);
    return fd;
}

static void engine_log(int fd, const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* Appends what is available to text. Returns false at the end of the stream. */
static bool hear(int fd, struct buf *text)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_add(text, bytes, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static bool has(struct buf *text, const char *part)
{
    return strstr(buf_cstr(text), part) != NULL;
}

static bool is_open(struct world *w, int fd)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < 3; i++)
        loop_step(w->loop, NSEC_PER_MSEC);
    bool open = hear(fd, &text);
    buf_release(&text);
    return open;
}

static void get(struct world *w, int fd, const char *path)
{
    char text[200];
    struct buf answer = BUF_INIT;
    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
    engine_log(fd, text);
    UNTIL(w, !hear(fd, &answer) || has(&answer, "\r\n\r\nno"));
    assert_true(has(&answer, "HTTP/1.1 403"));
    buf_release(&answer);
}

/* --- bodies ----------------------------------------------------------------------------------- */

struct reply {
    bool done;
    int code, status;
};

static void reply_head(void *ctx, int status, const struct http_headers *headers)
{
    (void)headers;
    ((struct reply *)ctx)->status = status;
}

static void reply_done(void *ctx, int code, const struct err *err, bool retryable)
{
    (void)err, (void)retryable;
    *(struct reply *)ctx =
        (struct reply){.done = true, .code = code, .status = ((struct reply *)ctx)->status};
}

static const struct http_handlers handlers = {.on_head = reply_head, .on_done = reply_done};

static struct http_client *make_client(struct world *w, bool h2)
{
    struct http_client *client;
    struct err err;
    char origin[64];
    snprintf(origin, sizeof(origin), "http://127.0.0.1:%u", http_server_port(w->server));
    struct http_client_options o = {.origin = origin, .h2_prior_knowledge = h2};
    if (http_client_new(w->loop, &o, &client, &err) < 0)
        fail_msg("%s", err.msg);
    return client;
}

static char megabyte[1 << 20];

static void post(struct http_client *client, const char *path, size_t n, struct reply *r)
{
    struct http_request request = {
        .method = STR("POST"), .target = str_of(path), .body = {megabyte, n}, .body_lives = true};
    http_client_send(client, &request, &handlers, r);
}

/* As many bodies as streams allow, without a reader: they stay with the client. */
static void test_bodies_are_not_read_unasked(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        struct world w;
        struct reply replies[50] = {0};
        size_t n = h2 ? ARRAY_LEN(replies) : 16;
        start(&w, (struct http_server_options){0});
        struct http_client *client = make_client(&w, h2);
        for (size_t i = 0; i < n; i++)
            post(client, "/hold", sizeof(megabyte), &replies[i]);
        UNTIL(&w, w.held.n == n);
        for (int i = 0; i < 50; i++)
            loop_step(w.loop, NSEC_PER_MSEC);
        /* HTTP/2: one window and the heads. HTTP/1.1: as much for each connection. */
        size_t most = h2 ? 256 * 1024 : n * 256 * 1024;
        assert_in_range(stats_of(&w).memory, 1, most);
        /* Rejected without reading them: the answer is sent, the body is not. */
        while (w.held.n)
            http_respond_text(w.held.v[--w.held.n], 403, "text/plain", STR("no"));
        for (size_t i = 0; i < n; i++) {
            UNTIL(&w, replies[i].done);
            assert_int_equal(replies[i].status, 403);
        }
        http_client_free(client);
        UNTIL(&w, stats_of(&w).connections == 0);
        assert_int_equal(stats_of(&w).memory, 0);
        stop(&w);
    }
}

/* With a reader they arrive whole, also after a pause, up to the limit; and memory is released. */
static void test_bodies_are_read_when_asked_for(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        static const struct {
            size_t n;
            int code;
        } rows[] = {{0, 0}, {1, 0}, {70000, 0}, {1 << 20, 0}};
        struct world w;
        start(&w, (struct http_server_options){0});
        struct http_client *client = make_client(&w, h2);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct reply late = {0}, r = {0};
            post(client, "/hold", rows[i].n, &late);
            UNTIL(&w, w.held.n == 1);
            for (int k = 0; k < 10; k++)
                loop_step(w.loop, NSEC_PER_MSEC);
            post(client, "/read", rows[i].n, &r);
            http_read_body(w.held.v[--w.held.n], 1 << 20, on_body);
            UNTIL(&w, late.done && r.done);
            assert_int_equal(late.status, 200);
            assert_int_equal(r.status, 200);
            assert_int_equal(w.body_n, rows[i].n);
        }
        struct reply r = {0};
        post(client, "/hold", 1000, &r);
        UNTIL(&w, w.held.n == 1);
        http_read_body(w.held.v[--w.held.n], 999, on_body);
        assert_int_equal(w.code, -EMSGSIZE);
        UNTIL(&w, r.done);
        assert_int_equal(r.status, 413);
        http_client_free(client);
        UNTIL(&w, stats_of(&w).connections == 0);
        assert_int_equal(stats_of(&w).memory, 0);
        stop(&w);
    }
}

/* A body without a length is found to be too long while it is read. */
static void test_chunked_body_too_large(void **state)
{
    (void)state;
    struct world w;
    struct buf answer = BUF_INIT;
    start(&w, (struct http_server_options){0});
    int fd = connect_to(&w);
    engine_log(fd, "POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    size_t sent = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    static const char chunk[] = "10\r\n0123456789abcdef\r\n";
    UNTIL(&w, (sent += send(fd, chunk, sizeof(chunk) - 1, MSG_NOSIGNAL) > 0, hear(fd, &answer),
               has(&answer, "413")));
    assert_int_equal(w.code, -EMSGSIZE);
    close(fd);
    buf_release(&answer);
    stop(&w);
}

static void test_continue_when_asked_for(void **state)
{
    (void)state;
    struct world w;
    start(&w, (struct http_server_options){0});
    static const char *const paths[] = {"/read", "/refused"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct buf answer = BUF_INIT;
        char head[200];
        int fd = connect_to(&w);
        snprintf(head, sizeof(head),
                 "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
                 paths[i]);
        engine_log(fd, head);
        UNTIL(&w, (hear(fd, &answer), answer.n > 0));
        assert_int_equal(has(&answer, "100 Continue"), i == 0);
        if (i == 0)
            engine_log(fd, "hello");
        UNTIL(&w, (hear(fd, &answer), has(&answer, i ? "403 Forbidden" : "200 OK")));
        /* The server does not wait for a client that could not send its body. */
        assert_int_equal(has(&answer, "Connection: close"), i == 1);
        close(fd);
        buf_release(&answer);
    }
    stop(&w);
}

/* The rest of a short body is skipped and the connection stays; a long one closes it. */
static void test_unread_body_and_the_next_request(void **state)
{
    (void)state;
    struct world w;
    start(&w, (struct http_server_options){0});
    struct buf answer = BUF_INIT;
    int fd = connect_to(&w);
    engine_log(fd, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
    UNTIL(&w, (hear(fd, &answer), has(&answer, "\r\n\r\nno")));
    assert_false(has(&answer, "Connection: close"));
    engine_log(fd, "56789");
    get(&w, fd, "/b");
    buf_clear(&answer);
    engine_log(fd, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n01234");
    UNTIL(&w, (hear(fd, &answer), has(&answer, "\r\n\r\nno")));
    assert_true(has(&answer, "Connection: close"));
    close(fd);
    buf_release(&answer);
    stop(&w);
}

/* --- connections ------------------------------------------------------------------------------ */

/* New connections replace the least useful ones: silent ones, the oldest first. */
static void test_the_order_of_writes(void **state)
{
    (void)state;
    struct world w;
    start(&w, (struct http_server_options){.max_connections = 5});
    int known = connect_to(&w), idle = connect_to(&w), busy = connect_to(&w);
    get(&w, known, "/known");
    get(&w, idle, "/idle");
    engine_log(busy, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(&w, w.held.n == 1);
    int silent[10];
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        silent[i] = connect_to(&w);
    assert_int_equal(stats_of(&w).connections, 5);
    assert_int_equal(stats_of(&w).cut, 8);
    assert_int_equal(stats_of(&w).refused, 0);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        assert_int_equal(is_open(&w, silent[i]), i >= 8);
    assert_true(is_open(&w, known) && is_open(&w, idle) && is_open(&w, busy));
    /* The newest is served despite all the others. */
    get(&w, silent[9], "/");
    /* Then idle ones are closed, then busy ones; never busy ones of authenticated clients. */
    int more[4];
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        more[i] = connect_to(&w);
        engine_log(more[i], "GET /known/hold HTTP/1.1\r\nHost: a\r\n\r\n");
        UNTIL(&w, w.held.n + w.gone == i + 2);
    }
    assert_false(is_open(&w, idle));
    assert_false(is_open(&w, busy));
    assert_int_equal(w.gone, 1);
    assert_true(is_open(&w, known));
    int last = connect_to(&w);
    engine_log(last, "GET /known/hold HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(&w, w.held.n == 5);
    assert_false(is_open(&w, known));
    int none = connect_v(&w, "127.0.0.1");
    UNTIL(&w, stats_of(&w).refused == 1);
    assert_int_equal(w.held.n, 5);
    int all[] = {known, idle, busy, last, none, more[0], more[1], more[2], more[3]};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        close(all[i]);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        close(silent[i]);
    stop(&w);
}

/* Out of descriptors: accepting continues by closing silent connections, without spinning. */
static void test_out_of_descriptors(void **state)
{
    (void)state;
    struct world w;
    struct rlimit before, low;
    start(&w, (struct http_server_options){0});
    enum { MANY = 40 };
    int fds[MANY];
    for (size_t i = 0; i < MANY; i++)
        fds[i] = connect_to(&w);
    int last = connect_v(&w, "127.0.0.1"); /* accepted by the kernel, not yet by the server */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(last);
    close(next);
    low = before;
    low.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    get(&w, last, "/");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_in_range(stats_of(&w).cut, 1, 3); /* each accept needs one, even one that fails */
    assert_false(is_open(&w, fds[0]));
    assert_true(is_open(&w, fds[5]));
    for (size_t i = 0; i < MANY; i++)
        close(fds[i]);
    close(last);
    stop(&w);
}

/* Both address families by either wildcard, as in Go. */
static void test_all_addresses(void **state)
{
    (void)state;
    static const char *const all[] = {"0.0.0.0", "::"};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0)
        skip();
    close(fd);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct world w;
        char want[64];
        start(&w, (struct http_server_options){.address = all[i]});
        snprintf(want, sizeof(want), "[::]:%u", http_server_port(w.server));
        assert_string_equal(http_server_address(w.server), want);
        int v4 = connect_v(&w, "127.0.0.1"), v6 = connect_v(&w, "::1");
        get(&w, v4, "/");
        assert_string_equal(w.remote, "127.0.0.1");
        get(&w, v6, "/");
        assert_string_equal(w.remote, "[::1]");
        close(v4);
        close(v6);
        stop(&w);
    }
    struct world w;
    start(&w, (struct http_server_options){.address = "127.0.0.1"});
    assert_true(str_starts(str_of(http_server_address(w.server)), STR("127.0.0.1:")));
    stop(&w);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Unread heads and answers: the largest holder is closed first, authenticated clients stay. */
static void test_memory_of_all(void **state)
{
    (void)state;
    struct world w;
    start(&w, (struct http_server_options){.max_memory = 400 * 1024});
    enum { MANY = 20 };
    int fds[MANY];
    static char head[41000];
    memset(head, 'x', sizeof(head) - 1);
    memcpy(head, "GET /hold HTTP/1.1\r\nHost: a\r\nX-Long: ", 37);
    memcpy(head + sizeof(head) - 5, "\r\n\r\n", 5);
    int known = connect_to(&w);
    engine_log(known, "GET /known/hold HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(&w, w.held.n == 1);
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = connect_to(&w);
        engine_log(fds[i], head);
        UNTIL(&w, w.held.n + w.gone == i + 2);
        assert_in_range(stats_of(&w).memory, 1, 500 * 1024);
    }
    assert_in_range(w.gone, 5, MANY - 2);
    assert_true(is_open(&w, known));
    for (size_t i = 0; i < MANY; i++)
        close(fds[i]);
    close(known);
    UNTIL(&w, stats_of(&w).connections == 0);
    assert_int_equal(stats_of(&w).memory, 0);
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_are_not_read_unasked),
        cmocka_unit_test(test_bodies_are_read_when_asked_for),
        cmocka_unit_test(test_chunked_body_too_large),
        cmocka_unit_test(test_continue_when_asked_for),
        cmocka_unit_test(test_unread_body_and_the_next_request),
        cmocka_unit_test(test_the_order_of_writes),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_all_addresses),
        cmocka_unit_test(test_memory_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
