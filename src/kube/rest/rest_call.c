/* SPDX-License-Identifier: Apache-2.0 */
/* One call: its attempts, the response, retries, the result. */
#include "kube/rest/rest_internal.h"

#include "api/status.h"
#include "base/log.h"
#include "kube/rest/http_log.h"

#define TIMEOUT_CALL   (60 * NSEC_PER_SEC)
#define TIMEOUT_LIST   (300 * NSEC_PER_SEC)
#define LONG_THROTTLE  (50 * NSEC_PER_MSEC) /* client-go: longThrottleLatency, logged */
#define MAX_ERROR_TEXT ((size_t)1 << 20)

static bool is_watch(const struct rest_call *call)
{
    return !call->fn;
}

static void note_pod(struct rest_call *call, const struct rest_request *request);
static void on_timer(struct loop_timer *timer);
static void on_task(struct loop_task *task);

/* --- lifecycle -------------------------------------------------------------------------------- */

/* The client's preference, unless the server has returned only JSON for this resource. */
static bool wants_proto(const struct rest_client *client, const struct kind *kind)
{
    return str_is(client->config->content_type, KUBE_CONTENT_PROTOBUF) &&
           !rest_is_json_only(client, kind);
}

/* Whether the response must be JSON. */
static bool wants_json(const struct rest_call *call)
{
    return call->plain || rest_is_json_only(call->client, call->kind) ||
           call->object_flags & OBJECT_KEEP_JSON;
}

static void take_body(struct rest_call *call, const struct rest_request *request)
{
    if (!request->body_kind) {
        buf_add_str(&call->body, request->text);
        return;
    }
    call->body_kind = request->body_kind;
    call->body_encoding = wants_proto(call->client, call->kind) ? ENCODING_PROTO : ENCODING_JSON;
    object_encode(request->body_kind, request->body, call->body_encoding, &call->body);
}

struct rest_call *rest_call_new(struct rest_client *client, const struct rest_request *request,
                                bool watch)
{
    struct rest_call *call = xnew(struct rest_call);

    call->client = client;
    arena_init(&call->arena, 0);
    call->verb = request->verb;
    call->kind = request->kind;
    call->target = rest_target(client, request, watch, &call->arena);
    call->plain = !str_empty(request->path);
    call->timeout = request->timeout;
    if (call->timeout == 0 && !watch)
        call->timeout = request->verb == REST_LIST ? TIMEOUT_LIST : TIMEOUT_CALL;
    call->max_retries = request->max_retries ? request->max_retries : REST_MAX_RETRIES;
    call->object_flags = request->object_flags;
    call->guarded = client->may_write && !request->unguarded && request->verb != REST_GET &&
                    request->verb != REST_LIST;
    call->confidential = request->confidential;
    if (http_log_on())
        note_pod(call, request);
    take_body(call, request);
    buf_init(&call->answer, 0);
    loop_timer_init(&call->timer, client->loop, on_timer);
    loop_task_init(&call->task, on_task);
    call->next = client->calls;
    call->prev = &client->calls;
    if (call->next)
        call->next->prev = &call->next;
    client->calls = call;
    /* A watch is always open; only calls count as load. */
    if (!watch)
        loop_add_load(client->loop, 1);
    return call;
}

/* Stops everything that could call back. */
static void stop_call(struct rest_call *call)
{
    rest_guard_release(call);
    loop_timer_stop(&call->timer);
    loop_task_cancel(call->client->loop, &call->task);
    auth_wait_cancel(&call->wait);
    if (call->http)
        http_call_cancel(TAKE(call->http));
}

void rest_client_shutdown(struct rest_client *client)
{
    client->shut_down = true;
    for (struct rest_call *call = client->calls; call; call = call->next)
        stop_call(call);
}

/* Stops the call and removes it from the client's list. */
static void detach(struct rest_call *call)
{
    stop_call(call);
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    if (!is_watch(call))
        loop_add_load(call->client->loop, -1);
}

static void call_free(struct rest_call *call)
{
    buf_release(&call->body);
    buf_release(&call->answer);
    buf_release(&call->stream.bytes);
    arena_release(&call->arena);
    free(call);
}

