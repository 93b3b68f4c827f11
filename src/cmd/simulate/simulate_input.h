/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_input.h - the files of `berth simulate`.
 *
 * Purpose:   reads files, directories and standard input into a scenario, as kubectl reads -f, and
 *            reports errors, ignored objects and unsupported features on standard error.
 * Ownership: nothing is kept; the scenario belongs to the caller.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_SIMULATE_SIMULATE_INPUT_H
#define BERTH_CMD_SIMULATE_SIMULATE_INPUT_H

#include "cmd/cli/flags.h"
#include "sim/scenario.h"

/* A file, "-" for standard input, or a directory, whose .yaml, .yml and .json files are read. */
int simulate_input_read(struct scenario *s, const char *path, bool recursive,
                        struct err *reterr) MUST_CHECK;

/* Reports problems, ignored kinds and notes. False if a problem is an error (--validate). */
bool simulate_input_report(const struct scenario *s);

/* The value of --validate; kubectl's values are accepted. */
struct flag_custom simulate_input_flag(enum scenario_validation *to);

#endif
