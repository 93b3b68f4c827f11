/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/rest_metrics.h"

#include <math.h>

#include "base/time.h"
#include "base/vec.h"

/* --- families --------------------------------------------------------------------------------- */

static const double seconds[] = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
static const double bytes[] = {64,    256,    512,     1024,    4096,    16384,
                               65536, 262144, 1048576, 4194304, 16777216};
/* From ten minutes to four years. */
static const double ages[] = {600,     1800,    3600,     14400,    86400,    604800,
                              2592000, 7776000, 15552000, 31104000, 124416000};

enum family {
    DURATION,
    SENT,
    RECEIVED,
    LIMITED,
    REQUESTS,
    RETRIES,
    EXEC_TTL,
    EXEC_AGE,
    EXEC_CALLS,
    CACHE_ENTRIES,
    TRANSPORTS,
    CA_RELOADS,
    ROTATION_GC,
    FAMILY_COUNT,
};

#define HISTOGRAM(bounds) \
    .kind = METRIC_HISTOGRAM, .buckets = (bounds), .n_buckets = ARRAY_LEN(bounds)

static const struct metric_desc families[FAMILY_COUNT] = {
    [DURATION] = {"rest_client_request_duration_seconds",
                  "Request latency in seconds. Broken down by verb, and host.", "ALPHA",
                  HISTOGRAM(seconds), .labels = {"verb", "host"}},
    [SENT] = {"rest_client_request_size_bytes",
              "Request size in bytes. Broken down by verb and host.", "ALPHA", HISTOGRAM(bytes),
              .labels = {"verb", "host"}},
    [RECEIVED] = {"rest_client_response_size_bytes",
                  "Response size in bytes. Broken down by verb and host.", "ALPHA",
                  HISTOGRAM(bytes), .labels = {"verb", "host"}},
    [LIMITED] = {"rest_client_rate_limiter_duration_seconds",
                 "Client side rate limiter latency in seconds. Broken down by verb, and host.",
                 "ALPHA", HISTOGRAM(seconds), .labels = {"verb", "host"}},
    [REQUESTS] = {"rest_client_requests_total",
                  "Number of HTTP requests, partitioned by status code, method, and host.",
                  "ALPHA",
                  METRIC_COUNTER,
                  {"code", "method", "host"}},
    [RETRIES] = {"rest_client_request_retries_total",
                 "Number of request retries, partitioned by status code, verb, and host.",
                 "ALPHA",
                 METRIC_COUNTER,
                 {"code", "verb", "host"}},
    [EXEC_TTL] = {"rest_client_exec_plugin_ttl_seconds",
                  "Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed "
                  "by the auth exec plugin. The value is in seconds until certificate expiry "
                  "(negative if already expired). If auth exec plugins are unused or manage no TLS "
                  "certificates, the value will be +INF.",
                  "ALPHA", METRIC_GAUGE},
    [EXEC_AGE] = {"rest_client_exec_plugin_certificate_rotation_age",
                  "Histogram of the number of seconds the last auth exec plugin client certificate "
                  "lived before being rotated. If auth exec plugin client certificates are unused, "
                  "histogram will contain no data.",
                  "ALPHA", HISTOGRAM(ages)},
    [EXEC_CALLS] = {"rest_client_exec_plugin_call_total",
                    "Number of calls to an exec plugin, partitioned by the type of event "
                    "encountered (no_error, plugin_execution_error, plugin_not_found_error, "
                    "client_internal_error) and an optional exit code. The exit code will be set "
                    "to 0 if and only if the plugin call was successful.",
                    "ALPHA",
                    METRIC_COUNTER,
                    {"code", "call_status"}},
    [CACHE_ENTRIES] = {"rest_client_transport_cache_entries",
                       "Number of transport entries in the internal cache.", "ALPHA", METRIC_GAUGE},
    [TRANSPORTS] = {"rest_client_transport_create_calls_total",
                    "Number of calls to get a new transport, partitioned by the result of the "
                    "operation hit: obtained from the cache, miss: created and added to the cache, "
                    "uncacheable: created and not cached",
                    "ALPHA",
                    METRIC_COUNTER,
                    {"result"}},
    [CA_RELOADS] = {"rest_client_transport_ca_reload_total",
                    "Number of reloads of the API server CA file, by result and reason.",
                    "ALPHA",
                    METRIC_COUNTER,
                    {"result", "reason"}},
    [ROTATION_GC] = {"rest_client_transport_cert_rotation_gc_calls_total",
                     "Number of certificate file watches that ended with their transport.", "ALPHA",
                     METRIC_COUNTER},
};

struct expiry {
    const void *owner;
    int64_t not_after;
};

struct state {
    struct metric_family *family[FAMILY_COUNT];
    VEC(struct expiry) expiries;
};

static void write_ttl(void *ctx)
{
    struct state *s = ctx;
    double least = INFINITY, now = (double)time_wall() / (double)NSEC_PER_SEC;
    for (size_t i = 0; i < s->expiries.n; i++)
        least = MIN(least, (double)s->expiries.v[i].not_after - now);
    metric_set(metric_with(s->family[EXEC_TTL], NULL), least);
}

static void init(void *ctx, struct metrics *m)
{
    struct state *s = ctx;
    metrics_add_all(m, families, FAMILY_COUNT, s->family);
}

static void release(void *ctx)
{
    struct state *s = ctx;
    vec_release(&s->expiries);
}

static const struct metrics_part part = {
    .size = sizeof(struct state), .init = init, .on_write = write_ttl, .release = release};

/* --- meters ----------------------------------------------------------------------------------- */

static const struct str names[REST_M_COUNT] = {STR_INIT("GET"), STR_INIT("POST"), STR_INIT("PUT"),
                                               STR_INIT("PATCH"), STR_INIT("DELETE")};

