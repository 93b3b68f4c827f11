/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - state of the parser of regular expressions, shared by its two files.
 *
 * Purpose:   parse.c reads operators and groups, parse_class.c escapes and classes.
 * Ownership: the parser's vectors are its own; nodes are in the arena.
 * Threading: one thread.
 */
#ifndef BERTH_CEL_REGEX_PARSE_H
#define BERTH_CEL_REGEX_PARSE_H

#include <errno.h>

#include "cel/regex/syntax.h"

enum parse_flag {
    FLAG_FOLD = 1,      /* i */
    FLAG_MULTILINE = 2, /* m */
    FLAG_DOT_NL = 4,    /* s */
    FLAG_LAZY = 8,      /* U */
};

/* An open group: where its items and alternatives begin on the stacks. */
struct parse_group {
    size_t items, alternatives;
    uint32_t capture; /* 0: none */
    unsigned flags;   /* to be restored at its end */
};

struct parser {
    struct arena *a;
    struct str whole;
    struct str rest; /* not yet read */
    unsigned flags;
    uint32_t captures;
    size_t runes;                    /* in classes and literals, for the limit */
    VEC(struct node *) items;        /* the current concatenation of each open group */
    VEC(struct node *) alternatives; /* the finished ones of each open group */
    VEC(struct parse_group) groups;  /* groups.v[0] is the whole expression */
    struct regex_error *error;
};

/* Sets the error; returns -EINVAL. */
int parse_fail(struct parser *p, const char *what, struct str part);
/* The text from where `from` began up to what is not yet read. */
struct str parse_since(const struct parser *p, struct str from);
/* Removes a character from p->rest, which is not empty. */
int parse_rune(struct parser *p, uint32_t *ret_rune) MUST_CHECK;
int parse_check_utf8(struct parser *p, struct str text) MUST_CHECK;

/* A single escaped character; p->rest begins with the backslash. */
int parse_escape(struct parser *p, uint32_t *ret_rune) MUST_CHECK;
/* \d, \pL, \p{Greek}: adds it to the set. *ret_found is false, and nothing is read, if there is
 * none. */
int parse_class_escape(struct parser *p, struct rune_set *set, bool *ret_found) MUST_CHECK;
/* [...]; p->rest begins with the bracket. */
int parse_bracket(struct parser *p, struct rune_set *set) MUST_CHECK;

#endif
