/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - the text of an expression, and what is wrong with it.
 *
 * Purpose:   positions are offsets in code points, as upstream counts; errors are collected with
 *            their position and shown with the line and a caret.
 * Ownership: everything is in the arena given to cel_source_init.
 * Threading: one thread at a time.
 */
#ifndef BERTH_CEL_SOURCE_H
#define BERTH_CEL_SOURCE_H

#include "base/arena.h"
#include "base/buf.h"

#define CEL_NO_OFFSET UINT32_MAX /* "<input>:-1:0" */

struct cel_problem {
    uint32_t offset;
    struct str message;
    struct cel_problem *next;
};

struct cel_source {
    struct arena *arena;
    const uint32_t *runes;
    uint32_t n;
    struct cel_problem *problems, **last;
    size_t n_problems;
};

/* Decodes; an invalid byte becomes U+FFFD. */
void cel_source_init(struct cel_source *s, struct arena *a, struct str text);
/* The code points [from, to) as UTF-8. */
struct str cel_source_text(const struct cel_source *s, uint32_t from, uint32_t to);

void cel_source_report(struct cel_source *s, uint32_t offset, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* All problems by position: "ERROR: <input>:1:8: text\n | line\n | .......^". */
void cel_source_write_problems(struct cel_source *s, struct buf *out);

#endif
