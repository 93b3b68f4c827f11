/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/reflector_internal.h"

#include "base/log.h"

/* --- what the sink hears ---------------------------------------------------------------------- */

static void tell(struct reflector *r, enum watch_event_type type, struct object *old,
                 struct object *object)
{
    r->sink->on_event(r->ctx, type, old, object);
}

/* An object as it is now. */
void reflector_upsert(struct reflector *r, struct object *object)
{
    struct object *old = store_put(&r->store, object);

    tell(r, old ? WATCH_MODIFIED : WATCH_ADDED, old, object);
    object_unref(old);
}

void reflector_removed(struct reflector *r, struct object *final)
{
    struct object *old = store_take(&r->store, object_meta(final));

    /* Never told of, so nothing to take back. */
    if (!old)
        return;
    tell(r, WATCH_DELETED, old, final);
    object_unref(old);
}

/* An object of a list: an unchanged one is no news, unless it is wanted in another form. */
void reflector_listed(struct reflector *r, struct object *object)
{
    if (r->refetching || !store_keep(&r->store, object_meta(object)))
        reflector_upsert(r, object);
}

static void on_swept(void *ctx, struct object *object)
{
    tell(ctx, WATCH_DELETED, object, object);
}

/* The list is complete: what it did not name is gone. */
void reflector_replaced(struct reflector *r)
{
    bool refetched = r->refetching, synced = r->synced;

    store_sweep(&r->store, on_swept, r);
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

/* --- complaints --------------------------------------------------- */

/* Upstream says in front whether it was a list that failed. */
static void tell_failure(const struct reflector *r, const struct rest_result *result, bool known)
{
    struct buf why = BUF_INIT;
    bool list = r->state == REFLECTOR_PAGING || r->state == REFLECTOR_STREAMING;

    if (list)
        buf_add_printf(&why, "failed to list %.*s: ", STR_ARG(r->type));
    buf_add_cstr(&why, result->err.msg);
    struct log_kv err = KV_STR("err", buf_str(&why));
    if (known)
        log_info(2, "Failed to watch", err, KV_REFLECTOR, KV_TYPE(r));
    else
        log_error("Failed to watch", err, KV_CSTR("logger", "UnhandledError"), KV_REFLECTOR,
                  KV_TYPE(r));
    buf_release(&why);
}

static void complain(struct reflector *r, const struct rest_result *result)
{
    bool known = false;
    bool common = result->status == 0 || result->status == 401;

    if (common && r->sink->is_known) {
        /* What all reflectors meet alike: repeated, but not by each of them. */
        known = r->sink->is_known(r->ctx, result);
    } else if (result->status == 403 && r->told && strcmp(r->told, result->err.msg) == 0) {
        /* Rights seldom change: once per message. All else is told each time; backoff keeps it
         * seldom. */
        return;
    }
    tell_failure(r, result, known);
    if (known)
        return;
    free(r->told);
    r->told = xstrdup(result->err.msg);
}

/* The server has answered as it should. */
void reflector_contact(struct reflector *r)
{
    if (r->told)
        log_info(0, "Watching again", KV_TYPE(r));
    free(TAKE(r->told));
    r->missing = false;
    if (r->sink->on_contact)
        r->sink->on_contact(r->ctx, r);
}

/* --- trying ----------------------------------------------------------------------------------- */

static void on_retry(struct loop_timer *timer)
{
    reflector_try_now(CONTAINER_OF(timer, struct reflector, retry));
}

/* resume: go on watching at the last version; else begin with the whole state. */
void reflector_try_again(struct reflector *r, bool resume, int64_t delay)
{
    r->state = REFLECTOR_IDLE;
    r->resume = resume && r->version.n > 0;
    loop_timer_stop(&r->silence);
    loop_timer_set(&r->retry, delay);
}

/*
 * At once after a watch that lasted, or that brought us further and ended in good order; else with
 * backoff: this is what keeps us from spinning.
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
 * The resource is not served. One line, then it counts as empty and is looked for with a backoff of
 * its own.
 */
void reflector_not_served(struct reflector *r, const struct rest_result *result)
{
    if (!r->options.optional) {
        complain(r, result);
        reflector_try_again(r, false, backoff_next(&r->backoff, reflector_now(r)));
        return;
    }
    if (!r->missing)
        log_info(0, "The server does not serve this resource; it counts as empty until it appears",
                 KV_STR("resource", r->options.kind->resource),
                 KV_STR("apiVersion", r->options.kind->api_version));
    r->missing = true;
    buf_clear(&r->version);
    store_begin(&r->store);
    reflector_replaced(r);
    reflector_try_again(r, false, backoff_next(&r->backoff_missing, reflector_now(r)));
}

/*
 * No connection, a server in trouble or without its roles yet: what we know is good, go on from
 * there. A request that it does not understand, or nonsense on the wire: begin anew.
 */
void reflector_refused(struct reflector *r, const struct rest_result *result, bool resume)
{
    complain(r, result);
    if (result->too_large_resource_version)
        r->version_unavailable = true;
    r->cut_off = result->status == 0;
    resume = resume && result->status != 400 && result->status != 422 && result->code != -EBADMSG &&
             !result->too_large_resource_version;
    reflector_try_again(r, resume, backoff_next(&r->backoff, reflector_now(r)));
}

/* Failures that listing and watching share. resume: what is known stays good. */
void reflector_failed(struct reflector *r, const struct rest_result *result, bool resume)
{
    switch (result->status) {
    case 403:
        /* Of an optional resource it may mean that it is not there any more: see discovery. */
        reflector_refused(r, result, resume && !r->options.optional);
        break;
    case 404:
        reflector_not_served(r, result);
        break;
    case 410:
        /* Too old: the next list asks for whatever is newest. */
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
    store_init(&r->store);
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
    store_release(&r->store);
    buf_release(&r->version);
    buf_release(&r->continue_token);
    arena_release(&r->arena);
    free(r->told);
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

void reflector_each(const struct reflector *r, store_fn *fn, void *ctx)
{
    store_each(&r->store, fn, ctx);
}

struct object *reflector_get(struct reflector *r, struct str namespace, struct str name)
{
    return store_get(&r->store, namespace, name);
}

unsigned reflector_object_flags(const struct reflector *r)
{
    return r->options.object_flags;
}

void reflector_set_object_flags(struct reflector *r, unsigned flags)
{
    r->options.object_flags = flags;
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

    /* Seldom: two that lose their connections in turn must not drive each other round. */
    if (!r->cut_off || !loop_timer_pending(&r->retry) ||
        (r->kicked_at && now - r->kicked_at < r->options.backoff.max))
        return;
    r->kicked_at = now;
    loop_timer_set(&r->retry, 0);
}
