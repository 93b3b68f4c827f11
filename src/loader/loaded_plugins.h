/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded_plugins.h - all plugins that a program can use: in-tree ones, those compiled into it, and
 * those of shared objects (--plugin, --plugin-dir), and the WebAssembly guests of a configuration.
 *
 * Purpose:   one registry for a command. A running scheduler makes another set when a file has
 *            changed; files that have not changed are shared between both, so that their plugins
 *            count as the same.
 * Ownership: reference-counted; a set holds references to its files. Configurations that use
 *            plugins of a set hold a reference to it.
 * Threading: one thread; the registry can be read by any.
 */
#ifndef BERTH_LOADER_LOADED_PLUGINS_H
#define BERTH_LOADER_LOADED_PLUGINS_H

#include "base/vec.h"
#include "engine/config/registry.h"
#include "loader/plugin_file.h"
#include "wasm/module.h"

/* Plugins that are compiled into this program: see berth/scheduler.h. Set once at start. */
void compiled_in_plugins_set(const struct berth_plugin *const *plugins);

/* Where shared objects come from, in the order of the command line. */
typedef VEC(const char *) plugin_paths;
struct plugin_sources {
    plugin_paths files; /* --plugin; borrowed */
    plugin_paths dirs;  /* --plugin-dir; borrowed. All files *.so in them, sorted by name */
};
void plugin_sources_release(struct plugin_sources *sources);

struct loaded_plugins {
    unsigned refs;
    struct registry registry;
    VEC(struct plugin_file *) files;
    /* A set with guests: the set that they were added to. */
    struct loaded_plugins *base;
    VEC(struct wasm_module *) guests;
};

/* previous: NULL, or a set whose unchanged files are used again. */
int loaded_plugins_new(const struct plugin_sources *sources, const struct loaded_plugins *previous,
                       struct loaded_plugins **ret_set, struct err *reterr) MUST_CHECK;
struct loaded_plugins *loaded_plugins_ref(struct loaded_plugins *set);
/* NULL is allowed. Returns NULL. */
struct loaded_plugins *loaded_plugins_unref(struct loaded_plugins *set);
/*
 * Loads the guests that the configuration names. If there are any, *set is replaced by a set that
 * has them as well. Modules that have not changed are those of previous, which may be NULL.
 */
int loaded_plugins_add_guests(struct loaded_plugins **set, const struct scheduler_config *config,
                              const struct loaded_plugins *previous, struct err *reterr) MUST_CHECK;
/* The set without guests. */
struct loaded_plugins *loaded_plugins_without_guests(struct loaded_plugins *set);
/* The path of the file that a plugin comes from; NULL: it is compiled in, or a guest. */
const char *loaded_plugins_path(const struct loaded_plugins *set, struct str plugin);
/* Whether both have the same files, in the same versions; guests do not count. */
bool loaded_plugins_eq(const struct loaded_plugins *a, const struct loaded_plugins *b);

/*
 * A number that changes when a file is added, removed, replaced or written to. Files that cannot
 * be read now count as removed.
 */
uint64_t plugin_sources_stamp(const struct plugin_sources *sources);
/* The same for the files of a set's guests. */
uint64_t loaded_plugins_guest_stamp(const struct loaded_plugins *set);

#endif
