/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <unistd.h>

#include "api/authorization.h"
#include "fake_kube.h"
#include "kube/file.h"
#include "net/http_client.h"
#include "objects.h"
#include "serve/serving.h"

static struct fake_kube k;
static struct serving *serving;
static struct metrics *metrics;
static bool healthy;

/* --- the server ------------------------------------------------------------------------------- */

static bool check_ping(void *ctx)
{
    (void)ctx;
    return true;
}

static bool check_lease(void *ctx)
{
    return *(bool *)ctx;
}

static const struct health_check checks[] = {
    {"lease", check_lease, HEALTHZ | READYZ},
    {"ping", check_ping, LIVEZ},
    {"sync", check_ping, READYZ},
};

static const struct serving_flag flags[] = {
    {"bind-address", STR_INIT("127.0.0.1")},
    {"v", STR_INIT("\"2\"")},
};

static void write_config(void *ctx, struct buf *out)
{
    (void)ctx;
    buf_add_jsonf(out, "{'kind':'KubeSchedulerConfiguration'}");
}

static struct serving_options options_of(void)
{
    return (struct serving_options){
        .address = "127.0.0.1",
        .checks = checks,
        .n_checks = ARRAY_LEN(checks),
        .ctx = &healthy,
        .metrics = metrics,
        .write_config = write_config,
        .flags = flags,
        .n_flags = ARRAY_LEN(flags),
        .flagz = true,
        .statusz = true,
        .profiling = true,
    };
}

static void serve(struct serving_options options)
{
    struct err err;
    int r = serving_new(k.loop, &options, &serving, &err);
    if (r < 0)
        fail_msg("%s", err.msg);
}

static int set_up(void **state)
{
    (void)state;
    fake_kube_begin(&k, NULL);
    metrics = metrics_new();
    healthy = true;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    serving = serving_free(serving);
    metrics = metrics_free(metrics);
    log_set_verbosity(0);
    fake_kube_end(&k);
    return 0;
}

/* --- the client ------------------------------------------------------------------------------- */

struct reply {
    bool told;
    int code, status;
    struct buf body;
    char type[128], location[128], err[512];
};

static void on_reply(void *ctx, int code, struct http_response *response, const struct err *err,
                     bool retryable)
{
    (void)retryable;
    struct reply *r = ctx;
    r->told = true;
    r->code = code;
    if (code < 0) {
        snprintf(r->err, sizeof(r->err), "%s", err->msg);
        return;
    }
    r->status = response->status;
    buf_add_str(&r->body, buf_str(&response->body));
    snprintf(r->type, sizeof(r->type), "%.*s",
             STR_ARG(http_headers_get(&response->headers, "content-type")));
    snprintf(r->location, sizeof(r->location), "%.*s",
             STR_ARG(http_headers_get(&response->headers, "location")));
}

static bool is_told(void *ctx)
{
    return ((struct reply *)ctx)->told;
}

struct wish {
    const char *method, *target, *body, *header, *value, *name;
    struct tls_options tls;
    bool verify;
};

static void fetch(struct wish wish, struct reply *reply)
{
    struct tls_config *tls;
    struct http_client *client;
    struct err err;
    char origin[64];
    *reply = (struct reply){0};
    wish.tls.insecure_skip_verify = !wish.verify;
    wish.tls.server_name = str_of(wish.name);
    snprintf(origin, sizeof(origin), "https://127.0.0.1:%u", serving_port(serving));
    assert_int_equal(tls_config_new_client(&wish.tls, &tls, &err), 0);
    struct http_client_options options = {.origin = origin, .tls = tls};
    assert_int_equal(http_client_new(k.loop, &options, &client, &err), 0);
    struct http_header header = {str_of(wish.header), str_of(wish.value)};
    struct http_request request = {.method = str_of(wish.method ? wish.method : "GET"),
                                   .target = str_of(wish.target ? wish.target : "/healthz"),
                                   .headers = &header,
                                   .n_headers = wish.header ? 1 : 0,
                                   .body = str_of(wish.body)};
    http_client_fetch(client, &request, on_reply, reply);
    assert_true(fake_run_until(k.loop, is_told, reply));
    http_client_free(client);
    tls_config_unref(tls);
}

