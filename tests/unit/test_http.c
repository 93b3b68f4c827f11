/* SPDX-License-Identifier: Apache-2.0 */
/* The client against the server, over every protocol that both support. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/transport.h"
#include "net/url.h"

/* Reached only by a hang. */
#define GUARD (30 * NSEC_PER_SEC)

enum mode { PLAIN_H1, PLAIN_H2, TLS_H1, TLS_H2, MODES };

struct world {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct http_exchange *held[64]; /* by /hold and /watch */
    size_t n_held, gone;
    uint64_t handled;
    uint64_t max_body; /* of /echo; 0: 8 MiB */
};

/* Waits until cond holds. */
#define UNTIL(w, cond)                                 \
    do {                                               \
        int64_t end_ = time_mono() + GUARD;            \
        while (!(cond) && time_mono() < end_)          \
            loop_step((w)->loop, 100 * NSEC_PER_MSEC); \
        assert_true(cond);                             \
    } while (0)

/* --- the server's side ------------------------------------------------------------------------ */

static char pattern(size_t i)
{
    return (char)('a' + (i * 7 + i / 251) % 26);
}

static uint64_t number_in(struct str path)
{
    uint64_t n = 0;
    size_t slash = path.n;
    while (slash > 0 && path.p[slash - 1] != '/')
        slash--;
    (void)!str_to_u64(str_slice(path, slash, path.n), &n);
    return n;
}

static void pour(struct http_exchange *x)
{
    size_t total = (size_t)number_in(x->path), at = (size_t)(uintptr_t)x->user;
    char piece[10000];
    while (at < total) {
        size_t n = MIN(total - at, sizeof(piece));
        for (size_t i = 0; i < n; i++)
            piece[i] = pattern(at + i);
        at += n;
        x->user = (void *)(uintptr_t)at;
        if (http_write(x, (struct str){piece, n}) > HTTP_HIGH_WATER)
            return; /* on_drain continues */
    }
    http_end(x);
}

static void end_it(struct http_exchange *x)
{
    http_end(x);
}

static void forget(struct http_exchange *x)
{
    struct world *w = x->user;
    for (size_t i = 0; i < w->n_held; i++)
        if (w->held[i] == x)
            w->held[i] = w->held[--w->n_held];
    w->gone++;
    http_end(x);
}

static void hold(struct world *w, struct http_exchange *x)
{
    assert_true(w->n_held < ARRAY_LEN(w->held));
    x->user = w;
    x->on_gone = forget;
    w->held[w->n_held++] = x;
}

static void who(struct http_exchange *x)
{
    struct buf text = BUF_INIT;
    if (x->peer) {
        buf_add_str(&text, x->peer->common_name);
        for (size_t i = 0; i < x->peer->n_organizations; i++) {
            buf_add_char(&text, '/');
            buf_add_str(&text, x->peer->organizations[i]);
        }
    }
    http_respond_text(x, 200, "text/plain", buf_str(&text));
    buf_release(&text);
}

static void echo(struct http_exchange *x, int code)
{
    struct http_header headers[] = {HTTP_HEADER("X-Method", x->method),
                                    HTTP_HEADER("X-Query", x->query),
                                    HTTP_HEADER("X-Host", x->host)};
    if (code == -EMSGSIZE)
        http_respond(x, 413, NULL, 0, STR("too large\n"));
    else
        http_respond(x, 200, headers, ARRAY_LEN(headers), x->body);
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct world *w = ctx;
    w->handled++;
    if (str_is(x->path, "/echo")) {
        x->on_gone = http_abort;
        http_read_body(x, w->max_body ? w->max_body : (uint64_t)8 << 20, echo);
    } else if (str_starts(x->path, STR("/stream/"))) {
        x->on_drain = pour;
        x->on_gone = end_it;
        http_respond_stream(x, 200, NULL, 0);
        pour(x);
    } else if (str_starts(x->path, STR("/status/"))) {
        http_respond(x, (int)number_in(x->path), NULL, 0, STR("text"));
    } else if (str_is(x->path, "/padded")) {
        http_respond(x, 200, NULL, 0, http_headers_get(&x->headers, "x-padded"));
    } else if (str_is(x->path, "/hold")) {
        hold(w, x);
    } else if (str_is(x->path, "/watch")) {
        hold(w, x);
        http_respond_stream(x, 200, NULL, 0);
        http_write(x, STR("ADDED\n"));
    } else if (str_is(x->path, "/who")) {
        who(x);
    } else if (str_is(x->path, "/abort")) {
        http_abort(x);
    } else if (str_is(x->path, "/half")) {
        http_respond_stream(x, 200, NULL, 0);
        http_write(x, STR("half"));
        http_abort(x);
    } else {
        http_respond_text(x, 404, "text/plain", STR("no such path"));
    }
}

/* --- the client's side ------------------------------------------------------------------------ */

struct result {
    bool done, retryable;
    bool dated; /* there was a Date */
    int code, status;
    struct err err;
    struct buf body;
    size_t wrong; /* bytes that are not of the pattern */
    size_t received;
    char header[64];
    const char *want_header;
};

static void result_head(void *ctx, int status, const struct http_headers *headers)
{
    struct result *r = ctx;
    r->status = status;
    if (r->want_header) {
        struct str v = http_headers_get(headers, r->want_header);
        memcpy(r->header, v.p ? v.p : "", MIN(v.n, sizeof(r->header) - 1));
    }
}

static void result_data(void *ctx, struct str data)
{
    struct result *r = ctx;
    for (size_t i = 0; i < data.n; i++)
        r->wrong += data.p[i] != pattern(r->received + i);
    r->received += data.n;
    if (r->received <= 1 << 20)
        buf_add_str(&r->body, data);
}

static void result_done(void *ctx, int code, const struct err *err, bool retryable)
{
    struct result *r = ctx;
    assert_false(r->done);
    r->done = true;
    r->code = code;
    r->retryable = retryable;
    if (code < 0) {
        assert_int_equal(err->code, code);
        assert_true(err->msg[0]);
        r->err = *err;
    }
}

static const struct http_handlers handlers = {result_head, result_data, result_done};

static struct http_request get(const char *target)
{
    return (struct http_request){.method = STR("GET"), .target = str_of(target)};
}

static struct http_call *send_to(struct http_client *client, struct http_request request,
                                 struct result *r)
{
    return http_client_send(client, &request, &handlers, r);
}

static void fetch(struct world *w, struct http_request request, struct result *r)
{
    send_to(w->client, request, r);
    UNTIL(w, r->done);
}

static void result_clear(struct result *r)
{
    buf_release(&r->body);
    *r = (struct result){0};
}

/* --- certificates ----------------------------------------------------------------------------- */

struct pem {
    struct buf cert, key;
};

static struct {
    struct pem ca, other_ca, server, expired, elsewhere, client;
} pki;

static void make(struct pem *out, const struct pem *ca, struct tls_cert_request request)
{
    struct err err;
    if (ca) {
        request.ca_cert_pem = buf_str(&ca->cert);
        request.ca_key_pem = buf_str(&ca->key);
    }
    if (tls_make_certificate(&request, &out->cert, &out->key, &err) < 0)
        fail_msg("%s", err.msg);
}

