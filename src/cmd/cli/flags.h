/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.h - command-line flags from a table, compatible with upstream's pflag.
 *
 * Purpose:   parses `--name=value`, `--name value`, `--bool`, `--bool=false`, `-v=2`, `-v 2` and
 *            `-v2`; `--` ends flags; `_` in a name is `-`. Prints help in groups, records which
 *            flags were given and formats their values.
 * Ownership: the caller owns the table and the variables it points to. Texts point into argv, lists
 *            live in the arena of their value.
 * Threading: one thread, at start.
 */
#ifndef BERTH_CMD_CLI_FLAGS_H
#define BERTH_CMD_CLI_FLAGS_H

#include "base/go_text.h"

/* What a flag's `value` points to. */
enum flag_kind {
    FLAG_STR,      /* const char * */
    FLAG_BOOL,     /* bool */
    FLAG_INT,      /* int64_t */
    FLAG_INT32,    /* int32_t */
    FLAG_FLOAT,    /* float */
    FLAG_DURATION, /* int64_t, ns */
    FLAG_IP,       /* const char * */
    FLAG_STRINGS,  /* struct flag_strings */
    FLAG_INT32S,   /* struct flag_int32s */
    FLAG_MAP,      /* struct flag_map */
    FLAG_CUSTOM,   /* struct flag_custom */
    FLAG_KINDS,
};

/* Repeated flags and commas append. The first value given replaces the default. */
struct flag_strings {
    struct arena *arena;
    struct go_strings list;
    bool changed;
};

struct flag_int32s {
    struct arena *arena;
    int32_t *v;
    size_t n;
    bool changed;
};

/* "key=value,…", sorted by key; a later value replaces an earlier one. */
struct flag_map {
    struct arena *arena;
    struct go_strings keys, values;
    bool changed;
};

/* A flag with its own parser. */
struct flag_custom {
    void *to;
    int (*set)(void *to, struct str text, struct err *reterr); /* once per value given */
    void (*write_options)(struct buf *out);                    /* help lines; NULL: none */
    void (*write)(const void *to, struct buf *out);            /* the value; NULL: not shown */
    const char *without; /* value of a bare --name; NULL: a value is required */
};

struct flag {
    const char *group; /* heading in help; NULL: the group of the row above */
    const char *name;
    char letter; /* '\0': none */
    enum flag_kind kind;
    void *value;
    const char *metavar; /* name of the value in help; NULL: the kind's */
    const char *help;
    bool given;             /* set by flags_parse */
    const char *deprecated; /* the warning if it is given; hidden in help; NULL: not deprecated */
};

/*
 * Parses argv[1 …]. Arguments that are not flags are kept in order at argv[1 … *ret_n]. Returns
 * -EINVAL with upstream's message: "unknown flag: --x".
 */
int flags_parse(struct flag *table, size_t n, int argc, char **argv, int *ret_n,
                struct err *reterr) MUST_CHECK;
/*
 * Help in two columns per group, laid out as pflag does. The values of the table must be the
 * defaults. Lines are wrapped at `width` columns; 0: never.
 */
void flags_help(const struct flag *table, size_t n, size_t width, struct buf *out);
/* A flag's value as text: "5m0s", "[a,b]". */
void flag_write_value(const struct flag *flag, struct buf *out);
/* Calls fn for every flag, sorted by name. */
typedef void flags_fn(void *ctx, const struct flag *flag, struct str value);
void flags_each(const struct flag *table, size_t n, flags_fn *fn, void *ctx);
/* Whether the flag was given. It must be in the table. */
bool flags_given(const struct flag *table, size_t n, const char *name);

struct features;
/* The value of --feature-gates; gates are set in *features. */
struct flag_custom flag_features(struct features *features);
#define FEATURE_GATES_HELP "Comma-separated list of Name=true|false. Options are:"

/* --- for flags.c and outline.c: flag_value.c -------------------------------------------------- */

/* The name of the type in help; NULL: takes no value. */
const char *flag_type(const struct flag *flag);
int flag_set_value(const struct flag *flag, const char *text, struct err *reterr) MUST_CHECK;
/* Whether the value is the type's zero value, which help does not show. */
bool flag_is_zero(const struct flag *flag);

#endif
