/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_flags.h - the flags --plugin and --plugin-dir.
 *
 * Purpose:   the same two flags for every command that builds profiles.
 * Ownership: paths point into argv. plugin_flags_release frees the lists.
 * Threading: one thread, at start.
 */
#ifndef BERTH_CMD_CLI_PLUGIN_FLAGS_H
#define BERTH_CMD_CLI_PLUGIN_FLAGS_H

#include "cmd/cli/flags.h"
#include "loader/loaded_plugins.h"

struct plugin_flags {
    struct plugin_sources sources;
    struct flag_custom files, dirs; /* the values of the flags; point into this struct */
};

#define PLUGIN_FLAG_HELP     "Shared object with plugins to load. Can be repeated."
#define PLUGIN_DIR_FLAG_HELP "Directory whose *.so files are loaded as plugins. Can be repeated."

/* flags must not move afterwards. */
void plugin_flags_init(struct plugin_flags *flags);
void plugin_flags_release(struct plugin_flags *flags);

#endif
