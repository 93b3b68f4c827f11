/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that are not stored: reviews, component statuses, connections to containers. */
#include "apiserver/http/api_server_internal.h"

/* --- componentstatuses ------------------------------------------------------------------------ */

static const char *const components[] = {"controller-manager", "etcd-0", "scheduler"};

static struct json_value component(const char *name, struct arena *a)
{
    struct json_value v = json_literal("{\"kind\":\"ComponentStatus\",\"apiVersion\":\"v1\","
                                       "\"metadata\":{},\"conditions\":[{\"type\":\"Healthy\","
                                       "\"status\":\"True\",\"message\":\"ok\"}]}",
                                       a);

    json_set_at(&v, "metadata.name", json_text(str_of(name)), a);
    return v;
}

static void list_components(struct call *c)
{
    struct form_list list = {.resource = c->resource, .version = STR(""), .remaining = -1};

    form_begin_list(c->form, &list, &c->body);
    for (size_t i = 0; i < ARRAY_LEN(components); i++) {
        struct json_value v = component(components[i], &c->arena);
        struct form_object o = {.resource = c->resource, .tree = &v, .now = c->now};

        if (i > 0)
            buf_add_char(&c->body, ',');
        form_write_object(c->form, &o, FORM_ROW, &c->arena, &c->body);
    }
    form_end_list(c->form, &c->body);
    c->code = 200;
    c->content_type = STR("application/json");
    call_finish(c);
}

static void serve_components(struct call *c)
{
    c->response.warnings = STR("v1 ComponentStatus is deprecated in v1.19+");
    if (c->request.verb == API_LIST) {
        list_components(c);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(components); i++)
        if (str_is(c->request.name, components[i])) {
            struct json_value *v = arena_new(&c->arena, struct json_value);

            *v = component(components[i], &c->arena);
            call_answer_tree(c, v, 200);
            return;
        }
    status_not_found(&c->response.status, c->resource, c->request.name, &c->arena);
    call_refuse(c);
}

/* --- containers ------------------------------------------------------------------------------- */

static void refuse_connection(struct call *c, const char *why)
{
    struct api_status *s = &c->response.status;

    if (!store_get(c->server->store, resource_stored(c->resource), c->request.namespace,
                   c->request.name)) {
        status_not_found(s, c->resource, c->request.name, &c->arena);
        call_refuse(c);
        return;
    }
    *s = (struct api_status){.code = 501,
                             .reason = "NotImplemented",
                             .kind = c->resource->plural,
                             .name = c->request.name,
                             .message = str_of(why)};
    call_refuse(c);
}

static void serve_log(struct call *c)
{
    refuse_connection(c, "the containers of this cluster are simulated and write no logs");
}

static void serve_connection(struct call *c)
{
    refuse_connection(c, "the containers of this cluster are simulated: no program runs in them");
}

static void serve_proxy(struct call *c)
{
    refuse_connection(c, "the containers and nodes of this cluster are simulated: nothing listens "
                         "on their ports");
}

/* --- the table -------------------------------------------------------------------------------- */

#define AUTHENTICATION "authentication.k8s.io"
#define AUTHORIZATION  "authorization.k8s.io"

static const struct row {
    const char *group, *plural, *subresource;
    virtual_fn *serve;
    bool streams;
} rows[] = {
    {"", "componentstatuses", "", serve_components, false},
    {"", "pods", "log", serve_log, true},
    {"", "pods", "exec", serve_connection, true},
    {"", "pods", "attach", serve_connection, true},
    {"", "pods", "portforward", serve_proxy, true},
    {"", "pods", "proxy", serve_proxy, true},
    {"", "services", "proxy", serve_proxy, true},
    {"", "nodes", "proxy", serve_proxy, true},
    {"", "serviceaccounts", "token", serve_token_request, false},
    {AUTHENTICATION, "tokenreviews", "", serve_token_review, false},
    {AUTHENTICATION, "selfsubjectreviews", "", serve_self_review, false},
    {AUTHORIZATION, "subjectaccessreviews", "", serve_access_review, false},
    {AUTHORIZATION, "localsubjectaccessreviews", "", serve_access_review, false},
    {AUTHORIZATION, "selfsubjectaccessreviews", "", serve_access_review, false},
    {AUTHORIZATION, "selfsubjectrulesreviews", "", serve_rules_review, false},
};

static const struct row *find_row(const struct call *c)
{
    const struct resource *r = c->resource;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(r->plural, rows[i].plural) && str_is(r->group, rows[i].group) &&
            str_is(c->route.subresource, rows[i].subresource))
            return &rows[i];
    return NULL;
}

virtual_fn *virtual_find(const struct call *c)
{
    const struct row *row = find_row(c);

    return row ? row->serve : NULL;
}

bool virtual_streams(const struct call *c)
{
    const struct row *row = find_row(c);

    return row && row->streams;
}
