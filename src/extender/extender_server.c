/* SPDX-License-Identifier: Apache-2.0 */
#include "extender/extender_server.h"

#include <signal.h>

#include "kube/file.h"
#include "serve/process_metrics.h"

#define DEFAULT_THREADS    4
#define DEFAULT_MAX_CALLS  64
#define DEFAULT_MAX_BODY   ((size_t)64 << 20)
#define DEFAULT_MAX_MEMORY ((size_t)256 << 20)
#define DEFAULT_SHUTDOWN   30
/* How long a verified client certificate is trusted without being verified again. */
#define TRUST_TIME         (60 * NSEC_PER_SEC)

static const double buckets[] = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                 0.05,   0.1,    0.2,    0.5,   1,     2,     5,    10};

static const struct metric_desc requests_desc = {
    .name = "berth_extender_requests_total",
    .help = "Requests by verb and HTTP status. Requests for unknown verbs have the verb unknown.",
    .kind = METRIC_COUNTER,
    .labels = {"code", "verb"},
};
static const struct metric_desc durations_desc = {
    .name = "berth_extender_request_duration_seconds",
    .help = "Time from the end of a request's body to its answer, by verb.",
    .kind = METRIC_HISTOGRAM,
    .labels = {"verb"},
    .buckets = buckets,
    .n_buckets = ARRAY_LEN(buckets),
};
static const struct metric_desc in_flight_desc = {
    .name = "berth_extender_requests_in_flight",
    .help = "Calls that wait for a worker, run, or wait for the API server.",
    .kind = METRIC_GAUGE,
};

static const char *verb_name(enum extender_call_verb verb)
{
    return verb < EXTENDER_CALL_VERBS ? extender_verb_names[verb] : "unknown";
}

static void count(struct berth_extender_server *s, enum extender_call_verb verb, int status)
{
    char code[16];
    snprintf(code, sizeof(code), "%d", status);
    metric_add(metric_with(s->requests, (struct str[]){str_of(code), str_of(verb_name(verb))}), 1);
}

/* Answers a request that does not become a call. */
static void refuse(struct berth_extender_server *s, struct http_exchange *x,
                   enum extender_call_verb verb, int status, const char *reason)
{
    struct buf out = BUF_INIT;
    extender_write_error(str_of(reason), &out);
    count(s, verb, status);
    http_respond_text(x, status, "application/json", buf_str(&out));
    buf_release(&out);
}

/* --- calls ------------------------------------------------------------------------------------ */

static berth_extender_fn *function_of(const struct berth_extender *e, enum extender_call_verb verb)
{
    switch (verb) {
    case EXTENDER_CALL_FILTER:
        return e->filter;
    case EXTENDER_CALL_PRIORITIZE:
        return e->prioritize;
    case EXTENDER_CALL_PREEMPT:
        return e->preempt;
    case EXTENDER_CALL_BIND:
        return e->bind;
    case EXTENDER_CALL_VERBS:
        break;
    }
    return NULL;
}

static void unlink_binding(struct extender_job *job)
{
    if (!job->prev_binding)
        return;
    *job->prev_binding = job->next_binding;
    if (job->next_binding)
        job->next_binding->prev_binding = job->prev_binding;
    job->prev_binding = NULL;
}

static void job_free(struct extender_job *job)
{
    struct berth_extender_server *s = job->server;
    unlink_binding(job);
    extender_call_release(&job->call);
    buf_release(&job->answer);
    free(job);
    metric_set(s->in_flight, (double)--s->calls);
}

static void job_answer(struct extender_job *job)
{
    struct berth_extender_server *s = job->server;
    double seconds = (double)(time_mono() - job->begin) / (double)NSEC_PER_SEC;
    metric_observe(metric_with(s->durations, (struct str[]){str_of(verb_name(job->verb))}),
                   seconds);
    count(s, job->verb, job->status);
    http_respond_text(job->exchange, job->status, "application/json", buf_str(&job->answer));
    job_free(job);
}

static void job_encode(struct extender_job *job)
{
    buf_clear(&job->answer);
    job->status = extender_call_write(&job->call, &job->answer);
}

static void on_bound(void *ctx, const struct rest_result *result)
{
    struct extender_job *job = ctx;
    job->binding = NULL;
    if (result->code < 0)
        berth_extender_fail(&job->call, result->err.msg);
    job_encode(job);
    job_answer(job);
}

