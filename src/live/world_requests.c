/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of plugins to other servers than the API server, and the kinds that they want to watch.
 * The engine's thread copies a request, the loop's sends it, and the answer is a message.
 */
#include "live/world_internal.h"
#include "net/http_client.h"
#include "net/url.h"

#define DEFAULT_TIMEOUT  (10 * NSEC_PER_SEC)
#define DEFAULT_MAX_BODY ((size_t)1 << 20)
/* Clients of servers that are not in use are freed beyond this number. */
#define MAX_ORIGINS      16

/* A server, and how it is asked. */
struct web_origin {
    struct web_origin *next;
    char *name; /* "https://host:443" */
    bool insecure;
    struct http_client *client;
};

struct web_get {
    struct world *world;
    uint64_t id;
    char *url, *authorization;
    int64_t timeout;
    size_t max_body;
    bool insecure;
};

static void web_get_free(struct web_get *g)
{
    free(g->url);
    free(g->authorization);
    free(g);
}

static void answer(struct web_get *g, int status, const char *message, struct buf *body)
{
    struct engine_msg msg = {.kind = ENGINE_MSG_HTTP_DONE, .id = g->id, .status = status};
    if (message)
        msg.message = xstrdup(message);
    if (body && body->n) {
        msg.body_size = body->n;
        msg.body = buf_take(body);
    }
    world_post_msg(g->world, &msg);
    web_get_free(g);
}

void world_answer_http(struct world *w, const struct engine_msg *msg)
{
    struct berth_http_result result = {
        .struct_size = sizeof(result),
        .status = msg->status,
        .message = abi_str(str_of(msg->message)),
        .body = {msg->body, msg->body_size},
    };
    engine_http_done(w->engine, msg->id, &result);
}

/* --- servers ---------------------------------------------------------------------------------- */

static void free_origin(struct web_origin *o)
{
    http_client_free(o->client);
    free(o->name);
    free(o);
}

static void drop_unused(struct world *w)
{
    size_t n = 0;
    for (struct web_origin **at = &w->web; *at;) {
        struct web_origin *o = *at;
        struct http_client_stats stats;
        http_client_get_stats(o->client, &stats);
        if (++n <= MAX_ORIGINS || stats.calls) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        free_origin(o);
    }
}

static struct http_client *make_client(struct world *w, const char *name, bool insecure,
                                       struct err *reterr)
{
    struct tls_config *tls = NULL;
    struct http_client *client = NULL;
    struct tls_options options = {.insecure_skip_verify = true};
    if (insecure && tls_config_new_client(&options, &tls, reterr) < 0)
        return NULL;
    struct http_client_options http = {.origin = name, .tls = tls};
    if (http_client_new(w->loop, &http, &client, reterr) < 0)
        client = NULL;
    tls_config_unref(tls);
    return client;
}

/* The client of the server, kept for the next request; NULL with *reterr set. */
static struct http_client *client_of(struct world *w, const char *name, bool insecure,
                                     struct err *reterr)
{
    for (struct web_origin *o = w->web; o; o = o->next)
        if (o->insecure == insecure && strcmp(o->name, name) == 0)
            return o->client;
    struct http_client *client = make_client(w, name, insecure, reterr);
    if (!client)
        return NULL;
    struct web_origin *o = xnew(struct web_origin);
    *o = (struct web_origin){w->web, xstrdup(name), insecure, client};
    w->web = o;
    drop_unused(w);
    return client;
}

