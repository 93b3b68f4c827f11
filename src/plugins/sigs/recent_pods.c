/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/recent_pods.h"

#include "base/time.h"
#include "engine/framework/framework.h"
#include "plugins/common/plugin_base.h"

#define CLEANUP_PERIOD (300 * NSEC_PER_SEC)

static int64_t wall_seconds(const struct recent_pods *r)
{
    return handle_wall(r->handle) / NSEC_PER_SEC;
}

static void free_node(struct recent_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++)
        object_unref(node->pods.v[i].object);
    vec_release(&node->pods);
    free(node->name);
    free(node);
}

static void drop_if_empty(struct recent_pods *r, struct recent_node *node)
{
    if (node->pods.n)
        return;
    map_del(&r->nodes, str_of(node->name));
    free_node(node);
}

static void add(struct recent_pods *r, struct object *pod, int64_t since)
{
    struct str name = object_pod(pod)->spec.node_name;
    struct recent_node *node = map_get(&r->nodes, name);
    if (!node) {
        node = xnew(struct recent_node);
        node->name = str_dup(name);
        map_put(&r->nodes, str_of(node->name), node);
    }
    vec_push(&node->pods, (struct recent_pod){object_ref(pod), since});
}

static void drop(struct recent_pods *r, const struct pod *pod)
{
    struct recent_node *node = map_get(&r->nodes, pod->spec.node_name);
    for (size_t i = 0; node && i < node->pods.n; i++) {
        struct object *object = node->pods.v[i].object;
        if (!str_eq(object_meta(object)->uid, pod->metadata.uid))
            continue;
        vec_remove(&node->pods, i);
        object_unref(object);
        drop_if_empty(r, node);
        return;
    }
}

/*
 * A pod that had its node when it was listed counts from its start. Upstream counts all pods as
 * just bound when it starts.
 */
static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct recent_pods *r = data;
    if (resource != BERTH_RESOURCE_ASSIGNED_POD)
        return;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    bool was = old && !str_empty(old->spec.node_name) && !pod_is_terminal(old);
    bool is = new && !str_empty(new->spec.node_name) && !pod_is_terminal(new);
    if (was && !is) {
        drop(r, old);
    } else if (is && !was) {
        int64_t since = wall_seconds(r);
        if (!old && new->status.start_time.set)
            since = MIN(since, new->status.start_time.sec);
        add(r, (struct object *)(uintptr_t)after, since);
    }
}

/* --- shared state ----------------------------------------------------------------------------- */

static void forget_old(struct recent_pods *r, struct recent_node *node, int64_t now)
{
    size_t n = 0;
    for (size_t i = 0; i < node->pods.n; i++) {
        struct recent_pod pod = node->pods.v[i];
        if (pod.since + RECENT_PODS_SECONDS > now)
            node->pods.v[n++] = pod;
        else
            object_unref(pod.object);
    }
    node->pods.n = n;
    drop_if_empty(r, node);
}

static void clean_up(void *ctx)
{
    struct recent_pods *r = ctx;
    VEC(struct recent_node *) nodes = {0};
    map_each (e, &r->nodes)
        vec_push(&nodes, e->value);
    for (size_t i = 0; i < nodes.n; i++)
        forget_old(r, nodes.v[i], wall_seconds(r));
    vec_release(&nodes);
    r->host->timer(r->handle, CLEANUP_PERIOD, clean_up, r);
}

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    struct recent_pods *r = xnew(struct recent_pods);
    r->host = host;
    r->handle = h;
    host->timer(h, CLEANUP_PERIOD, clean_up, r);
    return r;
}

static void free_pods(void *data)
{
    struct recent_pods *r = data;
    map_each (e, &r->nodes)
        free_node(e->value);
    map_release(&r->nodes);
    free(r);
}

static const struct berth_shared_type pods_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "recent pods",
    .make = make,
    .free = free_pods,
    .changed = changed,
};

const struct recent_pods *recent_pods_open(const struct berth_host *host, struct berth_handle *h)
{
    return host->shared(h, &pods_type);
}

const struct recent_node *recent_pods_on(const struct recent_pods *r, struct str node)
{
    return map_get(&r->nodes, node);
}
