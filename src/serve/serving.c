/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serving.h"

#include "base/log.h"
#include "codec/json.h"
#include "net/url.h"
#include "serve/serving_internal.h"

#define MAX_BODY ((uint64_t)1 << 20)

enum route_flags {
    ROUTE_PREFIX = 1,    /* matches all paths below */
    ROUTE_PROFILING = 2, /* only with --profiling */
    ROUTE_FLAGZ = 4,
    ROUTE_STATUSZ = 8,
    ROUTE_BODY = 16, /* needs the request's body */
};

struct route {
    struct str path;
    unsigned flags;
    void (*serve)(struct serving_request *r);
};

/* The first match is used: exact paths come before prefixes. */
static const struct route routes[] = {
    {STR_INIT("/healthz"), 0, serve_health},
    {STR_INIT("/livez"), 0, serve_health},
    {STR_INIT("/readyz"), 0, serve_health},
    {STR_INIT("/healthz/"), ROUTE_PREFIX, serve_health},
    {STR_INIT("/livez/"), ROUTE_PREFIX, serve_health},
    {STR_INIT("/readyz/"), ROUTE_PREFIX, serve_health},
    {STR_INIT("/metrics"), 0, serve_metrics},
    {STR_INIT("/metrics/resources"), 0, serve_resource_metrics},
    {STR_INIT("/metrics/slis"), 0, serve_slis},
    {STR_INIT("/configz"), 0, serve_configz},
    {STR_INIT("/flagz"), ROUTE_FLAGZ, serve_flagz},
    {STR_INIT("/statusz"), ROUTE_STATUSZ, serve_statusz},
    {STR_INIT("/debug/explain"), ROUTE_PROFILING, serve_explain},
    {STR_INIT("/debug/pprof"), ROUTE_PROFILING, serve_pprof_redirect},
    {STR_INIT("/debug/pprof/profile"), ROUTE_PROFILING, serve_profile},
    {STR_INIT("/debug/pprof/cmdline"), ROUTE_PROFILING, serve_cmdline},
    {STR_INIT("/debug/pprof/symbol"), ROUTE_PROFILING | ROUTE_BODY, serve_symbol},
    {STR_INIT("/debug/flags/v"), ROUTE_PROFILING | ROUTE_BODY, serve_log_level},
    {STR_INIT("/debug/flags"), ROUTE_PROFILING, serve_debug_flags},
    {STR_INIT("/debug/pprof/"), ROUTE_PREFIX | ROUTE_PROFILING, serve_pprof},
    {STR_INIT("/debug/flags/"), ROUTE_PREFIX | ROUTE_PROFILING, serve_debug_flags},
};

const char *const serving_listed_paths[] = {"/configz", "/flagz",  "/healthz", "/livez",
                                            "/metrics", "/readyz", NULL};

static bool is_on(const struct serving_options *o, unsigned flags)
{
    return (o->profiling || !(flags & ROUTE_PROFILING)) && (o->flagz || !(flags & ROUTE_FLAGZ)) &&
           (o->statusz || !(flags & ROUTE_STATUSZ));
}

/* Logs the match as upstream does. route: NULL if none. */
static void log_route(const struct serving_request *r, const struct route *route)
{
    struct buf line = BUF_INIT;
    if (!log_on(5))
        return;
    buf_add_cstr(&line, "kube-scheduler: ");
    log_quote(&line, r->path);
    buf_add_cstr(&line, " satisfied by ");
    if (route && route->flags & ROUTE_PREFIX)
        buf_add_printf(&line, "prefix %.*s", STR_ARG(route->path));
    else
        buf_add_cstr(&line, route ? "exact match" : "NotFoundHandler");
    log_plain(5, buf_cstr(&line));
    buf_release(&line);
}

static const struct route *find_route(const struct serving_request *r)
{
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        const struct route *route = &routes[i];
        bool fits = route->flags & ROUTE_PREFIX ? str_starts(r->path, route->path)
                                                : str_eq(r->path, route->path);
        if (fits && is_on(&r->serving->options, route->flags))
            return route;
    }
    return NULL;
}

static void on_body(struct http_exchange *x, int code)
{
    struct serving_request *r = x->user;
    if (code < 0)
        serving_respond(r, 413, PLAIN_TEXT, RESPOND_NOSNIFF, STR("http: request body too large\n"));
    else
        r->serve(r);
}

/* The request is authorized. Only now is its body read, if the page needs it. */
static void dispatch(struct serving_request *r)
{
    const struct route *route = find_route(r);
    log_route(r, route);
    if (!route) {
        serving_respond_not_found(r);
        return;
    }
    r->serve = route->serve;
    if (route->flags & ROUTE_BODY)
        http_read_body(r->x, MAX_BODY, on_body);
    else
        r->serve(r);
}

