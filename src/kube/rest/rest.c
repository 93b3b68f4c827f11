/* SPDX-License-Identifier: Apache-2.0 */
/* The client, URLs and bodies of requests, and the decoding of results. */
#include "kube/rest/rest.h"

#include "api/status.h"
#include "kube/rest/rest_internal.h"
#include "net/proxy_env.h"
#include "net/url.h"

/* --- client ----------------------------------------------------------------------------------- */

static void on_tls(void *ctx, struct tls_config *tls)
{
    struct rest_client *client = ctx;

    for (size_t i = 0; i < REST_N_CHANNELS; i++)
        http_client_set_tls(client->http[i], tls);
}

static void set_defaults(struct rest_options *o)
{
    if (o->retry_unit == 0)
        o->retry_unit = NSEC_PER_SEC;
    if (o->retry_after_max == 0)
        o->retry_after_max = 60 * NSEC_PER_SEC;
    if (o->max_list == 0)
        o->max_list = REST_MAX_LIST;
    if (o->max_reply == 0)
        o->max_reply = REST_MAX_REPLY;
    if (o->max_frame == 0)
        o->max_frame = REST_MAX_FRAME;
}

/*
 * The kubeconfig's proxy-url, else the environment's proxy (client-go: http.ProxyFromEnvironment).
 */
static int make_channels(struct rest_client *client, const struct url *server, struct err *reterr)
{
    const struct kube_config *config = client->config;
    struct buf proxy = BUF_INIT;
    if (str_empty(config->proxy_url))
        proxy_env_find(server, &proxy);
    struct http_client_options options = {
        .origin = config->server.p,
        .proxy = proxy.n ? buf_cstr(&proxy) : config->proxy_url.p,
        .tls = auth_tls(client->auth),
        .ping_interval = client->options.ping_interval,
        .ping_timeout = client->options.ping_timeout,
    };
    int r = 0;

    for (size_t i = 0; i < REST_N_CHANNELS && r == 0; i++)
        r = http_client_new(client->loop, &options, &client->http[i], reterr);
    rest_metrics_transports(client->options.metrics, REST_N_CHANNELS);
    buf_release(&proxy);
    return r;
}

/* "10.0.0.1:6443", as in the URL, without user and password. */
static struct str host_of(const struct rest_client *client)
{
    struct str host = rest_origin(client), part;

    str_split(&host, ':', &part);
    host = str_slice(host, 2, host.n);
    return str_find(host, '@') < host.n ? str_slice(host, str_find(host, '@') + 1, host.n) : host;
}

int rest_client_new(struct loop *loop, const struct kube_config *config,
                    const struct rest_options *options, struct rest_client **ret_client,
                    struct err *reterr)
{
    struct rest_client *client = xnew(struct rest_client);
    struct url url;
    int r;

    client->loop = loop;
    client->config = config;
    client->held_end = &client->held;
    if (options)
        client->options = *options;
    set_defaults(&client->options);
    client->options.auth.metrics = client->options.metrics;
    ratelimit_init(&client->limit, config->qps, config->burst, loop_now(loop));
    r = url_parse(config->server, &url, reterr);
    if (r == 0)
        r = auth_new(loop, config, &client->options.auth, &client->auth, reterr);
    if (r == 0)
        r = make_channels(client, &url, reterr);
    if (r < 0) {
        rest_client_free(client);
        return err_prefix(reterr, r, "%.*s", STR_ARG(config->source));
    }
    client->base_path = url.path;
    client->meter = rest_meter_new(client->options.metrics, host_of(client));
    auth_set_tls_listener(client->auth, on_tls, client);
    *ret_client = client;
    return 0;
}

struct rest_client *rest_client_free(struct rest_client *client)
{
    if (!client)
        return NULL;
    while (client->calls)
        rest_cancel(client->calls);
    for (size_t i = 0; i < REST_N_CHANNELS; i++)
        http_client_free(client->http[i]);
    auth_free(client->auth);
    rest_meter_free(client->meter);
    free(client);
    return NULL;
}

struct loop *rest_client_loop(const struct rest_client *client)
{
    return client->loop;
}

uint64_t rest_client_max_list(const struct rest_client *client)
{
    return client->options.max_list;
}

int64_t rest_client_next_call(const struct rest_client *client)
{
    return ratelimit_peek(&client->limit, loop_now(client->loop));
}

int64_t rest_client_retry_unit(const struct rest_client *client)
{
    return client->options.retry_unit;
}

bool rest_is_json_only(const struct rest_client *client, const struct kind *kind)
{
    return client->json_only[kind->id] || kind_is_custom(kind->id);
}

