/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd.h - berth's subcommands.
 *
 * Purpose:   what a command is, and helpers that commands share. cmd/commands.c is the table. A
 * command gets its own argv (argv[0] is its name) and returns the exit code. Ownership: nothing is
 * kept. Threading: main thread.
 */
#ifndef BERTH_CMD_CLI_CMD_H
#define BERTH_CMD_CLI_CMD_H

#include "base/arena.h"
#include "base/err.h"

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,   /* invalid command line */
    EXIT_PENDING = 3, /* simulate --fail-on-pending: a pod has no node */
};

/* Receives a command's flags with their defaults. They are valid until it returns. */
struct flag;
typedef void cmd_flags_fn(void *ctx, const struct flag *flags, size_t n);

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    void (*flags)(cmd_flags_fn *fn, void *ctx);
    const char *arguments; /* for completion: words, and FILE for files */
    const char *help;      /* NULL: hidden */
};

/* In the order of help. */
struct command_list {
    const struct command *v;
    size_t n;
};

int cmd_bench(int argc, char **argv);
int cmd_completion(const struct command_list *commands, int argc, char **argv);
int cmd_config(int argc, char **argv);
/* Runs the scheduler with kube-scheduler's texts and exit codes; argv[0] is the program's name. */
int cmd_kube_scheduler(int argc, char **argv);
int cmd_explain(int argc, char **argv);
/* The options of a command for its manual page. */
int cmd_mdoc(const struct command_list *commands, int argc, char **argv);
int cmd_plugin(int argc, char **argv);
int cmd_scheduler(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_up(int argc, char **argv);

void cmd_bench_flags(cmd_flags_fn *fn, void *ctx);
void cmd_completion_flags(cmd_flags_fn *fn, void *ctx);
void cmd_config_flags(cmd_flags_fn *fn, void *ctx);
void cmd_explain_flags(cmd_flags_fn *fn, void *ctx);
void cmd_plugin_flags(cmd_flags_fn *fn, void *ctx);
void cmd_scheduler_flags(cmd_flags_fn *fn, void *ctx);
void cmd_simulate_flags(cmd_flags_fn *fn, void *ctx);
void cmd_up_flags(cmd_flags_fn *fn, void *ctx);

/* Reads a file of at most CMD_MAX_FILE bytes into the arena. "-" is standard input. */
#define CMD_MAX_FILE ((size_t)256 << 20)
int cmd_read_file(const char *path, struct arena *a, struct str *ret_text,
                  struct err *reterr) MUST_CHECK;
/*
 * The same with another limit; -EFBIG if the file is larger. Returns -ETIMEDOUT if no process opens
 * a pipe for writing within some seconds. Waits for a silent writer and reports it on stderr.
 */
int cmd_read_limited(const char *path, size_t max, struct arena *a, struct str *ret_text,
                     struct err *reterr) MUST_CHECK;
/* Upstream's wording: "open PATH: no such file or directory". code: negative errno. */
int cmd_file_error(const char *call, const char *path, int code, struct err *reterr);
/* The last element of the path in argv[0]. */
const char *cmd_program_name(const char *argv0);
/* The width of the terminal on standard output; 0 if it is not a terminal. */
size_t cmd_columns(void);
/* Prints a command's help to standard output and returns EXIT_DONE. */
int cmd_help(const char *usage, const struct flag *flags, size_t n);
/* Prints "berth: MESSAGE" to standard error and returns exit_code. */
int cmd_fail(int exit_code, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