struct rest_call *rest_cancel(struct rest_call *call)
{
    if (!call)
        return NULL;
    if (call->gone)
        *call->gone = true;
    detach(call);
    call_free(call);
    return NULL;
}

void rest_call_finish(struct rest_call *call, struct rest_result *result)
{
    result->kind = call->kind;
    if (result->code < 0 || call->verb == REST_LIST)
        result->url =
            arena_printf(&call->arena, "%.*s%.*s", STR_ARG(rest_origin(call->client)),
                         STR_ARG(str_slice(call->target, 0, str_find(call->target, '?'))));
    result->encoding = call->encoding;
    result->object_flags = call->object_flags;
    if (!is_watch(call))
        rest_meter_done(call->client->meter, rest_meter_method(call->verb),
                        loop_now(call->client->loop) - call->begun);
    detach(call);
    /* The callback may free the client. */
    if (is_watch(call))
        call->stream.handlers->on_end(call->ctx, result);
    else
        call->fn(call->ctx, result);
    call_free(call);
}

/*
 * Sets "METHOD URL: reason". The query is omitted: it is long and differs between attempts. Errors
 * of src/net begin with the origin, which is already there.
 */
int rest_fail(struct rest_call *call, struct err *reterr, int code, const char *fmt, ...)
{
    struct str origin = rest_origin(call->client);
    struct str path = str_slice(call->target, 0, str_find(call->target, '?'));
    char text[400];
    struct str what;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    what = str_of(text);
    if (str_starts(what, origin) && str_starts(str_slice(what, origin.n, what.n), STR(": ")))
        what = str_slice(what, origin.n + 2, what.n);
    return err_set(reterr, code, "%s %.*s%.*s: %.*s", rest_method(call->verb), STR_ARG(origin),
                   STR_ARG(path), STR_ARG(what));
}

/* --- attempts --------------------------------------------------------------------------------- */

/* An attempt has ended with a response or without one. */
static void count_attempt(struct rest_call *call, int status)
{
    struct rest_meter *meter = call->client->meter;
    enum rest_method method = rest_meter_method(call->verb);

    rest_meter_attempt(meter, method, status, call->again);
    if (!is_watch(call))
        rest_meter_sent(meter, method, call->body.n);
}

/* --- log lines -------------------------------------------------------------------------------- */

static struct http_log_exchange exchange_of(struct rest_call *call)
{
    return (struct http_log_exchange){.verb = rest_method(call->verb),
                                      .url = arena_printf(&call->arena, "%.*s%.*s",
                                                          STR_ARG(rest_origin(call->client)),
                                                          STR_ARG(call->target)),
                                      .pod_namespace = call->pod_namespace,
                                      .pod_name = call->pod_name,
                                      .logger = call->binds ? "Bind.DefaultBinder" : NULL};
}

/* Log lines name the pod that a request is about. */
static void note_pod(struct rest_call *call, const struct rest_request *request)
{
    if (!request->kind || request->kind->id != KIND_POD || str_empty(request->name))
        return;
    call->pod_namespace = arena_dup(&call->arena, request->namespace);
    call->pod_name = arena_dup(&call->arena, request->name);
    call->binds = str_is(request->subresource, "binding");
}

static void log_request(struct rest_call *call, const struct http_header *headers, size_t n)
{
    struct http_log_exchange x = exchange_of(call);
    http_log_body(&x, "Request Body", buf_str(&call->body), call->confidential);
    http_log_request(&x, headers, n);
}

/* headers NULL: no response; err has the reason. */
static void log_response(struct rest_call *call, const struct http_headers *headers,
                         const struct err *err)
{
    struct http_log_exchange x = exchange_of(call);
    x.status = call->status;
    x.timing = http_call_timing(call->http);
    x.now = loop_now(call->client->loop);
    http_log_response(&x, headers, err);
}

static void log_answer(struct rest_call *call)
{
    struct http_log_exchange x = exchange_of(call);
    http_log_body(&x, "Response Body", buf_str(&call->answer), call->confidential);
}

