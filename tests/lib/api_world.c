/* SPDX-License-Identifier: Apache-2.0 */
#include "api_world.h"

#include "apiserver/access/bootstrap.h"

#define GUARD (60 * NSEC_PER_SEC)

static void changed(void *ctx, const struct store_event *event)
{
    struct api_world *w = ctx;

    rbac_changed(w->rbac, event);
    if (w->server)
        api_server_changed(w->server, event);
}

static int commit(void *ctx, struct err *reterr)
{
    struct api_world *w = ctx;

    w->commits++;
    return w->commit_result < 0 ? err_set(reterr, w->commit_result, "the disk is full") : 0;
}

static void must(bool ok, const char *what, const struct err *err)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", what, err ? err->msg : "");
    abort();
}

static void create_objects(struct api_world *w)
{
    struct bootstrap_options o = {0};
    struct bootstrap_list list;

    bootstrap_objects(&o, &w->arena, &list);
    for (size_t i = 0; i < list.n; i++) {
        struct bootstrap_object *b = &list.v[i];
        struct api_request req = {.verb = API_CREATE,
                                  .resource = resources_find(registry_resources(w->registry),
                                                             b->group, b->version, b->plural),
                                  .namespace = b->namespace,
                                  .name = b->name,
                                  .body = &b->object,
                                  .now = time_wall(),
                                  .arena = &w->arena};
        struct api_response res;

        if (registry_serve(w->registry, &req, &res) >= 400)
            must(false, "bootstrap", NULL);
        registry_response_release(&res);
    }
}

static void start_client(struct api_world *w, const struct api_world_options *o)
{
    struct str url = api_server_url(w->server);
    char *origin = str_dup(url);
    struct tls_config *tls = NULL;
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct err err;

    if (o->tls) {
        struct tls_options t = {.ca_pem = buf_str(&w->pki.ca_cert)};

        if (!o->anonymous) {
            must(pki_client(&w->pki, o->user ? o->user : "kubernetes-admin",
                            o->user ? o->groups : "system:masters", &cert, &key, &err) == 0,
                 "client certificate", &err);
            t.cert_pem = buf_str(&cert);
            t.key_pem = buf_str(&key);
        }
        must(tls_config_new_client(&t, &tls, &err) == 0, "tls", &err);
    }
    must(http_client_new(w->loop, &(struct http_client_options){.origin = origin, .tls = tls},
                         &w->client, &err) == 0,
         "client", &err);
    tls_config_unref(tls);
    buf_release(&cert);
    buf_release(&key);
    free(origin);
}

void api_world_start(struct api_world *w, const struct api_world_options *options)
{
    static const struct str masters[] = {STR_INIT("system:masters")};
    static const struct api_user admin = {
        .name = STR_INIT("kubernetes-admin"), .groups = masters, .n_groups = 1};
    struct api_server_options o = options->server;
    struct registry_options reg = {.store = {.changed = changed, .ctx = w}, .seed = 1};
    struct tls_config *tls = NULL;
    struct err err;

    *w = (struct api_world){0};
    arena_init(&w->arena, 0);
    must(loop_new(&w->loop) == 0, "loop", NULL);
    w->rbac = rbac_new();
    reg.store.history_count = options->server.seed ? (size_t)options->server.seed : 0;
    w->registry = registry_new(&reg);
    create_objects(w);
    must(pki_init(&(struct pki_options){0}, &w->pki, &err) == 0, "pki", &err);
    must(token_issuer_new(buf_str(&w->pki.token_key), &w->issuer, &err) == 0, "issuer", &err);
    if (options->tls)
        must(pki_server_tls(&w->pki, &tls, &err) == 0, "tls", &err);
    o.loop = w->loop;
    o.registry = w->registry;
    o.rbac = w->rbac;
    o.tls = tls;
    o.issuer = w->issuer;
    o.commit = commit;
    o.commit_ctx = w;
    o.seed = 1;
    o.default_user = options->tls || options->anonymous ? NULL : &admin;
    must(api_server_new(&o, &w->server, &err) == 0, "server", &err);
    tls_config_unref(tls);
    start_client(w, options);
}

