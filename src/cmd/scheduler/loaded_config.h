/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded_config.h - the configuration of a scheduler: what its file says, and its flags on top.
 *
 * Purpose:   one way from the command line to a configuration, when the scheduler starts and each
 *            time it is told to read its file again.
 * Ownership: owns the configuration and its texts; those of flags are the options', which outlive
 *            it.
 * Threading: one thread at a time; read by any.
 */
#ifndef BERTH_CMD_SCHEDULER_LOADED_CONFIG_H
#define BERTH_CMD_SCHEDULER_LOADED_CONFIG_H

#include "cmd/scheduler/scheduler_flags.h"
#include "engine/config/config.h"

struct loaded_config {
    struct arena arena;
    struct scheduler_config config; /* not checked */
    struct str source; /* the bytes of its files, as they were right before they were read */
};

int loaded_config_new(const struct scheduler_options *options, struct loaded_config **ret_loaded,
                      struct err *reterr) MUST_CHECK;
struct loaded_config *loaded_config_free(struct loaded_config *loaded);

/*
 * The files that it is read from and that may change: a configuration, a Policy, both or neither.
 * Gives their number; none where a part of it cannot be read again (standard input, a pipe, a
 * ConfigMap).
 */
#define LOADED_CONFIG_FILES 2
size_t loaded_config_files(const struct scheduler_options *options,
                           const char *ret_paths[static LOADED_CONFIG_FILES]);
/* A pipe or a device: it is read once, and opening it may wait for somebody who writes. */
bool loaded_config_is_stream(const char *path);
/* Appends the bytes of all of them. */
int loaded_config_read(const struct scheduler_options *options, struct buf *out,
                       struct err *reterr) MUST_CHECK;

/* Warns of plugins that the configuration names and that do nothing. */
void loaded_config_tell_absent(const struct scheduler_config *config,
                               const struct registry *registry, const struct features *features);

/*
 * What no running scheduler can change is taken from `running`; fn is told of each field in which
 * the two differ, with the values as --write-config-to shows them.
 */
typedef void loaded_config_fn(void *ctx, struct str field, struct str running, struct str loaded);
void loaded_config_keep_fixed(struct loaded_config *loaded, const struct scheduler_config *running,
                              loaded_config_fn *fn, void *ctx);

#endif
