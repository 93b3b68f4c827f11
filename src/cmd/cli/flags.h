/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.h - command-line flags by table, with the manners of upstream's (pflag).
 *
 * Purpose:   `--name=value`, `--name value`, `--bool`, `--bool=false`, `-v=2`, `-v 2`, `-v2`; `--`
 *            ends flags; `_` in a name is `-`. One table per command: it parses, prints help in
 *            groups, knows which flags were given and shows their values.
 * Ownership: texts point into argv, lists live in the arena that their value names. The table is
 *            the caller's and says where values go.
 * Threading: one thread, at start.
 */
#ifndef BERTH_CMD_CLI_FLAGS_H
#define BERTH_CMD_CLI_FLAGS_H

#include "base/go_text.h"

/* What `value` of a flag points to, and how help calls it. */
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

/* Given several times, or with commas, it grows; the first time, defaults go. */
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

/* What no kind above covers: every value given is handed to set. */
struct flag_custom {
    void *to;
    int (*set)(void *to, struct str text, struct err *reterr);
    void (*write_options)(struct buf *out);         /* for help, one a line; NULL: none */
    void (*write)(const void *to, struct buf *out); /* the value; NULL: not shown */
    const char *without; /* the value of a bare --name; NULL: needs one */
};

struct flag {
    const char *group; /* heading in help; NULL: as the row above */
    const char *name;
    char letter; /* '\0': none */
    enum flag_kind kind;
    void *value;
    const char *metavar; /* NULL: the kind's */
    const char *help;
    bool given;             /* set by flags_parse */
    const char *deprecated; /* said where it is given, and help does not show it; NULL: it does */
};

/*
 * Parses argv[1 …]. Arguments that are no flags stay in order at argv[1 … *ret_n]. -EINVAL and one
 * line on failure: "unknown flag: --x" and the like, as upstream says it.
 */
int flags_parse(struct flag *table, size_t n, int argc, char **argv, int *ret_n,
                struct err *reterr) MUST_CHECK;
/*
 * Of a table whose values are the defaults: two columns a group, as pflag lays them out. Lines are
 * broken before `width` columns; 0: never.
 */
void flags_help(const struct flag *table, size_t n, size_t width, struct buf *out);
/* A flag's value as text: "5m0s", "[a,b]". */
void flag_write_value(const struct flag *flag, struct buf *out);
/* Names sorted; for what shows all flags. */
typedef void flags_fn(void *ctx, const struct flag *flag, struct str value);
void flags_each(const struct flag *table, size_t n, flags_fn *fn, void *ctx);
/* Whether it was given; the name must be in the table. */
bool flags_given(const struct flag *table, size_t n, const char *name);

struct features;
/* The value of --feature-gates, by flag_features: adds to what *features says already. */
struct flag_custom flag_features(struct features *features);
#define FEATURE_GATES_HELP "Name=true|false, separated by commas; options are:"

/* --- for flags.c and outline.c: flag_value.c -------------------------------------------------- */

const char *flag_type(const struct flag *flag);
int flag_set_value(const struct flag *flag, const char *text, struct err *reterr) MUST_CHECK;
/* Whether help leaves the default out. */
bool flag_is_zero(const struct flag *flag);

#endif
