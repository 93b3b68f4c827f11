/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/pod_amounts.h"

#include "api/resources.h"

int64_t quantity_map_amount(const quantity_map *map, enum load_resource resource)
{
    const struct quantity *q =
        quantity_map_get(map, resource == LOAD_CPU ? RESOURCE_CPU : RESOURCE_MEMORY);
    if (!q)
        return 0;
    return resource == LOAD_CPU ? quantity_milli_value(q) : quantity_value(q);
}

static const quantity_map *map_of(const struct container *c, bool limits)
{
    return limits ? &c->resources.limits : &c->resources.requests;
}

static struct amounts effective(const struct pod *pod, bool limits)
{
    struct amounts a = {{0}};
    for (int k = 0; k < LOAD_RESOURCES; k++) {
        enum load_resource resource = (enum load_resource)k;
        for (size_t i = 0; i < pod->spec.containers.n; i++)
            a.v[k] += quantity_map_amount(map_of(&pod->spec.containers.v[i], limits), resource);
        for (size_t i = 0; i < pod->spec.init_containers.n; i++)
            a.v[k] =
                MAX(a.v[k],
                    quantity_map_amount(map_of(&pod->spec.init_containers.v[i], limits), resource));
        a.v[k] += quantity_map_amount(&pod->spec.overhead, resource);
    }
    return a;
}

struct amounts pod_amounts_requests(const struct pod *pod)
{
    return effective(pod, false);
}

struct pod_amounts pod_amounts_of(const struct pod *pod)
{
    struct pod_amounts a = {effective(pod, false), effective(pod, true)};
    for (int k = 0; k < LOAD_RESOURCES; k++)
        a.limits.v[k] = MAX(a.limits.v[k], a.requests.v[k]);
    return a;
}
