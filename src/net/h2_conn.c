/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 on a connection, both roles, by nghttp2.
 *
 * Flow control: what arrives is counted as consumed for the connection at once and for its stream
 * when the user has taken it. A stream whose user pauses therefore stalls alone, and what it may
 * hold meanwhile is bounded by the stream's window.
 */
#include <nghttp2/nghttp2.h>

#include "net/http_conn.h"
#include "net/http_server.h"

#define CONNECTION_WINDOW (1 << 30)
/* No more frames are made while so much waits in the transport. */
#define TRANSPORT_FULL    ((size_t)256 * 1024)
#define GATHER_MAX        ((size_t)16 * 1024)

struct h2_conn {
    struct http_conn base;
    nghttp2_session *session;
    struct loop_task flush, reap;
    struct loop_timer ping;
    int64_t last_read, ping_sent;      /* ping_sent 0: none on its way */
    VEC(struct http_stream *) resumed; /* held data to be handed out by the flush task */
    VEC(nghttp2_nv) nv;                /* room for building heads */

    /* The head that is arriving: HTTP/2 does not interleave them. */
    struct arena head_arena;
    struct http_headers headers;
    struct http_head head;
    size_t head_bytes;
};

static struct h2_conn *h2_of(struct http_conn *conn)
{
    return CONTAINER_OF(conn, struct h2_conn, base);
}

static struct loop *loop_of(const struct h2_conn *c)
{
    return c->base.transport->loop;
}

static void want_flush(struct h2_conn *c)
{
    if (!c->base.dead)
        loop_task_schedule(loop_of(c), &c->flush);
}

static struct http_stream *stream_of(struct h2_conn *c, int32_t id)
{
    return nghttp2_session_get_stream_user_data(c->session, id);
}

/* The connection forgets the stream; what still arrives for it is thrown away. */
static void forget(struct h2_conn *c, struct http_stream *s)
{
    (void)nghttp2_session_set_stream_user_data(c->session, s->id, NULL);
    for (size_t i = 0; i < c->resumed.n; i++)
        if (c->resumed.v[i] == s)
            c->resumed.v[i] = NULL;
    http_stream_leave(s);
}

static void reset(struct h2_conn *c, int32_t id, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, code);
    want_flush(c);
}

/* --- heads in ---------------------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)session, (void)frame;
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    arena_reset(&c->head_arena);
    vec_clear(&c->headers.list);
    c->head = (struct http_head){.headers = &c->headers, .http_major = 2};
    c->head_bytes = 0;
    return 0;
}

static void take_pseudo(struct h2_conn *c, struct str name, struct str value)
{
    if (str_is(name, ":method"))
        c->head.method = value;
    else if (str_is(name, ":path"))
        c->head.target = value;
    else if (str_is(name, ":authority"))
        c->head.authority = value;
    else if (str_is(name, ":status")) {
        uint64_t status = 0;
        if (str_to_u64(value, &status) && status < 1000)
            c->head.status = (int)status;
    }
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)session, (void)frame, (void)flags;
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    c->head_bytes += name_n + value_n + 32;
    if (c->head_bytes > c->base.limits.max_header_bytes) {
        c->head.too_large = true;
        return 0;
    }
    struct str n = arena_dup(&c->head_arena, (struct str){(const char *)name, name_n});
    struct str v = arena_dup(&c->head_arena, (struct str){(const char *)value, value_n});
    if (n.n && n.p[0] == ':')
        take_pseudo(c, n, v);
    else
        vec_push(&c->headers.list, ((struct http_header){n, v}));
    return 0;
}

static void request_arrived(struct h2_conn *c, const nghttp2_frame *frame)
{
    int32_t id = frame->hd.stream_id;
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    c->head.has_body = !end;
    if (!c->head.authority.p)
        c->head.authority = http_headers_get(&c->headers, "host");
    struct http_stream *s = c->base.events->on_request(&c->base, &c->head);
    if (c->base.dead)
        return;
    if (!s) {
        reset(c, id, NGHTTP2_REFUSED_STREAM);
        return;
    }
    http_stream_attach(&c->base, s);
    s->id = id;
    s->progress = loop_now(loop_of(c));
    s->head_request = str_is(c->head.method, "HEAD");
    c->base.n_streams++;
    http_conn_set_phase(&c->base, HTTP_PHASE_BUSY);
    (void)nghttp2_session_set_stream_user_data(c->session, id, s);
}

static void response_arrived(struct h2_conn *c, struct http_stream *s)
{
    if (c->head.status < 200 || s->head_seen)
        return; /* an interim answer, or trailers */
    if (c->head.too_large) {
        struct err err;
        int32_t id = s->id;
        err_set(&err, -EMSGSIZE, "headers of the answer larger than %zu bytes",
                c->base.limits.max_header_bytes);
        forget(c, s);
        reset(c, id, NGHTTP2_CANCEL);
        c->base.events->on_close(s, -EMSGSIZE, &err, false);
        return;
    }
    s->head_seen = true;
    c->base.events->on_head(s, &c->head);
}

