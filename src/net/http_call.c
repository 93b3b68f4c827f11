/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_call.h"

#define BODY_MAX ((size_t)512 << 20)

struct http_fetch {
    struct http_response response;
    http_fetch_fn *fn;
    void *ctx;
};

/* --- lists of calls --------------------------------------------------------------------------- */

void call_list_init(struct call_list *list)
{
    list->first = NULL;
    list->last = &list->first;
    list->n = 0;
}

void call_list_append(struct call_list *list, struct http_call *call)
{
    call->list = list;
    call->next = NULL;
    call->prev = list->last;
    *list->last = call;
    list->last = &call->next;
    list->n++;
}

void call_list_prepend(struct call_list *list, struct http_call *call)
{
    call->list = list;
    call->next = list->first;
    call->prev = &list->first;
    if (list->first)
        list->first->prev = &call->next;
    else
        list->last = &call->next;
    list->first = call;
    list->n++;
}

void call_list_remove(struct http_call *call)
{
    struct call_list *list = call->list;
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    else
        list->last = call->prev;
    list->n--;
}

/* --- request ---------------------------------------------------------------------------------- */

static struct str put(char **at, struct str s)
{
    struct str copy = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static void on_timer(struct loop_timer *timer);

struct http_call *http_call_new(struct http_client *client, struct loop *loop,
                                const struct http_request *request, struct str authority)
{
    size_t headers = request->n_headers * sizeof(struct http_header);
    size_t body = request->body_lives ? 0 : request->body.n;
    size_t text = request->method.n + request->target.n + body + authority.n;
    for (size_t i = 0; i < request->n_headers; i++)
        text += request->headers[i].name.n + request->headers[i].value.n;
    /* Not zeroed as a whole: bodies may be large. */
    struct http_call *call = xmalloc(sizeof(*call) + headers + text);
    memset(call, 0, sizeof(*call));
    call->client = client;
    call->headers = (struct http_header *)(void *)call->text;
    call->n_headers = request->n_headers;
    char *at = call->text + headers;
    call->method = put(&at, request->method);
    call->target = put(&at, request->target);
    call->authority = put(&at, authority);
    for (size_t i = 0; i < request->n_headers; i++) {
        call->headers[i].name = put(&at, request->headers[i].name);
        call->headers[i].value = put(&at, request->headers[i].value);
    }
    call->body = request->body_lives ? request->body : put(&at, request->body);
    call->max_body = request->max_body;
    call->may_start = request->may_start;
    loop_timer_init(&call->timer, loop, on_timer);
    return call;
}

static void fetch_free(struct http_fetch *fetch)
{
    if (!fetch)
        return;
    vec_release(&fetch->response.headers.list);
    buf_release(&fetch->response.body);
    arena_release(&fetch->response.arena);
    free(fetch);
}

static void call_free(struct http_call *call)
{
    loop_timer_stop(&call->timer);
    http_stream_release(&call->stream);
    fetch_free(call->fetch);
    free(call);
}

int http_call_check(const struct http_call *call, struct err *reterr)
{
    if (!http_is_token(call->method))
        return err_set(reterr, -EINVAL, "\"%.*s\" is not an HTTP method", STR_ARG(call->method));
    if (!http_is_target(call->target))
        return err_set(reterr, -EINVAL, "\"%.*s\" is not a path",
                       STR_ARG(str_slice(call->target, 0, 200)));
    if (call->body.n > BODY_MAX)
        return err_set(reterr, -EINVAL, "request body larger than %zu bytes", BODY_MAX);
    for (size_t i = 0; i < call->n_headers; i++) {
        const struct http_header *h = &call->headers[i];
        if (!http_is_token(h->name) || !http_is_value(h->value))
            return err_set(reterr, -EINVAL,
                           "header \"%.*s\" contains characters that HTTP does not allow",
                           STR_ARG(str_slice(h->name, 0, 100)));
    }
    return 0;
}

bool http_call_has_body(const struct http_call *call)
{
    return call->body.n || str_is(call->method, "POST") || str_is(call->method, "PUT") ||
           str_is(call->method, "PATCH");
}

bool http_call_is_safe(const struct http_call *call)
{
    return str_is(call->method, "GET") || str_is(call->method, "HEAD");
}

/* --- timers ----------------------------------------------------------------------------------- */

static void on_timer(struct loop_timer *timer)
{
    struct http_call *call = CONTAINER_OF(timer, struct http_call, timer);
    struct err err;
    err_set(&err, -ETIMEDOUT, "%.*s %.*s: %s", STR_ARG(call->method),
            STR_ARG(str_slice(call->target, 0, 200)),
            !call->conn              ? "timed out waiting for a connection"
            : call->stream.head_seen ? "timed out reading the response"
                                     : "timed out waiting for a response");
    http_client_fail(call, -ETIMEDOUT, &err, call->conn == NULL);
}

void http_call_start_timer(struct http_call *call, const struct http_request *request)
{
    int64_t head = request->head_timeout, total = request->total_timeout;
    if (total > 0)
        call->total_at = loop_now(call->timer.loop) + total;
    if (head > 0 || total > 0)
        loop_timer_set(&call->timer, head > 0 && (total <= 0 || head < total) ? head : total);
}

void http_call_head_arrived(struct http_call *call)
{
    if (call->total_at)
        loop_timer_set(&call->timer, call->total_at - loop_now(call->timer.loop));
    else
        loop_timer_stop(&call->timer);
}

bool http_call_may_start(const struct http_call *call)
{
    return !call->may_start || call->may_start(call->fetch ? call->fetch->ctx : call->ctx);
}

/* --- the end ---------------------------------------------------------------------------------- */

void http_call_finish(struct http_call *call, int code, const struct err *err, bool retryable)
{
    loop_timer_stop(&call->timer);
    call->done = true;
    call->handlers->on_done(call->ctx, code, err, retryable);
    call_free(call);
}

void http_call_cancel(struct http_call *call)
{
    if (call->done)
        return;
    http_client_forget(call);
    call_free(call);
}

void http_call_pause(struct http_call *call)
{
    http_stream_pause(&call->stream);
}

void http_call_resume(struct http_call *call)
{
    http_stream_resume(&call->stream);
}

/* --- fetch ------------------------------------------------------------------------------------ */

static void fetch_head(void *ctx, int status, const struct http_headers *headers)
{
    struct http_fetch *fetch = ((struct http_call *)ctx)->fetch;
    struct http_response *r = &fetch->response;
    r->status = status;
    for (size_t i = 0; i < headers->list.n; i++) {
        struct http_header h = headers->list.v[i];
        h.name = arena_dup(&r->arena, h.name);
        h.value = arena_dup(&r->arena, h.value);
        vec_push(&r->headers.list, h);
    }
}

static void fetch_data(void *ctx, struct str data)
{
    buf_add_str(&((struct http_call *)ctx)->fetch->response.body, data);
}

static void fetch_done(void *ctx, int code, const struct err *err, bool retryable)
{
    struct http_fetch *fetch = ((struct http_call *)ctx)->fetch;
    fetch->fn(fetch->ctx, code, code == 0 ? &fetch->response : NULL, err, retryable);
}

static const struct http_handlers fetch_handlers = {fetch_head, fetch_data, fetch_done};

struct http_call *http_client_fetch(struct http_client *client, const struct http_request *request,
                                    http_fetch_fn *fn, void *ctx)
{
    struct http_call *call = http_client_send(client, request, &fetch_handlers, NULL);
    call->ctx = call;
    if (call->max_body == 0)
        call->max_body = HTTP_FETCH_MAX;
    call->fetch = xnew(struct http_fetch);
    call->fetch->fn = fn;
    call->fetch->ctx = ctx;
    buf_init(&call->fetch->response.body, call->max_body);
    arena_init(&call->fetch->response.arena, 1024);
    return call;
}
