/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/node_volume_limits/hints.h"

#include "plugins/common/claims.h"
#include "plugins/common/csi_translation.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_volume_limits/volume_list.h"

static enum berth_hint after_pod_deleted(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)after;
    const struct plain_plugin *self = ctx;
    const struct pod *gone = hint_pod(before);
    if (!gone || !gone->spec.volumes.n ||
        (str_empty(gone->spec.node_name) && str_empty(gone->status.nominated_node_name)))
        return BERTH_QUEUE_SKIP;
    for (size_t i = 0; i < gone->spec.volumes.n; i++)
        if (volume_is_attachable(&gone->spec.volumes.v[i]))
            return BERTH_QUEUE;
    engine_log(self->log, 5,
               "The deleted pod does not impact the scheduling of the unscheduled pod", KV_POD(pod),
               KV_HINT_POD("deletedPod", gone));
    return BERTH_QUEUE_SKIP;
}

static enum berth_hint after_claim_added(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)before;
    const struct plain_plugin *self = ctx;
    const struct object_meta *claim = hint_meta(after);
    if (!claim || !str_eq(claim->namespace, pod->pod->metadata.namespace))
        return BERTH_QUEUE_SKIP;
    bool helps = pod_names_claim(pod->pod, claim, true);
    engine_log(self->log, 5,
               helps ? "PVC that is referred from the pod was created, which might make this pod "
                       "schedulable"
                     : "PVC irrelevant to the Pod was created, which doesn't make this pod "
                       "schedulable",
               KV_POD(pod), KV_META("PVC", claim));
    return hint_if(helps);
}

/* An in-tree volume that cannot be translated counts as helped: upstream returns an error. */
static bool uses_attacher(const struct volume *v, struct str namespace, struct str attacher)
{
    const struct csi_migration *plugin = csi_migration_of_inline(&v->source);
    struct buf handle = BUF_INIT, why = BUF_INIT;
    if (!plugin)
        return false;
    bool helps =
        !csi_inline_handle(v, namespace, &handle, &why) || str_eq(plugin->driver, attacher);
    buf_release(&handle);
    buf_release(&why);
    return helps;
}

static enum berth_hint after_attachment_deleted(void *ctx, const struct berth_pod *pod,
                                                const struct berth_object *before,
                                                const struct berth_object *after)
{
    (void)after;
    const struct plain_plugin *self = ctx;
    const struct volume_attachment *gone = hint_body(before);
    if (!gone)
        return BERTH_QUEUE_SKIP;
    for (size_t i = 0; i < pod->pod->spec.volumes.n; i++) {
        const struct volume *v = &pod->pod->spec.volumes.v[i];
        if (v->source.persistent_volume_claim ||
            uses_attacher(v, pod->pod->metadata.namespace, gone->spec.attacher)) {
            engine_log(self->log, 5,
                       v->source.persistent_volume_claim
                           ? "Pod volume uses PersistentVolumeClaim, which might make this pod "
                             "schedulable due to VolumeAttachment deletion"
                           : "Pod volume is an Inline Migratable volume that matches the CSI "
                             "driver, which might make this pod schedulable due to "
                             "VolumeAttachment deletion",
                       KV_POD(pod), KV_META("volumeAttachment", &gone->metadata),
                       KV_STR("volume", v->name));
            return BERTH_QUEUE;
        }
    }
    engine_log(self->log, 5,
               "the VolumeAttachment deletion wouldn't make this pod schedulable because the pod "
               "has no volume related to a deleted VolumeAttachment",
               KV_POD(pod), KV_META("volumeAttachment", &gone->metadata));
    return BERTH_QUEUE_SKIP;
}

/* Absent limits count as 0. */
static int32_t limit_of(const struct csi_node_driver *d)
{
    return d && d->allocatable && d->allocatable->count ? *d->allocatable->count : 0;
}

/* The first driver whose limit has increased; of several entries of a driver the last counts. */
static const struct csi_node_driver *find_increased(const struct csi_node *was,
                                                    const struct csi_node *is)
{
    struct map before = MAP_INIT;
    for (size_t i = 0; i < was->spec.drivers.n; i++)
        map_put(&before, was->spec.drivers.v[i].name, (void *)&was->spec.drivers.v[i]);
    const struct csi_node_driver *found = NULL;
    for (size_t i = 0; i < is->spec.drivers.n && !found; i++) {
        const struct csi_node_driver *d = &is->spec.drivers.v[i];
        if (limit_of(d) > limit_of(map_get(&before, d->name)))
            found = d;
    }
    map_release(&before);
    return found;
}

static enum berth_hint after_csi_node_updated(void *ctx, const struct berth_pod *pod,
                                              const struct berth_object *before,
                                              const struct berth_object *after)
{
    const struct plain_plugin *self = ctx;
    const struct csi_node *was = hint_body(before), *is = hint_body(after);
    const struct csi_node_driver *d = was && is ? find_increased(was, is) : NULL;
    if (!d)
        return BERTH_QUEUE_SKIP;
    engine_log(self->log, 5, "CSINode driver limit increased, might make this pod schedulable",
               KV_POD(pod), KV_STR("driver", d->name), KV_INT("newLimit", limit_of(d)));
    return BERTH_QUEUE;
}

void volume_limits_register(const struct berth_host *host, struct berth_registrar *r)
{
    host->register_event(r, BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_ADD, NULL);
    host->register_event(r, BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_UPDATE, after_csi_node_updated);
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, after_pod_deleted);
    host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD,
                         after_claim_added);
    host->register_event(r, BERTH_RESOURCE_VOLUME_ATTACHMENT, BERTH_ACTION_DELETE,
                         after_attachment_deleted);
}
