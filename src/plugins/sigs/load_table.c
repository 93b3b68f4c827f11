/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/load_table.h"

#include <math.h>

#include "api/quantity.h"

void load_table_release(struct load_table *t)
{
    map_each (e, &t->nodes)
        free(e->value);
    map_release(&t->nodes);
    *t = (struct load_table){0};
}

const struct node_load *load_table_node(const struct load_table *t, struct str node)
{
    return map_get(&t->nodes, node);
}

static struct node_load *node_of(struct load_table *t, struct str name)
{
    struct node_load *node = map_get(&t->nodes, name);
    if (node)
        return node;
    node = xcalloc(1, sizeof(*node) + name.n + 1);
    if (name.n)
        memcpy(node->name, name.p, name.n);
    map_put(&t->nodes, (struct str){node->name, name.n}, node);
    return node;
}

/* Of several averages the last counts; a latest value counts if no average came before it. */
static void add_usage(struct load_usage *u, enum load_operator op, double percent)
{
    percent = fmax(percent, 0);
    u->found = true;
    if (op == LOAD_DEVIATION) {
        u->deviation = percent;
        return;
    }
    u->last = percent;
    u->has_last = true;
    if (op == LOAD_AVERAGE || !u->has_average)
        u->average = percent;
    u->has_average |= op == LOAD_AVERAGE;
}

/* Numbers that are not finite are ignored. */
static void add(struct load_table *t, struct str node, enum load_resource resource,
                enum load_operator op, double percent)
{
    if (!isfinite(percent))
        return;
    struct node_load *load = node_of(t, node);
    load->any = true;
    add_usage(&load->usage[resource], op, percent);
}

/* --- load watcher ----------------------------------------------------------------------------- */

struct watcher_metric {
    struct str type, operator;
    double value;
};

struct watcher_node {
    LIST(struct watcher_metric) metrics;
};

static const struct field watcher_metric_fields[] = {
    F_ONE(struct watcher_metric, type, "type", 0, STR),
    F_ONE(struct watcher_metric, operator, "operator", 0, STR),
    F_ONE(struct watcher_metric, value, "value", 0, DOUBLE),
};
static const struct type watcher_metric_type =
    TYPE("Metric", struct watcher_metric, watcher_metric_fields);
static const struct field watcher_node_fields[] = {
    F_LIST_MSG(struct watcher_node, metrics, "metrics", 0, struct watcher_metric,
               &watcher_metric_type),
};
static const struct type watcher_node_type =
    TYPE("NodeMetrics", struct watcher_node, watcher_node_fields);

struct watcher_window {
    int64_t end;
};
static const struct field watcher_window_fields[] = {
    F_ONE(struct watcher_window, end, "end", 0, INT64),
};
static const struct type watcher_window_type =
    TYPE("Window", struct watcher_window, watcher_window_fields);

struct watcher_reading {
    struct load_table *table;
    struct arena arena; /* of the node that is being read */
    struct err *reterr;
    int code;
    bool has_nodes;
};

/* A metric without an operator is the latest value, for old watchers; TargetLoadPacking skips it.
 */
static void add_metric(struct node_load *load, const struct watcher_metric *m)
{
    struct load_usage *u;
    load->any = true;
    if (str_is(m->type, "CPU"))
        u = &load->usage[LOAD_CPU];
    else if (str_is(m->type, "Memory"))
        u = &load->usage[LOAD_MEMORY];
    else
        return;
    u->found = true;
    if (str_is(m->operator, "AVG"))
        add_usage(u, LOAD_AVERAGE, m->value);
    else if (str_is(m->operator, "STD"))
        add_usage(u, LOAD_DEVIATION, m->value);
    else if (str_is(m->operator, "Latest"))
        add_usage(u, LOAD_LATEST, m->value);
    else if (str_empty(m->operator) && !u->has_average)
        u->average = fmax(m->value, 0);
}

static bool take_node(void *ctx, struct str name, struct str value)
{
    struct watcher_reading *r = ctx;
    struct watcher_node node;
    arena_reset(&r->arena);
    r->code = json_decode(value, &watcher_node_type, 0, &r->arena, &node, r->reterr);
    if (r->code < 0) {
        err_prefix(r->reterr, r->code, "%.*s", (int)MIN(name.n, (size_t)100), name.p);
        return false;
    }
    for (size_t i = 0; i < node.metrics.n; i++)
        add_metric(node_of(r->table, name), &node.metrics.v[i]);
    return true;
}

static bool take_nodes(void *ctx, struct str name, struct str value)
{
    struct watcher_reading *r = ctx;
    if (!str_is(name, "NodeMetricsMap"))
        return true;
    r->has_nodes = true;
    int code = json_each_member(value, take_node, r, r->reterr);
    r->code = MIN(r->code, code);
    return r->code == 0;
}