/* --- response --------------------------------------------------------------------------------- */

static void on_head(void *ctx, int status, const struct http_headers *headers)
{
    struct rest_call *call = ctx;
    struct str type = http_headers_get(headers, "content-type");
    struct str retry = http_headers_get(headers, "retry-after");
    int64_t seconds;

    call->status = status;
    count_attempt(call, status);
    if (http_log_on())
        log_response(call, headers, NULL);
    call->retry_after = str_to_i64(str_trim(retry), &seconds) && seconds >= 0 ? seconds : -1;
    call->encoding_known = true;
    if (str_starts(type, STR(KUBE_CONTENT_PROTOBUF)))
        call->encoding = ENCODING_PROTO;
    else if (str_starts(type, STR(KUBE_CONTENT_JSON)))
        call->encoding = ENCODING_JSON;
    else
        call->encoding_known = false;
    /* Do not ask for protobuf again. */
    if (status < 300 && call->asked_proto && call->encoding == ENCODING_JSON &&
        call->encoding_known)
        call->client->json_only[call->kind->id] = true;
    if (is_watch(call) && status == 200) {
        call->stream.open = true;
        if (call->stream.handlers->on_open && call->encoding_known)
            call->stream.handlers->on_open(call->ctx);
    }
}

static void on_data(void *ctx, struct str data)
{
    struct rest_call *call = ctx;

    if (call->stream.open)
        rest_stream_data(call, data);
    else if (call->status < 300 || call->answer.n + data.n <= MAX_ERROR_TEXT)
        buf_add_str(&call->answer, data);
}

static void on_done(void *ctx, int code, const struct err *err, bool retryable);
static const struct http_handlers handlers = {on_head, on_data, on_done};

static void send_now(struct rest_call *call)
{
    struct rest_client *client = call->client;
    auth_headers_vec headers = {0};
    struct http_request request = {
        .method = str_of(rest_method(call->verb)),
        .target = call->target,
        .body = buf_str(&call->body),
        .total_timeout = call->timeout,
        .max_body = call->verb == REST_LIST ? client->options.max_list : client->options.max_reply,
        .may_start = rest_guard_ask,
    };

    call->asked_proto = !wants_json(call) && wants_proto(client, call->kind);
    vec_push(&headers, HTTP_HEADER("Accept", wants_json(call) ? STR(KUBE_CONTENT_JSON)
                                                              : client->config->accept));
    vec_push(&headers, HTTP_HEADER("User-Agent", client->config->user_agent));
    if (call->body.n > 0)
        vec_push(&headers, HTTP_HEADER("Content-Type", rest_body_type(call)));
    auth_add_headers(client->auth, &call->arena, &headers);
    if (call->throttled > LONG_THROTTLE)
        log_info(3, "Waited before sending request", KV_DURATION("delay", call->throttled),
                 KV_CSTR("reason", "client-side throttling, not priority and fairness"),
                 KV_CSTR("verb", rest_method(call->verb)), KV_STR("URL", exchange_of(call).url));
    call->throttled = 0;
    if (http_log_on())
        log_request(call, headers.v, headers.n);
    request.headers = headers.v;
    request.n_headers = headers.n;
    if (is_watch(call))
        request.max_body = 0;
    call->generation = auth_generation(client->auth);
    call->status = 0;
    call->retry_after = -1;
    call->encoding = ENCODING_JSON;
    buf_clear(&call->answer);
    call->http =
        http_client_send(client->http[is_watch(call) ? REST_CHANNEL_WATCHES : REST_CHANNEL_CALLS],
                         &request, &handlers, call);
    vec_release(&headers);
}

static void on_credentials(struct auth_wait *wait, int code, const struct err *err)
{
    struct rest_call *call = CONTAINER_OF(wait, struct rest_call, wait);
    struct rest_result result = {0};

    if (code == 0) {
        send_now(call);
        return;
    }
    result.code = rest_fail(call, &result.err, code, "%s", err->msg);
    rest_call_finish(call, &result);
}

