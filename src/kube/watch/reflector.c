/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the log, when to try again, and the public functions. */
#include "kube/watch/reflector_internal.h"

#include "base/log.h"

/* --- errors ----------------------------------------------------------------------------------- */

/* Upstream prefixes the error if it was a list that failed. */
static void log_failure(const struct reflector *r, const struct rest_result *result, bool reported)
{
    struct buf why = BUF_INIT;
    bool list = r->state == REFLECTOR_PAGING || r->state == REFLECTOR_STREAMING;

    if (list)
        buf_add_printf(&why, "failed to list %.*s: ", STR_ARG(r->type));
    buf_add_cstr(&why, result->err.msg);
    struct log_kv err = KV_STR("err", buf_str(&why));
    if (reported)
        log_info(2, "Failed to watch", err, KV_REFLECTOR, KV_TYPE(r));
    else
        log_error("Failed to watch", err, KV_CSTR("logger", "UnhandledError"), KV_REFLECTOR,
                  KV_TYPE(r));
    buf_release(&why);
}

static void report_failure(struct reflector *r, const struct rest_result *result)
{
    bool reported = false;
    bool common = result->status == 0 || result->status == 401;

    if (common && r->sink->is_reported) {
        /* An error that all reflectors share: repeated, but not by each of them. */
        reported = r->sink->is_reported(r->ctx, result);
    } else if (result->status == 403 && r->last_error &&
               strcmp(r->last_error, result->err.msg) == 0) {
        /*
         * Permissions seldom change: log each message once. Other errors are logged each time;
         * backoff limits them.
         */
        return;
    }
    log_failure(r, result, reported);
    if (reported)
        return;
    free(r->last_error);
    r->last_error = xstrdup(result->err.msg);
}

/* The server has sent a valid response. */
void reflector_contact(struct reflector *r)
{
    if (r->last_error)
        log_info(0, "Watching again", KV_TYPE(r));
    free(TAKE(r->last_error));
    r->missing = false;
    if (r->sink->on_contact)
        r->sink->on_contact(r->ctx, r);
}

/* --- retries ---------------------------------------------------------------------------------- */

static void on_retry(struct loop_timer *timer)
{
    reflector_try_now(CONTAINER_OF(timer, struct reflector, retry));
}

/* resume: watch from the last version; otherwise start with the full state. */
void reflector_try_again(struct reflector *r, bool resume, int64_t delay)
{
    r->state = REFLECTOR_IDLE;
    r->resume = resume && r->version.n > 0;
    loop_timer_stop(&r->silence);
    loop_timer_set(&r->retry, delay);
}

/*
 * Retries at once after a watch that lasted, or that made progress and ended normally. Otherwise
 * with backoff, which prevents a busy loop.
 */
void reflector_try_after_watch(struct reflector *r, bool resume)
{
    bool lasted = r->state == REFLECTOR_WATCHING &&
                  (reflector_now(r) - r->began >= r->options.healthy || (resume && r->events > 0));

    reflector_try_again(r, resume, lasted ? 0 : backoff_next(&r->backoff, reflector_now(r)));
}

void reflector_set_version(struct reflector *r, struct str version)
{
    if (str_empty(version))
        return;
    buf_clear(&r->version);
    buf_add_str(&r->version, version);
}

/*
 * The resource is not served. Logged once; then it counts as empty and is polled with a backoff of
 * its own.
 */
void reflector_not_served(struct reflector *r, const struct rest_result *result)
{
    if (!r->options.optional) {
        report_failure(r, result);
        reflector_try_again(r, false, backoff_next(&r->backoff, reflector_now(r)));
        return;
    }
    if (!r->missing)
        log_info(0,
                 "The server does not serve this resource; it is treated as empty until it appears",
                 KV_STR("resource", r->options.kind->resource),
                 KV_STR("apiVersion", r->options.kind->api_version));
    r->missing = true;
    buf_clear(&r->version);
    watch_store_begin(&r->store);
    reflector_replaced(r);
    reflector_try_again(r, false, backoff_next(&r->backoff_missing, reflector_now(r)));
}

/*
 * No connection, a failing server, or RBAC rules not loaded yet: the known state is valid, resume
 * from it. A request that the server does not understand, or invalid data: start with a list.
 */
void reflector_refused(struct reflector *r, const struct rest_result *result, bool resume)
{
    report_failure(r, result);
    if (result->too_large_resource_version)
        r->version_unavailable = true;
    r->disconnected = result->status == 0;
    resume = resume && result->status != 400 && result->status != 422 && result->code != -EBADMSG &&
             !result->too_large_resource_version;
    reflector_try_again(r, resume, backoff_next(&r->backoff, reflector_now(r)));
}

/* Failures common to lists and watches. resume: the known state stays valid. */
void reflector_failed(struct reflector *r, const struct rest_result *result, bool resume)
{
    switch (result->status) {
    case 403:
        /* An optional resource may no longer be served: ask discovery again. */
        reflector_refused(r, result, resume && !r->options.optional);
        break;
    case 404:
        reflector_not_served(r, result);
        break;
    case 410:
        /* Expired (client-go: isExpiredError): the next list asks for the newest state. */
        log_info(4, "Watch closed", KV_REFLECTOR, KV_TYPE(r), KV_ERR(&result->err));
        r->version_unavailable = true;
        reflector_try_after_watch(r, false);
        break;
    default:
        reflector_refused(r, result, resume);
        break;
    }
}

