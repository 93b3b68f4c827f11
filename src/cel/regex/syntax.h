/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syntax.h - the tree of a regular expression, and the program made of it.
 *
 * Purpose:   what the files of this folder share. regex_parse makes the tree, regex_emit the
 *            program, match.c runs it.
 * Ownership: nodes and their sets are in the arena of the parser, which ends with regex_new; the
 *            program is in the caller's.
 * Threading: one thread while it is made; a finished program is immutable.
 */
#ifndef BERTH_CEL_REGEX_SYNTAX_H
#define BERTH_CEL_REGEX_SYNTAX_H

#include "cel/regex/regex.h"
#include "cel/regex/unicode.h"

#define REGEX_HEIGHT_MAX 1000 /* depth of the tree, as Go */
#define REGEX_REPEAT_MAX 1000 /* copies of an expression, also by nested repetition, as Go */

enum node_op {
    NODE_EMPTY,
    NODE_LITERAL, /* runes one after the other */
    NODE_CLASS,   /* one character of ranges */
    NODE_EDGE,    /* matches between characters */
    NODE_CAPTURE,
    NODE_STAR,
    NODE_PLUS,
    NODE_QUEST,
    NODE_REPEAT, /* min to max times; max < 0: no limit */
    NODE_CONCAT,
    NODE_ALTERNATE,
};

enum regex_edge {
    EDGE_BEGIN_TEXT = 1,
    EDGE_END_TEXT = 2,
    EDGE_BEGIN_LINE = 4,
    EDGE_END_LINE = 8,
    EDGE_WORD = 16,
    EDGE_NO_WORD = 32,
};

struct node {
    enum node_op op;
    bool lazy;     /* repetitions */
    bool fold;     /* NODE_LITERAL: ignore case */
    bool nullable; /* may match without reading, by Go's rule */
    int min, max;
    uint32_t arg;     /* edge, or number of the group */
    uint32_t height;  /* of the tree below */
    uint32_t copies;  /* of something below, by repetitions */
    uint64_t size;    /* about the number of instructions */
    uint32_t program; /* index + 1 of its (first) class in the program; 0: not there yet */
    size_t n_program; /* NODE_LITERAL: classes there */
    struct node **sub;
    size_t n_sub;
    uint32_t *runes; /* NODE_LITERAL */
    size_t n_runes, cap_runes;
    struct rune_range *ranges; /* NODE_CLASS */
    size_t n_ranges;
};

/* 0 or -EINVAL. The tree is in the arena. */
int regex_parse(struct str expression, struct arena *a, struct node **ret_node, size_t *ret_groups,
                struct regex_error *reterr) MUST_CHECK;

enum regex_op {
    OP_RUNE,  /* arg: the character */
    OP_CLASS, /* arg: the class */
    OP_ANY,
    OP_ANY_NOT_NL,
    OP_EDGE, /* arg: enum regex_edge */
    OP_SAVE, /* arg: 2 * group, + 1 at its end */
    OP_JUMP,
    OP_SPLIT, /* out is tried first, then arg */
    OP_MATCH,
};

struct regex_inst {
    enum regex_op op : 8;
    uint32_t out, arg;
};

struct regex_class {
    const struct rune_range *v;
    size_t n;
    uint64_t ascii[2]; /* bits of the characters below 128 */
};

struct regex {
    const struct regex_inst *code;
    const struct regex_class *classes;
    size_t n_code, groups;
};

/* Fills in code and classes. */
void regex_emit(struct regex *re, struct node *tree, struct arena *a);

#endif
