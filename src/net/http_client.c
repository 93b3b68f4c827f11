/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client.h"

#include "net/dial.h"
#include "net/http_call.h"
#include "net/http_origin.h"

#define CONNECTIONS_H1  16
#define CONNECTIONS_H2  4
/* Streams assumed on a first connection until the server's SETTINGS arrive, as in Go's client. */
#define ASSUMED_STREAMS 100

enum client_protocol { PROTOCOL_UNKNOWN, PROTOCOL_H1, PROTOCOL_H2 };

struct client_conn {
    struct http_client *client;
    struct client_conn *next;
    struct dial *dial;      /* while dialling */
    struct http_conn *http; /* afterwards */
    struct loop_timer idle;
    struct dial_trace trace;
    bool used; /* has carried a call */
};

struct http_client {
    struct loop *loop;
    struct http_client_options options; /* with defaults; strings are in origin */
    struct http_origin origin;

    enum client_protocol protocol; /* of the last connection */
    uint32_t peer_streams;         /* the server's last announced stream limit */
    struct client_conn *conns;
    struct call_list waiting, running, refused;
    struct loop_task pump, reap;
    struct http_client_stats stats;
    bool dead;
};

/* --- calls ------------------------------------------------------------------------------------ */

static void want_pump(struct http_client *client)
{
    if (!client->dead)
        loop_task_schedule(client->loop, &client->pump);
}

void http_client_forget(struct http_call *call)
{
    struct http_client *client = call->client;
    call_list_remove(call);
    http_stream_detach(&call->stream);
    want_pump(client);
}

static void finish_call(struct http_call *call, int code, const struct err *err, bool retryable)
{
    struct err text = {0};
    if (code < 0) {
        err_set(&text, code, "%s", err && err->msg[0] ? err->msg : strerror(-code));
        err_prefix(&text, code, "%s", call->client->origin.text);
    }
    http_call_finish(call, code, &text, retryable);
}

void http_client_fail(struct http_call *call, int code, const struct err *err, bool retryable)
{
    http_client_forget(call);
    finish_call(call, code, err, retryable);
}

static struct http_call *call_of(struct http_stream *stream)
{
    return CONTAINER_OF(stream, struct http_call, stream);
}

static void start_call(struct http_call *call, struct client_conn *conn)
{
    struct http_client *client = call->client;
    call_list_remove(call);
    call_list_append(&client->running, call);
    call->conn = conn;
    call->timing.trace = conn->trace;
    call->timing.reused = conn->used;
    call->timing.started = loop_now(client->loop);
    conn->used = true;
    call->stream.body = call->body;
    client->stats.requests++;
    struct http_out_request out = {.method = call->method,
                                   .target = call->target,
                                   .scheme = client->origin.scheme,
                                   .authority = call->authority,
                                   .headers = call->headers,
                                   .n_headers = call->n_headers,
                                   .has_body = http_call_has_body(call)};
    http_conn_request(conn->http, &call->stream, &out);
}

/* --- connection events ------------------------------------------------------------------------ */

static void fail_too_large(struct http_call *call)
{
    struct err err;
    err_set(&err, -EMSGSIZE, "%.*s: response larger than %llu bytes",
            STR_ARG(str_slice(call->target, 0, 200)), (unsigned long long)call->max_body);
    http_client_fail(call, -EMSGSIZE, &err, false);
}

/* A response whose Content-Length exceeds the limit is refused before any of it is read. */
static bool announces_too_much(const struct http_call *call, const struct http_head *head)
{
    int64_t length;
    return call->max_body && !str_is(call->method, "HEAD") &&
           str_to_i64(http_headers_get(head->headers, "content-length"), &length) && length > 0 &&
           (uint64_t)length > call->max_body;
}

static void on_head(struct http_stream *stream, const struct http_head *head)
{
    struct http_call *call = call_of(stream);
    if (announces_too_much(call, head)) {
        fail_too_large(call);
        return;
    }
    http_call_head_arrived(call);
    call->timing.answered = loop_now(call->client->loop);
    if (call->handlers->on_head)
        call->handlers->on_head(call->ctx, head->status, head->headers);
}

