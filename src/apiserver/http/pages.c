/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is no resource: discovery, health, version, metrics, keys of tokens. */
#include "apiserver/http/api_server_internal.h"
#include "apiserver/types/discovery.h"
#include "net/media_type.h"

#define TEXT_TYPE  STR("text/plain; charset=utf-8")
#define JSON_TYPE  STR("application/json")
#define AGGREGATED STR("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")

static void answer_page(struct call *c, int code, struct str content_type)
{
    c->code = code;
    c->content_type = content_type;
    call_finish(c);
}

/* --- health ----------------------------------------------------------------------------------- */

/* The checks of /healthz, /livez and /readyz; upstream names the storage "etcd". */
static const char *const checks[] = {"ping", "log", "etcd"};

static bool is_ready(struct call *c, const char *page, const char **ret_why)
{
    const struct api_server_options *o = &c->server->options;

    *ret_why = "";
    return strcmp(page, "readyz") != 0 || !o->ready || o->ready(o->ready_ctx, ret_why);
}

static bool excluded(const struct call *c, const char *check)
{
    struct str rest = c->x->query, pair;

    while (rest.n > 0 && str_split(&rest, '&', &pair)) {
        struct str key = STR("exclude=");

        if (str_starts(pair, key) && str_is(str_slice(pair, key.n, pair.n), check))
            return true;
    }
    return false;
}

static void write_health(struct call *c, const char *page, bool ready, const char *why)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        buf_add_printf(&c->body, "[+]%s %s\n", checks[i],
                       excluded(c, checks[i]) ? "excluded: ok" : "ok");
    if (ready)
        buf_add_printf(&c->body, "%s check passed\n", page);
    else
        buf_add_printf(&c->body, "[-]%s failed: reason withheld\n%s check failed\n", why, page);
}

static void serve_health(struct call *c, const char *page, struct str check)
{
    const char *why;
    bool ready = is_ready(c, page, &why);

    if (!str_empty(check)) {
        for (size_t i = 0; i < ARRAY_LEN(checks); i++)
            if (str_is(check, checks[i])) {
                buf_add_cstr(&c->body, "ok");
                answer_page(c, 200, TEXT_TYPE);
                return;
            }
        call_refuse_page(c);
        return;
    }
    if (c->query.verbose || !ready)
        write_health(c, page, ready, why);
    else
        buf_add_cstr(&c->body, "ok");
    answer_page(c, ready ? 200 : 500, TEXT_TYPE);
}

/* --- discovery -------------------------------------------------------------------------------- */

static bool allows_discovery(const void *ctx, const struct media_type *type,
                             const struct media_choice *m)
{
    (void)ctx, (void)type;
    return !m->converts || (str_is(m->group, "apidiscovery.k8s.io") && str_is(m->version, "v2") &&
                            str_is(m->kind, "APIGroupDiscoveryList"));
}

static bool negotiate(struct call *c, struct media_choice *ret_choice)
{
    static const struct media_type types[] = {{STR_INIT("application"), STR_INIT("json"), false}};
    struct media_page page = {types, ARRAY_LEN(types), allows_discovery, NULL, false};

    if (media_negotiate(http_headers_get(&c->x->headers, "accept"), &page, &c->arena, ret_choice))
        return true;
    status_of(&c->response.status, 406, &c->arena, "%s",
              "only the following media types are accepted: application/json");
    call_refuse(c);
    return false;
}

/* With its tag; clients that have it already get no body. */
static void answer_tagged(struct call *c, struct str content_type)
{
    uint64_t hash = str_hash(buf_str(&c->body));
    struct str known = http_headers_get(&c->x->headers, "if-none-match");

    c->etag = arena_printf(&c->arena, "\"%016llX\"", (unsigned long long)hash);
    if (str_eq(known, c->etag)) {
        buf_clear(&c->body);
        answer_page(c, 304, content_type);
    } else {
        answer_page(c, 200, content_type);
    }
}

static void serve_groups(struct call *c, bool core)
{
    struct media_choice choice;

    if (!negotiate(c, &choice))
        return;
    if (choice.converts) {
        discovery_aggregated(c->server->resources, core, &c->body);
        answer_tagged(c, AGGREGATED);
        return;
    }
    if (core)
        discovery_versions(str_empty(c->x->host) ? c->server->host : c->x->host, &c->body);
    else
        discovery_groups(c->server->resources, &c->body);
    answer_page(c, 200, JSON_TYPE);
}

/* /api/VERSION, /apis/GROUP, /apis/GROUP/VERSION */
static void serve_group(struct call *c, struct str group, struct str version)
{
    struct media_choice choice;
    bool found;

    if (!negotiate(c, &choice))
        return;
    if (str_empty(version))
        found = discovery_group(c->server->resources, group, &c->body);
    else
        found = discovery_resources(c->server->resources, group, version, &c->body);
    if (found)
        answer_page(c, 200, JSON_TYPE);
    else
        call_refuse_page(c);
}

/* --- other pages ------------------------------------------------------------------------------ */

