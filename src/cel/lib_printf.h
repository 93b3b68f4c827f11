/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib_printf.h - string.format of cel-go's strings extension, version 2.
 *
 * Purpose:   the clauses %s %d %f %e %b %x %X %o and their errors; the checker uses the same reader
 *            for literals, to judge arguments by their types.
 * Ownership: results are in the arena of the evaluation.
 * Threading: one thread per evaluation.
 */
#ifndef BERTH_CEL_LIB_PRINTF_H
#define BERTH_CEL_LIB_PRINTF_H

#include "cel/eval.h"

struct cel_value cel_printf(struct cel_eval *e, struct str format, const struct cel_list *args);

/* An error: before, and the value as Go's %v. */
struct cel_value cel_printf_value_error(struct cel_eval *e, const char *before,
                                        struct cel_value value);

/*
 * Reads the clauses of a format one after the other.
 *
 *     struct cel_printf_reader r = {.rest = format};
 *     while ((n = cel_printf_next(&r, literal, error)) > 0) ... r.clause, r.precision ...
 */
struct cel_printf_reader {
    struct str rest;
    char clause;       /* s d f e b x X o */
    int64_t precision; /* -1: none */
};
/*
 * 1: a clause; its argument is the next one. 0: the end. -1: *error has the message, which upstream
 * reports only after it has checked that there is an argument for the clause. `text` (may be NULL)
 * receives what is to be written before the clause.
 */
int cel_printf_next(struct cel_printf_reader *r, struct buf *text, struct buf *error);
/* The message if a value of this type does not suit the clause: "decimal clause can only ...". */
void cel_printf_mismatch(char clause, struct str type_name, struct buf *error);

#endif
