/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_plugins.h - the plugins that kube-scheduler 1.36 has.
 *
 * Purpose:   a configuration that names one of them must load, whether or not berth has it yet; and
 *            where it runs can be told without it. One that berth lacks does nothing, or only
 *            refuses the pods that need it (plugins/not_supported.c); the scheduler says at its
 *            start which pods are affected.
 * Ownership: constant.
 * Threading: any.
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
    const char *noticed; /* which pods are affected while berth does not have it */
    bool refuses;        /* what berth has of it only refuses pods */
};

/* NULL: it is not in the table. */
const struct known_plugin *known_plugin_find(struct str name);
/* The table, row by row; NULL behind its end. */
const struct known_plugin *known_plugin_at(size_t i);

/*
 * Whether the plugin of this name runs at a point: what berth has decides, and what 1.36 has where
 * berth does not have it, or only refuses pods by it.
 */
bool plugin_extends(const struct registry *registry, struct str name, enum point point);
/* Releases up to 1.22 had it (SelectorSpread: 1.28), berth has it; 1.36 does not. */
bool plugin_is_legacy(struct str name);
/* All the points that it runs at, as bits; PLUGIN_UNKNOWN where neither berth nor 1.36 has it. */
#define PLUGIN_UNKNOWN UINT_MAX
unsigned plugin_points(const struct registry *registry, struct str name);

#endif
