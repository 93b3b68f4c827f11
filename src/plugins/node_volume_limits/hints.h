/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hints.h - the events that may help a pod that NodeVolumeLimits rejected.
 *
 * Purpose:   registration; the hints take any plugin whose instance begins with a struct
 *            plain_plugin.
 * Ownership: nothing is kept.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_HINTS_H
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_HINTS_H

#include "engine/ports/abi.h"

void volume_limits_register(const struct berth_host *host, struct berth_registrar *r);

#endif
