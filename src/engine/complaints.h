/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complaints.h - all that is wrong with a configuration, in the order of finding it.
 *
 * Purpose:   validation does not stop at the first fault. One entry reads as upstream's, "weight:
 *            Invalid value: 0: must be 1"; several are written as "[a, b]". Memory is bounded: the
 *            first COMPLAINTS_MAX are kept, the others counted.
 * Ownership: owns its texts; complaints_release gives them back. Starts as {0}.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_COMPLAINTS_H
#define BERTH_ENGINE_COMPLAINTS_H

#include "base/buf.h"
#include "base/vec.h"

#define COMPLAINTS_MAX 50

struct complaint {
    char *text;       /* "field: what: why" */
    char *hint;       /* " (did you mean profiles?)"; NULL: none */
    const char *file; /* NULL: that of the configuration. Borrowed */
    uint32_t line;    /* 0: where the field is */
};

struct complaints {
    VEC(struct complaint) v;
    size_t n;           /* entries may stand for several: add_all */
    size_t left_out;    /* how many of n have no entry */
    VEC(char *) covers; /* see complaints_cover */
    const char *prefix; /* in front of every entry, "profiles[0]."; NULL: nothing. Borrowed */
};

/* One more, "field: what: why" by printf. */
void complaints_add(struct complaints *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What is wrong with a qualified name at a field, if anything; false where something is. */
bool complaints_check_name(struct complaints *c, struct str name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* n at once, joined by ", " already; they bring their prefixes. */
void complaints_add_all(struct complaints *c, struct str text, size_t n);
/* One that has been found elsewhere: of file, at line, with a hint (may be empty). */
void complaints_add_at(struct complaints *c, const char *file, uint32_t line, struct str text,
                       struct str hint);

/*
 * The field at this path has been complained of and was left out of the configuration: whatever is
 * found wrong at it or below it would only follow from that, and is not added. A whole complaint in
 * place of a path keeps out that one.
 */
void complaints_cover(struct complaints *c, struct str path);
/* No further entry is kept: its text need not be made. */
static inline bool complaints_full(const struct complaints *c)
{
    return c->v.n >= COMPLAINTS_MAX;
}
/* Whether an entry is about this very field. */
bool complaints_has_field(const struct complaints *c, struct str path);

/*
 * Appends them to out, without hints; one that says the same as an earlier one is left out, as
 * upstream does.
 */
void complaints_write(const struct complaints *c, struct buf *out);
void complaints_release(struct complaints *c);

#endif
