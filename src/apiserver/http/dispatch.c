/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request goes: limits, authorization, routing. */
#include "apiserver/http/api_server_internal.h"

#define TOO_MANY "Too many requests, please try again later.\n"

/* --- access ----------------------------------------------------------------------------------- */

static struct access_attributes attributes_of(const struct call *c)
{
    const struct api_route *r = &c->route;

    if (!r->is_resource)
        return (struct access_attributes){.verb = r->verb, .path = r->path};
    return (struct access_attributes){.verb = r->verb,
                                      .group = r->group,
                                      .version = r->version,
                                      .resource = r->plural,
                                      .subresource = r->subresource,
                                      .namespace = r->namespace,
                                      .name = r->name};
}

static bool authorize(struct call *c)
{
    struct access_attributes what = attributes_of(c);
    struct api_status *s = &c->response.status;
    struct str why;
    struct resource r = {.group = what.group, .plural = what.resource};

    if (call_allows(c, &c->user, &what, &why))
        return true;
    status_forbidden(s, &r, what.name, access_forbidden_text(&c->user, &what, why, &c->arena),
                     &c->arena);
    return false;
}

/* --- resources -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum resource_verb bit;
    enum api_verb verb;
} verbs[] = {
    {"get", VERB_GET, API_GET},
    {"list", VERB_LIST, API_LIST},
    {"watch", VERB_WATCH, API_LIST},
    {"create", VERB_CREATE, API_CREATE},
    {"update", VERB_UPDATE, API_UPDATE},
    {"patch", VERB_PATCH, API_PATCH_MERGE},
    {"delete", VERB_DELETE, API_DELETE},
    {"deletecollection", VERB_DELETE_COLLECTION, API_DELETE_COLLECTION},
};

static bool is_collection(const struct call *c)
{
    return str_is(c->route.verb, "list") || (str_is(c->route.verb, "watch") && c->query.watch) ||
           str_is(c->route.verb, "deletecollection");
}

/* The path of a resource that exists: the right scope, a known subresource. */
static bool path_fits(const struct call *c)
{
    const struct api_route *r = &c->route;
    const struct subresource *sub = NULL;
    bool of_namespace = str_is(r->plural, "namespaces") && str_empty(r->group);

    if (!c->resource->namespaced && !str_empty(r->namespace) && !of_namespace)
        return false;
    if (c->resource->namespaced && str_empty(r->namespace) && !str_empty(r->name) &&
        !is_collection(c))
        return false;
    if (!str_empty(r->subresource)) {
        sub = resource_subresource(c->resource, r->subresource);
        if (!sub)
            return false;
    }
    return str_empty(r->rest) || (sub && str_is(r->subresource, "proxy"));
}

static bool verb_fits(struct call *c)
{
    const struct api_route *r = &c->route;
    unsigned allowed = c->resource->verbs;

    if (!str_empty(r->subresource))
        allowed = resource_subresource(c->resource, r->subresource)->verbs;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (!str_is(r->verb, verbs[i].name))
            continue;
        c->request.verb = verbs[i].verb;
        if (verbs[i].bit == VERB_CREATE && c->resource->namespaced && str_empty(r->namespace))
            return false;
        if (verbs[i].bit == VERB_CREATE && !str_empty(r->name) && str_empty(r->subresource))
            return false;
        if (verbs[i].bit == VERB_UPDATE && str_empty(r->name))
            return false;
        return allowed & verbs[i].bit;
    }
    return false;
}

static void fill_request(struct call *c)
{
    const struct api_query *q = &c->query;
    struct api_request *req = &c->request;

    req->resource = c->resource;
    req->subresource = c->route.subresource;
    req->namespace = c->resource->namespaced ? c->route.namespace : STR("");
    req->name = is_collection(c) ? STR("") : c->route.name;
    req->user = c->user.name;
    req->force = q->force;
    req->label_selector = q->label_selector;
    req->field_selector = q->field_selector;
    req->resource_version = q->resource_version;
    req->resource_version_match = q->resource_version_match;
    req->continue_token = q->continue_token;
    req->limit = q->limit;
    req->now = c->now;
    req->arena = &c->arena;
}

static void on_body(struct http_exchange *x, int code)
{
    struct call *c = x->user;

    if (code == -EMSGSIZE) {
        status_of(&c->response.status, 413, &c->arena, "limit is %llu",
                  (unsigned long long)MAX_BODY);
        call_refuse(c);
        return;
    }
    call_serve_body(c);
}

static void serve_resource(struct call *c)
{
    struct api_server *s = c->server;
    bool watch = c->route.is_watch;

    c->resource = resources_find(s->resources, c->route.group, c->route.version, c->route.plural);
    if (!c->resource && !resources_has_group(s->resources, c->route.group, c->route.version)) {
        call_refuse_page(c);
        return;
    }
    if (!c->resource || !path_fits(c)) {
        call_refuse_path(c, 404);
        return;
    }
    if (!verb_fits(c)) {
        call_refuse_path(c, 405);
        return;
    }
    fill_request(c);
    if (!call_negotiate(c, watch)) {
        call_refuse(c);
        return;
    }
    if (watch)
        watches_start(s->watches, c);
    else if (c->request.verb == API_GET || c->request.verb == API_LIST)
        call_serve_body(c);
    else
        http_read_body(c->x, MAX_BODY, on_body);
}

/* --- limits ----------------------------------------------------------------------------------- */

static bool enter(struct call *c)
{
    struct api_server *s = c->server;

    if (!c->route.is_watch && (s->n_inflight >= s->options.max_inflight ||
                               (c->anonymous && s->n_anonymous >= s->options.max_anonymous)))
        return false;
    if (c->route.is_watch && s->n_watches >= s->options.max_watches)
        return false;
    c->inflight = true;
    s->n_inflight++;
    if (c->anonymous)
        s->n_anonymous++;
    return true;
}

static void refuse_many(struct call *c)
{
    struct http_header headers[] = {HTTP_HEADER("Retry-After", STR("1")),
                                    HTTP_HEADER("Content-Type", STR("text/plain; charset=utf-8"))};

    server_metrics_count(c, 429);
    http_respond(c->x, 429, headers, ARRAY_LEN(headers), STR(TOO_MANY));
    call_free(c);
}

void call_handle(void *ctx, struct http_exchange *x)
{
    struct call *c = call_new(ctx, x);

    if (!call_authenticate(c)) {
        call_refuse(c);
        return;
    }
    if (!c->anonymous)
        http_authenticated(x);
    if (!enter(c)) {
        refuse_many(c);
        return;
    }
    if (!call_impersonate(c) || !authorize(c)) {
        call_refuse(c);
        return;
    }
    if (c->route.bad_path)
        call_refuse_path(c, 404);
    else if (c->route.is_resource)
        serve_resource(c);
    else
        call_page(c);
}
