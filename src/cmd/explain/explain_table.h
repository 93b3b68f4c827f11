/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_table.h - formats an attempt as tables.
 *
 * Purpose:   a headline with the result; a table of nodes and the filters that refused them, where
 *            nodes with the same verdict are counted; a table of scores, best node first. Used by
 *            `berth simulate --explain` and `berth explain`.
 * Ownership: appends to the caller's buffer; nothing is kept.
 * Threading: any.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_H

#include "base/buf.h"
#include "engine/explain/explanation.h"

#define EXPLAIN_TABLE_NODES 10

struct explain_table_options {
    size_t width;     /* columns per line; 0: unlimited */
    size_t max_nodes; /* per table; 0: all */
    bool wide;        /* with raw scores, codes and full names */
    bool colour;
};

/* Width and colours of standard output. Colours are off without a terminal and with NO_COLOR. */
struct explain_table_options explain_table_for_stdout(size_t max_nodes, bool wide);

void explain_table(const struct explanation *x, const struct explain_table_options *options,
                   struct buf *out);

#endif
