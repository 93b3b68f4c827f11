/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/numa_cache.h"

#include "api/custom.h"
#include "base/map.h"
#include "engine/framework/framework.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/numa_fit.h"
#include "plugins/sigs/pod_fingerprint.h"

struct numa_node {
    char *name;
    struct numa_topology *latest;    /* of the last object; NULL: none */
    struct numa_topology *trusted;   /* the last that is known to count all pods but `assumed`; may
                                        be `latest` */
    struct numa_topology *effective; /* trusted without what `assumed` takes; NULL: the same */
    object_list assumed;             /* pods bound since `trusted` was made */
    object_list reserved;            /* pods whose binding is under way */
    bool foreign;                    /* pods of other schedulers came or went since */
};

struct numa_cache {
    const struct berth_host *host;
    struct berth_handle *handle;
    enum berth_resource resource;
    struct map nodes; /* by name → struct numa_node */
    size_t n_over_reserve;
    struct numa_cache_options options; /* of over-reserve */
    VEC(char *) schedulers;            /* one per instance that over-reserves */
    uint64_t timer;
};

/* --- nodes ------------------------------------------------------------------------------------ */

static struct numa_node *node_of(struct numa_cache *c, struct str name)
{
    struct numa_node *node = map_get(&c->nodes, name);
    if (node)
        return node;
    node = xnew(struct numa_node);
    node->name = str_dup(name);
    map_put(&c->nodes, str_of(node->name), node);
    return node;
}

static void set_latest(struct numa_node *node, struct numa_topology *t)
{
    if (node->latest != node->trusted)
        numa_topology_free(node->latest);
    node->latest = t;
}

static void trust(struct numa_node *node)
{
    if (node->trusted != node->latest)
        numa_topology_free(node->trusted);
    node->trusted = node->latest;
}

static void free_node(struct numa_node *node)
{
    set_latest(node, NULL);
    trust(node);
    numa_topology_free(node->effective);
    for (size_t i = 0; i < node->assumed.n; i++)
        object_unref(node->assumed.v[i]);
    for (size_t i = 0; i < node->reserved.n; i++)
        object_unref(node->reserved.v[i]);
    vec_release(&node->assumed);
    vec_release(&node->reserved);
    free(node->name);
    free(node);
}

static void drop_if_unused(struct numa_cache *c, struct numa_node *node)
{
    if (node->latest || node->trusted || node->assumed.n || node->reserved.n)
        return;
    map_del(&c->nodes, str_of(node->name));
    free_node(node);
}

/* Takes the amounts from every zone: it is not known which one the kubelet takes. */
static void subtract(struct numa_topology *t, const struct object *pod, struct arena *a)
{
    quantity_map requests;
    numa_pod_requests(object_pod(pod), a, &requests);
    for (size_t i = 0; i < requests.n; i++) {
        size_t column = numa_topology_column(t, requests.v[i].key);
        for (size_t z = 0; z < t->n_zones; z++) {
            struct quantity *left = numa_available(t, z, column);
            if (!left)
                continue;
            if (quantity_cmp(left, &requests.v[i].value) < 0)
                *left = (struct quantity){0};
            else
                quantity_sub(left, &requests.v[i].value);
        }
    }
}

static void recount(struct numa_node *node)
{
    struct arena a;
    node->effective = numa_topology_free(node->effective);
    if (!node->trusted || !node->assumed.n)
        return;
    arena_init(&a, 0);
    node->effective = numa_topology_dup(node->trusted);
    for (size_t i = 0; i < node->assumed.n; i++)
        subtract(node->effective, node->assumed.v[i], &a);
    arena_release(&a);
}

static bool remove_pod(object_list *list, struct str uid)
{
    for (size_t i = 0; i < list->n; i++) {
        struct object *pod = list->v[i];
        if (!str_eq(object_meta(pod)->uid, uid))
            continue;
        vec_swap_remove(list, i);
        object_unref(pod);
        return true;
    }
    return false;
}

/* --- resynchronization ------------------------------------------------------------------------ */

static bool is_counted(const struct numa_cache *c, const struct berth_pod *pod, bool exclusive)
{
    struct str phase = pod->pod->status.phase;
    if (pod->assumed_node ||
        (c->options.only_running ? !str_is(phase, "Running") : str_is(phase, "Pending")))
        return false;
    return !exclusive || numa_requests_exclusive(pod->pod);
}

