/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 connections, client and server, with nghttp2. */
#include "net/h2_conn.h"

#include "net/http_server.h"

/*
 * A client requested what it receives, so only streams are limited. A server keeps the protocol's
 * 65,535 bytes for all streams together: that much of the bodies may arrive before they are read.
 */
#define CLIENT_WINDOW  (1 << 30)
/* No more frames are created while this much waits in the transport. */
#define TRANSPORT_FULL ((size_t)256 * 1024)
#define GATHER_MAX     ((size_t)16 * 1024)

static struct h2_conn *h2_of(struct http_conn *conn)
{
    return CONTAINER_OF(conn, struct h2_conn, base);
}

void h2_want_flush(struct h2_conn *c)
{
    if (!c->base.dead)
        loop_task_schedule(h2_loop(c), &c->flush);
}

/* --- output ----------------------------------------------------------------------------------- */

/* Sends nghttp2's output in records of a good size. */
static void send_frames(struct h2_conn *c)
{
    struct transport *t = c->base.transport;
    struct buf *out = loop_scratch(t->loop, LOOP_SCRATCH_FRAMES);
    const uint8_t *data;
    while (!c->base.dead && transport_queued(t) < TRANSPORT_FULL) {
        ssize_t n = nghttp2_session_mem_send(c->session, &data);
        if (n <= 0)
            break;
        buf_add(out, data, (size_t)n);
        if (out->n >= GATHER_MAX) {
            transport_write(t, out->p, out->n);
            buf_clear(out);
        }
    }
    if (!c->base.dead && out->n)
        transport_write(t, out->p, out->n);
}

static void deliver_held(struct h2_conn *c, size_t at)
{
    struct http_stream *s = c->resumed.v[at];
    struct buf data = s->held;
    int32_t id = s->id;
    s->held = (struct buf)BUF_INIT;
    h2_report(c, s);
    c->base.events->on_data(s, buf_str(&data));
    if (!c->base.dead) {
        h2_consumed(c, id, data.n);
        if (c->resumed.v[at] && s->remote_end) /* NULL: ended by the callback */
            h2_remote_end(c, s);
    }
    buf_release(&data);
}

static void run_resumed(struct h2_conn *c)
{
    for (size_t i = 0; !c->base.dead && i < c->resumed.n; i++) {
        struct http_stream *s = c->resumed.v[i];
        if (s && !s->paused && s->held.n)
            deliver_held(c, i);
    }
    vec_clear(&c->resumed);
}

static void on_flush(struct loop_task *task)
{
    struct h2_conn *c = CONTAINER_OF(task, struct h2_conn, flush);
    if (c->base.dead)
        return;
    run_resumed(c);
    if (!c->base.dead)
        send_frames(c);
    if (c->base.dead)
        return;
    if (nghttp2_session_want_read(c->session) || nghttp2_session_want_write(c->session))
        return;
    if (c->base.streams) { /* nghttp2 gave up on the peer */
        struct err err;
        err_set(&err, -EPROTO, "HTTP/2 protocol error");
        http_conn_closed(&c->base, -EPROTO, &err);
        return;
    }
    c->base.draining = true;
    transport_shutdown(c->base.transport);
}

/* --- transport -------------------------------------------------------------------------------- */

static void on_data(struct transport *t, struct str data)
{
    struct h2_conn *c = t->owner;
    c->last_read = loop_now(t->loop);
    c->ping_sent = 0;
    ssize_t n = nghttp2_session_mem_recv(c->session, (const uint8_t *)data.p, data.n);
    if (c->base.dead)
        return;
    if (n < 0) {
        struct err err;
        send_frames(c);
        err_set(&err, -EPROTO, "HTTP/2: %s", nghttp2_strerror((int)n));
        http_conn_closed(&c->base, -EPROTO, &err);
        return;
    }
    h2_want_flush(c);
}

static void on_drained(struct transport *t)
{
    struct h2_conn *c = t->owner;
    if (nghttp2_session_want_write(c->session))
        h2_want_flush(c);
}

static void on_closed(struct transport *t, int code, const struct err *err)
{
    struct h2_conn *c = t->owner;
    http_conn_closed(&c->base, code, err);
}

static const struct transport_ops h2_transport_ops = {
    .on_data = on_data, .on_drain = on_drained, .on_close = on_closed};

/* --- keepalive -------------------------------------------------------------------------------- */