static int make_pki(void **state)
{
    (void)state;
    make(&pki.ca, NULL, (struct tls_cert_request){.common_name = "ca", .is_ca = true});
    make(&pki.other_ca, NULL, (struct tls_cert_request){.common_name = "other", .is_ca = true});
    make(&pki.server, &pki.ca, (struct tls_cert_request){.names = "localhost,127.0.0.1"});
    make(&pki.expired, &pki.ca, (struct tls_cert_request){.names = "127.0.0.1", .days = -3});
    make(&pki.elsewhere, &pki.ca, (struct tls_cert_request){.names = "example.com,10.9.8.7"});
    make(&pki.client, &pki.ca,
         (struct tls_cert_request){.common_name = "system:kube-scheduler",
                                   .organizations = "system:masters,berth"});
    return 0;
}

static int drop_pki(void **state)
{
    (void)state;
    struct pem *all[] = {&pki.ca,      &pki.other_ca,  &pki.server,
                         &pki.expired, &pki.elsewhere, &pki.client};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        buf_release(&all[i]->cert);
        buf_release(&all[i]->key);
    }
    return 0;
}

/* --- fixtures --------------------------------------------------------------------------------- */

struct setting {
    enum mode mode;
    struct http_server_options server;
    struct http_client_options client;
    const struct pem *server_cert, *client_ca, *client_cert;
    enum tls_client_auth client_auth;
    const char *server_name;
    const char *host; /* in the client's URL */
    bool insecure;
};

static struct tls_config *server_tls(const struct setting *s)
{
    struct tls_config *config;
    struct err err;
    const struct pem *cert = s->server_cert ? s->server_cert : &pki.server;
    struct tls_options o = {.cert_pem = buf_str(&cert->cert),
                            .key_pem = buf_str(&cert->key),
                            .client_auth = s->client_auth};
    if (s->client_auth != TLS_CLIENT_AUTH_NONE)
        o.ca_pem = buf_str(&pki.ca.cert);
    if (tls_config_new_server(&o, &config, &err) < 0)
        fail_msg("%s", err.msg);
    return config;
}

static struct tls_config *client_tls(const struct setting *s)
{
    struct tls_config *config;
    struct err err;
    const struct pem *ca = s->client_ca ? s->client_ca : &pki.ca;
    struct tls_options o = {.ca_pem = buf_str(&ca->cert),
                            .insecure_skip_verify = s->insecure,
                            .server_name = str_of(s->server_name),
                            .alpn = s->mode == TLS_H1 ? "http/1.1" : NULL};
    if (s->client_cert) {
        o.cert_pem = buf_str(&s->client_cert->cert);
        o.key_pem = buf_str(&s->client_cert->key);
    }
    if (tls_config_new_client(&o, &config, &err) < 0)
        fail_msg("%s", err.msg);
    return config;
}

static void start_server(struct world *w, const struct setting *s)
{
    struct err err;
    struct http_server_options o = s->server;
    o.handle = handle;
    o.ctx = w;
    o.tls = s->mode >= TLS_H1 ? server_tls(s) : NULL;
    if (http_server_new(w->loop, &o, &w->server, &err) < 0)
        fail_msg("%s", err.msg);
    tls_config_unref(o.tls);
}

static struct http_client *make_client(struct world *w, const struct setting *s, uint16_t port)
{
    struct http_client *client;
    struct err err;
    char origin[100];
    snprintf(origin, sizeof(origin), "%s://%s:%u", s->mode >= TLS_H1 ? "https" : "http",
             s->host ? s->host : "127.0.0.1", port);
    struct http_client_options o = s->client;
    o.origin = origin;
    o.h2_prior_knowledge = s->mode == PLAIN_H2;
    o.tls = s->mode >= TLS_H1 ? client_tls(s) : NULL;
    if (http_client_new(w->loop, &o, &client, &err) < 0)
        fail_msg("%s", err.msg);
    tls_config_unref(o.tls);
    return client;
}

static void start(struct world *w, const struct setting *s)
{
    *w = (struct world){0};
    assert_int_equal(loop_new(&w->loop), 0);
    start_server(w, s);
    w->client = make_client(w, s, http_server_port(w->server));
}

static void stop(struct world *w)
{
    w->client = http_client_free(w->client);
    w->server = http_server_free(w->server);
    assert_int_equal(w->n_held, 0);
    loop_free(w->loop);
}

#define EACH_MODE(s) for (struct setting s = {0}; s.mode < MODES; s.mode++)

/* --- exchanges -------------------------------------------------------------------------------- */

static void test_echo(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        start(&w, &s);
        struct result r = {.want_header = "x-query"};
        struct http_header header = HTTP_HEADER("Content-Type", STR("text/plain"));
        fetch(&w,
              (struct http_request){.method = STR("POST"),
                                    .target = STR("/echo?a=b"),
                                    .headers = &header,
                                    .n_headers = 1,
                                    .body = STR("hello")},
              &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(r.status, 200);
        assert_true(str_is(buf_str(&r.body), "hello"));
        assert_string_equal(r.header, "a=b");
        result_clear(&r);
        fetch(&w, get("/nowhere"), &r);
        assert_int_equal(r.status, 404);
        result_clear(&r);
        stop(&w);
    }
}

static void test_no_body(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        start(&w, &s);
        struct result r = {.want_header = "content-length"};
        fetch(&w, (struct http_request){.method = STR("HEAD"), .target = STR("/status/200")}, &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(r.received, 0);
        assert_string_equal(r.header, "4");
        result_clear(&r);
        fetch(&w, get("/status/204"), &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(r.status, 204);
        assert_int_equal(r.received, 0);
        result_clear(&r);
        fetch(&w, get("/status/304"), &r);
        assert_int_equal(r.status, 304);
        result_clear(&r);
        fetch(&w, (struct http_request){.method = STR("POST"), .target = STR("/echo")}, &r);
        assert_int_equal(r.status, 200);
        result_clear(&r);
        /* all of that on one connection */
        struct http_client_stats stats;
        http_client_get_stats(w.client, &stats);
        assert_int_equal(stats.dialled, 1);
        assert_int_equal(stats.requests, 4);
        stop(&w);
    }
}

static void test_big(void **state)
{
    (void)state;
    size_t size = (size_t)6 << 20;
    char *body = xmalloc(size);
    for (size_t i = 0; i < size; i++)
        body[i] = pattern(i);
    EACH_MODE(s)
    {
        struct world w;
        start(&w, &s);
        struct result up = {0}, down = {0};
        fetch(&w,
              (struct http_request){
                  .method = STR("PUT"), .target = STR("/echo"), .body = {body, size}},
              &up);
        assert_int_equal(up.code, 0);
        assert_int_equal(up.received, size);
        assert_int_equal(up.wrong, 0);
        fetch(&w, get("/stream/12000000"), &down);
        assert_int_equal(down.code, 0);
        assert_int_equal(down.received, 12000000);
        assert_int_equal(down.wrong, 0);
        result_clear(&up);
        result_clear(&down);
        stop(&w);
    }
    free(body);
}

static void test_many_at_once(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        start(&w, &s);
        static struct result r[300];
        memset(r, 0, sizeof(r));
        for (size_t i = 0; i < ARRAY_LEN(r); i++)
            send_to(w.client, get(i % 2 ? "/stream/5000" : "/echo"), &r[i]);
        for (size_t i = 0; i < ARRAY_LEN(r); i++) {
            UNTIL(&w, r[i].done);
            assert_int_equal(r[i].code, 0);
            assert_int_equal(r[i].status, 200);
            assert_int_equal(r[i].received, i % 2 ? 5000 : 0);
            result_clear(&r[i]);
        }
        struct http_client_stats stats;
        http_client_get_stats(w.client, &stats);
        assert_int_equal(stats.calls, 0);
        assert_true(stats.dialled <= 16);
        stop(&w);
    }
}