/* --- lifecycle -------------------------------------------------------------------------------- */

/* client-go's NewReflector where it has such a setting: pages, watch timeout, backoff. */
static void set_defaults(struct reflector_options *o)
{
    if (o->page_size == 0)
        o->page_size = 500;
    if (o->watch_timeout == 0)
        o->watch_timeout = 300 * NSEC_PER_SEC;
    if (o->streaming_silence == 0)
        o->streaming_silence = 30 * NSEC_PER_SEC;
    if (o->healthy == 0)
        o->healthy = NSEC_PER_SEC;
    if (o->backoff.initial == 0)
        o->backoff = (struct backoff_options){800 * NSEC_PER_MSEC, 30 * NSEC_PER_SEC, 2, 1,
                                              120 * NSEC_PER_SEC};
    if (o->missing.initial == 0)
        o->missing = (struct backoff_options){5 * NSEC_PER_SEC, 60 * NSEC_PER_SEC, 2, 0.2,
                                              600 * NSEC_PER_SEC};
    if (o->seed == 0)
        o->seed = rand_entropy();
}

struct reflector *reflector_new(struct rest_client *client, const struct reflector_options *options,
                                const struct reflector_sink *sink, void *ctx)
{
    struct reflector *r = xnew(struct reflector);

    r->client = client;
    r->options = *options;
    r->sink = sink;
    r->ctx = ctx;
    set_defaults(&r->options);
    arena_init(&r->arena, 0);
    r->options.namespace = arena_dup(&r->arena, options->namespace);
    r->options.field_selector = arena_dup(&r->arena, options->field_selector);
    r->options.label_selector = arena_dup(&r->arena, options->label_selector);
    r->type = arena_printf(&r->arena, "*%.*s.%.*s", STR_ARG(options->kind->version),
                           STR_ARG(options->kind->kind));
    r->no_streaming = options->no_streaming;
    r->page_size = r->options.page_size;
    watch_store_init(&r->store);
    rand_seed(&r->rand, r->options.seed);
    backoff_init(&r->backoff, &r->options.backoff, rand_u64(&r->rand));
    backoff_init(&r->backoff_missing, &r->options.missing, rand_u64(&r->rand));
    loop_timer_init(&r->retry, rest_client_loop(client), on_retry);
    loop_timer_init(&r->silence, rest_client_loop(client), reflector_on_silence);
    return r;
}

void reflector_start(struct reflector *r)
{
    if (r->state != REFLECTOR_IDLE || loop_timer_pending(&r->retry))
        return;
    log_info(3, "Starting reflector", KV_TYPE(r), KV_DURATION("resyncPeriod", 0), KV_REFLECTOR);
    r->started = true;
    reflector_try_now(r);
}

struct reflector *reflector_free(struct reflector *r)
{
    if (!r)
        return NULL;
    if (r->started)
        log_info(3, "Stopping reflector", KV_TYPE(r), KV_DURATION("resyncPeriod", 0), KV_REFLECTOR);
    rest_cancel(r->call);
    loop_timer_stop(&r->retry);
    loop_timer_stop(&r->silence);
    watch_store_release(&r->store);
    buf_release(&r->version);
    buf_release(&r->continue_token);
    arena_release(&r->arena);
    free(r->last_error);
    free(r);
    return NULL;
}

const struct kind *reflector_kind(const struct reflector *r)
{
    return r->options.kind;
}

bool reflector_has_synced(const struct reflector *r)
{
    return r->synced;
}

bool reflector_is_missing(const struct reflector *r)
{
    return r->missing;
}

struct str reflector_resource_version(const struct reflector *r)
{
    return buf_str(&r->version);
}

void reflector_each(const struct reflector *r, watch_store_fn *fn, void *ctx)
{
    watch_store_each(&r->store, fn, ctx);
}

struct object *reflector_get(struct reflector *r, struct str namespace, struct str name)
{
    return watch_store_get(&r->store, namespace, name);
}

unsigned reflector_object_flags(const struct reflector *r)
{
    return r->options.object_flags;
}

void reflector_set_object_flags(struct reflector *r, unsigned flags)
{
    r->options.object_flags = flags;
}

bool reflector_set_field_selector(struct reflector *r, struct str selector)
{
    if (str_eq(r->options.field_selector, selector))
        return false;
    r->options.field_selector = arena_dup(&r->arena, selector);
    return true;
}

void reflector_refetch(struct reflector *r, unsigned flags)
{
    reflector_set_object_flags(r, flags);
    if (!r->started)
        return;
    r->refetching = true;
    r->call = rest_cancel(r->call);
    reflector_try_again(r, false, 0);
}

bool reflector_is_refetching(const struct reflector *r)
{
    return r->refetching;
}

void reflector_kick(struct reflector *r)
{
    int64_t now = reflector_now(r);

    /*
     * Rarely: two reflectors that lose their connections in turn must not trigger each other in a
     * loop.
     */
    if (!r->disconnected || !loop_timer_pending(&r->retry) ||
        (r->kicked_at && now - r->kicked_at < r->options.backoff.max))
        return;
    r->kicked_at = now;
    loop_timer_set(&r->retry, 0);
}