/* --- requests --------------------------------------------------------------------------------- */

static void request_free(struct serving_request *r)
{
    *r->prev = r->next;
    if (r->next)
        r->next->prev = r->prev;
    if (r->serving->explained == r)
        r->serving->explained = NULL;
    authn_cancel(r->authn);
    authz_cancel(r->authz);
    serving_profile_cancel(r->profile);
    free(r->user);
    arena_release(&r->arena);
    free(r);
}

static void abandon(struct serving_request *r)
{
    struct http_exchange *x = r->x;
    request_free(r);
    http_abort(x);
}

static void on_gone(struct http_exchange *x)
{
    abandon(x->user);
}

static struct serving_request *request_new(struct serving *s, struct http_exchange *x)
{
    struct serving_request *r = xnew(struct serving_request);
    struct buf path = BUF_INIT;
    *r = (struct serving_request){.serving = s, .x = x, .next = s->requests, .prev = &s->requests};
    if (r->next)
        r->next->prev = &r->next;
    s->requests = r;
    arena_init(&r->arena, 0);
    r->received = time_mono();
    bool ok = url_decode(x->path, false, &path) == 0;
    r->path = arena_dup(&r->arena, ok ? buf_str(&path) : x->path);
    buf_clear(&path);
    for (size_t i = 0; i < x->method.n; i++) {
        char c = x->method.p[i];
        buf_add_char(&path, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
    r->verb = arena_dup(&r->arena, buf_str(&path));
    buf_release(&path);
    x->user = r;
    x->on_gone = on_gone;
    return r;
}

bool serving_query(struct serving_request *r, const char *name, struct str *ret_value)
{
    struct str rest = r->x->query, key, value;
    while (url_query_next(&rest, &key, &value)) {
        if (!str_is(key, name))
            continue;
        struct buf text = BUF_INIT;
        bool ok = url_decode(value, true, &text) == 0;
        *ret_value = arena_dup(&r->arena, ok ? buf_str(&text) : value);
        buf_release(&text);
        return true;
    }
    return false;
}

/* --- responses -------------------------------------------------------------------------------- */

static void log_response(struct serving_request *r, int status)
{
    const struct http_exchange *x = r->x;
    struct str uri = arena_printf(&r->arena, "%.*s%s%.*s", STR_ARG(x->path), x->query.n ? "?" : "",
                                  STR_ARG(x->query));
    log_info(3, "HTTP", KV_STR("verb", x->method), KV_STR("URI", uri),
             KV_DURATION("latency", time_mono() - r->received),
             KV_STR("userAgent", http_headers_get(&x->headers, "user-agent")),
             KV_CSTR("audit-ID", ""), KV_STR("srcIP", x->remote), KV_INT("resp", status));
}

static void respond(struct serving_request *r, int status, const struct http_header *headers,
                    size_t n, struct str body)
{
    struct http_header all[6] = {
        HTTP_HEADER("cache-control", STR("no-cache, private")),
    };
    struct http_exchange *x = r->x;
    for (size_t i = 0; i < n; i++)
        all[i + 1] = headers[i];
    if (r->warning.n)
        all[++n] = HTTP_HEADER("warning", r->warning);
    if (log_on(3))
        log_response(r, status);
    http_respond(x, status, all, n + 1, body);
    request_free(r);
}

void serving_respond(struct serving_request *r, int status, const char *type, unsigned flags,
                     struct str body)
{
    struct http_header headers[2] = {HTTP_HEADER("content-type", str_of(type)),
                                     HTTP_HEADER("x-content-type-options", STR("nosniff"))};
    respond(r, status, headers, flags & RESPOND_NOSNIFF ? 2 : 1, body);
}

void serving_respond_metrics(struct serving_request *r, struct str text)
{
    char since[24];
    int n = snprintf(since, sizeof(since), "%lld", (long long)(r->serving->started / NSEC_PER_SEC));
    struct http_header headers[2] = {
        HTTP_HEADER("content-type", STR(METRICS_TEXT)),
        HTTP_HEADER("process-start-time-unix", ((struct str){since, (size_t)n}))};
    respond(r, 200, headers, 2, text);
}

void serving_respond_not_found(struct serving_request *r)
{
    serving_respond(r, 404, PLAIN_TEXT, RESPOND_NOSNIFF, STR("404 page not found\n"));
}

void serving_redirect(struct serving_request *r, const char *to)
{
    struct http_header headers[2] = {HTTP_HEADER("content-type", STR(HTML_TEXT)),
                                     HTTP_HEADER("location", str_of(to))};
    struct buf body = BUF_INIT;
    buf_add_printf(&body, "<a href=\"%s\">Found</a>.\n\n", to);
    respond(r, 302, headers, 2, buf_str(&body));
    buf_release(&body);
}

bool serving_is_person(const struct serving_request *r)
{
    struct str agent = http_headers_get(&r->x->headers, "user-agent");
    struct str rest = r->x->query, key, value;
    while (url_query_next(&rest, &key, &value)) {
        bool pretty = false;
        if (str_is(key, "pretty") && value.n)
            return str_to_bool(value, &pretty) && pretty;
        if (str_is(key, "pretty"))
            break;
    }
    return str_starts(agent, STR("curl")) || str_starts(agent, STR("Wget")) ||
           str_starts(agent, STR("Mozilla/5.0"));
}

static void new_line(struct buf *out, int depth)
{
    buf_add_printf(out, "\n%*s", 2 * depth, "");
}

void serving_indent(struct str json, struct buf *out)
{
    bool quoted = false;
    int depth = 0;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i], next = i + 1 < json.n ? json.p[i + 1] : '\0';
        if (quoted) {
            buf_add_char(out, c);
            if (c == '\\' && next)
                buf_add_char(out, json.p[++i]);
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
        if (closes)
            new_line(out, --depth);
        buf_add_char(out, c);
        if (opens && (next == '}' || next == ']'))
            buf_add_char(out, json.p[++i]);
        else if (opens)
            new_line(out, ++depth);
        else if (c == ',')
            new_line(out, depth);
        else if (c == ':')
            buf_add_char(out, ' ');
    }
}

void serving_write_status(struct buf *out, int status, const char *reason, bool details,
                          struct str message)
{
    buf_add_cstr(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                      "\"Failure\",\"message\":");
    json_write_str(out, message);
    buf_add_printf(out, ",\"reason\":\"%s\"%s,\"code\":%d}", reason,
                   details ? ",\"details\":{}" : "", status);
}

void serving_respond_status(struct serving_request *r, int status, const char *reason, bool details,
                            struct str message)
{
    struct buf json = BUF_INIT, text = BUF_INIT;
    serving_write_status(&json, status, reason, details, message);
    if (serving_is_person(r))
        serving_indent(buf_str(&json), &text);
    else
        buf_add_printf(&text, "%.*s\n", STR_ARG(buf_str(&json)));
    serving_respond(r, status, JSON_TEXT, details ? RESPOND_NOSNIFF : 0, buf_str(&text));
    buf_release(&json);
    buf_release(&text);
}

static void respond_busy(struct serving_request *r)
{
    struct http_header headers[2] = {HTTP_HEADER("content-type", STR(PLAIN_TEXT)),
                                     HTTP_HEADER("retry-after", STR("1"))};
    respond(r, 429, headers, 2, STR("Too many requests, please try again later.\n"));
}

/* --- authentication and authorization --------------------------------------------------------- */

/* Escapes texts from clients for HTML. */
static void add_sanitized(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '&' || c == '<' || c == '>')
            buf_add_cstr(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        else
            buf_add_char(out, c);
    }
}

