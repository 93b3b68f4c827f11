/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/plugin_metrics.h"

#include <math.h>

struct berth_metric {
    struct metric_desc desc; /* texts and buckets are in the part's arena */
    size_t n_labels;
    struct metric_family *family; /* NULL: metrics are off */
};

/* All metrics of plugins in a registry. */
struct plugin_metrics {
    struct metrics *registry;
    struct arena arena;
    VEC(struct berth_metric *) list;
};

static void init_part(void *state, struct metrics *registry)
{
    struct plugin_metrics *all = state;
    all->registry = registry;
    arena_init(&all->arena, 0);
}

static void release_part(void *state)
{
    struct plugin_metrics *all = state;
    vec_release(&all->list);
    arena_release(&all->arena);
}

static const struct metrics_part part = {
    .size = sizeof(struct plugin_metrics), .init = init_part, .release = release_part};

void plugin_metrics_prepare(struct metrics *registry)
{
    (void)metrics_part(registry, &part);
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_name(const char *name, bool colons)
{
    if (!name || !*name || (*name >= '0' && *name <= '9'))
        return false;
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
              *p == '_' || (colons && *p == ':')))
            return false;
    return true;
}

static bool has_label(const struct berth_metric_desc *d, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(d->labels[i], name) == 0)
            return true;
    return false;
}

/* What is wrong with it; NULL: nothing. */
static const char *fault_of(const struct berth_metric_desc *d)
{
    if (!is_name(d->name, true))
        return "its name is not that of a metric";
    if ((unsigned)d->kind > BERTH_METRIC_HISTOGRAM)
        return "its kind is unknown";
    if (d->n_labels > BERTH_METRIC_MAX_LABELS)
        return "it has too many labels";
    for (size_t i = 0; i < d->n_labels; i++)
        if (!is_name(d->labels[i], false) || has_label(d, i, d->labels[i]) ||
            strcmp(d->labels[i], "le") == 0)
            return "the name of a label is not allowed, or there twice";
    if (d->kind == BERTH_METRIC_HISTOGRAM && !d->n_buckets)
        return "a histogram needs buckets";
    for (size_t i = 0; i < d->n_buckets; i++)
        if (!isfinite(d->buckets[i]) || (i && d->buckets[i] <= d->buckets[i - 1]))
            return "its buckets are not in ascending order";
    return NULL;
}

static bool same_shape(const struct berth_metric *m, const struct berth_metric_desc *d)
{
    if ((int)m->desc.kind != (int)d->kind || m->n_labels != d->n_labels)
        return false;
    for (size_t i = 0; i < d->n_labels; i++)
        if (strcmp(m->desc.labels[i], d->labels[i]) != 0)
            return false;
    return true;
}

/* --- making ----------------------------------------------------------------------------------- */

static const char *keep(struct plugin_metrics *all, const char *text)
{
    return arena_dup(&all->arena, str_of(text)).p;
}

static struct berth_metric *add(struct plugin_metrics *all, const struct berth_metric_desc *d)
{
    static const enum metric_kind kinds[] = {[BERTH_METRIC_COUNTER] = METRIC_COUNTER,
                                             [BERTH_METRIC_GAUGE] = METRIC_GAUGE,
                                             [BERTH_METRIC_HISTOGRAM] = METRIC_HISTOGRAM};
    struct berth_metric *m = arena_new(&all->arena, struct berth_metric);
    m->n_labels = d->n_labels;
    m->desc = (struct metric_desc){.name = keep(all, d->name),
                                   .help = keep(all, d->help ? d->help : ""),
                                   .kind = kinds[d->kind]};
    for (size_t i = 0; i < d->n_labels; i++)
        m->desc.labels[i] = keep(all, d->labels[i]);
    if (d->kind == BERTH_METRIC_HISTOGRAM) {
        double *buckets = arena_array(&all->arena, double, d->n_buckets);
        memcpy(buckets, d->buckets, d->n_buckets * sizeof(*buckets));
        m->desc.buckets = buckets;
        m->desc.n_buckets = d->n_buckets;
    }
    m->family = metrics_add(all->registry, &m->desc);
    vec_push(&all->list, m);
    return m;
}

static struct berth_metric *find(const struct plugin_metrics *all, const char *name)
{
    for (size_t i = 0; i < all->list.n; i++)
        if (strcmp(all->list.v[i]->desc.name, name) == 0)
            return all->list.v[i];
    return NULL;
}

static struct berth_metric *refuse(const struct berth_handle *h, const struct berth_metric_desc *d,
                                   const char *why)
{
    engine_log_error(&h->framework->log, "A plugin's metric is refused",
                     KV_CSTR("plugin", h->plugin->name), KV_CSTR("metric", d->name ? d->name : ""),
                     KV_CSTR("err", why));
    return NULL;
}

struct berth_metric *plugin_metric_new(const struct berth_handle *h,
                                       const struct berth_metric_desc *desc)
{
    static struct berth_metric off;
    const char *fault = fault_of(desc);
    if (fault)
        return refuse(h, desc, fault);
    if (!h->framework->registry)
        return &off;
    struct plugin_metrics *all = metrics_part(h->framework->registry, &part);
    struct berth_metric *m = find(all, desc->name);
    if (!m && metrics_has(h->framework->registry, desc->name))
        return refuse(h, desc, "berth has a metric of this name");
    if (!m)
        m = add(all, desc);
    return same_shape(m, desc) ? m : refuse(h, desc, "it exists with another kind or other labels");
}

void plugin_metric_update(struct berth_metric *m, enum plugin_metric_update update,
                          const struct berth_str *labels, double value)
{
    struct str values[BERTH_METRIC_MAX_LABELS];
    if (!m || !m->family)
        return;
    bool histogram = m->desc.kind == METRIC_HISTOGRAM;
    if (histogram != (update == PLUGIN_METRIC_OBSERVE) ||
        (m->desc.kind == METRIC_COUNTER && (update == PLUGIN_METRIC_SET || !(value >= 0))))
        return;
    for (size_t i = 0; i < m->n_labels; i++)
        values[i] = str_abi(labels[i]);
    struct metric *series = metric_with(m->family, m->n_labels ? values : NULL);
    if (update == PLUGIN_METRIC_ADD)
        metric_add(series, value);
    else if (update == PLUGIN_METRIC_SET)
        metric_set(series, value);
    else
        metric_observe(series, value);
}
