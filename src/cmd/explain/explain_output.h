/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_output.h - prints attempts to standard output in the requested format.
 *
 * Purpose:   takes attempts as lines of JSON (engine/explain/explain.h) and prints them unchanged,
 *            or as tables (explain_table.h) separated by empty lines.
 * Ownership: explain_output_end releases everything.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_OUTPUT_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_OUTPUT_H

#include "cmd/explain/explain_table.h"
#include "engine/engine.h"

enum explain_format {
    EXPLAIN_FORMAT_NONE, /* not a format */
    EXPLAIN_FORMAT_TABLE,
    EXPLAIN_FORMAT_WIDE,
    EXPLAIN_FORMAT_JSON,
};
#define EXPLAIN_FORMATS     "table, wide or json"
#define EXPLAIN_OUTPUT_HELP "Output format: " EXPLAIN_FORMATS "."
#define EXPLAIN_NODES_HELP  "Maximum number of nodes in a table of an attempt. 0 shows all."

enum explain_format explain_format_of(const char *text);

/* Splits "NAMESPACE/NAME" or "NAME"; `otherwise` is the namespace of the latter. */
void explain_split_pod(struct str pod, struct str otherwise, struct str *ret_namespace,
                       struct str *ret_name);

struct explain_output {
    enum explain_format format;
    struct explain_table_options options;
    struct arena arena;
    struct buf text;
    size_t n;   /* attempts printed so far */
    size_t bad; /* lines that could not be decoded */
    struct err err;
};

/* max_nodes: see struct explain_table_options. */
void explain_output_init(struct explain_output *o, enum explain_format format, size_t max_nodes);
/* Prints one attempt: a line of JSON with or without its line break. */
void explain_output_add(struct explain_output *o, struct str line);
struct explain_reader explain_output_reader(struct explain_output *o);
/* Returns the number of attempts printed. */
size_t explain_output_end(struct explain_output *o);

#endif
