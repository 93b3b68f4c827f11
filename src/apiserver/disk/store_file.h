/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_file.h - a store on disk.
 *
 * Purpose:   a SQLite database with the current revision of every object. Changes are written in
 *            one transaction per commit; what was committed survives the end of the process at any
 *            moment. A second process on the same directory, a newer layout, a damaged file and a
 *            full disk are reported in one line.
 * Ownership: the caller owns it and its store.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_DISK_STORE_FILE_H
#define BERTH_APISERVER_DISK_STORE_FILE_H

#include "apiserver/store/store.h"
#include "base/err.h"

struct store_file;

/* Finds the resource of an object that is read; NULL: it is kept on disk and not loaded. */
typedef const struct resource *store_file_resource_fn(void *ctx, struct str group,
                                                      struct str plural);

/* Opens or makes `directory`/berth.db. -EBUSY: another process has it. -EBADMSG: damaged. */
int store_file_open(const char *directory, struct store_file **ret_file,
                    struct err *reterr) MUST_CHECK;
/* Commits and closes. NULL is allowed. Returns NULL. */
struct store_file *store_file_close(struct store_file *f);

/* Loads all objects and the version into an empty store. fields are made by `fields`. */
typedef void store_file_load_fn(void *ctx, const struct resource *resource, struct str namespace,
                                struct str name, uint64_t version, struct str text);
int store_file_load(struct store_file *f, store_file_resource_fn *resource,
                    store_file_load_fn *load, void *ctx, uint64_t *ret_version,
                    struct err *reterr) MUST_CHECK;

/* Adds a change to the open transaction. Errors are kept and returned by the commit. */
void store_file_write(struct store_file *f, const struct store_event *event);
/* True if there is something to commit. */
bool store_file_dirty(const struct store_file *f);
/* What was written before is on disk after this. After an error nothing of it is. */
int store_file_commit(struct store_file *f, struct err *reterr) MUST_CHECK;

#endif