struct tried {
    enum rest_method method;
    int status;
    struct metric *requests, *retries; /* retries NULL: none so far */
};

struct rest_meter {
    struct state *state;
    char *host;
    struct metric *by_method[LIMITED + 1][REST_M_COUNT]; /* NULL: none so far */
    VEC(struct tried) tried;                             /* few: linear search */
};

struct rest_meter *rest_meter_new(struct metrics *metrics, struct str host)
{
    if (!metrics)
        return NULL;
    struct rest_meter *meter = xnew(struct rest_meter);
    meter->state = metrics_part(metrics, &part);
    meter->host = str_dup(host);
    return meter;
}

struct rest_meter *rest_meter_free(struct rest_meter *meter)
{
    if (!meter)
        return NULL;
    vec_release(&meter->tried);
    free(meter->host);
    free(meter);
    return NULL;
}

static void observe(struct rest_meter *meter, enum family family, enum rest_method method,
                    double value)
{
    if (!meter)
        return;
    struct metric **series = &meter->by_method[family][method];
    if (!*series)
        *series = metric_with(meter->state->family[family],
                              (struct str[]){names[method], str_of(meter->host)});
    metric_observe(*series, value);
}

static struct metric *by_status(struct rest_meter *meter, enum family family,
                                enum rest_method method, int status)
{
    char code[16];
    snprintf(code, sizeof(code), status ? "%d" : "<error>", status);
    return metric_with(meter->state->family[family],
                       (struct str[]){str_of(code), names[method], str_of(meter->host)});
}

static struct tried *find_tried(struct rest_meter *meter, enum rest_method method, int status)
{
    for (size_t i = 0; i < meter->tried.n; i++)
        if (meter->tried.v[i].method == method && meter->tried.v[i].status == status)
            return &meter->tried.v[i];
    vec_push(&meter->tried, (struct tried){.method = method,
                                           .status = status,
                                           .requests = by_status(meter, REQUESTS, method, status)});
    return &vec_last(&meter->tried);
}

void rest_meter_attempt(struct rest_meter *meter, enum rest_method method, int status, bool again)
{
    if (!meter)
        return;
    struct tried *tried = find_tried(meter, method, status);
    metric_add(tried->requests, 1);
    if (!again)
        return;
    if (!tried->retries)
        tried->retries = by_status(meter, RETRIES, method, status);
    metric_add(tried->retries, 1);
}

void rest_meter_sent(struct rest_meter *meter, enum rest_method method, size_t n)
{
    observe(meter, SENT, method, (double)n);
}

void rest_meter_received(struct rest_meter *meter, enum rest_method method, size_t n)
{
    observe(meter, RECEIVED, method, (double)n);
}

void rest_meter_limited(struct rest_meter *meter, enum rest_method method, int64_t ns)
{
    observe(meter, LIMITED, method, (double)ns / (double)NSEC_PER_SEC);
}

void rest_meter_done(struct rest_meter *meter, enum rest_method method, int64_t ns)
{
    observe(meter, DURATION, method, (double)ns / (double)NSEC_PER_SEC);
}

/* --- without a meter -------------------------------------------------------------------------- */

static struct state *state_of(struct metrics *metrics)
{
    return metrics_part(metrics, &part);
}

static void count(struct metrics *metrics, enum family family, const struct str *values, size_t n)
{
    if (metrics)
        metric_add(metric_with(state_of(metrics)->family[family], values), (double)n);
}

void rest_metrics_transports(struct metrics *metrics, size_t n)
{
    count(metrics, TRANSPORTS, (struct str[]){STR("uncacheable")}, n);
}

void rest_metrics_ca_reload(struct metrics *metrics, enum rest_ca_reload outcome)
{
    static const struct str values[][2] = {
        [REST_CA_UNCHANGED] = {STR_INIT("success"), STR_INIT("unchanged")},
        [REST_CA_UPDATED] = {STR_INIT("success"), STR_INIT("updated")},
        [REST_CA_UNREADABLE] = {STR_INIT("failure"), STR_INIT("read_error")},
        [REST_CA_BAD] = {STR_INIT("failure"), STR_INIT("ca_parse_error")},
    };
    count(metrics, CA_RELOADS, values[outcome], 1);
}

void rest_metrics_exec(struct metrics *metrics, enum rest_exec outcome, int exit_code)
{
    static const struct str statuses[] = {
        [REST_EXEC_OK] = STR_INIT("no_error"),
        [REST_EXEC_FAILED] = STR_INIT("plugin_execution_error"),
        [REST_EXEC_NOT_FOUND] = STR_INIT("plugin_not_found_error"),
        [REST_EXEC_INTERNAL] = STR_INIT("client_internal_error"),
    };
    char code[16];
    snprintf(code, sizeof(code), "%d", exit_code);
    count(metrics, EXEC_CALLS, (struct str[]){str_of(code), statuses[outcome]}, 1);
}

void rest_metrics_exec_rotated(struct metrics *metrics, int64_t age)
{
    if (metrics)
        metric_observe(metric_with(state_of(metrics)->family[EXEC_AGE], NULL),
                       (double)age / (double)NSEC_PER_SEC);
}

void rest_metrics_exec_expiry(struct metrics *metrics, const void *owner, int64_t not_after)
{
    if (!metrics)
        return;
    struct state *s = state_of(metrics);
    size_t i = 0;
    while (i < s->expiries.n && s->expiries.v[i].owner != owner)
        i++;
    if (i < s->expiries.n)
        vec_swap_remove(&s->expiries, i);
    if (not_after)
        vec_push(&s->expiries, (struct expiry){owner, not_after});
}