/* --- the end of the peer's message ------------------------------------------------------------- */

/* Client: the answer is complete, the call is done, whatever is left of the request. */
static void answer_complete(struct h2_conn *c, struct http_stream *s)
{
    int32_t id = s->id;
    bool sent = nghttp2_session_get_stream_local_close(c->session, id) != 0;
    forget(c, s);
    if (!sent)
        reset(c, id, NGHTTP2_NO_ERROR);
    c->base.events->on_close(s, 0, NULL, false);
}

static void remote_end(struct h2_conn *c, struct http_stream *s)
{
    s->remote_end = true;
    if (s->held.n)
        return; /* told after the data that is held */
    if (c->base.server)
        c->base.events->on_end(s);
    else
        answer_complete(c, s);
}

/* --- frames in --------------------------------------------------------------------------------- */

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)session;
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    int32_t id = frame->hd.stream_id;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        if (c->base.server && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
            request_arrived(c, frame);
        else if (!c->base.server && stream_of(c, id))
            response_arrived(c, stream_of(c, id));
        break;
    case NGHTTP2_SETTINGS:
    case NGHTTP2_GOAWAY:
        c->base.draining |= frame->hd.type == NGHTTP2_GOAWAY;
        c->base.peer_streams = nghttp2_session_get_remote_settings(
            c->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
        if (!c->base.server)
            c->base.events->on_room(&c->base);
        break;
    default:
        break;
    }
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    bool message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    struct http_stream *s = message ? stream_of(c, id) : NULL;
    if (s && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        remote_end(c, s);
    return c->base.dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                    size_t n, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)flags;
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    (void)nghttp2_session_consume_connection(session, n);
    struct http_stream *s = stream_of(c, id);
    if (!s) {
        (void)nghttp2_session_consume_stream(session, id, n);
        return 0;
    }
    if (s->paused || s->held.n) {
        buf_add(&s->held, data, n);
        return 0;
    }
    c->base.events->on_data(s, (struct str){(const char *)data, n});
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    (void)nghttp2_session_consume_stream(session, id, n);
    return 0;
}

static int close_reason(struct h2_conn *c, uint32_t code, struct err *ret_err)
{
    if (code == NGHTTP2_REFUSED_STREAM)
        return err_set(ret_err, -ECONNRESET,
                       c->base.draining ? "the server is going away"
                                        : "the server refused the stream");
    if (code == NGHTTP2_NO_ERROR || code == NGHTTP2_CANCEL)
        return err_set(ret_err, -ECONNRESET, "stream closed by the peer before its end");
    return err_set(ret_err, code == NGHTTP2_PROTOCOL_ERROR ? -EPROTO : -ECONNRESET,
                   "HTTP/2 stream error: %s", nghttp2_http2_strerror(code));
}

