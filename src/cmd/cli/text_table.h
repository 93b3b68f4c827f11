/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_table.h - a table for a terminal, as kubectl prints one.
 *
 * Purpose:   rows of cells; every column but the last is as wide as its widest cell. The first row
 *            is the heading. Control characters in cells are made visible (term_text.h).
 * Ownership: the table copies the cells.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CLI_TEXT_TABLE_H
#define BERTH_CMD_CLI_TEXT_TABLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

struct text_table {
    size_t n_columns;
    struct arena arena;
    VEC(struct str) cells; /* row by row */
};

void text_table_init(struct text_table *t, size_t n_columns);
void text_table_release(struct text_table *t);
/* Appends a cell. "" is shown as "-". */
void text_table_add(struct text_table *t, struct str cell);
/* Appends the table with `indent` blanks before each line. The last row must be complete. */
void text_table_write(const struct text_table *t, size_t indent, struct buf *out);

#endif