void world_cancel_http(struct world *w)
{
    while (w->web) {
        struct web_origin *o = w->web;
        w->web = o->next;
        free_origin(o);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_done(void *ctx, int code, struct http_response *response, const struct err *err,
                    bool retryable)
{
    (void)retryable;
    if (code == 0)
        answer(ctx, response->status, NULL, &response->body);
    else
        answer(ctx, 0, err->msg, NULL);
}

static int send_to(struct web_get *g, const struct url *url, struct err *reterr)
{
    struct buf origin = BUF_INIT, target = BUF_INIT;
    struct http_header header = {STR("authorization"), str_of(g->authorization)};
    buf_add_printf(&origin, "%.*s://", STR_ARG(url->scheme));
    url_add_authority(&origin, url->host, url->port);
    buf_add_str(&target, str_empty(url->path) ? STR("/") : url->path);
    if (url->query.n)
        buf_add_printf(&target, "?%.*s", STR_ARG(url->query));
    struct http_client *client = client_of(g->world, buf_cstr(&origin), g->insecure, reterr);
    struct http_request request = {.method = STR("GET"),
                                   .target = buf_str(&target),
                                   .headers = &header,
                                   .n_headers = *g->authorization ? 1 : 0,
                                   .total_timeout = g->timeout,
                                   .max_body = g->max_body};
    if (client)
        http_client_fetch(client, &request, on_done, g);
    buf_release(&origin);
    buf_release(&target);
    return client ? 0 : -EINVAL;
}

static void send_get(void *ctx)
{
    struct web_get *g = ctx;
    struct url url;
    struct err err = {0};
    if (g->world->ending >= ENDING_RELEASE) {
        web_get_free(g);
        return;
    }
    int r = url_parse(str_of(g->url), &url, &err);
    if (r == 0 && !str_is(url.scheme, "http") && !str_is(url.scheme, "https"))
        r = err_set(&err, -EINVAL, "%s: the scheme must be http or https", g->url);
    if (r == 0)
        r = send_to(g, &url, &err);
    if (r < 0)
        answer(g, 0, err.msg, NULL);
}

void world_http_get(void *ctx, uint64_t id, const struct berth_http_get *get)
{
    struct world *w = ctx;
    struct web_get *g = xnew(struct web_get);
    *g = (struct web_get){.world = w,
                          .id = id,
                          .url = str_dup(str_abi(get->url)),
                          .authorization = str_dup(str_abi(get->authorization)),
                          .timeout = get->timeout_ns > 0 ? get->timeout_ns : DEFAULT_TIMEOUT,
                          .max_body = get->max_body ? get->max_body : DEFAULT_MAX_BODY,
                          .insecure = get->insecure_skip_verify};
    loop_post(w->loop, send_get, g);
}

/* --- kinds ------------------------------------------------------------------------------------ */

void world_on_kind_synced(void *ctx, const struct kind *kind)
{
    struct world *w = ctx;
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_KIND_SYNCED, .synced = kind});
}

struct wanted_kind {
    struct world *world;
    const struct kind *kind;
};

static void add_kind(void *ctx)
{
    struct wanted_kind *wanted = ctx;
    struct world *w = wanted->world;
    const struct reflector *known =
        w->informers ? informers_get(w->informers, wanted->kind->id) : NULL;
    if (known && reflector_has_synced(known))
        world_on_kind_synced(w, wanted->kind);
    else if (!known && w->informers && w->ending == ENDING_NONE)
        informers_add(w->informers,
                      &(struct informer_row){.kind = wanted->kind->id, .optional = true});
    free(wanted);
}

static void fetch_finished_pods(void *ctx)
{
    struct world *w = ctx;
    struct reflector *r = w->informers ? informers_get(w->informers, KIND_POD) : NULL;
    if (r && w->ending == ENDING_NONE && reflector_set_field_selector(r, STR("")))
        reflector_refetch(r, reflector_object_flags(r));
}

void world_watch_finished_pods(void *ctx)
{
    struct world *w = ctx;
    if (!w->started && !w->informers)
        w->finished_pods = true;
    else
        loop_post(w->loop, fetch_finished_pods, w);
}

/* While the world is made, make_informers takes the list; afterwards the loop's thread adds it. */
void world_watch(void *ctx, const struct kind *kind)
{
    struct world *w = ctx;
    if (!w->started && !w->informers) {
        vec_push(&w->wanted, kind);
        return;
    }
    struct wanted_kind *wanted = xnew(struct wanted_kind);
    *wanted = (struct wanted_kind){w, kind};
    loop_post(w->loop, add_kind, wanted);
}
