/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of nghttp2.
 *
 * Flow control: a client counts received bytes as consumed for the connection at once, and for the
 * stream when the user has consumed them: a paused stream stalls alone and holds at most its
 * window. A server counts both when the user has consumed them: all streams of a connection
 * together hold at most the connection's window, however many bodies a client sends unasked.
 */
#include "net/h2_conn.h"
#include "net/http_server.h"

/*
 * Limit of unsent acknowledgements of PING and SETTINGS; a client that exceeds it is disconnected.
 */
#define MAX_ACKS 100

static struct http_stream *stream_of(struct h2_conn *c, int32_t id)
{
    return nghttp2_session_get_stream_user_data(c->session, id);
}

void h2_report(struct h2_conn *c, struct http_stream *s)
{
    account_report(c->base.transport->account, &s->reported, s->out.cap + s->held.cap);
}

void h2_consumed(struct h2_conn *c, int32_t id, size_t n)
{
    if (c->base.server)
        (void)nghttp2_session_consume_connection(c->session, n);
    (void)nghttp2_session_consume_stream(c->session, id, n);
}

/* Removes the stream from the connection; data that still arrives for it is discarded. */
void h2_forget(struct h2_conn *c, struct http_stream *s)
{
    if (c->base.server && s->held.n) /* discarded */
        (void)nghttp2_session_consume_connection(c->session, s->held.n);
    (void)nghttp2_session_set_stream_user_data(c->session, s->id, NULL);
    for (size_t i = 0; i < c->resumed.n; i++)
        if (c->resumed.v[i] == s)
            c->resumed.v[i] = NULL;
    http_stream_leave(s);
}

void h2_reset(struct h2_conn *c, int32_t id, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, code);
    h2_want_flush(c);
}

/* --- incoming heads --------------------------------------------------------------------------- */

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
    struct str v = arena_dup(&c->head_arena, str_trim((struct str){(const char *)value, value_n}));
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
        h2_reset(c, id, NGHTTP2_REFUSED_STREAM);
        return;
    }
    http_stream_attach(&c->base, s);
    s->id = id;
    s->progress = loop_now(h2_loop(c));
    s->head_request = str_is(c->head.method, "HEAD");
    s->remote_end = end;
    s->paused = !end;
    s->expects_continue = !end && http_headers_has_token(&c->headers, "expect", "100-continue");
    c->base.n_streams++;
    http_conn_set_phase(&c->base, HTTP_PHASE_BUSY);
    (void)nghttp2_session_set_stream_user_data(c->session, id, s);
    c->base.events->on_accepted(s);
}

static void response_arrived(struct h2_conn *c, struct http_stream *s)
{
    if (c->head.status < 200 || s->head_seen)
        return; /* an interim response, or trailers */
    if (c->head.too_large) {
        struct err err;
        int32_t id = s->id;
        err_set(&err, -EMSGSIZE, "response headers larger than %zu bytes",
                c->base.limits.max_header_bytes);
        h2_forget(c, s);
        h2_reset(c, id, NGHTTP2_CANCEL);
        c->base.events->on_close(s, -EMSGSIZE, &err, false);
        return;
    }
    s->head_seen = true;
    c->base.events->on_head(s, &c->head);
}

/* --- the end of the peer's message ------------------------------------------------------------ */

/* Client: the response is complete, so the call is done, even if the request is not. */
static void answer_complete(struct h2_conn *c, struct http_stream *s)
{
    int32_t id = s->id;
    bool sent = nghttp2_session_get_stream_local_close(c->session, id) != 0;
    h2_forget(c, s);
    if (!sent)
        h2_reset(c, id, NGHTTP2_NO_ERROR);
    c->base.events->on_close(s, 0, NULL, false);
}

void h2_remote_end(struct h2_conn *c, struct http_stream *s)
{
    s->remote_end = true;
    if (s->held.n)
        return; /* reported after the held data */
    if (c->base.server)
        c->base.events->on_end(s);
    else
        answer_complete(c, s);
}

/* --- incoming frames -------------------------------------------------------------------------- */

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
    if (s && !s->remote_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        h2_remote_end(c, s);
    return c->base.dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                    size_t n, void *ctx)
{
    struct h2_conn *c = ctx;
    (void)flags;
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!c->base.server)
        (void)nghttp2_session_consume_connection(session, n);
    struct http_stream *s = stream_of(c, id);
    if (s && (s->paused || s->held.n)) {
        buf_add(&s->held, data, n);
        h2_report(c, s);
        return 0;
    }
    if (s)
        c->base.events->on_data(s, (struct str){(const char *)data, n});
    if (c->base.dead)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    h2_consumed(c, id, n);
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
        /* Held data of a complete response is still to be delivered. */
        if (!c->base.server && s->remote_end && s->held.n && code == NGHTTP2_NO_ERROR) {
            (void)nghttp2_session_set_stream_user_data(c->session, id, NULL);
        } else {
            int r = good ? 0 : close_reason(c, code, &err);
            h2_forget(c, s);
            c->base.events->on_close(s, r, &err, code == NGHTTP2_REFUSED_STREAM);
        }
    }
    if (!c->base.dead && !c->base.server)
        c->base.events->on_room(&c->base);
    return c->base.dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* A server that responded before the request was complete stops reading it. */
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

/* --- outgoing frames -------------------------------------------------------------------------- */

static void drained_some(struct h2_conn *c, struct http_stream *s)
{
    s->progress = loop_now(h2_loop(c));
    size_t left = s->out.n - s->out_at;
    if (left == 0) {
        s->out_at = 0;
        buf_release(&s->out); /* thousands of quiet streams hold no buffer */
        h2_report(c, s);
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

const nghttp2_data_provider h2_session_body = {.read_callback = read_body};

/* --- session ---------------------------------------------------------------------------------- */

static void set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

void h2_session_make(struct h2_conn *c)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    if (nghttp2_session_callbacks_new(&callbacks) || nghttp2_option_new(&option))
        abort();
    set_callbacks(callbacks);
    nghttp2_option_set_no_auto_window_update(option, 1);
    /* Do not keep closed streams: they serve priorities only. */
    nghttp2_option_set_no_closed_streams(option, 1);
    if (c->base.server)
        nghttp2_option_set_max_outbound_ack(option, MAX_ACKS);
    /* Blanks around values are dropped, as in HTTP/1.1, instead of refusing the request. */
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
    if (!c->base.server)
        nghttp2_option_set_peer_max_concurrent_streams(option, c->base.limits.assumed_streams);
    int r = c->base.server ? nghttp2_session_server_new2(&c->session, callbacks, c, option)
                           : nghttp2_session_client_new2(&c->session, callbacks, c, option);
    if (r)
        abort();
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
}