/* --- TLS -------------------------------------------------------------------------------------- */

static void expect_tls_error(struct setting s, const char *text)
{
    struct world w;
    struct result r = {0};
    start(&w, &s);
    fetch(&w, get("/echo"), &r);
    if (r.code != -EKEYREJECTED || !strstr(r.err.msg, text))
        fail_msg("got %d \"%s\", want \"%s\"", r.code, r.err.msg, text);
    assert_int_equal(w.handled, 0);
    result_clear(&r);
    stop(&w);
}

static void test_verification(void **state)
{
    (void)state;
    for (enum mode mode = TLS_H1; mode <= TLS_H2; mode++) {
        expect_tls_error((struct setting){.mode = mode, .client_ca = &pki.other_ca},
                         "127.0.0.1: certificate signed by unknown authority");
        expect_tls_error((struct setting){.mode = mode, .server_cert = &pki.expired},
                         "127.0.0.1: certificate has expired");
        expect_tls_error((struct setting){.mode = mode, .server_cert = &pki.elsewhere},
                         "certificate is valid for example.com, 10.9.8.7, not 127.0.0.1");
        expect_tls_error((struct setting){.mode = mode, .server_name = "example.org"},
                         "not example.org");
        expect_tls_error((struct setting){.mode = mode, .client_auth = TLS_CLIENT_AUTH_REQUIRED},
                         "the server requires a client certificate");
    }
}

static void expect_identity(struct setting s, const char *identity)
{
    struct world w;
    struct result r = {0};
    start(&w, &s);
    fetch(&w, get("/who"), &r);
    if (r.code < 0)
        fail_msg("%s", r.err.msg);
    assert_true(str_is(buf_str(&r.body), identity));
    result_clear(&r);
    stop(&w);
}

static void test_identity(void **state)
{
    (void)state;
    const char *us = "system:kube-scheduler/system:masters/berth";
    for (enum mode mode = TLS_H1; mode <= TLS_H2; mode++) {
        struct setting s = {.mode = mode};
        expect_identity(s, "");
        s.client_auth = TLS_CLIENT_AUTH_OPTIONAL;
        expect_identity(s, "");
        s.client_cert = &pki.other_ca; /* does not verify: counts as none */
        expect_identity(s, "");
        s.client_cert = &pki.client;
        expect_identity(s, us);
        s.client_auth = TLS_CLIENT_AUTH_REQUIRED;
        expect_identity(s, us);
        s = (struct setting){.mode = mode, .client_ca = &pki.other_ca, .insecure = true};
        expect_identity(s, "");
        s = (struct setting){
            .mode = mode, .server_cert = &pki.elsewhere, .server_name = "example.com"};
        expect_identity(s, "");
        s = (struct setting){.mode = mode, .host = "localhost"};
        expect_identity(s, "");
    }
}

static void test_session_reuse(void **state)
{
    (void)state;
    for (enum mode mode = TLS_H1; mode <= TLS_H2; mode++) {
        struct setting s = {.mode = mode};
        struct world w;
        struct result r = {0};
        struct http_client_stats stats;
        start(&w, &s);
        fetch(&w, get("/echo"), &r);
        http_client_close_idle(w.client);
        UNTIL(&w, (http_client_get_stats(w.client, &stats), stats.connections == 0));
        assert_int_equal(stats.sessions_resumed, 0);
        result_clear(&r);
        fetch(&w, get("/echo"), &r);
        assert_int_equal(r.code, 0);
        http_client_get_stats(w.client, &stats);
        assert_int_equal(stats.dialled, 2);
        assert_int_equal(stats.sessions_resumed, 1);
        result_clear(&r);
        stop(&w);
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_stream_limit(void **state)
{
    (void)state;
    struct setting s = {.mode = TLS_H2, .server.max_streams = 2, .client.max_connections = 1};
    struct world w;
    static struct result r[50];
    memset(r, 0, sizeof(r));
    start(&w, &s);
    /* The server's SETTINGS are known after the first answer. */
    struct result first = {0};
    fetch(&w, get("/echo"), &first);
    for (size_t i = 0; i < ARRAY_LEN(r); i++)
        send_to(w.client, get("/hold"), &r[i]);
    for (size_t done = 0; done < ARRAY_LEN(r);) {
        UNTIL(&w, w.n_held > 0);
        struct http_server_stats stats;
        http_server_get_stats(w.server, &stats);
        assert_true(stats.exchanges <= 2);
        http_respond(w.held[--w.n_held], 200, NULL, 0, STR(""));
        done++;
    }
    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        UNTIL(&w, r[i].done);
        assert_int_equal(r[i].code, 0);
        result_clear(&r[i]);
    }
    struct http_client_stats stats;
    http_client_get_stats(w.client, &stats);
    assert_int_equal(stats.dialled, 1);
    stop(&w);
}

static void test_more_connections(void **state)
{
    (void)state;
    struct setting s = {.mode = TLS_H2, .server.max_streams = 2};
    struct world w;
    static struct result r[8];
    memset(r, 0, sizeof(r));
    start(&w, &s);
    struct result first = {0};
    fetch(&w, get("/echo"), &first);
    for (size_t i = 0; i < ARRAY_LEN(r); i++)
        send_to(w.client, get("/hold"), &r[i]);
    UNTIL(&w, w.n_held == 8); /* four connections of two streams */
    while (w.n_held)
        http_respond(w.held[--w.n_held], 200, NULL, 0, STR(""));
    for (size_t i = 0; i < ARRAY_LEN(r); i++)
        UNTIL(&w, r[i].done);
    stop(&w);
}

static void test_too_many_wait(void **state)
{
    (void)state;
    struct setting s = {.mode = PLAIN_H1, .client = {.max_connections = 1, .max_waiting = 2}};
    struct world w;
    struct result r[4] = {0};
    start(&w, &s);
    for (size_t i = 0; i < 4; i++)
        send_to(w.client, get("/echo"), &r[i]);
    UNTIL(&w, r[0].done && r[1].done && r[2].done && r[3].done);
    assert_int_equal(r[0].code, 0);
    assert_int_equal(r[1].code, 0);
    assert_int_equal(r[2].code, -EAGAIN);
    assert_int_equal(r[3].code, -EAGAIN);
    assert_true(r[3].retryable);
    stop(&w);
}

static void test_sizes(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        s.server.max_header_bytes = 8192;
        s.client.max_header_bytes = 2048;
        start(&w, &s);
        w.max_body = 1000;
        struct http_request request = get("/stream/100000");
        request.max_body = 50000;
        fetch(&w, request, &r);
        assert_int_equal(r.code, -EMSGSIZE);
        result_clear(&r);

        static char large[9000];
        memset(large, 'x', sizeof(large));
        request = (struct http_request){
            .method = STR("POST"), .target = STR("/echo"), .body = {large, sizeof(large)}};
        fetch(&w, request, &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(r.status, 413);
        result_clear(&r);

        struct http_header header = HTTP_HEADER("x-large", ((struct str){large, sizeof(large)}));
        request = get("/echo");
        request.headers = &header;
        request.n_headers = 1;
        fetch(&w, request, &r);
        assert_int_equal(r.code, 0);
        assert_int_equal(r.status, 431);
        result_clear(&r);

        request = get("/echo?");
        char target[4200] = "/echo?";
        memset(target + 6, 'y', 4000);
        request.target = (struct str){target, 4006};
        fetch(&w, request, &r); /* echoed as a header, too large for the client */
        assert_int_equal(r.code, -EMSGSIZE);
        result_clear(&r);
        fetch(&w, get("/echo"), &r); /* the client is still usable */
        assert_int_equal(r.status, 200);
        result_clear(&r);
        stop(&w);
    }
}

static int early_told, early_code;

static void early_head(void *ctx, int status, const struct http_headers *headers)
{
    (void)ctx, (void)status, (void)headers;
    early_told++;
}
static void early_data(void *ctx, struct str data)
{
    (void)ctx, (void)data;
    early_told++;
}
static void early_done(void *ctx, int code, const struct err *err, bool retryable)
{
    (void)err, (void)retryable;
    early_code = code;
    *(bool *)ctx = true;
}

static void test_an_answer_that_says_it_is_too_large_is_refused_before_it_is_read(void **state)
{
    static const struct http_handlers early = {early_head, early_data, early_done};
    static char body[900];
    (void)state;
    memset(body, 'x', sizeof(body));
    EACH_MODE(s)
    {
        struct world w;
        bool done = false;
        start(&w, &s);
        struct http_request request = {.method = STR("POST"),
                                       .target = STR("/echo"),
                                       .body = {body, sizeof(body)},
                                       .max_body = sizeof(body) - 1};
        early_told = 0;
        http_client_send(w.client, &request, &early, &done);
        UNTIL(&w, done);
        assert_int_equal(early_code, -EMSGSIZE);
        assert_int_equal(early_told, 0);
        request.max_body = sizeof(body);
        done = false;
        http_client_send(w.client, &request, &early, &done);
        UNTIL(&w, done);
        assert_int_equal(early_code, 0);
        stop(&w);
    }
}

static void test_bad_requests(void **state)
{
    (void)state;
    struct setting s = {.mode = PLAIN_H1};
    struct world w;
    struct result r = {0};
    start(&w, &s);
    fetch(&w, get("no slash"), &r);
    assert_int_equal(r.code, -EINVAL);
    result_clear(&r);
    struct http_header header = HTTP_HEADER("x", STR("a\r\nInjected: b"));
    struct http_request request = get("/echo");
    request.headers = &header;
    request.n_headers = 1;
    fetch(&w, request, &r);
    assert_int_equal(r.code, -EINVAL);
    assert_int_equal(w.handled, 0);
    result_clear(&r);
    stop(&w);
}

/* --- flow control ----------------------------------------------------------------------------- */

static void test_pause(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result paused = {0}, others[5] = {0};
        start(&w, &s);
        struct http_call *call = send_to(w.client, get("/stream/10000000"), &paused);
        UNTIL(&w, paused.received > 0);
        http_call_pause(call);
        size_t at = paused.received;
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            send_to(w.client, get("/stream/2000000"), &others[i]);
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            UNTIL(&w, others[i].done);
            assert_int_equal(others[i].received, 2000000);
            assert_int_equal(others[i].wrong, 0);
            result_clear(&others[i]);
        }
        assert_int_equal(paused.received, at);
        assert_false(paused.done);
        http_call_resume(call);
        UNTIL(&w, paused.done);
        assert_int_equal(paused.code, 0);
        assert_int_equal(paused.received, 10000000);
        assert_int_equal(paused.wrong, 0);
        result_clear(&paused);
        stop(&w);
    }
}

