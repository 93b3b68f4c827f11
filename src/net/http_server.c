/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_server.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "net/http_exchange.h"
#include "net/resolve.h"

#define BACKLOG          1024
#define ACCEPTS_PER_TURN 64
#define SERVER_WINDOW    ((uint32_t)1 << 20)
/* How long to leave new connections alone when the process is out of descriptors. */
#define ACCEPT_PAUSE     (100 * NSEC_PER_MSEC)

#define PREFACE STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

struct server_conn {
    struct http_server *server;
    struct server_conn *next, **prev;
    struct transport *transport; /* until http takes it over */
    struct http_conn *http;      /* NULL: TLS or the first bytes are awaited */
    char remote[64];
    int64_t accepted;
    char first[24]; /* plain connections: bytes that may be HTTP/2's preface */
    size_t n_first;
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    struct tls_config *tls;
    struct loop_io listener;
    int fd; /* -1: not listening */
    uint16_t port;
    struct server_conn *conns;
    struct exchange *held; /* by handlers */
    struct loop_timer sweep, accept_again, deadline;
    struct loop_task reap;
    int64_t sweep_interval;
    struct http_server_stats stats;
    bool stopping, dead;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* --- connections ------------------------------------------------------------------------------ */

static void check_stopped(struct http_server *server)
{
    /* Told from a timer, so that whoever closed the last connection is done with it. */
    if (server->stopping && !server->conns && server->stopped)
        loop_timer_set(&server->deadline, 0);
}

static void remove_conn(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    *conn->prev = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    server->stats.connections--;
    if (conn->http)
        http_conn_free(conn->http);
    else
        transport_free(conn->transport);
    free(conn);
    if (!server->dead)
        check_stopped(server);
}

/* Ends the connection with all of its exchanges. */
static void close_conn(struct server_conn *conn, int code)
{
    if (conn->http)
        http_conn_closed(conn->http, code, NULL);
    else
        remove_conn(conn);
}

/* --- events of connections -------------------------------------------------------------------- */

static struct exchange *exchange_of(struct http_stream *stream)
{
    return CONTAINER_OF(stream, struct exchange, stream);
}

static struct http_stream *on_request(struct http_conn *http, const struct http_head *head)
{
    struct server_conn *conn = http->owner;
    struct http_server *server = conn->server;
    struct exchange *x =
        exchange_new(head, http->transport, str_of(conn->remote), server->options.max_body);
    return &x->stream;
}

static void on_data(struct http_stream *stream, struct str data)
{
    exchange_take(exchange_of(stream), data);
}

static void on_end(struct http_stream *stream)
{
    struct exchange *x = exchange_of(stream);
    struct server_conn *conn = stream->conn->owner;
    struct http_server *server = conn->server;
    if (x->reject) {
        exchange_reject(x);
        return;
    }
    x->pub.body = buf_str(&x->body);
    x->handled = true;
    x->open = &server->stats.exchanges;
    x->next = server->held;
    x->prev = &server->held;
    if (server->held)
        server->held->prev = &x->next;
    server->held = x;
    server->stats.exchanges++;
    server->stats.requests++;
    stream->progress = loop_now(server->loop);
    server->options.handle(server->options.ctx, &x->pub);
}

static void on_close(struct http_stream *stream, int code, const struct err *err, bool retryable)
{
    (void)code, (void)err, (void)retryable;
    exchange_left(exchange_of(stream));
}

static void on_drain(struct http_stream *stream)
{
    struct exchange *x = exchange_of(stream);
    if (x->pub.on_drain)
        x->pub.on_drain(&x->pub);
}

static void on_conn_close(struct http_conn *http, int code, const struct err *err)
{
    (void)code, (void)err;
    remove_conn(http->owner);
}

static const struct http_conn_events server_events = {
    .on_request = on_request,
    .on_data = on_data,
    .on_end = on_end,
    .on_close = on_close,
    .on_drain = on_drain,
    .on_conn_close = on_conn_close,
};

/* --- which protocol --------------------------------------------------------------------------- */

static void start_http(struct server_conn *conn, bool h2)
{
    struct http_server *server = conn->server;
    struct http_conn_limits limits = {.max_header_bytes = server->options.max_header_bytes,
                                      .max_streams = server->options.max_streams,
                                      .stream_window = SERVER_WINDOW};
    struct transport *t = TAKE(conn->transport);
    conn->http = h2 ? h2_conn_new(t, true, &server_events, conn, &limits)
                    : h1_conn_new(t, true, &server_events, conn, &limits);
    if (server->stopping)
        http_conn_drain(conn->http);
}

static void on_ready(struct transport *t)
{
    struct server_conn *conn = t->owner;
    if (t->tls)
        start_http(conn, str_is(tls_conn_alpn(t->tls), "h2"));
}

/* A plain connection: HTTP/2 begins with its preface, everything else is HTTP/1.1. */
static void on_first_data(struct transport *t, struct str data)
{
    struct server_conn *conn = t->owner;
    size_t n = MIN(data.n, sizeof(conn->first) - conn->n_first);
    memcpy(conn->first + conn->n_first, data.p, n);
    conn->n_first += n;
    struct str first = {conn->first, conn->n_first};
    bool could = !conn->server->options.disable_h2 && str_starts(PREFACE, first);
    if (could && first.n < PREFACE.n)
        return;
    char copy[sizeof(conn->first)];
    memcpy(copy, conn->first, first.n);
    start_http(conn, could);
    t->ops->on_data(t, (struct str){copy, first.n});
    if (!t->dead && !t->closing && data.n > n)
        t->ops->on_data(t, str_slice(data, n, data.n));
}

static void on_early_close(struct transport *t, int code, const struct err *err)
{
    (void)code, (void)err;
    remove_conn(t->owner);
}

static const struct transport_ops first_ops = {
    .on_ready = on_ready, .on_data = on_first_data, .on_close = on_early_close};

/* --- accepting -------------------------------------------------------------------------------- */

static void accept_conn(struct http_server *server, int fd, const union resolve_address *from)
{
    struct tls_conn *tls = NULL;
    if (server->tls) {
        if (tls_conn_new_server(server->tls, &tls, NULL) < 0) {
            close(fd);
            return;
        }
        if (server->options.disable_h2)
            tls_conn_refuse_h2(tls);
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    struct server_conn *conn = xnew(struct server_conn);
    struct buf name = BUF_INIT;
    resolve_address_format(from, &name);
    memcpy(conn->remote, buf_cstr(&name), MIN(name.n, sizeof(conn->remote) - 1));
    buf_release(&name);
    conn->server = server;
    conn->accepted = loop_now(server->loop);
    conn->transport = transport_new(server->loop, fd, tls, &first_ops, conn);
    conn->next = server->conns;
    conn->prev = &server->conns;
    if (server->conns)
        server->conns->prev = &conn->next;
    server->conns = conn;
    server->stats.connections++;
    server->stats.accepted++;
    if (!loop_timer_pending(&server->sweep))
        loop_timer_set(&server->sweep, server->sweep_interval);
}

static void on_acceptable(struct loop_io *io, unsigned events)
{
    struct http_server *server = CONTAINER_OF(io, struct http_server, listener);
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        union resolve_address from = {0};
        socklen_t size = sizeof(from);
        int fd = accept4(server->fd, &from.sa, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            loop_io_set(&server->listener, 0);
            loop_timer_set(&server->accept_again, ACCEPT_PAUSE);
            return;
        }
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (fd < 0)
            continue; /* that one is gone already */
        if (server->stats.connections >= server->options.max_connections) {
            server->stats.refused++;
            close(fd);
            continue;
        }
        accept_conn(server, fd, &from);
    }
}

static void on_accept_again(struct loop_timer *timer)
{
    struct http_server *server = CONTAINER_OF(timer, struct http_server, accept_again);
    if (server->fd >= 0)
        loop_io_set(&server->listener, LOOP_READ);
}

/* --- slow clients ----------------------------------------------------------------------------- */

/* Exchanges whose request or answer does not move. True where the connection has to go. */
static bool sweep_streams(struct server_conn *conn, int64_t now)
{
    const struct http_server_options *o = &conn->server->options;
    for (struct http_stream *s = conn->http->streams, *next; s; s = next) {
        next = s->next;
        bool slow_body = !s->remote_end && now - s->progress > o->body_timeout;
        bool slow_reader = http_stream_queued(s) && now - s->progress > o->write_timeout;
        if (!slow_body && !slow_reader)
            continue;
        struct transport *t = conn->http->transport;
        if (exchange_of(s)->pub.http_major == 1)
            return slow_body || now - t->progress > o->write_timeout;
        http_stream_detach(s);
        exchange_left(exchange_of(s));
        return false; /* on_gone may have changed the list; the others wait for the next sweep */
    }
    return false;
}

static bool is_overdue(struct server_conn *conn, int64_t now)
{
    const struct http_server_options *o = &conn->server->options;
    const struct http_conn *http = conn->http;
    if (!http)
        return now - conn->accepted > o->head_timeout;
    if (transport_queued(http->transport) && now - http->transport->progress > o->write_timeout)
        return true;
    if (http->phase == HTTP_PHASE_HEAD)
        return now - http->since > o->head_timeout;
    return http->phase == HTTP_PHASE_IDLE && now - http->since > o->idle_timeout;
}

static void on_sweep(struct loop_timer *timer)
{
    struct http_server *server = CONTAINER_OF(timer, struct http_server, sweep);
    int64_t now = loop_now(server->loop);
    /* A handler's on_gone may do anything, freeing the server included; closing one connection
     * never removes another, but both are looked at again after each. */
    for (struct server_conn *conn = server->conns, *next; conn && !server->dead; conn = next) {
        next = conn->next;
        if (is_overdue(conn, now) || (conn->http && sweep_streams(conn, now)))
            close_conn(conn, -ETIMEDOUT);
    }
    if (!server->dead && server->conns)
        loop_timer_set(timer, server->sweep_interval);
}

/* --- life ------------------------------------------------------------------------------------- */

static void fill_defaults(struct http_server_options *o)
{
    o->address = o->address ? o->address : "127.0.0.1";
    o->max_connections = o->max_connections ? o->max_connections : 4096;
    o->max_streams = o->max_streams ? o->max_streams : 250;
    o->max_header_bytes = o->max_header_bytes ? o->max_header_bytes : (size_t)64 * 1024;
    o->max_body = o->max_body ? o->max_body : (uint64_t)8 << 20;
    o->head_timeout = o->head_timeout ? o->head_timeout : 10 * NSEC_PER_SEC;
    o->body_timeout = o->body_timeout ? o->body_timeout : 60 * NSEC_PER_SEC;
    o->idle_timeout = o->idle_timeout ? o->idle_timeout : 120 * NSEC_PER_SEC;
    o->write_timeout = o->write_timeout ? o->write_timeout : 60 * NSEC_PER_SEC;
}

/* Often enough for the shortest timeout, at most once a second by default. */
static int64_t sweep_interval(const struct http_server_options *o)
{
    int64_t least =
        MIN(MIN(o->head_timeout, o->body_timeout), MIN(o->idle_timeout, o->write_timeout));
    return MAX(MIN(least / 4, NSEC_PER_SEC), 10 * NSEC_PER_MSEC);
}

static int listen_on(struct http_server *server, struct err *reterr)
{
    const struct http_server_options *o = &server->options;
    union resolve_address address, bound = {0};
    socklen_t size = sizeof(bound);
    int on = 1;
    if (!resolve_literal(o->address, o->port, &address))
        return err_set(reterr, -EINVAL, "cannot listen on \"%s\": not an IP address", o->address);
    int fd = socket(address.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(reterr, -errno, "cannot make a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (o->reuse_port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (address.sa.sa_family == AF_INET6) { /* "::" takes IPv4 as well, as Go's listeners do */
        int off = 0;
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (bind(fd, &address.sa, resolve_address_size(&address)) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &bound.sa, &size) < 0) {
        int e = errno;
        close(fd);
        return err_set(reterr, -e, "cannot listen on %s port %u: %s", o->address, o->port,
                       strerror(e));
    }
    server->fd = fd;
    server->port = ntohs(bound.sa.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    loop_io_init(&server->listener, server->loop, fd, on_acceptable);
    loop_io_set(&server->listener, LOOP_READ);
    return 0;
}

static void stop_listening(struct http_server *server)
{
    if (server->fd < 0)
        return;
    loop_io_stop(&server->listener);
    close(server->fd);
    server->fd = -1;
    loop_timer_stop(&server->accept_again);
}

static void on_reap(struct loop_task *task)
{
    struct http_server *server = CONTAINER_OF(task, struct http_server, reap);
    tls_config_unref(server->tls);
    free(server);
}

static void on_deadline(struct loop_timer *timer)
{
    struct http_server *server = CONTAINER_OF(timer, struct http_server, deadline);
    while (server->conns && !server->dead)
        close_conn(server->conns, -ESHUTDOWN);
    void (*stopped)(void *ctx) = TAKE(server->stopped);
    loop_timer_stop(timer);
    if (stopped && !server->dead)
        stopped(server->stopped_ctx);
}

int http_server_new(struct loop *loop, const struct http_server_options *options,
                    struct http_server **ret_server, struct err *reterr)
{
    struct http_server *server = xnew(struct http_server);
    server->loop = loop;
    server->options = *options;
    server->fd = -1;
    fill_defaults(&server->options);
    server->sweep_interval = sweep_interval(&server->options);
    loop_timer_init(&server->sweep, loop, on_sweep);
    loop_timer_init(&server->accept_again, loop, on_accept_again);
    loop_timer_init(&server->deadline, loop, on_deadline);
    loop_task_init(&server->reap, on_reap);
    int r = listen_on(server, reterr);
    if (r < 0) {
        free(server);
        return r;
    }
    if (options->tls)
        server->tls = tls_config_ref(options->tls);
    *ret_server = server;
    return 0;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_shutdown(struct http_server *server, int64_t deadline, void (*done)(void *ctx),
                          void *ctx)
{
    stop_listening(server);
    server->stopping = true;
    server->stopped = done;
    server->stopped_ctx = ctx;
    loop_timer_set(&server->deadline, deadline);
    for (struct server_conn *conn = server->conns, *next; conn; conn = next) {
        next = conn->next;
        if (conn->http)
            http_conn_drain(conn->http);
        else if (conn->n_first == 0 && !server->tls)
            remove_conn(conn);
    }
    check_stopped(server);
}

struct http_server *http_server_free(struct http_server *server)
{
    if (!server || server->dead)
        return NULL;
    server->dead = true;
    stop_listening(server);
    loop_timer_stop(&server->sweep);
    loop_timer_stop(&server->deadline);
    while (server->conns)
        close_conn(server->conns, -ESHUTDOWN);
    /* Exchanges that handlers still hold live on without us. */
    while (server->held) {
        struct exchange *x = server->held;
        server->held = x->next;
        x->open = NULL;
        x->prev = NULL;
        x->next = NULL;
    }
    loop_task_schedule(server->loop, &server->reap);
    return NULL;
}

void http_server_get_stats(const struct http_server *server, struct http_server_stats *ret_stats)
{
    *ret_stats = server->stats;
}
