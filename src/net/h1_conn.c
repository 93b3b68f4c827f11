/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 connections, client and server: one exchange at a time, the only one in base.streams. */
#include "net/h1_parser.h"
#include "net/http_conn.h"
#include "net/http_server.h"

/*
 * A server that responds before the request is complete reads on for a while: closing at once would
 * reset the connection and lose the response.
 */
#define LINGER_MAX   ((size_t)4 << 20)
/* Limit of pipelined requests, or of a body that was not requested, held during a response. */
#define PIPELINE_MAX ((size_t)64 * 1024)
/* No further request is read while more than this of earlier responses is unsent. */
#define UNSENT_MAX   ((size_t)16 * 1024)
/* The rest of a body up to this size is skipped so that the connection can be reused. */
#define SKIP_MAX     ((uint64_t)64 * 1024)

struct h1_conn {
    struct http_conn base;
    struct h1_parser parser;
    struct buf in;          /* received and not parsed */
    struct loop_task again; /* parse `in` */
    struct loop_task reap;
    bool parsing;     /* within parse(): do not enter it again */
    bool responded;   /* server: the head is sent */
    bool chunked;     /* server: the response is chunked */
    bool drop_body;   /* server: HEAD or a status without body */
    bool close_after; /* no further exchange follows */
    bool aborted;     /* will be closed by the task `again` */
    bool skipping;    /* server: the request is answered, the rest of its body is discarded */
    bool lingering;
    size_t lingered;
    size_t reported; /* size of `in` and the parser, as reported to the connection's account */
};

static struct h1_conn *h1_of(struct http_conn *conn)
{
    return CONTAINER_OF(conn, struct h1_conn, base);
}

static struct loop *loop_of(const struct h1_conn *c)
{
    return c->base.transport->loop;
}

/* The exchange has ended on this connection. */
static void leave(struct h1_conn *c, int code, const struct err *err, bool retryable)
{
    struct http_stream *s = c->base.streams;
    if (!s)
        return;
    http_stream_leave(s);
    c->base.events->on_close(s, code, err, retryable);
}

static void conn_closed(struct h1_conn *c, int code, const struct err *err)
{
    if (c->base.dead)
        return;
    c->base.draining = true;
    /* No byte of a response on a reused connection: the server had closed it. */
    if (c->base.streams && !c->base.server && c->base.reused && h1_parser_is_idle(&c->parser)) {
        struct err stale;
        err_set(&stale, -ECONNRESET, "connection closed by the peer while idle");
        leave(c, -ECONNRESET, &stale, true);
    }
    http_conn_closed(&c->base, code, err);
}

/* --- input: client ---------------------------------------------------------------------------- */

static void client_done(struct h1_conn *c, size_t rest)
{
    bool keep = c->parser.keep_alive && rest == 0 && !c->close_after && !c->base.draining;
    h1_parser_reset(&c->parser);
    c->base.reused = true;
    http_conn_set_phase(&c->base, HTTP_PHASE_IDLE);
    if (!keep)
        c->base.draining = true;
    leave(c, 0, NULL, false);
    if (c->base.dead)
        return;
    if (keep)
        c->base.events->on_room(&c->base);
    else
        transport_shutdown(c->base.transport);
}

/* False if parsing cannot continue. */
static bool client_event(struct h1_conn *c, enum h1_event event, struct str data, size_t rest)
{
    struct h1_parser *p = &c->parser;
    if (event == H1_HEAD) {
        if (p->status < 200) {
            h1_parser_reset(p);
            return true;
        }
        struct http_head head = {.status = p->status, .headers = &p->headers, .http_major = 1};
        c->base.streams->head_seen = true;
        c->base.events->on_head(c->base.streams, &head);
    } else if (event == H1_DATA) {
        c->base.events->on_data(c->base.streams, data);
    } else {
        client_done(c, rest);
        return false;
    }
    return !c->base.dead && c->base.streams && !c->base.streams->paused;
}

/* --- input: server ---------------------------------------------------------------------------- */

static void linger(struct h1_conn *c)
{
    c->lingering = true;
    c->base.draining = true;
    transport_resume(c->base.transport);
    http_conn_set_phase(&c->base, HTTP_PHASE_HEAD); /* the server's timeout for heads limits it */
}

/* The rest of the request is short, and the client sends it in any case. */
static bool can_skip(const struct h1_conn *c)
{
    return c->parser.state == H1_STATE_LENGTH && c->parser.left <= SKIP_MAX &&
           !c->base.streams->expects_continue;
}

static void ready_for_next(struct h1_conn *c)
{
    c->skipping = false;
    h1_parser_reset(&c->parser);
    http_conn_set_phase(&c->base, HTTP_PHASE_IDLE);
}