static void authenticate(struct rest_call *call)
{
    if (auth_ready(call->client->auth, &call->wait, on_credentials))
        send_now(call);
}

static void on_timer(struct loop_timer *timer)
{
    authenticate(CONTAINER_OF(timer, struct rest_call, timer));
}

static void on_task(struct loop_task *task)
{
    authenticate(CONTAINER_OF(task, struct rest_call, task));
}

/* Starts an attempt after `delay` and after the delay of the rate limit. */
static void begin(struct rest_call *call, int64_t delay)
{
    struct rest_client *client = call->client;

    /* Retries also take a token; watches do not (see rest_watch). */
    if (!is_watch(call)) {
        int64_t wait = ratelimit_take(&client->limit, loop_now(client->loop));

        if (client->limit.interval)
            rest_meter_limited(client->meter, rest_meter_method(call->verb), wait);
        delay = MAX(delay, wait);
        call->throttled = wait;
    }
    if (delay > 0)
        loop_timer_set(&call->timer, delay);
    else
        loop_task_schedule(client->loop, &call->task);
}

void rest_call_start(struct rest_call *call)
{
    call->begun = loop_now(call->client->loop);
    if (!call->client->shut_down)
        begin(call, 0);
}

/* --- retries and results ---------------------------------------------------------------------- */

/* Converts a protobuf body to JSON. It was encoded here, so it decodes. */
static bool reencode_body(struct rest_call *call)
{
    struct wire wire = {.kind = call->body_kind, .encoding = ENCODING_PROTO};
    struct object *object;

    if (!call->body_kind || call->body_encoding == ENCODING_JSON)
        return true;
    if (object_decode(&wire, buf_str(&call->body), &object, NULL) < 0)
        return false;
    buf_clear(&call->body);
    object_encode(call->body_kind, object_body(object), ENCODING_JSON, &call->body);
    call->body_encoding = ENCODING_JSON;
    object_unref(object);
    return true;
}

/* Returns true if another attempt was started at once: 401, 406, 415. */
static bool negotiate_again(struct rest_call *call)
{
    struct rest_client *client = call->client;

    if (call->status == 401 && !call->refreshed) {
        call->refreshed = true;
        if (!auth_reject(client->auth, call->generation))
            return false;
        loop_task_schedule(client->loop, &call->task);
        return true;
    }
    if ((call->status == 406 || call->status == 415) &&
        (call->asked_proto || call->body_encoding == ENCODING_PROTO)) {
        log_info(3, "The server has no protobuf for this resource; using JSON",
                 KV_STR("resource", call->kind->resource), KV_INT("status", call->status));
        client->json_only[call->kind->id] = true;
        if (!reencode_body(call))
            return false;
        loop_task_schedule(client->loop, &call->task);
        return true;
    }
    return false;
}

/* Returns true if another attempt was scheduled for the time that the server asked for. */
static bool retry_later(struct rest_call *call)
{
    struct rest_client *client = call->client;
    int64_t delay;

    if ((call->status != 429 && call->status < 500) || call->retry_after < 0 ||
        call->attempts >= call->max_retries)
        return false;
    call->attempts++;
    call->again = true;
    delay = call->retry_after >= client->options.retry_after_max / client->options.retry_unit
                ? client->options.retry_after_max
                : call->retry_after * client->options.retry_unit;
    log_info(4, "Got a Retry-After response", KV_DURATION("delay", delay),
             KV_INT("attempt", call->attempts), KV_STR("url", exchange_of(call).url));
    begin(call, delay);
    return true;
}

/*
 * The connection was lost. If the server has certainly not processed the request (GOAWAY, a refused
 * stream), it is sent again at once; reads are sent again in any case, after a second (client-go:
 * rest.WithRetry retries GET on a reset connection). A watch is resumed by its owner, which knows
 * the resource version.
 */
static bool retry_lost(struct rest_call *call, int code, bool retryable)
{
    bool read_only = call->verb == REST_GET || call->verb == REST_LIST;

    if (code != -ECONNRESET || is_watch(call) || call->attempts >= call->max_retries ||
        !(retryable || read_only))
        return false;
    call->attempts++;
    call->again = true;
    begin(call, retryable && call->attempts == 1 ? 0 : call->client->options.retry_unit);
    return true;
}