void api_world_stop(struct api_world *w)
{
    http_client_free(w->client);
    api_server_free(w->server);
    for (int i = 0; i < 3; i++)
        loop_step(w->loop, 0);
    token_issuer_free(w->issuer);
    pki_release(&w->pki);
    registry_free(w->registry);
    rbac_free(w->rbac);
    buf_release(&w->body);
    arena_release(&w->arena);
    loop_free(w->loop);
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_answer(void *ctx, int code, struct http_response *response, const struct err *err,
                      bool retryable)
{
    struct api_world *w = ctx;
    struct buf headers = BUF_INIT;

    (void)retryable;
    w->done = true;
    w->status = code;
    if (code < 0) {
        fprintf(stderr, "request: %s\n", err->msg);
        return;
    }
    w->status = response->status;
    for (size_t i = 0; i < response->headers.list.n; i++)
        buf_add_printf(&headers, "%.*s: %.*s\n", STR_ARG(response->headers.list.v[i].name),
                       STR_ARG(response->headers.list.v[i].value));
    w->headers = arena_dup(&w->arena, buf_str(&headers));
    buf_release(&headers);
    buf_clear(&w->body);
    buf_add_str(&w->body, buf_str(&response->body));
    w->json = json_null();
    if (json_parse(arena_dup(&w->arena, buf_str(&w->body)), 0, &w->arena, &w->json, NULL) < 0)
        w->json = json_null();
}

static size_t split_headers(const char *text, struct http_header *headers, size_t max)
{
    struct str rest = str_of(text), line;
    size_t n = 0;

    while (rest.n > 0 && n < max && str_split(&rest, '\n', &line)) {
        size_t colon = str_find(line, ':');

        headers[n++] = (struct http_header){str_slice(line, 0, colon),
                                            str_trim(str_slice(line, colon + 1, line.n))};
    }
    return n;
}

int api_world_send(struct api_world *w, const char *method, const char *target, const char *headers,
                   const char *body)
{
    struct http_header list[16];
    struct http_request request = {.method = str_of(method),
                                   .target = str_of(target),
                                   .headers = list,
                                   .n_headers = split_headers(headers, list, ARRAY_LEN(list)),
                                   .body = str_of(body)};
    int64_t end = time_mono() + GUARD;

    w->done = false;
    http_client_fetch(w->client, &request, on_answer, w);
    while (!w->done && time_mono() < end)
        loop_step(w->loop, 10 * NSEC_PER_MSEC);
    must(w->done, target, NULL);
    return w->status;
}

const char *api_world_text(struct api_world *w, const char *path)
{
    return arena_dup(&w->arena, json_text_at(&w->json, path)).p;
}

/* --- streams ---------------------------------------------------------------------------------- */

static void stream_head(void *ctx, int status, const struct http_headers *headers)
{
    struct api_stream *s = ctx;

    (void)headers;
    s->status = status;
}

static void stream_data(void *ctx, struct str data)
{
    struct api_stream *s = ctx;

    buf_add_str(&s->text, data);
    for (size_t i = 0; i < data.n; i++)
        s->n_lines += data.p[i] == '\n';
}

static void stream_done(void *ctx, int code, const struct err *err, bool retryable)
{
    struct api_stream *s = ctx;

    (void)code, (void)err, (void)retryable;
    s->done = true;
    s->call = NULL;
}

void api_stream_open(struct api_world *w, struct api_stream *s, const char *target,
                     const char *headers)
{
    static const struct http_handlers handlers = {stream_head, stream_data, stream_done};
    struct http_header list[16];
    struct http_request request = {.method = STR("GET"),
                                   .target = str_of(target),
                                   .headers = list,
                                   .n_headers = split_headers(headers, list, ARRAY_LEN(list))};
    int64_t end = time_mono() + GUARD;

    *s = (struct api_stream){0};
    s->call = http_client_send(w->client, &request, &handlers, s);
    while (!s->status && !s->done && time_mono() < end)
        loop_step(w->loop, 10 * NSEC_PER_MSEC);
}

void api_stream_wait(struct api_world *w, struct api_stream *s, size_t lines)
{
    int64_t end = time_mono() + GUARD;

    while (!s->done && s->n_lines < lines && time_mono() < end)
        loop_step(w->loop, 10 * NSEC_PER_MSEC);
    must(s->done || s->n_lines >= lines, "lines of a stream", NULL);
}

struct str api_stream_line(const struct api_stream *s, size_t i)
{
    struct str rest = buf_str(&s->text), line = {0};

    for (size_t k = 0; k <= i; k++)
        if (!str_split(&rest, '\n', &line))
            return (struct str){0};
    return line;
}

void api_stream_close(struct api_stream *s)
{
    if (s->call)
        http_call_cancel(s->call);
    buf_release(&s->text);
}
