/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.h - regular expressions with the syntax and the results of Go's regexp package (RE2).
 *
 * Purpose:   CEL's matches, find and findAll. What compiles, what matches and the text of an error
 *            are Go's: Perl classes and flags, named groups, lazy repetition, Unicode classes, and
 *            of several matches the leftmost that a backtracking search finds first.
 *            No library fits: PCRE backtracks, so that a short expression can take forever; the
 *            expressions of the C library have another syntax; RE2 is C++.
 *            Matching takes time in proportion to the size of the expression times the length of
 *            the text, and memory in proportion to the size of the expression. An expression has
 *            at most REGEX_SIZE_MAX instructions, a repetition at most 1000 copies.
 *            Two differences to Go, both far beyond what CEL's limits let pass: Go computes the
 *            size and the depth of an expression after it took common prefixes out of alternatives,
 *            and does not count the letters of literal strings at all times.
 * Ownership: a regex is in the caller's arena. It keeps nothing of the expression's text.
 * Threading: immutable after regex_new; any number of threads may match at once.
 */
#ifndef BERTH_CEL_REGEX_REGEX_H
#define BERTH_CEL_REGEX_REGEX_H

#include "base/arena.h"

struct regex;

/* As Go: 128 MiB of its instructions, and of the characters of classes. */
#define REGEX_SIZE_MAX  ((128u << 20) / 40)
#define REGEX_RUNES_MAX ((128u << 20) / 4)

/* Why an expression does not compile: Go's words and the part of the expression. */
struct regex_error {
    const char *what;
    struct str part; /* borrowed from the expression */
};

/* 0 or -EINVAL; *reterr is written on failure. */
int regex_new(struct str expression, struct arena *a, const struct regex **ret_regex,
              struct regex_error *reterr) MUST_CHECK;
/* "error parsing regexp: missing closing ]: `[a`", in the arena. */
struct str regex_error_text(const struct regex_error *error, struct arena *a);

/* Number of groups, without group 0, the whole match. */
size_t regex_groups(const struct regex *re);

/* Whether some part of the text matches. */
bool regex_match(const struct regex *re, struct str text);

/* A part [from, to) of the text; from is SIZE_MAX if the group is not part of the match. */
struct regex_span {
    size_t from, to;
};
/*
 * Finds the first match that begins at or after `from`; anchors and word boundaries see the text
 * before. Fills the first n of the groups 0, 1, ...; n is at least 1.
 */
bool regex_find(const struct regex *re, struct str text, size_t from, struct regex_span *ret_spans,
                size_t n);

/*
 * The matches of a text one after the other, as Go's FindAll: they do not overlap, and an empty
 * match directly after another match does not count.
 *     struct regex_all all = {.re = re, .text = text};
 *     while (regex_all_next(&all, &span)) ...
 */
struct regex_all {
    const struct regex *re;
    struct str text;
    size_t at, after; /* next place to search; end of the last match + 1 */
};
bool regex_all_next(struct regex_all *all, struct regex_span *ret_span);

#endif
