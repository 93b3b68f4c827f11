/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.h - the life of `berth scheduler` after its command line.
 *
 * Purpose:   scheduler_command.c reads flags and says what is wrong with them; scheduler.c makes a
 *            configuration of them and runs.
 * Ownership: options and features are the caller's and outlive the call.
 * Threading: main thread.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_H

#include "cmd/scheduler/scheduler_flags.h"

/* Until it is told to end, or fails; gives the exit code back. */
int scheduler_run(const struct scheduler_options *options, const struct features *features);
/* Says why, as it is expected of the name under which berth runs; gives the exit code back. */
int scheduler_fail(const struct scheduler_options *options, const char *why);

#endif