static void test_pause_small(void **state)
{
    /* The whole answer arrives while paused. */
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0}, other = {0};
        start(&w, &s);
        struct http_call *call = send_to(w.client, get("/stream/3000"), &r);
        http_call_pause(call);
        fetch(&w, get("/echo"), &other);
        UNTIL(&w, r.status == 200);
        for (int i = 0; i < 20; i++)
            loop_step(w.loop, NSEC_PER_MSEC);
        assert_int_equal(r.received, 0);
        assert_false(r.done);
        http_call_resume(call);
        UNTIL(&w, r.done);
        assert_int_equal(r.code, 0);
        assert_int_equal(r.received, 3000);
        result_clear(&r);
        stop(&w);
    }
}

/* --- early ends ------------------------------------------------------------------------------- */

static void test_cancel(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0}, waiting = {0}, after = {0};
        start(&w, &s);
        struct http_call *early = send_to(w.client, get("/echo"), &waiting);
        http_call_cancel(early);
        struct http_call *call = send_to(w.client, get("/watch"), &r);
        UNTIL(&w, r.received == 6);
        assert_int_equal(w.n_held, 1);
        http_call_cancel(call);
        UNTIL(&w, w.gone == 1); /* the server notices */
        fetch(&w, get("/echo"), &after);
        assert_int_equal(after.code, 0);
        assert_false(r.done);
        assert_false(waiting.done);
        result_clear(&r);
        stop(&w);
    }
}

static struct http_call *self;
static void cancel_in_data(void *ctx, struct str data)
{
    (void)data;
    ++*(int *)ctx;
    http_call_cancel(self);
}
static void must_not_be_done(void *ctx, int code, const struct err *err, bool retryable)
{
    (void)ctx, (void)code, (void)err, (void)retryable;
    fail_msg("on_done after cancel");
}

static void test_cancel_within(void **state)
{
    (void)state;
    static const struct http_handlers h = {.on_data = cancel_in_data, .on_done = must_not_be_done};
    EACH_MODE(s)
    {
        struct world w;
        int seen = 0;
        struct result after = {0};
        start(&w, &s);
        struct http_request request = get("/stream/100000");
        self = http_client_send(w.client, &request, &h, &seen);
        UNTIL(&w, seen > 0);
        fetch(&w, get("/echo"), &after);
        assert_int_equal(after.code, 0);
        assert_int_equal(seen, 1);
        stop(&w);
    }
}

static void cancel_self(struct loop_task *task)
{
    (void)task;
    http_call_cancel(self);
}

static void test_cancel_before_sent(void **state)
{
    /* Given to the connection in this round, cancelled before the round's frames are sent. */
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result first = {0}, r = {0}, after = {0};
        struct loop_task task;
        struct http_client_stats before, stats;
        s.server.max_streams = 1; /* a stream that is not released would block the next */
        s.client.max_connections = 1;
        start(&w, &s);
        fetch(&w, get("/echo"), &first);
        http_client_get_stats(w.client, &before);
        self = send_to(w.client, get("/hold"), &r);
        loop_task_init(&task, cancel_self);
        loop_task_schedule(w.loop, &task);
        loop_step(w.loop, 0);
        http_client_get_stats(w.client, &stats);
        assert_int_equal(stats.requests, before.requests + 1);
        assert_int_equal(stats.calls, 0);
        fetch(&w, get("/echo"), &after);
        assert_int_equal(after.code, 0);
        assert_false(r.done);
        UNTIL(&w, w.n_held == 0);
        stop(&w);
    }
}

static void free_in_done(void *ctx, int code, const struct err *err, bool retryable)
{
    struct world *w = ctx;
    (void)code, (void)err, (void)retryable;
    w->client = http_client_free(w->client);
}

static void test_free_within(void **state)
{
    (void)state;
    static const struct http_handlers h = {.on_done = free_in_done};
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0}, idle = {0};
        start(&w, &s);
        send_to(w.client, get("/watch"), &r);
        UNTIL(&w, r.received == 6);
        struct http_request request = get("/echo");
        http_client_send(w.client, &request, &h, &w);
        send_to(w.client, get("/hold"), &idle);
        UNTIL(&w, r.done && idle.done);
        assert_int_equal(r.code, -ECANCELED);
        assert_int_equal(idle.code, -ECANCELED);
        result_clear(&r);
        UNTIL(&w, w.n_held == 0);
        stop(&w);
    }
}

