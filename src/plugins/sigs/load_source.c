/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/load_source.h"

#include "api/custom.h"
#include "api/resources.h"
#include "base/time.h"
#include "engine/framework/framework.h"
#include "plugins/common/plugin_base.h"

#define WATCHER_PERIOD  (30 * NSEC_PER_SEC)
#define PROVIDER_PERIOD (60 * NSEC_PER_SEC)
#define RETRY_PERIOD    (5 * NSEC_PER_SEC)
/* A load watcher with all metrics of Prometheus answers with about 5 kB per node. */
#define MAX_BODY        ((size_t)64 << 20)
#define WINDOW          "15m"
#define PROMETHEUS      "http://prometheus-k8s:9090"
#define METRICS_GROUP   "metrics.k8s.io"

enum load_provider { PROVIDER_WATCHER, PROVIDER_PROMETHEUS, PROVIDER_METRICS_SERVER };

struct load_source {
    struct load_sources *all;
    size_t users;
    char *key; /* identifies what is asked, and how */
    enum load_provider provider;
    char *address;       /* without a slash at the end */
    char *authorization; /* "Bearer …" or "" */
    bool insecure;
    size_t query; /* Prometheus: the next one */
    struct load_table now, next;
    uint64_t request, timer; /* the one that is under way; else 0 */
    char *failure;           /* the last one that was logged; NULL: the source works */
};

/* The shared state. */
struct load_sources {
    const struct berth_host *host;
    struct berth_handle *handle;
    VEC(struct load_source *) v;
};

static void fetch(void *ctx);

/* --- results ---------------------------------------------------------------------------------- */

static void plan(struct load_source *s, int64_t period)
{
    s->timer = s->all->host->timer(s->all->handle, period, fetch, s);
}

static int64_t period_of(const struct load_source *s)
{
    return s->provider == PROVIDER_WATCHER ? WATCHER_PERIOD : PROVIDER_PERIOD;
}

static void report(const struct load_source *s, int level, struct berth_str message,
                   const char *failure)
{
    struct berth_kv kv[] = {
        BERTH_KV_STR("address", abi_str(str_of(s->address))),
        BERTH_KV_STR("err", abi_str(str_of(failure))),
    };
    s->all->host->log(s->all->handle, level, message, kv, failure ? 2 : 1);
}

static void fail(struct load_source *s, const char *failure)
{
    load_table_release(&s->next);
    if (!s->failure || strcmp(s->failure, failure) != 0) {
        report(s, BERTH_LOG_ERROR,
               s->now.filled
                   ? BERTH_STR("Unable to update metrics; nodes are scored by the last ones")
                   : BERTH_STR("Unable to update metrics; nodes get the lowest score"),
               failure);
        free(s->failure);
        s->failure = xstrdup(failure);
    }
    plan(s, period_of(s));
}

static void succeed(struct load_source *s)
{
    int64_t now = handle_wall(s->all->handle) / NSEC_PER_SEC;
    load_table_release(&s->now);
    s->now = s->next;
    s->next = (struct load_table){0};
    /* A window does not end in the future: the clocks differ. */
    if (s->provider != PROVIDER_WATCHER || s->now.window_end > now)
        s->now.window_end = now;
    report(s, 4, BERTH_STR("Updated metrics"), NULL);
    if (s->failure) {
        report(s, 0, BERTH_STR("Metrics are updated again"), NULL);
        free(s->failure);
        s->failure = NULL;
    }
    /* Usage is not known in percent before the nodes are. */
    bool early = s->provider == PROVIDER_METRICS_SERVER && !s->now.nodes.n;
    plan(s, early ? RETRY_PERIOD : period_of(s));
}

/* --- requests --------------------------------------------------------------------------------- */

