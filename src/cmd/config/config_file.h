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
#ifndef BERTH_CMD_CONFIG_CONFIG_FILE_H
#define BERTH_CMD_CONFIG_CONFIG_FILE_H

#include "base/buf.h"
#include "engine/config/config.h"

/* Files larger than this are no configuration. */
#define CONFIG_MAX_FILE ((size_t)32 << 20)

/* What a path means: a file, or FILE#KEY for one configuration of a ConfigMap in it. */
struct config_text {
    const char *file;  /* "-": standard input */
    const char *shown; /* the same in messages */
    struct str key, text;
};

/* Splits a path; a file whose name has a # is that file. The text is not read. */
struct config_text config_path_split(const char *path, struct arena *a);
/* "-" is standard input. Errors read as upstream's, "open FILE: no such file or directory". */
int config_text_read(const char *path, struct arena *a, struct config_text *ret_text,
                     struct err *reterr) MUST_CHECK;
/* As config_parse; errors read "FILE:LINE: what". */
int config_text_parse(const struct config_text *text, struct arena *a,
                      struct scheduler_config *ret_config, struct err *reterr) MUST_CHECK;
/* The same with defaults filled in, not checked yet: flags may still change it. */
int config_text_load(const struct config_text *text, struct arena *a,
                     struct scheduler_config *ret_config, struct err *reterr) MUST_CHECK;
/* Reads and loads. */
int config_file_load(const char *path, struct arena *a, struct scheduler_config *ret_config,
                     struct err *reterr) MUST_CHECK;

/*
 * Appends all that is wrong with it, a line each in the order of the file, and a line that tells
 * how many more there are; false where there is something.
 */
bool config_file_check(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *lines);

/* Loads and checks. Lines are appended where it fails. */
bool config_file_use(const char *path, const struct registry *registry,
                     const struct features *features, struct arena *a,
                     struct scheduler_config *ret_config, struct buf *lines);

/* Each of the lines on standard error, after "berth: ". */
void config_file_tell(const struct buf *lines);

#endif
