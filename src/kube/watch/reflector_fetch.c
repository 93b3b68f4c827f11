/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in pages, streaming lists, watches; what arrives goes to the store and to the sink. */
#include "kube/watch/reflector_internal.h"

#include "api/status.h"
#include "base/log.h"
#include "net/url.h"

#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

/* --- events ----------------------------------------------------------------------------------- */

static void emit(struct reflector *r, enum watch_event_type type, struct object *old,
                 struct object *object)
{
    r->sink->on_event(r->ctx, type, old, object);
}

/* The object's current state. */
static void upsert(struct reflector *r, struct object *object)
{
    struct object *old = watch_store_put(&r->store, object);

    emit(r, old ? WATCH_MODIFIED : WATCH_ADDED, old, object);
    object_unref(old);
}

static void removed(struct reflector *r, struct object *final)
{
    struct object *old = watch_store_take(&r->store, object_meta(final));

    /* Never reported as added. */
    if (!old)
        return;
    emit(r, WATCH_DELETED, old, final);
    object_unref(old);
}

/*
 * An object of a list. An unchanged one is not reported, unless objects are refetched in another
 * form.
 */
static void listed(struct reflector *r, struct object *object)
{
    if (r->refetching || !watch_store_keep(&r->store, object_meta(object)))
        upsert(r, object);
}

static void on_swept(void *ctx, struct object *object)
{
    emit(ctx, WATCH_DELETED, object, object);
}

