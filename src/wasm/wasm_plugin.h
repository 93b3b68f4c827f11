/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasm_plugin.h - a guest as a plugin of berth.
 *
 * Purpose:   the extension points that a module exports become those of a struct berth_plugin, with
 *            the arguments of upstream's host (guestURL, guestConfig, logSeverity, args) and the
 *            limits of a call.
 * Ownership: the plugin is part of the module.
 * Threading: as include/berth/plugin.h says. Everything runs on the engine's threads: a call cannot
 *            block, and its fuel is limited.
 */
#ifndef BERTH_WASM_WASM_PLUGIN_H
#define BERTH_WASM_WASM_PLUGIN_H

#include "wasm/module.h"

/* As wasm_module_new; also sets args and plugin. */
int wasm_plugin_load(struct str name, struct str url, struct str bytes,
                     struct wasm_module **ret_module, struct err *reterr) MUST_CHECK;

#endif
