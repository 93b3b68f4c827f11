/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.h - loads the configuration file named on a command line.
 *
 * Purpose:   one way from a path to a valid configuration for all commands: read, convert, fill in
 *            defaults, check against the plugins and feature gates of this program. Errors have
 *            the same format everywhere: "FILE:LINE: field: error (hint)".
 * Ownership: the configuration lives in the arena given.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CONFIG_CONFIG_FILE_H
#define BERTH_CMD_CONFIG_CONFIG_FILE_H

#include "base/buf.h"
#include "engine/config/config.h"
#include "loader/loaded_plugins.h"

/* The largest file that is accepted. */
#define CONFIG_MAX_FILE ((size_t)32 << 20)

/* A path: FILE, or FILE#KEY for a key of a ConfigMap in the file. */
struct config_text {
    const char *file;  /* "-": standard input */
    const char *shown; /* the file's name in messages */
    struct str key, text;
};

/* Splits a path without reading the file. An existing file with a # in its name has no key. */
struct config_text config_path_split(const char *path, struct arena *a);
/* "-" is standard input. Errors are upstream's: "open FILE: no such file or directory". */
int config_text_read(const char *path, struct arena *a, struct config_text *ret_text,
                     struct err *reterr) MUST_CHECK;
/* Like config_parse; errors start with "FILE:LINE: ". */
int config_text_parse(const struct config_text *text, struct arena *a,
                      struct scheduler_config *ret_config, struct err *reterr) MUST_CHECK;
/* The same with defaults, but not checked: flags may still change the configuration. */
int config_text_load(const struct config_text *text, struct arena *a,
                     struct scheduler_config *ret_config, struct err *reterr) MUST_CHECK;
/* Reads and loads. */
int config_file_load(const char *path, struct arena *a, struct scheduler_config *ret_config,
                     struct err *reterr) MUST_CHECK;

/*
 * Appends one line per error in the order of the file, and a line with the number of errors left
 * out. Returns true if there are none.
 */
bool config_file_check(const struct scheduler_config *config, const struct registry *registry,
                       const struct features *features, struct buf *lines);

/*
 * Loads and checks a file, and adds its guests to the plugins (loaded_plugins_add_guests). Appends
 * lines and returns false on failure.
 */
bool config_file_use(const char *path, struct loaded_plugins **plugins,
                     const struct features *features, struct arena *a,
                     struct scheduler_config *ret_config, struct buf *lines);

/* Appends a hint to an error about plugins, " (did you mean NodePorts?)", if there is one. */
void config_hint(const struct registry *registry, struct str error, struct buf *out);

/* Prints each line to standard error, prefixed with "berth: ". */
void config_file_print(const struct buf *lines);

#endif