static void start_binding(struct extender_job *job)
{
    struct berth_extender_server *s = job->server;
    const struct berth_extender_binding *b = &job->call.binding;
    if (!s->client) {
        berth_extender_fail(&job->call, s->client_problem.msg);
        job_encode(job);
        job_answer(job);
        return;
    }
    job->pod.namespace = (struct str){b->pod_namespace.p, b->pod_namespace.n};
    job->pod.name = (struct str){b->pod_name.p, b->pod_name.n};
    job->pod.uid = (struct str){b->pod_uid.p, b->pod_uid.n};
    job->next_binding = s->bindings;
    job->prev_binding = &s->bindings;
    if (s->bindings)
        s->bindings->prev_binding = &job->next_binding;
    s->bindings = job;
    job->binding =
        pod_binding_start(s->client, &job->pod, (struct str){b->node.p, b->node.n}, on_bound, job);
}

/* On the loop's thread: the verb function has returned. */
static void on_ran(void *ctx)
{
    struct extender_job *job = ctx;
    if (job->call.create_binding && str_empty(job->call.error) && job->status == 200)
        start_binding(job);
    else
        job_answer(job);
}

/* --- workers ---------------------------------------------------------------------------------- */

static void job_run(struct extender_job *job)
{
    struct berth_extender_server *s = job->server;
    struct err err;
    if (extender_call_read(&job->call, job->verb, job->exchange->body, &err) < 0) {
        extender_write_error(str_of(err.msg), &job->answer);
        job->status = 400;
    } else {
        function_of(&s->extender, job->verb)(s->extender.user, &job->call);
        job_encode(job);
    }
    loop_post(s->loop, on_ran, job);
}

static void *worker_main(void *ctx)
{
    struct berth_extender_server *s = ctx;
    for (struct mail *mail; (mail = mailbox_wait_one(&s->jobs));)
        job_run(CONTAINER_OF(mail, struct extender_job, mail));
    return NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_body(struct http_exchange *x, int code)
{
    struct extender_job *job = x->user;
    struct berth_extender_server *s = job->server;
    x->on_gone = NULL; /* from now on the job ends the exchange, also of a client that is gone */
    if (code < 0) {
        char reason[96];
        snprintf(reason, sizeof(reason), "the request is longer than %zu bytes",
                 s->options.max_body);
        refuse(s, x, job->verb, 413, reason);
        job_free(job);
        return;
    }
    job->begin = time_mono();
    mailbox_post(&s->jobs, &job->mail);
}

/* The client disconnected while its body was being read. */
static void on_gone(struct http_exchange *x)
{
    struct extender_job *job = x->user;
    http_abort(x);
    job_free(job);
}

static bool is_trusted(struct berth_extender_server *s, const struct http_exchange *x)
{
    struct buf fingerprint = BUF_INIT;
    if (!s->trust)
        return true;
    if (!x->peer)
        return false;
    tls_peer_fingerprint(x->peer, &fingerprint);
    bool same =
        loop_now(s->loop) < s->trusted_until && str_eq(buf_str(&fingerprint), str_of(s->trusted));
    bool ok = same || tls_peer_verify(x->peer, s->trust, NULL) == 0;
    if (ok && !same && fingerprint.n < sizeof(s->trusted)) {
        memcpy(s->trusted, buf_cstr(&fingerprint), fingerprint.n + 1);
        s->trusted_until = loop_now(s->loop) + TRUST_TIME;
    }
    buf_release(&fingerprint);
    return ok;
}

static enum extender_call_verb verb_of(struct str path)
{
    for (size_t i = 0; i < EXTENDER_CALL_VERBS; i++) {
        struct str name = str_of(extender_verb_names[i]);
        if (path.n > name.n && path.p[path.n - name.n - 1] == '/' && str_ends(path, name))
            return (enum extender_call_verb)i;
    }
    return EXTENDER_CALL_VERBS;
}

static void handle_verb(struct berth_extender_server *s, struct http_exchange *x)
{
    enum extender_call_verb verb = verb_of(x->path);
    if (!function_of(&s->extender, verb)) {
        refuse(s, x, verb, 404,
               "no such verb; see urlPrefix and the verbs of the extender's "
               "configuration");
        return;
    }
    if (!str_is(x->method, "POST")) {
        refuse(s, x, verb, 405, "use POST");
        return;
    }
    if (s->calls >= s->options.max_calls || s->stopping) {
        refuse(s, x, verb, 503, s->stopping ? "shutting down" : "too many calls are under way");
        return;
    }
    struct extender_job *job = xnew(struct extender_job);
    job->server = s;
    job->exchange = x;
    job->verb = verb;
    arena_init(&job->call.arena, 0);
    metric_set(s->in_flight, (double)++s->calls);
    x->user = job;
    x->on_gone = on_gone;
    http_read_body(x, s->options.max_body, on_body);
}

static bool handle_health(struct berth_extender_server *s, struct http_exchange *x)
{
    bool ready = str_is(x->path, "/readyz");
    if (!ready && !str_is(x->path, "/healthz") && !str_is(x->path, "/livez"))
        return false;
    bool ok = !ready || !s->stopping;
    http_respond_text(x, ok ? 200 : 503, "text/plain; charset=utf-8",
                      ok ? STR("ok") : STR("shutting down"));
    return true;
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct berth_extender_server *s = ctx;
    if (handle_health(s, x))
        return;
    if (!is_trusted(s, x)) {
        refuse(s, x, verb_of(x->path), 401, "a client certificate is required");
        return;
    }
    if (s->trust)
        http_authenticated(x);
    if (!str_is(x->path, "/metrics")) {
        handle_verb(s, x);
        return;
    }
    struct buf page = BUF_INIT;
    metrics_write(s->metrics, &page);
    http_respond_text(x, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&page));
    buf_release(&page);
}

