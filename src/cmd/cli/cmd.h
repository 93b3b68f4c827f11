/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd.h - berth's subcommands.
 *
 * Purpose:   what a command is and what all commands share. A command gets its own argv (argv[0]
 *            is its name) and returns the exit code.
 * Ownership: -
 * Threading: main thread.
 */
#ifndef BERTH_CMD_CLI_CMD_H
#define BERTH_CMD_CLI_CMD_H

#include "base/arena.h"
#include "base/err.h"

/* Exit codes: done; it failed; wrong command line; simulate --fail-on-pending: pods are pending. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PENDING = 3 };

/*
 * What a command's flags function calls, once, with its table of flags and their defaults; they
 * hold until it returns.
 */
struct flag;
typedef void cmd_flags_fn(void *ctx, const struct flag *flags, size_t n);

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    void (*flags)(cmd_flags_fn *fn, void *ctx);
    const char *arguments; /* what may follow: words, and FILE for files; for completion */
    const char *help;      /* NULL: not shown */
};

/* In the order of help. */
struct command_list {
    const struct command *v;
    size_t n;
};

/* The commands, each defined in the folder of its name; cmd/commands.c is the table. */
int cmd_bench(int argc, char **argv);
int cmd_completion(const struct command_list *commands, int argc, char **argv);
int cmd_config(int argc, char **argv);
/* The whole program is the scheduler and behaves as kube-scheduler; argv[0] is its name. */
int cmd_kube_scheduler(int argc, char **argv);
int cmd_explain(int argc, char **argv);
/* The options of a command for its manual page. */
int cmd_mdoc(const struct command_list *commands, int argc, char **argv);
int cmd_scheduler(int argc, char **argv);
int cmd_simulate(int argc, char **argv);

void cmd_bench_flags(cmd_flags_fn *fn, void *ctx);
void cmd_completion_flags(cmd_flags_fn *fn, void *ctx);
void cmd_config_flags(cmd_flags_fn *fn, void *ctx);
void cmd_explain_flags(cmd_flags_fn *fn, void *ctx);
void cmd_scheduler_flags(cmd_flags_fn *fn, void *ctx);
void cmd_simulate_flags(cmd_flags_fn *fn, void *ctx);

/* Files larger than this are no configuration and no scenario. "-" is standard input. */
#define CMD_MAX_FILE ((size_t)256 << 20)
int cmd_read_file(const char *path, struct arena *a, struct str *ret_text,
                  struct err *reterr) MUST_CHECK;
/*
 * The same with a limit of one's own. A pipe that nobody has opened for writing is given some
 * seconds, then -ETIMEDOUT; one whose writer is silent is waited for, which standard error is told.
 */
int cmd_read_limited(const char *path, size_t max, struct arena *a, struct str *ret_text,
                     struct err *reterr) MUST_CHECK;
/* "open PATH: no such file or directory", as upstream says it; code: negative errno. */
int cmd_file_error(const char *call, const char *path, int code, struct err *reterr);
/* The last part of the path by which a program was started. */
const char *cmd_program_name(const char *argv0);
/* How wide the terminal is that standard output goes to; 0: it is none. */
size_t cmd_columns(void);
/* A command's help on standard output; gives the exit code back. */
int cmd_help(const char *usage, const struct flag *flags, size_t n);
/* "berth: MESSAGE" on standard error; gives the exit code back. */
int cmd_fail(int exit_code, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