/* The response is sent. */
static void server_done(struct h1_conn *c)
{
    bool complete = c->base.streams->remote_end;
    bool keep = (complete || can_skip(c)) && !c->close_after && !c->base.draining;
    c->responded = false;
    if (keep) {
        if (complete) {
            ready_for_next(c);
        } else {
            c->skipping = true;
            http_conn_set_phase(&c->base, HTTP_PHASE_HEAD); /* for its timeout */
        }
        transport_resume(c->base.transport);
        loop_task_schedule(loop_of(c), &c->again);
    } else if (complete) {
        c->base.draining = true;
        transport_shutdown(c->base.transport);
    } else {
        linger(c);
    }
    leave(c, 0, NULL, false);
}

static void on_request_head(struct h1_conn *c)
{
    struct h1_parser *p = &c->parser;
    struct http_head head = {.method = p->method,
                             .target = p->target,
                             .authority = http_headers_get(&p->headers, "host"),
                             .headers = &p->headers,
                             .has_body = p->has_body,
                             .http_major = 1};
    c->close_after = !p->keep_alive;
    http_conn_set_phase(&c->base, HTTP_PHASE_BUSY);
    struct http_stream *s = c->base.events->on_request(&c->base, &head);
    if (!s || c->base.dead)
        return;
    http_stream_attach(&c->base, s);
    s->head_request = str_is(p->method, "HEAD");
    s->progress = loop_now(loop_of(c));
    s->paused = p->has_body;
    s->expects_continue = p->expects_continue && p->has_body;
}

/* An error in the head is answered directly: there is no exchange for it. */
static void bad_request(struct h1_conn *c, int code, const struct err *err)
{
    int status = code == -EMSGSIZE ? 431 : 400;
    struct buf out = BUF_INIT;
    buf_add_printf(&out,
                   "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                   "Content-Length: %zu\r\n\r\n%s\n",
                   status, http_status_text(status), strlen(err->msg) + 1, err->msg);
    transport_write(c->base.transport, out.p, out.n);
    buf_release(&out);
    linger(c);
}

/* A request without a body is passed on at its end, which follows its head at once. */
static bool server_event(struct h1_conn *c, enum h1_event event, struct str data)
{
    if (c->skipping) {
        if (event == H1_END)
            ready_for_next(c);
        return true;
    }
    if (event == H1_HEAD) {
        on_request_head(c);
        if (!c->base.dead && !c->base.streams)
            conn_closed(c, -ECONNREFUSED, NULL);
        else if (!c->base.dead && c->parser.has_body)
            c->base.events->on_accepted(c->base.streams);
    } else if (event == H1_DATA) {
        c->base.events->on_data(c->base.streams, data);
    } else {
        c->base.streams->remote_end = true;
        if (c->parser.has_body)
            c->base.events->on_end(c->base.streams);
        else
            c->base.events->on_accepted(c->base.streams);
        return false; /* the next request waits for this response */
    }
    return !c->base.dead && c->base.streams && !c->base.streams->paused && !c->lingering;
}

/* --- input: both ------------------------------------------------------------------------------ */

static void parse_failed(struct h1_conn *c, int code, const struct err *err)
{
    if (c->base.server && !c->responded && !c->base.streams)
        bad_request(c, code, err);
    else
        conn_closed(c, code, err);
}

/* Parses as far as the exchange allows. Returns the rest. */
static struct str parse(struct h1_conn *c, struct str in)
{
    struct err err;
    enum h1_event event = H1_MORE;
    struct str data = {0};
    c->parsing = true;
    for (bool more = true; more && !c->base.dead;) {
        if (c->base.server && h1_parser_is_idle(&c->parser) && in.n)
            http_conn_set_phase(&c->base, HTTP_PHASE_HEAD);
        int r = h1_parser_next(&c->parser, &in, &event, &data, &err);
        if (r < 0) {
            parse_failed(c, r, &err);
            in = (struct str){0};
            break;
        }
        more = event != H1_MORE &&
               (c->base.server ? server_event(c, event, data) : client_event(c, event, data, in.n));
    }
    c->parsing = false;
    return in;
}

static bool may_parse(const struct h1_conn *c)
{
    if (c->base.dead || c->lingering || c->parsing)
        return false;
    const struct http_stream *s = c->base.streams;
    if (s)
        return !(s->paused && (s->head_seen || c->base.server)) && !s->remote_end;
    /* A client that does not read its responses gets no more of them. */
    return c->base.server && !c->base.draining && transport_queued(c->base.transport) <= UNSENT_MAX;
}

static void report(struct h1_conn *c)
{
    account_report(c->base.transport->account, &c->reported, c->in.cap + c->parser.line.cap);
}

