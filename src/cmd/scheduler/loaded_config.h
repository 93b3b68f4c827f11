/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded_config.h - the configuration of a scheduler: its file with the flags applied, and the
 * plugins that it can name.
 *
 * Purpose:   one way from the command line to a configuration, for the start and for reloads.
 * Ownership: reference-counted. Owns the configuration and its texts, and a reference to the
 *            plugins. Texts of flags belong to the options, which must outlive it.
 * Threading: one thread writes; any thread may read afterwards.
 */
#ifndef BERTH_CMD_SCHEDULER_LOADED_CONFIG_H
#define BERTH_CMD_SCHEDULER_LOADED_CONFIG_H

#include "cmd/scheduler/scheduler_flags.h"
#include "engine/config/config.h"

struct loaded_config {
    unsigned refs;
    struct loaded_config *base; /* has the texts, if only the plugins differ; NULL: none */
    struct loaded_plugins *plugins;
    struct arena arena;
    struct scheduler_config config; /* not checked */
    struct str source;              /* the bytes of its files, read right before they were loaded */
};

/*
 * Reads the configuration. Takes its own reference to the plugins, and adds the configuration's
 * guests; those that the plugins have, and that have not changed, are used again.
 */
int loaded_config_new(const struct scheduler_options *options, struct loaded_plugins *plugins,
                      struct loaded_config **ret_loaded, struct err *reterr) MUST_CHECK;
/* The same configuration with other plugins. */
int loaded_config_with(struct loaded_config *loaded, struct loaded_plugins *plugins,
                       struct loaded_config **ret_loaded, struct err *reterr) MUST_CHECK;
/* Gives up a reference. NULL is allowed. Returns NULL. */
struct loaded_config *loaded_config_unref(struct loaded_config *loaded);

/*
 * The files that the configuration is loaded from: --config, a Policy, both or neither. Returns
 * their number; 0 if a part of it cannot be read again (standard input, a pipe, a ConfigMap).
 */
#define LOADED_CONFIG_FILES 2
size_t loaded_config_files(const struct scheduler_options *options,
                           const char *ret_paths[static LOADED_CONFIG_FILES]);
/* A pipe or a device: it can be read only once, and opening it may block. */
bool loaded_config_is_stream(const char *path);
/* Appends the bytes of all files. */
int loaded_config_read(const struct scheduler_options *options, struct buf *out,
                       struct err *reterr) MUST_CHECK;

/*
 * Copies the fields that need a restart from `running`. Calls fn for each of them that differs,
 * with the values as --write-config-to shows them.
 */
typedef void loaded_config_fn(void *ctx, struct str field, struct str running, struct str loaded);
void loaded_config_keep_fixed(struct loaded_config *loaded, const struct scheduler_config *running,
                              loaded_config_fn *fn, void *ctx);

#endif
