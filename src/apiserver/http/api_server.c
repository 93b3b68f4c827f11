/* SPDX-License-Identifier: Apache-2.0 */
/* The server: its life, and the end of a loop's iteration, when changes are committed. */
#include "apiserver/http/api_server_internal.h"

/* --- the end of an iteration ------------------------------------------------------------------ */

static void commit_failed(struct api_server *s, const struct err *err, struct arena *a,
                          struct api_status *ret_status)
{
    (void)s;
    if (err->code == -ENOSPC) {
        *ret_status = (struct api_status){
            .code = 507, .reason = "InternalError", .message = arena_printf(a, "%s", err->msg)};
        return;
    }
    status_of(ret_status, 500, a, "%s", err->msg);
}

static void on_flush(struct loop_task *task)
{
    struct api_server *s = CONTAINER_OF(task, struct api_server, flush);
    struct call *held = TAKE(s->held), *next;
    struct api_status status = {0};
    struct err err = {0};
    struct arena a;
    bool failed =
        s->dirty && s->options.commit && s->options.commit(s->options.commit_ctx, &err) < 0;

    s->held_end = &s->held;
    arena_init(&a, 0);
    if (failed)
        commit_failed(s, &err, &a, &status);
    else
        s->dirty = false;
    for (struct call *c = held; c; c = next) {
        next = c->next;
        call_answer(c, failed ? &status : NULL);
    }
    /* What is not on disk may be lost: watches see it after the next commit that succeeds. */
    if (!failed)
        watches_deliver(s->watches);
    arena_release(&a);
}

void api_server_changed(struct api_server *s, const struct store_event *event)
{
    s->dirty = true;
    if (str_is(event->after->resource->plural, "customresourcedefinitions"))
        openapi_forget(s);
    watches_changed(s->watches, event->after->resource);
    server_flush_soon(s);
}

/* --- life ------------------------------------------------------------------------------------- */

static void set_defaults(struct api_server_options *o)
{
    if (!o->max_inflight)
        o->max_inflight = 600;
    if (!o->authorization)
        o->authorization = AUTHORIZATION_RBAC;
    if (!o->max_anonymous)
        o->max_anonymous = 50;
    if (!o->max_watches)
        o->max_watches = 20000;
    if (!o->bookmark_period)
        o->bookmark_period = 60 * NSEC_PER_SEC;
    if (!o->min_watch_period)
        o->min_watch_period = 1800 * NSEC_PER_SEC;
    if (!o->address)
        o->address = "127.0.0.1";
    if (!o->seed)
        o->seed = rand_entropy();
}

static void keep_users(struct api_server *s)
{
    struct api_server_options *o = &s->options;

    if (o->default_user)
        o->default_user = user_copy(o->default_user, &s->kept);
    for (size_t i = 0; i < o->n_tokens; i++) {
        struct api_token *t = arena_new(&s->kept, struct api_token);

        t->token = arena_dup(&s->kept, o->tokens[i].token);
        t->user = *user_copy(&o->tokens[i].user, &s->kept);
        map_put(&s->tokens, t->token, t);
    }
    o->tokens = NULL;
}

static int listen_on(struct api_server *s, struct err *reterr)
{
    struct http_server_options http = {
        .address = s->options.address,
        .port = s->options.port,
        .tls = s->options.tls,
        .handle = call_handle,
        .ctx = s,
        .max_connections = s->options.max_watches + 4096,
        .max_memory = (size_t)512 << 20,
        .max_streams = 1000,
    };
    int r = http_server_new(s->loop, &http, &s->http, reterr);

    if (r < 0)
        return r;
    s->host = arena_dup(&s->kept, str_of(http_server_address(s->http)));
    s->url =
        arena_printf(&s->kept, "%s://%.*s", s->options.tls ? "https" : "http", STR_ARG(s->host));
    return 0;
}

int api_server_new(const struct api_server_options *options, struct api_server **ret_server,
                   struct err *reterr)
{
    struct api_server *s = xnew(struct api_server);
    int r;

    s->options = *options;
    set_defaults(&s->options);
    s->loop = options->loop;
    s->registry = options->registry;
    s->store = registry_store(options->registry);
    s->resources = registry_resources(options->registry);
    s->held_end = &s->held;
    rand_seed(&s->rand, s->options.seed);
    arena_init(&s->kept, 0);
    loop_task_init(&s->flush, on_flush);
    keep_users(s);
    s->watches = watches_new(s);
    server_metrics_init(s);
    r = listen_on(s, reterr);
    if (r < 0) {
        api_server_free(s);
        return r;
    }
    *ret_server = s;
    return 0;
}

struct api_server *api_server_free(struct api_server *s)
{
    struct call *next;

    if (!s)
        return NULL;
    s->watches = watches_free(s->watches);
    loop_task_cancel(s->loop, &s->flush);
    for (struct call *c = s->held; c; c = next) {
        next = c->next;
        c->held = false;
        if (c->x)
            http_abort(c->x);
        call_free(c);
    }
    http_server_free(s->http);
    metrics_free(s->own_metrics);
    map_release(&s->tokens);
    openapi_forget(s);
    arena_release(&s->kept);
    free(s);
    return NULL;
}

void api_server_shutdown(struct api_server *s, int64_t deadline, void (*done)(void *ctx), void *ctx)
{
    watches_end(s->watches);
    http_server_shutdown(s->http, deadline, done, ctx);
}

uint16_t api_server_port(const struct api_server *s)
{
    return http_server_port(s->http);
}

struct str api_server_url(const struct api_server *s)
{
    return s->url;
}
