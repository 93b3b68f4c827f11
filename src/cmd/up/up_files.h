/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_files.h - the files that `berth up` writes for its clients.
 *
 * Purpose:   a directory that only its owner can read: the data directory, or a temporary one that
 *            is removed at the end. Kubeconfigs and the configuration of an import are in it.
 * Ownership: the caller owns the struct.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_UP_UP_FILES_H
#define BERTH_CMD_UP_UP_FILES_H

#include "apiserver/cluster_host.h"

struct up_files {
    char *directory;
    bool temporary;
    char *kubeconfig;           /* of the administrator */
    char *scheduler_kubeconfig; /* of system:kube-scheduler */
    char *config;               /* of the scheduler, from an import; NULL: none */
    char *log;                  /* NULL: none */
};

/* data_dir "": a temporary directory. kubeconfig "": in the directory. */
int up_files_init(struct up_files *f, const char *data_dir, const char *kubeconfig,
                  struct err *reterr) MUST_CHECK;
int up_files_write_config(struct up_files *f, const struct json_value *config,
                          struct err *reterr) MUST_CHECK;
/* Opens a file for the log; returns its descriptor. */
int up_files_open_log(struct up_files *f, struct err *reterr) MUST_CHECK;
int up_files_write_kubeconfigs(const struct up_files *f, const struct cluster_host *host,
                               struct err *reterr) MUST_CHECK;
/* Removes the temporary directory. */
void up_files_release(struct up_files *f);

#endif