/* Status and body. */
static void expect(struct wish wish, int status, const char *body)
{
    struct reply reply;
    fetch(wish, &reply);
    assert_int_equal(reply.code, 0);
    assert_string_equal(buf_cstr(&reply.body), json_quotes(body));
    assert_int_equal(reply.status, status);
    buf_release(&reply.body);
}

static void get(const char *target, int status, const char *body)
{
    expect((struct wish){.target = target}, status, body);
}

static void get_part(struct wish wish, int status, const char *part)
{
    struct reply reply;
    fetch(wish, &reply);
    assert_int_equal(reply.code, 0);
    assert_int_equal(reply.status, status);
    if (!strstr(buf_cstr(&reply.body), json_quotes(part)))
        fail_msg("\"%s\" is not in: %s", part, buf_cstr(&reply.body));
    buf_release(&reply.body);
}

/* --- pages ------------------------------------------------------------------------------------ */

static void test_health(void **state)
{
    (void)state;
    serve(options_of());
    get("/healthz", 200, "ok");
    get("/healthz?verbose", 200, "[+]lease ok\nhealthz check passed\n");
    get("/livez?verbose=", 200, "[+]ping ok\nlivez check passed\n");
    get("/readyz?exclude=b&verbose&exclude=a&exclude=sync", 200,
        "[+]lease ok\n[+]sync excluded: ok\n"
        "warn: some health checks cannot be excluded: no matches for 'a','b'\n"
        "readyz check passed\n");
    get("/readyz/sync", 200, "ok");
    get("/livez/sync", 404, "404 page not found\n");
    get("/healthz/", 404, "404 page not found\n");
    expect((struct wish){.method = "POST", .target = "/livez"}, 200, "ok");
    healthy = false;
    get("/readyz", 500, "[-]lease failed: reason withheld\n[+]sync ok\nreadyz check failed\n");
    get("/readyz?exclude=lease", 200, "ok");
    get("/healthz/lease", 500, "internal server error: reason withheld\n");
    get("/livez", 200, "ok");
    get_part((struct wish){.target = "/metrics/slis"}, 200,
             "kubernetes_healthchecks_total{name='lease',status='error',type='readyz'} 1\n");
}