static bool take_part(void *ctx, struct str name, struct str value)
{
    struct watcher_reading *r = ctx;
    int code = 0;
    if (str_is(name, "data")) {
        code = json_each_member(value, take_nodes, r, r->reterr);
    } else if (str_is(name, "window")) {
        struct watcher_window window;
        code = json_decode(value, &watcher_window_type, 0, &r->arena, &window, r->reterr);
        if (code == 0)
            r->table->window_end = window.end;
    }
    r->code = MIN(r->code, code);
    return r->code == 0;
}

int load_table_read_watcher(struct load_table *t, struct str body, struct err *reterr)
{
    struct watcher_reading r = {.table = t, .reterr = reterr};
    arena_init(&r.arena, 0);
    int code = json_each_member(body, take_part, &r, reterr);
    arena_release(&r.arena);
    if (r.code < 0 || code < 0)
        return MIN(r.code, code);
    if (!r.has_nodes)
        return err_set(reterr, -EBADMSG, "no data.NodeMetricsMap in the response");
    t->filled = true;
    return 0;
}

/* --- Prometheus ------------------------------------------------------------------------------- */

/* {"metric": {"instance": "n1"}, "value": [1700000000.1, "0.25"]} */
static bool sample_of(const struct json_value *sample, struct str *ret_node, double *ret_value)
{
    const struct json_value *pair = json_get(sample, STR("value"));
    char text[64];
    if (!pair || pair->kind != JSON_ARRAY || pair->n != 2 || pair->items[1].kind != JSON_STRING ||
        pair->items[1].text.n >= sizeof(text))
        return false;
    *ret_node = json_get_text(json_get(sample, STR("metric")), STR("instance"));
    memcpy(text, pair->items[1].text.p, pair->items[1].text.n);
    text[pair->items[1].text.n] = '\0';
    char *end;
    *ret_value = strtod(text, &end);
    return *text && !*end;
}

int load_table_read_prometheus(struct load_table *t, struct str body, enum load_resource resource,
                               enum load_operator op, struct err *reterr)
{
    struct arena a;
    struct json_value v;
    arena_init(&a, 0);
    int r = json_parse(body, 0, &a, &v, reterr);
    const struct json_value *data = r == 0 ? json_get(&v, STR("data")) : NULL;
    const struct json_value *samples = json_get(data, STR("result"));
    if (r == 0 && !str_is(json_get_text(&v, STR("status")), "success"))
        r = err_set(reterr, -EBADMSG, "the query failed: %.*s",
                    STR_ARG(str_slice(json_get_text(&v, STR("error")), 0, 200)));
    else if (r == 0 && (!str_is(json_get_text(data, STR("resultType")), "vector") || !samples ||
                        samples->kind != JSON_ARRAY))
        r = err_set(reterr, -EBADMSG, "the result of the query is not a vector");
    for (size_t i = 0; r == 0 && i < samples->n; i++) {
        struct str node;
        double ratio;
        if (sample_of(&samples->items[i], &node, &ratio))
            add(t, node, resource, op, ratio * 100);
    }
    arena_release(&a);
    t->filled |= r == 0;
    return r;
}

/* --- metrics server --------------------------------------------------------------------------- */

static void add_used(struct load_table *t, const struct json_value *metrics, struct str node,
                     enum load_resource resource, int64_t capacity)
{
    static const struct str names[] = {
        [LOAD_CPU] = STR_INIT("cpu"), [LOAD_MEMORY] = STR_INIT("memory")};
    struct quantity q;
    struct arena a;
    arena_init(&a, 256);
    struct str text = json_get_text(json_get(metrics, STR("usage")), names[resource]);
    if (capacity > 0 && !str_empty(text) && quantity_parse(text, &a, &q, NULL) == 0) {
        int64_t used = resource == LOAD_CPU ? quantity_milli_value(&q) : quantity_value(&q);
        add(t, node, resource, LOAD_LATEST, 100.0 * (double)used / (double)capacity);
    }
    arena_release(&a);
}

int load_table_read_node_metrics(struct load_table *t, const struct json_value *list,
                                 load_capacity_fn *capacity, void *ctx, struct err *reterr)
{
    const struct json_value *items = json_get(list, STR("items"));
    if (!items || items->kind != JSON_ARRAY)
        return err_set(reterr, -EBADMSG, "the response is not a NodeMetricsList");
    for (size_t i = 0; i < items->n; i++) {
        struct str node = json_get_text(json_get(&items->items[i], STR("metadata")), STR("name"));
        struct load_capacity c;
        if (!capacity(ctx, node, &c))
            continue;
        for (int k = 0; k < LOAD_RESOURCES; k++)
            add_used(t, &items->items[i], node, (enum load_resource)k, c.amount[k]);
    }
    t->filled = true;
    return 0;
}