static void test_timeouts(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result head = {0}, total = {0}, none = {0};
        start(&w, &s);
        struct http_request request = get("/hold");
        request.head_timeout = 30 * NSEC_PER_MSEC;
        fetch(&w, request, &head);
        assert_int_equal(head.code, -ETIMEDOUT);
        request = get("/watch");
        request.head_timeout = 10 * NSEC_PER_SEC;
        request.total_timeout = 200 * NSEC_PER_MSEC;
        send_to(w.client, request, &total);
        request.total_timeout = 0;
        struct http_call *call = send_to(w.client, request, &none);
        UNTIL(&w, total.done && none.received);
        assert_int_equal(total.code, -ETIMEDOUT);
        assert_int_equal(total.received, 6);
        assert_false(none.done);
        http_call_cancel(call);
        UNTIL(&w, w.n_held == 0);
        result_clear(&total);
        result_clear(&none);
        stop(&w);
    }
}

static void test_truncated(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        start(&w, &s);
        fetch(&w, get("/abort"), &r);
        assert_true(r.code < 0);
        assert_int_equal(r.status, 0);
        result_clear(&r);
        fetch(&w, get("/half"), &r);
        assert_true(r.code < 0);
        assert_false(r.retryable);
        result_clear(&r);
        fetch(&w, get("/echo"), &r);
        assert_int_equal(r.code, 0);
        result_clear(&r);
        stop(&w);
    }
}

/* A port without a listener. */
static uint16_t dead_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static void test_refused(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result a = {0}, b = {0};
        start(&w, &s);
        struct http_client *client = make_client(&w, &s, dead_port());
        send_to(client, get("/"), &a);
        send_to(client, get("/"), &b);
        UNTIL(&w, a.done && b.done);
        assert_int_equal(a.code, -ECONNREFUSED);
        assert_true(a.retryable);
        assert_non_null(strstr(a.err.msg, "127.0.0.1"));
        http_client_free(client);
        stop(&w);
    }
}

static void test_no_such_host(void **state)
{
    (void)state;
    struct setting s = {.mode = PLAIN_H1, .host = "no-such-host.invalid"};
    struct world w;
    struct result r = {0};
    start(&w, &s);
    fetch(&w, get("/"), &r);
    assert_true(r.code < 0);
    assert_true(r.retryable);
    assert_non_null(strstr(r.err.msg, "no-such-host.invalid"));
    /* and one that is cancelled during the lookup */
    struct http_client *client = make_client(&w, &s, 1);
    struct result other = {0};
    send_to(client, get("/"), &other);
    loop_step(w.loop, 0);
    http_client_free(client);
    assert_int_equal(other.code, -ECANCELED);
    stop(&w);
}

/* --- end of the server ------------------------------------------------------------------------ */

static void set_flag(void *ctx)
{
    *(bool *)ctx = true;
}

static void test_shutdown_waits(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0}, after = {0};
        bool stopped = false;
        start(&w, &s);
        send_to(w.client, get("/hold"), &r);
        UNTIL(&w, w.n_held == 1);
        http_server_shutdown(w.server, GUARD, set_flag, &stopped);
        for (int i = 0; i < 10; i++)
            loop_step(w.loop, NSEC_PER_MSEC);
        assert_false(stopped);
        http_respond(w.held[--w.n_held], 200, NULL, 0, STR("done"));
        UNTIL(&w, r.done && stopped);
        assert_int_equal(r.code, 0);
        assert_true(str_is(buf_str(&r.body), "done"));
        fetch(&w, get("/echo"), &after);
        assert_int_equal(after.code, -ECONNREFUSED);
        result_clear(&r);
        stop(&w);
    }
}

static void test_shutdown_deadline(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        bool stopped = false;
        start(&w, &s);
        send_to(w.client, get("/watch"), &r);
        UNTIL(&w, r.received == 6);
        http_server_shutdown(w.server, 50 * NSEC_PER_MSEC, set_flag, &stopped);
        UNTIL(&w, r.done && stopped);
        assert_true(r.code < 0);
        assert_int_equal(w.gone, 1);
        result_clear(&r);
        stop(&w);
    }
}

static void test_goaway(void **state)
{
    (void)state;
    struct setting s = {.mode = TLS_H2};
    struct world w;
    struct result held = {0}, r = {0};
    bool stopped = false;
    start(&w, &s);
    send_to(w.client, get("/hold"), &held);
    UNTIL(&w, w.n_held == 1);
    /* The call and the GOAWAY cross: the server has not processed it and the client may retry. */
    uint64_t before = w.handled;
    send_to(w.client, get("/echo"), &r);
    http_server_shutdown(w.server, GUARD, set_flag, &stopped);
    UNTIL(&w, r.done);
    assert_int_equal(w.handled, before);
    assert_true(r.code < 0);
    assert_true(r.retryable);
    assert_false(held.done);
    http_respond(w.held[--w.n_held], 200, NULL, 0, STR(""));
    UNTIL(&w, held.done && stopped);
    assert_int_equal(held.code, 0);
    http_server_free(w.server);
    /* A new server, and the retry succeeds. */
    start_server(&w, &s);
    struct http_client *client = make_client(&w, &s, http_server_port(w.server));
    struct result again = {0};
    send_to(client, get("/echo"), &again);
    UNTIL(&w, again.done);
    assert_int_equal(again.code, 0);
    http_client_free(client);
    stop(&w);
}

static void test_answer_after_free(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        start(&w, &s);
        send_to(w.client, get("/hold"), &r);
        UNTIL(&w, w.n_held == 1);
        struct http_exchange *x = w.held[--w.n_held];
        x->on_gone = NULL;
        w.server = http_server_free(w.server);
        UNTIL(&w, r.done);
        assert_true(r.code < 0);
        http_respond(x, 200, NULL, 0, STR("too late"));
        stop(&w);
    }
}

/* --- misbehaving clients ---------------------------------------------------------------------- */

