/* SPDX-License-Identifier: Apache-2.0 */
/* CAs and names of trusted clients and proxies, from files and from the cluster. */
#include "base/log.h"
#include "codec/json_value.h"
#include "serve/authn_internal.h"
#include "serve/review_metrics.h"

#define SYSTEM          "/api/v1/namespaces/kube-system"
#define CONFIG_MAP      SYSTEM "/configmaps/extension-apiserver-authentication"
#define CA_MAX          ((size_t)4 << 20)
#define FILE_INTERVAL   (2 * NSEC_PER_SEC)
#define LOOKUP_INTERVAL (60 * NSEC_PER_SEC)
#define LOOKUP_AGAIN    (10 * NSEC_PER_SEC)
#define LOOKUP_TIMEOUT  (10 * NSEC_PER_SEC)

/* Names of upstream's work queues, for metrics. */
#define QUEUE_MAP       "DynamicConfigMapCABundle-client-ca"
#define QUEUE_HEADERS   "RequestHeaderAuthRequestController"
#define QUEUE_CLIENT_CA "DynamicCABundle-client-ca-bundle"
#define QUEUE_PROXY_CA  "DynamicCABundle-request-header"

struct config_map {
    str_map data;
};

static const struct field config_map_fields[] = {
    F_STR_MAP(struct config_map, data, "data", 2),
};
static const struct type config_map_type =
    TYPE("k8s.io.api.core.v1.ConfigMap", struct config_map, config_map_fields);

/* --- files ------------------------------------------------------------------------------------ */

static int read_ca(struct authn_ca_file *file, struct tls_trust **trust, struct err *reterr)
{
    struct file_stamp stamp;
    struct buf pem = BUF_INIT;
    struct tls_trust *fresh;
    int r = file_stamp_of(file->path, &stamp);
    if (r < 0)
        return err_set(reterr, r, "%s: %s", file->path, strerror(-r));
    if (*trust && file_stamp_eq(stamp, file->stamp))
        return 0;
    r = file_read(file->path, CA_MAX, &pem, reterr);
    if (r == 0)
        r = tls_trust_new(buf_str(&pem), file->path, &fresh, reterr);
    buf_release(&pem);
    file->stamp = stamp; /* also of an invalid file: the error is logged once */
    if (r < 0)
        return r;
    tls_trust_free(*trust);
    *trust = fresh;
    return 0;
}

static int refresh_ca(struct authn_trust *trust, bool proxies, struct err *reterr)
{
    int64_t began = time_mono();
    int r = proxies ? read_ca(&trust->proxy_ca, &trust->proxies, reterr)
                    : read_ca(&trust->client_ca, &trust->clients, reterr);
    workqueue_metrics_done(trust->metrics, proxies ? QUEUE_PROXY_CA : QUEUE_CLIENT_CA, began,
                           r == 0);
    return r;
}

void authn_trust_refresh(struct authn_trust *trust)
{
    int64_t now = loop_now(trust->loop);
    struct err err;
    if (now < trust->next_file_check)
        return;
    trust->next_file_check = now + trust->file_interval;
    if (trust->client_ca.path && refresh_ca(trust, false, &err) < 0)
        log_error("Failed to reload the client CA file; keeping the current one", KV_ERR(&err));
    if (trust->proxy_ca.path && refresh_ca(trust, true, &err) < 0)
        log_error("Failed to reload the request header CA file; keeping the current one",
                  KV_ERR(&err));
}

/* --- the cluster ------------------------------------------------------------------------------ */

/* The JSON list of strings in a key of the ConfigMap; empty if the key is missing. */
static int read_names(const struct config_map *map, struct str key, struct arena *a,
                      authn_names *ret_names, struct err *reterr)
{
    const struct str *text = str_map_get(&map->data, key);
    struct json_value list;
    *ret_names = (authn_names){0};
    if (!text || !text->n)
        return 0;
    int r = json_parse(*text, 0, a, &list, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "%.*s", STR_ARG(key));
    if (list.kind != JSON_ARRAY)
        return list.kind == JSON_NULL
                   ? 0
                   : err_set(reterr, -EBADMSG, "%.*s: expected a list", STR_ARG(key));
    ret_names->v = arena_array(a, struct str, list.n);
    for (size_t i = 0; i < list.n; i++)
        if (list.items[i].kind == JSON_STRING)
            ret_names->v[ret_names->n++] = list.items[i].text;
    return 0;
}

static int read_proxy(const struct config_map *map, struct arena *a, struct authn_proxy *out,
                      struct err *reterr)
{
    const struct {
        struct str key;
        authn_names *names;
    } rows[] = {
        {STR_INIT("requestheader-allowed-names"), &out->allowed_names},
        {STR_INIT("requestheader-username-headers"), &out->username_headers},
        {STR_INIT("requestheader-uid-headers"), &out->uid_headers},
        {STR_INIT("requestheader-group-headers"), &out->group_headers},
        {STR_INIT("requestheader-extra-headers-prefix"), &out->extra_prefixes},
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++)
        r = read_names(map, rows[i].key, a, rows[i].names, reterr);
    return r;
}

/* A missing key is not an error: no certificates are trusted then. */
static int replace_trust(const struct config_map *map, struct str key, struct tls_trust **trust,
                         struct err *reterr)
{
    const struct str *pem = str_map_get(&map->data, key);
    struct tls_trust *fresh = NULL;
    if (pem && pem->n) {
        int r = tls_trust_new(*pem, key.p, &fresh, reterr);
        if (r < 0)
            return r;
    }
    tls_trust_free(*trust);
    *trust = fresh;
    return 0;
}

