/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_hints.h - which changes of the cluster may make room for a pod that NodeResourcesFit turned
 * down.
 *
 * Purpose:   the events that the plugin registers, with their queueing hints.
 * Ownership: nothing is kept.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H
#define BERTH_PLUGINS_NODE_RESOURCES_FIT_HINTS_H

#include "engine/framework/framework.h"

/* The voice of NodeResourcesFit, whose `self` the hints are given. */
const struct engine_log *fit_log(const void *self);
void fit_hints_register(const struct berth_host *host, struct berth_registrar *r);

#endif