static const struct {
    const char *query;
    enum load_resource resource;
    enum load_operator op;
} prometheus_queries[] = {
    {"avg_over_time(instance:node_cpu:ratio%5B" WINDOW "%5D)", LOAD_CPU, LOAD_AVERAGE},
    {"avg_over_time(instance:node_memory_utilisation:ratio%5B" WINDOW "%5D)", LOAD_MEMORY,
     LOAD_AVERAGE},
    {"stddev_over_time(instance:node_cpu:ratio%5B" WINDOW "%5D)", LOAD_CPU, LOAD_DEVIATION},
    {"stddev_over_time(instance:node_memory_utilisation:ratio%5B" WINDOW "%5D)", LOAD_MEMORY,
     LOAD_DEVIATION},
};

static int read_body(struct load_source *s, struct str body, struct err *reterr)
{
    if (s->provider == PROVIDER_WATCHER)
        return load_table_read_watcher(&s->next, body, reterr);
    return load_table_read_prometheus(&s->next, body, prometheus_queries[s->query].resource,
                                      prometheus_queries[s->query].op, reterr);
}

static void get_next(struct load_source *s);

static void on_answer(void *ctx, const struct berth_http_result *result)
{
    struct load_source *s = ctx;
    struct err err;
    s->request = 0;
    if (result->status == 0)
        err_set(&err, -EIO, "%.*s", BERTH_STR_ARG(result->message));
    else if (result->status != 200)
        err_set(&err, -EIO, "received status code %d", result->status);
    else if (read_body(s, str_abi(result->body), &err) == 0) {
        if (s->provider == PROVIDER_PROMETHEUS && ++s->query < ARRAY_LEN(prometheus_queries))
            get_next(s);
        else
            succeed(s);
        return;
    }
    fail(s, err.msg);
}

static void get_next(struct load_source *s)
{
    struct buf url = BUF_INIT;
    if (s->provider == PROVIDER_WATCHER)
        buf_add_printf(&url, "%s/watcher", s->address);
    else
        buf_add_printf(&url, "%s/api/v1/query?query=%s", s->address,
                       prometheus_queries[s->query].query);
    struct berth_http_get get = {.struct_size = sizeof(get),
                                 .url = abi_str(buf_str(&url)),
                                 .authorization = abi_str(str_of(s->authorization)),
                                 .max_body = MAX_BODY,
                                 .insecure_skip_verify = s->insecure};
    s->request = s->all->host->http_get(s->all->handle, &get, on_answer, s);
    buf_release(&url);
}

static bool capacity_of(void *ctx, struct str name, struct load_capacity *ret_capacity)
{
    const struct load_source *s = ctx;
    const struct berth_node *node = s->all->host->node_by_name(s->all->handle, abi_str(name));
    if (!node || !node->node)
        return false;
    const quantity_map *capacity = &node->node->status.capacity;
    const struct quantity *cpu = quantity_map_get(capacity, RESOURCE_CPU);
    const struct quantity *memory = quantity_map_get(capacity, RESOURCE_MEMORY);
    ret_capacity->amount[LOAD_CPU] = cpu ? quantity_milli_value(cpu) : 0;
    ret_capacity->amount[LOAD_MEMORY] = memory ? quantity_value(memory) : 0;
    return true;
}

static void on_list(void *ctx, const struct berth_api_result *result)
{
    struct load_source *s = ctx;
    struct err err;
    s->request = 0;
    if (!result->object || result->status != 200) {
        err_set(&err, -EIO, "%.*s", BERTH_STR_ARG(result->message));
        if (!*err.msg)
            err_set(&err, -EIO, "received status code %d", result->status);
        fail(s, err.msg);
        return;
    }
    const struct custom_object *list = object_body(object_of_abi(result->object));
    if (load_table_read_node_metrics(&s->next, &list->value, capacity_of, s, &err) < 0)
        fail(s, err.msg);
    else
        succeed(s);
}

/* The list is read as one object, a NodeMetricsList without a name. */
static void get_list(struct load_source *s)
{
    struct berth_api_call call = {.struct_size = sizeof(call),
                                  .verb = BERTH_API_GET,
                                  .api_version = BERTH_STR(METRICS_GROUP "/v1beta1"),
                                  .resource = BERTH_STR("nodes")};
    s->request = s->all->host->api_call(s->all->handle, &call, on_list, s);
}

