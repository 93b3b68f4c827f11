/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up.h - runs a cluster in this process.
 *
 * Purpose:   up_command.c parses and checks flags; up.c starts the cluster, fills it and runs until
 *            a signal, a limit of time, or the end of the work that it waits for.
 * Ownership: the options belong to the caller.
 * Threading: main thread.
 */
#ifndef BERTH_CMD_UP_UP_H
#define BERTH_CMD_UP_UP_H

#include "base/vec.h"
#include "cmd/cli/plugin_flags.h"

struct up_options {
    int64_t nodes, port, verbosity;
    int64_t limit; /* --for, ns; 0: none */
    const char *node_template, *config_file, *feature_gates;
    const char *import, *export, *data_dir, *address, *kubeconfig;
    const char *token_auth_file;
    const char *authorization_modes, *disable_admission; /* names, as given */
    unsigned authorization, disabled_admission;
    VEC(struct str) zones;
    VEC(const char *) files;
    struct plugin_flags plugins;
    bool nodes_given, recursive, plain, without_scheduler, without_controllers, wait, summary;
};

/* Returns the exit code. */
int up_run(const struct up_options *options);

#endif
