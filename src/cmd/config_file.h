/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.h - the configuration file of a command line.
 *
 * Purpose:   one way from a path to a configuration that may be used, for every command: read,
 *            converted, defaults filled in, checked against the plugins and gates of this program.
 *            What is wrong is told everywhere in the same lines, "FILE:LINE: field: what".
 * Ownership: the configuration lives in the arena given.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CONFIG_FILE_H
#define BERTH_CMD_CONFIG_FILE_H

#include "base/buf.h"
#include "engine/config.h"

/* Not checked yet: flags may still change it. "-" is standard input. */
int config_file_load(const char *path, struct arena *a, struct scheduler_config *ret_config,
                     struct err *reterr) MUST_CHECK;

/* The same of a text that is from there. */
int config_text_load(const char *path, struct str text, struct arena *a,
                     struct scheduler_config *ret_config, struct err *reterr) MUST_CHECK;

/* Appends all that is wrong with it, a line each; false where there is something. */
bool config_file_check(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *lines);

/* Loads and checks. Lines are appended where it fails. */
bool config_file_use(const char *path, const struct registry *registry,
                     const struct features *features, struct arena *a,
                     struct scheduler_config *ret_config, struct buf *lines);

/* Each of the lines on standard error, after "berth: ". */
void config_file_tell(const struct buf *lines);

#endif
