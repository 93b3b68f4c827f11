/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/dump.h"

#include "engine/rooms.h"

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* --- nodes ------------------------------------------------------------------------------------ */

void dump_list_nodes(const struct engine *e, dump_list *list)
{
    map_each (entry, &e->cache.nodes) {
        const struct berth_node *node = entry->value;
        vec_push(list, str_of(node->name));
    }
}

static void write_resource(const struct engine *e, const struct resource *r, int64_t pods,
                           struct buf *out)
{
    dump_list scalars = {0};
    struct buf text = BUF_INIT;
    buf_add_printf(out,
                   "&{MilliCPU:%lld Memory:%lld EphemeralStorage:%lld AllowedPodNumber:%lld "
                   "ScalarResources:map[",
                   (long long)r->milli_cpu, (long long)r->memory, (long long)r->ephemeral_storage,
                   (long long)pods);
    for (size_t i = 0; i < r->scalars.n; i++) {
        struct str name = intern_text(&e->names, r->scalars.v[i].name);
        buf_clear(&text);
        buf_add_printf(&text, "%.*s:%lld", STR_ARG(name), (long long)r->scalars.v[i].amount);
        vec_push(&scalars, str_of(str_dup(buf_str(&text))));
    }
    if (scalars.n)
        qsort(scalars.v, scalars.n, sizeof(scalars.v[0]), by_text);
    for (size_t i = 0; i < scalars.n; i++) {
        buf_add_printf(out, "%s%.*s", i ? " " : "", STR_ARG(scalars.v[i]));
        free((char *)scalars.v[i].p);
    }
    buf_add_cstr(out, "]}");
    vec_release(&scalars);
    buf_release(&text);
}

static void write_pod(const struct berth_pod *pod, struct buf *out)
{
    const struct object_meta *meta = &pod->pod->metadata;
    const struct pod_status *status = &pod->pod->status;
    buf_add_printf(out,
                   "name: %.*s, namespace: %.*s, uid: %.*s, phase: %.*s, nominated node: %.*s\n",
                   STR_ARG(meta->name), STR_ARG(meta->namespace), STR_ARG(meta->uid),
                   STR_ARG(status->phase), STR_ARG(status->nominated_node_name));
}

static void write_node(const struct engine *e, const struct berth_node *node, struct buf *out)
{
    buf_add_printf(out, "Node name: %s\nDeleted: %s\nRequested Resources: ", node->name,
                   node->object ? "false" : "true");
    write_resource(e, &node->requested, 0, out);
    buf_add_cstr(out, "\nAllocatable Resources:");
    write_resource(e, &node->allocatable, node->allocatable.pods, out);
    buf_add_printf(out, "\nScheduled Pods(number: %zu):\n", node->pods.n);
    for (size_t i = 0; i < node->pods.n; i++)
        write_pod(node->pods.v[i], out);
    const struct nominated_node *promised = nominator_node(&e->queue.nominator, str_of(node->name));
    if (!promised)
        return;
    buf_add_printf(out, "Nominated Pods(number: %zu):\n", promised->pods.n);
    for (size_t i = 0; i < promised->pods.n; i++)
        write_pod(promised->pods.v[i], out);
}

void dump_nodes(const struct engine *e, struct buf *out)
{
    dump_list names = {0};
    dump_list_nodes(e, &names);
    if (names.n)
        qsort(names.v, names.n, sizeof(names.v[0]), by_text);
    for (size_t i = 0; i < names.n; i++) {
        if (i)
            buf_add_cstr(out, "\n\n");
        write_node(e, cache_node(&e->cache, names.v[i]), out);
    }
    vec_release(&names);
}

/* --- pods that wait --------------------------------------------------------------------------- */

typedef void queued_fn(void *ctx, const struct berth_queued_pod *qp);

static void each_in_heap(const struct heap *heap, queued_fn *fn, void *ctx)
{
    for (size_t i = 0; i < heap->items.n; i++)
        fn(ctx, CONTAINER_OF(heap->items.v[i], struct berth_queued_pod, node));
}

static void each_parked(const struct queue *q, queued_fn *fn, void *ctx)
{
    map_each (entry, &q->cohorts.by_key) {
        const struct cohort *c = entry->value;
        for (size_t i = 0; i < c->parked.items.n; i++)
            fn(ctx, CONTAINER_OF(c->parked.items.v[i], struct berth_queued_pod, cohort_node));
    }
}

static void each_waiting(const struct engine *e, queued_fn *fn, void *ctx)
{
    each_in_heap(&e->queue.active, fn, ctx);
    each_in_heap(&e->queue.backoff, fn, ctx);
    each_in_heap(&e->queue.error_backoff, fn, ctx);
    each_parked(&e->queue, fn, ctx);
    for (size_t i = 0; i < e->queue.unschedulable.n; i++)
        fn(ctx, e->queue.unschedulable.v[i]);
}

static void on_list(void *ctx, const struct berth_queued_pod *qp)
{
    dump_list *list = ctx;
    vec_push(list, pod_info_key(qp->pod));
}

static void on_write(void *ctx, const struct berth_queued_pod *qp)
{
    write_pod(qp->pod, ctx);
}

void dump_list_pods(const struct engine *e, dump_list *list)
{
    map_each (entry, &e->cache.nodes) {
        const struct berth_node *node = entry->value;
        for (size_t i = 0; i < node->pods.n; i++)
            vec_push(list, pod_info_key(node->pods.v[i]));
    }
    each_waiting(e, on_list, list);
}

void dump_queue_summary(const struct engine *e, struct buf *out)
{
    const struct queue *q = &e->queue;
    buf_add_printf(out, "activeQ:%zu; backoffQ:%zu; unschedulablePods:%zu", q->active.items.n,
                   q->backoff.items.n + q->error_backoff.items.n + q->cohorts.n_parked,
                   q->unschedulable.n);
}

void dump_queue(const struct engine *e, struct buf *out)
{
    each_waiting(e, on_write, out);
}