static int take_map(struct authn_trust *trust, struct str body, struct err *reterr)
{
    struct arena arena;
    struct config_map map;
    struct authn_proxy proxy = {0};
    arena_init(&arena, 0);
    int r = json_decode(body, &config_map_type, 0, &arena, &map, reterr);
    if (r == 0 && !trust->client_ca.path)
        r = replace_trust(&map, STR("client-ca-file"), &trust->clients, reterr);
    if (r == 0 && !trust->proxy_ca.path)
        r = read_proxy(&map, &arena, &proxy, reterr);
    if (r == 0 && !trust->proxy_ca.path)
        r = replace_trust(&map, STR("requestheader-client-ca-file"), &trust->proxies, reterr);
    if (r == 0 && !trust->proxy_ca.path) {
        arena_reset(&trust->arena);
        trust->proxy = authn_proxy_copy(&proxy, &trust->arena);
    }
    arena_release(&arena);
    return r;
}

static void log_failure(struct authn_trust *trust, const struct err *err)
{
    if (!trust->failing)
        log_warning("Error looking up in-cluster authentication configuration", KV_ERR(err));
    if (!trust->failing && !trust->looked_up && !trust->on_lookup_failed) {
        log_warning("Continuing without authentication configuration. This may treat all requests "
                    "as anonymous.");
        log_warning("To require authentication configuration lookup to succeed, set "
                    "--authentication-tolerate-lookup-failure=false");
    }
    trust->failing = true;
}

static void on_config_map(void *ctx, const struct rest_result *result)
{
    struct authn_trust *trust = ctx;
    struct err err = result->err;
    trust->call = NULL;
    int64_t began = time_mono();
    int r = result->code == 0 ? take_map(trust, result->body, &err) : result->code;
    workqueue_metrics_done(trust->metrics, QUEUE_MAP, began, r == 0);
    if (!trust->proxy_ca.path)
        workqueue_metrics_done(trust->metrics, QUEUE_HEADERS, began, r == 0);
    bool first = !trust->looked_up;
    if (r < 0)
        log_failure(trust, &err);
    else
        trust->failing = false;
    trust->looked_up = true;
    loop_timer_set(&trust->timer,
                   r < 0 ? MIN(LOOKUP_AGAIN, trust->lookup_interval) : trust->lookup_interval);
    if (first && r < 0 && trust->on_lookup_failed)
        trust->on_lookup_failed(trust->ctx, &err);
    if (first)
        trust->on_first(trust);
}

static void on_timer(struct loop_timer *timer)
{
    struct authn_trust *trust = CONTAINER_OF(timer, struct authn_trust, timer);
    struct rest_request request = {
        .verb = REST_GET, .path = STR(CONFIG_MAP), .timeout = LOOKUP_TIMEOUT, .max_retries = -1};
    trust->call = rest_send(trust->client, &request, on_config_map, trust);
}

/* --- start and release ------------------------------------------------------------------------ */

static bool given(const char *path)
{
    return path && *path;
}

static void warn_no_client(const struct authn_trust *trust)
{
    if (!trust->client_ca.path)
        log_plain_warning("No authentication-kubeconfig provided in order to lookup "
                          "client-ca-file in configmap/extension-apiserver-authentication in "
                          "kube-system, so client certificate authentication won't work.");
    if (!trust->proxy_ca.path)
        log_plain_warning("No authentication-kubeconfig provided in order to lookup "
                          "requestheader-client-ca-file in "
                          "configmap/extension-apiserver-authentication in kube-system, so "
                          "request-header client certificate authentication won't work.");
}

static void begin_lookup(struct authn_trust *trust, const struct authn_options *o)
{
    if (o->skip_lookup || (trust->client_ca.path && trust->proxy_ca.path))
        return;
    if (!trust->client) {
        warn_no_client(trust);
        return;
    }
    workqueue_metrics_init(trust->metrics, QUEUE_MAP);
    if (!trust->proxy_ca.path)
        workqueue_metrics_init(trust->metrics, QUEUE_HEADERS);
    trust->looks_up = true;
    loop_timer_set(&trust->timer, 0);
}

int authn_trust_init(struct authn_trust *trust, struct loop *loop, struct rest_client *client,
                     const struct authn_options *o, struct err *reterr)
{
    int r = 0;
    trust->loop = loop;
    trust->client = client;
    trust->metrics = o->metrics;
    trust->file_interval = o->file_interval ? o->file_interval : FILE_INTERVAL;
    trust->lookup_interval = o->lookup_interval ? o->lookup_interval : LOOKUP_INTERVAL;
    trust->next_file_check = loop_now(loop) + trust->file_interval;
    trust->on_lookup_failed = o->on_lookup_failed;
    trust->ctx = o->ctx;
    arena_init(&trust->arena, 0);
    loop_timer_init(&trust->timer, loop, on_timer);
    if (given(o->client_ca_file)) {
        trust->client_ca.path = xstrdup(o->client_ca_file);
        workqueue_metrics_init(o->metrics, QUEUE_CLIENT_CA);
        r = refresh_ca(trust, false, reterr);
    }
    if (r == 0 && given(o->request_header_ca_file)) {
        trust->proxy_ca.path = xstrdup(o->request_header_ca_file);
        trust->proxy = authn_proxy_copy(&o->proxy, &trust->arena);
        workqueue_metrics_init(o->metrics, QUEUE_PROXY_CA);
        r = refresh_ca(trust, true, reterr);
    }
    if (r == 0)
        begin_lookup(trust, o);
    return r;
}

void authn_trust_release(struct authn_trust *trust)
{
    loop_timer_stop(&trust->timer);
    rest_cancel(TAKE(trust->call));
    tls_trust_free(trust->clients);
    tls_trust_free(trust->proxies);
    free(trust->client_ca.path);
    free(trust->proxy_ca.path);
    arena_release(&trust->arena);
}
