/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/strategies.h"

/* clang-format off */
/* NULL ends the list. */
static const struct strategy *const arrays[] = {
    pod_strategies,
    config_strategies,
    namespace_strategies,
    node_strategies,
    quota_strategies,
    service_strategies,
    endpoint_strategies,
    volume_strategies,
    definition_strategies,
    replication_strategies,
    apps_strategies,
    stateful_set_strategies,
    job_strategies,
    cron_job_strategies,
    rbac_strategies,
    scheduling_strategies,
    policy_strategies,
    coordination_strategies,
    storage_class_strategies,
    endpoint_slice_strategies,
    ingress_strategies,
    network_policy_strategies,
    service_ip_strategies,
    pod_group_strategies,
    runtime_class_strategies,
    csi_strategies,
    autoscaler_strategies,
    device_class_strategies,
    resource_claim_strategies,
    resource_slice_strategies,
    NULL,
};
/* clang-format on */

const struct strategy *strategy_find(const struct resource *r)
{
    r = resource_stored(r);
    for (size_t i = 0; arrays[i]; i++)
        for (const struct strategy *s = arrays[i]; s->plural.n > 0; s++)
            if (str_eq(s->plural, r->plural) && str_eq(s->group, r->group))
                return s;
    return NULL;
}
