/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_server.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "net/http_server_internal.h"

/* HTTP/2: of one stream; all streams together have the same, see h2_session.c. */
#define SERVER_WINDOW 65535

#define PREFACE STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

/* --- connections ------------------------------------------------------------------------------ */

static void check_stopped(struct http_server *server)
{
    /* From a timer, so that the caller that closed the last connection is done with it. */
    if (server->stopping && !server->conns && server->stopped)
        loop_timer_set(&server->deadline, 0);
}

static void remove_conn(struct server_conn *conn)
{
    struct http_server *server = conn->server;
    *conn->prev = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    room_remove(conn);
    if (conn->http)
        http_conn_free(conn->http);
    else
        transport_free(conn->transport);
    free(conn);
    if (!server->dead)
        check_stopped(server);
}

void server_close_conn(struct server_conn *conn, int code)
{
    if (conn->http)
        http_conn_closed(conn->http, code, NULL);
    else
        remove_conn(conn);
}

/* --- connection events ------------------------------------------------------------------------ */

static struct exchange *exchange_of(struct http_stream *stream)
{
    return CONTAINER_OF(stream, struct exchange, stream);
}

static struct http_stream *on_request(struct http_conn *http, const struct http_head *head)
{
    struct server_conn *conn = http->owner;
    conn->asked = true;
    if (room_is_over_share(conn) || !room_check_memory(conn))
        return NULL;
    return &exchange_new(head, http->transport, str_of(conn->remote))->stream;
}

static void hand_over(struct http_server *server, struct exchange *x)
{
    x->handled = true;
    x->open = &server->stats.exchanges;
    x->next = server->held;
    x->prev = &server->held;
    if (server->held)
        server->held->prev = &x->next;
    server->held = x;
    server->stats.exchanges++;
    server->stats.requests++;
    x->stream.progress = loop_now(server->loop);
    server->options.handle(server->options.ctx, &x->pub);
}

static void on_accepted(struct http_stream *stream)
{
    struct exchange *x = exchange_of(stream);
    struct server_conn *conn = stream->conn->owner;
    room_settle(conn);
    if (x->reject)
        exchange_reject(x);
    else
        hand_over(conn->server, x);
}

static void on_data(struct http_stream *stream, struct str data)
{
    struct http_conn *http = stream->conn;
    exchange_take(exchange_of(stream), data);
    if (!http->dead) /* otherwise the handler has ended it */
        (void)room_check_memory(http->owner);
}

static void on_end(struct http_stream *stream)
{
    exchange_complete(exchange_of(stream));
}

static void on_close(struct http_stream *stream, int code, const struct err *err, bool retryable)
{
    struct exchange *x = exchange_of(stream);
    (void)code, (void)err, (void)retryable;
    if (x->account)
        room_settle(CONTAINER_OF(x->account, struct server_conn, account));
    exchange_left(x);
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
    .on_accepted = on_accepted,
    .on_data = on_data,
    .on_end = on_end,
    .on_close = on_close,
    .on_drain = on_drain,
    .on_conn_close = on_conn_close,
};

/* --- protocol detection ----------------------------------------------------------------------- */

