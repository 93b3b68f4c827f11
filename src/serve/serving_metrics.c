/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serving_metrics.h"

#include "base/time.h"

static const double seconds[] = {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};

enum family {
    USERS,
    AUTHN_ATTEMPTS,
    AUTHN_DURATION,
    AUTHZ_ATTEMPTS,
    AUTHZ_DURATION,
    AUDIT_EVENTS,
    AUDIT_REJECTED,
    FAMILY_COUNT,
};

#define HISTOGRAM(bounds) \
    .kind = METRIC_HISTOGRAM, .buckets = (bounds), .n_buckets = ARRAY_LEN(bounds)

static const struct metric_desc families[FAMILY_COUNT] = {
    [USERS] = {"authenticated_user_requests",
               "Counter of authenticated requests broken out by username.",
               "ALPHA",
               METRIC_COUNTER,
               {"username"}},
    [AUTHN_ATTEMPTS] = {"authentication_attempts",
                        "Counter of authenticated attempts.",
                        "ALPHA",
                        METRIC_COUNTER,
                        {"result"}},
    [AUTHN_DURATION] = {"authentication_duration_seconds",
                        "Authentication duration in seconds broken out by result.", "ALPHA",
                        HISTOGRAM(seconds), .labels = {"result"}},
    [AUTHZ_ATTEMPTS] = {"authorization_attempts_total",
                        "Counter of authorization attempts broken down by result. It can be either "
                        "'allowed', 'denied', 'no-opinion' or 'error'.",
                        "ALPHA",
                        METRIC_COUNTER,
                        {"result"}},
    [AUTHZ_DURATION] = {"authorization_duration_seconds",
                        "Authorization duration in seconds broken out by result.", "ALPHA",
                        HISTOGRAM(seconds), .labels = {"result"}},
    [AUDIT_EVENTS] = {"apiserver_audit_event_total",
                      "Counter of audit events generated and sent to the audit backend.", "ALPHA",
                      METRIC_COUNTER},
    [AUDIT_REJECTED] = {"apiserver_audit_requests_rejected_total",
                        "Counter of apiserver requests rejected due to an error in audit logging "
                        "backend.",
                        "ALPHA", METRIC_COUNTER},
};

struct serving_metrics {
    struct metric_family *family[FAMILY_COUNT];
};

static void init(void *state, struct metrics *m)
{
    struct serving_metrics *s = state;
    metrics_add_all(m, families, FAMILY_COUNT, s->family);
}

struct serving_metrics *serving_metrics_of(struct metrics *metrics)
{
    static const struct metrics_part part = {.size = sizeof(struct serving_metrics), .init = init};
    return metrics ? metrics_part(metrics, &part) : NULL;
}

static void count(struct serving_metrics *m, enum family attempts, const char *result, int64_t ns)
{
    struct str value = str_of(result);
    metric_add(metric_with(m->family[attempts], &value), 1);
    /* In enum family, the durations follow the attempts. */
    metric_observe(metric_with(m->family[attempts + 1], &value), (double)ns / (double)NSEC_PER_SEC);
}

/* Upstream limits the label to a few names and records no personal ones. */
static struct str user_kind(struct str name)
{
    static const char *const known[] = {"admin", "client", "kube_proxy", "kubelet",
                                        "system:serviceaccount:kube-system:default"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(name, known[i]))
            return name;
    return str_find(name, '@') < name.n ? STR("email_id") : STR("other");
}

void serving_metrics_authn(struct serving_metrics *m, enum authn_verdict verdict,
                           const struct user_info *user, int64_t ns)
{
    if (!m)
        return;
    if (verdict == AUTHN_OK) {
        struct str kind = user_kind(user->username);
        metric_add(metric_with(m->family[USERS], &kind), 1);
    }
    count(m, AUTHN_ATTEMPTS, verdict == AUTHN_OK ? "success" : "error", ns);
}

void serving_metrics_authz(struct serving_metrics *m, enum authz_verdict verdict, int64_t ns)
{
    static const char *const results[] = {
        [AUTHZ_ALLOWED] = "allowed", [AUTHZ_FORBIDDEN] = "no-opinion", [AUTHZ_DENIED] = "denied",
        [AUTHZ_FAILED] = "error",    [AUTHZ_BUSY] = "error",
    };
    if (m)
        count(m, AUTHZ_ATTEMPTS, results[verdict], ns);
}