static void on_data(struct http_stream *stream, struct str data)
{
    struct http_call *call = call_of(stream);
    call->received += data.n;
    if (call->max_body && call->received > call->max_body) {
        fail_too_large(call);
        return;
    }
    if (call->handlers->on_data)
        call->handlers->on_data(call->ctx, data);
}

/* The server had closed the connection while it was idle: send again once, if that is harmless. */
static bool try_again(struct http_call *call)
{
    if (call->retried || !http_call_is_safe(call))
        return false;
    call->retried = true;
    call_list_remove(call);
    call->conn = NULL;
    call->stream.body = (struct str){0};
    call_list_prepend(&call->client->waiting, call);
    want_pump(call->client);
    return true;
}

static void on_close(struct http_stream *stream, int code, const struct err *err, bool retryable)
{
    struct http_call *call = call_of(stream);
    bool h1 = call->client->protocol == PROTOCOL_H1;
    if (retryable && h1 && try_again(call))
        return;
    call_list_remove(call);
    want_pump(call->client);
    finish_call(call, code, err, retryable && !h1);
}

static void on_room(struct http_conn *conn)
{
    struct http_client *client = ((struct client_conn *)conn->owner)->client;
    if (conn->peer_streams)
        client->peer_streams = conn->peer_streams;
    if (client->waiting.n)
        want_pump(client);
}

static void remove_conn(struct client_conn *conn)
{
    struct client_conn **at = &conn->client->conns;
    while (*at != conn)
        at = &(*at)->next;
    *at = conn->next;
    conn->client->stats.connections--;
    loop_timer_stop(&conn->idle);
    free(conn);
}

static void on_conn_close(struct http_conn *http, int code, const struct err *err)
{
    struct client_conn *conn = http->owner;
    struct http_client *client = conn->client;
    (void)code, (void)err;
    http_conn_free(http);
    remove_conn(conn);
    want_pump(client);
}

static const struct http_conn_events client_events = {
    .on_head = on_head,
    .on_data = on_data,
    .on_close = on_close,
    .on_room = on_room,
    .on_conn_close = on_conn_close,
};

/* --- connections ------------------------------------------------------------------------------ */

static void on_idle(struct loop_timer *timer)
{
    struct client_conn *conn = CONTAINER_OF(timer, struct client_conn, idle);
    struct http_client *client = conn->client;
    int64_t quiet = loop_now(client->loop) - conn->http->since;
    if (conn->http->phase != HTTP_PHASE_IDLE)
        loop_timer_set(timer, client->options.idle_timeout);
    else if (quiet < client->options.idle_timeout)
        loop_timer_set(timer, client->options.idle_timeout - quiet);
    else
        http_conn_drain(conn->http);
}

/* No connection could be established and none is open: the waiting calls fail. */
static void fail_waiting(struct http_client *client, const struct dial_trace *trace,
                         const struct err *err)
{
    for (const struct client_conn *c = client->conns; c; c = c->next)
        if (c->dial || !c->http->draining)
            return;
    /* Calls sent by on_done wait for the next attempt: do not loop over them. */
    for (size_t n = client->waiting.n; n && client->waiting.first; n--) {
        struct http_call *call = client->waiting.first;
        call_list_remove(call);
        call->timing.trace = *trace;
        finish_call(call, err->code, err, true);
    }
    if (client->waiting.first)
        want_pump(client);
}

static void pump(struct http_client *client);

