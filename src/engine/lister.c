/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lister.h"

struct berth_lister *lister_new(struct berth_handle *h, const struct berth_watch *watch)
{
    struct framework *fw = h->framework;
    struct kind_names names = {
        .api_version = str_abi(watch->api_version),
        .kind = str_abi(watch->kind),
        .resource = str_abi(watch->resource),
        .namespaced = !watch->cluster_scoped,
    };
    struct berth_lister *l = arena_new(&h->arena, struct berth_lister);
    *l = (struct berth_lister){.framework = fw, .kind = kind_custom(&names)};
    if (!l->kind) {
        engine_log_error(&fw->log, "The objects that a plugin asked for cannot be watched",
                         KV_CSTR("plugin", h->plugin->name),
                         KV_STR("apiVersion", names.api_version), KV_STR("kind", names.kind),
                         KV_STR("resource", names.resource),
                         KV_CSTR("err", "a name is empty, or there are too many kinds"));
        return l;
    }
    if (!fw->watched[l->kind->id] && fw->ports.watch) {
        fw->unsynced[l->kind->id] = true;
        fw->ports.watch(fw->ports.ctx, l->kind);
    }
    fw->watched[l->kind->id] = true;
    return l;
}

/* --- one object ------------------------------------------------------------------------------- */

struct name_search {
    struct str namespace, name;
    const struct object *found;
};

static bool has_name(void *ctx, const struct berth_object *object)
{
    struct name_search *s = ctx;
    const struct object *o = object_of_abi(object);
    if (str_eq(object_meta(o)->name, s->name) && str_eq(object_meta(o)->namespace, s->namespace))
        s->found = o;
    return !s->found;
}

const struct object *lister_get(const struct berth_lister *l, struct str namespace, struct str name)
{
    if (!l->kind)
        return NULL;
    if (l->kind->id == KIND_NODE) {
        const struct berth_node *node = cache_node(l->framework->cache, name);
        return node ? node->object : NULL;
    }
    if (l->kind->id != KIND_POD)
        return objects_get(&l->framework->cluster->objects, l->kind->id, namespace, name);
    struct name_search s = {.namespace = namespace, .name = name};
    lister_each(l, namespace, has_name, &s);
    return s.found;
}

/* --- all objects ------------------------------------------------------------------------------ */

static bool each_in(const object_list *list, lister_fn *fn, void *ctx)
{
    for (size_t i = 0; list && i < list->n; i++)
        if (!fn(ctx, object_abi(list->v[i])))
            return false;
    return true;
}

static void each_node(const struct cache *cache, lister_fn *fn, void *ctx)
{
    map_each (e, &cache->nodes) {
        const struct berth_node *node = e->value;
        if (node->object && !fn(ctx, object_abi(node->object)))
            return;
    }
}

static bool in_namespace(const struct berth_pod *pod, struct str namespace)
{
    return str_empty(namespace) || str_eq(pod->pod->metadata.namespace, namespace);
}

/* Pods with a node, then those in the queue; a pod that is being bound is in both. */
static void each_pod(const struct framework *fw, struct str namespace, lister_fn *fn, void *ctx)
{
    map_each (e, &fw->cache->pods) {
        const struct cache_pod *p = e->value;
        if (in_namespace(p->pod, namespace) && !fn(ctx, object_abi(p->pod->object)))
            return;
    }
    map_each (e, &fw->queue->by_key) {
        const struct berth_queued_pod *qp = e->value;
        if (in_namespace(qp->pod, namespace) && !cache_pod(fw->cache, pod_info_key(qp->pod)) &&
            !fn(ctx, object_abi(qp->pod->object)))
            return;
    }
}

void lister_each(const struct berth_lister *l, struct str namespace, lister_fn *fn, void *ctx)
{
    const struct framework *fw = l->framework;
    if (!l->kind)
        return;
    const struct objects *objects = &fw->cluster->objects;
    enum kind_id kind = l->kind->id;
    if (kind == KIND_NODE)
        each_node(fw->cache, fn, ctx);
    else if (kind == KIND_POD)
        each_pod(fw, namespace, fn, ctx);
    else if (!str_empty(namespace))
        each_in(objects_in(objects, kind, namespace), fn, ctx);
    else
        map_each (e, &objects->by_namespace[kind])
            if (!each_in(objects_in(objects, kind, e->key), fn, ctx))
                return;
}
