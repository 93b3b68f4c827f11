/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_table_internal.h - shared by the files of explain_table; private to them.
 *
 * Purpose:   explain_table.c writes the headline and the facts about the pod, explain_filters.c the
 *            table of filters, explain_scores.c the table of scores.
 * Ownership: the arena lives for one call of explain_table.
 * Threading: any.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_INTERNAL_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_INTERNAL_H

#include "cmd/cli/term_text.h"
#include "cmd/explain/explain_table.h"

/* Left margin of a table; the mark shows the chosen node. */
#define EXPLAIN_MARK   "  > "
#define EXPLAIN_INDENT (sizeof(EXPLAIN_MARK) - 1)
#define EXPLAIN_GAP    ((size_t)2) /* between columns */

struct explain_page {
    const struct explanation *x;
    const struct explain_table_options *options;
    struct arena *arena;
    struct buf *out;
    struct str domain; /* common suffix of all node names, left out of tables; "": none */
};

static inline bool explain_is_chosen(const struct explain_page *p, struct str node)
{
    return p->x->node.n && str_eq(node, p->x->node);
}

/* Maximum number of rows; SIZE_MAX: all. */
static inline size_t explain_max_nodes(const struct explain_page *p)
{
    return p->options->max_nodes ? p->options->max_nodes : SIZE_MAX;
}

/* A node's name for a table: cleaned, without the common domain. */
struct str explain_node_name(const struct explain_page *p, struct str name);
/* The width of a column of names; widest: of its longest name. */
size_t explain_name_width(const struct explain_page *p, size_t widest);
/* The columns left after `used`. */
size_t explain_room(const struct explain_page *p, size_t used);
/* A left-aligned cell, followed by the gap. */
void explain_add_cell(const struct explain_page *p, struct str clean, size_t width);
/* Starts a row with "  > " for the chosen node, with blanks for others. */
void explain_begin_row(const struct explain_page *p, bool chosen);
void explain_end_row(const struct explain_page *p, bool chosen);
/* A wrapped and indented note below a table. */
void explain_add_note(const struct explain_page *p, struct str text);
/* A title in bold, followed by text on the same line. */
void explain_add_title(const struct explain_page *p, const char *title, struct str text);

void explain_filters(const struct explain_page *p);
void explain_scores(const struct explain_page *p);

#endif
