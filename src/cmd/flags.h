/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.h - command-line flags by table, with the manners of upstream's (pflag).
 *
 * Purpose:   `--name=value`, `--name value`, `--bool`, `--bool=false`, `-v=2`, `-v 2`; `--` ends
 *            flags. One table per command: it parses, prints help in groups, and knows which flags
 *            were given.
 * Ownership: texts point into argv. The table is the caller's and holds where values go.
 * Threading: one thread, at start.
 */
#ifndef BERTH_CMD_FLAGS_H
#define BERTH_CMD_FLAGS_H

#include "base/buf.h"
#include "base/err.h"

enum flag_kind { FLAG_STR, FLAG_BOOL, FLAG_INT, FLAG_DURATION, FLAG_CUSTOM };

/* A flag that may be given several times: every value is handed to set, which adds it to `to`. */
struct flag_custom {
    void *to;
    int (*set)(void *to, struct str text, struct err *reterr);
    void (*write_options)(struct buf *out); /* for help, one a line; NULL: nothing to list */
};

struct flag {
    const char *group; /* heading in help; NULL: as the row above */
    const char *name;
    char letter; /* '\0': none */
    enum flag_kind kind;
    void *value; /* const char *, bool, int64_t, int64_t (ns), struct flag_custom */
    const char *metavar;
    const char *help;
    bool given; /* set by flags_parse */
};

/*
 * Parses argv[1 …]. Arguments that are no flags stay in order at argv[1 … *ret_n]. -EINVAL and one
 * line on failure; "unknown flag: --x" and the like read as upstream's.
 */
int flags_parse(struct flag *table, size_t n, int argc, char **argv, int *ret_n,
                struct err *reterr) MUST_CHECK;
void flags_help(const struct flag *table, size_t n, struct buf *out);

struct features;
/* The value of --feature-gates, by flag_features: adds to what *features says already. */
struct flag_custom flag_features(struct features *features);
#define FEATURE_GATES_HELP "Name=true|false, separated by commas; options are:"

#endif