static void on_dialled(void *ctx, struct transport *t, const struct err *err)
{
    struct client_conn *conn = ctx;
    struct http_client *client = conn->client;
    conn->dial = NULL;
    if (!t) {
        struct dial_trace trace = conn->trace;
        remove_conn(conn);
        fail_waiting(client, &trace, err);
        return;
    }
    const struct http_client_options *o = &client->options;
    struct http_conn_limits limits = {.max_header_bytes = o->max_header_bytes,
                                      .max_streams = (uint32_t)MIN(o->max_streams, 1 << 20),
                                      .assumed_streams = client->peer_streams,
                                      .stream_window = (uint32_t)MIN(o->stream_window, 1 << 30),
                                      .ping_interval = o->ping_interval,
                                      .ping_timeout = o->ping_timeout};
    bool h2 = t->tls ? str_is(tls_conn_alpn(t->tls), "h2") : o->h2_prior_knowledge;
    client->protocol = h2 ? PROTOCOL_H2 : PROTOCOL_H1;
    client->stats.dialled++;
    client->stats.sessions_resumed += t->tls && tls_conn_reused(t->tls);
    conn->http = h2 ? h2_conn_new(t, false, &client_events, conn, &limits)
                    : h1_conn_new(t, false, &client_events, conn, &limits);
    loop_timer_set(&conn->idle, o->idle_timeout);
    pump(client);
}

static void dial_one(struct http_client *client)
{
    struct client_conn *conn = xnew(struct client_conn);
    conn->client = client;
    conn->next = client->conns;
    client->conns = conn;
    client->stats.connections++;
    loop_timer_init(&conn->idle, client->loop, on_idle);
    const struct http_origin *o = &client->origin;
    struct dial_options options = {.host = o->host,
                                   .port = o->port,
                                   .tls = o->tls,
                                   .proxy = o->proxy_text ? &o->proxy : NULL,
                                   .proxy_tls = o->proxy_tls,
                                   .timeout = client->options.dial_timeout,
                                   .trace = &conn->trace};
    conn->dial = dial_start(client->loop, &options, on_dialled, conn);
}

static void dial_more(struct http_client *client)
{
    size_t open = 0, dialling = 0;
    for (const struct client_conn *c = client->conns; c; c = c->next) {
        dialling += c->dial != NULL;
        open += c->dial || !c->http->draining;
    }
    bool h1 = client->protocol == PROTOCOL_H1;
    size_t max = client->options.max_connections;
    if (max == 0)
        max = h1 ? CONNECTIONS_H1 : CONNECTIONS_H2;
    /* HTTP/2 carries many calls: open one connection at a time. */
    size_t want = h1 ? client->waiting.n : 1;
    for (; dialling < want && open < max; dialling++, open++)
        dial_one(client);
}

static struct client_conn *conn_with_room(const struct http_client *client)
{
    for (struct client_conn *c = client->conns; c; c = c->next)
        if (c->http && http_conn_room(c->http) > 0)
            return c;
    return NULL;
}

/* Assigns calls to connections, then dials for the remaining calls. */
static void pump(struct http_client *client)
{
    while (client->waiting.first && !client->dead) {
        struct client_conn *conn = conn_with_room(client);
        if (!conn)
            break;
        if (http_call_may_start(client->waiting.first))
            start_call(client->waiting.first, conn);
        else
            http_call_cancel(client->waiting.first);
    }
    if (client->waiting.first && !client->dead)
        dial_more(client);
}

static void on_pump(struct loop_task *task)
{
    pump(CONTAINER_OF(task, struct http_client, pump));
}

/* --- sending ---------------------------------------------------------------------------------- */

/* An invalid call is reported from the loop, like every other end of a call. */
static void on_refused(struct loop_timer *timer)
{
    struct http_call *call = CONTAINER_OF(timer, struct http_call, timer);
    struct err err;
    int r = http_call_check(call, &err);
    if (r == 0)
        r = err_set(&err, -EAGAIN, "more than %zu requests are waiting",
                    call->client->options.max_waiting);
    http_client_fail(call, r, &err, true);
}

struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   const struct http_handlers *handlers, void *ctx)
{
    assert(!client->dead);
    struct http_call *call =
        http_call_new(client, client->loop, request,
                      str_of(request->authority ? request->authority : client->origin.authority));
    call->handlers = handlers;
    call->ctx = ctx;
    call->timing.sent = loop_now(client->loop);
    bool full = client->waiting.n >= client->options.max_waiting;
    if (full || http_call_check(call, NULL) < 0) {
        call_list_append(&client->refused, call);
        call->timer.fn = on_refused;
        loop_timer_set(&call->timer, 0);
        return call;
    }
    call_list_append(&client->waiting, call);
    http_call_start_timer(call, request);
    want_pump(client);
    return call;
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void fill_defaults(struct http_client_options *o)
{
    o->max_waiting = o->max_waiting ? o->max_waiting : 65536;
    o->max_streams = o->max_streams ? o->max_streams : 1000;
    o->max_header_bytes = o->max_header_bytes ? o->max_header_bytes : (size_t)256 * 1024;
    o->stream_window = o->stream_window ? o->stream_window : (size_t)4 << 20;
    o->dial_timeout = o->dial_timeout ? o->dial_timeout : 30 * NSEC_PER_SEC;
    o->idle_timeout = o->idle_timeout ? o->idle_timeout : 90 * NSEC_PER_SEC;
    o->ping_interval = o->ping_interval ? o->ping_interval : 30 * NSEC_PER_SEC;
    o->ping_timeout = o->ping_timeout ? o->ping_timeout : 15 * NSEC_PER_SEC;
}

static void client_release(struct http_client *client)
{
    http_origin_release(&client->origin);
    free(client);
}

static void on_reap(struct loop_task *task)
{
    client_release(CONTAINER_OF(task, struct http_client, reap));
}

int http_client_new(struct loop *loop, const struct http_client_options *options,
                    struct http_client **ret_client, struct err *reterr)
{
    struct http_client *client = xnew(struct http_client);
    client->loop = loop;
    client->options = *options;
    fill_defaults(&client->options);
    client->peer_streams = ASSUMED_STREAMS;
    call_list_init(&client->waiting);
    call_list_init(&client->running);
    call_list_init(&client->refused);
    loop_task_init(&client->pump, on_pump);
    loop_task_init(&client->reap, on_reap);
    int r = http_origin_init(&client->origin, options, reterr);
    if (r < 0)
        free(client);
    else
        *ret_client = client;
    return r;
}

static void cancel_all(struct call_list *list)
{
    while (list->first) {
        struct http_call *call = list->first;
        struct err err;
        call_list_remove(call);
        http_stream_leave(&call->stream);
        err_set(&err, -ECANCELED, "client closed");
        finish_call(call, -ECANCELED, &err, call->conn == NULL);
    }
}

struct http_client *http_client_free(struct http_client *client)
{
    if (!client || client->dead)
        return NULL;
    client->dead = true;
    while (client->conns) {
        struct client_conn *conn = client->conns;
        dial_cancel(conn->dial);
        if (conn->http)
            http_conn_free(conn->http);
        remove_conn(conn);
    }
    loop_task_cancel(client->loop, &client->pump);
    loop_task_schedule(client->loop, &client->reap);
    cancel_all(&client->running);
    cancel_all(&client->waiting);
    cancel_all(&client->refused);
    return NULL;
}

void http_client_close_idle(struct http_client *client)
{
    for (struct client_conn *c = client->conns, *next; c; c = next) {
        next = c->next;
        if (c->http)
            http_conn_drain(c->http);
    }
}

void http_client_set_tls(struct http_client *client, struct tls_config *tls)
{
    struct tls_config *old = client->origin.tls;
    if (!old)
        return; /* plain http */
    client->origin.tls = tls_config_ref(tls);
    tls_config_unref(old);
    http_client_close_idle(client);
}

const struct http_timing *http_call_timing(const struct http_call *call)
{
    return &call->timing;
}

void http_client_get_stats(const struct http_client *client, struct http_client_stats *ret_stats)
{
    *ret_stats = client->stats;
    ret_stats->waiting = client->waiting.n;
    ret_stats->calls = client->waiting.n + client->running.n + client->refused.n;
}
