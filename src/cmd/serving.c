/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serving.h"

#define PLAIN_TEXT "text/plain; charset=utf-8"

struct serving {
    struct http_server *server;
    const struct health_check *checks;
    size_t n_checks;
    void *ctx;
};

struct health_route {
    struct str path;
    enum health_path which;
    const char *word; /* as in "healthz check failed" */
};

static const struct health_route routes[] = {
    {STR_INIT("/healthz"), HEALTHZ, "healthz"},
    {STR_INIT("/livez"), LIVEZ, "livez"},
    {STR_INIT("/readyz"), READYZ, "readyz"},
};

/* Is `name`, or `name=value` where a value is wanted, among the query's parameters? */
static bool query_has(struct str query, const char *name, const char *value)
{
    struct str rest = query, part;
    while (str_split(&rest, '&', &part)) {
        size_t at = str_find(part, '=');
        if (str_is(str_slice(part, 0, at), name) &&
            (!value || str_is(str_slice(part, at + 1, part.n), value)))
            return true;
    }
    return false;
}

static void respond_health(const struct serving *s, struct http_exchange *x,
                           const struct health_route *route)
{
    struct buf body = BUF_INIT;
    bool healthy = true;
    for (size_t i = 0; i < s->n_checks; i++) {
        const struct health_check *check = &s->checks[i];
        if (!(check->paths & route->which))
            continue;
        if (query_has(x->query, "exclude", check->name)) {
            buf_add_printf(&body, "[+]%s excluded: ok\n", check->name);
            continue;
        }
        bool ok = check->ok(s->ctx);
        healthy &= ok;
        buf_add_printf(&body, ok ? "[+]%s ok\n" : "[-]%s failed: reason withheld\n", check->name);
    }
    buf_add_printf(&body, "%s check %s\n", route->word, healthy ? "passed" : "failed");
    if (!healthy)
        http_respond_text(x, 500, PLAIN_TEXT, buf_str(&body));
    else if (query_has(x->query, "verbose", NULL))
        http_respond_text(x, 200, PLAIN_TEXT, buf_str(&body));
    else
        http_respond_text(x, 200, PLAIN_TEXT, STR("ok"));
    buf_release(&body);
}

static void respond_check(const struct serving *s, struct http_exchange *x,
                          const struct health_route *route, struct str name)
{
    for (size_t i = 0; i < s->n_checks; i++) {
        const struct health_check *check = &s->checks[i];
        if (!(check->paths & route->which) || !str_is(name, check->name))
            continue;
        if (check->ok(s->ctx))
            http_respond_text(x, 200, PLAIN_TEXT, STR("ok"));
        else
            http_respond_text(x, 500, PLAIN_TEXT, STR("internal server error: reason withheld\n"));
        return;
    }
    http_respond_text(x, 404, PLAIN_TEXT, STR("404 page not found\n"));
}

static void handle(void *ctx, struct http_exchange *x)
{
    const struct serving *s = ctx;
    if (!str_is(x->method, "GET") && !str_is(x->method, "HEAD")) {
        http_respond_text(x, 405, PLAIN_TEXT, STR("method not allowed\n"));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        const struct health_route *route = &routes[i];
        if (str_eq(x->path, route->path)) {
            respond_health(s, x, route);
            return;
        }
        if (str_starts(x->path, route->path) && x->path.p[route->path.n] == '/') {
            respond_check(s, x, route, str_slice(x->path, route->path.n + 1, x->path.n));
            return;
        }
    }
    http_respond_text(x, 404, PLAIN_TEXT, STR("404 page not found\n"));
}

int serving_new(struct loop *loop, const struct serving_options *options,
                struct serving **ret_serving, struct err *reterr)
{
    struct tls_config *tls;
    struct tls_options tls_options = {.cert_file = *options->cert_file ? options->cert_file : NULL,
                                      .key_file = *options->key_file ? options->key_file : NULL};
    int r = tls_config_new_server(&tls_options, &tls, reterr);
    if (r < 0)
        return r;
    struct serving *s = xnew(struct serving);
    s->checks = options->checks;
    s->n_checks = options->n_checks;
    s->ctx = options->ctx;
    struct http_server_options server = {
        .address = options->address, .port = options->port, .tls = tls, .handle = handle, .ctx = s};
    r = http_server_new(loop, &server, &s->server, reterr);
    tls_config_unref(tls);
    if (r < 0) {
        free(s);
        return r;
    }
    *ret_serving = s;
    return 0;
}

uint16_t serving_port(const struct serving *s)
{
    return http_server_port(s->server);
}

struct serving *serving_free(struct serving *s)
{
    if (!s)
        return NULL;
    http_server_free(s->server);
    free(s);
    return NULL;
}