static void receive(struct h1_conn *c, struct str data)
{
    if (c->in.n) {
        buf_add_str(&c->in, data);
        data = buf_str(&c->in);
    }
    struct str rest = may_parse(c) ? parse(c, data) : data;
    if (c->base.dead)
        return;
    if (c->lingering)
        rest.n = 0;
    if (c->in.n)
        buf_consume(&c->in, c->in.n - rest.n);
    else
        buf_add_str(&c->in, rest);
    if (c->in.n == 0)
        buf_release(&c->in);
    report(c);
    /* A server continues to read, so that it notices a disconnect. */
    bool paused = !c->base.server && c->base.streams && c->base.streams->paused;
    if (c->in.n > PIPELINE_MAX || paused)
        transport_pause(c->base.transport);
}

static void on_data(struct transport *t, struct str data)
{
    struct h1_conn *c = t->owner;
    if (c->aborted)
        return;
    if (c->lingering) {
        c->lingered += data.n;
        if (c->lingered > LINGER_MAX)
            conn_closed(c, 0, NULL);
        return;
    }
    if (!c->base.server && !c->base.streams) { /* a response without a request */
        conn_closed(c, -EPROTO, NULL);
        return;
    }
    receive(c, data);
}

static void on_again(struct loop_task *task)
{
    struct h1_conn *c = CONTAINER_OF(task, struct h1_conn, again);
    if (c->base.dead)
        return;
    if (c->aborted) {
        conn_closed(c, -ECANCELED, NULL);
        return;
    }
    transport_resume(c->base.transport);
    if (c->in.n && may_parse(c)) {
        struct buf in = c->in;
        c->in = (struct buf)BUF_INIT;
        receive(c, buf_str(&in));
        buf_release(&in);
    }
}

static void on_drained(struct transport *t)
{
    struct h1_conn *c = t->owner;
    struct http_stream *s = c->base.streams;
    if (s && s->filled) {
        s->filled = false;
        c->base.events->on_drain(s);
    } else if (!s && c->in.n) {
        loop_task_schedule(loop_of(c), &c->again); /* requests may be waiting */
    }
}

static void on_closed(struct transport *t, int code, const struct err *err)
{
    struct h1_conn *c = t->owner;
    struct err text;
    bool ended = false;
    if (!c->base.server && c->base.streams && code == 0) {
        code = h1_parser_eof(&c->parser, &ended, &text);
        err = code ? &text : NULL;
    }
    if (ended)
        leave(c, 0, NULL, false);
    conn_closed(c, code, err);
}

static const struct transport_ops h1_transport_ops = {
    .on_data = on_data, .on_drain = on_drained, .on_close = on_closed};

/* --- output ----------------------------------------------------------------------------------- */

static void add_headers(struct buf *out, const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (http_is_hop_header(headers[i].name) ||
            str_eq_fold(headers[i].name, STR("content-length")))
            continue;
        buf_add_str(out, headers[i].name);
        buf_add(out, ": ", 2);
        buf_add_str(out, headers[i].value);
        buf_add(out, "\r\n", 2);
    }
}

static size_t h1_room(const struct http_conn *conn)
{
    return conn->streams == NULL;
}

static void h1_request(struct http_conn *conn, struct http_stream *stream,
                       const struct http_out_request *request)
{
    struct h1_conn *c = h1_of(conn);
    struct buf *out = loop_scratch(loop_of(c), LOOP_SCRATCH_WRITE);
    buf_add_printf(out, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n", STR_ARG(request->method),
                   STR_ARG(request->target), STR_ARG(request->authority));
    add_headers(out, request->headers, request->n_headers);
    if (request->has_body)
        buf_add_printf(out, "Content-Length: %zu\r\n", stream->body.n);
    buf_add(out, "\r\n", 2);
    bool small = stream->body.n < 16384;
    if (small)
        buf_add_str(out, stream->body);
    transport_write(conn->transport, out->p, out->n);
    if (!small)
        transport_write(conn->transport, stream->body.p, stream->body.n);
    c->parser.answers_head = str_is(request->method, "HEAD");
    http_stream_attach(conn, stream);
    http_conn_set_phase(&c->base, HTTP_PHASE_BUSY);
}

