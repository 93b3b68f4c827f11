/* SPDX-License-Identifier: Apache-2.0 */
/* volumes.c - the shared state: made, told of changes, freed. */
#include "plugins/volume_binding/volumes.h"

#include "plugins/volume_binding/claim_binding.h"
#include "plugins/volume_binding/claim_kinds.h"

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    struct volumes *v = xnew(struct volumes);
    v->host = host;
    v->handle = h;
    v->cluster = handle_cluster(h);
    v->log = handle_log(h);
    node_sets_init(&v->sets, v->cluster->cache);
    v->sets.moved = claim_kinds_node_moved;
    v->sets.ctx = v;
    return v;
}

static void release(void *ctx)
{
    struct volumes *v = ctx;
    claim_kinds_release(v);
    pvs_release(v);
    claims_release(v);
    capacities_release(v);
    csi_nodes_release(v);
    node_sets_release(&v->sets);
    map_release(&v->waits);
    buf_release(&v->key);
    free(v);
}

static struct object *object_or_null(const struct berth_object *o)
{
    return o ? (struct object *)object_of_abi(o) : NULL;
}

static void changed(void *ctx, enum berth_resource resource, const struct berth_object *old,
                    const struct berth_object *new)
{
    struct volumes *v = ctx;
    struct object *before = object_or_null(old), *after = object_or_null(new);
    switch (resource) {
    case BERTH_RESOURCE_PERSISTENT_VOLUME:
        pv_changed(v, before, after);
        claim_bindings_wake(v, WAIT_VOLUME, before, after);
        break;
    case BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM:
        claim_changed(v, before, after);
        claim_bindings_wake(v, WAIT_CLAIM, before, after);
        break;
    case BERTH_RESOURCE_CSI_STORAGE_CAPACITY:
        capacity_changed(v, before, after);
        break;
    case BERTH_RESOURCE_CSI_NODE:
        csi_node_changed(v, before, after);
        claim_bindings_wake(v, WAIT_NODE, before, after);
        break;
    case BERTH_RESOURCE_NODE:
        claim_bindings_wake(v, WAIT_NODE, before, after);
        break;
    case BERTH_RESOURCE_ASSIGNED_POD:
    case BERTH_RESOURCE_UNSCHEDULED_POD:
        if (!after)
            claim_bindings_wake(v, WAIT_POD, before, after);
        break;
    default:
        break;
    }
}

const struct berth_shared_type volumes_type = {.struct_size = sizeof(struct berth_shared_type),
                                               .name = "VolumeBinding",
                                               .make = make,
                                               .free = release,
                                               .changed = changed};
