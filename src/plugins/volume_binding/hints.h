/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hints.h - the changes after which VolumeBinding may accept a pod that it rejected.
 *
 * Purpose:   registers the events of the plugin.
 * Ownership: borrows.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_HINTS_H
#define BERTH_PLUGINS_VOLUME_BINDING_HINTS_H

#include "berth/plugin.h"
#include "engine/ports/engine_log.h"

/* The log that the hints write to is that of *log, which is the plugin's `self`. */
struct hint_context {
    const struct berth_host *host;
    const struct engine_log *log;
};

/* self of the plugin must begin with a struct hint_context. */
void volume_binding_events(void *self, struct berth_registrar *r);

#endif