/* Has the exporter counted the pods that are on the node? A node without pods is no exception. */
static bool is_seen(const struct numa_cache *c, const struct numa_node *node)
{
    const struct numa_topology *t = node->latest;
    struct pod_fingerprint f = {0};
    if (!t || !t->fingerprint.n)
        return false;
    bool exclusive = c->options.method == NUMA_RESYNC_EXCLUSIVE ||
                     (c->options.method == NUMA_RESYNC_AUTODETECT && t->fingerprint_is_exclusive);
    struct berth_str name = {node->name, strlen(node->name)};
    const struct berth_node *info = c->host->node_by_name(c->handle, name);
    for (size_t i = 0; info && i < info->pods.n; i++)
        if (is_counted(c, info->pods.v[i], exclusive))
            pod_fingerprint_add(&f, info->pods.v[i]->pod->metadata.namespace,
                                info->pods.v[i]->pod->metadata.name);
    bool seen = pod_fingerprint_is(&f, t->fingerprint);
    pod_fingerprint_release(&f);
    return seen;
}

static bool is_dirty(const struct numa_node *node)
{
    return node->foreign || node->assumed.n;
}

static void flush(struct numa_node *node)
{
    while (node->assumed.n)
        object_unref(vec_pop(&node->assumed));
    node->foreign = false;
    trust(node);
    recount(node);
}

static void resync(void *ctx)
{
    struct numa_cache *c = ctx;
    map_each (e, &c->nodes) {
        struct numa_node *node = e->value;
        if (is_dirty(node) && is_seen(c, node))
            flush(node);
    }
    c->timer = c->host->timer(c->handle, c->options.period, resync, c);
}

/* --- changes ---------------------------------------------------------------------------------- */

/*
 * A node without pods that the exporter may have missed is up to date with every new object. If its
 * settings have changed, its zones count as well, and so do the pods bound since.
 */
static void topology_changed(struct numa_cache *c, const struct object *after)
{
    const struct custom_object *o = object_body(after);
    struct numa_node *node = node_of(c, object_meta(after)->name);
    set_latest(node, numa_topology_read(&o->value));
    if (!node->trusted || !c->n_over_reserve || !is_dirty(node) || is_seen(c, node)) {
        flush(node);
    } else if (!c->options.only_resources &&
               !numa_config_equal(&node->trusted->config, &node->latest->config)) {
        trust(node);
        recount(node);
    }
}

static void topology_gone(struct numa_cache *c, struct str name)
{
    struct numa_node *node = node_of(c, name);
    set_latest(node, NULL);
    flush(node);
    drop_if_unused(c, node);
}

static bool is_foreign(const struct numa_cache *c, const struct pod *pod)
{
    if (!c->n_over_reserve || c->options.foreign == NUMA_FOREIGN_NONE)
        return false;
    for (size_t i = 0; i < c->schedulers.n; i++)
        if (str_is(pod->spec.scheduler_name, c->schedulers.v[i]))
            return false;
    return c->options.foreign == NUMA_FOREIGN_ALL || numa_requests_exclusive(pod);
}

static bool is_on_node(const struct pod *pod)
{
    return pod && !str_empty(pod->spec.node_name) && !pod_is_terminal(pod);
}

/* Only pods that come or go matter; upstream blocks the node with each update of their status. */
static void pod_changed(struct numa_cache *c, const struct pod *before, const struct pod *after)
{
    bool was = is_on_node(before), is = is_on_node(after);
    if (was == is)
        return;
    const struct pod *pod = was ? before : after;
    struct numa_node *node = map_get(&c->nodes, pod->spec.node_name);
    if (!node)
        return;
    if (was && remove_pod(&node->assumed, pod->metadata.uid))
        recount(node);
    if (node->trusted && is_foreign(c, pod))
        node->foreign = true;
    drop_if_unused(c, node);
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct numa_cache *c = data;
    if (resource == c->resource && after)
        topology_changed(c, object_of_abi(after));
    else if (resource == c->resource)
        topology_gone(c, object_meta(object_of_abi(before))->name);
    else if (resource == BERTH_RESOURCE_ASSIGNED_POD)
        pod_changed(c, hint_pod(before), hint_pod(after));
}

