/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/review_metrics.h"

#include "base/time.h"

/* --- reviews ---------------------------------------------------------------------------------- */

static const double review_seconds[] = {0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10};
static const double cache_seconds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
/* Upstream's buckets: from 0 to one year. */
static const double remaining[] = {0,      1800,   3600,   7200,    21600,   43200,    86400,
                                   172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000};

#define HISTOGRAM(bounds) \
    .kind = METRIC_HISTOGRAM, .buckets = (bounds), .n_buckets = ARRAY_LEN(bounds)

static const struct metric_desc totals[] = {
    [REVIEW_AUTHN] = {"apiserver_delegated_authn_request_total",
                      "Number of HTTP requests partitioned by status code.",
                      "ALPHA",
                      METRIC_COUNTER,
                      {"code"}},
    [REVIEW_AUTHZ] = {"apiserver_delegated_authz_request_total",
                      "Number of HTTP requests partitioned by status code.",
                      "ALPHA",
                      METRIC_COUNTER,
                      {"code"}},
};
static const struct metric_desc durations[] = {
    [REVIEW_AUTHN] = {"apiserver_delegated_authn_request_duration_seconds",
                      "Request latency in seconds. Broken down by status code.", "ALPHA",
                      HISTOGRAM(review_seconds), .labels = {"code"}},
    [REVIEW_AUTHZ] = {"apiserver_delegated_authz_request_duration_seconds",
                      "Request latency in seconds. Broken down by status code.", "ALPHA",
                      HISTOGRAM(review_seconds), .labels = {"code"}},
};
static const struct metric_desc certificate_desc = {
    "apiserver_client_certificate_expiration_seconds",
    "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
    "ALPHA", HISTOGRAM(remaining)};

void review_metrics_init(struct metrics *m)
{
    if (m)
        metrics_add(m, &certificate_desc);
}

void review_metrics_answer(struct metrics *m, enum review_kind kind, int status, int64_t ns)
{
    char code[16];
    if (!m)
        return;
    snprintf(code, sizeof(code), status ? "%d" : "<error>", status);
    struct str value = str_of(code);
    metric_add(metric_with(metrics_add(m, &totals[kind]), &value), 1);
    metric_observe(metric_with(metrics_add(m, &durations[kind]), &value),
                   (double)ns / (double)NSEC_PER_SEC);
}

void review_metrics_certificate(struct metrics *m, double seconds)
{
    if (m)
        metric_observe(metric_with(metrics_add(m, &certificate_desc), NULL), seconds);
}

/* --- tokens ----------------------------------------------------------------------------------- */

enum token { TOKEN_DURATION, TOKEN_REQUESTS, TOKEN_FETCHES, TOKEN_ACTIVE };

static const struct metric_desc tokens[] = {
    [TOKEN_DURATION] = {"authentication_token_cache_request_duration_seconds",
                        "Latency of token authentication in seconds, by cache hit or miss.",
                        "ALPHA", HISTOGRAM(cache_seconds), .labels = {"status"}},
    [TOKEN_REQUESTS] = {"authentication_token_cache_request_total",
                        "Number of token authentications, by cache hit or miss.",
                        "ALPHA",
                        METRIC_COUNTER,
                        {"status"}},
    [TOKEN_FETCHES] = {"authentication_token_cache_fetch_total",
                       "Number of TokenReviews, by result.",
                       "ALPHA",
                       METRIC_COUNTER,
                       {"status"}},
    [TOKEN_ACTIVE] = {"authentication_token_cache_active_fetch_count",
                      "Number of TokenReviews in flight and of requests blocked by them.",
                      "ALPHA",
                      METRIC_GAUGE,
                      {"status"}},
};

static struct metric *token_series(struct metrics *m, enum token family, const char *status)
{
    struct str value = str_of(status);
    return metric_with(metrics_add(m, &tokens[family]), &value);
}

/* Upstream rounds down to whole milliseconds. */
static void count_token(struct metrics *m, const char *status, int64_t ns)
{
    int64_t milliseconds = ns / NSEC_PER_MSEC;
    metric_add(token_series(m, TOKEN_REQUESTS, status), 1);
    metric_observe(token_series(m, TOKEN_DURATION, status), (double)milliseconds / 1000);
}

void review_metrics_token_hit(struct metrics *m)
{
    if (m)
        count_token(m, "hit", 0);
}

static void add_active(struct metrics *m, double delta)
{
    metric_add(token_series(m, TOKEN_ACTIVE, "in_flight"), delta);
    metric_add(token_series(m, TOKEN_ACTIVE, "blocked"), delta);
}

void review_metrics_token_fetch(struct metrics *m)
{
    if (m)
        add_active(m, 1);
}

void review_metrics_token_fetched(struct metrics *m, bool ok, int64_t ns)
{
    if (!m)
        return;
    add_active(m, -1);
    metric_add(token_series(m, TOKEN_FETCHES, ok ? "ok" : "error"), 1);
    count_token(m, "miss", ns);
}

/* --- work queues ------------------------------------------------------------------------------ */

/* From 10 ns to 10 s: the exact doubles that upstream computes by multiplication. */
static const double queue_seconds[] = {
    1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1, 10};

enum queue_family { ADDS, DEPTH, LONGEST, WAITED, RETRIES, UNFINISHED, WORKED, QUEUE_FAMILIES };

static const struct metric_desc queues[QUEUE_FAMILIES] = {
    [ADDS] = {"workqueue_adds_total",
              "Total number of adds handled by workqueue",
              "BETA",
              METRIC_COUNTER,
              {"name"}},
    [DEPTH] = {"workqueue_depth", "Current depth of workqueue", "BETA", METRIC_GAUGE, {"name"}},
    [LONGEST] = {"workqueue_longest_running_processor_seconds",
                 "How many seconds has the longest running processor for workqueue been running.",
                 "BETA",
                 METRIC_GAUGE,
                 {"name"}},
    [WAITED] = {"workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested.", "BETA",
                HISTOGRAM(queue_seconds), .labels = {"name"}},
    [RETRIES] = {"workqueue_retries_total",
                 "Total number of retries handled by workqueue",
                 "BETA",
                 METRIC_COUNTER,
                 {"name"}},
    [UNFINISHED] = {"workqueue_unfinished_work_seconds",
                    "How many seconds of work has done that is in progress and hasn't been "
                    "observed by work_duration. Large values indicate stuck threads. One can "
                    "deduce the number of stuck threads by observing the rate at which this "
                    "increases.",
                    "BETA",
                    METRIC_GAUGE,
                    {"name"}},
    [WORKED] = {"workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.", "BETA",
                HISTOGRAM(queue_seconds), .labels = {"name"}},
};

static struct metric *queue_series(struct metrics *m, enum queue_family family, const char *queue)
{
    struct str value = str_of(queue);
    return metric_with(metrics_add(m, &queues[family]), &value);
}

void workqueue_metrics_init(struct metrics *m, const char *queue)
{
    if (!m)
        return;
    for (enum queue_family i = 0; i < QUEUE_FAMILIES; i++)
        queue_series(m, i, queue);
}

void workqueue_metrics_done(struct metrics *m, const char *queue, int64_t began, bool ok)
{
    if (!m)
        return;
    metric_add(queue_series(m, ADDS, queue), 1);
    metric_observe(queue_series(m, WAITED, queue), 0);
    metric_observe(queue_series(m, WORKED, queue),
                   (double)(time_mono() - began) / (double)NSEC_PER_SEC);
    if (!ok)
        metric_add(queue_series(m, RETRIES, queue), 1);
}
