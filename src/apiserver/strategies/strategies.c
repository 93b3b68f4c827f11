/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/strategies.h"

/* NULL ends the list. */
static const struct strategy *const arrays[] = {
    pod_strategies,         config_strategies,
    namespace_strategies,   volume_strategies,
    replication_strategies, node_strategies,
    quota_strategies,       service_strategies,
    endpoint_strategies,    NULL,
};

const struct strategy *strategy_find(const struct resource *r)
{
    r = resource_stored(r);
    for (size_t i = 0; arrays[i]; i++)
        for (const struct strategy *s = arrays[i]; s->plural.n > 0; s++)
            if (str_eq(s->plural, r->plural) && str_eq(s->group, r->group))
                return s;
    return NULL;
}