static void test_pages(void **state)
{
    (void)state;
    serve(options_of());
    get("/configz", 200, "{'componentconfig':{'kind':'KubeSchedulerConfiguration'}}");
    get_part((struct wish){.target = "/flagz"}, 200,
             "\nkube-scheduler flagz\nWarning: This endpoint is not meant to be machine parseable, "
             "has no formatting compatibility guarantees and is for debugging purposes only.\n"
             "bind-address: 127.0.0.1\nv: '2'\n");
    expect((struct wish){.target = "/flagz",
                         .header = "accept",
                         .value = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"},
           200,
           "{'kind':'Flagz','apiVersion':'config.k8s.io/v1beta1','metadata':{'name':"
           "'kube-scheduler'},'flags':{'bind-address':'127.0.0.1','v':'`2`'}}\n");
    get_part((struct wish){.target = "/statusz"}, 200,
             "Paths: /configz /flagz /healthz /livez /metrics /readyz\n");
    get_part((struct wish){.target = "/statusz", .header = "accept", .value = "application/json"},
             406, "'reason':'NotAcceptable','code':406}");
    get("/nope", 404, "404 page not found\n");
    get("/", 404, "404 page not found\n");
    get("/debug/explain", 404, "404 page not found\n");
}

static void test_metrics(void **state)
{
    (void)state;
    static const struct metric_desc desc = {
        .name = "x_total", .help = "x", .stability = "ALPHA", .labels = {"l"}};
    struct str label = STR("a");
    struct metric *x = metric_with(metrics_add(metrics, &desc), &label);
    metric_add(x, 3);
    serve(options_of());
    get_part((struct wish){.target = "/metrics"}, 200, "x_total{l='a'} 3\n");
    expect((struct wish){.method = "DELETE", .target = "/metrics"}, 200, "metrics reset\n");
    metric_add(x, 1);
    get_part((struct wish){.target = "/metrics"}, 200, "x_total{l='a'} 1\n");
}

static void test_log_level(void **state)
{
    (void)state;
    serve(options_of());
    struct wish put = {.method = "PUT", .target = "/debug/flags/v", .body = "5"};
    expect(put, 200, "successfully set klog.logging.verbosity to 5\n");
    assert_int_equal(log_verbosity(), 5);
    put.body = "x";
    expect(put, 400, "strconv.ParseUint: parsing 'x': invalid syntax\n");
    put.body = "-1";
    expect(put, 400, "strconv.ParseUint: parsing '-1': invalid syntax\n");
    get("/debug/flags/v", 406, "unsupported http method\n");
    assert_int_equal(log_verbosity(), 5);
    get_part((struct wish){.target = "/debug/flags/"}, 200, "<tr>v<br>");
}

static void test_no_profiling(void **state)
{
    (void)state;
    struct serving_options options = options_of();
    options.profiling = options.flagz = options.statusz = false;
    serve(options);
    static const char *const off[] = {"/debug/flags/v",       "/debug/pprof/", "/debug/pprof",
                                      "/debug/pprof/profile", "/flagz",        "/statusz"};
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        get(off[i], 404, "404 page not found\n");
}

static void test_pprof(void **state)
{
    (void)state;
    serve(options_of());
    get("/debug/pprof/heap", 404, "Unknown profile\n");
    get_part((struct wish){.target = "/debug/pprof/"}, 200, "profile?seconds=30");
    get_part((struct wish){.target = "/debug/pprof/cmdline"}, 200, "berth-unit");
    get("/debug/pprof", 302, "<a href='/debug/pprof/'>Found</a>.\n\n");
    const char *body = textf("%#llx+zz", (unsigned long long)(uintptr_t)test_pprof + 4);
    get_part((struct wish){.method = "POST", .target = "/debug/pprof/symbol", .body = body}, 200,
             " test_pprof\n");
}

static volatile uint64_t burnt;

/* Uses the CPU for some milliseconds of each round, as the loop's own work. */
static __attribute__((noinline)) void burn_cpu_time(void)
{
    int64_t end = time_mono() + 5 * NSEC_PER_MSEC;
    while (time_mono() < end)
        for (int i = 0; i < 1000; i++)
            burnt = burnt * 31 + (uint64_t)i;
}

static bool burn_until_told(void *ctx)
{
    burn_cpu_time();
    return is_told(ctx);
}

static bool has_bytes(struct str text, const char *part)
{
    return str_search(text, str_of(part)) < text.n;
}

static void test_profile(void **state)
{
    (void)state;
    serve(options_of());
    struct tls_config *tls;
    struct http_client *client;
    struct err err;
    struct reply reply = {0}, second = {0};
    const char *origin = textf("https://127.0.0.1:%u", serving_port(serving));
    struct tls_options any = {.insecure_skip_verify = true};
    assert_int_equal(tls_config_new_client(&any, &tls, &err), 0);
    struct http_client_options options = {.origin = origin, .tls = tls};
    assert_int_equal(http_client_new(k.loop, &options, &client, &err), 0);
    struct http_request request = {.method = STR("GET"),
                                   .target = STR("/debug/pprof/profile?seconds=1")};
    http_client_fetch(client, &request, on_reply, &reply);
    http_client_fetch(client, &request, on_reply, &second);
    assert_true(fake_run_until(k.loop, burn_until_told, &reply));
    assert_int_equal(reply.status, 200);
    assert_true(has_bytes(buf_str(&reply.body), "nanoseconds"));
    assert_true(has_bytes(buf_str(&reply.body), "burn_cpu_time"));
    /* One at a time. */
    assert_int_equal(second.status, 500);
    assert_string_equal(buf_cstr(&second.body),
                        "Could not enable CPU profiling: cpu profiling already in use\n");
    /* Closing the connection ends it. */
    struct http_call *call = http_client_fetch(client, &request, on_reply, &reply);
    for (int i = 0; i < 5; i++)
        loop_step(k.loop, 5 * NSEC_PER_MSEC);
    http_call_cancel(call);
    for (int i = 0; i < 5; i++)
        loop_step(k.loop, 5 * NSEC_PER_MSEC);
    buf_release(&second.body);
    second = (struct reply){0};
    http_client_fetch(client, &request, on_reply, &second);
    assert_true(fake_run_until(k.loop, is_told, &second));
    assert_int_equal(second.status, 200);
    buf_release(&reply.body);
    buf_release(&second.body);
    http_client_free(client);
    tls_config_unref(tls);
}

/* --- authorization ---------------------------------------------------------------------------- */

static void serve_guarded(void)
{
    static const struct str open_paths[] = {STR_INIT("/healthz"), STR_INIT("/livez")};
    static const struct authz_options authz_of = {.always_allow_paths = open_paths,
                                                  .n_always_allow_paths = 2};
    struct authn_options authn = {.kube = &k.config, .skip_lookup = true};
    struct authz_options authz = authz_of;
    struct serving_options options = options_of();
    authz.kube = &k.config;
    options.authn = &authn;
    options.authz = &authz;
    serve(options);
}

static void answer(const char *path, const char *body)
{
    fake_api_answer(
        k.api, &(struct fake_answer){
                   .method = "POST", .path = path, .status = 201, .body = json_quotes_str(body)});
}

static void test_guarded(void **state)
{
    (void)state;
    serve_guarded();
    get("/healthz", 200, "ok");
    answer(SUBJECT_ACCESS_REVIEWS_PATH, "{'status':{'allowed':false}}");
    get("/metrics", 403,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
        "'message':'forbidden: User `system:anonymous` cannot get path `/metrics`',"
        "'reason':'Forbidden','details':{},'code':403}\n");
    answer(SUBJECT_ACCESS_REVIEWS_PATH, "{'status':{'allowed':false}}");
    expect(
        (struct wish){
            .method = "PUT", .target = "/%3ca%26b", .header = "user-agent", .value = "curl/7.88.1"},
        403,
        "{\n  'kind': 'Status',\n  'apiVersion': 'v1',\n  'metadata': {},\n"
        "  'status': 'Failure',\n  'message': 'forbidden: User `system:anonymous` "
        "cannot put path `/\\u0026lt;a\\u0026amp;b`',\n  'reason': 'Forbidden',\n"
        "  'details': {},\n  'code': 403\n}");
    answer(TOKEN_REVIEWS_PATH, "{'status':{'authenticated':false}}");
    expect((struct wish){.target = "/healthz", .header = "authorization", .value = "Bearer bad"},
           401,
           "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
           "'message':'Unauthorized','reason':'Unauthorized','code':401}\n");
    answer(TOKEN_REVIEWS_PATH, "{'status':{'authenticated':true,'user':{'username':'jane'}}}");
    answer(SUBJECT_ACCESS_REVIEWS_PATH, "{'status':{'allowed':true}}");
    expect((struct wish){.target = "/livez", .header = "authorization", .value = "Bearer good"},
           200, "ok");
    answer(TOKEN_REVIEWS_PATH, "{'status':{'authenticated':true,'user':{'username':'jane'}}}");
    get_part((struct wish){.target = "/flagz", .header = "authorization", .value = "Bearer good"},
             200, "kube-scheduler flagz");
    fake_api_answer(k.api,
                    &(struct fake_answer){.path = SUBJECT_ACCESS_REVIEWS_PATH, .status = 403});
    get_part((struct wish){.target = "/configz"}, 500, "Internal Server Error: '/configz': ");
}

/* Clients that disconnect during a review, and a server that ends then. */
static void test_gone_meanwhile(void **state)
{
    (void)state;
    serve_guarded();
    fake_api_answer(k.api, &(struct fake_answer){.path = SUBJECT_ACCESS_REVIEWS_PATH,
                                                 .manner = FAKE_HANG,
                                                 .forever = true});
    struct tls_config *tls;
    struct http_client *client;
    struct err err;
    const char *origin = textf("https://127.0.0.1:%u", serving_port(serving));
    struct tls_options any = {.insecure_skip_verify = true};
    assert_int_equal(tls_config_new_client(&any, &tls, &err), 0);
    struct http_client_options options = {.origin = origin, .tls = tls};
    assert_int_equal(http_client_new(k.loop, &options, &client, &err), 0);
    struct http_request request = {.method = STR("GET"), .target = STR("/metrics")};
    struct reply replies[2] = {0};
    struct http_call *first = http_client_fetch(client, &request, on_reply, &replies[0]);
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, 5 * NSEC_PER_MSEC);
    assert_int_equal(fake_api_count(k.api), 1);
    http_call_cancel(first);
    http_client_fetch(client, &request, on_reply, &replies[1]);
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, 5 * NSEC_PER_MSEC);
    serving = serving_free(serving);
    for (int i = 0; i < 10; i++)
        loop_step(k.loop, 5 * NSEC_PER_MSEC);
    http_client_free(client);
    tls_config_unref(tls);
}