static void on_ping_timer(struct loop_timer *timer)
{
    struct h2_conn *c = CONTAINER_OF(timer, struct h2_conn, ping);
    const struct http_conn_limits *limits = &c->base.limits;
    int64_t now = loop_now(h2_loop(c));
    if (c->ping_sent && now - c->ping_sent >= limits->ping_timeout) {
        struct err err;
        err_set(&err, -ETIMEDOUT, "no response to a PING: connection lost");
        http_conn_closed(&c->base, -ETIMEDOUT, &err);
        return;
    }
    int64_t idle = now - c->last_read;
    if (c->ping_sent) {
        loop_timer_set(timer, limits->ping_timeout - (now - c->ping_sent));
    } else if (idle >= limits->ping_interval) {
        (void)nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
        c->ping_sent = now;
        h2_want_flush(c);
        loop_timer_set(timer, limits->ping_timeout);
    } else {
        loop_timer_set(timer, limits->ping_interval - idle);
    }
}

/* --- requests and responses ------------------------------------------------------------------- */

static void add_nv(struct h2_conn *c, struct str name, struct str value)
{
    vec_push(&c->nv, ((nghttp2_nv){(uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p,
                                   name.n, value.n, NGHTTP2_NV_FLAG_NONE}));
}

static void add_headers(struct h2_conn *c, const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!http_is_hop_header(headers[i].name) && !str_eq_fold(headers[i].name, STR("host")) &&
            !str_eq_fold(headers[i].name, STR("content-length")))
            add_nv(c, headers[i].name, headers[i].value);
}

static size_t h2_room(const struct http_conn *conn)
{
    const struct h2_conn *c = CONTAINER_OF(conn, struct h2_conn, base);
    uint32_t theirs =
        nghttp2_session_get_remote_settings(c->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    size_t limit = MIN(theirs, conn->limits.max_streams);
    if (!nghttp2_session_check_request_allowed(c->session))
        return 0;
    return limit > conn->n_streams ? limit - conn->n_streams : 0;
}

static void h2_request(struct http_conn *conn, struct http_stream *stream,
                       const struct http_out_request *request)
{
    struct h2_conn *c = h2_of(conn);
    char length[24];
    int n = snprintf(length, sizeof(length), "%zu", stream->body.n);
    vec_clear(&c->nv);
    add_nv(c, STR(":method"), request->method);
    add_nv(c, STR(":scheme"), request->scheme);
    add_nv(c, STR(":authority"), request->authority);
    add_nv(c, STR(":path"), request->target);
    add_headers(c, request->headers, request->n_headers);
    if (request->has_body)
        add_nv(c, STR("content-length"), (struct str){length, (size_t)n});
    int32_t id = nghttp2_submit_request(c->session, NULL, c->nv.v, c->nv.n,
                                        stream->body.n ? &h2_session_body : NULL, stream);
    if (id < 0) {
        struct err err;
        err_set(&err, -EAGAIN, "HTTP/2: %s", nghttp2_strerror(id));
        conn->draining = true;
        conn->events->on_close(stream, -EAGAIN, &err, true);
        return;
    }
    stream->id = id;
    http_stream_attach(conn, stream);
    conn->n_streams++;
    http_conn_set_phase(conn, HTTP_PHASE_BUSY);
    h2_want_flush(c);
}

static void h2_respond(struct http_stream *stream, int status, const struct http_header *headers,
                       size_t n, int64_t content_length)
{
    struct h2_conn *c = h2_of(stream->conn);
    char text[8], length[24];
    int text_n = snprintf(text, sizeof(text), "%03d", status % 1000);
    struct buf date = BUF_INIT;
    http_add_date(&date, time_wall());
    vec_clear(&c->nv);
    add_nv(c, STR(":status"), (struct str){text, (size_t)text_n});
    add_nv(c, STR("date"), buf_str(&date));
    add_headers(c, headers, n);
    bool body = http_status_has_body(status);
    if (body && content_length >= 0) {
        int m = snprintf(length, sizeof(length), "%lld", (long long)content_length);
        add_nv(c, STR("content-length"), (struct str){length, (size_t)m});
    }
    bool empty = !body || stream->head_request || content_length == 0;
    if (empty)
        stream->out_end = true;
    (void)nghttp2_submit_response(c->session, stream->id, c->nv.v, c->nv.n,
                                  empty ? NULL : &h2_session_body);
    buf_release(&date);
    h2_want_flush(c);
}

static void h2_write(struct http_stream *stream, struct str data)
{
    struct h2_conn *c = h2_of(stream->conn);
    if (stream->out_end || data.n == 0)
        return;
    size_t queued = stream->out.n - stream->out_at;
    if (queued == 0)
        stream->progress = loop_now(h2_loop(c));
    if (stream->out_at > queued) {
        buf_consume(&stream->out, stream->out_at);
        stream->out_at = 0;
    }
    buf_add_str(&stream->out, data);
    h2_report(c, stream);
    if (queued + data.n > HTTP_HIGH_WATER)
        stream->filled = true;
    if (queued == 0)
        (void)nghttp2_session_resume_data(c->session, stream->id);
    h2_want_flush(c);
}

static void h2_end(struct http_stream *stream)
{
    struct h2_conn *c = h2_of(stream->conn);
    if (stream->out_end)
        return;
    stream->out_end = true;
    (void)nghttp2_session_resume_data(c->session, stream->id);
    h2_want_flush(c);
}

static size_t h2_queued(const struct http_stream *stream)
{
    return stream->out.n - stream->out_at;
}

static void h2_detach(struct http_stream *stream)
{
    struct h2_conn *c = h2_of(stream->conn);
    int32_t id = stream->id;
    h2_forget(c, stream);
    h2_reset(c, id, c->base.server ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_CANCEL);
}

static void h2_resume(struct http_stream *stream)
{
    struct h2_conn *c = h2_of(stream->conn);
    if (stream->expects_continue) {
        static const nghttp2_nv status = {(uint8_t *)(uintptr_t)":status",
                                          (uint8_t *)(uintptr_t)"100", 7, 3, NGHTTP2_NV_FLAG_NONE};
        stream->expects_continue = false;
        (void)nghttp2_submit_headers(c->session, NGHTTP2_FLAG_NONE, stream->id, NULL, &status, 1,
                                     NULL);
        h2_want_flush(c);
    }
    if (stream->held.n) {
        vec_push(&c->resumed, stream);
        h2_want_flush(c);
    }
}

static void h2_drain(struct http_conn *conn)
{
    struct h2_conn *c = h2_of(conn);
    conn->draining = true;
    if (conn->server) {
        (void)nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                                    nghttp2_session_get_last_proc_stream_id(c->session),
                                    NGHTTP2_NO_ERROR, NULL, 0);
    } else if (conn->n_streams == 0) {
        (void)nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR);
    }
    h2_want_flush(c);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void on_reap(struct loop_task *task)
{
    struct h2_conn *c = CONTAINER_OF(task, struct h2_conn, reap);
    nghttp2_session_del(c->session);
    vec_release(&c->resumed);
    vec_release(&c->nv);
    vec_release(&c->headers.list);
    arena_release(&c->head_arena);
    free(c);
}

