/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz, /livez and /readyz, and the results of their checks as metrics. */
#include "base/log.h"
#include "base/vec.h"
#include "net/url.h"
#include "serve/process_metrics.h"
#include "serve/serving_internal.h"

struct health_root {
    struct str path;
    enum health_path which;
    struct str word; /* in "healthz check failed" */
};

static const struct health_root roots[] = {
    {STR_INIT("/healthz"), HEALTHZ, STR_INIT("healthz")},
    {STR_INIT("/livez"), LIVEZ, STR_INIT("livez")},
    {STR_INIT("/readyz"), READYZ, STR_INIT("readyz")},
};

/* --- metrics ---------------------------------------------------------------------------------- */

static const struct metric_desc now_desc = {.name = "kubernetes_healthcheck",
                                            .help = "This metric records the result of a single "
                                                    "healthcheck.",
                                            .stability = "STABLE",
                                            .kind = METRIC_GAUGE,
                                            .labels = {"name", "type"}};
static const struct metric_desc total_desc = {.name = "kubernetes_healthchecks_total",
                                              .help = "This metric records the results of all "
                                                      "healthcheck.",
                                              .stability = "STABLE",
                                              .kind = METRIC_COUNTER,
                                              .labels = {"name", "status", "type"}};
static const struct metric_desc start_desc = {
    .name = "process_start_time_seconds",
    .help = "Start time of the process since unix epoch in seconds.",
    .stability = "ALPHA",
    .kind = METRIC_GAUGE};

static void log_checks(const struct serving *s, const struct health_root *root)
{
    struct buf names = BUF_INIT, line = BUF_INIT;
    size_t n = 0;
    bool ping = false;
    for (size_t i = 0; i < s->options.n_checks; i++) {
        const struct health_check *c = &s->options.checks[i];
        if (!(c->paths & root->which))
            continue;
        ping = strcmp(c->name, "ping") == 0;
        buf_add_printf(&names, "%s\"%s\"", n++ ? "," : "", c->name);
    }
    if (n == 1 && ping)
        log_plain(5, "No default health checks specified. Installing the ping handler.");
    buf_add_printf(&line, "Installing health checkers for (%.*s): %s", STR_ARG(root->path),
                   buf_cstr(&names));
    log_plain(5, buf_cstr(&line));
    buf_release(&names);
    buf_release(&line);
}

void serving_health_init(struct serving *s)
{
    for (size_t i = 0; log_on(5) && i < ARRAY_LEN(roots); i++)
        log_checks(s, &roots[i]);
    s->slis = metrics_new();
    s->sli_now = metrics_add(s->slis, &now_desc);
    s->sli_total = metrics_add(s->slis, &total_desc);
    metric_set(metric_with(metrics_add(s->slis, &start_desc), NULL), process_start_time());
}

static void observe(struct serving *s, const struct health_root *root, const char *name, bool ok)
{
    struct str now[] = {str_of(name), root->word};
    struct str total[] = {str_of(name), ok ? STR("success") : STR("error"), root->word};
    metric_set(metric_with(s->sli_now, now), ok ? 1 : 0);
    metric_add(metric_with(s->sli_total, total), 1);
}

void serve_slis(struct serving_request *r)
{
    struct buf text = BUF_INIT;
    metrics_write(r->serving->slis, &text);
    serving_respond_metrics(r, buf_str(&text));
    buf_release(&text);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* The names of ?exclude=, each once. Running the checks removes those that match. */
typedef VEC(struct str) names_vec;

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void read_excluded(struct serving_request *r, names_vec *out)
{
    struct str rest = r->x->query, key, value;
    while (url_query_next(&rest, &key, &value)) {
        if (!str_is(key, "exclude"))
            continue;
        struct buf text = BUF_INIT;
        bool ok = url_decode(value, true, &text) == 0;
        struct str name = arena_dup(&r->arena, ok ? buf_str(&text) : value);
        buf_release(&text);
        bool seen = false;
        for (size_t i = 0; i < out->n && !seen; i++)
            seen = str_eq(out->v[i], name);
        if (!seen)
            vec_push(out, name);
    }
    if (out->n)
        qsort(out->v, out->n, sizeof(*out->v), by_text);
}

static bool take_excluded(names_vec *excluded, const char *name)
{
    for (size_t i = 0; i < excluded->n; i++) {
        if (str_is(excluded->v[i], name)) {
            vec_remove(excluded, i);
            return true;
        }
    }
    return false;
}

static void warn_unknown(const names_vec *unknown, struct buf *out)
{
    if (!unknown->n)
        return;
    buf_add_cstr(out, "warn: some health checks cannot be excluded: no matches for ");
    for (size_t i = 0; i < unknown->n; i++)
        buf_add_printf(out, "%s\"%.*s\"", i ? "," : "", STR_ARG(unknown->v[i]));
    buf_add_char(out, '\n');
}

/* Appends a line per check. Returns whether all passed. */
static bool run_checks(struct serving *s, const struct health_root *root, names_vec *excluded,
                       struct buf *out)
{
    bool healthy = true;
    for (size_t i = 0; i < s->options.n_checks; i++) {
        const struct health_check *check = &s->options.checks[i];
        if (!(check->paths & root->which))
            continue;
        if (take_excluded(excluded, check->name)) {
            buf_add_printf(out, "[+]%s excluded: ok\n", check->name);
            continue;
        }
        bool ok = check->ok(s->options.ctx);
        healthy &= ok;
        observe(s, root, check->name, ok);
        buf_add_printf(out, ok ? "[+]%s ok\n" : "[-]%s failed: reason withheld\n", check->name);
    }
    warn_unknown(excluded, out);
    return healthy;
}

static void respond_root(struct serving_request *r, const struct health_root *root)
{
    struct buf body = BUF_INIT;
    names_vec excluded = {0};
    struct str value;
    read_excluded(r, &excluded);
    bool healthy = run_checks(r->serving, root, &excluded, &body);
    buf_add_printf(&body, "%s check %s\n", root->word.p, healthy ? "passed" : "failed");
    if (!healthy)
        log_info(2, "Health check failed", KV_STR("path", root->path),
                 KV_STR("checks", buf_str(&body)));
    bool verbose = !healthy || serving_query(r, "verbose", &value);
    serving_respond(r, healthy ? 200 : 500, PLAIN_TEXT, RESPOND_NOSNIFF,
                    verbose ? buf_str(&body) : STR("ok"));
    vec_release(&excluded);
    buf_release(&body);
}

static void respond_one(struct serving_request *r, const struct health_root *root, struct str name)
{
    const struct serving_options *o = &r->serving->options;
    for (size_t i = 0; i < o->n_checks; i++) {
        const struct health_check *check = &o->checks[i];
        if (!(check->paths & root->which) || !str_is(name, check->name))
            continue;
        if (check->ok(o->ctx))
            serving_respond(r, 200, PLAIN_TEXT, 0, STR("ok"));
        else
            serving_respond(r, 500, PLAIN_TEXT, RESPOND_NOSNIFF,
                            STR("internal server error: reason withheld\n"));
        return;
    }
    serving_respond_not_found(r);
}

void serve_health(struct serving_request *r)
{
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        const struct health_root *root = &roots[i];
        if (!str_starts(r->path, root->path))
            continue;
        if (r->path.n == root->path.n)
            respond_root(r, root);
        else
            respond_one(r, root, str_slice(r->path, root->path.n + 1, r->path.n));
        return;
    }
    serving_respond_not_found(r);
}
