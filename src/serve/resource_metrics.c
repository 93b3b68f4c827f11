/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/resource_metrics.h"

#include "api/resources.h"
#include "base/metrics.h"
#include "base/vec.h"
#include "net/offload.h"

/* Sorted by name, the order in which they are written. */
#define LABELS {"namespace", "node", "pod", "priority", "resource", "scheduler", "unit"}

static const struct metric_desc request_desc = {
    "kube_pod_resource_request",
    "Resources requested by workloads on the cluster, broken down by pod. This shows the resource "
    "usage the scheduler and kubelet expect per pod for resources along with the unit for the "
    "resource if any.",
    "STABLE", METRIC_GAUGE, .labels = LABELS};
static const struct metric_desc limit_desc = {
    "kube_pod_resource_limit",
    "Resources limit for workloads on the cluster, broken down by pod. This shows the resource "
    "usage the scheduler and kubelet expect per pod for resources along with the unit for the "
    "resource if any.",
    "STABLE", METRIC_GAUGE, .labels = LABELS};

/* Upstream uses the spec only, without resizes in progress. */
static const struct resource_gates gates = {.pod_level_resources = true};

struct row {
    const struct pod *pod;
    struct str resource;
    double amount;
};

typedef VEC(struct row) rows_vec;

struct resource_metrics {
    VEC(struct object *) pods; /* a reference on each */
    struct buf text;
    resource_metrics_fn *fn; /* NULL: cancelled. The loop's thread only. */
    void *ctx;
};

struct page {
    rows_vec requests, limits;
    struct arena arena; /* for one pod */
};

/* --- pods ------------------------------------------------------------------------------------- */

static void add_rows(rows_vec *rows, const struct pod *pod, const quantity_map *amounts)
{
    for (size_t i = 0; i < amounts->n; i++)
        if (!quantity_is_zero(&amounts->v[i].value))
            vec_push(rows, (struct row){pod, amounts->v[i].key,
                                        quantity_approximate(&amounts->v[i].value)});
}

static bool has_ended(const struct pod *pod)
{
    return !str_empty(pod->spec.node_name) && pod_is_terminal(pod);
}

static void add_pod(struct page *page, const struct pod *pod)
{
    quantity_map requests, limits;
    if (has_ended(pod))
        return;
    pod_requests(pod, &gates, NULL, &page->arena, &requests);
    pod_limits(pod, &page->arena, &limits);
    add_rows(&page->requests, pod, &requests);
    add_rows(&page->limits, pod, &limits);
    arena_reset(&page->arena);
}

/* --- text ------------------------------------------------------------------------------------- */

static int by_labels(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int c = str_cmp(x->pod->metadata.namespace, y->pod->metadata.namespace);
    if (!c)
        c = str_cmp(x->pod->spec.node_name, y->pod->spec.node_name);
    if (!c)
        c = str_cmp(x->pod->metadata.name, y->pod->metadata.name);
    return c ? c : str_cmp(x->resource, y->resource);
}

static const char *unit_of(struct str resource)
{
    if (str_eq(resource, RESOURCE_CPU))
        return "cores";
    if (str_eq(resource, RESOURCE_MEMORY) || str_is(resource, "storage") ||
        str_eq(resource, RESOURCE_EPHEMERAL_STORAGE) ||
        str_starts(resource, RESOURCE_HUGE_PAGES_PREFIX))
        return "bytes";
    return str_starts(resource, RESOURCE_ATTACHABLE_VOLUMES_PREFIX) ? "integer" : "";
}

static void write_family(const struct metric_desc *desc, rows_vec *rows, struct buf *out)
{
    if (!rows->n)
        return;
    qsort(rows->v, rows->n, sizeof(*rows->v), by_labels);
    metric_write_head(desc, out);
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->v[i];
        const struct pod *pod = row->pod;
        char priority[16] = "";
        if (pod->spec.priority)
            snprintf(priority, sizeof(priority), "%d", *pod->spec.priority);
        struct str values[] = {pod->metadata.namespace,
                               pod->spec.node_name,
                               pod->metadata.name,
                               str_of(priority),
                               row->resource,
                               pod->spec.scheduler_name,
                               str_of(unit_of(row->resource))};
        metric_write_line(desc, values, row->amount, out);
    }
}

static void write_page(void *ctx)
{
    struct resource_metrics *m = ctx;
    struct page page = {0};
    arena_init(&page.arena, 4096);
    for (size_t i = 0; i < m->pods.n; i++)
        add_pod(&page, object_pod(m->pods.v[i]));
    write_family(&limit_desc, &page.limits, &m->text);
    write_family(&request_desc, &page.requests, &m->text);
    arena_release(&page.arena);
    vec_release(&page.limits);
    vec_release(&page.requests);
}

/* --- job -------------------------------------------------------------------------------------- */

static void free_page(void *ctx)
{
    struct resource_metrics *m = ctx;
    for (size_t i = 0; i < m->pods.n; i++)
        object_unref(m->pods.v[i]);
    vec_release(&m->pods);
    buf_release(&m->text);
    free(m);
}

static void deliver(void *ctx)
{
    struct resource_metrics *m = ctx;
    if (m->fn)
        m->fn(m->ctx, buf_str(&m->text));
    free_page(m);
}

static const struct offload job = {.work = write_page, .done = deliver, .gone = free_page};

static void take_pod(void *ctx, struct object *pod)
{
    struct resource_metrics *m = ctx;
    vec_push(&m->pods, object_ref(pod));
}

struct resource_metrics *resource_metrics_start(struct loop *loop, const struct world *world,
                                                resource_metrics_fn *fn, void *ctx)
{
    struct resource_metrics *m = xnew(struct resource_metrics);
    m->fn = fn;
    m->ctx = ctx;
    world_each_pod(world, take_pod, m);
    if (offload_start(loop, &job, m) < 0) {
        write_page(m);
        loop_post(loop, deliver, m);
    }
    return m;
}

void resource_metrics_cancel(struct resource_metrics *m)
{
    if (m)
        m->fn = NULL;
}
