/* SPDX-License-Identifier: Apache-2.0 */
#include "live/extender.h"

#include "base/log.h"
#include "codec/base64.h"
#include "live/extender_body.h"
#include "live/extender_json.h"
#include "net/http_client.h"
#include "net/url.h"

struct client {
    const struct extender_config *config;
    struct http_client *http; /* NULL: the URL is invalid */
    struct err url_error;     /* why the URL is invalid */
    struct str authorization; /* from the URL's user info; empty: none */
    size_t path_at;           /* offset of the path in the URL */
    int64_t timeout;
};

struct extenders {
    struct loop *loop;
    extender_answer_fn *fn;
    void *ctx;
    struct arena arena; /* clients, specs and their strings */
    struct client *clients;
    struct extender *specs;
    size_t n;
    uint64_t max_answer;
    bool closing;
    bool (*may_bind)(void *ctx);
    struct request *held;       /* bindings waiting for extenders_resume, the newest first */
    struct extender_body *last; /* last body sent; engine's thread */
};

/* A call in flight. */
struct request {
    struct extenders *owner;
    struct client *client;
    enum extender_verb verb;
    uint64_t id;
    struct extender_body *body;
    struct request *next; /* in owner->held */
};

/* --- answers ---------------------------------------------------------------------------------- */

static struct str verb_of(const struct request *q)
{
    const struct extender_config *c = q->client->config;
    switch (q->verb) {
    case EXTENDER_FILTER:
        return c->filter_verb;
    case EXTENDER_PRIORITIZE:
        return c->prioritize_verb;
    case EXTENDER_BIND:
        return c->bind_verb;
    case EXTENDER_PREEMPT:
        return c->preempt_verb;
    }
    return STR("");
}

static struct str trim_slashes(struct str s)
{
    while (str_ends(s, STR("/")))
        s.n--;
    return s;
}

static struct str url_of(const struct request *q, struct arena *a)
{
    return arena_printf(a, "%.*s/%.*s", STR_ARG(trim_slashes(q->client->config->url_prefix)),
                        STR_ARG(verb_of(q)));
}

struct extender_answer *extender_answer_free(struct extender_answer *answer)
{
    if (!answer)
        return NULL;
    arena_release(&answer->arena);
    free(answer);
    return NULL;
}

static struct extender_answer *answer_new(const struct request *q)
{
    struct extender_answer *answer = xnew(struct extender_answer);
    answer->id = q->id;
    answer->verb = q->verb;
    arena_init(&answer->arena, 0);
    return answer;
}

static void request_free(struct request *q)
{
    extender_body_unref(q->body);
    free(q);
}

/* Delivers the answer and frees the request. */
static void finish(struct request *q, struct extender_answer *answer)
{
    struct extenders *x = q->owner;
    request_free(q);
    if (x->closing)
        extender_answer_free(answer);
    else
        x->fn(x->ctx, answer);
}

/*
 * Errors of src/net begin with the origin, or the method and the path. Upstream's text has the URL
 * instead.
 */
static struct str strip_origin(struct str what, struct str url)
{
    size_t end;
    while ((end = str_search(what, STR(": "))) < what.n) {
        struct str place = str_slice(what, 0, end);
        if (str_starts(place, STR("POST ")))
            place = str_slice(place, 5, place.n);
        if (!str_starts(url, place) && !str_ends(url, place))
            break;
        what = str_slice(what, end + 2, what.n);
    }
    return what;
}

/* Hides the URL's password: the text appears in conditions and events. */
static struct str mask_password(struct str text, struct arena *a)
{
    struct url url;
    if (url_parse(text, &url, NULL) < 0 || !url.password.n)
        return text;
    size_t at = (size_t)(url.password.p - text.p);
    return arena_printf(a, "%.*s***%.*s", STR_ARG(str_slice(text, 0, at)),
                        STR_ARG(str_slice(text, at + url.password.n, text.n)));
}

/* The call failed without a response. */
static void finish_failed(struct request *q, const struct err *err)
{
    struct extender_answer *answer = answer_new(q);
    struct arena *a = &answer->arena;
    struct str url = url_of(q, a), what = strip_origin(str_of(err->msg), url);
    answer->result.error =
        arena_printf(a, "Post \"%.*s\": %.*s", STR_ARG(mask_password(url, a)), STR_ARG(what));
    finish(q, answer);
}

