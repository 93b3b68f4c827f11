/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.h - runs the scheduler.
 *
 * Purpose:   scheduler_command.c parses and checks flags; scheduler.c loads the configuration and
 *            runs until a signal or a failure.
 * Ownership: options and features belong to the caller.
 * Threading: main thread.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_H

#include "cmd/scheduler/scheduler_flags.h"

/* Runs until a signal or a failure, and returns the exit code. */
int scheduler_run(const struct scheduler_options *options, const struct features *features);
/* Reports a failure as berth or as kube-scheduler does, and returns EXIT_FAILED. */
int scheduler_fail(const struct scheduler_options *options, const char *why);

#endif
