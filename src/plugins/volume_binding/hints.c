/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/volume_binding/hints.h"

#include "plugins/common/claims.h"
#include "plugins/common/plugin_base.h"
#include "plugins/volume_binding/pod_volumes.h"

static const struct object *object_or_null(const struct berth_object *o)
{
    return o ? object_of_abi(o) : NULL;
}

/* A log line about the object that changed. */
static enum berth_hint tell(const void *ctx, const struct berth_pod *pod, const char *key,
                            const struct object *object, bool helps, const char *why)
{
    const struct hint_context *self = ctx;
    engine_log(self->log, 5, why, KV_META("Pod", &pod->pod->metadata),
               KV_META(key, object_meta(object)));
    return hint_if(helps);
}

/* --- CSINode ---------------------------------------------------------------------------------- */

static struct str migrated_plugins(const struct object *csi_node)
{
    const struct str *s =
        str_map_get(&object_meta(csi_node)->annotations, STR(ANN_MIGRATED_PLUGINS));
    return s ? *s : STR("");
}

static enum berth_hint after_csi_node(void *ctx, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after)
{
    const struct object *old = object_or_null(before), *new = object_or_null(after);
    const struct hint_context *self = ctx;
    if (!old || !new) {
        engine_log(self->log, 5, "CSINode creation could make the pod schedulable");
        return BERTH_QUEUE;
    }
    bool helps = !str_eq(migrated_plugins(old), migrated_plugins(new));
    return tell(ctx, pod, "CSINode", new, helps,
                helps ? "CSINode's migrated plugins annotation is updated and that may make the "
                        "pod schedulable"
                      : "CISNode was created or updated but it doesn't make this pod schedulable");
}

/* --- PersistentVolumeClaim -------------------------------------------------------------------- */

static enum berth_hint after_claim(void *ctx, const struct berth_pod *pod,
                                   const struct berth_object *before,
                                   const struct berth_object *after)
{
    (void)before;
    const struct object *new = object_or_null(after);
    if (!new)
        return BERTH_QUEUE;
    const char *key = "PersistentVolumeClaim";
    const struct object_meta *claim = object_meta(new);
    if (!str_eq(claim->namespace, pod->pod->metadata.namespace))
        return tell(ctx, pod, key, new, false,
                    "PersistentVolumeClaim was created or updated, but it doesn't make this pod "
                    "schedulable because the PVC belongs to a different namespace");
    bool helps = pod_names_claim(pod->pod, claim, true);
    return tell(ctx, pod, key, new, helps,
                helps ? "PersistentVolumeClaim the pod requires was created or updated, "
                        "potentially making the target Pod schedulable"
                      : "PersistentVolumeClaim was created or updated, but it doesn't make this "
                        "pod schedulable");
}

/* --- StorageClass ----------------------------------------------------------------------------- */

static bool lists_equal(const struct str *a, size_t n_a, const struct str *b, size_t n_b)
{
    for (size_t i = 0; n_a == n_b && i < n_a; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return n_a == n_b;
}

static bool terms_equal(const struct topology_selector_term *a,
                        const struct topology_selector_term *b)
{
    if (a->match_label_expressions.n != b->match_label_expressions.n)
        return false;
    for (size_t i = 0; i < a->match_label_expressions.n; i++) {
        const struct topology_selector_label_requirement *x = &a->match_label_expressions.v[i],
                                                         *y = &b->match_label_expressions.v[i];
        if (!str_eq(x->key, y->key) ||
            !lists_equal(x->values.v, x->values.n, y->values.v, y->values.n))
            return false;
    }
    return true;
}

static bool topologies_equal(const struct storage_class *a, const struct storage_class *b)
{
    if (a->allowed_topologies.n != b->allowed_topologies.n)
        return false;
    for (size_t i = 0; i < a->allowed_topologies.n; i++)
        if (!terms_equal(&a->allowed_topologies.v[i], &b->allowed_topologies.v[i]))
            return false;
    return true;
}

static enum berth_hint after_class(void *ctx, const struct berth_pod *pod,
                                   const struct berth_object *before,
                                   const struct berth_object *after)
{
    const struct object *old = object_or_null(before), *new = object_or_null(after);
    if (!new)
        return BERTH_QUEUE;
    if (!old)
        return tell(ctx, pod, "StorageClass", new, true,
                    "A new StorageClass was created, which could make a Pod schedulable");
    bool helps = !topologies_equal(object_storage_class(old), object_storage_class(new));
    return tell(ctx, pod, "StorageClass", new, helps,
                helps ? "StorageClass got an update in AllowedTopologies"
                      : "StorageClass was updated, but it doesn't make this pod schedulable");
}

/* --- CSIStorageCapacity ----------------------------------------------------------------------- */

static enum berth_hint after_capacity(void *ctx, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after)
{
    const struct object *old = object_or_null(before), *new = object_or_null(after);
    if (!new)
        return BERTH_QUEUE;
    if (!old)
        return tell(ctx, pod, "CSIStorageCapacity", new, true,
                    "A new CSIStorageCapacity was created, which could make a Pod schedulable");
    const struct quantity *then = capacity_limit(object_csi_storage_capacity(old)),
                          *now = capacity_limit(object_csi_storage_capacity(new));
    bool helps = now && (!then || quantity_value(now) > quantity_value(then));
    return tell(ctx, pod, "CSIStorageCapacity", new, helps,
                helps ? "VolumeLimit was increased, which could make a Pod schedulable"
                      : "CSIStorageCapacity was updated, but it doesn't make this pod "
                        "schedulable");
}

/* --- CSIDriver -------------------------------------------------------------------------------- */

static bool tracks_capacity(const struct object *driver)
{
    const bool *tracks = object_csi_driver(driver)->spec.storage_capacity;
    return tracks && *tracks;
}

/* As upstream, only inline volumes of the driver count. */
static bool uses_driver(const struct pod *pod, struct str driver)
{
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct csi_volume_source *csi = pod->spec.volumes.v[i].source.csi;
        if (csi && str_eq(csi->driver, driver))
            return true;
    }
    return false;
}

static enum berth_hint after_driver(void *ctx, const struct berth_pod *pod,
                                    const struct berth_object *before,
                                    const struct berth_object *after)
{
    const struct object *old = object_or_null(before), *new = object_or_null(after);
    if (!old || !new)
        return BERTH_QUEUE;
    bool helps = tracks_capacity(old) && !tracks_capacity(new) &&
                 uses_driver(pod->pod, object_meta(new)->name);
    return tell(ctx, pod, "CSIDriver", new, helps,
                helps ? "CSIDriver was updated and storage capacity got disabled, which may make "
                        "the pod schedulable"
                      : "CSIDriver was created or updated but it doesn't make this pod "
                        "schedulable");
}

void volume_binding_events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((const struct hint_context *)ctx)->host;
    const unsigned add_or_update = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
    host->register_event(r, BERTH_RESOURCE_STORAGE_CLASS, add_or_update, after_class);
    host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, add_or_update, after_claim);
    host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME, add_or_update, NULL);
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL,
                         NULL);
    host->register_event(r, BERTH_RESOURCE_CSI_NODE, add_or_update, after_csi_node);
    host->register_event(r, BERTH_RESOURCE_CSI_DRIVER, BERTH_ACTION_UPDATE, after_driver);
    host->register_event(r, BERTH_RESOURCE_CSI_STORAGE_CAPACITY, add_or_update, after_capacity);
}