static void serve_version(struct call *c)
{
    buf_add_cstr(&c->body, "{\n"
                           "  \"major\": \"1\",\n"
                           "  \"minor\": \"36\",\n"
                           "  \"emulationMajor\": \"1\",\n"
                           "  \"emulationMinor\": \"36\",\n"
                           "  \"minCompatibilityMajor\": \"1\",\n"
                           "  \"minCompatibilityMinor\": \"35\",\n"
                           "  \"gitVersion\": \"v1.36.3\",\n"
                           "  \"gitCommit\": \"\",\n"
                           "  \"gitTreeState\": \"clean\",\n"
                           "  \"buildDate\": \"1970-01-01T00:00:00Z\",\n"
                           "  \"goVersion\": \"\",\n"
                           "  \"compiler\": \"gcc\",\n"
                           "  \"platform\": \"linux/amd64\"\n"
                           "}");
    answer_page(c, 200, JSON_TYPE);
}

static void serve_metrics(struct call *c)
{
    server_metrics_update(c->server);
    metrics_write(c->server->metrics, &c->body);
    answer_page(c, 200, STR("text/plain; version=0.0.4; charset=utf-8; escaping=underscores"));
}

static void serve_keys(struct call *c)
{
    if (!c->server->options.issuer) {
        call_refuse_page(c);
        return;
    }
    token_issuer_write_keys(c->server->options.issuer, &c->body);
    answer_page(c, 200, STR("application/jwk-set+json"));
}

static void serve_openid(struct call *c)
{
    buf_add_printf(&c->body,
                   "{\"issuer\":\"" TOKEN_ISSUER_URL "\",\"jwks_uri\":\"%.*s/openid/v1/jwks\","
                   "\"response_types_supported\":[\"id_token\"],"
                   "\"subject_types_supported\":[\"public\"],"
                   "\"id_token_signing_alg_values_supported\":[\"ES256\"]}",
                   STR_ARG(c->server->url));
    answer_page(c, 200, JSON_TYPE);
}

static void serve_core(struct call *c)
{
    serve_groups(c, true);
}

static void serve_all(struct call *c)
{
    serve_groups(c, false);
}

static void serve_index(struct call *c);

static const struct page {
    const char *path;
    void (*serve)(struct call *c);
} pages[] = {
    {"/", serve_index},          {"/.well-known/openid-configuration", serve_openid},
    {"/api", serve_core},        {"/apis", serve_all},
    {"/metrics", serve_metrics}, {"/openid/v1/jwks", serve_keys},
    {"/version", serve_version},
};

static void serve_index(struct call *c)
{
    static const char *const more[] = {"/api/v1",     "/healthz",    "/livez",
                                       "/openapi/v2", "/openapi/v3", "/readyz"};
    const char *before = "";

    buf_add_cstr(&c->body, "{\n  \"paths\": [");
    for (size_t i = 1; i < ARRAY_LEN(pages); i++, before = ",")
        buf_add_printf(&c->body, "%s\n    \"%s\"", before, pages[i].path);
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        buf_add_printf(&c->body, ",\n    \"%s\"", more[i]);
    buf_add_cstr(&c->body, "\n  ]\n}");
    answer_page(c, 200, JSON_TYPE);
}

static bool serve_health_path(struct call *c, struct str path)
{
    static const char *const health[] = {"healthz", "livez", "readyz"};

    for (size_t i = 0; i < ARRAY_LEN(health); i++) {
        struct str name = str_of(health[i]), rest = str_slice(path, 1 + name.n, path.n);

        if (str_starts(str_slice(path, 1, path.n), name) && (rest.n == 0 || rest.p[0] == '/')) {
            serve_health(c, health[i], str_slice(rest, 1, rest.n));
            return true;
        }
    }
    return false;
}

static bool serve_openapi_path(struct call *c, struct str path)
{
    struct str prefix = STR("/openapi/");

    if (!str_starts(path, prefix))
        return false;
    call_openapi(c, str_slice(path, prefix.n, path.n));
    return true;
}

static bool serve_group_path(struct call *c, struct str path)
{
    struct str rest, group, version = STR("");

    if (str_starts(path, STR("/api/"))) {
        serve_group(c, STR(""), str_slice(path, 5, path.n));
        return true;
    }
    if (!str_starts(path, STR("/apis/")))
        return false;
    rest = str_slice(path, 6, path.n);
    str_split(&rest, '/', &group);
    if (rest.p)
        version = rest;
    if (str_find(version, '/') < version.n)
        return false;
    serve_group(c, group, version);
    return true;
}

void call_page(struct call *c)
{
    struct str path = c->route.path;

    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    if (!str_is(c->x->method, "GET") && !str_is(c->x->method, "HEAD")) {
        call_refuse_path(c, 405);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (str_is(path, pages[i].path)) {
            pages[i].serve(c);
            return;
        }
    if (!serve_health_path(c, path) && !serve_group_path(c, path) && !serve_openapi_path(c, path))
        call_refuse_page(c);
}