static int connect_to(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

/* Reads the answers so far and discards them. */
static void swallow(int fd)
{
    char bytes[65536];
    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
}

/* A client that keeps requesting without reading is not read any more, until it reads. */
static void test_many_requests_and_no_ear(void **state)
{
    (void)state;
    struct setting s = {.mode = PLAIN_H1};
    struct world w;
    struct buf request = BUF_INIT;
    const size_t n = 16384; /* with answers of more than 64 MB */
    start(&w, &s);
    int fd = connect_to(http_server_port(w.server));
    buf_add_printf(&request, "GET /echo?%04000d HTTP/1.1\r\nHost: h\r\n\r\n", 0);
    size_t sent = 0, total = n * request.n;
    bool deaf = true;
    for (int idle = 0; sent < total && idle < 200;) {
        size_t at = sent % request.n;
        ssize_t got = send(fd, request.p + at, request.n - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += got > 0 ? (size_t)got : 0;
        idle = got > 0 ? 0 : idle + 1;
        loop_step(w.loop, got > 0 ? 0 : NSEC_PER_MSEC);
        if (deaf && idle == 200) {
            idle = 0;
            deaf = false;
        }
        if (!deaf)
            swallow(fd);
    }
    assert_false(deaf);
    assert_int_equal(sent, total);
    int64_t end = time_mono() + GUARD;
    while (w.handled < n && time_mono() < end) {
        swallow(fd);
        loop_step(w.loop, NSEC_PER_MSEC);
    }
    assert_int_equal(w.handled, n);
    close(fd);
    buf_release(&request);
    stop(&w);
}

static void test_slow_client(void **state)
{
    (void)state;
    struct setting s = {.mode = PLAIN_H1,
                        .server = {.head_timeout = 60 * NSEC_PER_MSEC,
                                   .body_timeout = 60 * NSEC_PER_MSEC,
                                   .idle_timeout = 60 * NSEC_PER_MSEC,
                                   .write_timeout = 100 * NSEC_PER_MSEC}};
    struct world w;
    struct http_server_stats stats;
    start(&w, &s);
    static const char *const texts[] = {
        "",
        "GET /echo HT",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab",
        "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /stream/100000000 HTTP/1.1\r\nHost: a\r\n\r\n"};
    int fds[ARRAY_LEN(texts)];
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        fds[i] = connect_to(http_server_port(w.server));
        assert_int_equal(write(fds[i], texts[i], strlen(texts[i])), strlen(texts[i]));
    }
    UNTIL(&w, (http_server_get_stats(w.server, &stats), stats.accepted == ARRAY_LEN(texts)));
    UNTIL(&w, (http_server_get_stats(w.server, &stats), stats.connections == 0));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        close(fds[i]);
    stop(&w);
}

/* Reads what is available. Returns false at the end. */
static bool drink(int fd, size_t *total)
{
    static char bytes[65536];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        *total += (size_t)n;
    if (n < 0)
        assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
    return n != 0;
}

static void test_answer_is_not_taken_back(void **state)
{
    /* The server has ended and the client sends more: data in flight still arrives. */
    (void)state;
    struct setting s = {.mode = PLAIN_H1};
    struct world w;
    struct http_server_stats stats;
    size_t total = 0;
    start(&w, &s);
    int fd = connect_to(http_server_port(w.server));
    static const char ask[] =
        "GET /stream/20000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert_int_equal(write(fd, ask, strlen(ask)), strlen(ask));
    UNTIL(&w, (http_server_get_stats(w.server, &stats), stats.accepted == 1));
    UNTIL(&w, (drink(fd, &total), http_server_get_stats(w.server, &stats), stats.exchanges == 0));
    assert_int_equal(write(fd, ask, strlen(ask)), strlen(ask));
    loop_step(w.loop, 0);
    UNTIL(&w, !drink(fd, &total));
    assert_true(total > 20000000);
    close(fd);
    stop(&w);
}

static void test_slow_reader(void **state)
{
    /* A client that does not read its answer loses it; its other calls are not affected. */
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0}, other = {0};
        struct http_server_stats stats;
        s.server.write_timeout = 800 * NSEC_PER_MSEC;
        start(&w, &s);
        struct http_call *call = send_to(w.client, get("/stream/50000000"), &r);
        UNTIL(&w, r.received > 0);
        http_call_pause(call);
        UNTIL(&w, (http_server_get_stats(w.server, &stats), stats.exchanges == 0));
        fetch(&w, get("/echo"), &other);
        assert_int_equal(other.code, 0);
        if (!r.done) /* HTTP/2 reports the end of a paused call, HTTP/1.1 does not */
            http_call_resume(call);
        UNTIL(&w, r.done);
        assert_true(r.code < 0);
        assert_true(r.received < 50000000);
        result_clear(&r);
        stop(&w);
    }
}

/* --- raw servers ------------------------------------------------------------------------------ */

/* Accepts one connection after the other, reads a little, sends the given bytes and closes. */
struct canned {
    struct loop_io listen, conn;
    struct loop *loop;
    const char *say;
    int accepted;
};

static void canned_read(struct loop_io *io, unsigned events)
{
    struct canned *c = CONTAINER_OF(io, struct canned, conn);
    char waste[4096];
    (void)events;
    ssize_t n = read(io->fd, waste, sizeof(waste));
    if (n > 0)
        (void)!write(io->fd, c->say, strlen(c->say));
    int fd = io->fd;
    loop_io_stop(io);
    close(fd);
}

static void canned_accept(struct loop_io *io, unsigned events)
{
    struct canned *c = CONTAINER_OF(io, struct canned, listen);
    (void)events;
    if (c->conn.loop)
        return;
    int fd = accept(io->fd, NULL, NULL);
    c->accepted++;
    loop_io_init(&c->conn, c->loop, fd, canned_read);
    loop_io_set(&c->conn, LOOP_READ);
}

static uint16_t canned_start(struct canned *c, struct loop *loop, const char *say)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *c = (struct canned){.loop = loop, .say = say};
    loop_io_init(&c->listen, loop, fd, canned_accept);
    loop_io_set(&c->listen, LOOP_READ);
    return ntohs(a.sin_port);
}

static void canned_stop(struct canned *c)
{
    if (c->conn.loop) {
        loop_io_stop(&c->conn);
        close(c->conn.fd);
    }
    loop_io_stop(&c->listen);
    close(c->listen.fd);
}

