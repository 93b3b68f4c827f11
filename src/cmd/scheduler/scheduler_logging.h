/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_logging.h - configures the log from the flags of `berth scheduler`.
 *
 * Purpose:   format, verbosity, streams, buffers, and the verbosity of single files (--vmodule), by
 *            upstream's file names or berth's.
 * Ownership: keeps nothing of the options.
 * Threading: call it before there is a second thread.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_LOGGING_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_LOGGING_H

#include "cmd/scheduler/scheduler_flags.h"

/* Returns EXIT_DONE, or EXIT_FAILED with the errors on standard error. */
int scheduler_logging_start(const struct scheduler_options *options,
                            const struct features *features);

#endif
