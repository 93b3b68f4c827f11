/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VolumeBinding and DynamicResources are not supported: they reject every pod that needs them. A
 * pod bound to a node that cannot provide its volumes or devices would stay there, so such pods
 * wait. Disable the plugin to schedule them without these checks.
 */
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* A resource with this prefix requests a device of the class that follows. */
#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

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

/* --- DynamicResources ------------------------------------------------------------------------- */

/* A request that names a device class; empty if none. */
static struct str device_request(const struct pod *pod)
{
    const struct pod_spec *spec = &pod->spec;
    for (size_t i = 0; i < spec->init_containers.n + spec->containers.n; i++) {
        const struct container *c = i < spec->init_containers.n
                                        ? &spec->init_containers.v[i]
                                        : &spec->containers.v[i - spec->init_containers.n];
        for (size_t k = 0; k < c->resources.requests.n; k++)
            if (str_starts(c->resources.requests.v[k].key, STR(DEVICE_CLASS_PREFIX)))
                return c->resources.requests.v[k].key;
    }
    return STR("");
}

static enum berth_code dynamic_resources_pre_filter(void *ctx, struct berth_cycle *cycle,
                                                    const struct berth_pod *pod,
                                                    struct berth_status *status)
{
    (void)cycle;
    const struct plain_plugin *self = ctx;
    struct str device = device_request(pod->pod);
    if (pod->pod->spec.resource_claims.n)
        status_printf(self->host, status,
                      "berth does not support resource claims yet: pod has resource claim "
                      "\"%.*s\"",
                      STR_ARG(pod->pod->spec.resource_claims.v[0].name));
    else if (device.n)
        status_printf(self->host, status,
                      "berth does not support resource claims yet: pod requests \"%.*s\"",
                      STR_ARG(device));
    else
        return BERTH_SKIP;
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code dynamic_resources_sign(void *ctx, const struct berth_pod *pod,
                                              struct berth_signature *s)
{
    (void)ctx;
    (void)s;
    bool needs = pod->pod->spec.resource_claims.n || device_request(pod->pod).n;
    return needs ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
}

const struct berth_plugin dynamic_resources_plugin = {
    PLUGIN_HEAD("DynamicResources"),
    .create = plain_plugin_create,
    .destroy = free,
    .events = no_events,
    .pre_filter = dynamic_resources_pre_filter,
    .sign = dynamic_resources_sign,
};
