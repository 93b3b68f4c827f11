/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - small files written by others: kubeconfigs, tokens, certificates.
 *
 * Purpose:   read a whole file with a size limit, and detect cheaply that it was replaced.
 * Ownership: the caller owns the buffer.
 * Threading: any thread.
 */
#ifndef BERTH_KUBE_FILE_H
#define BERTH_KUBE_FILE_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Appends the content of path to out. Fails for directories, unreadable files and files of more
 * than max bytes, with "PATH: reason" in reterr.
 */
int file_read(const char *path, size_t max, struct buf *out, struct err *reterr) MUST_CHECK;

/* Identifies a version of a file. Equal stamps mean equal content for all practical purposes. */
struct file_stamp {
    uint64_t inode;
    int64_t size;
    int64_t mtime, ctime; /* ns */
};

/* Returns 0 or a negative errno. */
int file_stamp_of(const char *path, struct file_stamp *ret_stamp) MUST_CHECK;
static inline bool file_stamp_eq(struct file_stamp a, struct file_stamp b)
{
    return a.inode == b.inode && a.size == b.size && a.mtime == b.mtime && a.ctime == b.ctime;
}

#endif
