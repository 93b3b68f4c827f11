/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_config.h - the WebAssembly guests that a configuration names.
 *
 * Purpose:   a plugin is a guest if a profile enables it, no plugin of this program or of a shared
 *            object has its name, and its arguments have a guestURL: upstream's way to add guests.
 * Ownership: entries borrow the configuration's texts.
 * Threading: one thread.
 */
#ifndef BERTH_LOADER_GUEST_CONFIG_H
#define BERTH_LOADER_GUEST_CONFIG_H

#include "base/buf.h"
#include "base/vec.h"
#include "engine/config/registry.h"
#include "loader/plugin_file.h"

struct guest_entry {
    struct str name, url; /* url in the arena */
};
typedef VEC(struct guest_entry) guest_entries;

/* Fails if two profiles give guests of one name different URLs. */
int guest_config_find(const struct scheduler_config *config, const struct registry *registry,
                      struct arena *a, guest_entries *out, struct err *reterr) MUST_CHECK;

/* The path of a file:// URL; empty: another scheme. */
struct str guest_url_path(struct str url);
/* Appends the module. Errors are upstream's: "wasm: error reading guestURL URL: …". */
int guest_url_read(struct str url, struct buf *out, struct err *reterr) MUST_CHECK;

/* Whether a file is a WebAssembly module, by its first bytes. */
bool guest_is_module(struct str bytes);
/*
 * Lists the plugin of a module as plugin_file_inspect does, without running it; its name is that of
 * the file. The listing is in the arena.
 */
int guest_inspect(const char *path, struct str bytes, struct arena *a,
                  struct plugin_listing *ret_listing, struct err *reterr) MUST_CHECK;

#endif