static bool has_cause(const struct status *status, const char *reason)
{
    for (size_t i = 0; status->details && i < status->details->causes.n; i++) {
        if (str_is(status->details->causes.v[i].reason, reason))
            return true;
    }
    return false;
}

/* The text of a proxy or a broken server, cut to one line. */
static void fail_by_text(struct rest_call *call, struct rest_result *result)
{
    struct str text = str_trim(str_slice(buf_str(&call->answer), 0, 200));
    char line[200];
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        line[n++] = (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i];
    result->code = rest_fail(call, &result->err, rest_status_errno(call->status, (struct str){0}),
                             "%d %s%s%.*s", call->status, http_status_text(call->status),
                             n ? ": " : "", (int)n, line);
}

/* *ret_status keeps the strings that the result points to. */
static void fail_by_status(struct rest_call *call, struct rest_result *result,
                           struct object **ret_status)
{
    struct wire wire = {.kind = kind_get(KIND_STATUS), .encoding = call->encoding};
    const struct status *status;

    if (!call->encoding_known ||
        object_decode(&wire, buf_str(&call->answer), ret_status, NULL) < 0) {
        fail_by_text(call, result);
        return;
    }
    status = object_status(*ret_status);
    result->reason = status->reason;
    result->too_large_resource_version = has_cause(status, "ResourceVersionTooLarge");
    result->code = rest_status_errno(call->status, status->reason);
    if (str_empty(status->message))
        rest_fail(call, &result->err, result->code, "%d %.*s", call->status,
                  STR_ARG(status->reason));
    else if (call->status == 401)
        /* "Unauthorized" alone does not say which credentials to check. */
        rest_fail(call, &result->err, result->code,
                  "%.*s: the server rejected the credentials from %.*s", STR_ARG(status->message),
                  STR_ARG(call->client->config->source));
    else
        err_set(&result->err, result->code, "%.*s", STR_ARG(status->message));
}

static void answered(struct rest_call *call)
{
    struct rest_result result = {.status = call->status};
    struct object *status = NULL;

    if (call->status >= 300) {
        if (negotiate_again(call) || retry_later(call))
            return;
        rest_meter_received(call->client->meter, rest_meter_method(call->verb), call->answer.n);
        fail_by_status(call, &result, &status);
    } else if (is_watch(call)) {
        result.code = call->stream.open
                          ? rest_stream_end(call, &result.err)
                          : rest_fail(call, &result.err, -EPROTO,
                                      "unexpected status %d for a watch", call->status);
    } else if (!call->encoding_known && !call->plain && call->answer.n > 0) {
        result.code = rest_fail(call, &result.err, -EPROTO,
                                "the response is neither JSON nor Kubernetes protobuf");
    } else {
        rest_meter_received(call->client->meter, rest_meter_method(call->verb), call->answer.n);
        result.body = buf_str(&call->answer);
    }
    rest_call_finish(call, &result);
    object_unref(status);
}

static void on_done(void *ctx, int code, const struct err *err, bool retryable)
{
    struct rest_call *call = ctx;
    struct rest_result result = {.status = call->status};

    if (http_log_on() && !call->status)
        log_response(call, NULL, err);
    if (http_log_on() && code == 0 && !call->stream.open)
        log_answer(call);
    call->http = NULL;
    if (!call->status)
        count_attempt(call, 0);
    if (code == 0) {
        answered(call);
        return;
    }
    if (retry_lost(call, code, retryable))
        return;
    result.status = 0;
    result.code = rest_fail(call, &result.err, code, "%s", err->msg);
    rest_call_finish(call, &result);
}

/* --- public functions ------------------------------------------------------------------------- */

struct rest_call *rest_send(struct rest_client *client, const struct rest_request *request,
                            rest_done_fn *fn, void *ctx)
{
    struct rest_call *call = rest_call_new(client, request, false);

    call->fn = fn;
    call->ctx = ctx;
    rest_call_start(call);
    return call;
}
