/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_args.h - decoding of a plugin's pluginConfig entry.
 *
 * Purpose:   decodes and validates it by its kind (engine/config/args_kind.h) and reports errors
 *            as a berth_error.
 * Ownership: decoded text is in the caller's arena.
 * Threading: one thread.
 */
#ifndef BERTH_PLUGINS_COMMON_PLUGIN_ARGS_H
#define BERTH_PLUGINS_COMMON_PLUGIN_ARGS_H

#include "berth/plugin.h"
#include "engine/config/args_kind.h"

/*
 * Decodes the arguments into out (kind->type->size bytes): strict, with defaults, validated. An
 * empty text means all defaults. For kinds that do not depend on feature gates. -EINVAL with *error
 * set.
 */
int plugin_args_read(const struct args_kind *kind, struct berth_str text, struct arena *a,
                     void *out, struct berth_error *error) MUST_CHECK;
/* The same for kinds that depend on feature gates. */
int plugin_args_read_gated(const struct args_kind *kind, const struct features *features,
                           struct berth_str text, struct arena *a, void *out,
                           struct berth_error *error) MUST_CHECK;

/* For defaults: the text that was given, or this one. */
struct str *args_text_or(struct str *given, struct str text, struct arena *a);

#endif
