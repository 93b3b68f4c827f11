/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest_files.h - the files that -f names.
 *
 * Purpose:   opens a file, standard input or the manifests of a directory, one after the other, by
 *            name. Shows progress on a terminal.
 * Ownership: nothing is kept.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CLI_MANIFEST_FILES_H
#define BERTH_CMD_CLI_MANIFEST_FILES_H

#include "codec/yaml.h"

struct manifest_reader {
    void *ctx;
    /* Reads one file. -ENODATA: it contains no documents. Errors name the file. */
    int (*read)(void *ctx, const char *path, const struct yaml_source *source, struct err *reterr);
    /* Objects so far, for the progress. */
    size_t (*n_objects)(void *ctx);
};

/* "-" is standard input. Of a directory: *.yaml, *.yml and *.json. */
int manifest_files_read(const struct manifest_reader *reader, const char *path, bool recursive,
                        struct err *reterr) MUST_CHECK;

#endif
