/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/known_plugins.h"

#define AT(p) (1U << POINT_##p)

static const struct known_plugin known_plugins[] = {
    {"VolumeRestrictions", AT(PRE_FILTER) | AT(FILTER),
     "pods with ReadWriteOncePod claims or disks that one node at a time may use", false},
    {"NodeVolumeLimits", AT(PRE_FILTER) | AT(FILTER), "pods with CSI volumes on crowded nodes",
     false},
    {"VolumeZone", AT(PRE_FILTER) | AT(FILTER), "pods with volumes of one zone", false},
    {"DefaultPreemption", AT(PRE_ENQUEUE) | AT(POST_FILTER),
     "pods of high priority that fit only where others are evicted", false},
};

_Static_assert(ARRAY_LEN(known_plugins) <= KNOWN_PLUGINS_MAX, "more room");

const struct known_plugin *known_plugin_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(known_plugins); i++)
        if (str_is(name, known_plugins[i].name))
            return &known_plugins[i];
    return NULL;
}

const struct known_plugin *known_plugin_at(size_t i)
{
    return i < ARRAY_LEN(known_plugins) ? &known_plugins[i] : NULL;
}

bool plugin_is_legacy(struct str name)
{
    static const char *const names[] = {
        "NodeLabel",
        "NodePreferAvoidPods",
        "NodeResourcesLeastAllocated",
        "NodeResourcesMostAllocated",
        "RequestedToCapacityRatio",
        "SelectorSpread",
        "ServiceAffinity",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

bool plugin_extends(const struct registry *registry, struct str name, enum point point)
{
    unsigned points = plugin_points(registry, name);
    return points != PLUGIN_UNKNOWN && points >> point & 1;
}

unsigned plugin_points(const struct registry *registry, struct str name)
{
    const struct berth_plugin *plugin = registry_find(registry, name);
    const struct known_plugin *known = known_plugin_find(name);
    if (known && (!plugin || known->refuses))
        return known->points;
    if (!plugin)
        return PLUGIN_UNKNOWN;
    unsigned points = 0;
    for (int point = 0; point < POINT_COUNT; point++)
        points |= (unsigned)plugin_implements(plugin, (enum point)point) << point;
    return points;
}
