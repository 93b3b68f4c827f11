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
 *
 * The database is in WAL mode with synchronous=NORMAL: a commit is a write to the log, which the
 * kernel keeps when the process dies. It is not waited for by the disk: if the machine loses power,
 * the last commits may be missing, and the file is in the state after one of the earlier commits.
 */
#ifndef BERTH_APISERVER_DISK_STORE_FILE_H
#define BERTH_APISERVER_DISK_STORE_FILE_H

#include "apiserver/store/store.h"
#include "base/err.h"

struct store_file;

/*
 * Finds the resource of the objects that are read next; NULL: they are kept on disk and not loaded.
 * Called once per resource, for those of CustomResourceDefinitions after the definitions were
 * loaded.
 */
typedef const struct resource *store_file_resource_fn(void *ctx, struct str group,
                                                      struct str plural);
/* One object; text is valid until the function returns. */
typedef void store_file_load_fn(void *ctx, const struct resource *resource, struct str namespace,
                                struct str name, uint64_t version, struct str text);

/*
 * Opens or makes `directory`/berth.db, readable by its owner only. -EBUSY: another process has it.
 * -EBADMSG: damaged or no database of berth. -ENOTSUP: of a newer layout.
 */
int store_file_open(const char *directory, struct store_file **ret_file,
                    struct err *reterr) MUST_CHECK;
/* Commits and closes. NULL is allowed. Returns NULL. */
struct store_file *store_file_close(struct store_file *f);

/*
 * Reads all objects, definitions of custom resources first, and the version of the store; 0: it was
 * never written. -EBADMSG: damaged.
 */
int store_file_load(struct store_file *f, store_file_resource_fn *resource,
                    store_file_load_fn *load, void *ctx, uint64_t *ret_version,
                    struct err *reterr) MUST_CHECK;

/* Adds a change to the next commit. Holds a reference on its revision until then. */
void store_file_write(struct store_file *f, const struct store_event *event);
/* True if there is something to commit. */
bool store_file_dirty(const struct store_file *f);
/*
 * What was written before is on disk after this. After an error nothing of it is, and the next
 * commit tries to write it again with what comes later: memory grows until one succeeds. -ENOSPC:
 * the disk is full.
 */
int store_file_commit(struct store_file *f, struct err *reterr) MUST_CHECK;

#endif
