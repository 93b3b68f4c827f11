/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_exchange.h"

static struct exchange *inner(const struct http_exchange *x)
{
    return CONTAINER_OF((struct http_exchange *)(uintptr_t)x, struct exchange, pub);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void report(struct exchange *x)
{
    account_report(x->account, &x->reported, x->head_n + x->body.cap);
}

struct exchange *exchange_new(const struct http_head *head, const struct transport *t,
                              struct str remote)
{
    struct exchange *x = xnew(struct exchange);
    size_t size = head->method.n + head->target.n + head->authority.n + remote.n + 64;
    for (size_t i = 0; i < head->headers->list.n; i++)
        size += head->headers->list.v[i].name.n + head->headers->list.v[i].value.n + 2;
    arena_init(&x->arena, size + 64); /* one exact chunk: watches keep theirs for hours */
    struct http_exchange *p = &x->pub;
    p->method = arena_dup(&x->arena, head->method);
    struct str target = arena_dup(&x->arena, head->target);
    size_t mark = str_find(target, '?');
    p->path = str_slice(target, 0, mark);
    p->query = str_slice(target, mark + 1, target.n);
    p->host = arena_dup(&x->arena, head->authority);
    p->remote = arena_dup(&x->arena, remote);
    p->remote_host = p->remote;
    while (p->remote_host.n && p->remote_host.p[--p->remote_host.n] != ':')
        ;
    vec_reserve(&p->headers.list, head->headers->list.n);
    for (size_t i = 0; i < head->headers->list.n; i++) {
        struct http_header h = head->headers->list.v[i];
        vec_push(&p->headers.list, ((struct http_header){arena_dup(&x->arena, h.name),
                                                         arena_dup(&x->arena, h.value)}));
    }
    p->http_major = head->http_major;
    p->tls = t->tls != NULL;
    p->peer = t->tls ? tls_conn_peer(t->tls) : NULL;
    p->has_body = head->has_body;
    x->account = t->account;
    x->head_n = sizeof(*x) + size + head->headers->list.n * sizeof(struct http_header);
    report(x);
    x->on_stream = true;
    if (head->too_large)
        x->reject = 431;
    else if (!http_is_target(target))
        x->reject = 400;
    return x;
}

static void exchange_free(struct exchange *x)
{
    http_stream_release(&x->stream);
    vec_release(&x->pub.headers.list);
    buf_release(&x->body);
    arena_release(&x->arena);
    free(x);
}

/* The handler has answered. */
static void release_by_handler(struct exchange *x)
{
    if (x->prev) {
        *x->prev = x->next;
        if (x->next)
            x->next->prev = x->prev;
    }
    if (x->open)
        (*x->open)--;
    x->handled = false;
    if (!x->on_stream)
        exchange_free(x);
}

void exchange_left(struct exchange *x)
{
    x->on_stream = false;
    x->on_body = NULL;
    account_report(x->account, &x->reported, 0);
    x->account = NULL; /* freed with the connection */
    if (!x->handled) {
        exchange_free(x);
        return;
    }
    x->pub.peer = NULL; /* freed with the connection */
    if (x->pub.on_gone)
        x->pub.on_gone(&x->pub);
}

/* --- request bodies --------------------------------------------------------------------------- */

static void body_done(struct exchange *x, int code)
{
    http_body_fn *fn = TAKE(x->on_body);
    x->pub.body = buf_str(&x->body);
    fn(&x->pub, code);
}

/* The rest of the body is not read. */
static void body_too_large(struct exchange *x)
{
    buf_release(&x->body);
    report(x);
    http_stream_pause(&x->stream);
    body_done(x, -EMSGSIZE);
}

void exchange_take(struct exchange *x, struct str data)
{
    if (!x->on_body)
        return;
    if (data.n > x->max_body || x->body.n > x->max_body - data.n) {
        body_too_large(x);
        return;
    }
    buf_add_str(&x->body, data);
    report(x);
}

void exchange_complete(struct exchange *x)
{
    if (x->on_body)
        body_done(x, 0);
}

void http_read_body(struct http_exchange *pub, uint64_t max, http_body_fn *fn)
{
    struct exchange *x = inner(pub);
    uint64_t length;
    if (!x->on_stream)
        return; /* on_gone was called */
    x->on_body = fn;
    x->max_body = max;
    if (str_to_u64(http_headers_get(&pub->headers, "content-length"), &length) && length > max) {
        body_too_large(x);
    } else if (x->stream.remote_end && !x->stream.held.n) {
        body_done(x, 0);
    } else {
        x->stream.progress = loop_now(x->stream.conn->transport->loop);
        http_stream_resume(&x->stream);
    }
}

void exchange_reject(struct exchange *x)
{
    if (x->head_sent || !x->stream.conn)
        return;
    struct buf text = BUF_INIT;
    struct http_header type = HTTP_HEADER("content-type", STR("text/plain"));
    buf_add_printf(&text, "%s\n", http_status_text(x->reject));
    x->head_sent = true;
    http_stream_respond(&x->stream, x->reject, &type, 1, (int64_t)text.n);
    http_stream_write(&x->stream, buf_str(&text));
    buf_release(&text);
    http_stream_end(&x->stream);
}

/* --- responses -------------------------------------------------------------------------------- */

void http_respond(struct http_exchange *pub, int status, const struct http_header *headers,
                  size_t n, struct str body)
{
    struct exchange *x = inner(pub);
    if (x->on_stream && !x->head_sent) {
        x->head_sent = true;
        http_stream_respond(&x->stream, status, headers, n, (int64_t)body.n);
        http_stream_write(&x->stream, body);
    }
    http_end(pub);
}

void http_respond_text(struct http_exchange *x, int status, const char *content_type,
                       struct str body)
{
    struct http_header type = HTTP_HEADER("content-type", str_of(content_type));
    http_respond(x, status, &type, 1, body);
}

void http_respond_stream(struct http_exchange *pub, int status, const struct http_header *headers,
                         size_t n)
{
    struct exchange *x = inner(pub);
    if (!x->on_stream || x->head_sent)
        return;
    x->head_sent = true;
    http_stream_respond(&x->stream, status, headers, n, -1);
}

size_t http_write(struct http_exchange *pub, struct str data)
{
    struct exchange *x = inner(pub);
    if (!x->on_stream || !x->head_sent)
        return 0;
    http_stream_write(&x->stream, data);
    return http_stream_queued(&x->stream);
}

void http_end(struct http_exchange *pub)
{
    struct exchange *x = inner(pub);
    pub->on_gone = NULL;
    pub->on_drain = NULL;
    if (!x->on_stream) {
        release_by_handler(x);
        return;
    }
    if (!x->head_sent) { /* a missing response is our own error */
        x->head_sent = true;
        http_stream_respond(&x->stream, 500, NULL, 0, 0);
    }
    /* Release the handler's hold first: ending may free the stream at once. */
    struct http_stream *stream = &x->stream;
    release_by_handler(x);
    http_stream_end(stream);
}

void http_abort(struct http_exchange *pub)
{
    struct exchange *x = inner(pub);
    pub->on_gone = NULL;
    pub->on_drain = NULL;
    if (x->on_stream) {
        x->on_stream = false;
        account_report(x->account, &x->reported, 0);
        x->account = NULL;
        http_stream_detach(&x->stream);
    }
    release_by_handler(x);
}

void http_last_request(struct http_exchange *pub)
{
    struct exchange *x = inner(pub);
    if (x->on_stream && x->stream.conn)
        http_conn_drain(x->stream.conn);
}