static void fetch(void *ctx)
{
    struct load_source *s = ctx;
    s->timer = 0;
    s->query = 0;
    if (s->provider == PROVIDER_METRICS_SERVER)
        get_list(s);
    else
        get_next(s);
}

/* --- making and ending ------------------------------------------------------------------------ */

static void *make_sources(const struct berth_host *host, struct berth_handle *h)
{
    struct load_sources *all = xnew(struct load_sources);
    all->host = host;
    all->handle = h;
    return all;
}

static void free_sources(void *data)
{
    struct load_sources *all = data;
    vec_release(&all->v);
    free(all);
}

static const struct berth_shared_type sources_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "load metrics",
    .make = make_sources,
    .free = free_sources,
};

static char *without_slash(struct str address)
{
    while (address.n && address.p[address.n - 1] == '/')
        address.n--;
    return str_dup(address);
}

static char *key_of(const struct load_spec *spec)
{
    const struct metric_provider *p = &spec->metric_provider;
    struct buf key = BUF_INIT;
    key_begin(&key, spec->watcher_address ? *spec->watcher_address : STR(""));
    key_add(&key, p->type);
    key_add(&key, p->address);
    key_add(&key, p->token);
    key_add_number(&key, p->insecure_skip_verify && *p->insecure_skip_verify);
    return buf_take(&key);
}

static struct load_source *source_new(struct load_sources *all, const struct load_spec *spec,
                                      char *key)
{
    const struct metric_provider *p = &spec->metric_provider;
    struct load_source *s = xnew(struct load_source);
    struct str address = p->address;
    s->all = all;
    s->key = key;
    s->insecure = p->insecure_skip_verify && *p->insecure_skip_verify;
    s->authorization =
        str_empty(p->token) ? xstrdup("") : xasprintf("Bearer %.*s", STR_ARG(p->token));
    if (spec->watcher_address && !str_empty(*spec->watcher_address)) {
        s->provider = PROVIDER_WATCHER;
        address = *spec->watcher_address;
        *s->authorization = '\0'; /* the token is the provider's */
    } else if (str_is(p->type, "Prometheus")) {
        s->provider = PROVIDER_PROMETHEUS;
        if (str_empty(address))
            address = STR(PROMETHEUS);
    } else {
        s->provider = PROVIDER_METRICS_SERVER;
        address = STR(METRICS_GROUP);
        /* If there are too many custom kinds, each request fails and says so. */
        (void)kind_custom(&(struct kind_names){.api_version = STR(METRICS_GROUP "/v1beta1"),
                                               .kind = STR("NodeMetricsList"),
                                               .resource = STR("nodes")});
    }
    s->address = without_slash(address);
    return s;
}

struct load_source *load_source_open(const struct berth_host *host, struct berth_handle *h,
                                     const struct load_spec *spec)
{
    struct load_sources *all = host->shared(h, &sources_type);
    char *key = key_of(spec);
    for (size_t i = 0; i < all->v.n; i++)
        if (strcmp(all->v.v[i]->key, key) == 0) {
            free(key);
            all->v.v[i]->users++;
            return all->v.v[i];
        }
    struct load_source *s = source_new(all, spec, key);
    s->users = 1;
    vec_push(&all->v, s);
    fetch(s);
    return s;
}

void load_source_close(struct load_source *s)
{
    if (!s || --s->users)
        return;
    struct load_sources *all = s->all;
    for (size_t i = 0; i < all->v.n; i++)
        if (all->v.v[i] == s) {
            vec_swap_remove(&all->v, i);
            break;
        }
    if (s->request)
        all->host->api_forget(all->handle, s->request);
    if (s->timer)
        all->host->timer_cancel(all->handle, s->timer);
    load_table_release(&s->now);
    load_table_release(&s->next);
    free(s->key);
    free(s->address);
    free(s->authorization);
    free(s->failure);
    free(s);
}

const struct node_load *load_source_node(const struct load_source *s, struct str node)
{
    return load_table_node(&s->now, node);
}

int64_t load_source_window_end(const struct load_source *s)
{
    return s->now.window_end;
}
