/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_arguments.h - arguments of plugins by a table of struct berth_arg.
 *
 * Purpose:   reads JSON into a struct of the plugin's own: types, defaults, bounds, unknown fields.
 *            Errors name the field: "resources[0].weight: must be between 1 and 100".
 * Ownership: texts and lists are in the caller's arena.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_PLUGIN_ARGUMENTS_H
#define BERTH_ENGINE_FRAMEWORK_PLUGIN_ARGUMENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "engine/ports/abi.h"

/* text empty: all defaults. -EINVAL with *reterr set. */
int plugin_arguments_read(struct str text, const struct berth_arg *table, struct arena *a,
                          void *ret_args, struct err *reterr) MUST_CHECK;

#endif