static void h2_free(struct http_conn *conn)
{
    struct h2_conn *c = h2_of(conn);
    struct loop *loop = h2_loop(c);
    conn->dead = true;
    while (conn->streams)
        http_stream_leave(conn->streams);
    loop_timer_stop(&c->ping);
    loop_task_cancel(loop, &c->flush);
    loop_task_schedule(loop, &c->reap);
    transport_free(conn->transport);
}

static const struct http_conn_ops h2_ops = {
    .room = h2_room,
    .request = h2_request,
    .respond = h2_respond,
    .write = h2_write,
    .end = h2_end,
    .queued = h2_queued,
    .detach = h2_detach,
    .resume = h2_resume,
    .drain = h2_drain,
    .free = h2_free,
};

static void first_frames(struct h2_conn *c)
{
    const struct http_conn_limits *limits = &c->base.limits;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits->stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->max_header_bytes},
        c->base.server
            ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->max_streams}
            : (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    (void)nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    if (!c->base.server)
        (void)nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
                                                    CLIENT_WINDOW);
}

struct http_conn *h2_conn_new(struct transport *t, bool server,
                              const struct http_conn_events *events, void *owner,
                              const struct http_conn_limits *limits)
{
    struct h2_conn *c = xnew(struct h2_conn);
    c->base = (struct http_conn){.ops = &h2_ops,
                                 .events = events,
                                 .transport = t,
                                 .owner = owner,
                                 .limits = *limits,
                                 .server = server,
                                 .since = loop_now(t->loop)};
    arena_init(&c->head_arena, 1024);
    loop_task_init(&c->flush, on_flush);
    loop_task_init(&c->reap, on_reap);
    loop_timer_init(&c->ping, t->loop, on_ping_timer);
    h2_session_make(c);
    first_frames(c);
    t->ops = &h2_transport_ops;
    t->owner = c;
    c->last_read = loop_now(t->loop);
    if (!server && limits->ping_interval > 0)
        loop_timer_set(&c->ping, limits->ping_interval);
    h2_want_flush(c);
    return &c->base;
}