struct str rest_origin(const struct rest_client *client)
{
    struct str server = client->config->server;

    return str_slice(server, 0, server.n - client->base_path.n);
}

/* --- requests --------------------------------------------------------------------------------- */

struct verb {
    const char *method;
    enum rest_method counted;
    const char *content_type; /* NULL: that of the encoded object */
};

static const struct verb verbs[] = {
    [REST_GET] = {"GET", REST_M_GET, NULL},
    [REST_LIST] = {"GET", REST_M_GET, NULL},
    [REST_CREATE] = {"POST", REST_M_POST, NULL},
    [REST_UPDATE] = {"PUT", REST_M_PUT, NULL},
    [REST_PATCH_STRATEGIC] = {"PATCH", REST_M_PATCH, "application/strategic-merge-patch+json"},
    [REST_PATCH_MERGE] = {"PATCH", REST_M_PATCH, "application/merge-patch+json"},
    [REST_PATCH_JSON] = {"PATCH", REST_M_PATCH, "application/json-patch+json"},
    [REST_APPLY] = {"PATCH", REST_M_PATCH, "application/apply-patch+yaml"},
    [REST_DELETE] = {"DELETE", REST_M_DELETE, NULL},
};

const char *rest_method(enum rest_verb verb)
{
    return verbs[verb].method;
}

enum rest_method rest_meter_method(enum rest_verb verb)
{
    return verbs[verb].counted;
}

struct str rest_body_type(const struct rest_call *call)
{
    if (verbs[call->verb].content_type)
        return str_of(verbs[call->verb].content_type);
    return call->body_encoding == ENCODING_PROTO ? STR(KUBE_CONTENT_PROTOBUF)
                                                 : STR(KUBE_CONTENT_JSON);
}

static void add_segment(struct buf *out, struct str text)
{
    if (str_empty(text))
        return;
    buf_add_char(out, '/');
    url_add_segment(out, text);
}

struct str rest_target(struct rest_client *client, const struct rest_request *request, bool watch,
                       struct arena *a)
{
    const struct kind *kind = request->kind;
    struct buf out = BUF_INIT;
    struct str target;

    buf_add_str(&out, client->base_path);
    if (!str_empty(request->path)) {
        buf_add_str(&out, request->path);
        target = arena_dup(a, buf_str(&out));
        buf_release(&out);
        return target;
    }
    buf_add_cstr(&out, str_empty(kind->group) ? "/api/" : "/apis/");
    buf_add_str(&out, kind->api_version);
    if (!str_empty(request->namespace)) {
        buf_add_cstr(&out, "/namespaces");
        add_segment(&out, request->namespace);
    }
    add_segment(&out, kind->resource);
    add_segment(&out, request->name);
    add_segment(&out, request->subresource);
    if (!str_empty(request->query) || watch)
        buf_add_char(&out, '?');
    buf_add_str(&out, request->query);
    if (watch)
        buf_add_cstr(&out, str_empty(request->query) ? "watch=true" : "&watch=true");
    target = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return target;
}

/* --- results ---------------------------------------------------------------------------------- */

static struct wire wire_of(const struct rest_result *result)
{
    return (struct wire){
        .kind = result->kind, .encoding = result->encoding, .flags = result->object_flags};
}

int rest_result_object(const struct rest_result *result, struct object **ret_object,
                       struct err *reterr)
{
    struct wire wire = wire_of(result);

    return object_decode(&wire, result->body, ret_object, reterr);
}

int rest_result_list(const struct rest_result *result, object_fn *on_object, void *ctx,
                     struct object_list *ret_list, struct err *reterr)
{
    struct wire wire = wire_of(result);

    return object_decode_list(&wire, result->body, on_object, ctx, ret_list, reterr);
}

int rest_status_errno(int status, struct str reason)
{
    switch (status) {
    case 400:
    case 422:
        return -EINVAL;
    case 401:
        return -EACCES;
    case 403:
        return -EPERM;
    case 404:
        return -ENOENT;
    case 405:
        return -EOPNOTSUPP;
    case 409:
        return str_is(reason, "AlreadyExists") ? -EEXIST : -EBUSY;
    case 410:
        return -ESTALE;
    case 429:
        return -EAGAIN;
    case 503:
        return -EHOSTDOWN;
    default:
        return -EIO;
    }
}

bool rest_is_retriable(const struct rest_result *result)
{
    return result->status == 500 || result->status == 503 || result->code == -EBUSY ||
           (result->status == 0 && result->code == -ECONNREFUSED);
}
