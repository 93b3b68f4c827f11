/* SPDX-License-Identifier: Apache-2.0 */
/* The page /metrics: requests, watches and objects, with upstream's names. */
#include "apiserver/http/api_server_internal.h"

enum { REQUESTS, INFLIGHT, LONG_RUNNING, OBJECTS };

static const struct metric_desc descs[] = {
    [REQUESTS] = {.name = "apiserver_request_total",
                  .help = "Counter of apiserver requests broken out for each verb, dry run value, "
                          "group, version, resource, scope, component, and HTTP response code.",
                  .stability = "STABLE",
                  .kind = METRIC_COUNTER,
                  .labels = {"code", "component", "dry_run", "group", "resource", "scope",
                             "subresource", "verb", "version"}},
    [INFLIGHT] = {.name = "apiserver_current_inflight_requests",
                  .help = "Maximal number of currently used inflight request limit of this "
                          "apiserver per request kind in last second.",
                  .stability = "STABLE",
                  .kind = METRIC_GAUGE,
                  .labels = {"request_kind"}},
    [LONG_RUNNING] = {.name = "apiserver_longrunning_requests",
                      .help = "Gauge of all active long-running apiserver requests broken out by "
                              "verb, group, version, resource, scope and component. Not all "
                              "requests are tracked this way.",
                      .stability = "STABLE",
                      .kind = METRIC_GAUGE,
                      .labels = {"component", "verb"}},
    [OBJECTS] = {.name = "apiserver_storage_objects",
                 .help = "Number of stored objects at the time of last check split by kind.",
                 .stability = "STABLE",
                 .kind = METRIC_GAUGE,
                 .labels = {"resource"}},
};

void server_metrics_init(struct api_server *s)
{
    if (!s->options.metrics)
        s->own_metrics = metrics_new();
    s->metrics = s->options.metrics ? s->options.metrics : s->own_metrics;
    metrics_add_all(s->metrics, descs, ARRAY_LEN(descs), s->families);
}

static struct str verb_label(const struct call *c)
{
    static const char *const names[][2] = {{"get", "GET"},     {"list", "LIST"},
                                           {"watch", "WATCH"}, {"create", "POST"},
                                           {"update", "PUT"},  {"delete", "DELETE"},
                                           {"patch", "PATCH"}, {"deletecollection", "DELETE"}};

    if (c->request.verb == API_APPLY)
        return STR("APPLY");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(c->route.verb, names[i][0]))
            return str_of(names[i][1]);
    return STR("other");
}

static struct str scope_label(const struct call *c)
{
    if (!c->resource)
        return STR("");
    if (!str_empty(c->request.name) || str_is(c->route.verb, "create"))
        return STR("resource");
    return str_empty(c->request.namespace) ? STR("cluster") : STR("namespace");
}

void server_metrics_count(const struct call *c, int code)
{
    const struct resource *r = c->resource;
    struct str none = STR("");
    char text[16];
    int n = snprintf(text, sizeof(text), "%d", code);
    struct str values[] = {{text, (size_t)n},
                           STR("apiserver"),
                           c->request.dry_run ? STR("All") : none,
                           r ? r->group : none,
                           r ? r->plural : none,
                           scope_label(c),
                           r ? c->route.subresource : none,
                           verb_label(c),
                           r ? r->version : none};

    metric_add(metric_with(c->server->families[REQUESTS], values), 1);
}

void server_metrics_update(struct api_server *s)
{
    struct str all[] = {STR("readOnly")}, watch[] = {STR("apiserver"), STR("WATCH")};
    const struct resource *r = NULL;
    struct arena a;

    arena_init(&a, 0);
    metric_set(metric_with(s->families[INFLIGHT], all), (double)s->n_inflight);
    metric_set(metric_with(s->families[LONG_RUNNING], watch), (double)s->n_watches);
    while ((r = resources_next(s->resources, r))) {
        struct str name[] = {resource_qualified(r, &a)};

        if (resource_stored(r) == r && (r->verbs & VERB_LIST))
            metric_set(metric_with(s->families[OBJECTS], name), (double)store_count(s->store, r));
    }
    arena_release(&a);
}
