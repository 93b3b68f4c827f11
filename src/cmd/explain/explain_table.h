/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_table.h - an attempt as tables for people.
 *
 * Purpose:   a headline with the result; nodes and the filters that refused them, nodes with the
 *            same verdict counted; nodes and their scores, the best first. `berth simulate
 *            --explain` and `berth explain` both print this.
 * Ownership: appends to the caller's buffer; nothing is kept.
 * Threading: any.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_TABLE_H

#include "base/buf.h"
#include "engine/explain/explanation.h"

#define EXPLAIN_TABLE_NODES 10

struct explain_table_options {
    size_t width;     /* columns of a line; 0: as many as it takes */
    size_t max_nodes; /* rows of one table that name a node; 0: all */
    bool wide;        /* raw scores, codes and whole names as well */
    bool colour;
};

/* For standard output: its width, and colours where it is a terminal that wants them. */
struct explain_table_options explain_table_for_stdout(size_t max_nodes, bool wide);

void explain_table(const struct explanation *x, const struct explain_table_options *options,
                   struct buf *out);

#endif
