/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_logging.h - the log as the flags of `berth scheduler` want it.
 *
 * Purpose:   format, verbosity, streams and buffer; levels of single files, for which the names of
 *            upstream's files count as well as ours.
 * Ownership: nothing is kept of the options.
 * Threading: at start, before there is a second thread.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_LOGGING_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_LOGGING_H

#include "cmd/scheduler/scheduler_flags.h"

/* EXIT_DONE, or EXIT_FAILED with what is wrong on standard error. */
int scheduler_logging_start(const struct scheduler_options *options,
                            const struct features *features);

#endif