/* The list is complete: objects that it does not contain are gone. */
void reflector_replaced(struct reflector *r)
{
    bool refetched = r->refetching, synced = r->synced;

    watch_store_sweep(&r->store, on_swept, r);
    r->refetching = false;
    r->synced = true;
    if (!synced) {
        log_info(2, "Caches populated", KV_TYPE(r), KV_REFLECTOR);
        if (r->sink->on_synced)
            r->sink->on_synced(r->ctx, r->options.kind);
    }
    if (refetched && r->sink->on_refetched)
        r->sink->on_refetched(r->ctx, r);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void add_selectors(const struct reflector *r, struct buf *query)
{
    if (!str_empty(r->options.field_selector)) {
        buf_add_cstr(query, "&fieldSelector=");
        url_add_query(query, r->options.field_selector);
    }
    if (!str_empty(r->options.label_selector)) {
        buf_add_cstr(query, "&labelSelector=");
        url_add_query(query, r->options.label_selector);
    }
}

static struct rest_request request_of(const struct reflector *r, const struct buf *query)
{
    return (struct rest_request){
        .verb = REST_LIST,
        .kind = r->options.kind,
        .namespace = r->options.namespace,
        .query = buf_str(query),
        .object_flags = r->options.object_flags,
    };
}

/* --- lists in pages --------------------------------------------------------------------------- */

static void on_page(void *ctx, const struct rest_result *result);
static void start_watch(struct reflector *r, bool streaming);

static void next_page(struct reflector *r)
{
    struct buf query = BUF_INIT;
    struct rest_request request;

    /* No resourceVersion: the server returns the newest state and honours the limit. */
    buf_add_printf(&query, "limit=%u", r->page_size);
    if (r->continue_token.n > 0) {
        buf_add_cstr(&query, "&continue=");
        url_add_query(&query, buf_str(&r->continue_token));
    }
    add_selectors(r, &query);
    request = request_of(r, &query);
    r->state = REFLECTOR_PAGING;
    r->call = rest_send(r->client, &request, on_page, r);
    buf_release(&query);
}

static void start_list(struct reflector *r)
{
    buf_clear(&r->continue_token);
    r->page_bytes = 0;
    r->page_cuts = 0;
    watch_store_begin(&r->store);
    next_page(r);
}

static int on_listed(void *ctx, struct object *object)
{
    listed(ctx, object);
    object_unref(object);
    return 0;
}

/*
 * Requests the same page with half as many objects, then a quarter of these, an eighth and so on,
 * so that a server that always sends too much is detected after a few attempts. A continue token is
 * valid for any limit, so the list stays one snapshot. Later lists start with the smaller size: a
 * discarded page costs more than a few additional requests.
 */
static void halve_page(struct reflector *r)
{
    r->page_cuts++;
    r->page_size = MAX(r->page_size >> r->page_cuts, 1);
    log_info(0, "A page of the list is too large; listing with a smaller limit", KV_TYPE(r),
             KV_INT("limit", r->page_size));
    next_page(r);
}

/* A list is complete. If its pages were far below the limit, the next list uses larger ones. */
static void grow_page(struct reflector *r)
{
    if (r->page_bytes <= rest_client_max_list(r->client) / 4)
        r->page_size = MIN(2 * r->page_size, r->options.page_size);
}

static void page_failed(struct reflector *r, const struct rest_result *result)
{
    if (result->code == -EMSGSIZE && r->page_size > 1) {
        halve_page(r);
        return;
    }
    /* The snapshot has expired: list again, with backoff in case it happens again. */
    if (result->code == -ESTALE && r->continue_token.n > 0)
        log_info(2, "The list expired between two pages; listing again", KV_TYPE(r));
    reflector_failed(r, result, false);
}

static void on_page(void *ctx, const struct rest_result *result)
{
    struct reflector *r = ctx;
    struct rest_result bad = *result;
    struct object_list list;

    r->call = NULL;
    if (result->code < 0) {
        page_failed(r, result);
        return;
    }
    bad.code = rest_result_list(result, on_listed, r, &list, &bad.err);
    if (bad.code < 0) {
        err_prefix(&bad.err, bad.code, "GET %.*s: list", STR_ARG(result->url));
        reflector_failed(r, &bad, false);
        return;
    }
    reflector_contact(r);
    r->page_bytes = MAX(r->page_bytes, result->body.n);
    r->page_cuts = 0;
    buf_clear(&r->continue_token);
    buf_add_str(&r->continue_token, list.metadata.continue_token);
    if (r->continue_token.n > 0) {
        next_page(r);
    } else {
        reflector_set_version(r, list.metadata.resource_version);
        r->version_unavailable = false;
        grow_page(r);
        reflector_replaced(r);
        start_watch(r, false);
    }
    object_list_release(&list);
}

/* --- watches ---------------------------------------------------------------------------------- */

/* The streaming list does not work: list in pages from now on. */
static void no_streaming(struct reflector *r, const char *why)
{
    log_info(2, "Streaming list not available for this resource; listing in pages", KV_TYPE(r),
             KV_CSTR("err", why));
    r->no_streaming = true;
    loop_timer_stop(&r->silence);
    start_list(r);
}

void reflector_on_silence(struct loop_timer *timer)
{
    struct reflector *r = CONTAINER_OF(timer, struct reflector, silence);

    r->call = rest_cancel(r->call);
    no_streaming(r, "no bookmark marked the end of the initial events");
}

static void on_open(void *ctx)
{
    struct reflector *r = ctx;

    if (r->state == REFLECTOR_STREAMING)
        loop_timer_set(&r->silence, r->options.streaming_silence);
}

/*
 * Decides what follows an incomplete streaming list. Refused by a server that does not support it:
 * pages from now on (client-go: fallback from WatchList). Any other response: pages this time,
 * which also gives a better error. No response, or one that asks to wait or for another version:
 * the same again.
 */
static bool fall_back(struct reflector *r, const struct rest_result *result)
{
    if (result->status == 400 || result->status == 405 || result->status == 422) {
        no_streaming(r, result->err.msg);
        return true;
    }
    if (result->status == 0 || result->status == 429 || result->status == 410 ||
        result->too_large_resource_version)
        return false;
    start_list(r);
    return true;
}

static void on_bookmark(struct reflector *r, const struct object_meta *meta)
{
    const struct str *end = str_map_get(&meta->annotations, STR(INITIAL_EVENTS_END));

    if (r->state == REFLECTOR_STREAMING) {
        if (!end || !str_is(*end, "true"))
            return;
        r->state = REFLECTOR_WATCHING;
        r->version_unavailable = false;
        loop_timer_stop(&r->silence);
        log_info(4,
                 "Exiting watch because received the bookmark that marks the end of initial events "
                 "stream",
                 KV_REFLECTOR, KV_INT("totalItems", r->events),
                 KV_DURATION("duration", reflector_now(r) - r->began));
        reflector_set_version(r, meta->resource_version);
        reflector_replaced(r);
        return;
    }
    reflector_set_version(r, meta->resource_version);
}

/* An error event ends the watch. */
static void on_error_event(struct reflector *r, const struct object *object)
{
    const struct status *status = object_status(object);
    struct rest_result result = {.status = status->code, .reason = status->reason};

    if (str_is(status->reason, "Expired") || str_is(status->reason, "Gone"))
        result.status = 410;
    result.code = rest_status_errno(result.status, status->reason);
    err_set(&result.err, result.code, "%.*s", STR_ARG(status->message));
    r->call = rest_cancel(r->call);
    if (r->state == REFLECTOR_STREAMING && fall_back(r, &result))
        return;
    reflector_failed(r, &result, r->state == REFLECTOR_WATCHING);
}

static void on_event(void *ctx, const struct watch_event *event)
{
    struct reflector *r = ctx;
    bool streaming = r->state == REFLECTOR_STREAMING;

    if (event->type == WATCH_ERROR) {
        on_error_event(r, event->object);
        return;
    }
    /* The first event, not the response header: invalid data may follow that. */
    if (r->events++ == 0)
        reflector_contact(r);
    if (streaming)
        loop_timer_set(&r->silence, r->options.streaming_silence);
    switch (event->type) {
    case WATCH_ADDED:
        if (streaming)
            listed(r, event->object);
        else
            upsert(r, event->object);
        break;
    case WATCH_MODIFIED:
        upsert(r, event->object);
        break;
    case WATCH_DELETED:
        removed(r, event->object);
        break;
    case WATCH_BOOKMARK:
        on_bookmark(r, object_meta(event->object));
        return;
    case WATCH_ERROR:
        break;
    }
    /* Initial events are unordered: only the bookmark behind them has a version to resume from. */
    if (!streaming)
        reflector_set_version(r, object_meta(event->object)->resource_version);
}

static void on_end(void *ctx, const struct rest_result *result)
{
    struct reflector *r = ctx;
    bool streaming = r->state == REFLECTOR_STREAMING;

    r->call = NULL;
    loop_timer_stop(&r->silence);
    if (streaming && fall_back(r, result))
        return;
    if (result->code == 0) {
        log_info(4, "Watch close", KV_REFLECTOR, KV_TYPE(r), KV_INT("totalItems", r->events));
        reflector_try_after_watch(r, true);
        return;
    }
    /* A connection that broke after some time: reconnect at once; the next failure is logged. */
    if (result->status == 0 && r->state == REFLECTOR_WATCHING &&
        reflector_now(r) - r->began >= r->options.healthy) {
        log_info(1, "Watch closed with unexpected EOF", KV_REFLECTOR, KV_TYPE(r),
                 KV_ERR(&result->err));
        reflector_try_again(r, true, 0);
        return;
    }
    reflector_failed(r, result, !streaming);
}

static const struct rest_watch_handlers watch_handlers = {on_open, on_event, on_end};

static void start_watch(struct reflector *r, bool streaming)
{
    int64_t seconds = backoff_jitter(&r->rand, r->options.watch_timeout, 1) / NSEC_PER_SEC;
    struct str version = r->version_unavailable ? STR("") : buf_str(&r->version);
    struct buf query = BUF_INIT;
    struct rest_request request;

    buf_add_printf(&query, "allowWatchBookmarks=true&timeoutSeconds=%lld", (long long)seconds);
    if (streaming)
        buf_add_cstr(&query, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    if (!str_empty(version)) {
        buf_add_cstr(&query, "&resourceVersion=");
        url_add_query(&query, version);
    }
    add_selectors(r, &query);
    request = request_of(r, &query);
    /* Normally the server ends the watch. This limit catches one that does not. */
    request.timeout = seconds * NSEC_PER_SEC + 60 * NSEC_PER_SEC;
    r->state = streaming ? REFLECTOR_STREAMING : REFLECTOR_WATCHING;
    r->began = reflector_now(r);
    r->events = 0;
    if (streaming)
        watch_store_begin(&r->store);
    r->call = rest_watch(r->client, &request, &watch_handlers, r);
    buf_release(&query);
}

void reflector_fetch(struct reflector *r)
{
    if (!r->resume)
        log_info(3, "Listing and watching", KV_TYPE(r), KV_REFLECTOR);
    if (r->resume)
        start_watch(r, false);
    else if (r->no_streaming)
        start_list(r);
    else
        start_watch(r, true);
}

void reflector_try_now(struct reflector *r)
{
    r->disconnected = false;
    if (r->options.optional && !r->resume)
        reflector_discover(r);
    else
        reflector_fetch(r);
}