static void test_strange_servers(void **state)
{
    (void)state;
    static const struct {
        enum mode mode;
        const char *say;
        int code, status;
    } cases[] = {
        {PLAIN_H1, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", -ECONNRESET, 200},
        {PLAIN_H1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", -ECONNRESET,
         200},
        {PLAIN_H1, "HTTP/1.1 200 OK\r\n\r\nuntil the end", 0, 200},
        {PLAIN_H1, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 0, 204},
        {PLAIN_H1,
         "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         -EPROTO, 0},
        {PLAIN_H1, "220 mail.example.com ESMTP\r\n", -EPROTO, 0},
        {PLAIN_H1, "HTTP/1.1 2", -ECONNRESET, 0},
        {PLAIN_H1, "", -ECONNRESET, 0},
        {PLAIN_H2, "HTTP/1.1 400 Bad Request\r\n\r\n", -EPROTO, 0},
        {PLAIN_H2, "", -ECONNRESET, 0},
        {TLS_H2, "HTTP/1.1 400 Bad Request\r\n\r\n", -EPROTO, 0},
        {TLS_H2, "", -ECONNRESET, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setting s = {.mode = cases[i].mode};
        struct world w;
        struct canned canned;
        struct result r = {0};
        start(&w, &s);
        struct http_client *client =
            make_client(&w, &s, canned_start(&canned, w.loop, cases[i].say));
        send_to(client, get("/"), &r);
        UNTIL(&w, r.done);
        if (r.code != cases[i].code || r.status != cases[i].status)
            fail_msg("case %zu: %d %d \"%s\"", i, r.code, r.status, r.err.msg);
        result_clear(&r);
        http_client_free(client);
        canned_stop(&canned);
        stop(&w);
    }
}

/* --- proxies ---------------------------------------------------------------------------------- */

/* A proxy for one connection at a time: answers a handshake, then moves bytes both ways. */
struct tunnel {
    struct loop_io listen, down, up;
    struct loop *loop;
    struct buf seen;
    uint16_t target;
    bool socks;
    int step;
};

static void tunnel_move(struct tunnel *t, int from, int to)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof(data));
    if (n <= 0) {
        loop_io_stop(&t->down);
        loop_io_stop(&t->up);
        close(t->down.fd);
        close(t->up.fd);
        return;
    }
    for (ssize_t at = 0; at < n;) /* blocking sockets: a simple proxy */
        at += write(to, data + at, (size_t)(n - at));
}

static void tunnel_up(struct loop_io *io, unsigned events)
{
    struct tunnel *t = CONTAINER_OF(io, struct tunnel, up);
    (void)events;
    tunnel_move(t, t->up.fd, t->down.fd);
}

static void tunnel_open(struct tunnel *t)
{
    loop_io_init(&t->up, t->loop, connect_to(t->target), tunnel_up);
    loop_io_set(&t->up, LOOP_READ);
    t->step = 3;
}

static void tunnel_say(struct tunnel *t, const char *text, size_t n)
{
    assert_int_equal(write(t->down.fd, text, n), n);
}

static void tunnel_handshake(struct tunnel *t)
{
    char data[4096];
    ssize_t n = read(t->down.fd, data, sizeof(data));
    assert_true(n > 0);
    buf_add(&t->seen, data, (size_t)n);
    if (!t->socks) {
        if (str_search(buf_str(&t->seen), STR("\r\n\r\n")) == t->seen.n)
            return;
        tunnel_say(t, "HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n", 45);
        tunnel_open(t);
    } else if (t->step == 0 && data[1] == 2) {
        tunnel_say(t, "\x05\x02", 2);
        t->step = 1;
    } else if (t->step == 1) {
        tunnel_say(t, "\x01\x00", 2);
        t->step = 2;
    } else {
        tunnel_say(t, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10);
        tunnel_open(t);
    }
}

static void tunnel_down(struct loop_io *io, unsigned events)
{
    struct tunnel *t = CONTAINER_OF(io, struct tunnel, down);
    (void)events;
    if (t->step < 3)
        tunnel_handshake(t);
    else
        tunnel_move(t, t->down.fd, t->up.fd);
}

static void tunnel_accept(struct loop_io *io, unsigned events)
{
    struct tunnel *t = CONTAINER_OF(io, struct tunnel, listen);
    (void)events;
    loop_io_init(&t->down, t->loop, accept(io->fd, NULL, NULL), tunnel_down);
    loop_io_set(&t->down, LOOP_READ);
    t->step = 0;
}

static void test_proxy(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        for (int socks = 0; socks < 2; socks++) {
            struct world w;
            struct tunnel t = {.socks = socks};
            struct canned listener;
            struct result r = {0};
            char proxy[100];
            start(&w, &s);
            t.loop = w.loop;
            t.target = http_server_port(w.server);
            uint16_t port = canned_start(&listener, w.loop, "");
            loop_io_stop(&listener.listen);
            loop_io_init(&t.listen, w.loop, listener.listen.fd, tunnel_accept);
            loop_io_set(&t.listen, LOOP_READ);
            snprintf(proxy, sizeof(proxy), "%s://us%%65r:pass@127.0.0.1:%u",
                     socks ? "socks5" : "http", port);
            struct setting via = s;
            via.client.proxy = proxy;
            struct http_client *client = make_client(&w, &via, t.target);
            send_to(client, get("/stream/300000"), &r);
            UNTIL(&w, r.done);
            if (r.code < 0)
                fail_msg("%s", r.err.msg);
            assert_int_equal(r.received, 300000);
            assert_int_equal(r.wrong, 0);
            if (socks) {
                assert_true(str_search(buf_str(&t.seen), STR("\x01\x04user\x04pass")) < t.seen.n);
            } else {
                char want[64];
                snprintf(want, sizeof(want), "CONNECT 127.0.0.1:%u HTTP/1.1\r\n", t.target);
                assert_true(str_starts(buf_str(&t.seen), str_of(want)));
                assert_true(str_search(buf_str(&t.seen), STR("Basic dXNlcjpwYXNz\r\n")) < t.seen.n);
            }
            http_client_free(client);
            UNTIL(&w, !t.down.loop);
            loop_io_stop(&t.listen);
            close(t.listen.fd);
            buf_release(&t.seen);
            result_clear(&r);
            stop(&w);
        }
    }
}

/* An https proxy: TLS to the client, with the tunnelled connection inside. */
struct tls_tunnel {
    struct loop_io listen;
    struct loop *loop;
    struct tls_config *tls;
    struct transport *down, *up;
    struct buf seen;
    uint16_t target;
};

static void shim_close(struct transport *t, int code, const struct err *err)
{
    struct tls_tunnel *s = t->owner;
    (void)code, (void)err;
    s->down = transport_free(s->down);
    s->up = transport_free(s->up);
}

static void shim_up_data(struct transport *t, struct str data)
{
    struct tls_tunnel *s = t->owner;
    transport_write(s->down, data.p, data.n);
}

static const struct transport_ops shim_up_ops = {.on_data = shim_up_data, .on_close = shim_close};

static void shim_down_data(struct transport *t, struct str data)
{
    struct tls_tunnel *s = t->owner;
    if (s->up) {
        transport_write(s->up, data.p, data.n);
        return;
    }
    buf_add_str(&s->seen, data);
    if (str_ends(buf_str(&s->seen), STR("\r\n\r\n"))) {
        transport_write(t, "HTTP/1.0 200 go\r\n\r\n", 19);
        int fd = connect_to(s->target);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        s->up = transport_new(s->loop, fd, NULL, &shim_up_ops, s);
    }
}

static const struct transport_ops shim_down_ops = {.on_data = shim_down_data,
                                                   .on_close = shim_close};

static void shim_accept(struct loop_io *io, unsigned events)
{
    struct tls_tunnel *s = CONTAINER_OF(io, struct tls_tunnel, listen);
    struct tls_conn *tls;
    (void)events;
    assert_int_equal(tls_conn_new_server(s->tls, &tls, NULL), 0);
    s->down =
        transport_new(s->loop, accept4(io->fd, NULL, NULL, SOCK_NONBLOCK), tls, &shim_down_ops, s);
}

static void test_https_proxy(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct canned listener;
        struct result down = {0}, up = {0};
        char proxy[100];
        static char body[200000];
        for (size_t i = 0; i < sizeof(body); i++)
            body[i] = pattern(i);
        start(&w, &s);
        struct tls_tunnel shim = {.loop = w.loop, .target = http_server_port(w.server)};
        uint16_t port = canned_start(&listener, w.loop, "");
        loop_io_stop(&listener.listen);
        loop_io_init(&shim.listen, w.loop, listener.listen.fd, shim_accept);
        loop_io_set(&shim.listen, LOOP_READ);
        struct setting tls = {.mode = TLS_H1};
        shim.tls = server_tls(&tls);
        snprintf(proxy, sizeof(proxy), "https://127.0.0.1:%u", port);
        struct setting via = s;
        via.client.proxy = proxy;
        via.client.max_connections = 1;
        via.client.proxy_tls = client_tls(&tls);
        struct http_client *client = make_client(&w, &via, shim.target);
        tls_config_unref(via.client.proxy_tls);
        send_to(client, get("/stream/1000000"), &down);
        struct http_request request = {
            .method = STR("PUT"), .target = STR("/echo"), .body = {body, sizeof(body)}};
        send_to(client, request, &up);
        UNTIL(&w, down.done && up.done);
        if (down.code < 0 || up.code < 0)
            fail_msg("%s %s", down.err.msg, up.err.msg);
        assert_int_equal(down.received, 1000000);
        assert_int_equal(up.received, sizeof(body));
        assert_int_equal(down.wrong + up.wrong, 0);
        http_client_free(client);
        UNTIL(&w, !shim.down);
        loop_io_stop(&shim.listen);
        close(shim.listen.fd);
        buf_release(&shim.seen);
        tls_config_unref(shim.tls);
        result_clear(&down);
        result_clear(&up);
        stop(&w);
    }
}