/* --- start ------------------------------------------------------------------------------------ */

/* The members that the caller's header has. */
static void take_struct(void *to, size_t size, const void *from, size_t given)
{
    memcpy(to, from, MIN(size, given));
}

static const char *kept(struct arena *a, const char *text)
{
    return text && *text ? arena_dup(a, str_of(text)).p : NULL;
}

static void take_options(struct berth_extender_server *s,
                         const struct berth_extender_options *given)
{
    struct berth_extender_options *o = &s->options;
    if (given)
        take_struct(o, sizeof(*o), given, given->struct_size);
    o->address = kept(&s->arena, o->address);
    o->cert_file = kept(&s->arena, o->cert_file);
    o->key_file = kept(&s->arena, o->key_file);
    o->client_ca_file = kept(&s->arena, o->client_ca_file);
    o->kubeconfig = kept(&s->arena, o->kubeconfig);
    o->threads = o->threads ? o->threads : DEFAULT_THREADS;
    o->max_calls = o->max_calls ? o->max_calls : DEFAULT_MAX_CALLS;
    o->max_body = o->max_body ? o->max_body : DEFAULT_MAX_BODY;
    o->max_memory = o->max_memory ? o->max_memory : DEFAULT_MAX_MEMORY;
    o->shutdown_seconds = o->shutdown_seconds ? o->shutdown_seconds : DEFAULT_SHUTDOWN;
}

static void make_metrics(struct berth_extender_server *s)
{
    s->metrics = metrics_new();
    process_metrics_add(s->metrics);
    s->requests = metrics_add(s->metrics, &requests_desc);
    s->durations = metrics_add(s->metrics, &durations_desc);
    s->in_flight = metric_with(metrics_add(s->metrics, &in_flight_desc), NULL);
}

/* Only a kubeconfig that was given must be usable; without one, binds report the problem. */
static int make_client(struct berth_extender_server *s, struct err *reterr)
{
    struct kube_config_options options = {.kubeconfig = s->options.kubeconfig,
                                          .program = s->extender.name};
    if (!s->extender.bind && !s->options.kubeconfig)
        return 0;
    int r = kube_config_load(&s->kube, &options, &s->client_problem);
    s->kube_loaded = r == 0;
    if (r == 0)
        r = rest_client_new(s->loop, &s->kube, &(struct rest_options){.metrics = s->metrics},
                            &s->client, &s->client_problem);
    if (r < 0 && s->options.kubeconfig)
        return err_set(reterr, r, "%s", s->client_problem.msg);
    return 0;
}

static int make_tls(struct berth_extender_server *s, struct err *reterr)
{
    struct serving_tls_options tls = {
        .cert_file = s->options.cert_file, .key_file = s->options.key_file, .metrics = s->metrics};
    struct buf pem = BUF_INIT;
    if (s->options.plain) {
        if (s->options.client_ca_file || s->options.cert_file)
            return err_set(reterr, -EINVAL, "certificates have no effect without TLS");
        return 0;
    }
    if (!s->options.cert_file != !s->options.key_file)
        return err_set(reterr, -EINVAL, "a certificate and its key are needed, only one is given");
    int r = serving_tls_new(s->loop, &tls, &s->tls, reterr);
    if (r == 0 && s->options.client_ca_file) {
        r = file_read(s->options.client_ca_file, (size_t)1 << 20, &pem, reterr);
        if (r == 0)
            r = tls_trust_new(buf_str(&pem), s->options.client_ca_file, &s->trust, reterr);
    }
    buf_release(&pem);
    return r;
}

