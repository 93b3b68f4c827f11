/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - what all profiles share (upstream: SharedDRAManager). */
#include "plugins/dynamic_resources/dynamic_resources.h"

static void on_allocation(void *ctx, const struct allocation_result *allocation, int sign)
{
    struct dra_shared *s = ctx;
    if (sign > 0)
        devices_take(s->devices, allocation);
    else
        devices_give_back(s->devices, allocation);
}

/* Nodes are not announced to a state that is made while they exist. */
static void add_nodes(struct dra_shared *s, const struct cache *cache)
{
    for (size_t i = 0; i < cache->order.n; i++)
        if (cache->order.v[i]->object)
            devices_object_changed(s->devices, NULL, cache->order.v[i]->object);
}

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    const bool *on = h->framework->features.on;
    const struct device_features features = {
        .admin_access = on[FEATURE_DRA_ADMIN_ACCESS],
        .prioritized_list = on[FEATURE_DRA_PRIORITIZED_LIST],
        .partitionable_devices = on[FEATURE_DRA_PARTITIONABLE_DEVICES],
        .device_taints = on[FEATURE_DRA_DEVICE_TAINTS],
        .device_taint_rules = on[FEATURE_DRA_DEVICE_TAINT_RULES] && on[FEATURE_DRA_DEVICE_TAINTS],
        .binding_conditions = on[FEATURE_DRA_DEVICE_BINDING_CONDITIONS] &&
                              on[FEATURE_DRA_RESOURCE_CLAIM_DEVICE_STATUS],
        .consumable_capacity = on[FEATURE_DRA_CONSUMABLE_CAPACITY],
        .list_attributes = on[FEATURE_DRA_LIST_TYPE_ATTRIBUTES],
    };
    struct dra_shared *s = xnew(struct dra_shared);
    s->host = host;
    s->handle = h;
    s->devices = devices_new(&features, NULL);
    claim_cache_init(&s->claims, on_allocation, s);
    add_nodes(s, handle_cluster(h)->cache);
    return s;
}

static void free_shared(void *data)
{
    struct dra_shared *s = data;
    dra_drop_orphans(s);
    claim_removals_release(s);
    claim_cache_release(&s->claims);
    devices_free(s->devices);
    free(s);
}

/* The state takes references: objects are constant for plugins. */
static struct object *unconst(const struct berth_object *o)
{
    return (struct object *)(uintptr_t)o;
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct dra_shared *s = data;
    struct object *old = unconst(before), *new = unconst(after);
    switch (resource) {
    case BERTH_RESOURCE_RESOURCE_CLAIM:
        claim_cache_changed(&s->claims, old, new);
        break;
    case BERTH_RESOURCE_DEVICE_CLASS:
    case BERTH_RESOURCE_RESOURCE_SLICE: /* also a DeviceTaintRule */
    case BERTH_RESOURCE_NODE:
        devices_object_changed(s->devices, old, new);
        break;
    default:
        break;
    }
}

const struct berth_shared_type dra_shared_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "DynamicResources",
    .make = make,
    .free = free_shared,
    .changed = changed,
};

struct dra_shared *dra_shared(const struct berth_host *host, struct berth_handle *h)
{
    return handle_feature(h, FEATURE_DYNAMIC_RESOURCE_ALLOCATION)
               ? host->shared(h, &dra_shared_type)
               : NULL;
}
