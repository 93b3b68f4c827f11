/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_api.h - a scripted API server on loopback, for tests of the client's side.
 *
 * Purpose:   a test queues answers per method, path and part of the query; each request is recorded
 *            and takes the first that matches. An unexpected request is answered 599 and counted.
 *            Watches stay open; the test pushes bytes into them, ends or cuts them.
 * Ownership: the server owns answers and records; texts are copied.
 * Threading: the loop's thread.
 *
 * All in this header, so that only the tests that use it need src/net.
 */
#ifndef BERTH_TESTS_FAKE_API_H
#define BERTH_TESTS_FAKE_API_H

#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "net/http_server.h"
#include "net/loop.h"

#define FAKE_JSON  "application/json"
#define FAKE_PROTO "application/vnd.kubernetes.protobuf"

enum fake_manner {
    FAKE_REPLY,  /* the whole body */
    FAKE_STREAM, /* head and body, then the stream stays open */
    FAKE_ABORT,  /* no answer: the stream is reset */
    FAKE_HANG,   /* never answered */
};

struct fake_answer {
    const char *method; /* NULL: any */
    const char *path;   /* exact, without query */
    const char *query;  /* must be part of the query; NULL: any */
    int status;         /* 0: 200 */
    const char *type;   /* NULL: FAKE_JSON */
    struct str body;
    enum fake_manner manner;
    const char *retry_after; /* NULL: no such header */
    bool forever;            /* may be used any number of times */
};

struct fake_request {
    char *method, *path, *query;
    char *authorization, *accept, *content_type; /* "" where absent */
    char *headers;                               /* all, "name: value\n" */
    char *body;
    size_t body_n;
};

struct fake_rule {
    struct fake_answer answer;
    char *method, *path, *query, *type, *retry_after, *body;
    bool used;
};

struct fake_stream {
    struct fake_api *api;
    struct http_exchange *x; /* NULL: closed */
    char *path;
};

struct fake_api {
    struct loop *loop;
    struct http_server *server;
    char url[64];
    VEC(struct fake_rule *) answers;
    VEC(struct fake_stream *) streams;
    VEC(struct fake_request) requests;
    size_t unexpected;
};