static void start_http(struct server_conn *conn, bool h2)
{
    struct http_server *server = conn->server;
    struct http_conn_limits limits = {.max_header_bytes = server->options.max_header_bytes,
                                      .max_streams = server->options.max_streams,
                                      .stream_window = SERVER_WINDOW};
    struct transport *t = TAKE(conn->transport);
    conn->http = h2 ? h2_conn_new(t, true, &server_events, conn, &limits)
                    : h1_conn_new(t, true, &server_events, conn, &limits);
    room_settle(conn);
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

/* Local: over loopback, or from the address that it was sent to. */
static enum conn_side side_of(int fd, const union resolve_address *from)
{
    union resolve_address to = {0};
    socklen_t size = sizeof(to);
    if (resolve_address_is_loopback(from))
        return CONN_LOCAL;
    if (getsockname(fd, &to.sa, &size) < 0)
        return CONN_REMOTE;
    resolve_address_unmap(&to);
    return resolve_address_same_host(from, &to) ? CONN_LOCAL : CONN_REMOTE;
}

static void add_conn(struct http_server *server, int fd, enum conn_side side,
                     const union resolve_address *from, struct tls_conn *tls)
{
    struct server_conn *conn = xnew(struct server_conn);
    struct buf name = BUF_INIT;
    resolve_address_format(from, &name);
    memcpy(conn->remote, buf_cstr(&name), MIN(name.n, sizeof(conn->remote) - 1));
    buf_release(&name);
    conn->server = server;
    conn->side = side;
    conn->accepted = loop_now(server->loop);
    conn->account.parent = &server->account;
    conn->transport = transport_new(server->loop, fd, tls, &first_ops, conn);
    transport_set_account(conn->transport, &conn->account);
    conn->next = server->conns;
    conn->prev = &server->conns;
    if (server->conns)
        server->conns->prev = &conn->next;
    server->conns = conn;
    room_add(conn);
    server->stats.accepted++;
    if (!loop_timer_pending(&server->sweep))
        loop_timer_set(&server->sweep, server->sweep_interval);
}

static void on_conn(struct listener *listener, int fd, const union resolve_address *from)
{
    struct http_server *server = CONTAINER_OF(listener, struct http_server, listener);
    enum conn_side side = side_of(fd, from);
    struct tls_conn *tls = NULL;
    int on = 1;
    if (!room_make(server, side)) {
        server->stats.refused++;
        close(fd);
        return;
    }
    if (server->tls && tls_conn_new_server(server->tls, &tls, NULL) < 0) {
        close(fd);
        return;
    }
    if (tls && server->options.disable_h2)
        tls_conn_refuse_h2(tls);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    add_conn(server, fd, side, from, tls);
}

static bool on_full(struct listener *listener)
{
    return room_cut_any(CONTAINER_OF(listener, struct http_server, listener));
}

/* --- slow clients ----------------------------------------------------------------------------- */

/*
 * Ends exchanges whose request or response makes no progress. Returns true if the connection must
 * be closed.
 */
static bool sweep_streams(struct server_conn *conn, int64_t now)
{
    const struct http_server_options *o = &conn->server->options;
    for (struct http_stream *s = conn->http->streams, *next; s; s = next) {
        next = s->next;
        bool slow_body = !s->remote_end && !s->paused && now - s->progress > o->body_timeout;
        bool slow_reader = http_stream_queued(s) && now - s->progress > o->write_timeout;
        if (!slow_body && !slow_reader)
            continue;
        struct transport *t = conn->http->transport;
        if (exchange_of(s)->pub.http_major == 1)
            return slow_body || now - t->progress > o->write_timeout;
        http_stream_detach(s);
        exchange_left(exchange_of(s));
        return false; /* on_gone may have changed the list; continue at the next sweep */
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
    /*
     * A handler's on_gone may do anything, including freeing the server. Closing one connection
     * never removes another, but both are checked after each.
     */
    for (struct server_conn *conn = server->conns, *next; conn && !server->dead; conn = next) {
        next = conn->next;
        if (is_overdue(conn, now) || (conn->http && sweep_streams(conn, now)))
            server_close_conn(conn, -ETIMEDOUT);
        else
            room_settle(conn);
    }
    if (server->dead)
        return;
    bool untrimmed = room_trim(server);
    if (server->conns || untrimmed)
        loop_timer_set(timer, server->sweep_interval);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void fill_defaults(struct http_server_options *o)
{
    o->address = o->address ? o->address : "127.0.0.1";
    o->max_connections = o->max_connections ? o->max_connections : 4096;
    o->max_memory = o->max_memory ? o->max_memory : (size_t)64 << 20;
    o->max_streams = o->max_streams ? o->max_streams : 100;
    o->max_header_bytes = o->max_header_bytes ? o->max_header_bytes : (size_t)64 * 1024;
    o->head_timeout = o->head_timeout ? o->head_timeout : 10 * NSEC_PER_SEC;
    o->body_timeout = o->body_timeout ? o->body_timeout : 60 * NSEC_PER_SEC;
    o->idle_timeout = o->idle_timeout ? o->idle_timeout : 120 * NSEC_PER_SEC;
    o->write_timeout = o->write_timeout ? o->write_timeout : 60 * NSEC_PER_SEC;
}

/* Often enough for the shortest timeout, at most once per second by default. */
static int64_t sweep_interval(const struct http_server_options *o)
{
    int64_t least =
        MIN(MIN(o->head_timeout, o->body_timeout), MIN(o->idle_timeout, o->write_timeout));
    return MAX(MIN(least / 4, NSEC_PER_SEC), 10 * NSEC_PER_MSEC);
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
        server_close_conn(server->conns, -ESHUTDOWN);
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
    room_init(server);
    server->listener.on_conn = on_conn;
    server->listener.on_full = on_full;
    fill_defaults(&server->options);
    server->sweep_interval = sweep_interval(&server->options);
    loop_timer_init(&server->sweep, loop, on_sweep);
    loop_timer_init(&server->deadline, loop, on_deadline);
    loop_task_init(&server->reap, on_reap);
    int r = listener_open(&server->listener, loop, server->options.address, options->port,
                          options->reuse_port, reterr);
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
    return server->listener.port;
}

const char *http_server_address(const struct http_server *server)
{
    return server->listener.address;
}

void http_server_shutdown(struct http_server *server, int64_t deadline, void (*done)(void *ctx),
                          void *ctx)
{
    listener_close(&server->listener);
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
    listener_close(&server->listener);
    loop_timer_stop(&server->sweep);
    loop_timer_stop(&server->deadline);
    while (server->conns)
        server_close_conn(server->conns, -ESHUTDOWN);
    /* Exchanges held by handlers outlive the server. */
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
    ret_stats->memory = server->account.used;
}

void http_authenticated(struct http_exchange *pub)
{
    struct exchange *x = CONTAINER_OF(pub, struct exchange, pub);
    if (!x->on_stream || !x->stream.conn)
        return;
    struct server_conn *conn = x->stream.conn->owner;
    conn->authenticated = true;
    room_settle(conn);
}
