/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DynamicResources is not supported: it rejects every pod that needs it. A pod bound to a node that
 * cannot provide its devices would stay there, so such pods wait. Disable the plugin to schedule
 * them without these checks.
 */
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* A resource with this prefix requests a device of the class that follows. */
#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

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