static void stream_left(struct h2_conn *c)
{
    if (c->base.n_streams == 0 || --c->base.n_streams > 0)
        return;
    http_conn_set_phase(&c->base, HTTP_PHASE_IDLE);
    if (c->base.draining && !c->base.server)
        (void)nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR);
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)session;
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    struct http_stream *s = stream_of(c, id);
    stream_left(c);
    if (s) {
        struct err err = {0};
        bool good = code == NGHTTP2_NO_ERROR && (c->base.server ? s->out_end : s->remote_end);
        /* Held data of a complete answer is still to be handed out. */
        if (!c->base.server && s->remote_end && s->held.n && code == NGHTTP2_NO_ERROR) {
            (void)nghttp2_session_set_stream_user_data(c->session, id, NULL);
        } else {
            int r = good ? 0 : close_reason(c, code, &err);
            forget(c, s);
            c->base.events->on_close(s, r, &err, code == NGHTTP2_REFUSED_STREAM);
        }
    }
    if (!c->base.dead && !c->base.server)
        c->base.events->on_room(&c->base);
    return c->base.dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* A server that answered before the request was complete wants no more of it. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2_conn *c = ctx;
    bool message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (c->base.dead || !c->base.server || !message || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    struct http_stream *s = stream_of(c, frame->hd.stream_id);
    if (s && !s->remote_end)
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_NO_ERROR);
    return 0;
}

/* --- frames out -------------------------------------------------------------------------------- */

static void drained_some(struct h2_conn *c, struct http_stream *s)
{
    s->progress = loop_now(loop_of(c));
    size_t left = s->out.n - s->out_at;
    if (left == 0) {
        s->out_at = 0;
        buf_release(&s->out); /* thousands of quiet streams hold no buffer */
    }
    if (s->filled && left < HTTP_LOW_WATER) {
        s->filled = false;
        c->base.events->on_drain(s);
    }
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)session, (void)source;
    struct http_stream *s = c->base.dead ? NULL : stream_of(c, id);
    if (!s)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (!c->base.server) {
        size_t n = MIN(room, s->body.n);
        memcpy(to, s->body.p, n);
        s->body = str_slice(s->body, n, s->body.n);
        if (s->body.n == 0)
            *flags |= NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t)n;
    }
    size_t n = MIN(room, s->out.n - s->out_at);
    if (n == 0 && !s->out_end)
        return NGHTTP2_ERR_DEFERRED;
    if (n)
        memcpy(to, s->out.p + s->out_at, n);
    s->out_at += n;
    if (s->out_end && s->out_at == s->out.n)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (n)
        drained_some(c, s);
    return (ssize_t)n;
}

/* Everything nghttp2 wants to send, in records of a good size. */
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
    c->base.events->on_data(s, buf_str(&data));
    if (!c->base.dead) {
        (void)nghttp2_session_consume_stream(c->session, id, data.n);
        if (c->resumed.v[at] && s->remote_end) /* NULL: ended by the callback */
            remote_end(c, s);
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

/* --- the transport ----------------------------------------------------------------------------- */

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
    want_flush(c);
}

static void on_drained(struct transport *t)
{
    struct h2_conn *c = t->owner;
    if (nghttp2_session_want_write(c->session))
        want_flush(c);
}

static void on_closed(struct transport *t, int code, const struct err *err)
{
    struct h2_conn *c = t->owner;
    http_conn_closed(&c->base, code, err);
}

static const struct transport_ops h2_transport_ops = {
    .on_data = on_data, .on_drain = on_drained, .on_close = on_closed};

/* --- keepalive --------------------------------------------------------------------------------- */

static void on_ping_timer(struct loop_timer *timer)
{
    struct h2_conn *c = CONTAINER_OF(timer, struct h2_conn, ping);
    const struct http_conn_limits *limits = &c->base.limits;
    int64_t now = loop_now(loop_of(c));
    if (c->ping_sent && now - c->ping_sent >= limits->ping_timeout) {
        struct err err;
        err_set(&err, -ETIMEDOUT, "no answer to a PING: connection lost");
        http_conn_closed(&c->base, -ETIMEDOUT, &err);
        return;
    }
    int64_t idle = now - c->last_read;
    if (c->ping_sent) {
        loop_timer_set(timer, limits->ping_timeout - (now - c->ping_sent));
    } else if (idle >= limits->ping_interval) {
        (void)nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
        c->ping_sent = now;
        want_flush(c);
        loop_timer_set(timer, limits->ping_timeout);
    } else {
        loop_timer_set(timer, limits->ping_interval - idle);
    }
}

