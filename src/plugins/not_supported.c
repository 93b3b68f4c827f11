/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VolumeBinding is not supported: it rejects every pod that needs it. A pod bound to a node that
 * cannot provide its volumes would stay there, so such pods wait. Disable the plugin to schedule
 * them without these checks.
 */
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* --- VolumeBinding ---------------------------------------------------------------------------- */

static const struct volume *find_claim(const struct pod *pod)
{
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct volume_source *source = &pod->spec.volumes.v[i].source;
        if (source->persistent_volume_claim || source->ephemeral)
            return &pod->spec.volumes.v[i];
    }
    return NULL;
}

static enum berth_code volume_binding_pre_filter(void *ctx, struct berth_cycle *cycle,
                                                 const struct berth_pod *pod,
                                                 struct berth_status *status)
{
    (void)cycle;
    const struct plain_plugin *self = ctx;
    const struct volume *volume = find_claim(pod->pod);
    if (!volume)
        return BERTH_SKIP;
    if (volume->source.persistent_volume_claim)
        status_printf(self->host, status,
                      "berth does not support persistent volume claims yet: pod uses claim "
                      "\"%.*s\"",
                      STR_ARG(volume->source.persistent_volume_claim->claim_name));
    else
        status_printf(self->host, status,
                      "berth does not support ephemeral volumes yet: pod has ephemeral volume "
                      "\"%.*s\"",
                      STR_ARG(volume->name));
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code volume_binding_sign(void *ctx, const struct berth_pod *pod,
                                           struct berth_signature *s)
{
    (void)ctx;
    (void)s;
    return find_claim(pod->pod) ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
}

const struct berth_plugin volume_binding_plugin = {
    PLUGIN_HEAD("VolumeBinding"),
    .create = plain_plugin_create,
    .destroy = free,
    .events = no_events,
    .pre_filter = volume_binding_pre_filter,
    .sign = volume_binding_sign,
};
