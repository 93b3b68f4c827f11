/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_internal.h - columns, and the functions that write their cells.
 *
 * Purpose:   a printer is a table of columns; a column says how its cell is written: by one of the
 *            functions for texts, numbers, ages and so on with the path of a member, or by a
 *            function of its own.
 * Ownership: printers are constant data; struct cells lives for one row.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_PRINT_TABLE_INTERNAL_H
#define BERTH_APISERVER_PRINT_TABLE_INTERNAL_H

#include "apiserver/print/table.h"
#include "base/time.h"
#include "codec/json_edit.h"

/* What the columns of a pod have in common. */
struct pod_summary {
    int64_t ready, total, restarts;
    struct timestamp last_restart;
    struct str reason;
};

/* The row that is being written. */
struct cells {
    const struct json_value *object;
    int64_t now;
    struct buf text; /* of a cell */
    struct arena arena;
    struct pod_summary *pod; /* NULL until it is needed */
};

struct column;
typedef void cell_fn(struct cells *c, const struct column *col, struct buf *out);

struct column {
    const char *name, *type, *format, *description;
    int priority;
    cell_fn *text;         /* appends the text of a string, or … */
    cell_fn *json;         /* … a JSON value */
    const char *path;      /* what text and json read, see json_at */
    const char *otherwise; /* what they write without it; NULL: nothing */
    bool headless; /* upstream has a cell but no column: the cell is written, the head not */
};

struct printer {
    const char *group, *plural;
    const struct column *columns;
    size_t n_columns;
    cell_fn *conditions; /* appends the row's conditions, an array, or nothing; NULL: none */
};
#define PRINTER(g, p, ...)                            \
    {.group = (g),                                    \
     .plural = (p),                                   \
     .columns = (const struct column[]){__VA_ARGS__}, \
     .n_columns = sizeof((const struct column[]){__VA_ARGS__}) / sizeof(struct column)}

extern const struct printer table_core_printers[], table_workload_printers[],
    table_cluster_printers[], table_pod_printer;
extern const size_t n_table_core_printers, n_table_workload_printers, n_table_cluster_printers;

/* --- cells of texts --------------------------------------------------------------------------- */

cell_fn cell_text_at;   /* a string; `otherwise` if there is none */
cell_fn cell_text_or;   /* the same; `otherwise` also if it is empty */
cell_fn cell_number_at; /* an integer; `otherwise` if there is none */
cell_fn cell_yes_no_at; /* True or False; `otherwise` if there is none */
cell_fn cell_age_at;    /* of a time; `otherwise` if there is none */
cell_fn cell_quantity_at;
cell_fn cell_int_or_string_at;
cell_fn cell_list_at;            /* strings of a list, separated by commas; `otherwise` if empty */
cell_fn cell_labels_at;          /* a map; <none> if it is empty */
cell_fn cell_selector_at;        /* a LabelSelector */
cell_fn cell_container_names_at; /* of a list of containers */
cell_fn cell_container_images_at;
cell_fn cell_ready_replicas; /* 2/3 */
cell_fn cell_access_modes_at;
cell_fn cell_balancer_addresses; /* of status.loadBalancer */

/* --- cells of other types --------------------------------------------------------------------- */

cell_fn cell_int_at;   /* 0 if there is none */
cell_fn cell_count_at; /* items or members */
cell_fn cell_bool_at;  /* without it: true if `otherwise` is set */

/* --- parts of cells --------------------------------------------------------------------------- */

/* "4m5s" since the time in v, a string; <unknown> if it is none. */
void cell_age(const struct cells *c, const struct json_value *v, struct buf *out);
/* <unknown> if it is not set. */
void cell_since(const struct cells *c, struct timestamp t, struct buf *out);
/* The time in v, a string; not set if it is none or zero. */
struct timestamp cell_time(const struct json_value *v);
/* The canonical text of the quantity in v; "0" if there is none. */
void cell_quantity(struct cells *c, const struct json_value *v, struct buf *out);
/* The LabelSelector in v; false if it is invalid. NULL selects nothing. */
bool cell_selector(struct cells *c, const struct json_value *v, struct buf *out);
/* Appends s, after a separator unless the buffer is empty. */
void cell_join(struct buf *out, const char *separator, struct str s);
void cell_lower(struct buf *out, struct str s);
/* The first condition of this type; NULL if there is none. */
const struct json_value *cell_condition(const struct json_value *object, const char *type);

/* The columns that most kinds have. */
#define NAME_COLUMN                                                         \
    {.name = "Name",                                                        \
     .type = "string",                                                      \
     .format = "name",                                                      \
     .description = "Unique among the objects of the kind in a namespace.", \
     .text = cell_text_at,                                                  \
     .path = "metadata.name"}
#define AGE_COLUMN                          \
    {.name = "Age",                         \
     .type = "string",                      \
     .description = "Time since creation.", \
     .text = cell_age_at,                   \
     .path = "metadata.creationTimestamp"}
#define CONTAINER_COLUMNS(p)                                                                      \
    {.name = "Containers",                                                                        \
     .type = "string",                                                                            \
     .priority = 1,                                                                               \
     .description = "Containers of the pods.",                                                    \
     .text = cell_container_names_at,                                                             \
     .path = (p)},                                                                                \
    {                                                                                             \
        .name = "Images", .type = "string", .priority = 1,                                        \
        .description = "Images of the containers.", .text = cell_container_images_at, .path = (p) \
    }
#define TEXT_COLUMN(n, d, p, ...) \
    {.name = (n),                 \
     .type = "string",            \
     .description = (d),          \
     .text = cell_text_at,        \
     .path = (p),                 \
     ##__VA_ARGS__}
#define INT_COLUMN(n, d, p) \
    {.name = (n), .type = "integer", .description = (d), .json = cell_int_at, .path = (p)}
#define BOOL_COLUMN(n, d, p, ...) \
    {.name = (n),                 \
     .type = "boolean",           \
     .description = (d),          \
     .json = cell_bool_at,        \
     .path = (p),                 \
     ##__VA_ARGS__}
/* A string by a function of the kind. */
#define CELL_COLUMN(n, d, f, ...) \
    {.name = (n), .type = "string", .description = (d), .text = (f), ##__VA_ARGS__}

#endif