static void respond_forbidden(struct serving_request *r, struct str why)
{
    struct buf raw = BUF_INIT, message = BUF_INIT;
    buf_add_cstr(&raw, "User ");
    log_quote(&raw, str_of(r->user));
    buf_add_printf(&raw, " cannot %.*s path ", STR_ARG(r->verb));
    log_quote(&raw, r->path);
    buf_add_cstr(&message, "forbidden: ");
    add_sanitized(&message, buf_str(&raw));
    if (why.n)
        buf_add_printf(&message, ": %.*s", STR_ARG(why));
    log_info(4, "Forbidden", KV_STR("URI", r->x->path), KV_STR("reason", why));
    serving_respond_status(r, 403, "Forbidden", true, buf_str(&message));
    buf_release(&raw);
    buf_release(&message);
}

static void respond_failed(struct serving_request *r, struct str why)
{
    struct buf raw = BUF_INIT, text = BUF_INIT;
    buf_add_printf(&raw, "Internal Server Error: \"%.*s\": %.*s\n", STR_ARG(r->x->path),
                   STR_ARG(why));
    add_sanitized(&text, buf_str(&raw));
    serving_respond(r, 500, PLAIN_TEXT, RESPOND_NOSNIFF, buf_str(&text));
    buf_release(&raw);
    buf_release(&text);
}

