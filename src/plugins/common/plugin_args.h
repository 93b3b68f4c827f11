/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_args.h - the pluginConfig entry of a plugin, when the plugin is made.
 *
 * Purpose:   reads and checks it by its kind (engine/args_kind.h) and says in the plugin's own
 *            terms what is wrong. plugins/registry.c is the table of all kinds.
 * Ownership: decoded text lives in the caller's arena.
 * Threading: one thread.
 */
#ifndef BERTH_PLUGINS_COMMON_PLUGIN_ARGS_H
#define BERTH_PLUGINS_COMMON_PLUGIN_ARGS_H

#include "berth/plugin.h"
#include "engine/config/args_kind.h"

/*
 * The arguments into out (kind->type->size bytes): read strictly, defaults filled in, checked.
 * Where there are none, all defaults. For kinds that no gate changes. -EINVAL with *error filled.
 */
int plugin_args_read(const struct args_kind *kind, struct berth_str text, struct arena *a,
                     void *out, struct berth_error *error) MUST_CHECK;

#endif
