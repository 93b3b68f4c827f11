/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server connection with a handler, fed through a socket pair as a network would. The first byte
 * selects whether the preface precedes the bytes (so that the fuzzer need not find it), and
 * whether a client is fed instead.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http_conn.h"
#include "net/http_exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http_conn *conn;

static struct http_stream *on_request(struct http_conn *c, const struct http_head *head)
{
    return &exchange_new(head, c->transport, STR("fuzz:1"))->stream;
}

static struct exchange *exchange_of(struct http_stream *s)
{
    return CONTAINER_OF(s, struct exchange, stream);
}

static void on_data(struct http_stream *s, struct str data)
{
    exchange_take(exchange_of(s), data);
}

static void on_body(struct http_exchange *x, int code)
{
    if (code < 0 && x->body.n)
        abort();
    http_respond(x, code < 0 ? 413 : 200, NULL, 0, x->body);
}

static void on_accepted(struct http_stream *s)
{
    struct exchange *x = exchange_of(s);
    if (x->reject) {
        exchange_reject(x);
        return;
    }
    x->handled = true;
    x->pub.on_gone = http_abort;
    if (x->pub.path.n % 3 == 0) {
        http_abort(&x->pub);
    } else if (x->pub.path.n % 3 == 1) {
        http_read_body(&x->pub, 1000, on_body);
    } else { /* whatever its body is */
        http_respond_stream(&x->pub, 200, NULL, 0);
        http_write(&x->pub, x->pub.path);
        http_end(&x->pub);
    }
}

static void on_end(struct http_stream *s)
{
    exchange_complete(exchange_of(s));
}

static void on_close(struct http_stream *s, int code, const struct err *err, bool retryable)
{
    (void)code, (void)err, (void)retryable;
    exchange_left(exchange_of(s));
}

static void on_drain(struct http_stream *s)
{
    (void)s;
}

static void on_conn_close(struct http_conn *c, int code, const struct err *err)
{
    (void)code, (void)err;
    http_conn_free(c);
    conn = NULL;
}

static const struct http_conn_events server_events = {.on_request = on_request,
                                                      .on_accepted = on_accepted,
                                                      .on_data = on_data,
                                                      .on_end = on_end,
                                                      .on_close = on_close,
                                                      .on_drain = on_drain,
                                                      .on_conn_close = on_conn_close};

/* --- the client's side ------------------------------------------------------------------------ */

static struct http_stream call;

static void call_head(struct http_stream *s, const struct http_head *head)
{
    if (head->status < 200 || s != &call)
        abort();
}
static void call_data(struct http_stream *s, struct str data)
{
    if (!s->head_seen || data.n == 0)
        abort();
}
static void call_close(struct http_stream *s, int code, const struct err *err, bool retryable)
{
    (void)retryable;
    if (s->conn || (code < 0 && !err->msg[0]))
        abort();
}
static void call_room(struct http_conn *c)
{
    (void)c;
}

static const struct http_conn_events client_events = {.on_head = call_head,
                                                      .on_data = call_data,
                                                      .on_close = call_close,
                                                      .on_room = call_room,
                                                      .on_conn_close = on_conn_close};

static const struct transport_ops no_ops = {0};

static void feed(int fd, struct loop *loop, const char *data, size_t n)
{
    char waste[65536];
    for (size_t at = 0; at < n && conn;) {
        ssize_t w = write(fd, data + at, n - at);
        if (w <= 0)
            break;
        at += (size_t)w;
        for (int i = 0; i < 3 && conn; i++)
            loop_step(loop, 0);
        while (read(fd, waste, sizeof(waste)) > 0)
            ;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    int fds[2];
    struct loop *loop;
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
        return 0;
    if (loop_new(&loop) < 0)
        abort();
    bool client = data[0] & 2;
    struct http_conn_limits limits = {.max_header_bytes = 4096,
                                      .max_streams = 20,
                                      .assumed_streams = 20,
                                      .stream_window = 1 << 16};
    struct transport *t = transport_new(loop, fds[0], NULL, &no_ops, NULL);
    loop_step(loop, 0);
    conn = h2_conn_new(t, !client, client ? &client_events : &server_events, NULL, &limits);
    if (client) {
        call = (struct http_stream){.body = STR("body")};
        struct http_out_request request = {.method = STR("POST"),
                                           .target = STR("/"),
                                           .scheme = STR("http"),
                                           .authority = STR("a"),
                                           .has_body = true};
        http_conn_request(conn, &call, &request);
    } else if (data[0] & 1) {
        feed(fds[1], loop, preface, sizeof(preface) - 1);
    }
    feed(fds[1], loop, (const char *)data + 1, size - 1);
    close(fds[1]);
    for (int i = 0; i < 4 && conn; i++)
        loop_step(loop, 0);
    if (conn)
        http_conn_closed(conn, -ECONNRESET, NULL);
    http_stream_release(&call);
    loop_free(loop);
    return 0;
}
