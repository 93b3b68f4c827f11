/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_internal.h - the parts of `berth plugin`.
 *
 * Purpose:   the command's flags, and one function per verb. Each prints its result to standard
 *            output and returns the exit code.
 * Ownership: the command owns its lists; texts point into argv.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_PLUGIN_PLUGIN_INTERNAL_H
#define BERTH_CMD_PLUGIN_PLUGIN_INTERNAL_H

#include "cmd/cli/cmd.h"
#include "cmd/cli/plugin_flags.h"
#include "engine/config/features.h"

struct plugin_command {
    const char *output, *lang, *config_file;
    bool help;
    struct plugin_flags plugins;
    plugin_paths files, then; /* of test */
    struct features features;
    struct flag_custom files_flag, then_flag, gates_flag;
    struct flag flags[9];
};

/* words: the arguments after the verb. */
int plugin_list(struct plugin_command *c, char **words, int n);
int plugin_inspect(struct plugin_command *c, char **words, int n);
int plugin_new(struct plugin_command *c, char **words, int n);
int plugin_test(struct plugin_command *c, char **words, int n);

/* Whether -o is json. Prints an error and sets *ret_code if it is neither table nor json. */
bool plugin_output_is_json(const struct plugin_command *c, int *ret_code);
/* "preFilter, filter": the sections of a configuration that the points belong to. */
struct str plugin_points_text(unsigned points, struct arena *a);
/* "label string, weights list of int". NULL: "". */
struct str plugin_args_text(const struct berth_arg *args, struct arena *a);

#endif
