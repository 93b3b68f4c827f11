/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_hints.h - queueing hints of NodeResourcesFit.
 *
 * Purpose:   the events that the plugin registers, with their hints. Its `self` must begin with a
 *            struct fit_base.
 * Ownership: keeps nothing.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H

#include "plugins/common/extended_classes.h"
#include "plugins/common/plugin_base.h"

struct fit_base {
    struct plain_plugin plugin;
    const struct extended_classes *classes; /* NULL: DRAExtendedResource is off */
};

void fit_hints_register(const struct fit_base *self, struct berth_registrar *r);

#endif
