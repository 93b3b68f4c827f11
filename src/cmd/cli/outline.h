/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outline.h - all commands and their flags as data.
 *
 * Purpose:   whatever is written about the command line beside its help (completion for shells,
 *            options in manual pages) is written from here, so that it is right when a table
 *            changes.
 * Ownership: everything lives in the outline's arena.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CLI_OUTLINE_H
#define BERTH_CMD_CLI_OUTLINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"

/* What a shell can offer as a value. */
enum offer {
    OFFER_NOTHING,
    OFFER_WORDS,
    OFFER_LIST,  /* words, separated by commas */
    OFFER_GATES, /* words, each with =true or =false, separated by commas */
    OFFER_FILES,
    OFFER_DIRS,
};

struct outline_flag {
    struct str group; /* "": as the one before */
    struct str name;
    char letter;        /* '\0': none */
    struct str type;    /* "": takes no value */
    struct str without; /* the value of a bare --name that may take one; "": it must */
    struct str help;    /* may have several lines */
    struct str options; /* lines behind the help */
    struct str value;   /* the default; "": there is none to speak of */
    enum offer offer;
    struct str words; /* of what is offered, separated by blanks */
};

struct outline_command {
    struct str name, help;
    struct str words; /* that may follow it */
    bool takes_files;
    VEC(struct outline_flag) flags; /* without those that help does not show */
};

struct outline {
    struct arena arena;
    VEC(struct outline_command) commands; /* without those that help does not show */
};

void outline_init(struct outline *o, const struct command_list *commands);
void outline_release(struct outline *o);
/* NULL: there is none of that name. */
const struct outline_command *outline_find(const struct outline *o, struct str name);

/* Whether --name needs a value behind it. */
bool outline_needs_value(const struct outline_flag *flag);
/* The first sentence of a help text, without its stop. */
struct str outline_summary(struct str help);
/*
 * The text for use within '' of a shell: `quote` is how that shell writes a ', and the characters
 * in `special` get a backslash.
 */
void outline_quote(struct buf *out, struct str text, const char *quote, const char *special);

#endif
