/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of struct berth_host that read pods, nodes and other objects. */
#include "api/quantity.h"
#include "engine/framework/shared_state.h"
#include "engine/framework/value.h"
#include "engine/host.h"
#include "engine/lister.h"

static bool label_of(const str_map *labels, struct berth_str key, struct berth_str *ret)
{
    const struct str *value = str_map_get(labels, str_abi(key));
    if (value)
        *ret = abi_str(*value);
    return value;
}

/* --- pods ------------------------------------------------------------------------------------- */

struct berth_str host_pod_namespace(const struct berth_pod *pod)
{
    return abi_str(pod->pod->metadata.namespace);
}

struct berth_str host_pod_name(const struct berth_pod *pod)
{
    return abi_str(pod->pod->metadata.name);
}

struct berth_str host_pod_uid(const struct berth_pod *pod)
{
    return abi_str(pod->pod->metadata.uid);
}

struct berth_str host_pod_node_name(const struct berth_pod *pod)
{
    return abi_str(pod->node_name);
}

int32_t host_pod_priority(const struct berth_pod *pod)
{
    return pod->priority;
}

bool host_pod_label(const struct berth_pod *pod, struct berth_str key, struct berth_str *ret)
{
    return label_of(&pod->pod->metadata.labels, key, ret);
}

int64_t host_pod_request(const struct berth_pod *pod, struct berth_str resource)
{
    return resource_by_name(&pod->requests, pod->names, str_abi(resource));
}

bool host_pod_field(const struct berth_pod *pod, struct berth_str path, struct berth_value *ret)
{
    return value_of_object(pod->object, str_abi(path), ret);
}

const struct berth_object *host_pod_object(const struct berth_pod *pod)
{
    return object_abi(pod->object);
}

/* --- nodes ------------------------------------------------------------------------------------ */

struct berth_str host_node_name(const struct berth_node *node)
{
    return abi_str(str_of(node->name));
}

bool host_node_label(const struct berth_node *node, struct berth_str key, struct berth_str *ret)
{
    return node->node && label_of(&node->node->metadata.labels, key, ret);
}

int64_t host_node_allocatable(const struct berth_node *node, struct berth_str resource)
{
    return resource_by_name(&node->allocatable, node->names, str_abi(resource));
}

int64_t host_node_requested(const struct berth_node *node, struct berth_str resource)
{
    return resource_by_name(&node->requested, node->names, str_abi(resource));
}

size_t host_node_pod_count(const struct berth_node *node)
{
    return node->pods.n;
}

const struct berth_pod *host_node_pod(const struct berth_node *node, size_t i)
{
    return i < node->pods.n ? node->pods.v[i] : NULL;
}

bool host_node_field(const struct berth_node *node, struct berth_str path, struct berth_value *ret)
{
    return value_of_object(node->object, str_abi(path), ret);
}

const struct berth_object *host_node_object(const struct berth_node *node)
{
    return object_abi(node->object);
}

/* --- objects, values -------------------------------------------------------------------------- */

bool host_object_field(const struct berth_object *object, struct berth_str path,
                       struct berth_value *ret)
{
    return value_of_object(object_of_abi(object), str_abi(path), ret);
}

bool host_value_get(const struct berth_value *value, struct berth_str path, struct berth_value *ret)
{
    return value_get(value, str_abi(path), ret);
}

bool host_value_at(const struct berth_value *value, size_t i, struct berth_str *ret_key,
                   struct berth_value *ret)
{
    struct str key;
    bool found = value_at(value, i, &key, ret);
    if (ret_key)
        *ret_key = abi_str(key);
    return found;
}

size_t host_value_json(const struct berth_value *value, char *buf, size_t size)
{
    struct buf text = BUF_INIT;
    value_write_json(value, &text);
    size_t n = text.n, kept = size ? MIN(n, size - 1) : 0;
    if (kept)
        memcpy(buf, text.p, kept);
    if (size)
        buf[kept] = 0;
    buf_release(&text);
    return n;
}

bool host_parse_quantity(struct berth_str text, int64_t *ret_thousandths)
{
    struct quantity q;
    struct arena arena;
    arena_init(&arena, 0);
    bool ok = quantity_parse(str_abi(text), &arena, &q, NULL) == 0;
    if (ok)
        *ret_thousandths = quantity_milli_value(&q);
    arena_release(&arena);
    return ok;
}

struct berth_str host_object_namespace(const struct berth_object *object)
{
    return abi_str(object_meta(object_of_abi(object))->namespace);
}

struct berth_str host_object_name(const struct berth_object *object)
{
    return abi_str(object_meta(object_of_abi(object))->name);
}

struct berth_str host_object_uid(const struct berth_object *object)
{
    return abi_str(object_meta(object_of_abi(object))->uid);
}

bool host_object_label(const struct berth_object *object, struct berth_str key,
                       struct berth_str *ret)
{
    return label_of(&object_meta(object_of_abi(object))->labels, key, ret);
}

/* Objects are constant for plugins; a reference changes nothing that they can read. */
static struct object *counted(const struct berth_object *object)
{
    return (struct object *)(uintptr_t)object;
}

const struct berth_object *host_object_ref(const struct berth_object *object)
{
    object_ref(counted(object));
    return object;
}

void host_object_unref(const struct berth_object *object)
{
    object_unref(counted(object));
}

/* --- listers ---------------------------------------------------------------------------------- */

struct berth_lister *host_watch(struct berth_handle *h, const struct berth_watch *watch)
{
    struct berth_watch copy;
    HOST_COPY(copy, watch);
    if (!h->creating)
        engine_log_error(&h->framework->log, "watch was called outside of create",
                         KV_CSTR("plugin", h->plugin->name),
                         KV_STR("resource", str_abi(copy.resource)));
    return lister_new(h, &copy);
}

bool host_lister_synced(const struct berth_lister *l)
{
    return l->kind && !l->framework->unsynced[l->kind->id];
}

const struct berth_object *host_lister_get(const struct berth_lister *l,
                                           struct berth_str namespace_name, struct berth_str name)
{
    const struct object *o = lister_get(l, str_abi(namespace_name), str_abi(name));
    return o ? object_abi(o) : NULL;
}

void host_lister_each(const struct berth_lister *l, struct berth_str namespace_name,
                      bool (*fn)(void *ctx, const struct berth_object *object), void *ctx)
{
    lister_each(l, str_abi(namespace_name), fn, ctx);
}

enum berth_resource host_lister_resource(const struct berth_lister *l)
{
    if (!l->kind)
        return BERTH_RESOURCE_COUNT;
    return l->kind->id == KIND_POD ? BERTH_RESOURCE_POD
                                   : resource_of_kind(l->framework, l->kind->id);
}