static void read_answer(const struct request *q, const struct http_response *response,
                        struct extender_answer *answer)
{
    struct arena *a = &answer->arena;
    struct str url = url_of(q, a), verb = verb_of(q);
    struct err err;
    if (response->status != 200)
        answer->result.error = arena_printf(a, "failed %.*s with extender at URL %.*s, code %d",
                                            STR_ARG(verb), STR_ARG(url), response->status);
    else if (extender_decode(q->verb, q->client->config->node_cache_capable,
                             buf_str(&response->body), a, &answer->result, &err) < 0)
        answer->result = (struct extender_result){
            .error = arena_printf(a, "failed %.*s with extender at URL %.*s, invalid response: %s",
                                  STR_ARG(verb), STR_ARG(url), err.msg)};
}

static void on_done(void *ctx, int code, struct http_response *response, const struct err *err,
                    bool retryable)
{
    (void)retryable;
    struct request *q = ctx;
    if (code < 0) {
        finish_failed(q, err);
        return;
    }
    struct extender_answer *answer = answer_new(q);
    read_answer(q, response, answer);
    finish(q, answer);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A binding is a write: it may have to wait for the lease. */
static bool may_start(void *ctx)
{
    struct request *q = ctx;
    struct extenders *x = q->owner;
    if (q->verb != EXTENDER_BIND || !x->may_bind || x->may_bind(x->ctx))
        return true;
    q->next = x->held;
    x->held = q;
    return false;
}

/* On the loop's thread. */
static void send_request(void *ctx)
{
    struct request *q = ctx;
    const struct client *c = q->client;
    if (!c->http) {
        finish_failed(q, &c->url_error);
        return;
    }
    struct arena scratch;
    arena_init(&scratch, 0);
    struct str url = url_of(q, &scratch);
    struct http_header headers[] = {HTTP_HEADER("Content-Type", STR("application/json")),
                                    HTTP_HEADER("Authorization", c->authorization)};
    struct http_request request = {
        .method = STR("POST"),
        .target = str_slice(url, c->path_at, str_find(url, '#')),
        .headers = headers,
        .n_headers = c->authorization.n ? 2 : 1,
        .body = extender_body_text(q->body),
        .body_lives = true,
        .total_timeout = c->timeout,
        .max_body = q->owner->max_answer,
        .may_start = may_start,
    };
    http_client_fetch(c->http, &request, on_done, q);
    arena_release(&scratch);
}

void extenders_resume(struct extenders *x)
{
    struct request *q = TAKE(x->held), *in_order = NULL;
    while (q) {
        struct request *next = q->next;
        q->next = in_order;
        in_order = q;
        q = next;
    }
    while (in_order) {
        q = in_order;
        in_order = q->next;
        send_request(q);
    }
}

void extenders_call(struct extenders *x, const struct extender_call *call)
{
    struct request *q = xnew(struct request);
    *q = (struct request){
        .owner = x, .client = &x->clients[call->extender], .verb = call->verb, .id = call->id};
    q->body = extender_body_for(&x->last, call, q->client->config->node_cache_capable);
    loop_post(x->loop, send_request, q);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static const char *text_or_null(struct extenders *x, struct str s)
{
    return s.n ? arena_dup(&x->arena, s).p : NULL;
}

/* *ret_tls is NULL if the defaults suffice. */
static int make_tls(struct extenders *x, const struct extender_config *config,
                    struct tls_config **ret_tls, struct err *reterr)
{
    static const struct extender_tls_config none = {0};
    const struct extender_tls_config *t = config->tls_config ? config->tls_config : &none;
    bool has_ca = t->ca_data.n || t->ca_file.n;
    bool has_cert = (t->cert_data.n || t->cert_file.n) && (t->key_data.n || t->key_file.n);
    struct tls_options options = {
        .ca_pem = t->ca_data,
        .ca_file = text_or_null(x, t->ca_file),
        .insecure_skip_verify = t->insecure || (config->enable_https && !has_ca),
        .server_name = t->server_name,
    };
    if (options.insecure_skip_verify && has_ca)
        return err_set(reterr, -EINVAL,
                       "specifying a root certificates file with the insecure flag is not allowed");
    if (has_cert) {
        options.cert_pem = t->cert_data;
        options.cert_file = text_or_null(x, t->cert_file);
        options.key_pem = t->key_data;
        options.key_file = text_or_null(x, t->key_file);
    }
    *ret_tls = NULL;
    if (!has_ca && !has_cert && !options.insecure_skip_verify && !options.server_name.n)
        return 0;
    return tls_config_new_client(&options, ret_tls, reterr);
}

/* Basic authentication from the URL's user info, as Go's HTTP client does. */
static struct str basic_authorization(struct extenders *x, const struct url *url)
{
    struct buf plain = BUF_INIT, value = BUF_INIT;
    struct str result = {0};
    bool ok = url_decode(url->user, false, &plain) == 0;
    buf_add_char(&plain, ':');
    ok = ok && url_decode(url->password, false, &plain) == 0;
    buf_add_cstr(&value, "Basic ");
    base64_encode(buf_str(&plain), &value);
    if (ok && plain.n > 1)
        result = arena_dup(&x->arena, buf_str(&value));
    buf_release(&plain);
    buf_release(&value);
    return result;
}

/* Upstream starts with a bad URL and reports it in every call; so does berth. */
static void make_http(struct extenders *x, struct client *c, struct tls_config *tls)
{
    struct url url;
    struct http_client_options options = {.tls = tls};
    int r = url_parse(c->config->url_prefix, &url, &c->url_error);
    if (r < 0)
        return;
    c->authorization = basic_authorization(x, &url);
    struct str prefix = c->config->url_prefix;
    size_t authority = str_search(prefix, STR("://")) + 3;
    c->path_at = authority + str_find(str_slice(prefix, authority, prefix.n), '/');
    options.origin = arena_dup(&x->arena, c->config->url_prefix).p;
    if (http_client_new(x->loop, &options, &c->http, &c->url_error) < 0)
        c->http = NULL;
}

static int make_client(struct extenders *x, size_t i, struct err *reterr)
{
    struct client *c = &x->clients[i];
    struct tls_config *tls = NULL;
    int r = make_tls(x, c->config, &tls, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "couldn't build extenders: \"%.*s\"",
                          STR_ARG(c->config->url_prefix));
    make_http(x, c, tls);
    tls_config_unref(tls);
    c->timeout = c->config->http_timeout ? c->config->http_timeout : EXTENDER_DEFAULT_TIMEOUT;
    return 0;
}

static struct extender make_spec(struct extenders *x, const struct extender_config *config)
{
    size_t n = config->managed_resources.n;
    struct str *managed = arena_array(&x->arena, struct str, n);
    for (size_t i = 0; i < n; i++)
        managed[i] = config->managed_resources.v[i].name;
    return (struct extender){
        .name = config->url_prefix,
        .filters = !str_empty(config->filter_verb),
        .prioritizes = !str_empty(config->prioritize_verb),
        .binds = !str_empty(config->bind_verb),
        .preempts = !str_empty(config->preempt_verb),
        .ignorable = config->ignorable,
        .weight = config->weight,
        .managed_resources = managed,
        .n_managed_resources = n,
    };
}

int extenders_new(struct loop *loop, const struct extenders_options *options,
                  extender_answer_fn *fn, void *ctx, struct extenders **ret_extenders,
                  struct err *reterr)
{
    struct extenders *x = xnew(struct extenders);
    x->loop = loop;
    x->fn = fn;
    x->ctx = ctx;
    x->n = options->n;
    x->may_bind = options->may_bind;
    x->max_answer = options->max_answer ? options->max_answer : EXTENDER_MAX_ANSWER;
    arena_init(&x->arena, 0);
    x->clients = arena_array(&x->arena, struct client, x->n);
    x->specs = arena_array(&x->arena, struct extender, x->n);
    int r = 0;
    for (size_t i = 0; r == 0 && i < x->n; i++) {
        x->clients[i].config = &options->configs[i];
        x->specs[i] = make_spec(x, &options->configs[i]);
        r = make_client(x, i, reterr);
        if (r == 0)
            log_info(2, "Creating extender", KV_STR("extender", x->specs[i].name));
    }
    if (r < 0) {
        extenders_free(x);
        return r;
    }
    *ret_extenders = x;
    return 0;
}

struct extenders *extenders_free(struct extenders *x)
{
    if (!x)
        return NULL;
    x->closing = true;
    for (size_t i = 0; i < x->n; i++)
        http_client_free(x->clients[i].http);
    while (x->held) {
        struct request *q = x->held;
        x->held = q->next;
        request_free(q);
    }
    extender_body_unref(x->last);
    arena_release(&x->arena);
    free(x);
    return NULL;
}

const struct extender *extenders_specs(const struct extenders *x)
{
    return x->specs;
}

unsigned extenders_object_flags(const struct extenders *x, enum kind_id kind)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct extender *spec = &x->specs[i];
        bool looks = spec->filters || spec->prioritizes;
        /* Upstream's informer drops managedFields of pods, and only of pods. */
        if (kind == KIND_POD && (looks || spec->preempts))
            return OBJECT_KEEP_JSON | OBJECT_DROP_MANAGED_FIELDS;
        if (kind == KIND_NODE && looks && !x->clients[i].config->node_cache_capable)
            return OBJECT_KEEP_JSON;
    }
    return 0;
}