/* --- requests and answers ---------------------------------------------------------------------- */

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
    nghttp2_data_provider body = {.read_callback = read_body};
    int32_t id = nghttp2_submit_request(c->session, NULL, c->nv.v, c->nv.n,
                                        stream->body.n ? &body : NULL, stream);
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
    want_flush(c);
}

static void h2_respond(struct http_stream *stream, int status, const struct http_header *headers,
                       size_t n, int64_t content_length)
{
    struct h2_conn *c = h2_of(stream->conn);
    char text[8], length[24];
    int text_n = snprintf(text, sizeof(text), "%03d", status % 1000);
    vec_clear(&c->nv);
    add_nv(c, STR(":status"), (struct str){text, (size_t)text_n});
    add_headers(c, headers, n);
    bool body = http_status_has_body(status);
    if (body && content_length >= 0) {
        int m = snprintf(length, sizeof(length), "%lld", (long long)content_length);
        add_nv(c, STR("content-length"), (struct str){length, (size_t)m});
    }
    bool empty = !body || stream->head_request || content_length == 0;
    nghttp2_data_provider provider = {.read_callback = read_body};
    if (empty)
        stream->out_end = true;
    (void)nghttp2_submit_response(c->session, stream->id, c->nv.v, c->nv.n,
                                  empty ? NULL : &provider);
    want_flush(c);
}

static void h2_write(struct http_stream *stream, struct str data)
{
    struct h2_conn *c = h2_of(stream->conn);
    if (stream->out_end || data.n == 0)
        return;
    size_t queued = stream->out.n - stream->out_at;
    if (queued == 0)
        stream->progress = loop_now(loop_of(c));
    if (stream->out_at > queued) {
        buf_consume(&stream->out, stream->out_at);
        stream->out_at = 0;
    }
    buf_add_str(&stream->out, data);
    if (queued + data.n > HTTP_HIGH_WATER)
        stream->filled = true;
    if (queued == 0)
        (void)nghttp2_session_resume_data(c->session, stream->id);
    want_flush(c);
}

static void h2_end(struct http_stream *stream)
{
    struct h2_conn *c = h2_of(stream->conn);
    if (stream->out_end)
        return;
    stream->out_end = true;
    (void)nghttp2_session_resume_data(c->session, stream->id);
    want_flush(c);
}

static size_t h2_queued(const struct http_stream *stream)
{
    return stream->out.n - stream->out_at;
}

static void h2_detach(struct http_stream *stream)
{
    struct h2_conn *c = h2_of(stream->conn);
    int32_t id = stream->id;
    forget(c, stream);
    reset(c, id, c->base.server ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_CANCEL);
}

static void h2_resume(struct http_stream *stream)
{
    struct h2_conn *c = h2_of(stream->conn);
    if (stream->held.n) {
        vec_push(&c->resumed, stream);
        want_flush(c);
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
    want_flush(c);
}

/* --- life -------------------------------------------------------------------------------------- */

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
    struct loop *loop = loop_of(c);
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

static void set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

static void make_session(struct h2_conn *c)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    if (nghttp2_session_callbacks_new(&callbacks) || nghttp2_option_new(&option))
        abort();
    set_callbacks(callbacks);
    nghttp2_option_set_no_auto_window_update(option, 1);
    if (!c->base.server)
        nghttp2_option_set_peer_max_concurrent_streams(option, c->base.limits.assumed_streams);
    int r = c->base.server ? nghttp2_session_server_new2(&c->session, callbacks, c, option)
                           : nghttp2_session_client_new2(&c->session, callbacks, c, option);
    if (r)
        abort();
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
}

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
    (void)nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
                                                CONNECTION_WINDOW);
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
    make_session(c);
    first_frames(c);
    t->ops = &h2_transport_ops;
    t->owner = c;
    c->last_read = loop_now(t->loop);
    if (!server && limits->ping_interval > 0)
        loop_timer_set(&c->ping, limits->ping_interval);
    want_flush(c);
    return &c->base;
}