static void h1_respond(struct http_stream *stream, int status, const struct http_header *headers,
                       size_t n, int64_t content_length)
{
    struct h1_conn *c = h1_of(stream->conn);
    struct buf *out = loop_scratch(loop_of(c), LOOP_SCRATCH_WRITE);
    bool body = http_status_has_body(status);
    c->drop_body = stream->head_request || !body;
    c->chunked = content_length < 0 && body && c->parser.minor == 1;
    if ((!stream->remote_end && !can_skip(c)) || c->base.draining ||
        (content_length < 0 && body && !c->chunked && !stream->head_request))
        c->close_after = true;
    buf_add_printf(out, "HTTP/1.1 %d %s\r\nDate: ", status, http_status_text(status));
    http_add_date(out, time_wall());
    buf_add(out, "\r\n", 2);
    add_headers(out, headers, n);
    if (c->chunked)
        buf_add_cstr(out, "Transfer-Encoding: chunked\r\n");
    else if (body && content_length >= 0)
        buf_add_printf(out, "Content-Length: %lld\r\n", (long long)content_length);
    if (c->close_after)
        buf_add_cstr(out, "Connection: close\r\n");
    else if (c->parser.minor == 0)
        buf_add_cstr(out, "Connection: keep-alive\r\n");
    buf_add(out, "\r\n", 2);
    transport_write(c->base.transport, out->p, out->n);
    c->responded = true;
}

static void h1_write(struct http_stream *stream, struct str data)
{
    struct h1_conn *c = h1_of(stream->conn);
    if (c->drop_body || data.n == 0)
        return;
    struct transport *t = c->base.transport;
    if (!c->chunked) {
        transport_write(t, data.p, data.n);
    } else {
        struct buf *out = loop_scratch(t->loop, LOOP_SCRATCH_WRITE);
        buf_add_printf(out, "%zx\r\n", data.n);
        buf_add_str(out, data);
        buf_add(out, "\r\n", 2);
        transport_write(t, out->p, out->n);
    }
    if (transport_queued(t) > HTTP_HIGH_WATER)
        stream->filled = true;
}

static void h1_end(struct http_stream *stream)
{
    struct h1_conn *c = h1_of(stream->conn);
    if (c->chunked && !c->drop_body)
        transport_write(c->base.transport, "0\r\n\r\n", 5);
    server_done(c);
}

static size_t h1_queued(const struct http_stream *stream)
{
    return transport_queued(stream->conn->transport);
}

static void h1_detach(struct http_stream *stream)
{
    struct h1_conn *c = h1_of(stream->conn);
    http_stream_leave(stream);
    c->base.draining = true;
    /*
     * An incomplete response cannot be withdrawn: the connection is closed without a regular end.
     * From a task, since the caller may be iterating over streams.
     */
    c->aborted = true;
    loop_task_schedule(loop_of(c), &c->again);
}

static void h1_resume(struct http_stream *stream)
{
    struct h1_conn *c = h1_of(stream->conn);
    if (stream->expects_continue) {
        stream->expects_continue = false;
        transport_write(c->base.transport, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    }
    loop_task_schedule(loop_of(c), &c->again);
}

static void h1_drain(struct http_conn *conn)
{
    struct h1_conn *c = h1_of(conn);
    conn->draining = true;
    if (!c->base.streams && !c->lingering)
        transport_shutdown(conn->transport);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void on_reap(struct loop_task *task)
{
    struct h1_conn *c = CONTAINER_OF(task, struct h1_conn, reap);
    h1_parser_release(&c->parser);
    buf_release(&c->in);
    free(c);
}

static void h1_free(struct http_conn *conn)
{
    struct h1_conn *c = h1_of(conn);
    struct loop *loop = loop_of(c);
    conn->dead = true;
    if (c->base.streams)
        http_stream_leave(c->base.streams);
    account_report(conn->transport->account, &c->reported, 0);
    loop_task_cancel(loop, &c->again);
    loop_task_schedule(loop, &c->reap);
    transport_free(conn->transport);
}

static const struct http_conn_ops h1_ops = {
    .room = h1_room,
    .request = h1_request,
    .respond = h1_respond,
    .write = h1_write,
    .end = h1_end,
    .queued = h1_queued,
    .detach = h1_detach,
    .resume = h1_resume,
    .drain = h1_drain,
    .free = h1_free,
};

struct http_conn *h1_conn_new(struct transport *t, bool server,
                              const struct http_conn_events *events, void *owner,
                              const struct http_conn_limits *limits)
{
    struct h1_conn *c = xnew(struct h1_conn);
    c->base = (struct http_conn){.ops = &h1_ops,
                                 .events = events,
                                 .transport = t,
                                 .owner = owner,
                                 .limits = *limits,
                                 .server = server,
                                 .since = loop_now(t->loop)};
    h1_parser_init(&c->parser, server ? H1_REQUESTS : H1_RESPONSES, limits->max_header_bytes);
    loop_task_init(&c->again, on_again);
    loop_task_init(&c->reap, on_reap);
    t->ops = &h1_transport_ops;
    t->owner = c;
    return &c->base;
}