static void test_proxy_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *scheme, *say, *text;
    } cases[] = {
        {"http", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"},
        {"http", "nonsense\r\n\r\n", "does not speak HTTP"},
        {"socks5", "\x05\xff", "requires authentication"},
        {"socks5", "HTTP/1.1 400 Bad\r\n\r\n", "does not speak SOCKS5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setting s = {.mode = PLAIN_H1};
        struct world w;
        struct canned canned;
        struct result r = {0};
        char proxy[64];
        start(&w, &s);
        snprintf(proxy, sizeof(proxy), "%s://127.0.0.1:%u", cases[i].scheme,
                 canned_start(&canned, w.loop, cases[i].say));
        s.client.proxy = proxy;
        struct http_client *client = make_client(&w, &s, 1);
        send_to(client, get("/"), &r);
        UNTIL(&w, r.done);
        assert_true(r.code < 0);
        if (!strstr(r.err.msg, cases[i].text))
            fail_msg("%s", r.err.msg);
        http_client_free(client);
        canned_stop(&canned);
        stop(&w);
    }
}

/* --- silence ---------------------------------------------------------------------------------- */

static int64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void test_idle_is_idle(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        start(&w, &s);
        send_to(w.client, get("/watch"), &r);
        UNTIL(&w, r.received == 6);
        int64_t before = cpu_time(), end = time_mono() + 150 * NSEC_PER_MSEC;
        size_t rounds = 0;
        while (time_mono() < end) {
            loop_step(w.loop, end - time_mono());
            rounds++;
        }
        assert_true(rounds < 20);
        assert_true(cpu_time() - before < 50 * NSEC_PER_MSEC);
        result_clear(&r);
        w.client = http_client_free(w.client);
        UNTIL(&w, w.n_held == 0);
        stop(&w);
    }
}

static void test_keepalive_ping(void **state)
{
    /* A server that accepts and then sends nothing at all: only the PING detects it. */
    (void)state;
    struct setting s = {
        .mode = PLAIN_H2,
        .client = {.ping_interval = 20 * NSEC_PER_MSEC, .ping_timeout = 20 * NSEC_PER_MSEC}};
    struct world w;
    struct canned canned;
    struct result r = {0}, alive = {0};
    start(&w, &s);
    uint16_t port = canned_start(&canned, w.loop, "");
    loop_io_stop(&canned.listen); /* completed by the kernel, never accepted */
    struct http_client *client = make_client(&w, &s, port);
    send_to(client, get("/"), &r);
    UNTIL(&w, r.done);
    assert_int_equal(r.code, -ETIMEDOUT);
    assert_non_null(strstr(r.err.msg, "PING"));
    /* A live server answers, and the watch continues. */
    struct http_call *call = send_to(w.client, get("/watch"), &alive);
    int64_t end = time_mono() + 200 * NSEC_PER_MSEC;
    while (time_mono() < end)
        loop_step(w.loop, 10 * NSEC_PER_MSEC);
    assert_false(alive.done);
    http_call_cancel(call);
    UNTIL(&w, w.n_held == 0);
    http_client_free(client);
    close(canned.listen.fd);
    result_clear(&alive);
    stop(&w);
}

static void test_idle_close(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        struct http_client_stats stats;
        s.client.idle_timeout = 20 * NSEC_PER_MSEC;
        start(&w, &s);
        fetch(&w, get("/echo"), &r);
        UNTIL(&w, (http_client_get_stats(w.client, &stats), stats.connections == 0));
        result_clear(&r);
        fetch(&w, get("/echo"), &r);
        assert_int_equal(r.code, 0);
        stop(&w);
    }
}

static void fetched(void *ctx, int code, struct http_response *response, const struct err *err,
                    bool retryable)
{
    struct result *r = ctx;
    (void)err, (void)retryable;
    r->done = true;
    r->code = code;
    if (response) {
        r->status = response->status;
        r->dated = str_ends(http_headers_get(&response->headers, "Date"), STR(" GMT"));
        struct str v = http_headers_get(&response->headers, "X-METHOD");
        memcpy(r->header, v.p, MIN(v.n, sizeof(r->header) - 1));
        buf_add_str(&r->body, buf_str(&response->body));
    }
}

static void test_fetch(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        start(&w, &s);
        struct http_request request = {
            .method = STR("PATCH"), .target = STR("/echo"), .body = STR("patch")};
        http_client_fetch(w.client, &request, fetched, &r);
        UNTIL(&w, r.done);
        assert_int_equal(r.code, 0);
        assert_string_equal(r.header, "PATCH");
        assert_true(r.dated);
        assert_true(str_is(buf_str(&r.body), "patch"));
        result_clear(&r);
        request = get("/stream/2000");
        request.max_body = 1999;
        http_client_fetch(w.client, &request, fetched, &r);
        UNTIL(&w, r.done);
        assert_int_equal(r.code, -EMSGSIZE);
        http_call_cancel(http_client_fetch(w.client, &request, fetched, &r));
        stop(&w);
    }
}

/* "Authorization: Bearer ", of an empty token: Go sends it as it is. */
static void test_blanks_around_values(void **state)
{
    (void)state;
    EACH_MODE(s)
    {
        struct world w;
        struct result r = {0};
        struct http_header padded = HTTP_HEADER("X-Padded", STR(" a b\t"));
        struct http_request request = get("/padded");
        request.headers = &padded;
        request.n_headers = 1;
        start(&w, &s);
        fetch(&w, request, &r);
        assert_int_equal(r.code, 0);
        assert_true(str_is(buf_str(&r.body), "a b"));
        result_clear(&r);
        stop(&w);
    }
}

static void test_date(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {1709251199, "Thu, 29 Feb 2024 23:59:59 GMT"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf text = BUF_INIT;
        http_add_date(&text, rows[i].seconds * NSEC_PER_SEC + NSEC_PER_SEC - 1);
        assert_string_equal(buf_cstr(&text), rows[i].text);
        buf_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blanks_around_values),
        cmocka_unit_test(test_date),
        cmocka_unit_test(test_echo),
        cmocka_unit_test(test_no_body),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_verification),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_session_reuse),
        cmocka_unit_test(test_stream_limit),
        cmocka_unit_test(test_more_connections),
        cmocka_unit_test(test_too_many_wait),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_an_answer_that_says_it_is_too_large_is_refused_before_it_is_read),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_pause_small),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_within),
        cmocka_unit_test(test_cancel_before_sent),
        cmocka_unit_test(test_free_within),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_such_host),
        cmocka_unit_test(test_shutdown_waits),
        cmocka_unit_test(test_shutdown_deadline),
        cmocka_unit_test(test_goaway),
        cmocka_unit_test(test_answer_after_free),
        cmocka_unit_test(test_many_requests_and_no_ear),
        cmocka_unit_test(test_slow_client),
        cmocka_unit_test(test_answer_is_not_taken_back),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_strange_servers),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_https_proxy),
        cmocka_unit_test(test_proxy_refuses),
        cmocka_unit_test(test_idle_is_idle),
        cmocka_unit_test(test_keepalive_ping),
        cmocka_unit_test(test_idle_close),
        cmocka_unit_test(test_fetch),
    };
    return cmocka_run_group_tests_name("http", tests, make_pki, drop_pki);
}
