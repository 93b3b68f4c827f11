/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_table_internal.h - what the files of explain_table share; nobody else includes it.
 *
 * Purpose:   explain_table.c writes the headline and what was said about the pod,
 *            explain_filters.c nodes and filters, explain_scores.c nodes and scores.
 * Ownership: the arena holds what one call needs.
 * Threading: any.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_INTERNAL_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_INTERNAL_H

#include "cmd/cli/term_text.h"
#include "cmd/explain/explain_table.h"

/* Room at the left of a table, in which the chosen node is marked. */
#define EXPLAIN_MARK   "  > "
#define EXPLAIN_INDENT (sizeof(EXPLAIN_MARK) - 1)
#define EXPLAIN_GAP    ((size_t)2) /* between columns */

struct explain_page {
    const struct explanation *x;
    const struct explain_table_options *options;
    struct arena *arena;
    struct buf *out;
    struct str domain; /* the end of all names of nodes, left out to save room; "": nothing is */
};

static inline bool explain_is_chosen(const struct explain_page *p, struct str node)
{
    return p->x->node.n && str_eq(node, p->x->node);
}

/* Rows for nodes; SIZE_MAX: all. */
static inline size_t explain_max_nodes(const struct explain_page *p)
{
    return p->options->max_nodes ? p->options->max_nodes : SIZE_MAX;
}

/* A node's name for a table, clean. */
struct str explain_node_name(const struct explain_page *p, struct str name);
/* The width of a column of names, of which this is the widest. */
size_t explain_name_width(const struct explain_page *p, size_t widest);
/* The columns that are left behind `used`. */
size_t explain_room(const struct explain_page *p, size_t used);
/* A left-aligned cell and the gap behind it. */
void explain_add_cell(const struct explain_page *p, struct str clean, size_t width);
/* "  > " in front of the chosen node, blanks in front of the others. */
void explain_begin_row(const struct explain_page *p, bool chosen);
void explain_end_row(const struct explain_page *p, bool chosen);
/* Text that is no row of a table, in as many lines as it takes, each indented. */
void explain_add_note(const struct explain_page *p, struct str text);
/* "Filters", in bold, and what comes behind it in the same line. */
void explain_add_title(const struct explain_page *p, const char *title, struct str text);

void explain_filters(const struct explain_page *p);
void explain_scores(const struct explain_page *p);

#endif