static inline char *fake_dup(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static inline void fake_write_down(struct fake_api *api, const struct http_exchange *x)
{
    struct buf headers = BUF_INIT;
    struct fake_request request = {
        .method = str_dup(x->method),
        .path = str_dup(x->path),
        .query = str_dup(x->query),
        .authorization = str_dup(http_headers_get(&x->headers, "authorization")),
        .accept = str_dup(http_headers_get(&x->headers, "accept")),
        .content_type = str_dup(http_headers_get(&x->headers, "content-type")),
        .body = str_dup(x->body),
        .body_n = x->body.n,
    };

    for (size_t i = 0; i < x->headers.list.n; i++)
        buf_add_printf(&headers, "%.*s: %.*s\n", STR_ARG(x->headers.list.v[i].name),
                       STR_ARG(x->headers.list.v[i].value));
    request.headers = buf_take(&headers);
    vec_push(&api->requests, request);
}

static inline struct fake_rule *fake_find_rule(struct fake_api *api, const struct http_exchange *x)
{
    for (size_t i = 0; i < api->answers.n; i++) {
        struct fake_rule *a = api->answers.v[i];

        if (a->used || (a->method && !str_is(x->method, a->method)) || !str_is(x->path, a->path))
            continue;
        if (a->query && str_search(x->query, str_of(a->query)) == x->query.n)
            continue;
        a->used = !a->answer.forever;
        return a;
    }
    return NULL;
}

static inline void fake_on_gone(struct http_exchange *x)
{
    struct fake_stream *s = x->user;

    s->x = NULL;
    http_abort(x);
}

static inline void fake_keep(struct fake_api *api, struct http_exchange *x, const char *path)
{
    struct fake_stream *s = xnew(struct fake_stream);

    s->api = api;
    s->x = x;
    s->path = xstrdup(path);
    x->user = s;
    x->on_gone = fake_on_gone;
    vec_push(&api->streams, s);
}

static inline void fake_answer(struct http_exchange *x, int code)
{
    struct fake_api *api = x->user;
    struct http_header headers[2];
    size_t n = 0;
    struct fake_rule *a;

    (void)code;
    x->on_gone = NULL;
    x->user = NULL;
    fake_write_down(api, x);
    a = fake_find_rule(api, x);
    if (!a) {
        api->unexpected++;
        http_respond_text(x, 599, "text/plain", STR("unexpected request"));
        return;
    }
    headers[n++] = HTTP_HEADER("content-type", str_of(a->type ? a->type : FAKE_JSON));
    if (a->retry_after)
        headers[n++] = HTTP_HEADER("retry-after", str_of(a->retry_after));
    switch (a->answer.manner) {
    case FAKE_REPLY:
        http_respond(x, a->answer.status ? a->answer.status : 200, headers, n, a->answer.body);
        break;
    case FAKE_ABORT:
        http_abort(x);
        break;
    case FAKE_HANG:
        fake_keep(api, x, "");
        break;
    case FAKE_STREAM:
        fake_keep(api, x, a->path);
        http_respond_stream(x, a->answer.status ? a->answer.status : 200, headers, n);
        if (a->answer.body.n > 0)
            http_write(x, a->answer.body);
        break;
    }
}

static inline void fake_handle(void *ctx, struct http_exchange *x)
{
    x->user = ctx;
    x->on_gone = http_abort;
    http_read_body(x, (uint64_t)8 << 20, fake_answer);
}

/* --- the script ------------------------------------------------------------------------------- */

static inline struct fake_api *fake_api_new(struct loop *loop, struct tls_config *tls)
{
    struct fake_api *api = xnew(struct fake_api);
    struct http_server_options options = {.handle = fake_handle, .ctx = api, .tls = tls};
    struct err err;

    api->loop = loop;
    if (http_server_new(loop, &options, &api->server, &err) < 0) {
        fprintf(stderr, "fake_api: %s\n", err.msg);
        abort();
    }
    snprintf(api->url, sizeof(api->url), "%s://127.0.0.1:%u", tls ? "https" : "http",
             http_server_port(api->server));
    return api;
}

static inline void fake_request_release(struct fake_request *r)
{
    free(r->method);
    free(r->path);
    free(r->query);
    free(r->authorization);
    free(r->accept);
    free(r->content_type);
    free(r->headers);
    free(r->body);
}

static inline struct fake_api *fake_api_free(struct fake_api *api)
{
    if (!api)
        return NULL;
    http_server_free(api->server);
    for (size_t i = 0; i < api->streams.n; i++) {
        if (api->streams.v[i]->x)
            http_abort(api->streams.v[i]->x);
        free(api->streams.v[i]->path);
        free(api->streams.v[i]);
    }
    for (size_t i = 0; i < api->answers.n; i++) {
        struct fake_rule *a = api->answers.v[i];

        free(a->method);
        free(a->path);
        free(a->query);
        free(a->type);
        free(a->retry_after);
        free(a->body);
        free(a);
    }
    for (size_t i = 0; i < api->requests.n; i++)
        fake_request_release(&api->requests.v[i]);
    vec_release(&api->streams);
    vec_release(&api->answers);
    vec_release(&api->requests);
    free(api);
    return NULL;
}

/* "http://127.0.0.1:PORT" or https. */
static inline const char *fake_api_url(const struct fake_api *api)
{
    return api->url;
}

static inline void fake_api_answer(struct fake_api *api, const struct fake_answer *answer)
{
    struct fake_rule *a = xnew(struct fake_rule);

    a->answer = *answer;
    a->method = fake_dup(answer->method);
    a->path = xstrdup(answer->path);
    a->query = fake_dup(answer->query);
    a->type = fake_dup(answer->type);
    a->retry_after = fake_dup(answer->retry_after);
    a->body = str_dup(answer->body);
    a->answer.body.p = a->body;
    vec_push(&api->answers, a);
}

/* Short for a JSON answer. */
static inline void fake_api_json(struct fake_api *api, const char *method, const char *path,
                                 const char *query, int status, const char *body)
{
    fake_api_answer(api, &(struct fake_answer){.method = method,
                                               .path = path,
                                               .query = query,
                                               .status = status,
                                               .body = str_of(body)});
}

/* --- streams ---------------------------------------------------------------------------------- */

static inline struct fake_stream *fake_find_stream(const struct fake_api *api, const char *path)
{
    for (size_t i = api->streams.n; i-- > 0;) {
        if (api->streams.v[i]->x && strcmp(api->streams.v[i]->path, path) == 0)
            return api->streams.v[i];
    }
    return NULL;
}

/* The newest open stream of that path. */
static inline bool fake_api_is_open(const struct fake_api *api, const char *path)
{
    return fake_find_stream(api, path) != NULL;
}

static inline struct fake_stream *fake_must_find(const struct fake_api *api, const char *path)
{
    struct fake_stream *s = fake_find_stream(api, path);

    if (!s) {
        fprintf(stderr, "fake_api: no open stream of %s\n", path);
        abort();
    }
    return s;
}

static inline void fake_api_push(struct fake_api *api, const char *path, struct str bytes)
{
    http_write(fake_must_find(api, path)->x, bytes);
}

static inline void fake_api_end(struct fake_api *api, const char *path)
{
    struct fake_stream *s = fake_must_find(api, path);

    http_end(TAKE(s->x));
}

static inline void fake_api_cut(struct fake_api *api, const char *path)
{
    struct fake_stream *s = fake_must_find(api, path);

    http_abort(TAKE(s->x));
}

/* --- inspection ------------------------------------------------------------------------------- */

/* Requests so far. */
static inline size_t fake_api_count(const struct fake_api *api)
{
    return api->requests.n;
}

static inline const struct fake_request *fake_api_request(const struct fake_api *api, size_t i)
{
    if (i >= api->requests.n) {
        fprintf(stderr, "fake_api: there are %zu requests, not %zu\n", api->requests.n, i + 1);
        abort();
    }
    return &api->requests.v[i];
}

static inline size_t fake_api_unexpected(const struct fake_api *api)
{
    return api->unexpected;
}

/* Runs the loop until cond holds. Returns false if it does not within ten seconds. */
static inline bool fake_run_until(struct loop *loop, bool (*cond)(void *ctx), void *ctx)
{
    int64_t end = time_mono() + 10 * NSEC_PER_SEC;

    while (!cond(ctx)) {
        if (time_mono() > end)
            return false;
        loop_step(loop, 20 * NSEC_PER_MSEC);
    }
    return true;
}

static int fake_log_fd = -1;
static char *fake_log_copy;

/* Records the log from fake_log_begin on; the text is valid until fake_log_end. */
static inline void fake_log_begin(void)
{
    fake_log_fd = memfd_create("log", MFD_CLOEXEC);
    if (fake_log_fd < 0)
        abort();
    log_set_fd(fake_log_fd);
}

static inline const char *fake_log_text(void)
{
    off_t n = lseek(fake_log_fd, 0, SEEK_CUR);
    ssize_t got;

    free(fake_log_copy);
    fake_log_copy = xcalloc((size_t)n + 1, 1);
    got = pread(fake_log_fd, fake_log_copy, (size_t)n, 0);
    if (got != n)
        abort();
    return fake_log_copy;
}

static inline void fake_log_end(void)
{
    log_set_fd(STDERR_FILENO);
    close(fake_log_fd);
    fake_log_fd = -1;
    free(TAKE(fake_log_copy));
}

#endif
