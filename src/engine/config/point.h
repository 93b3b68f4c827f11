/* SPDX-License-Identifier: Apache-2.0 */
/*
 * point.h - the extension points of a configuration.
 *
 * Purpose:   one table: the section's name in KubeSchedulerConfiguration, the name in messages and
 *            metrics, and the member of struct berth_plugin that implements it.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_ENGINE_CONFIG_POINT_H
#define BERTH_ENGINE_CONFIG_POINT_H

#include "engine/ports/abi.h"

/* The highest score of a node at the Score point (upstream: fwk.MaxNodeScore). */
#define MAX_NODE_SCORE 100

enum point {
    POINT_PRE_ENQUEUE,
    POINT_QUEUE_SORT,
    POINT_PRE_FILTER,
    POINT_FILTER,
    POINT_POST_FILTER,
    POINT_PRE_SCORE,
    POINT_SCORE,
    POINT_RESERVE,
    POINT_PERMIT,
    POINT_PRE_BIND,
    POINT_BIND,
    POINT_POST_BIND,
    POINT_PLACEMENT_GENERATE,
    POINT_PLACEMENT_SCORE,
    POINT_COUNT,
};

struct point_desc {
    const char *section; /* "preFilter" */
    const char *name;    /* "PreFilter" */
    size_t members[2];   /* offsets in struct berth_plugin; either implements it. SIZE_MAX: none */
};
extern const struct point_desc point_table[POINT_COUNT];

bool plugin_implements(const struct berth_plugin *plugin, enum point point);
/* A copy of this berth's size: members that the plugin's header did not have are zero. */
void plugin_copy(struct berth_plugin *to, const struct berth_plugin *from);

#endif
