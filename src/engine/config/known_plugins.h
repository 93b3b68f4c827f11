/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_plugins.h - the plugins that kube-scheduler 1.36 has.
 *
 * Purpose:   a configuration with any of them must load, whether or not berth supports it, and the
 *            points of each are known. A plugin that is not supported does nothing, or only
 *            rejects the pods that need it; the scheduler logs at its start which pods are
 *            affected.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_ENGINE_CONFIG_KNOWN_PLUGINS_H
#define BERTH_ENGINE_CONFIG_KNOWN_PLUGINS_H

#include <limits.h>

#include "engine/config/point.h"
#include "engine/config/registry.h"

#define KNOWN_PLUGINS_MAX 16

struct known_plugin {
    const char *name;
    unsigned points;     /* bits, 1 << enum point */
    const char *noticed; /* the pods that are affected while it is not supported */
    bool refuses;        /* berth's version only rejects pods */
};

/* NULL if it is not in the table. */
const struct known_plugin *known_plugin_find(struct str name);
/* The table, row by row; NULL at its end. */
const struct known_plugin *known_plugin_at(size_t i);

/*
 * Does the plugin of this name run at a point? berth's plugin decides; if berth does not support
 * it, or only rejects pods, upstream's table does.
 */
bool plugin_extends(const struct registry *registry, struct str name, enum point point);
/* A plugin of releases up to 1.22 (SelectorSpread: 1.28) that 1.36 does not have. */
bool plugin_is_legacy(struct str name);
/* All points that it runs at, as bits; PLUGIN_UNKNOWN if neither berth nor 1.36 has it. */
#define PLUGIN_UNKNOWN UINT_MAX
unsigned plugin_points(const struct registry *registry, struct str name);

#endif