/* --- certificates ----------------------------------------------------------------------------- */

struct files {
    char dir[64], cert[112], key[112];
    struct buf ca_cert, ca_key;
};

static void write_file(const char *path, struct str text)
{
    const char *temporary = textf("%s.new", path);
    FILE *f = fopen(temporary, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(temporary, path), 0);
}

/* A new CA and a certificate signed by it, in the same files. */
static void renew(struct files *f, const char *names)
{
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct err err;
    buf_clear(&f->ca_cert);
    buf_clear(&f->ca_key);
    struct tls_cert_request ca = {.common_name = "ca", .is_ca = true};
    assert_int_equal(tls_make_certificate(&ca, &f->ca_cert, &f->ca_key, &err), 0);
    struct tls_cert_request leaf = {
        .names = names, .ca_cert_pem = buf_str(&f->ca_cert), .ca_key_pem = buf_str(&f->ca_key)};
    assert_int_equal(tls_make_certificate(&leaf, &cert, &key, &err), 0);
    write_file(f->key, buf_str(&key));
    write_file(f->cert, buf_str(&cert));
    buf_release(&cert);
    buf_release(&key);
}

static void files_new(struct files *f, const char *names)
{
    *f = (struct files){.dir = "/tmp/berth-serving-XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->cert, sizeof(f->cert), "%s/kube-scheduler.crt", f->dir);
    snprintf(f->key, sizeof(f->key), "%s/kube-scheduler.key", f->dir);
    if (names)
        renew(f, names);
}

static void files_free(struct files *f)
{
    unlink(f->cert);
    unlink(f->key);
    rmdir(f->dir);
    buf_release(&f->ca_cert);
    buf_release(&f->ca_key);
}

/* Whether the server presents a certificate of that CA for that name. */
static bool shows(struct str ca, const char *name)
{
    struct reply reply;
    fetch((struct wish){.verify = true, .tls = {.ca_pem = ca}, .name = name}, &reply);
    buf_release(&reply.body);
    return reply.code == 0;
}

static void wait(int64_t ns)
{
    int64_t end = time_mono() + ns;
    while (time_mono() < end)
        loop_step(k.loop, 5 * NSEC_PER_MSEC);
}

static void test_certificate_follows_files(void **state)
{
    (void)state;
    struct files f;
    struct serving_options options = options_of();
    files_new(&f, "localhost");
    options.tls = (struct serving_tls_options){
        .cert_file = f.cert, .key_file = f.key, .interval = 20 * NSEC_PER_MSEC};
    serve(options);
    assert_true(shows(buf_str(&f.ca_cert), "localhost"));
    struct str old = arena_dup(&k.arena, buf_str(&f.ca_cert));
    renew(&f, "localhost");
    wait(60 * NSEC_PER_MSEC);
    assert_true(shows(buf_str(&f.ca_cert), "localhost"));
    assert_false(shows(old, "localhost"));
    write_file(f.cert, STR("rubbish"));
    wait(60 * NSEC_PER_MSEC);
    assert_true(shows(buf_str(&f.ca_cert), "localhost"));
    assert_non_null(strstr(fake_log_text(), "keeping the current one"));
    files_free(&f);
}

static void test_sni(void **state)
{
    (void)state;
    struct files own, named, wild;
    struct str names[] = {STR("*.wild.test"), STR("exact.test")};
    files_new(&own, "localhost");
    files_new(&named, "named.test,other.test");
    files_new(&wild, "a.wild.test,exact.test");
    struct serving_sni sni[] = {
        {.cert_file = named.cert, .key_file = named.key},
        {.cert_file = wild.cert, .key_file = wild.key, .names = names, .n_names = 2}};
    struct serving_options options = options_of();
    options.tls = (struct serving_tls_options){
        .cert_file = own.cert, .key_file = own.key, .sni = sni, .n_sni = 2};
    serve(options);
    assert_true(shows(buf_str(&own.ca_cert), "localhost"));
    assert_true(shows(buf_str(&named.ca_cert), "named.test"));
    assert_true(shows(buf_str(&named.ca_cert), "other.test"));
    assert_true(shows(buf_str(&wild.ca_cert), "a.wild.test"));
    assert_true(shows(buf_str(&wild.ca_cert), "exact.test"));
    assert_false(shows(buf_str(&wild.ca_cert), "a.b.wild.test"));
    files_free(&own);
    files_free(&named);
    files_free(&wild);
}

static void test_cert_dir(void **state)
{
    (void)state;
    struct files f;
    struct serving_options options = options_of();
    files_new(&f, NULL);
    options.tls = (struct serving_tls_options){.cert_dir = f.dir};
    serve(options);
    struct buf pem = BUF_INIT;
    assert_int_equal(file_read(f.cert, 65536, &pem, NULL), 0);
    assert_int_equal(access(f.key, R_OK), 0);
    assert_true(shows(buf_str(&pem), "localhost"));
    /* Existing files are used. */
    serving = serving_free(serving);
    serve(options);
    assert_true(shows(buf_str(&pem), "localhost"));
    buf_release(&pem);
    files_free(&f);
}

static void test_cert_dir_is_made(void **state)
{
    (void)state;
    struct files f = {.dir = "/tmp/berth-serving-XXXXXX"};
    struct serving_options options = options_of();
    char above[80], dir[88];
    assert_non_null(mkdtemp(f.dir));
    snprintf(above, sizeof(above), "%s/a", f.dir);
    snprintf(dir, sizeof(dir), "%s/b/", above);
    snprintf(f.cert, sizeof(f.cert), "%skube-scheduler.crt", dir);
    snprintf(f.key, sizeof(f.key), "%skube-scheduler.key", dir);
    options.tls = (struct serving_tls_options){.cert_dir = dir};
    serve(options);
    assert_int_equal(unlink(f.cert), 0);
    assert_int_equal(unlink(f.key), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(rmdir(above), 0);
    files_free(&f);
}

static void test_tls_flags(void **state)
{
    (void)state;
    struct serving_options options = options_of();
    struct reply reply;
    struct err err;
    struct str suites[] = {STR("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
                           STR("TLS_AES_128_GCM_SHA256")};
    int64_t curves[] = {24, 4588};
    options.tls = (struct serving_tls_options){.cipher_suites = suites,
                                               .n_cipher_suites = 2,
                                               .curves = curves,
                                               .n_curves = 2,
                                               .min_version = STR("VersionTLS12")};
    serve(options);
    fetch((struct wish){.tls = {.groups = "P-384"}}, &reply);
    assert_int_equal(reply.status, 200);
    buf_release(&reply.body);
    fetch((struct wish){.tls = {.groups = "P-256"}}, &reply);
    assert_true(reply.code < 0);
    const struct {
        struct serving_tls_options options;
        const char *text;
    } bad[] = {
        {{.min_version = STR_INIT("TLS12")}, "unknown tls version \"TLS12\""},
        {{.cipher_suites = &(const struct str)STR_INIT("X"), .n_cipher_suites = 1},
         "Cipher suite X not supported or doesn't exist"},
        {{.curves = &(const int64_t){0}, .n_curves = 1},
         "curve preference 0 is out of range (must be 1-65535)"},
        {{.curves = &(const int64_t){99}, .n_curves = 1},
         "curve preference 99 is not supported by the current Go version"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct serving *none;
        options.tls = bad[i].options;
        assert_true(serving_new(k.loop, &options, &none, &err) < 0);
        assert_string_equal(err.msg, bad[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_health, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_metrics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_profiling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pprof, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_profile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_guarded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gone_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_certificate_follows_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sni, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cert_dir, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cert_dir_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tls_flags, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