/* --- shared state ----------------------------------------------------------------------------- */

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    struct numa_cache *c = xnew(struct numa_cache);
    struct berth_watch watch = {.struct_size = sizeof(watch),
                                .api_version = BERTH_STR("topology.node.k8s.io/v1alpha2"),
                                .kind = BERTH_STR("NodeResourceTopology"),
                                .resource = BERTH_STR("noderesourcetopologies"),
                                .cluster_scoped = true};
    c->host = host;
    c->handle = h;
    c->resource = host->lister_resource(host->watch(h, &watch));
    return c;
}

static void free_cache(void *data)
{
    struct numa_cache *c = data;
    map_each (e, &c->nodes)
        free_node(e->value);
    map_release(&c->nodes);
    while (c->schedulers.n)
        free(vec_pop(&c->schedulers));
    vec_release(&c->schedulers);
    free(c);
}

static const struct berth_shared_type cache_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "node resource topologies",
    .make = make,
    .free = free_cache,
    .changed = changed,
};

struct numa_cache *numa_cache_open(const struct berth_host *host, struct berth_handle *h,
                                   const struct numa_cache_options *options)
{
    struct numa_cache *c = host->shared(h, &cache_type);
    if (options->mode != NUMA_OVER_RESERVE)
        return c;
    c->options = *options;
    c->options.scheduler = STR("");
    c->n_over_reserve++;
    vec_push(&c->schedulers, str_dup(options->scheduler));
    if (c->timer)
        host->timer_cancel(c->handle, c->timer);
    c->timer = host->timer(c->handle, options->period, resync, c);
    return c;
}

void numa_cache_close(struct numa_cache *c, const struct numa_cache_options *options)
{
    if (options->mode != NUMA_OVER_RESERVE)
        return;
    c->n_over_reserve--;
    for (size_t i = 0; i < c->schedulers.n; i++)
        if (str_is(options->scheduler, c->schedulers.v[i])) {
            free(c->schedulers.v[i]);
            vec_swap_remove(&c->schedulers, i);
            break;
        }
    if (!c->n_over_reserve) {
        c->host->timer_cancel(c->handle, c->timer);
        c->timer = 0;
    }
}

enum berth_resource numa_cache_resource(const struct numa_cache *c)
{
    return c->resource;
}

/* --- for plugins ------------------------------------------------------------------------------ */

bool numa_cache_get(const struct numa_cache *c, enum numa_cache_mode mode, struct str name,
                    const struct numa_topology **ret_topology)
{
    const struct numa_node *node = map_get(&c->nodes, name);
    *ret_topology = node ? node->latest : NULL;
    if (!node)
        return true;
    if (mode == NUMA_DISCARD_RESERVED)
        return !node->reserved.n;
    if (mode == NUMA_OVER_RESERVE) {
        *ret_topology = node->effective ? node->effective : node->trusted;
        return !node->foreign;
    }
    return true;
}

void numa_cache_reserve(struct numa_cache *c, enum numa_cache_mode mode, struct str name,
                        const struct berth_pod *pod)
{
    struct numa_node *node = map_get(&c->nodes, name);
    if (!node || !node->trusted)
        return;
    if (mode == NUMA_DISCARD_RESERVED) {
        vec_push(&node->reserved, object_ref(pod->object));
    } else if (mode == NUMA_OVER_RESERVE) {
        vec_push(&node->assumed, object_ref(pod->object));
        recount(node);
    }
}

void numa_cache_unreserve(struct numa_cache *c, enum numa_cache_mode mode, struct str name,
                          const struct berth_pod *pod)
{
    struct numa_node *node = map_get(&c->nodes, name);
    if (!node || mode == NUMA_PASSTHROUGH)
        return;
    if (mode == NUMA_DISCARD_RESERVED)
        (void)remove_pod(&node->reserved, pod_info_key(pod));
    else if (remove_pod(&node->assumed, pod_info_key(pod)))
        recount(node);
    drop_if_unused(c, node);
}

void numa_cache_bound(struct numa_cache *c, enum numa_cache_mode mode, struct str name,
                      const struct berth_pod *pod)
{
    if (mode == NUMA_DISCARD_RESERVED)
        numa_cache_unreserve(c, mode, name, pod);
}
