/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/shared_state.h"

/* Kinds whose changes are cluster events. Pods are told apart by the caller. */
static const struct {
    enum kind_id kind;
    enum berth_resource resource;
} resources[] = {
    {KIND_NODE, BERTH_RESOURCE_NODE},
    {KIND_PERSISTENT_VOLUME, BERTH_RESOURCE_PERSISTENT_VOLUME},
    {KIND_PERSISTENT_VOLUME_CLAIM, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM},
    {KIND_CSI_NODE, BERTH_RESOURCE_CSI_NODE},
    {KIND_CSI_DRIVER, BERTH_RESOURCE_CSI_DRIVER},
    {KIND_CSI_STORAGE_CAPACITY, BERTH_RESOURCE_CSI_STORAGE_CAPACITY},
    {KIND_STORAGE_CLASS, BERTH_RESOURCE_STORAGE_CLASS},
    {KIND_VOLUME_ATTACHMENT, BERTH_RESOURCE_VOLUME_ATTACHMENT},
    {KIND_RESOURCE_CLAIM, BERTH_RESOURCE_RESOURCE_CLAIM},
    {KIND_RESOURCE_SLICE, BERTH_RESOURCE_RESOURCE_SLICE},
    {KIND_DEVICE_CLASS, BERTH_RESOURCE_DEVICE_CLASS},
    {KIND_DEVICE_TAINT_RULE, BERTH_RESOURCE_RESOURCE_SLICE}, /* upstream: resourceslice tracker */
    {KIND_POD_GROUP, BERTH_RESOURCE_POD_GROUP},
};

enum berth_resource resource_of_kind(const struct framework *fw, enum kind_id kind)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        if (resources[i].kind == kind)
            return resources[i].resource;
    return fw->watched[kind] ? (enum berth_resource)(RESOURCE_OF_KINDS + kind)
                             : BERTH_RESOURCE_COUNT;
}

static void tell_kind(const struct shared_state *s, const struct objects *objects,
                      enum kind_id kind, enum berth_resource resource)
{
    map_each (e, &objects->by_namespace[kind]) {
        const object_list *list = objects_in(objects, kind, e->key);
        for (size_t k = 0; k < list->n; k++)
            s->type->changed(s->data, resource, NULL, object_abi(list->v[k]));
    }
}

/* A state that is made later is told of all objects: a reload may have enabled its plugin. */
static void tell_all(const struct shared_state *s, const struct framework *fw)
{
    const struct objects *objects = &fw->cluster->objects;
    if (!s->type->changed)
        return;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        tell_kind(s, objects, resources[i].kind, resources[i].resource);
    for (int kind = 0; kind < KIND_SPACE; kind++)
        if (fw->watched[kind] && resource_of_kind(fw, (enum kind_id)kind) >= RESOURCE_OF_KINDS)
            tell_kind(s, objects, (enum kind_id)kind, resource_of_kind(fw, (enum kind_id)kind));
}

static struct shared_state *make(struct framework *fw, const struct berth_shared_type *type)
{
    struct shared_state *s = xnew(struct shared_state);
    s->type = type;
    s->plugin = (struct berth_plugin){.name = type->name};
    s->handle = (struct berth_handle){.plugin = &s->plugin, .creating = true};
    framework_add_handle(fw, &s->handle);
    s->data = type->make(fw->host, &s->handle);
    s->handle.creating = false;
    vec_push(&fw->shared, s);
    tell_all(s, fw);
    return s;
}

static struct shared_state *find(const struct framework *fw, const struct berth_shared_type *type)
{
    for (size_t i = 0; i < fw->shared.n; i++)
        if (fw->shared.v[i]->type == type)
            return fw->shared.v[i];
    return NULL;
}

void *shared_state_get(struct berth_handle *h, const struct berth_shared_type *type)
{
    struct shared_state *s = find(h->framework, type);
    if (!s)
        s = make(h->framework, type);
    for (size_t i = 0; i < s->users.n; i++)
        if (s->users.v[i] == h)
            return s->data;
    vec_push(&s->users, h);
    return s->data;
}

static void free_state(struct framework *fw, struct shared_state *s)
{
    s->type->free(s->data);
    plugin_calls_forget(&fw->calls, &s->handle);
    shared_states_drop(&s->handle);
    framework_remove_handle(&s->handle);
    arena_release(&s->handle.arena);
    vec_release(&s->users);
    free(s);
}

/* Backwards: a state may use others, which were made before it and end with it. */
void shared_states_drop(struct berth_handle *h)
{
    struct framework *fw = h->framework;
    for (size_t i = fw->shared.n; i-- > 0;) {
        if (i >= fw->shared.n)
            continue;
        struct shared_state *s = fw->shared.v[i];
        for (size_t k = 0; k < s->users.n; k++)
            if (s->users.v[k] == h) {
                vec_swap_remove(&s->users, k);
                break;
            }
        if (!s->users.n) {
            vec_remove(&fw->shared, i);
            free_state(fw, s);
        }
    }
}

void shared_states_changed(const struct framework *fw, enum berth_resource resource,
                           struct object *before, struct object *after)
{
    for (size_t i = 0; i < fw->shared.n; i++) {
        const struct shared_state *s = fw->shared.v[i];
        if (s->type->changed)
            s->type->changed(s->data, resource, before ? object_abi(before) : NULL,
                             after ? object_abi(after) : NULL);
    }
}
