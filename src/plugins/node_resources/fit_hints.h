/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_hints.h - queueing hints of NodeResourcesFit.
 *
 * Purpose:   the events that the plugin registers, with their hints. Its `self` must begin with a
 *            struct plain_plugin.
 * Ownership: keeps nothing.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H

#include "engine/framework/framework.h"

void fit_hints_register(const struct berth_host *host, struct berth_registrar *r);

#endif
