/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_list.h - the errors of a configuration, in order (upstream: field.ErrorList).
 *
 * Purpose:   validation does not stop at the first error. Entries have upstream's form, "weight:
 *            Invalid value: 0: must be 1"; several are written as "[a, b]". Memory is bounded: the
 *            first ERROR_LIST_MAX are kept, the others counted.
 * Ownership: owns its texts until error_list_release. Initialize with {0}.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_ERROR_LIST_H
#define BERTH_ENGINE_CONFIG_ERROR_LIST_H

#include "base/buf.h"
#include "base/vec.h"

#define ERROR_LIST_MAX 50

struct error_entry {
    char *text;       /* "field: what: why" */
    char *hint;       /* " (did you mean profiles?)"; NULL: none */
    const char *file; /* borrowed; NULL: that of the configuration */
    uint32_t line;    /* 0: that of the field */
};

struct error_list {
    VEC(struct error_entry) v;
    size_t n;           /* number of errors; an entry of add_all counts several */
    size_t left_out;    /* errors without an entry */
    VEC(char *) covers; /* see error_list_cover */
    const char *prefix; /* of every entry, "profiles[0]."; borrowed; NULL: none */
};

/* Adds "field: what: why" by printf. */
void error_list_add(struct error_list *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds the errors of a qualified name at a field; false if there are any. */
bool error_list_check_name(struct error_list *c, struct str name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Adds n errors, joined by ", ", with their prefixes. */
void error_list_add_all(struct error_list *c, struct str text, size_t n);
/* Adds an error of a file and line, with a hint that may be empty. */
void error_list_add_at(struct error_list *c, const char *file, uint32_t line, struct str text,
                       struct str hint);

/*
 * The field at this path has an error and was left out of the configuration: errors at or below it
 * would only follow from that and are not added. A complete error text suppresses that error.
 */
void error_list_cover(struct error_list *c, struct str path);
/* No further entry is kept: its text is not needed. */
static inline bool error_list_full(const struct error_list *c)
{
    return c->v.n >= ERROR_LIST_MAX;
}
/* Is there an entry for exactly this field? */
bool error_list_has_field(const struct error_list *c, struct str path);

/*
 * Appends them to out without hints and, as upstream, without duplicates.
 */
void error_list_write(const struct error_list *c, struct buf *out);
void error_list_release(struct error_list *c);

#endif
