/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_list.h - all that is wrong with a configuration, in the order of finding it.
 *
 * Purpose:   validation does not stop at the first fault. One entry reads as upstream's, "weight:
 *            Invalid value: 0: must be 1"; several are written as "[a, b]". Memory is bounded: the
 *            first ERROR_LIST_MAX are kept, the others counted.
 * Ownership: owns its texts; error_list_release gives them back. Starts as {0}.
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
    const char *file; /* NULL: that of the configuration. Borrowed */
    uint32_t line;    /* 0: where the field is */
};

struct error_list {
    VEC(struct error_entry) v;
    size_t n;           /* entries may stand for several: add_all */
    size_t left_out;    /* how many of n have no entry */
    VEC(char *) covers; /* see error_list_cover */
    const char *prefix; /* in front of every entry, "profiles[0]."; NULL: nothing. Borrowed */
};

/* One more, "field: what: why" by printf. */
void error_list_add(struct error_list *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What is wrong with a qualified name at a field, if anything; false where something is. */
bool error_list_check_name(struct error_list *c, struct str name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* n at once, joined by ", " already; they bring their prefixes. */
void error_list_add_all(struct error_list *c, struct str text, size_t n);
/* One that has been found elsewhere: of file, at line, with a hint (may be empty). */
void error_list_add_at(struct error_list *c, const char *file, uint32_t line, struct str text,
                       struct str hint);

/*
 * The field at this path has been complained of and was left out of the configuration: whatever is
 * found wrong at it or below it would only follow from that, and is not added. A whole complaint in
 * place of a path keeps out that one.
 */
void error_list_cover(struct error_list *c, struct str path);
/* No further entry is kept: its text need not be made. */
static inline bool error_list_full(const struct error_list *c)
{
    return c->v.n >= ERROR_LIST_MAX;
}
/* Whether an entry is about this very field. */
bool error_list_has_field(const struct error_list *c, struct str path);

/*
 * Appends them to out, without hints; one that says the same as an earlier one is left out, as
 * upstream does.
 */
void error_list_write(const struct error_list *c, struct buf *out);
void error_list_release(struct error_list *c);

#endif
