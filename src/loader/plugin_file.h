/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_file.h - a shared object with plugins.
 *
 * Purpose:   reads what a file exports without running it, and loads it. A file is loaded from a
 *            private copy in memory: replacing or truncating the file on disk does not affect
 *            plugins that run. Two versions of a file can be loaded at the same time.
 * Ownership: reference-counted. The plugins are valid until the last reference is gone, which
 *            unloads the code; so no instance may exist then.
 * Threading: one thread.
 */
#ifndef BERTH_LOADER_PLUGIN_FILE_H
#define BERTH_LOADER_PLUGIN_FILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "berth/plugin.h"

/* The most plugins that one file may export. */
#define PLUGIN_FILE_MAX 256

/* What a file says about one of its plugins. */
struct plugin_info {
    const char *name, *version; /* version NULL: none */
    uint32_t abi;
    size_t struct_size;
    unsigned flags;  /* enum berth_plugin_flags */
    unsigned points; /* bits of enum point */
    /* The rows of its arguments with their names, kinds and items; NULL: it has no table. */
    const struct berth_arg *args;
};

struct plugin_listing {
    struct plugin_info *plugins;
    size_t n;
    const char **needed; /* libraries, NULL-terminated */
};

/*
 * Lists the plugins of a file from its bytes. Fails if the file cannot be loaded by this program.
 * path is for errors: "PATH: what is wrong; what to do". The listing is in the arena.
 */
int plugin_file_inspect(const char *path, struct str bytes, struct arena *a,
                        struct plugin_listing *ret_listing, struct err *reterr) MUST_CHECK;

struct plugin_file {
    unsigned refs;
    char *path;
    size_t size;
    void *code;                                /* of dlopen */
    int copy;                                  /* descriptor of the private copy */
    const struct berth_plugin *const *plugins; /* NULL-terminated; in the code */
};

/* Reads a file of at most ELF_IMAGE_MAX bytes. */
int plugin_file_read(const char *path, struct buf *out, struct err *reterr) MUST_CHECK;
int plugin_file_load(const char *path, struct str bytes, struct plugin_file **ret_file,
                     struct err *reterr) MUST_CHECK;
/* Whether the file was loaded from these bytes. */
bool plugin_file_is(const struct plugin_file *file, struct str bytes);
struct plugin_file *plugin_file_ref(struct plugin_file *file);
/* NULL is allowed. Returns NULL. */
struct plugin_file *plugin_file_unref(struct plugin_file *file);

#endif