static int make_http(struct berth_extender_server *s, struct err *reterr)
{
    struct http_server_options options = {
        .address = s->options.address,
        .port = s->options.port,
        .tls = s->tls ? serving_tls_config(s->tls) : NULL,
        .handle = handle,
        .ctx = s,
        .max_memory = s->options.max_memory,
    };
    return http_server_new(s->loop, &options, &s->http, reterr);
}

static void *loop_main(void *ctx)
{
    struct berth_extender_server *s = ctx;
    loop_run(s->loop);
    return NULL;
}

/* The application's signals stay with its own threads. */
static int start_threads(struct berth_extender_server *s, struct err *reterr)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    s->workers = xcalloc(s->options.threads, sizeof(*s->workers));
    int e = 0;
    for (; s->n_workers < s->options.threads && e == 0; s->n_workers += e == 0)
        e = pthread_create(&s->workers[s->n_workers], NULL, worker_main, s);
    if (e == 0)
        e = pthread_create(&s->thread, NULL, loop_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e ? err_set(reterr, -e, "threads: %s", strerror(e)) : 0;
}

static void join_workers(struct berth_extender_server *s)
{
    mailbox_close(&s->jobs);
    for (unsigned i = 0; i < s->n_workers; i++)
        pthread_join(s->workers[i], NULL);
    s->n_workers = 0;
}

static void server_free(struct berth_extender_server *s)
{
    join_workers(s);
    http_server_free(s->http);
    while (s->bindings) {
        struct extender_job *job = s->bindings;
        pod_binding_cancel(job->binding);
        http_abort(job->exchange);
        job_free(job);
    }
    for (struct mail *mail = mailbox_take(&s->jobs); mail;) {
        struct extender_job *job = CONTAINER_OF(mail, struct extender_job, mail);
        mail = mail->next;
        http_abort(job->exchange);
        job_free(job);
    }
    s->client = rest_client_free(s->client);
    (void)err_set(&s->client_problem, -ESHUTDOWN, "shutting down");
    if (s->kube_loaded)
        kube_config_release(&s->kube);
    serving_tls_free(s->tls);
    tls_trust_free(s->trust);
    loop_free(s->loop); /* also ends the calls whose functions have returned in the meantime */
    metrics_free(s->metrics);
    mailbox_release(&s->jobs);
    free(s->workers);
    arena_release(&s->arena);
    free(s);
}

static int start(struct berth_extender_server *s, struct err *reterr)
{
    int r = loop_new(&s->loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    make_metrics(s);
    r = make_client(s, reterr);
    if (r == 0)
        r = make_tls(s, reterr);
    if (r == 0)
        r = make_http(s, reterr);
    return r < 0 ? r : start_threads(s, reterr);
}

int berth_extender_start(const struct berth_extender *extender,
                         const struct berth_extender_options *options,
                         struct berth_extender_server **ret_server, char *error, size_t size)
{
    struct err err = {0};
    struct berth_extender_server *s = xnew(struct berth_extender_server);
    int r = mailbox_init(&s->jobs, false);
    if (r < 0) {
        free(s);
        snprintf(error, size, "mailbox: %s", strerror(-r));
        return r;
    }
    take_struct(&s->extender, sizeof(s->extender), extender, extender->struct_size);
    arena_init(&s->arena, 0);
    take_options(s, options);
    signal(SIGPIPE, SIG_IGN);
    r = start(s, &err);
    if (r < 0) {
        snprintf(error, size, "%s", err.msg);
        server_free(s);
        return r;
    }
    *ret_server = s;
    return 0;
}

uint16_t berth_extender_port(const struct berth_extender_server *server)
{
    return http_server_port(server->http);
}

/* --- stop ------------------------------------------------------------------------------------- */

static void on_shut(void *ctx)
{
    struct berth_extender_server *s = ctx;
    loop_stop(s->loop);
}

static void shut_down(void *ctx)
{
    struct berth_extender_server *s = ctx;
    s->stopping = true;
    http_server_shutdown(s->http, s->options.shutdown_seconds * NSEC_PER_SEC, on_shut, s);
}

void berth_extender_stop(struct berth_extender_server *s)
{
    if (!s)
        return;
    loop_post(s->loop, shut_down, s);
    pthread_join(s->thread, NULL);
    server_free(s);
}
