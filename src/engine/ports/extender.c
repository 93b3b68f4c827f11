/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ports/extender.h"

/* Extenders score 0 … 10, plugins 0 … 100. */
#define EXTENDER_SCORE_SCALE 10

static bool manages(const struct extender *x, const quantity_map *map)
{
    for (size_t i = 0; i < x->n_managed_resources; i++)
        if (quantity_map_get(map, x->managed_resources[i]))
            return true;
    return false;
}

static bool manages_container(const struct extender *x, const struct container *c)
{
    return manages(x, &c->resources.requests) || manages(x, &c->resources.limits);
}

bool extender_is_interested(const struct extender *x, const struct pod *pod)
{
    if (!x->n_managed_resources)
        return true;
    for (size_t i = 0; i < pod->spec.containers.n; i++)
        if (manages_container(x, &pod->spec.containers.v[i]))
            return true;
    for (size_t i = 0; i < pod->spec.init_containers.n; i++)
        if (manages_container(x, &pod->spec.init_containers.v[i]))
            return true;
    return false;
}

int64_t extender_weighted(int64_t score, int64_t weight)
{
    return (int64_t)((uint64_t)score * (uint64_t)weight * EXTENDER_SCORE_SCALE);
}
