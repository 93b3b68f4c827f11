/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the table of commands.
 *
 * Purpose:   the one place that lists them.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_CMD_COMMANDS_H
#define BERTH_CMD_COMMANDS_H

#include "cmd/cli/cmd.h"

extern const struct command_list commands;

/* NULL if there is no command of that name. */
const struct command *command_find(const char *name);

#endif