static void on_authorized(void *ctx, enum authz_verdict verdict, struct str why)
{
    struct serving_request *r = ctx;
    r->authz = NULL;
    serving_metrics_authz(r->serving->counted, verdict, time_mono() - r->asked);
    switch (verdict) {
    case AUTHZ_ALLOWED:
        dispatch(r);
        break;
    case AUTHZ_FORBIDDEN:
    case AUTHZ_DENIED:
        respond_forbidden(r, why);
        break;
    case AUTHZ_FAILED:
        respond_failed(r, why);
        break;
    case AUTHZ_BUSY:
        respond_busy(r);
        break;
    }
}

/* Upstream: the HTTP/2 connection of an anonymous client is closed after the response. */
static void limit_anonymous(struct serving_request *r)
{
    if (r->x->http_major == 2)
        http_last_request(r->x);
}

static void on_authenticated(void *ctx, enum authn_verdict verdict, const struct user_info *user)
{
    struct serving_request *r = ctx;
    r->authn = NULL;
    serving_metrics_authn(r->serving->counted, verdict, user, time_mono() - r->asked);
    if (verdict == AUTHN_BUSY) {
        respond_busy(r);
        return;
    }
    if (verdict == AUTHN_REFUSED) {
        limit_anonymous(r);
        serving_respond_status(r, 401, "Unauthorized", false, STR("Unauthorized"));
        return;
    }
    if (str_is(user->username, USER_ANONYMOUS))
        limit_anonymous(r);
    else
        http_authenticated(r->x);
    r->user = str_dup(user->username);
    r->asked = time_mono();
    /* If authz_check returns NULL, it has called on_authorized, which may have freed r. */
    struct authz_request request = {
        .user = user, .from = r->x->remote_host, .verb = r->verb, .path = r->path};
    struct authz_call *call = authz_check(r->serving->authz, &request, on_authorized, r);
    if (call)
        r->authz = call;
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct serving *s = ctx;
    struct serving_request *r = request_new(s, x);
    if (!s->authn) {
        dispatch(r);
        return;
    }
    r->asked = time_mono();
    struct authn_call *call = authn_check(s->authn, x, on_authenticated, r);
    if (call)
        r->authn = call;
}

/* --- making and freeing ----------------------------------------------------------------------- */

/* Upstream's error, which users search for, with a hint. */
static int fail_in_use(const struct serving_options *o, struct err *reterr)
{
    const char *open = strchr(o->address, ':') ? "[" : "", *close = *open ? "]" : "";
    return err_set(
        reterr, -EADDRINUSE,
        "failed to create listener: failed to listen on %s%s%s:%u: address already in use; "
        "set --secure-port to another port",
        open, o->address, close, o->port);
}

static int make_parts(struct serving *s, struct err *reterr)
{
    const struct serving_options *o = &s->options;
    int r = serving_tls_new(s->loop, &o->tls, &s->tls, reterr);
    if (r == 0 && o->authn)
        r = authn_new(s->loop, o->authn, &s->authn, reterr);
    if (r == 0 && o->authn)
        r = authz_new(s->loop, o->authz, &s->authz, reterr);
    if (r < 0)
        return r;
    struct http_server_options server = {.address = o->address,
                                         .port = o->port,
                                         .reuse_port = o->reuse_port,
                                         .tls = serving_tls_config(s->tls),
                                         .disable_h2 = o->disable_http2,
                                         .max_streams = o->max_streams,
                                         .max_connections = o->max_connections,
                                         .handle = handle,
                                         .ctx = s};
    r = http_server_new(s->loop, &server, &s->server, reterr);
    return r == -EADDRINUSE ? fail_in_use(o, reterr) : r;
}

int serving_new(struct loop *loop, const struct serving_options *options,
                struct serving **ret_serving, struct err *reterr)
{
    struct serving *s = xnew(struct serving);
    s->loop = loop;
    s->options = *options;
    s->started = time_wall();
    s->counted = serving_metrics_of(options->metrics);
    serving_health_init(s);
    int r = make_parts(s, reterr);
    s->options.authn = NULL; /* belong to the caller, and are not used any more */
    s->options.authz = NULL;
    if (r < 0)
        serving_free(s);
    else
        *ret_serving = s;
    return r;
}

uint16_t serving_port(const struct serving *s)
{
    return http_server_port(s->server);
}

const char *serving_address(const struct serving *s)
{
    return http_server_address(s->server);
}

void serving_shutdown(struct serving *s, int64_t patience, void (*fn)(void *ctx), void *ctx)
{
    http_server_shutdown(s->server, patience, fn, ctx);
}

struct serving *serving_free(struct serving *s)
{
    if (!s)
        return NULL;
    while (s->requests)
        abandon(s->requests);
    resource_metrics_cancel(s->resources);
    http_server_free(s->server);
    authn_free(s->authn);
    authz_free(s->authz);
    serving_tls_free(s->tls);
    metrics_free(s->slis);
    free(s);
    return NULL;
}
