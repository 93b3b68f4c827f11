/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outline.h - all commands and their flags as data.
 *
 * Purpose:   the source of shell completion and of the options in manual pages, so that these
 *            always match the flag tables.
 * Ownership: all texts live in the outline's arena.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CLI_OUTLINE_H
#define BERTH_CMD_CLI_OUTLINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"

/* What a shell offers as a flag's value. */
enum offer {
    OFFER_NOTHING,
    OFFER_WORDS,
    OFFER_LIST,  /* words, separated by commas */
    OFFER_GATES, /* words, each with =true or =false, separated by commas */
    OFFER_FILES,
    OFFER_DIRS,
};

struct outline_flag {
    struct str group; /* "": the group of the flag before */
    struct str name;
    char letter;        /* '\0': none */
    struct str type;    /* "": takes no value */
    struct str without; /* value of a bare --name; "": a value is required */
    struct str help;    /* may have several lines */
    struct str options; /* lines after the help */
    struct str value;   /* the default; "": none, or the type's zero value */
    enum offer offer;
    struct str words; /* of the offer, separated by blanks */
};

struct outline_command {
    struct str name, help;
    struct str words; /* arguments, separated by blanks */
    bool takes_files;
    VEC(struct outline_flag) flags; /* hidden ones excluded */
};

struct outline {
    struct arena arena;
    VEC(struct outline_command) commands; /* hidden ones excluded */
};

void outline_init(struct outline *o, const struct command_list *commands);
void outline_release(struct outline *o);
/* NULL if none. */
const struct outline_command *outline_find(const struct outline *o, struct str name);

/* Whether --name requires a value. */
bool outline_needs_value(const struct outline_flag *flag);
/* The first sentence of a help text, without its period. */
struct str outline_summary(struct str help);
/*
 * Quotes text for use within '' of a shell: `quote` replaces a ', and the characters in `special`
 * get a backslash.
 */
void outline_quote(struct buf *out, struct str text, const char *quote, const char *special);

#endif
