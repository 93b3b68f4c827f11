/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/point.h"

#define MEMBER(m)    offsetof(struct berth_plugin, m)
#define NO_MEMBER    SIZE_MAX
#define ONE(m)       {MEMBER(m), NO_MEMBER}
#define EITHER(a, b) {MEMBER(a), MEMBER(b)}

const struct point_desc point_table[POINT_COUNT] = {
    [POINT_PRE_ENQUEUE] = {"preEnqueue", "PreEnqueue", ONE(pre_enqueue)},
    [POINT_QUEUE_SORT] = {"queueSort", "QueueSort", ONE(less)},
    [POINT_PRE_FILTER] = {"preFilter", "PreFilter", ONE(pre_filter)},
    [POINT_FILTER] = {"filter", "Filter", ONE(filter)},
    [POINT_POST_FILTER] = {"postFilter", "PostFilter", ONE(post_filter)},
    [POINT_PRE_SCORE] = {"preScore", "PreScore", ONE(pre_score)},
    [POINT_SCORE] = {"score", "Score", ONE(score)},
    [POINT_RESERVE] = {"reserve", "Reserve", EITHER(reserve, unreserve)},
    [POINT_PERMIT] = {"permit", "Permit", ONE(permit)},
    [POINT_PRE_BIND] = {"preBind", "PreBind", ONE(pre_bind)},
    [POINT_BIND] = {"bind", "Bind", ONE(bind)},
    [POINT_POST_BIND] = {"postBind", "PostBind", ONE(post_bind)},
    [POINT_PLACEMENT_GENERATE] = {"placementGenerate", "PlacementGenerate",
                                  ONE(generate_placements)},
    [POINT_PLACEMENT_SCORE] = {"placementScore", "PlacementScore", ONE(score_placement)},
};

/* A member beyond struct_size was added to the ABI after the plugin was compiled: absent. */
static bool has_member(const struct berth_plugin *plugin, size_t offset)
{
    void (*fn)(void);
    if (offset == NO_MEMBER || offset + sizeof(fn) > plugin->struct_size)
        return false;
    memcpy(&fn, (const char *)plugin + offset, sizeof(fn));
    return fn != NULL;
}

void plugin_copy(struct berth_plugin *to, const struct berth_plugin *from)
{
    memset(to, 0, sizeof(*to));
    memcpy(to, from, MIN(from->struct_size, sizeof(*to)));
    to->struct_size = sizeof(*to);
}

bool plugin_implements(const struct berth_plugin *plugin, enum point point)
{
    const struct point_desc *d = &point_table[point];
    return has_member(plugin, d->members[0]) || has_member(plugin, d->members[1]);
}
